"""What a job would gain if it changed its configuration as the noise grows: prints the table of docs/design/perfmodel.md.

    .venv/bin/python test/study/search/schedule_study.py

Pollux's logs of ResNet18 on CIFAR-10 (validation-B.csv in the developers' data folder, SCAVENGER_SHARED_DATA) have, for six batch
sizes, how many iterations each step of progress took; a step is the same for all of them (AdaScale's). With the seconds per
iteration of Pollux's tables, each step's time and cost follow for every (K, B), until the metric is reached. The table compares

  constant            the best (K, B) for the whole job
  best schedule       the best (K, B) in each step, known beforehand; moves take --change-seconds
  two parts           the best plan that changes once ("B = 128 now, 2048 after step 3")
  by the noise now    in each step, the (K, B) that is best by the noise measured in the step before: what a search that chooses
                      anew does, which plans nothing
  as averaged         the same, by averages that forget as the product's do (docs/design/noise.md, "Averages")
  by the noise so far the same, by the mean of the noise since the beginning

each in per cent over the best schedule, in the policy's objective. The first step of all is at (1, 128), where jobs begin.
"""

import argparse
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import simulate  # noqa: E402

JOB = "cifar10"
METRICS = (0.8, 0.85, 0.9, 0.93)


class Log:
    """One run at B: iterations of each step of progress, and B_s in it."""

    def __init__(self, batch, smallest):
        rows = simulate.rows_of(simulate.DATA / "pollux" / JOB / f"validation-{batch}.csv")
        ends = [float(row["iteration"]) + 1 for row in rows]
        self.iterations = [end - before for end, before in zip(ends, [0.0, *ends])]
        self.metrics = [float(row["metric"]) for row in rows]
        self.squares = [float(row["grad_sqr"]) for row in rows]
        self.variances = [smallest * float(row["grad_var"]) for row in rows]

    def steps_to(self, metric):
        return next(i for i, value in enumerate(self.metrics) if value >= metric) + 1


class Job:
    """Seconds of each step at each (K, B). All batches need as many steps: the median of what they needed."""

    def __init__(self, metric):
        _, _, batches = simulate.POLLUX[JOB]
        self.logs = {batch: Log(batch, min(batches)) for batch in batches}
        needed = sorted(log.steps_to(metric) for log in self.logs.values())
        self.steps = needed[len(needed) // 2]
        table = simulate.step_seconds(simulate.DATA / "pollux" / JOB)
        self.pace = {(k, b): pace for k in simulate.WORKERS for b in batches
                     if (pace := simulate.between(table[k], b / k)) is not None}

        self.first = (1, min(self.logs))

    def begun(self, plan):
        """The first step, then the plan; its last configuration stays."""
        return [self.first, *plan, *[plan[-1]] * self.steps][:self.steps]

    def seconds(self, at, step):
        return self.logs[at[1]].iterations[step] * self.pace[at]


def objective(seconds, machine_seconds, policy):
    return {"min-time": seconds, "min-cost": machine_seconds, "knee": seconds * machine_seconds}[policy]


def total(job, plan, change_seconds):
    """Seconds and machine-seconds of one configuration for each step."""
    seconds = machine_seconds = 0.0
    before = plan[0]
    for step, at in enumerate(plan):
        here = job.seconds(at, step) + (change_seconds if at != before else 0.0)
        seconds, machine_seconds, before = seconds + here, machine_seconds + here * at[0], at
    return seconds, machine_seconds


def judged(job, plan, policy, change_seconds):
    return objective(*total(job, plan, change_seconds), policy)


def constant(job, policy, change_seconds):
    return min((job.begun([at]) for at in job.pace), key=lambda plan: judged(job, plan, policy, change_seconds))


def two_parts(job, policy, change_seconds):
    plans = (job.begun([a] * first + [b]) for a in job.pace for b in job.pace for first in range(1, job.steps - 1))
    return min(plans, key=lambda plan: judged(job, plan, policy, change_seconds))


def best_schedule(job, policy, change_seconds):
    """Dynamic programming over steps for T + weight x C; the knee's product is least for one of the weights."""
    weights = {"min-time": [0.0], "min-cost": [1e9], "knee": [10 ** (x / 8) for x in range(-24, 9)]}[policy]
    plans = []
    for weight in weights:
        def price(at, seconds):
            return seconds * (1.0 + weight * at[0])
        best = {job.first: (price(job.first, job.seconds(job.first, 0)), [job.first])}
        for step in range(1, job.steps):
            cheapest = min(best.values(), key=lambda one: one[0])
            following = {}
            for at in job.pace:
                move = (cheapest[0] + price(at, change_seconds), cheapest[1])
                before = min(best.get(at, move), move, key=lambda one: one[0])
                following[at] = (before[0] + price(at, job.seconds(at, step)), [*before[1], at])
            best = following
        plans.append(min(best.values(), key=lambda one: one[0])[1])
    return min(plans, key=lambda plan: judged(job, plan, policy, change_seconds))


def forgets(last, iterations):
    """What is left of older averages after `last` iterations: their time constant is half of the iterations so far, at most 1000."""
    return math.exp(-last / min(1000.0, max(1.0, 0.5 * iterations)))


def by_noise(job, policy, kept):
    """Chooses anew after each step, by B_s as the job's own run measured it. `kept` of older averages remains after a step."""
    plan, squares, variances, iterations = [job.first], 0.0, 0.0, 0.0
    for step in range(1, job.steps):
        log = job.logs[plan[-1][1]]
        last = log.iterations[step - 1]
        iterations += last
        older = kept(last, iterations)
        squares = older * squares + (1.0 - older) * log.squares[step - 1]
        variances = older * variances + (1.0 - older) * log.variances[step - 1]

        def predicted(at, scale=variances / squares):
            seconds = job.pace[at] * (1.0 / scale + 1.0 / at[1])
            return objective(seconds, seconds * at[0], policy)
        plan.append(min(job.pace, key=predicted))
    return plan


def now(_last, _iterations):
    return 0.0


def so_far(last, iterations):
    return 1.0 - last / iterations


def text_of(plan):
    parts = [(at, step) for step, at in enumerate(plan) if step == 0 or plan[step - 1] != at]
    return ", ".join(f"({at[0]}, {at[1]})" + (f" from {100 * step / len(plan):.0f} %" if step > 1 else "") for at, step in parts[-2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--change-seconds", type=float, default=0.3)
    change = parser.parse_args().change_seconds
    if not (simulate.DATA / "pollux").is_dir():
        print(f"no tables of others: {simulate.DATA} is not there")
        return
    print("| metric | policy | best schedule takes | constant | two parts | by the noise now | as averaged | by the noise so far | the best constant | the best of two parts |")
    print("|" + " --- |" * 10)
    for metric in METRICS:
        job = Job(metric)
        for policy in ("min-time", "min-cost", "knee"):
            least = best_schedule(job, policy, change)
            best = judged(job, least, policy, change)
            plans = [constant(job, policy, change), two_parts(job, policy, change), *(by_noise(job, policy, kept) for kept in (now, forgets, so_far))]
            over = [f"{100 * (judged(job, plan, policy, change) / best - 1):.1f} %" for plan in plans]
            print(f"| {metric:g} | {policy} | {total(job, least, change)[0]:.0f} s | {' | '.join(over)} | {text_of(plans[0])} | {text_of(plans[1])} |")


if __name__ == "__main__":
    main()
