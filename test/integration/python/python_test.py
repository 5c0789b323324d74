"""A model of a user's Python file: the same weights as the built-in one, the same bits each time, and clear errors."""

import json
import pathlib
import signal
import subprocess
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402

ITERATIONS = 20
FEATURES, CLASSES, HIDDEN = 16, 4, 32

MLP = """
    import torch
    from torch import nn
    from torch.nn import functional

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(16, 32), nn.Linear(32, 4)])

        def forward(self, x):
            return self.layers[1](functional.relu(self.layers[0](x.flatten(1))))

    def make_model():
        return Mlp()
"""
NOISY = user_code.MODEL + user_code.LOSS
OWN_DATA = NOISY + user_code.LINES + user_code.MAKE_DATASET + """
    def evaluate(model, batch):
        inputs, targets = batch
        outputs = model(inputs)
        return {"loss": functional.cross_entropy(outputs, targets), "correct": (outputs.argmax(1) == targets).sum()}
"""


sys.path.insert(0, str(job.SOURCE / "python"))


class PythonTest(user_code.UserCodeTest):
    def configure(self, source, **changes):
        """Writes train.py and a configuration that trains it, for ITERATIONS."""
        (self.folder / "train.py").write_text(textwrap.dedent(source))
        config = json.loads((job.CONFIGS / "synthetic_mlp.json").read_text())
        del config["$schema"]
        config["model"] = {"type": "python", "file": "train.py"}
        config["stop"] = {"max_iterations": ITERATIONS}
        config["evaluation"] = {"every_epochs": 100000}
        config.update(changes)
        path = self.folder / "job.json"
        path.write_text(json.dumps(config))
        return path

    def own_data(self):
        return {"data": {"train": {"format": "python"}, "test": {"format": "python"}, "classes": CLASSES}}

    def weights_of(self, name, config, *arguments):
        self.train(config, "--quiet", "--run", self.run_folder(name), *arguments)
        return job.last_weights(self.run_folder(name))

    def test_it_has_the_weights_of_the_built_in_model(self):
        import safetensors.torch
        import torch
        generator = torch.Generator().manual_seed(7)
        start = {f"layers.{i}.{name}": torch.rand(shape, generator=generator) - 0.5
                 for i, (rows, columns) in enumerate([(HIDDEN, FEATURES), (CLASSES, HIDDEN)])
                 for name, shape in (("weight", (rows, columns)), ("bias", (rows,)))}
        safetensors.torch.save_file(start, self.folder / "start.safetensors")
        python = self.configure(MLP.replace("return Mlp()", """model = Mlp()
        import pathlib, safetensors.torch
        model.load_state_dict(safetensors.torch.load_file(pathlib.Path(__file__).parent / "start.safetensors"))
        return model""") + user_code.LOSS)
        model = {"type": "mlp", "hidden": [HIDDEN], "start": {"weights": str(self.folder / "start.safetensors")}}
        for workers in (1, 2, 4):
            built_in = self.weights_of(f"native{workers}", python, "--workers", workers, "--set",
                                       f"model={json.dumps(model)}")
            own = self.weights_of(f"python{workers}", python, "--workers", workers)
            self.assertLess(job.largest_difference(built_in, own), 1e-5)
            begun = {name: tensor.numpy().tobytes() for name, tensor in start.items()}
            self.assertGreater(job.largest_difference(begun, own), 1e-3)

    def test_without_a_loss_the_configured_one_is_minimised(self):
        own = self.weights_of("own", self.configure(MLP + user_code.LOSS), "--workers", 1)
        configured = self.weights_of("configured", self.configure(MLP), "--workers", 1, "--set",
                                     "compute.micro_batch=24")
        self.assertLess(job.largest_difference(own, configured), 1e-5)

    def test_a_killed_job_goes_on_with_the_bits_of_one_that_was_not(self):
        config = self.configure(OWN_DATA, **self.own_data(), checkpoint={"every_iterations": 40},
                                stop={"max_iterations": 200})
        whole = self.weights_of("whole", config)
        run = self.run_folder("killed")
        process = self.start(config, "--quiet", "--run", run)
        self.wait_for_event(run, "checkpoint", timeout=300)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.train("--resume", run, "--quiet")
        self.assertEqual(whole, job.last_weights(run))
        self.check_state_dict(run)

    def check_state_dict(self, run):
        """The module's own state_dict has the checkpoint's names, types and shapes."""
        code = ("import importlib.util, sys, safetensors.torch\n"
                "spec = importlib.util.spec_from_file_location('train', sys.argv[1])\n"
                "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
                "module.make_model().load_state_dict(safetensors.torch.load_file(sys.argv[2]))\n")
        exported = self.folder / "weights.safetensors"
        subprocess.run([job.programs / "scavenger-export", run, exported], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sys.executable, "-c", code, self.folder / "train.py", exported], check=True)

    def test_it_is_resized_while_it_trains(self):
        run = self.assert_it_is_resized_while_it_trains(self.configure(NOISY, stop={"max_epochs": 100000}))
        self.assertEqual(sum(event["count"] for event in job.trained(run)), job.events(run, "end")[-1]["iteration"])

    def said_of(self, source, check=2, **changes):
        """What a job prints that cannot begin or go on."""
        return self.train(self.configure(source, **changes), "--quiet", "--workers", 1, "--run", self.run_folder(),
                          check=check)

    def test_a_worker_out_of_memory_computes_in_halves(self):
        """The kernel refuses more memory than the machine has; the job has the weights of one that did not need it."""
        whole = self.weights_of("whole", self.configure(MLP + user_code.LOSS), "--workers", 2)
        # Of batches of 32 samples a worker, half of which is the most that the machine could have.
        hungry = user_code.LOSS.replace("inputs, targets = batch", """inputs, targets = batch
        kibibytes = int(open("/proc/meminfo").readline().split()[1])
        torch.empty(kibibytes * 1024 * len(inputs) // 24, dtype=torch.uint8)""")
        job_file = self.configure(MLP + hungry)
        self.assertEqual(json.loads(job_file.read_text())["batch_size"], 64)
        self.assertLess(job.largest_difference(whole, self.weights_of("halved", job_file, "--workers", 2)), 1e-5)
        never = self.said_of(MLP + user_code.LOSS.replace("return", "torch.empty(2**48)\n        return"))
        self.assert_told_once(never, "memory does not suffice for one sample")

    def assert_told_once(self, said, *words):
        for word in words:
            self.assertEqual(said.count(word), 1, said)

    def test_a_worker_that_the_kernel_kills_is_told_of_with_its_likely_reason(self):
        """As it does if memory runs out: by SIGKILL, which nobody of the job has sent."""
        killed = user_code.LOSS.replace("inputs, targets = batch", """inputs, targets = batch
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)""")
        said = self.said_of(MLP + killed, check=1, faults={"on_worker_loss": "stop"})
        self.assertIn("worker 0", said)
        self.assertIn("was killed by signal 9 (Killed); perhaps memory ran out", said)

    def test_mistakes_in_the_file_are_told_before_anything_starts(self):
        said = self.said_of("def make_model():\n    raise ValueError('the answer is 42')")
        self.assert_told_once(said, "Traceback (most recent call last)")
        self.assertRegex(said, "make_model\\(\\) failed: ValueError: the answer is 42")
        self.assertFalse(self.run_folder().exists(), "something has started")

    def test_samples_are_loaded_ahead_by_processes(self):
        from scavenger.loading.loader_pool import EVALUATION, TRAINING, LoaderPool, importing_loaders
        self.configure(OWN_DATA.replace("+ 0.01 * torch.randn(16)", "+ torch.randn(16)"))
        pool = LoaderPool(importing_loaders(self.folder / "train.py", 1, 512))
        for position in (0, 2, 4):
            pool.request(TRAINING, [position, position + 1], position)
        inputs, labels = pool.take(EVALUATION, [512, 513], 0)
        self.assertEqual((inputs.shape, labels.shape), ((2, 16), (2,)))
        self.assertEqual(len(pool._pending[TRAINING]), 3)
        ahead, _ = pool.take(TRAINING, [2, 3], 2)  # that at position 0 is needed no more
        self.assertEqual(list(pool._pending[TRAINING]), [(4, 4, 5)])
        alone, _ = pool.take(TRAINING, [3], 3)  # not announced; the same sample at the same position
        self.assertTrue((ahead[1] == alone[0]).all())
        elsewhere, _ = pool.take(TRAINING, [3], 700)
        self.assertFalse((ahead[1] == elsewhere[0]).all())
        process = pool._loaders[0].process
        process.kill()
        process.join()
        again, _ = pool.take(TRAINING, [3], 700)  # from another process
        self.assertTrue((elsewhere[0] == again[0]).all())

    def test_what_a_file_lacks_is_told(self):
        from scavenger.inspection import inspect
        from scavenger.problems import UserError
        own_data = {"train": {"format": "python"}, "classes": CLASSES}
        for source, data, words in [
                ("x = 1", None, "there is no make_model"),
                ("def make_model():\n    return 3", None, "returned int, not a torch.nn.Module"),
                ("import torch\ndef make_model():\n    return torch.nn.ReLU()", None, "nothing to train"),
                ("import no_such_module", None, "No module named 'no_such_module'"),
                ("import sys\nsys.exit(3)", None, "importing train.py failed: SystemExit: 3"),
                ("make_model = 3", None, "make_model is no function"),
                (MLP.replace("return Mlp()", "return Mlp().half()"), None, "is of type torch.float16"),
                (NOISY, own_data, "there is no make_dataset"),
                (OWN_DATA.replace("def evaluate", "def other"), own_data, "there is no evaluate"),
                (OWN_DATA.replace("def __len__", "def other"), own_data, "has no __getitem__ and __len__"),
                (OWN_DATA.replace("return self.size", "return 0"), own_data, "has no samples")]:
            with self.subTest(words):
                self.configure(source)
                config = {"model": {"file": str(self.folder / "train.py")}, "seed": 1,
                          "data": data or {"train": {"format": "synthetic"}}}
                with self.assertRaises(UserError) as raised:
                    inspect(config)
                self.assertIn(words, raised.exception.what)

    def test_an_error_in_a_function_is_told_with_worker_and_samples(self):
        with self.subTest("loss"):
            said = self.said_of(MLP + "\n    def loss(model, batch):\n        raise ValueError('no loss')\n")
            self.assert_told_once(said, "loss() failed in worker 0, on samples 0, 1", "ValueError: no loss")
        for name, source, words in [
                ("data", OWN_DATA.replace("return x +", "assert index != 5, 'sample 5 is broken'; return x +"),
                 ["AssertionError: sample 5 is broken", "at sample 5"]),
                ("collate", OWN_DATA + "\n    def collate(samples):\n        raise ValueError('no batch')\n",
                 ["collate() failed on samples", "ValueError: no batch"]),
                ("evaluate", OWN_DATA.replace("outputs = model(inputs)", "raise ValueError('no sums')"),
                 ["evaluate() failed in worker 0", "ValueError: no sums"]),
                ("exit", OWN_DATA.replace("outputs = model(inputs)", "raise SystemExit(0)"),
                 ["evaluate() failed in worker 0", "SystemExit: 0"])]:
            with self.subTest(name):
                job.shutil.rmtree(self.run_folder(), ignore_errors=True)
                said = self.said_of(source, None, **self.own_data(), stop={"max_epochs": 1}, evaluation={})
                self.assert_told_once(said, *words)


if __name__ == "__main__":
    job.main()
