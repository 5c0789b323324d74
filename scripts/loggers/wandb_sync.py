#!/usr/bin/env python3
"""Sends a run to Weights & Biases: its configuration, curves and summary, later or while it runs.

  wandb_sync.py runs/fashion_mlp --project clothes            what there is; again later: what has come since
  wandb_sync.py runs/fashion_mlp --follow                     until the job has ended
  wandb_sync.py runs/fashion_mlp --offline                    into RUN/wandb, to be sent by "wandb sync"

Needs wandb (pip install wandb) and, unless --offline, a login. All curves are over `iteration`. How far it has come is kept in
RUN/.wandb_sync.json after each part, and the run has one id for ever: where this program is killed, the part that it was
sending is sent again, as the same steps. Several offline parts are sent by "wandb sync --append".
"""

import argparse
import sys
import uuid

import run_log


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", help="the run folder")
    parser.add_argument("--follow", action="store_true", help="until the job has ended")
    parser.add_argument("--project", default="scavenger", help="of W&B (%(default)s)")
    parser.add_argument("--offline", action="store_true", help="write to RUN/wandb, and send nothing")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    try:
        import wandb
    except ImportError:
        raise run_log.RunError("wandb is not installed: pip install wandb") from None
    log = run_log.RunLog(arguments.run)
    state = run_log.State(arguments.run, "wandb")
    if "run_id" not in state.content:
        state.keep(run_id=uuid.uuid4().hex[:16], place=0, points=0)
    run = wandb.init(project=arguments.project, id=state.content["run_id"], name=log.folder.resolve().name, resume="allow", dir=str(log.folder),
                     config=log.config(), mode="offline" if arguments.offline else None)
    run.config.update(log.config(), allow_val_change=True)
    run.define_metric("iteration")
    run.define_metric("*", step_metric="iteration")
    for place, points in run_log.batches(log, state.content["place"], arguments.follow):
        sent = state.content["points"]
        for step, point in enumerate(points, start=sent):
            run.log({"iteration": point.iteration, "utc": point.utc_seconds, **point.values}, step=step)
        state.keep(place=place, points=sent + len(points))
    if log.ended:
        run.summary.update(log.summary())
    run.finish()
    print(f"W&B run {state.content['run_id']}: {state.content['place']} bytes of events")


if __name__ == "__main__":
    try:
        main()
    except run_log.RunError as error:
        sys.exit(f"wandb_sync: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
