"""Jobs that end since they do not become better any more, whole and in two halves."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

SYNTHETIC = job.CONFIGS / "synthetic_mlp.json"
# Every tenth iteration is evaluated; the loss is at its least soon, since the rate is much too high.
STOPS = ("--set", 'stop={"early_stopping": {"metric": "loss", "patience": 3}}', "--set", "evaluation.every_iterations=10",
         "--set", "optimizer.learning_rate=0.8", "--workers", 2, "--quiet")


class EarlyStoppingTest(job.JobTest):
    def end_of(self, run):
        return job.events(run, "end")[-1]

    def expected_end(self, run):
        """The best evaluation, and where the third without a gain after it was."""
        evaluations = job.events(run, "evaluation")
        best, since = None, 0
        for event in evaluations:
            if best is None or event["loss"] < best["loss"]:
                best, since = event, 0
            else:
                since += 1
            if since == 3:
                return best, event["iteration"]
        self.fail("no three evaluations in a row are without a gain")

    def test_a_job_ends_when_its_patience_does_and_keeps_the_best_model(self):
        run = self.run_folder()
        self.train(SYNTHETIC, "--run", run, *STOPS)
        best, last = self.expected_end(run)
        end = self.end_of(run)
        self.assertEqual((end["status"], end["exit_code"], end["iteration"]), ("early_stopping", 0, last))
        self.assertIn(f"of iteration {best['iteration']}", end["reason"])
        self.assertEqual(job.report(run)["status"], "early_stopping")
        best_checkpoint = job.report(run)["checkpoints"]["best"]
        self.assertEqual(best_checkpoint["iteration"], best["iteration"])
        self.assertTrue((run / best_checkpoint["folder"]).is_dir())

    def test_a_resumed_job_ends_where_the_whole_one_does(self):
        whole, halves = self.run_folder("whole"), self.run_folder("halves")
        self.train(SYNTHETIC, "--run", whole, *STOPS)
        best, last = self.expected_end(whole)
        # Between the best evaluation and the end.
        self.train(SYNTHETIC, "--run", halves, *STOPS, "--set", f"stop.max_iterations={last - 5}")
        self.assertEqual(self.end_of(halves)["status"], "max_iterations")
        self.train("--resume", halves, "--quiet", "--set", "stop.max_iterations=null")
        end = self.end_of(halves)
        self.assertEqual(end["status"], "early_stopping")
        # The first half ended with an evaluation that the whole job did not have: one without a gain.
        extra = [event for event in job.events(halves, "evaluation") if event["iteration"] == last - 5]
        self.assertTrue(extra)
        self.assertIn(end["iteration"], (last, last - 5))
        self.assertIn(f"of iteration {best['iteration']}", end["reason"])


if __name__ == "__main__":
    job.main()
