"""A script with a loop of its own: the bits of a model's file, kills, resizes, and errors that are told once."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402

ITERATIONS = 40

PARTS = user_code.MODEL + user_code.LINES + user_code.LOSS.replace("def loss(", "def loss_of(")
FILE = PARTS + user_code.MAKE_DATASET + """
    loss = loss_of
"""
MODEL_FILE = """
    def make_model():
        return None
"""
BEGIN = PARTS + """
    import os
    import sys
    import scavenger

    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.001)
    scavenger.prepare(model, optimizer)

    def judge(batch):
        inputs, targets = batch
        assert not model.training
        outputs = model(inputs)
        return {"loss": functional.cross_entropy(outputs, targets), "correct": (outputs.argmax(1) == targets).sum()}
"""
EVALUATE = """
    scavenger.evaluate(judge, Lines(64, 512), classes=4)
"""
LOOP = """
    for batch in scavenger.loader(Lines(512, 0), batch_size=64, max_iterations=40):
        scavenger.step(loss_of(model, batch))
"""
# Each iteration that counts is written down, by each worker that did it.
NOTED = BEGIN + """
    for batch in scavenger.loader(Lines(512, 0), batch_size=64, max_iterations=int(sys.argv[1])):
        loss = loss_of(model, batch)
        iteration, workers = scavenger.iteration, scavenger.workers
        if scavenger.step(loss):
            with open(f"seen_{os.getpid()}", "a") as file:
                file.write(f"{iteration} {scavenger.rank} {workers}\\n")
"""

sys.path.insert(0, str(job.SOURCE / "python"))


class ScriptTest(user_code.UserCodeTest):
    def script(self, source, name="train.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(source))
        return path

    def weights_of(self, name, *arguments):
        self.train("--quiet", "--run", self.run_folder(name), *arguments)
        return job.last_weights(self.run_folder(name))

    def seen(self):
        """(iteration, rank, workers) of all iterations that counted, as the workers wrote them."""
        lines = [line for path in self.folder.glob("seen_*") for line in path.read_text().splitlines()]
        return [tuple(map(int, line.split())) for line in lines]

    def test_it_has_the_bits_of_the_same_model_in_a_file(self):
        (self.folder / "file.py").write_text(textwrap.dedent(FILE))
        config = {"name": "file", "data": {"train": {"format": "python"}, "test": {"format": "python"}},
                  "model": {"type": "python", "file": "file.py"}, "batch_size": 64,
                  "optimizer": {"type": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 0.001},
                  "stop": {"max_iterations": ITERATIONS}}
        (self.folder / "file.json").write_text(json.dumps(config))
        script = self.script(BEGIN + EVALUATE + LOOP + """
    assert scavenger.epoch == 5.0, scavenger.epoch  # 40 iterations of 64, of 512 samples
    if scavenger.rank == 0:
        torch.save(model.state_dict(), "after_the_loop.pt")
