"""Training throughput, in samples per second: scavenger-train against PyTorch DDP over Gloo, in turns.

    .venv/bin/python test/bench/training_bench.py [--models mlp cnn resnet18] [--workers 1 2 4] [--json FILE]

About five minutes on two cores for MLP and CNN, and ten for ResNet18, which is therefore asked for by name.

Same model, batch per worker, threads per process (cores / K, at least 1), SGD with momentum, all on this machine.

  ours        scavenger-train as a user runs it: loading, statistics and all; wall time of the iterations after a warm-up
  ours alone  K jobs of one worker at the same time: what K workers could do without synchronisation
  PyTorch     K = 1: a plain loop, with its data ready in memory, as for all peers
  DDP         DistributedDataParallel over Gloo on loopback; "DDP views" is the same with gradient_as_bucket_view
  DDP alone   the same processes at the same time, without synchronisation: forward, backward, step
  Reducer     DDP's engine, c10d::Reducer over ProcessGroupGloo, driven from C++
"""

import contextlib
import socket
import sys
import time

import comparison
import training_job
from crew import Crew

BATCH = {"mlp": 64, "cnn": 64, "resnet18": 32}
RATIOS = [("ours / PyTorch", "ours", "PyTorch"), ("ours / DDP", "ours", "DDP"), ("ours / DDP views", "ours", "DDP views"),
          ("ours / Reducer", "ours", "Reducer"), ("ours / ours alone", "ours", "ours alone"),
          ("DDP / DDP alone", "DDP", "DDP alone")]


def parse():
    parser = comparison.parser(__doc__, rounds=3)
    parser.add_argument("--models", nargs="+", choices=BATCH, default=["mlp", "cnn"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=1.5, help="of each turn (default: %(default)s); at least 4 iterations")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="a setting for scavenger-train, such as sync.transport=tcp")
    options = parser.parse_args()
    if options.quick:
        options.models, options.workers, options.rounds, options.seconds = ["mlp"], [1, 2], 1, 0.2
    return options


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Conditions:
    """One model with K workers, and each contestant's turn under it; all turns return samples per second."""

    def __init__(self, options, model, workers, cores):
        self.options = options
        self.model = model
        self.workers = workers
        self.batch = BATCH[model]
        self.threads = max(1, cores // workers)

    def job(self, workers):
        config = training_job.configuration(self.model, workers, self.batch * workers, self.threads)
        return training_job.TrainingJob(self.options.build, config, self.options.set)

    def ours(self):
        with self.job(self.workers) as job:
            job.wait_until_it_trains()
            self.let_pass(job)
            job.interrupt()
            job.wait_for_end()
            return self.batch * self.workers * training_job.iterations_per_second(job.iterations())

    def ours_alone(self):
        """The sum over K jobs of one worker, while all of them train."""
        with contextlib.ExitStack() as stack:
            jobs = [stack.enter_context(self.job(1)) for _ in range(self.workers)]
            for job in jobs:
                job.wait_until_it_trains()
            begin = time.time()
            for job in jobs:
                self.let_pass(job, begin)
            end = time.time()
            for job in jobs:
                job.interrupt()
            for job in jobs:
                job.wait_for_end()
            return sum(self.batch * training_job.iterations_per_second(
                job.iterations(), begin - job.begin_seconds(), end - job.begin_seconds()) for job in jobs)

    def let_pass(self, job, begin=None):
        """Waits for the turn's time, and for 4 iterations after the warm-up; without looking before, which costs time."""
        begin = begin or time.time()
        time.sleep(max(0.0, begin + self.options.seconds - time.time()))
        while len(after(job, begin)) < 4:
            time.sleep(0.2)

    def ddp_crew(self, *flags):
        port = free_port()
        script = comparison.SOURCE / "test" / "bench" / "peers" / "ddp_worker.py"
        return Crew([[sys.executable, script, self.model, self.batch, self.threads, rank, self.workers, port, *flags]
                     for rank in range(self.workers)])

    def reducer_crew(self):
        port = free_port()
        program = self.options.build / "bench" / "reducer_worker"
        return Crew([[program, self.model, self.batch, self.threads, rank, self.workers, port]
                     for rank in range(self.workers)])

    def together(self, crew):
        """A turn with synchronisation, whose number of iterations follows from how long the first ones took."""
        warm_up = crew.run("sync 4")
        per_iteration = seconds_of(warm_up) / 4
        return lambda: self.rate(crew.run(f"sync {max(4, round(self.options.seconds / per_iteration))}"))

    def rate(self, answers):
        return self.batch * sum(answer["iterations"] for answer in answers) / seconds_of(answers)

    def alone(self, crew):
        seconds = max(self.options.seconds, 4 * seconds_of(crew.run("sync 2")) / 2)
        return lambda: sum(self.batch * answer["iterations"] / (answer["end"] - answer["begin"])
                           for answer in crew.run(f"alone {seconds}"))


def after(job, begin):
    since = begin - job.begin_seconds()
    return [seconds for event in job.iterations()[training_job.WARM_UP_EVENTS:] if event["time"] >= since
            for seconds in training_job.seconds_of_each(event)]


def seconds_of(answers):
    return max(answer["end"] for answer in answers) - min(answer["begin"] for answer in answers)


def measure(conditions, rounds):
    contestants = {"ours": conditions.ours}
    with contextlib.ExitStack() as stack:
        if conditions.workers == 1:
            contestants["PyTorch"] = conditions.together(stack.enter_context(conditions.ddp_crew()))
        else:
            ddp = stack.enter_context(conditions.ddp_crew())
            contestants |= {
                "ours alone": conditions.ours_alone,
                "DDP": conditions.together(ddp),
                "DDP views": conditions.together(stack.enter_context(conditions.ddp_crew("--bucket-view"))),
                "DDP alone": conditions.alone(ddp),
                "Reducer": conditions.together(stack.enter_context(conditions.reducer_crew())),
            }
        values = comparison.measure_in_turns(contestants, rounds)
    facts = {"model": conditions.model, "workers": conditions.workers, "batch_per_worker": conditions.batch,
             "threads_per_worker": conditions.threads, "settings": conditions.options.set}
    return comparison.Case(f"{conditions.model}, K = {conditions.workers}", values, facts)


def main():
    options = parse()
    report = comparison.Report("Training throughput", "samples/s", options)
    cores = report.document["before"]["cores"]
    for model in options.models:
        for workers in options.workers:
            report.add(measure(Conditions(options, model, workers, cores), options.rounds), RATIOS)
    report.finish()


if __name__ == "__main__":
    main()
