"""The loader processes of a worker: what they do with slow, broken and hanging data sets."""

import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

PACKAGE = str(pathlib.Path(__file__).resolve().parents[2] / "python")
sys.path.insert(0, PACKAGE)
os.environ["PYTHONPATH"] = PACKAGE  # of the process that loaders are forked from, as the worker's launcher sets it

HAS_TORCH = importlib.util.find_spec("torch") is not None
PATIENCE_SECONDS = 120  # a process imports PyTorch first, on a machine that may be busy

FILE = """
    import os, signal, threading, time
    import torch

    # As a library does that may not be forked: it has threads, and a process that was forked from one that
    # has imported it does not live.
    threading.Thread(target=lambda: time.sleep(3600), daemon=True).start()
    os.register_at_fork(after_in_child=lambda: os._exit(9))

    def make_model():
        return torch.nn.Linear(1, 1)

    class Lines:
        def __init__(self):
            self.handle = open(__file__)  # cannot be pickled

        def __len__(self):
            return 100

        def __getitem__(self, index):
            if index == 90:
                hang_here()
            if index == 91:
                return lambda: None
            if index == 92:
                os._exit(3)
            if index in (93, 94):
                kill_me(once=index == 93)
            if index >= 50:
                time.sleep(0.3)
            return torch.full((2,), float(index))

    def hang_here():
        time.sleep(3600)

    def kill_me(once):
        mark = __file__ + ".killed"
        if not once or not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)

    def make_dataset(split):
        return Lines()

    def collate(samples):
        return torch.stack(samples) if torch.is_tensor(samples[0]) else samples
"""


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class LoaderTest(unittest.TestCase):
    def setUp(self):
        from scavenger.loading.loader_pool import LoaderPool, importing_loaders
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_loader_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        path = self.folder / "train.py"
        path.write_text(textwrap.dedent(FILE))
        self.pool = LoaderPool(importing_loaders(path, 1, 100))
        self.addCleanup(lambda: [loader.process.kill() for loader in self.pool._loaders])

    def take(self, *samples):
        from scavenger.loading.loader_pool import TRAINING
        return self.pool.take(TRAINING, list(samples), samples[0])

    def test_what_cannot_be_pickled_stays_in_its_process(self):
        from scavenger.problems import UserError
        self.assertEqual(self.take(0, 1).tolist(), [[0, 0], [1, 1]])
        with self.assertRaisesRegex(UserError, "a batch cannot be sent from a loader process"):
            self.take(91)

    def test_libraries_that_may_not_be_forked(self):
        """The worker has imported the file, too, before loader processes are started."""
        code = ("import os, sys, pathlib\n"
                "from scavenger import user_file\n"
                "from scavenger.loading.loader_pool import TRAINING, LoaderPool, importing_loaders\n"
                "path = pathlib.Path(sys.argv[1])\n"
                "user_file.load(path)\n"
                "child = os.fork()\n"
                "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9, 'it may be forked'\n"
                "pool = LoaderPool(importing_loaders(path, 1, 100))\n"
                "assert pool.take(TRAINING, [4], 0).tolist() == [[4.0, 4.0]]\n"
                "pool._loaders[0].process.kill()\n"
                "print('loaded')\n")
        done = subprocess.run([sys.executable, "-c", code, self.folder / "train.py"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=2 * PATIENCE_SECONDS)
        self.assertIn("loaded", done.stdout)

    def test_starved_training_gets_another_process(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        for sample in [50, 51, 52, 53, 54, 55, 56] * 50:
            self.take(sample)
            if len(self.pool._loaders) > 1 or time.monotonic() > deadline or (os.cpu_count() or 1) < 2:
                break
        self.assertGreaterEqual(len(self.pool._loaders), min(2, os.cpu_count() or 1))

    def test_a_hang_is_named_with_the_place_where_it_hangs(self):
        from scavenger.problems import UserError
        self.take(0)
        self.pool.hang_seconds = 1.0
        with self.assertRaises(UserError) as raised:
            self.take(90)
        self.assertIn("has taken 1 s for samples 90, and counts as hung", raised.exception.what)
        self.assertIn("limits.iteration_seconds", raised.exception.remedy)
        self.assertIn("in hang_here", raised.exception.traceback)

    def test_a_process_that_ends_is_named(self):
        from scavenger.loading.loader_pool import LoaderLost
        with self.assertRaisesRegex(LoaderLost, "ended with exit code 3 while it loaded samples 92"):
            self.take(92)

    def test_one_that_is_killed_is_replaced(self):
        """As the kernel does if memory runs out. What the others were asked for is loaded, too."""
        from scavenger.loading.loader_pool import TRAINING
        first = self.pool._loaders[0]
        for position, samples in [(0, [1]), (1, [93]), (2, [3, 4]), (4, [5])]:
            self.pool.request(TRAINING, samples, position)
        self.assertEqual(self.pool.take(TRAINING, [1], 0).tolist(), [[1, 1]])
        self.assertEqual(self.pool.take(TRAINING, [93], 1).tolist(), [[93, 93]])
        self.assertEqual(self.pool.take(TRAINING, [3, 4], 2).tolist(), [[3, 3], [4, 4]])
        self.assertEqual(self.pool.take(TRAINING, [5], 4).tolist(), [[5, 5]])
        self.assertEqual(first.process.exitcode, -9)
        self.assertNotIn(first, self.pool._loaders)
        self.assertEqual([loader.waiting for loader in self.pool._loaders], [0])

    def test_the_process_that_loaders_are_forked_from_may_be_killed(self):
        from multiprocessing import forkserver
        self.take(1)
        os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
        self.pool._loaders[0].process.kill()
        self.assertEqual(self.take(2, 3).tolist(), [[2, 2], [3, 3]])

    def run_with_fork(self, code):
        """Runs it in a process that has begun the process that loaders are forked from, and has no threads."""
        begin = """
            import os, pathlib, signal, sys
            from multiprocessing import forkserver
            from scavenger.loading import early_fork_server
            from scavenger.loading.loader_pool import TRAINING, LoaderPool, importing_loaders
            if hasattr(forkserver._forkserver, "_forkserver_authkey"):
                sys.exit(0)
            early_fork_server.begin()
            pid = early_fork_server._waiting.pid
            def load():
                pool = LoaderPool(importing_loaders(pathlib.Path(sys.argv[1]), 1, 100))
                assert pool.take(TRAINING, [2, 3], 0).tolist() == [[2, 2], [3, 3]]
                for loader in pool._loaders:
                    loader.process.kill()
        """
        words = [sys.executable, "-c", textwrap.dedent(begin) + textwrap.dedent(code), self.folder / "train.py"]
        done = subprocess.run(words, text=True, timeout=PATIENCE_SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_that_process_is_a_fork_of_the_worker(self):
        """Another Python would import PyTorch once more."""
        self.run_with_fork("""
            load()
            assert forkserver._forkserver._forkserver_pid == pid
            words = [pathlib.Path(f"/proc/{name}/cmdline").read_bytes() for name in (pid, "self")]
            assert words[0] == words[1]
            early_fork_server.end()
            assert pathlib.Path(f"/proc/{pid}").exists(), "it is used"
            forkserver._forkserver._stop()
            assert not pathlib.Path(f"/proc/{pid}").exists()
        """)

    def test_a_fork_that_was_killed_is_done_without(self):
        self.run_with_fork("""
            os.kill(pid, signal.SIGKILL)
            load()
            assert forkserver._forkserver._forkserver_pid != pid
        """)

    def test_a_fork_that_nobody_uses_is_ended_also_if_it_stands_still(self):
        self.run_with_fork("""
            os.kill(pid, signal.SIGSTOP)
            early_fork_server.end()
            assert not pathlib.Path(f"/proc/{pid}").exists()
            load()
        """)

    def test_a_fork_ends_with_its_worker(self):
        code = ("import sys\n"
                "from scavenger.loading import early_fork_server\n"
                "early_fork_server.begin()\n"
                "print(early_fork_server._waiting.pid if early_fork_server._waiting else 0, flush=True)\n"
                "sys.stdin.read()\n")
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
            pid = int(worker.stdout.readline())
            worker.kill()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while pid and self.is_alive(pid):
            self.assertLess(time.monotonic(), deadline, "the fork outlives its worker")
            time.sleep(0.01)

    def is_alive(self, pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    def test_samples_that_get_each_process_killed_are_named(self):
        from scavenger.loading.loader_pool import LoaderLost
        with self.assertRaises(LoaderLost) as raised:
            self.take(94, 2)
        self.assertIn(r"ended with exit code -9 (killed: perhaps memory ran out) while it loaded samples 94, 2", raised.exception.what)
        self.assertIn("less memory", raised.exception.remedy)


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class BatchTest(unittest.TestCase):
    """Which function makes a batch, and what is said of samples that the default one cannot join."""

    def datasets(self, train, test=(), **functions):
        from scavenger.loading.loader_process import Datasets
        from scavenger.user_file import UserFile
        splits = {"train": train, "test": list(test)}
        file = UserFile(path=pathlib.Path("train.py"), make_model=lambda: None, make_dataset=splits.get, **functions)
        return Datasets(file, 1, len(train))

    def load(self, datasets, *numbers):
        from scavenger.loading.loader_process import Request
        return datasets.load(Request(1, list(numbers), numbers[0]))

    def said_of(self, datasets, *numbers):
        from scavenger.problems import UserError
        with self.assertRaises(UserError) as raised:
            self.load(datasets, *numbers)
        self.assertIn("collate(samples)", raised.exception.remedy)
        self.assertIn("collate_fn", raised.exception.remedy)
        return raised.exception.what

    def test_none_in_a_sample_is_named_with_its_place_and_a_remedy(self):
        import torch
        x = torch.zeros(2)
        for samples, number, words in [
                ([(x, 1), (x, 2), (x, None)], 2, "sample 2 of the train data set has None at [1], of"),
                ([(x, None)] * 3, 0, "sample 0 of the train data set has None at [1], of"),
                ([{"x": x, "mask": [x, None]}] * 3, 0, "sample 0 of the train data set has None at ['mask'][1], of"),
                ([x, None, x], 1, "sample 1 of the train data set is None, of")]:
            with self.subTest(words):
                self.assertIn(words, self.said_of(self.datasets(samples), 0, 1, 2))
                self.assertIn(words.replace("train", "test"), self.said_of(self.datasets([x] * 5, samples), 5, 6, 7))
                self.assertIn(words, self.said_of(self.datasets(samples, collate=torch.utils.data.default_collate), 0, 1, 2))
                self.assertIn(words.split(" of the")[0], self.said_of(self.datasets(samples), number))

    def test_other_samples_that_the_default_cannot_join_have_the_remedy(self):
        import torch
        said = self.said_of(self.datasets([torch.zeros(2), torch.zeros(3)]), 0, 1)
        self.assertIn("the default collate() failed on samples 0, 1: RuntimeError: stack expects each tensor to be equal size", said)

    def test_test_data_may_have_a_collate_function_of_their_own(self):
        datasets = self.datasets([1, None, 3], [5, None], collate=lambda samples: ["train", *samples])
        self.assertEqual(self.load(datasets, 0, 1), ["train", 1, None])
        self.assertEqual(self.load(datasets, 3, 4), ["train", 5, None])
        datasets = self.datasets([1, 2, 3], [5, None], test_collate=lambda samples: ["test", *samples])
        self.assertEqual(self.load(datasets, 0, 1).tolist(), [1, 2])
        self.assertEqual(self.load(datasets, 3, 4), ["test", 5, None])


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class InspectionTest(unittest.TestCase):
    """What is wrong with a file is said before anything is started."""

    MODEL = "import torch\ndef make_model():\n    return torch.nn.Linear(1, 1)\n"
    REST = "def loss(model, batch):\n    return 0\n"

    def said_of(self, source, data="synthetic", **config):
        from scavenger.inspection import inspect
        from scavenger.problems import UserError
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "train.py"
            path.write_text(source)
            config = {"model": {"file": str(path)}, "seed": 1, "data": {"train": {"format": data}}, **config}
            with self.assertRaises(UserError) as raised:
                inspect(config)
        return raised.exception.line()

    def test_an_exception_in_each_function_is_named(self):
        fails = "    raise ValueError('the answer is 42')\n"
        for name, source, config in [
                ("importing train.py", "raise ValueError('the answer is 42')", {}),
                ("make_model()", "def make_model():\n" + fails, {}),
                ('make_dataset("train")', self.MODEL + self.REST + "def make_dataset(split):\n" + fails, {}),
                ('len(make_dataset("train"))', self.MODEL + self.REST + "class D:\n    def __getitem__(self, i):\n"
                 "        return i\n    def __len__(self):\n    " + fails + "def make_dataset(split):\n    return D()\n", {}),
                ("make_optimizer()", self.MODEL + self.REST + "def make_optimizer(model):\n" + fails,
                 {"optimizer": {"type": "python"}}),
                ("make_scheduler()", self.MODEL + self.REST + "def make_optimizer(model):\n"
                 "    return torch.optim.SGD(model.parameters(), 0.1)\ndef make_scheduler(optimizer):\n" + fails,
                 {"optimizer": {"type": "python"}})]:
            with self.subTest(name):
                data = "python" if "def make_dataset" in source else "synthetic"
                self.assertIn(f"{name} failed: ValueError: the answer is 42", self.said_of(source, data, **config))

    def test_an_iterable_data_set_is_told_what_to_do(self):
        said = self.said_of(self.MODEL + self.REST + "class D(torch.utils.data.IterableDataset):\n"
                            "    def __iter__(self):\n        return iter([1])\n"
                            "def make_dataset(split):\n    return D()\n", "python")
        self.assertIn("an iterable data set, whose samples have no numbers", said)
        self.assertIn("scavenger.data.Shards", said)

    def test_a_missing_make_optimizer_is_named(self):
        self.assertIn("there is no make_optimizer()", self.said_of(self.MODEL + self.REST,
                                                                 optimizer={"type": "python"}))

    def test_nothing_to_train_is_named(self):
        for model, words in [("torch.nn.ReLU()", "there is nothing to train"),
                             ("torch.nn.Linear(1, 1).requires_grad_(False)", "there is nothing to train"),
                             ("torch.nn.Linear(1, 0)", "is empty")]:
            with self.subTest(model):
                self.assertIn(words, self.said_of(self.MODEL.replace("torch.nn.Linear(1, 1)", model)))


if __name__ == "__main__":
    unittest.main()