""")
        for workers in (1, 2):
            in_file = self.weights_of(f"file{workers}", self.folder / "file.json", "--workers", workers)
            own = self.weights_of(f"own{workers}", script, "--workers", workers)
            self.assertEqual(in_file, own)
            self.check_after_the_loop(own)
        accuracy = job.events(self.run_folder("own2"), "evaluation")[-1]["accuracy"]
        self.assertGreater(accuracy, 0.25)

    def check_after_the_loop(self, weights):
        """The model that the script has after its loop is the job's last one."""
        import torch
        saved = torch.load(self.folder / "after_the_loop.pt", weights_only=True)
        for name, raw in weights.items():
            if name in saved and saved[name].dtype == torch.float32:
                self.assertEqual(saved[name].numpy().tobytes(), raw, name)
        self.assertTrue(set(saved) >= {"0.weight", "0.bias", "4.weight"})

    def test_a_killed_job_goes_on_with_the_bits_of_one_that_was_not(self):
        script = self.script(NOTED)
        settings = ("--workers", 2, "--set", "checkpoint.every_iterations=100")
        run = self.run_folder("killed")
        process = self.start(script, "--quiet", "--run", run, *settings, "--", 600)
        self.wait_for_event(run, "checkpoint", timeout=300)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.train("--resume", run, "--quiet")
        self.assertEqual(self.weights_of("whole", script, *settings, "--", 600), job.last_weights(run))

    def test_a_killed_worker_costs_no_iteration_and_the_script_knows_nothing_of_it(self):
        script = self.script(NOTED)
        run = self.run_folder()
        process = self.start(script, "--quiet", "--workers", 2, "--run", run, "--set", "checkpoint.every_epochs=1000",
                             "--", 100000)
        self.wait_for_event(run, "iterations", 2, timeout=300)
        workers = [event for event in job.events(run, "process_started") if event["role"] == "worker"]
        os.kill(workers[1]["pid"], signal.SIGKILL)
        self.wait_for_event(run, "recovery", 1, timeout=120)
        self.wait_for_event(run, "membership", 3, timeout=120)  # without it, and with the one in its place
        self.wait_for_event(run, "iterations", len(job.trained(run)) + 2)
        for size in (1, 3):
            subprocess.run([job.programs / "scavenger-ctl", run, "resize", "--workers", str(size), "--wait"],
                           check=True, stdout=subprocess.DEVNULL, timeout=120)
            self.wait_for_event(run, "iterations", len(job.trained(run)) + 2)
        subprocess.run([job.programs / "scavenger-ctl", run, "stop"], check=True, stdout=subprocess.DEVNULL)
        process.communicate(timeout=180)
        done = job.events(run, "end")[-1]["iteration"]
        self.assertEqual(sum(event["count"] for event in job.trained(run)), done)
        self.assertEqual({iteration for iteration, _, _ in self.seen()}, set(range(done)))
        self.assertEqual({workers for _, _, workers in self.seen()}, {1, 2, 3})
        each = [(iteration, rank) for iteration, rank, _ in self.seen()]
        self.assertEqual(len(each), len(set(each)), "an iteration counted twice")

    def assert_told_once(self, said, *words):
        for word in words:
            self.assertEqual(said.count(word), 1, said)

    def said_of(self, source, *arguments, check=2):
        job.shutil.rmtree(self.run_folder(), ignore_errors=True)
        return self.train(self.script(source), "--run", self.run_folder(), *arguments, check=check)

    def test_an_exception_is_told_as_its_own_traceback_once(self):
        broken = "broken = [][scavenger.iteration]; scavenger.step("
        said = self.said_of(BEGIN + LOOP.replace("scavenger.step(", broken), "--workers", 2)
        self.assert_told_once(said, "Traceback (most recent call last)", "IndexError: list index out of range",
                              "broken = [][scavenger.iteration]", "the script failed in iteration 0 in worker")
        self.assertRegex(said, "on samples [0-9]+, [0-9]+, .* and 24 more")
        self.assertLess(said.index("IndexError"), said.index("the script failed in iteration 0"))
        self.assertNotIn("scavenger/script", said)
        said = self.said_of(BEGIN + "\n    def judge(batch):\n        raise ValueError('no sums')\n" + EVALUATE + LOOP,
                            check=1)
        self.assert_told_once(said, "Traceback (most recent call last)", "ValueError: no sums",
                              "evaluate() failed in worker 0")
        said = self.said_of(BEGIN + LOOP.replace("Lines(512, 0)", "[(torch.zeros(16), 0), 3] * 100"), "--workers", 1)
        self.assert_told_once(said, "Traceback (most recent call last)", "collate() failed on samples")

    def test_mistakes_are_told_before_anything_starts(self):
        for source, words in [
                (BEGIN + "\n    raise ValueError('the answer is 42')\n", "ValueError: the answer is 42"),
                (BEGIN, "the script ended without a loop"),
                (MODEL_FILE, "run scavenger-train with a configuration that names it as model.file"),
                (BEGIN + LOOP.replace(", max_iterations=40", ""), "the job would never end"),
                (BEGIN + LOOP.replace("batch_size=64", "batch_size=5000"), "more than the 512 training samples"),
                (BEGIN + LOOP.replace("batch_size=64", "batch_size=0"), "batch_size"),
                ("import no_such_module", "No module named 'no_such_module'")]:
            with self.subTest(words):
                said = self.said_of(source)
                self.assert_told_once(said, words)
                self.assertFalse(self.run_folder().exists(), "something has started")

    def test_a_script_that_does_not_come_to_its_loop_is_told_of(self):
        script = self.script(BEGIN + "\n    import time\n    time.sleep(100000)\n" + LOOP)
        process = self.start(script, "--run", self.run_folder(), "--quiet")
        said = process.stdout.readline()
        self.assertIn("train.py has not come to its loop over scavenger.loader() yet, after 10 s", said)
        self.assertFalse(self.run_folder().exists(), "something has started")
        process.send_signal(signal.SIGINT)
        self.assertNotEqual(process.wait(timeout=180), 0)

    def test_a_loop_that_is_left_ends_the_job(self):
        said = self.said_of(BEGIN + LOOP + "        break\n", "--workers", 1, check=None)
        self.assert_told_once(said, "left its loop in iteration 0")

    def test_an_exception_after_the_loop_is_shown_and_the_job_is_done(self):
        said = self.said_of(BEGIN + LOOP + "\n    raise OSError('the disk is full')\n", "--workers", 1, "--quiet",
                            check=0)
        self.assert_told_once(said, "OSError: the disk is full", "worker 0 ended with exit code 2, after the training")
        self.assertEqual(job.report(self.run_folder())["status"], "max_iterations")

    def test_it_is_run_from_python_and_logs(self):
        script = self.script(BEGIN + """
    for batch in scavenger.loader(Lines(512, 0), epochs=2):
        loss = loss_of(model, batch)
        scavenger.step(loss)
        scavenger.log({"half_loss": loss / 2})
""")
        code = ("import json, scavenger\n"
                "run = scavenger.run('train.py', workers=2, batch_size=32, settings={'seed': 3})\n"
                "print('ended', run.exit_code, run.report['status'], run.folder)\n")
        environment = {**self.environment(), "PYTHONPATH": str(job.SOURCE / "python"),
                       "SCAVENGER_PROGRAMS": str(job.programs)}
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
        self.assertIn("ended 0 max_epochs runs/train", done.stdout)
        self.assertIn("half_loss", done.stdout)
        run = self.folder / "runs" / "train"
        last = job.events(run, "script_values")[-1]
        self.assertEqual((last["iteration"], last["names"]), (31, ["half_loss"]))
        self.assertGreater(last["values"][0], 0.0)
        self.assertEqual(job.events(run, "evaluation"), [])
        config = json.loads((run / "config.json").read_text())
        self.assertEqual((config["batch_size"], config["seed"], config["cluster"]["workers"]), (32, 3, 2))
        self.assertEqual({name: config["optimizer"][name] for name in ("type", "momentum", "weight_decay")},
                         {"type": "sgd", "momentum": 0.9, "weight_decay": 0.001})

    def test_an_accelerator_has_the_bits_of_a_loop(self):
        loop = self.script(BEGIN + """
    for batch in scavenger.loader(Lines(512, 0), batch_size=48, epochs=3):
        scavenger.step(loss_of(model, batch))
""", "loop.py")
        accelerated = self.script(PARTS + """
    import scavenger.accelerate

    accelerator = scavenger.accelerate.Accelerator(epochs=3)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.001)
    batches = torch.utils.data.DataLoader(Lines(512, 0), batch_size=48, shuffle=True)
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    epochs = 0
    for epoch in range(3):
        for batch in batches:
            optimizer.zero_grad()
            accelerator.backward(loss_of(model, batch))
            optimizer.step()
        epochs += 1
        accelerator.print("epoch", epoch, "done", flush=True)
    assert epochs == 3 and list(batches) == []
""", "accelerated.py")
        self.assertEqual(self.weights_of("loop", loop, "--workers", 2), self.weights_of("accelerated", accelerated, "--workers", 2))
        logs = "".join(path.read_text() for path in (self.run_folder("accelerated") / "logs").glob("worker*"))
        self.assertEqual([logs.count(f"epoch {epoch} done") for epoch in range(3)], [1, 1, 1])

    def test_a_function_of_a_notebook_is_run(self):
        """A notebook's functions and classes are of no module that a worker could import."""
        code = """
import torch, scavenger

class Rows:
    def __len__(self):
        return 128
    def __getitem__(self, index):
        x = torch.randn(16, generator=torch.Generator().manual_seed(index))
        return x, int(x[:4].argmax())

rate = 0.05

def train_it(width):
    model = torch.nn.Sequential(torch.nn.Linear(16, int(width)), torch.nn.ReLU(), torch.nn.Linear(int(width), 4))
    scavenger.prepare(model, torch.optim.SGD(model.parameters(), lr=rate))
    for inputs, targets in scavenger.loader(Rows(), batch_size=32, epochs=2):
        scavenger.step(torch.nn.functional.cross_entropy(model(inputs), targets))

run = scavenger.run(train_it, "8", workers=2)
print("ended", run.exit_code, run.report["status"], run.folder)
stream = (number for number in range(3))
try:
    scavenger.run(lambda: list(stream))
except scavenger.problems.UserError as error:
    print("refused:", error)
"""
        environment = {**self.environment(), "PYTHONPATH": str(job.SOURCE / "python"),
                       "SCAVENGER_PROGRAMS": str(job.programs)}
        # As a notebook does, there is no file to read the source from.
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
        self.assertIn("ended 0 max_epochs runs/train_it", done.stdout)
        self.assertIn("refused: lambda cannot be copied", done.stdout)
        run = self.folder / "runs" / "train_it"
        weights = job.last_weights(run)
        self.assertEqual(len(weights["0.bias"]), 8 * 4)
        self.train("--resume", run, "--quiet", "--set", "stop.max_epochs=3")
        self.assertEqual(job.events(run, "end")[-1]["iteration"], 12)

    def test_a_job_ends_with_the_program_that_runs_it(self):
        self.script(BEGIN + LOOP)
        code = ("import scavenger\n"
                "scavenger.run('train.py', workers=1, run='run', settings={'stop.max_iterations': 100000000})\n")
        environment = {**self.environment(), "PYTHONPATH": str(job.SOURCE / "python"),
                       "SCAVENGER_PROGRAMS": str(job.programs)}
        with subprocess.Popen([sys.executable, "-c", code], cwd=self.folder, env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as program:
            run = self.folder / "run"
            self.wait_for_event(run, "iterations", timeout=240)
            program.kill()
        self.wait_for_event(run, "end", timeout=120)
        self.assertEqual(job.events(run, "end")[-1]["status"], "interrupted")
        self.assertTrue(job.checkpoints(run))

    def test_an_optimizer_is_refused_or_stepped_elsewhere(self):
        import torch
        from scavenger.model_state import ModelState
        from scavenger.optimizers.settings import require_no_others, require_trainable
        from scavenger.problems import UserError
        from scavenger.optimizers.stepped_elsewhere import SteppedElsewhere
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        state = ModelState(model)
        parameters = list(model.parameters())
        used = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
        model(torch.ones(1, 2)).sum().backward()
        used.step()
        with self.assertRaisesRegex(UserError, "state of earlier steps"):
            require_trainable(used, state.names, state.parameters, "scavenger.prepare()")
        with self.assertRaisesRegex(UserError, "int is no optimizer"):
            require_trainable(3, state.names, state.parameters, "scavenger.prepare()")
        with self.assertRaisesRegex(UserError, "not of the model"):
            require_no_others(torch.optim.SGD(parameters, lr=1), list(model[0].parameters()), "scavenger.prepare()")
        optimizer = torch.optim.SGD(parameters, lr=1)
        stepped = SteppedElsewhere(optimizer)
        with self.assertRaisesRegex(UserError, "optimizer.step\\(\\) was called"):
            optimizer.step()
        stepped.require_unchanged()
        optimizer.param_groups[0]["lr"] = 0.5
        with self.assertRaisesRegex(UserError, "was changed from 1.0 to 0.5"):
            stepped.require_unchanged()

    def test_loader_processes_have_the_scripts_data_and_a_hang_is_named(self):
        import pathlib
        import time
        import torch
        from scavenger.loading.forked_loaders import ScriptData, forked_loaders
        from scavenger.loading.loader_pool import EVALUATION, TRAINING, LoaderPool
        from scavenger.problems import UserError

        begun = self.folder / "sleeps"

        class Sleepy:
            unpicklable = staticmethod(lambda: None)

            def __len__(self):
                return 8

            def __getitem__(self, index):
                if index == 5:
                    begun.touch()
                    time.sleep(1000)
                return torch.tensor([float(index)])

        tests = ScriptData(["a", "b"], lambda samples: "".join(samples))
        pool = LoaderPool(forked_loaders(pathlib.Path("train.py"), 1, ScriptData(Sleepy(), None), tests))
        self.assertEqual(pool.take(TRAINING, [1, 3], 0).tolist(), [[1.0], [3.0]])
        self.assertEqual(pool.take(EVALUATION, [8, 9], 0), "ab")
        pool.request(TRAINING, [4, 5], 0)
        deadline = time.monotonic() + 180
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        pool.hang_seconds = 1.0
        with self.assertRaises(UserError) as raised:
            pool.take(TRAINING, [4, 5], 0)
        self.assertIn("has taken 1 s for samples 4, 5, and counts as hung", raised.exception.what)
        self.assertIn("time.sleep(1000)", raised.exception.traceback)
        self.assertNotIn("multiprocessing", raised.exception.traceback)

    def run_example(self, name, *arguments):
        """Trains an example of examples/language_model on a small text; its test loss goes down."""
        text = self.folder / "text.txt"
        text.write_text((job.SOURCE / "README.md").read_text()[:12000])
        said = self.train(job.SOURCE / "examples" / "language_model" / name, "--workers", 2, "--run",
                          self.run_folder(), "--set", "checkpoint.every_epochs=1", "--", "--text", text, "--width", 32, "--layers", 1, "--length", 32,
                          "--epochs", 12, *arguments, timeout=600)
        losses = [event["loss"] for event in job.events(self.run_folder(), "evaluation")]
        self.assertLess(losses[-1], losses[0] - 0.3, said)
        return said

    def test_the_example_of_a_language_model(self):
        self.assertIn("loss", self.run_example("train.py", "--output", self.folder / "model.pt"))
        self.assertTrue((self.folder / "model.pt").exists())

    @unittest.skipUnless(importlib.util.find_spec("transformers") and importlib.util.find_spec("accelerate"),
                         "transformers and accelerate are not installed")
    def test_the_trainer_of_transformers(self):
        self.assertIn("iteration 49  loss", self.run_example("train_transformers.py"))

    @unittest.skipUnless(importlib.util.find_spec("pytorch_lightning"), "pytorch_lightning is not installed")
    def test_a_lightning_module(self):
        self.run_example("train_lightning.py")


if __name__ == "__main__":
    job.main()
