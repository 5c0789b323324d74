"""Event logs for tests of the page: a job with everything that can happen, and one of ten hours."""

import json
import math
import random

START = {"schema_version": 8, "utc": "2026-11-22T04:00:00Z", "job_id": "3f2a7c", "name": "fashion_cnn", "version": "0.1.0", "commit": "abc123",
         "config_digest": "9f86d081", "host": {"name": "vm1", "cores": 16, "memory_bytes": 68719476736, "cpu": "AMD EPYC 7B13"},
         "resumed_from_iteration": None, "time_before": 0.0, "workers": 2, "price_per_worker_hour": 0.134, "samples_per_epoch": 60000,
         "parameter_count": 1663370, "target": {"metric": "accuracy", "split": "test", "value": 0.92},
         "limits": {"max_epochs": 30.0, "max_iterations": 0, "max_seconds": 0.0, "max_cost": 5.0}}


class Log:
    """Writes events with a clock of its own."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.file = open(folder / "events.jsonl", "w")
        self.time = 0.0

    def add(self, event, **fields):
        self.file.write(json.dumps({"time": round(self.time, 6), "event": event, **fields}) + "\n")

    def close(self):
        self.file.close()


def digits(value):
    return float(f"{value:.5g}")


class Job:
    """A made-up job: what its workers would measure, by simple laws."""

    def __init__(self, folder, seed=1, name="fashion_cnn", text=str):
        self.random = random.Random(seed)
        self.text = text
        self.log = Log(folder)
        self.iteration = 0
        self.position = 0
        self.epoch = 0
        self.speed = [1.0] * 64
        self.log.add("start", **{**START, "name": text(name)})
        self.log.time = 0.4

    def resume(self, iteration, position):
        self.iteration, self.position, self.epoch = iteration, position, 0
        self.log.add("start", **{**START, "resumed_from_iteration": iteration, "time_before": self.log.time})

    def start_process(self, role, index, pid, seconds=1.6):
        self.log.add("process_started", role=role, index=index, pid=pid, log=self.text(f"logs/{role}_{index}.log"))
        self.log.time += seconds
        self.log.add("process_joined", role=role, index=index, pid=pid, start_seconds=seconds)

    def machine(self, name, change, worker, reason="", spot=True):
        self.log.add("machine", name=self.text(name), change=change, worker=worker, machine_type=self.text("n2-standard-4"), zone=self.text("us-central1-a"),
                     spot=spot, price_per_hour=0.0567, on_demand_price_per_hour=0.1942, minimum_seconds=60.0, charged_seconds=0.0, reason=self.text(reason) if reason else "")

    def membership(self, workers, batch_size, reason, shares=None, indices=None):
        self.workers, self.batch_size = workers, batch_size
        base, rest = divmod(batch_size, workers)
        self.shares = shares or [base + (rank < rest) for rank in range(workers)]
        self.epoch += 1
        self.log.add("membership", membership_epoch=self.epoch, workers=workers, batch_size=batch_size, shares=self.shares, indices=indices or list(range(workers)),
                     first_iteration=self.iteration, position=self.position, reason=self.text(reason), rate_factor=1.0)

    def loss_now(self):
        return 0.22 + 2.1 * math.exp(-self.position / 90000) + 0.25 * math.exp(-self.position / 600000)

    def train(self, iterations, chunk=20):
        for first in range(0, iterations, chunk):
            count = min(chunk, iterations - first)
            loss, seconds, norms, workers = [], [], [], []
            draw = self.random
            compute = [[digits(0.004 + 0.00021 * share * self.speed[rank] * draw.uniform(0.96, 1.08)) for _ in range(count)] for rank, share in enumerate(self.shares)]
            transfer = [digits(0.003 + 0.0012 * self.workers * draw.uniform(0.8, 1.5)) for _ in range(count)]
            data = [digits(draw.uniform(0.0001, 0.0006)) for _ in range(count)]
            slowest = [max(worker[i] for worker in compute) for i in range(count)]
            gradient = 0.05 + 0.4 * math.exp(-self.position / 300000)
            trace = gradient * (180 + self.position / 4000)
            for i in range(count):
                pause = 0.4 if draw.random() < 0.002 else 0.0
                loss.append(digits(self.loss_now() * draw.uniform(0.9, 1.1)))
                seconds.append(digits(slowest[i] + transfer[i] + data[i] + pause))
                norms.append(digits((gradient + trace / self.batch_size) * draw.uniform(0.92, 1.08)))
                self.position += self.batch_size
                self.log.time += seconds[-1]
            for rank, share in enumerate(self.shares):
                workers.append({"rank": rank, "data_wait": data, "forward": [digits(value / 3) for value in compute[rank]], "backward": [digits(value * 2 / 3) for value in compute[rank]],
                                "sync_wait": [digits(transfer[i] + slowest[i] - compute[rank][i]) for i in range(count)],
                                "local_sqr_norm": [digits((gradient + trace / share) * draw.uniform(0.9, 1.1)) for _ in range(count)]})
            self.log.add("iterations", membership_epoch=self.epoch, first=self.iteration, count=count, learning_rate=0.05, loss=loss, seconds=seconds,
                         global_sqr_norm=norms, workers=workers, half_batches=[])
            self.iteration += count

    def evaluate(self, split="test"):
        accuracy = 0.93 - 0.5 * math.exp(-self.position / 260000) + self.random.uniform(-0.004, 0.004)
        self.log.time += 0.4
        self.log.add("evaluation", iteration=self.iteration, epoch=self.position / 60000, split=split, samples=10000, loss=self.loss_now() * 1.05,
                     accuracy=accuracy, perplexity=None, bleu=None, mse=None, top5_accuracy=None, seconds=0.4)
        return accuracy

    def checkpoint(self):
        self.log.add("checkpoint", iteration=self.iteration, folder=self.text(f"checkpoints/{self.iteration}"), bytes=13307000, stall_seconds=self.random.uniform(0.0005, 0.002),
                     write_seconds=self.random.uniform(0.03, 0.09), best=True)

    def predict(self, choose, reason, measured=()):
        candidates = []
        for workers in (1, 2, 3, 4, 6, 8):
            for batch in (64, 128, 256, 512):
                iteration_seconds = 0.004 + 0.00021 * batch / workers + 0.003 + 0.0014 * workers
                epochs = 9.0 * (1 + batch / 300)
                seconds = epochs * 60000 / batch * iteration_seconds
                off = 0.03 if (workers, batch) in measured else 0.12
                candidates.append({"workers": workers, "batch_size": batch, "iteration_seconds": iteration_seconds, "iteration_seconds_low": iteration_seconds * (1 - off),
                                   "iteration_seconds_high": iteration_seconds * (1 + off), "epochs": epochs, "seconds": seconds, "seconds_low": seconds * (1 - 2 * off), "seconds_high": seconds * (1 + 2 * off),
                                   "cost": seconds * workers * 0.134 / 3600, "measured": (workers, batch) in measured, "extrapolated": workers > 6, "pareto": False, "knee": False})
        for one in candidates:
            one["pareto"] = not any(other["seconds"] <= one["seconds"] and other["cost"] <= one["cost"] and other is not one for other in candidates)
            one["knee"] = (one["workers"], one["batch_size"]) == choose
        self.log.add("prediction", iteration=self.iteration, policy="knee", relative=False, reference_batch=64.0, time_form=self.text("affine"), statistical_form=self.text("noise_scale"),
                     noise_scale=310.5, noise_phase=1, workers=choose[0], batch_size=choose[1], reason=self.text(reason), candidates=candidates)

    def search(self, phase, workers, batch_size, reason):
        self.log.add("search_step", iteration=self.iteration, phase=phase, workers=workers, batch_size=batch_size, reason=self.text(reason))


def eventful_job(folder, seed=1, name="fashion_cnn", text=str, ends=True):
    """Searches, grows, loses a worker and a machine, and reaches its target. `text` is applied to every free text."""
    job = Job(folder, seed, name, text)
    for shard in range(2):
        job.start_process("shard", shard, 900 + shard, 0.2)
    for worker in range(2):
        job.machine(f"vm{worker}", "requested", worker)
        job.log.time += 4
        job.machine(f"vm{worker}", "ready", worker)
        job.start_process("worker", worker, 1000 + worker)
    job.log.add("model", parameter_count=1663370, architecture="77ab", groups=[])
    job.search("cold_start", 2, 64, "the job begins as it was configured")
    job.membership(2, 64, "the job begins")
    job.train(300)
    job.evaluate()
    job.log.add("noise_stable", iteration=job.iteration, noise_phase=1, learning_rate=0.05, noise_scale=310.5, noise_scale_low=281.2, noise_scale_high=344.1)
    job.search("profiling", 2, 512, "next corner: the largest batch")
    job.membership(2, 512, "search: K = 2, B = 512")
    job.train(60)
    for worker in (2, 3):
        job.machine(f"vm{worker}", "requested", worker)
        job.machine(f"vm{worker}", "ready", worker)
        job.start_process("worker", worker, 1000 + worker)
    job.search("profiling", 4, 128, "next corner: more workers")
    job.membership(4, 128, "search: K = 4, B = 128")
    job.train(80)
    job.predict((4, 256), "the knee of cost over time", measured={(2, 64), (2, 512), (4, 128)})
    job.search("settled", 4, 256, "K = 4, B = 256 is the knee")
    job.membership(4, 256, "search: settled at K = 4, B = 256")
    job.speed[3] = 1.8
    for epoch in range(4):
        job.train(240)
        job.evaluate("train")
        job.evaluate()
        job.checkpoint()
    job.membership(4, 256, "shares follow speed", shares=[72, 72, 71, 41])
    for epoch in range(3):
        job.train(240)
        job.evaluate()
        job.checkpoint()
    job.machine("vm1", "notice", 1, "preempted: 30 s remain")
    job.log.time += 3
    job.log.add("process_lost", role="worker", index=1, pid=1001, how=job.text("killed by signal 9"), log_tail=job.text("line one\nline two"))
    job.machine("vm1", "lost", 1, "was preempted")
    job.membership(3, 255, "worker 1 was lost", indices=[0, 2, 3])
    job.log.time += 0.1
    job.log.add("recovery", membership_epoch=job.epoch, lost=["worker 1"], iteration=job.iteration, iterations_lost=0, seconds=0.11)
    job.train(90)
    job.machine("vm1b", "requested", 1)
    job.log.time += 12
    job.machine("vm1b", "ready", 1)
    job.start_process("worker", 1, 1101)
    job.membership(4, 256, "worker 1 has come")
    job.log.add("warning", text=job.text("the clock of vm3 is 2 s late"))
    job.predict((4, 256), "still the knee", measured={(2, 64), (2, 512), (4, 128), (4, 256)})
    for epoch in range(8):
        job.train(240)
        job.evaluate()
        job.checkpoint()
    if ends:
        job.log.add("target_reached", metric="accuracy", split="test", value=0.9213, iteration=job.iteration, epoch=job.position / 60000)
        job.log.add("end", status="target_reached", reason="", iteration=job.iteration, position=job.position, exit_code=0)
    job.log.close()
    return job


def resumed_job(folder):
    """Loses its last 40 iterations to a kill, and is resumed from before them; it starts for 60 s and then trains on."""
    job = Job(folder)
    for part in range(2):
        job.membership(2, 64, "the job begins" if part == 0 else "resumed")
        for _ in range(3):
            job.train(100)
            job.evaluate()
        job.checkpoint()
        if part == 0:
            safe = (job.iteration, job.position)
            job.train(40)
            job.resume(*safe)
            job.log.time += 60
    job.log.close()
    return job


LONG_ITERATIONS = 1_000_000
SPIKE_AT, SPIKE, DIP_AT, DIP = 654_321, 77.25, 123_456, 0.015625


def long_job(folder):
    """Ten hours, a million iterations on two workers; one iteration's loss and seconds stand out, and one loss dips."""
    draw = random.Random(7)
    log = Log(folder)
    log.add("start", **{**START, "name": "ten hours"})
    log.time = 2.0
    log.add("membership", membership_epoch=1, workers=2, batch_size=64, shares=[32, 32], indices=[0, 1], first_iteration=0, position=0, reason="the job begins", rate_factor=1.0)
    count = 100
    # Parts of lines, made once: the log is what takes time here, not its content.
    lists = [json.dumps([digits(draw.uniform(0.8, 1.2) * scale) for _ in range(count)]) for scale in (0.5, 0.036, 0.2, 0.0004, 0.01, 0.02, 0.005, 1.5) for _ in range(16)]

    def some(kind):
        return lists[kind * 16 + draw.randrange(16)]

    for first in range(0, LONG_ITERATIONS, count):
        loss, seconds = some(0), some(1)
        for at, value, others in ((SPIKE_AT, SPIKE, 9.5), (DIP_AT, DIP, None)):
            if first <= at < first + count:
                changed = json.loads(loss)
                changed[at - first] = value
                loss = json.dumps(changed)
                if others:
                    changed = json.loads(seconds)
                    changed[at - first] = others
                    seconds = json.dumps(changed)
        log.time += 3.6
        workers = ",".join(f'{{"rank":{rank},"data_wait":{some(3)},"forward":{some(4)},"backward":{some(5)},"sync_wait":{some(6)},"local_sqr_norm":{some(7)}}}' for rank in range(2))
        log.file.write(f'{{"time":{log.time:.3f},"event":"iterations","membership_epoch":1,"first":{first},"count":{count},"learning_rate":0.05,"loss":{loss},"seconds":{seconds},'
                       f'"global_sqr_norm":{some(2)},"workers":[{workers}],"half_batches":[]}}\n')
        if first % 10000 == 0:
            log.add("evaluation", iteration=first + count, epoch=first / 900, split="test", samples=10000, loss=0.4, accuracy=0.9, perplexity=None, bleu=None, mse=None, top5_accuracy=None, seconds=0.4)
            log.add("checkpoint", iteration=first + count, folder=f"checkpoints/{first}", bytes=1000, stall_seconds=0.001, write_seconds=0.05, best=False)
    log.close()
