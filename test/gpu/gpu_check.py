"""Checks and measures this build on a device, in stages of at most eight minutes: scripts/gpu_check.sh runs it.

    gpu_check.py --build BUILD --device cuda --out FOLDER [--stages tests equality ...] [--cases WORD ...]

Writes FOLDER/STAGE.json and FOLDER/STAGE.md after each case. A run that was cut off, or whose time was over, goes on where
it was: call it again. Exit code 0: all is done, and all that must hold holds; 1: a case failed; 3: cases are left.
"""

import argparse
import hashlib
import pathlib
import shutil
import sys
import tempfile
import time

import job_stages
import python_stages
import stages
from running import CaseFailed, Deadline, OutOfTime, Surroundings
from stage_log import DONE, FAILED, StageLog, machine

STAGES = {"tests": stages.tests, "equality": stages.equality, "graphs": stages.graphs, "memory": stages.memory,
          "resnet18": stages.resnet18, "resnet50": stages.resnet50, "transformers": stages.transformers,
          "workers": job_stages.workers, "all_reduce": job_stages.all_reduce, "hierarchy": job_stages.hierarchy,
          "synchronisation": job_stages.synchronisation, "copies": stages.copies, "python": python_stages.python}
SECONDS = 470.0  # of a stage: with the end of a case it stays below eight minutes
CASES_LEFT = 3


def fingerprint(build, device, is_small):
    """Results of other programs, or of another device, are not gone on with."""
    digest = hashlib.sha256(f"{device} {is_small}".encode())
    for name in ("bench/device_trainer", "bench/nccl_check", "bin/scavenger-worker", "bin/scavenger-train",
                 "lib/libscavenger_worker.so"):
        digest.update((build / name).read_bytes())
    return digest.hexdigest()[:16]


def run_case(log, around, name, case):
    """Returns whether it came to its end."""
    begin = time.monotonic()
    try:
        values, checks = case(around)
        log.end(name, DONE, values, checks, seconds=time.monotonic() - begin)
    except OutOfTime as reason:
        print(f"  {name}: {reason}; it is tried again in the next run", flush=True)
        return False
    except Exception as error:  # of any kind: the other cases are still worth running
        log.end(name, FAILED, error=str(error) if isinstance(error, CaseFailed) else repr(error), seconds=time.monotonic() - begin)
    entry = log.document["cases"][name]
    print(f"  {name}: {entry['state']} in {entry['seconds']:.1f} s {entry.get('error', '')}", flush=True)
    return True


def run_stage(name, log, options):
    """Returns whether all of its cases are over."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_gpu_"))
    around = Surroundings(options.build, options.device, options.small, Deadline(options.seconds), folder, options.contestants)
    try:
        for case_name, case in STAGES[name](around):
            if options.cases and not any(word in case_name for word in options.cases):
                continue
            if log.is_over(case_name) or not log.begin(case_name):
                continue
            if not run_case(log, around, case_name, case):
                return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the folder with bin/, test/ and bench/")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--cases", nargs="+", metavar="WORD", help="only the cases that have one of these words in their names")
    parser.add_argument("--contestants", nargs="+", choices=stages.CONTESTANTS, default=list(stages.CONTESTANTS), metavar="LABEL",
                        help="of the cases that compare speeds: " + "; ".join(stages.CONTESTANTS))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the most for each stage (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="tiny cases, which only show that the stages run")
    options = parser.parse_args()
    options.build, options.out = options.build.resolve(), options.out.resolve()
    on = machine()
    mark = fingerprint(options.build, options.device, options.small)
    logs, is_complete = [], True
    for name in options.stages:
        print(f"{name}:", flush=True)
        logs.append(StageLog(options.out, name, mark, on))
        is_complete = run_stage(name, logs[-1], options) and is_complete
    failed = [log.stage for log in logs if log.has_failed()]
    if failed:
        print(f"FAILED: {', '.join(failed)}; see {options.out}", flush=True)
        sys.exit(1)
    if not is_complete:
        print("cases are left: run it again", flush=True)
        sys.exit(CASES_LEFT)
    print(f"all stages are done: {options.out}", flush=True)


if __name__ == "__main__":
    main()
