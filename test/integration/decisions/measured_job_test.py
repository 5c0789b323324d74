"""scavenger-plan and the store, as a user runs them; and a job that feeds a store and measures its noise."""

import csv
import json
import math
import pathlib
import sqlite3
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

TABLE_COLUMNS = ["workers", "batch_size", "iteration_seconds", "epochs", "noise"]


def law(workers, batch):
    return 0.01 + 0.002 * batch / workers + 0.004 * (workers - 1)


class PlanRunner(job.JobTest):
    def plan(self, *arguments, check=0):
        done = subprocess.run([str(job.programs / "scavenger-plan"), *map(str, arguments)], cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout


class PlanTest(PlanRunner):
    def table(self, name="table.csv", scale=1.0, workers=(1, 2, 4, 8)):
        path = self.folder / name
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(TABLE_COLUMNS)
            for k in workers:
                for batch in (64, 128, 256):
                    writer.writerow([k, batch, scale * law(k, batch), 4 * (1 + batch / 300), 300 / (300 + batch)])
        return path

    def test_a_table_becomes_a_plan_on_the_terminal_as_json_and_as_a_page(self):
        table = self.table()
        text = self.plan(table, "--samples", 60000, "--price", 0.5, "--policy", "min-cost", "--html", "plan.html")
        self.assertIn("min-cost: K = ", text)
        self.assertEqual(text.count("<= chosen"), 1)
        self.assertIn("error on held-out batch sizes", text)
        self.assertIn("<svg", (self.folder / "plan.html").read_text())

        plan = json.loads(self.plan(table, "--samples", 60000, "--price", 0.5, "--workers", "1-8", "--json"))
        self.assertEqual(len(plan["rows"]), 8 * 3)
        for row in plan["rows"]:
            expected = law(row["workers"], row["batch_size"])
            self.assertLess(abs(row["iteration_seconds"]["value"] / expected - 1), 0.05, row)
            self.assertLessEqual(row["seconds"]["low"], row["seconds"]["high"])

    def test_seconds_alone_make_a_plan_of_one_epoch(self):
        path = self.folder / "seconds.csv"
        path.write_text("workers,batch_size,iteration_seconds\n" +
                        "".join(f"{k},{b},{law(k, b)}\n" for k in (1, 2, 4) for b in (64, 256)))
        text = self.plan(path, "--samples", 60000, "--max-time", "1s")
        for says in ("samples/s", "efficiency", "A noise scale (--noise-scale", "a worker-hour counts as a dollar",
                     "--max-time took no part in the choice"):
            self.assertIn(says, text)
        plan = json.loads(self.plan(path, "--samples", 60000, "--noise-scale", 500, "--price", 0.5, "--json"))
        self.assertEqual(plan["basis"], "reference_epoch")
        for row in plan["rows"]:  # not by the minute
            self.assertAlmostEqual(row["cost"]["value"], row["workers"] * 0.5 * row["seconds"]["value"] / 3600)

    def test_a_store_may_be_named_before_the_command_and_forgetting_makes_none(self):
        self.assertIn("no store is named", self.plan("list", check=2))
        self.plan("forget", "--store", "none.sqlite", "abc", check=2)
        self.assertFalse((self.folder / "none.sqlite").exists())
        self.plan("record", "--store", "s.sqlite", "--samples", 60000, self.table())
        self.assertEqual(self.plan("--store", "s.sqlite", "list"), self.plan("list", "--store", "s.sqlite"))
        listed = self.plan("list", "--store", "s.sqlite")
        self.plan("forget", "--store", "s.sqlite", "", check=2)  # as of a variable that is not set
        self.assertEqual(self.plan("list", "--store", "s.sqlite"), listed)

    def test_unequal_machines_are_planned_from_what_alike_ones_were_seen_to_do(self):
        path = self.folder / "machines.csv"
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*TABLE_COLUMNS, "machine"])
            for k in (1, 2, 4):
                for batch in (64, 128, 256):
                    writer.writerow([k, batch, law(k, batch), 4 * (1 + batch / 300), 300 / (300 + batch), "medium"])
            writer.writerow([1, 256, law(1, 256) / 3, "", "", "large"])
        words = [path, "--samples", 60000, "--machine", "medium", "--machines", "medium:1:1:0.1,large:2:3:0.2", "--batch-sizes", 256]
        rows = {shares: {row["workers"]: row for row in json.loads(self.plan(*words, "--json", "--shares", shares))["rows"]} for shares in ("even", "dynamic")}
        self.assertEqual([(one["type"], one["count"]) for one in rows["even"][3]["machines"]], [("medium", 1), ("large", 2)])
        synchronisation, even = 0.004 * 2, 0.01 + 0.002 * 256 / 3
        self.assertAlmostEqual(rows["even"][3]["iteration_seconds"]["value"] / (even + synchronisation), 1, delta=0.03)
        self.assertAlmostEqual(rows["dynamic"][3]["iteration_seconds"]["value"] / (even * 3 / 7 + synchronisation), 1, delta=0.03)
        self.assertAlmostEqual(rows["dynamic"][3]["cost"]["value"] / (rows["dynamic"][3]["seconds"]["value"] * 0.5 / 3600), 1, delta=0.01)
        observed = self.plan(path, "--samples", 60000, "--machine", "medium", "--machines", "medium:1,large:2", "--batch-sizes", 256)
        self.assertIn(f"1 medium b {rows['dynamic'][3]['machines'][0]['share']:.0f}, 2 large", observed)
        self.assertIn("the speed of machines of type \"huge\" is not known",
                      self.plan(path, "--samples", 60000, "--machine", "medium", "--machines", "huge:2", check=2))
        self.assertIn("names no machines", self.plan(path, "--samples", 60000, "--machine", "medium", "--machines", "huge", check=2))

    def test_constraints_bind_and_what_cannot_be_is_said(self):
        table = self.table()
        plan = json.loads(self.plan(table, "--samples", 60000, "--max-local-batch", 16, "--policy", "min-time", "--json"))
        self.assertLessEqual(plan["decision"]["batch_size"] / plan["decision"]["workers"], 16)
        text = self.plan(table, "--samples", 60000, "--max-time", "1s", check=1)
        self.assertIn("max_seconds stands in the way", text)

    def test_bad_input_is_said_in_a_line_with_a_remedy(self):
        for words, text in (("no such file", ["nowhere.csv"]),
                            ("all observations have K = 2", [self.table("one.csv", workers=(2,)), "--samples", 100]),
                            ("samples", [self.table()]),
                            ("no policy", [self.table(), "--samples", 9, "--policy", "best"]),
                            ("no duration", [self.table(), "--samples", 9, "--max-time", "soon"]),
                            ("there is no store", ["--store", "none.sqlite", "--model", "a"]),
                            ("nothing to plan from", [])):
            with self.subTest(words):
                printed = self.plan(*text, check=2)
                self.assertIn(words, printed)
                self.assertEqual(len(printed.strip().splitlines()), 1, printed)

    def test_a_store_is_fed_listed_shown_exported_planned_from_and_forgotten(self):
        self.plan("record", "--store", "s.sqlite", self.table(), "--samples", 60000)
        self.plan("record", "--store", "s.sqlite", self.table("other.csv", scale=3), "--samples", 50000)
        listed = self.plan("list", "--store", "s.sqlite").splitlines()
        self.assertEqual(len(listed), 3)
        identity = next(line for line in listed if line.split()[1] == "table").split()[0]
        self.assertIn("s/iteration", self.plan("show", "--store", "s.sqlite", identity[:5]))
        (self.folder / "export.json").write_text(self.plan("export", "--store", "s.sqlite", identity))
        self.assertEqual(json.loads((self.folder / "export.json").read_text())["name"], "table")
        from_store = json.loads(self.plan("--store", "s.sqlite", "--model", identity, "--json"))
        from_export = json.loads(self.plan("export.json", "--json"))
        self.assertEqual(from_store["rows"], from_export["rows"])
        self.assertIn("relative", self.plan("--store", "s.sqlite", "--mode", "universal"))
        self.plan("forget", "--store", "s.sqlite", identity)
        self.assertNotIn(identity, self.plan("list", "--store", "s.sqlite"))
        self.assertIn("no model", self.plan("show", "--store", "s.sqlite", identity, check=2))

    def test_a_service_gives_a_store_to_other_machines_and_to_nobody_without_its_token(self):
        service = subprocess.Popen([str(job.programs / "scavenger-plan"), "serve", "--store", "s.sqlite", "--token-file",
                                    "token", "--listen", "127.0.0.1:0"], cwd=self.folder, text=True, env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (service.kill(), service.communicate()))
        url = service.stdout.readline().strip()
        remote = ["--store", url, "--token-file", "token"]
        self.plan("record", *remote, self.table(), "--samples", 60000)
        self.assertEqual(self.plan("list", *remote), self.plan("list", "--store", "s.sqlite"))
        identity = self.plan("list", *remote).splitlines()[1].split()[0]
        self.assertEqual(self.plan(*remote, "--model", identity, "--json"),
                         self.plan("--store", "s.sqlite", "--model", identity, "--json"))
        (self.folder / "wrong").write_text("0" * 64)
        (self.folder / "wrong").chmod(0o600)
        self.assertIn("token", self.plan("list", "--store", url, "--token-file", "wrong", check=2))
        (self.folder / "wrong").chmod(0o644)
        self.assertIn("others may read", self.plan("list", "--store", url, "--token-file", "wrong", check=2))
        self.plan("forget", *remote, identity)
        service.terminate()
        self.assertEqual(service.wait(timeout=180), 0)
        self.assertIn("does not answer", self.plan("list", *remote, check=1))

    def test_a_simulation_says_what_each_search_finds(self):
        text = self.plan(self.table(), "--samples", 60000, "--price", 0.5, "--policy", "min-time", "--simulate",
                         "--seeds", 2, "--resize-seconds", 1)
        for mode in ("full", "partial", "adaptive", "none"):
            self.assertIn(mode, text)


