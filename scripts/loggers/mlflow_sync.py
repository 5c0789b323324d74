#!/usr/bin/env python3
"""Sends a run to MLflow: its configuration, curves and summary, later or while it runs.

  mlflow_sync.py runs/fashion_mlp                             what there is; again later: what has come since
  mlflow_sync.py runs/fashion_mlp --follow                    until the job has ended
  mlflow_sync.py runs/fashion_mlp --tracking-uri file:./mlruns --experiment clothes

Needs MLflow (pip install mlflow-skinny). Without --tracking-uri MLflow's own settings hold (MLFLOW_TRACKING_URI). The MLflow run
is kept in RUN/.mlflow_sync.json; how far it has come is a tag of the MLflow run, written together with the numbers, so that
nothing is sent twice even if this program is killed.
"""

import argparse
import os
import sys

import run_log

PLACE_TAG = "scavenger.events_bytes"
MOST_PARAMETERS = 100  # of one request
LONGEST_PARAMETER = 500


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", help="the run folder")
    parser.add_argument("--follow", action="store_true", help="until the job has ended")
    parser.add_argument("--experiment", default="scavenger", help="of MLflow (%(default)s)")
    parser.add_argument("--tracking-uri", help="where MLflow keeps its runs")
    return parser.parse_args()


def open_run(client, log, state, experiment):
    """The MLflow run of this run folder, made where there is none."""
    if "run_id" in state.content:
        return state.content["run_id"]
    from mlflow.entities import Param

    found = client.get_experiment_by_name(experiment)
    experiment_id = found.experiment_id if found else client.create_experiment(experiment)
    run_id = client.create_run(experiment_id, run_name=log.folder.resolve().name, tags={"scavenger.run_folder": str(log.folder.resolve())}).info.run_id
    parameters = [Param(key, str(value)[:LONGEST_PARAMETER]) for key, value in log.config().items()]
    for first in range(0, len(parameters), MOST_PARAMETERS):
        client.log_batch(run_id, params=parameters[first : first + MOST_PARAMETERS])
    state.keep(run_id=run_id)
    return run_id


def send(client, run_id, place, points):
    from mlflow.entities import Metric, RunTag

    metrics = [Metric(name, value, int(point.utc_seconds * 1000), point.iteration) for point in points for name, value in point.values.items()]
    client.log_batch(run_id, metrics=metrics, tags=[RunTag(PLACE_TAG, str(place))])


def finish(client, run_id, log):
    summary = log.summary()
    for key, value in summary.items():
        client.set_tag(run_id, f"scavenger.{key.replace('/', '.')}", str(value))
    client.set_terminated(run_id, "FAILED" if summary.get("status") == "failed" else "FINISHED")


def main():
    arguments = parse_arguments()
    try:
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError:
        raise run_log.RunError("MLflow is not installed: pip install mlflow-skinny") from None
    log = run_log.RunLog(arguments.run)
    state = run_log.State(arguments.run, "mlflow")
    if arguments.tracking_uri:
        state.keep(tracking_uri=arguments.tracking_uri)
    if (state.content.get("tracking_uri") or "").startswith("file:"):
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # MLflow 3 has files for those alone who ask for them
    try:
        client = MlflowClient(state.content.get("tracking_uri"))
        sync(client, log, state, arguments)
    except MlflowException as error:
        reason = " ".join(str(error).split())[:300]
        raise run_log.RunError(f"{reason}; name where MLflow keeps its runs, --tracking-uri file:./mlruns or http://HOST:5000") from None


def sync(client, log, state, arguments):
    run_id = open_run(client, log, state, arguments.experiment)
    place = int(client.get_run(run_id).data.tags.get(PLACE_TAG, 0))
    for place, points in run_log.batches(log, place, arguments.follow):
        client.update_run(run_id, status="RUNNING")  # a resumed job goes on in its run
        send(client, run_id, place, points)
    if log.ended:
        finish(client, run_id, log)
    print(f"MLflow run {run_id}: {place} bytes of events")


if __name__ == "__main__":
    try:
        main()
    except run_log.RunError as error:
        sys.exit(f"mlflow_sync: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
