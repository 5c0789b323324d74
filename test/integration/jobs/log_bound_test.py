"""The logs of a job of many iterations a second have a bound, and all that was decided is decided again from them."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

# docs/events.md, "How much there is of it".
BURST_BYTES = 2e6
BYTES_PER_SECOND = (20e6 - 2e6) / 3600


class LogBound(job.JobTest):
    def train_for(self, seconds, run, *arguments):
        config = json.loads((job.CONFIGS / "synthetic_mlp.json").read_text())
        config["stop"] = {"max_seconds": seconds}
        config["model"]["hidden"] = [4]
        config["batch_size"] = 8
        # Evaluations and checkpoints take decisions of their own, and dozens of epochs pass in a second here.
        config["evaluation"] = {"every_epochs": 1e6}
        config["checkpoint"] = {"every_epochs": 1e6, "every_seconds": 300}
        path = self.folder / "small.json"
        path.write_text(json.dumps(config))
        self.train(path, "--run", run, *arguments)

    def assert_bounded(self, run):
        seconds = job.report(run)["totals"]["seconds"]
        for name in ("events.jsonl", "decisions.jsonl"):
            size = (run / name).stat().st_size
            print(f"{name}: {size} bytes in {seconds:.1f} s, {size / seconds:.0f} a second")
            self.assertLess(size, BURST_BYTES + BYTES_PER_SECOND * seconds, name)

    def test_a_fast_job_is_logged_in_blocks(self):
        run = self.run_folder()
        self.train_for(25, run)
        totals = job.report(run)["totals"]
        singles = sum(event["count"] for event in job.events(run, "iterations"))
        blocks = job.events(run, "iteration_block")
        print(f"{totals['iterations'] / totals['seconds']:.0f} iterations/s: {singles} one by one, {len(blocks)} blocks")
        self.assertEqual(singles + sum(block["count"] for block in blocks), totals["iterations"])
        if totals["iterations"] > 20000:  # so many do not fit one by one
            self.assertGreater(len(blocks), 3)
        self.assert_bounded(run)
        # Without the burst: if decisions took more than this, their record would end in a long job.
        seconds = totals["seconds"]
        self.assertLess((run / "decisions.jsonl").stat().st_size, 5e4 + BYTES_PER_SECOND * seconds)
        # The log goes on where it was, with what its size leaves it.
        job.run_program("scavenger-report", str(run))
        self.train("--resume", run, "--set", "stop.max_seconds=35")
        self.assert_bounded(run)
        report = job.report(run)
        self.assertEqual(report["totals"]["iterations"], job.events(run, "end")[-1]["iteration"])
        self.assertGreater(report["noise"]["present"]["iterations"], 0)

    def test_a_search_decides_by_what_was_logged(self):
        """The tear-down replays it."""
        run = self.run_folder()
        self.train_for(20, run, "--search", "partial", "--policy", "min-time", "--set", "search.workers=[1,2]")
        self.assertTrue(job.events(run, "search_step"))
        self.assert_bounded(run)


if __name__ == "__main__":
    job.main()