class MeasuredJobTest(PlanRunner):
    """A real job: its timers, its noise, its store."""

    def config(self, **changes):
        config = json.loads((job.CONFIGS / "synthetic_mlp.json").read_text())
        config["model_store"] = {"path": str(self.folder / "s.sqlite"), "machine_type": "test machine"}
        config["stop"] = {"max_iterations": 400}
        config["optimizer"]["schedule"] = {"type": "constant"}
        config.update(changes)
        path = self.folder / "job.json"
        path.write_text(json.dumps(config))
        return path

    def test_runs_feed_a_store_from_which_another_configuration_is_predicted(self):
        for workers, batch in ((1, 64), (1, 256), (2, 64), (2, 256)):
            self.train(self.config(), "--workers", workers, "--batch-size", batch, "--quiet",
                       "--run", self.run_folder(f"run_{workers}_{batch}"))
        store = sqlite3.connect(self.folder / "s.sqlite")
        rows = store.execute("SELECT workers, batch_size, machine, seconds, iterations FROM time").fetchall()
        self.assertEqual({row[:3] for row in rows},
                         {(k, b, "test machine") for k in (1, 2) for b in (64, 256)})
        report = job.report(self.run_folder("run_2_256"))
        seconds = report["configurations"][0]["iteration_seconds"]
        self.assertEqual(seconds["count"], 397)
        self.assertAlmostEqual(next(row[3] for row in rows if row[:2] == (2, 256)), seconds["robust_mean"])

        folders = [self.run_folder(f"run_{k}_{b}") for k in (1, 2) for b in (64, 256)]
        plan = json.loads(self.plan(*folders, "--workers", "1-3", "--json"))
        self.assertTrue(plan["relative"])
        self.assertEqual({row["extrapolated"] for row in plan["rows"] if row["workers"] == 3}, {True})
        self.assertIn("memory for", self.plan(*folders))  # what the workers have measured bounds their shares
        self.assertIn("nothing measured now counts",
                      self.plan(folders[0], "--store", "s.sqlite", "--mode", "none"))

    def test_a_report_tells_where_time_went_and_the_noise_with_its_interval(self):
        run = self.run_folder()
        self.train(self.config(), "--workers", 2, "--batch-size", 64, "--quiet", "--run", run)
        report = job.report(run)
        phase = report["phases"][0]
        for name in ("data_wait", "forward", "backward", "sync_wait", "straggler_wait"):
            for worker in phase["by_worker"]:
                self.assertEqual(worker[f"{name}_seconds"]["count"], 397)
        for name in ("iteration", "data_wait", "forward", "backward", "compute", "sync_wait", "transfer"):
            self.assertEqual(phase[f"{name}_seconds"]["count"], 397, name)
        parts = sum(phase[f"{name}_seconds"]["mean"] for name in ("data_wait", "forward", "backward", "sync_wait"))
        self.assertLess(parts, 1.02 * phase["iteration_seconds"]["mean"])
        noise = report["noise"]["present"]
        self.assertEqual(noise["iterations"], 400)
        scale = noise["noise_scale"]
        self.assertLessEqual(scale["low"], scale["value"] if scale["value"] is not None else math.inf)
        self.assertEqual(report["noise"]["half_batch_seconds"], 0)
        self.assertGreater(report["model"]["parameter_count"], 0)
        memory = report["sample_memory"]["latest"]
        self.assertEqual({event["worker"] for event in memory}, {0, 1})
        for event in memory:
            self.assertGreater(event["bytes_per_sample"], 16 * 4)  # its features at least
            self.assertGreater(event["room_samples"], 1)

    def test_one_worker_and_each_layer_are_measured_by_half_batches_which_change_no_weight(self):
        weights = {}
        for share in (0, 0.5):
            run = self.run_folder(f"run_{share}")
            self.train(self.config(noise={"per_layer": True, "half_batch_share": share}), "--workers", 1, "--quiet",
                       "--run", run)
            weights[share] = job.last_weights(run)
        self.assertEqual(weights[0], weights[0.5])
        self.assertIsNone(job.report(self.run_folder("run_0"))["noise"]["present"])
        noise = job.report(self.run_folder("run_0.5"))["noise"]
        self.assertGreater(noise["present"]["iterations"], 5)
        self.assertGreater(noise["half_batch_seconds"], 0)
        self.assertGreater(len(noise["groups"]), 1)

    def test_a_store_that_cannot_be_used_costs_a_warning(self):
        (self.folder / "s.sqlite").write_text("no database" * 1000)
        run = self.run_folder()
        printed = self.train(self.config(), "--workers", 1, "--run", run)
        self.assertIn("measurements could not be stored", printed)
        self.assertEqual(job.report(run)["status"], "max_iterations")


if __name__ == "__main__":
    job.main()
