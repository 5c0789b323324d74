"""What the live page costs training: a job of thousands of iterations a second (a tiny model, K = 1). The target is below 1 %.

    .venv/bin/python test/bench/page_bench.py [--rounds 40] [--seconds 1.5] [--json FILE]

One job with a page is looked at and left alone in turns, again and again; then each round starts two jobs, one without a page and
one whose page is looked at.

  alone, looked at   iterations a second in turns without and with a reader of /events
  without, with      iterations a second of jobs without --serve and of jobs with it and a reader of /events
  slowdown           the median of the ratios of neighbouring turns, which have the same machine
  page, job          processor time of the page's thread and of the whole job (controller and worker) in an iteration while it is
                     looked at, in microseconds: this does not depend on who else uses the machine
"""

import pathlib
import re
import socket
import statistics
import threading
import time

import comparison
import training_job

WORKERS = 1
MODEL = {"type": "mlp", "hidden": [4]}
PAGE_THREAD = "live page"


def parse():
    parser = comparison.parser(__doc__, rounds=40)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each turn (default: %(default)s)")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 2, 1.2
    return options


def configuration():
    config = training_job.configuration("mlp", WORKERS, 4, 1, MODEL)
    config["data"]["train"]["feature_count"] = config["data"]["test"]["feature_count"] = 4
    return config


def processor_seconds(task):
    """Of a thread, by its folder in /proc: to the nanosecond, where /proc/PID/stat counts in ticks of 10 ms."""
    return int((task / "schedstat").read_text().split()[0]) * 1e-9


def page_thread(pid):
    """The folder of the page's thread in /proc."""
    return next(task for task in pathlib.Path(f"/proc/{pid}/task").iterdir() if (task / "comm").read_text().strip() == PAGE_THREAD)


def threads(pid):
    """Of the job: those of the controller and of its children."""
    own = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
    children = [child for task in own for child in (task / "children").read_text().split()]
    return own + [task for child in children for task in pathlib.Path(f"/proc/{child}/task").iterdir()]


class Looker:
    """Reads /events as a browser does, and throws it away."""

    def __init__(self, port, token):
        self.bytes = 0
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        try:
            while got := self.socket.recv(1 << 16):
                self.bytes += len(got)
        except OSError:
            pass

    def leave(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


def address_of(job):
    found = re.search(r"live page: http://127\.0\.0\.1:(\d+)/\?token=(\w+)", job.text())
    return int(found[1]), found[2]


def turn(job, seconds, address):
    """When it began and ended in the job's life, how long it took, and the seconds of the page's thread and of the job."""
    looker = Looker(*address) if address else None
    time.sleep(seconds / 4)  # what was not read meanwhile is caught up with
    page, tasks = page_thread(job.process.pid), threads(job.process.pid)

    def now():
        return time.monotonic(), processor_seconds(page), sum(map(processor_seconds, tasks))

    begin, first = job.life_seconds(), now()
    end = job.sleep_through_turn(begin, seconds)
    last = now()
    if looker:
        looker.leave()
    return begin, end, [after - before for before, after in zip(first, last)], looker


def rate_of_new_job(options, serves):
    """Iterations a second of a job of its own; with a page, it is looked at."""
    with training_job.TrainingJob(options.build, configuration(), arguments=["--serve"] if serves else []) as job:
        job.wait_until_it_trains()
        looker = Looker(*address_of(job)) if serves else None
        begin = job.life_seconds() + options.seconds / 4
        end = job.sleep_through_turn(begin, options.seconds)
        if looker:
            looker.leave()
        job.interrupt()
        job.wait_for_end()
        return training_job.iterations_per_second(job.iterations(), begin, end)


def separate_jobs(options):
    rates = {False: [], True: []}
    for round_ in range(options.rounds):
        for serves in ((False, True) if round_ % 2 == 0 else (True, False)):
            rates[serves].append(rate_of_new_job(options, serves))
    return rates


def slowdown(before, after):
    return [statistics.median(x / y for x, y in zip(before, after))]


def main():
    options = parse()
    report = comparison.Report("Cost of the live page", "iterations/s, us", options)
    separate = separate_jobs(options)
    with training_job.TrainingJob(options.build, configuration(), arguments=["--serve"]) as job:
        job.wait_until_it_trains()
        address = address_of(job)
        turns = []
        for round_ in range(options.rounds):
            for looked_at in ((False, True) if round_ % 2 == 0 else (True, False)):
                turns.append((looked_at, *turn(job, options.seconds, address if looked_at else None)))
        events = job.iterations()
        job.interrupt()
        job.wait_for_end()
    values = {"without": separate[False], "with": separate[True], "alone": [], "looked at": [], "page": [], "job": [], "page, alone": []}
    bytes_received = sum(looker.bytes for *_, looker in turns if looker)
    for looked_at, begin, end, (seconds, page, whole), _ in turns:
        rate = training_job.iterations_per_second(events, begin, end)
        values["looked at" if looked_at else "alone"].append(rate)
        values["page" if looked_at else "page, alone"].append(1e6 * page / (rate * seconds))
        if looked_at:
            values["job"].append(1e6 * whole / (rate * seconds))
    case = comparison.Case("tiny MLP, K = 1", values, {"bytes_received": bytes_received})
    # The page works in bursts of one a second: the mean over all turns counts, not the median.
    for name in ("page", "job", "page, alone"):
        values[name] = [statistics.mean(values[name])]
    values["slowdown by a look"] = slowdown(values["alone"], values["looked at"])
    values["slowdown by the page"] = slowdown(values["without"], values["with"])
    report.add(case, [("page / job", "page", "job")])
    report.finish()


if __name__ == "__main__":
    main()
