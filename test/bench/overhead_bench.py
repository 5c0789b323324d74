"""What measuring costs, as a share of an iteration: squared norms, timers and statistics. The target is below 1 %.

    .venv/bin/python test/bench/overhead_bench.py [--models mlp resnet18] [--workers 2] [--json FILE]

  iteration     of a real job, in microseconds
  norms         the sum, step and norms of one thread over the whole model, less the same without norms (reduction_bench), shared
                among the workers, as the work is; in microseconds of processor time
  worker        what the loop of a worker costs but for model and synchroniser: batch hand-over, timers, statistics, reports
                (worker_loop_bench), so an upper bound for the timers; in microseconds of processor time
  controller    processor time of scavenger-train per iteration of that job, beside training: it takes the statistics in, logs
                them, and grants iterations
"""

import json
import os
import pathlib
import subprocess
import time

import comparison
import training_job

MEGABYTES = {"mlp": 2.68, "cnn": 0.42, "resnet18": 44.7}
BATCH = {"mlp": 64, "cnn": 64, "resnet18": 32}


def parse():
    parser = comparison.parser(__doc__, rounds=3)
    parser.add_argument("--models", nargs="+", choices=MEGABYTES, default=["mlp", "resnet18"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5, help="of each job (default: %(default)s)")
    options = parser.parse_args()
    if options.quick:
        options.models, options.rounds, options.seconds = ["mlp"], 1, 0.2
    return options


def processor_seconds(pid):
    fields = pathlib.Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_job(options, model):
    """Microseconds of an iteration, and of the controller's processor time in it."""
    threads = max(1, len(os.sched_getaffinity(0)) // options.workers)
    config = training_job.configuration(model, options.workers, BATCH[model] * options.workers, threads)
    with training_job.TrainingJob(options.build, config) as job:
        job.wait_until_it_trains()
        before, first = processor_seconds(job.process.pid), len(job.iterations())
        time.sleep(options.seconds)
        while len(job.iterations()) < first + 2:
            time.sleep(0.05)
        spent = processor_seconds(job.process.pid) - before
        events = job.iterations()
        job.interrupt()
        job.wait_for_end()
    iterations = sum(event["count"] for event in events[first:])
    return 1e6 / training_job.iterations_per_second(events), 1e6 * spent / iterations


def output_of(options, program, *arguments):
    command = [options.build / "bench" / program, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure(options, model):
    controller = []

    def iteration():
        whole, part = measure_job(options, model)
        controller.append(part)
        return whole

    def norms():
        row = json.loads(output_of(options, "reduction_bench", "--json", "--megabytes", MEGABYTES[model], "--workers",
                                   options.workers))
        return 1e3 * max(0.0, row["ms"] - row["ms_without_norms"]) / options.workers

    def worker():
        return float(output_of(options, "worker_loop_bench", 2000 if options.quick else 20000))

    values = comparison.measure_in_turns({"iteration": iteration, "norms": norms, "worker": worker}, options.rounds)
    return comparison.Case(f"{model}, K = {options.workers}", {**values, "controller": controller},
                           {"model": model, "workers": options.workers})


def main():
    options = parse()
    report = comparison.Report("Cost of measuring", "us", options)
    for model in options.models:
        report.add(measure(options, model), [(f"{part} / iteration", part, "iteration")
                                             for part in ("norms", "worker", "controller")])
    report.finish()


if __name__ == "__main__":
    main()
