"""Random processes of a job are killed or stopped at random instants: it reaches its end all the same, with every
sample counted once, the loss of an undisturbed run, and nothing left behind.

Bounded by default; `kill_test.py BUILD/bin --count 100` is the long run. SCAVENGER_TEST_SEED repeats one.
"""

import json
import os
import pathlib
import random
import signal
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

BATCH = 16
# A learning rate at which rounding does not grow: K = 1 and K = 2 stay within 1e-6 of each other. (At 0.1 they are 6e-3
# apart after 700 iterations, undisturbed, and so would be runs that were without a worker for a while.)
CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", f"batch_size={BATCH}",
          "--workers", 2, "--set", "stop.max_epochs=3", "--set", "optimizer.learning_rate=0.02",
          "--set", "checkpoint.every_iterations=150", "--set", "limits.heartbeat_seconds=2",
          "--set", "limits.start_seconds=60"]
count = 3


class KillTest(job.JobTest):
    def undisturbed(self, *more):
        run = self.run_folder("whole")
        self.train(*CONFIG, *more, "--run", run)
        return run

    def disturbed(self, name, chance, iterations, seconds, *more):
        """Trains to the end through one to three faults, and resumes where the controller itself was hit."""
        run = self.run_folder(name)
        arguments = [*CONFIG, *more, "--run", run]
        story = []
        process = self.start(*arguments)
        # The log is behind by as much as a fifth of a second, in which an idle machine does hundreds of iterations.
        for place in sorted(chance.randrange(iterations * 2 // 3) for _ in range(chance.randint(1, 3))):
            # In mid-training, a moment after the log has reached that iteration, or soon after the fault before, when
            # the job comes together (again).
            if chance.random() < 0.6:
                while process.poll() is None and iterations_logged(run) < place:
                    time.sleep(0.005)
                time.sleep(chance.uniform(0, min(0.1, 0.1 * seconds)))
            else:
                time.sleep(chance.uniform(0, min(1, 0.7 * seconds)))
            if process.poll() is not None:
                break
            at = f"near iteration {iterations_logged(run)}"
            if chance.random() < 0.2:
                process.send_signal(signal.SIGKILL)
                story.append(f"{at}: SIGKILL to the controller")
                process.wait()
                arguments = ["--resume", run, "--quiet"] if (run / "config.json").exists() else arguments
                process = self.start(*arguments)
                continue
            children = sorted(pid for pid in job.processes_of(self.folder) if pid != process.pid)
            if children:
                victim, what = chance.choice(children), chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
                story.append(f"{at}: {what.name} to a {role_of(victim)}")
                try:
                    os.kill(victim, what)
                except ProcessLookupError:
                    story[-1] += ", which was gone"
        output, _ = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 0, f"{story}\n{output}")
        return run, story

    def check(self, whole, run, story):
        self.assertEqual(job.report(run)["status"], "max_epochs", story)
        self.assertEqual(job.events(run, "end")[-1]["iteration"], job.events(whole, "end")[-1]["iteration"], story)
        losses, expected = account(self, run, story), account(self, whole, [])
        apart = [i for i in losses if abs(losses[i] - expected[i]) >= 1e-4]
        self.assertEqual(apart, [], story)
        self.assertGreater(len(losses), len(expected) / 2, story)
        self.assertLess(job.largest_difference(job.last_weights(run), job.last_weights(whole)), 1e-4, story)

    def storm(self, name, *more):
        seed = int(os.environ.get("SCAVENGER_TEST_SEED", time.time_ns() % 10**6))
        print(f"SCAVENGER_TEST_SEED={seed}")
        memory_before = shared_memory_files()
        whole = self.undisturbed(*more)
        iterations = job.events(whole, "end")[-1]["iteration"]
        seconds = job.report(whole)["totals"]["seconds"]
        recoveries, hits = [], 0
        for number in range(4 * count):
            if number >= count and hits > 0:
                break  # else the machine is fast: more runs, until something is hit
            chance = random.Random(f"{seed} {name} {number}")
            run, story = self.disturbed(f"run{number}", chance, iterations, seconds, *more)
            hits += len(story)
            self.check(whole, run, story)
            self.assert_no_orphans()
            recoveries += [event for event in job.events(run, "recovery") if event["lost"]]
            print(f"  {name} {number}: {'; '.join(story) or 'nothing hit'}", flush=True)
        print(f"  {name}: {hits} faults")
        self.assertGreater(hits, 0, "nothing was hit: the test has tested nothing")
        self.assertEqual(shared_memory_files() - memory_before, set(), "shared memory is left")
        for role in ("worker", "shard"):
            took = [event["seconds"] for event in recoveries if all(lost.startswith(role) for lost in event["lost"])]
            if took:
                print(f"  {name}: {len(took)} recoveries from losses of a {role}: median "
                      f"{statistics.median(took):.3f} s, longest {max(took):.3f} s from the news to the next iteration")

    def test_one_shard(self):
        self.storm("one shard", "--set", "sync.transport=tcp")

    def test_shared_memory(self):
        self.storm("shared memory")

    def test_all_reduce(self):
        self.storm("all-reduce", "--set", "sync.strategy=gloo", "--set", "ps.chunk_bytes=4096")

    def test_two_shards_of_many_chunks(self):
        self.storm("two shards", "--set", "sync.transport=tcp", "--set", "ps.shards=2", "--set", "ps.chunk_bytes=4096",
                   "--set", "model.hidden=[64]")


def shared_memory_files():
    return {path.name for path in pathlib.Path("/dev/shm").glob("scavenger*") if "bench" not in path.name}


def role_of(pid):
    try:
        command = pathlib.Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return "process that has ended"
    return "shard" if "ps" in command else "worker" if "worke" in command else "process that is being started"


def iterations_logged(run):
    """How far the log is, of which only the end is read."""
    try:
        with open(run / "events.jsonl", "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 200000))
            lines = log.read().split(b"\n")[:-1]
    except OSError:
        return 0
    found = [line for line in lines if b'"event":"iteration' in line and line.startswith(b"{")]
    last = json.loads(found[-1]) if found else {"first": 0, "count": 0}
    return last["first"] + last["count"]


def account(test, run, story):
    """Follows the log: every iteration is there, in order, each once, but for what the log says was lost. Returns
    the loss by iteration where all workers reported it."""
    done, losses, membership = 0, {}, None
    for event in job.events(run):
        if event["event"] == "start":
            membership = None
            test.assertLessEqual(event["resumed_from_iteration"] or 0, done, story)
            done = event["resumed_from_iteration"] or 0
        elif event["event"] == "membership":
            test.assertLessEqual(event["first_iteration"], done, f"iterations were skipped: {story}")
            test.assertEqual(event["position"], event["first_iteration"] * BATCH, story)
            test.assertEqual(sum(event["shares"]), BATCH, story)
            if membership:
                test.assertGreater(event["membership_epoch"], membership["membership_epoch"], story)
            done, membership = event["first_iteration"], event
        elif event["event"] in ("iterations", "iteration_block"):
            test.assertEqual(event["first"], done, f"iterations twice, or left out: {story}")
            test.assertEqual(event["membership_epoch"], membership["membership_epoch"], story)
            for place in range(event["count"] if event["event"] == "iterations" else 0):
                losses.pop(done + place, None)
                if len(event["workers"]) == membership["workers"]:
                    losses[done + place] = event["loss"][place]
            done += event["count"]
    end = job.events(run, "end")[-1]
    test.assertEqual((end["iteration"], end["position"]), (done, done * BATCH), story)
    return losses


if __name__ == "__main__":
    count = job.count_option(count)
    job.main()
