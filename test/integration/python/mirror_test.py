"""Models in Python on a device with a memory of its own: for which the CPU stands in, with the same code.

What CUDA itself does (streams, pinned memory) is left to scripts/gpu_check.sh on a machine that has a GPU.
"""

import json
import os
import pathlib
import sys
import textwrap
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "python"))

# Python runs this first: the package then takes the CPU for a device whose memory is apart.
APART = """
    import sys
    if "torch" not in sys.modules and "scavenger.worker" in sys.orig_argv:
        import scavenger.devices.choice
        scavenger.devices.choice.is_apart = lambda device: True
        scavenger.devices.choice.name_of = lambda device: "mirror"
"""
# With two layers that change buffers in a pass, as most networks for images have.
MODEL = """
    import torch
    from torch import nn
    from torch.nn import functional

    def make_model():
        return nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.BatchNorm1d(32),
                             nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))
"""
SCRIPT = MODEL + user_code.LINES + user_code.LOSS + """
    import sys
    import scavenger

    model = make_model().to(scavenger.device)
    optimizer = OPTIMIZER
    scavenger.prepare(model, optimizer)
    for inputs, targets in scavenger.loader(Lines(512, 0), batch_size=64, max_iterations=40):
        scavenger.step(loss(model, (inputs.to(scavenger.device), targets.to(scavenger.device))))
"""


class MirroredJobTest(user_code.UserCodeTest):
    is_apart = False

    def environment(self):
        found = super().environment()
        if self.is_apart:
            folder = self.folder / "apart"
            folder.mkdir(exist_ok=True)
            (folder / "sitecustomize.py").write_text(textwrap.dedent(APART))
            found["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
        return found

    def weights_of(self, name, *arguments):
        self.is_apart = name != "direct"
        run = self.run_folder(name)
        self.train(*arguments, "--quiet", "--run", run)
        logs = "".join(path.read_text() for path in (run / "logs").glob("worker*"))
        self.assertIn("on the mirror" if self.is_apart else "on the cpu", logs)
        return job.last_weights(run)

    def file_model(self, loss=user_code.LOSS, **changes):
        source = MODEL + loss + user_code.LINES + user_code.MAKE_DATASET
        (self.folder / "train.py").write_text(textwrap.dedent(source))
        config = {"name": "mirrored", "model": {"type": "python", "file": "train.py"},
                  "data": {"train": {"format": "python"}, "test": {"format": "python"}}, "batch_size": 64,
                  "optimizer": {"type": "sgd", "learning_rate": 0.05, "momentum": 0.9},
                  "cluster": {"workers": 2}, "stop": {"max_iterations": 40}, **changes}
        path = self.folder / "job.json"
        path.write_text(json.dumps(config))
        return path

    def test_weights_buffers_and_gradients_of_several_passes_have_the_bits_of_a_job_without_a_mirror(self):
        config = self.file_model(compute={"micro_batch": 12})
        self.assertEqual(self.weights_of("direct", config), self.weights_of("mirrored", config))

    def test_a_pass_without_enough_memory_leaves_no_trace_in_the_buffers(self):
        halved = self.weights_of("direct", self.file_model(compute={"micro_batch": 16}))
        hungry = user_code.LOSS.replace("return functional.cross_entropy(model(inputs), targets)", """outputs = model(inputs)
        if len(inputs) > 16 and model.training:  # the pass has changed the buffers
            raise MemoryError
        return functional.cross_entropy(outputs, targets)""")
        self.assertIn("MemoryError", hungry)
        self.assertEqual(halved, self.weights_of("mirrored", self.file_model(hungry)))

    def test_a_script_and_an_optimizer_that_workers_step(self):
        for optimizer in ("torch.optim.AdamW(model.parameters(), lr=0.01)",
                          "torch.optim.Adamax(model.parameters(), lr=0.01)"):
            with self.subTest(optimizer):
                path = self.folder / "script.py"
                path.write_text(textwrap.dedent(SCRIPT.replace("OPTIMIZER", optimizer)))
                kind = optimizer.split("(")[0].split(".")[-1]
                mirrored = self.weights_of(f"mirrored_{kind}", path, "--workers", 2)
                self.is_apart = False
                self.train(path, "--workers", 2, "--quiet", "--run", self.run_folder(f"direct_{kind}"))
                self.assertEqual(mirrored, job.last_weights(self.run_folder(f"direct_{kind}")))

    def test_a_job_is_resized_and_keeps_no_memory_that_has_gone(self):
        self.is_apart = True
        self.assert_it_is_resized_while_it_trains(self.file_model(stop={"max_epochs": 100000}))

    def test_a_gpu_that_is_not_there_is_told_of_before_anything_starts(self):
        said = self.train(self.file_model(device="cuda"), "--quiet", "--run", self.run_folder(), check=2)
        self.assertIn("no GPU that CUDA can use", said)
        self.assertFalse(self.run_folder().exists())


@unittest.skipUnless(user_code.HAS_TORCH, "PyTorch for Python is not installed")
class MirrorTest(unittest.TestCase):
    def mirror(self, piece_floats):
        import torch
        from scavenger.devices.mirror import Mirror
        shapes = [torch.Size([3]), torch.Size([2, 2]), torch.Size([5])]
        mirror = Mirror(torch.device("cpu"), shapes, [0, 16, 32], 48, piece_floats)
        flat = torch.full((48,), -1.0)
        mirror.use_gradients([flat[0:3], flat[16:20], flat[32:37]])
        return mirror, flat

    def test_neighbours_leave_together_and_each_is_told_of_once(self):
        mirror, flat = self.mirror(20)
        told = []
        mirror.begin(told.append)
        mirror.gradients[2].fill_(2.0)
        mirror.gradient_is_final(2)
        self.assertEqual(told, [2])
        mirror.gradients[1].fill_(1.0)
        mirror.gradient_is_final(1)
        self.assertEqual((told, mirror.has_told), ([2], True))
        mirror.gradient_is_final(0)
        self.assertEqual(told, [2, 1, 0])
        mirror.finish()
        self.assertEqual((told, flat[16:20].tolist(), flat[32:37].tolist()), ([2, 1, 0], [1.0] * 4, [2.0] * 5))

    def test_without_a_gradient_of_its_neighbour_one_leaves_at_the_end_and_alone(self):
        mirror, flat = self.mirror(20)
        told = []
        mirror.begin(told.append)
        mirror.gradients[1].fill_(1.0)
        mirror.gradient_is_final(1)
        self.assertEqual((told, mirror.has_told), ([], False))
        mirror.finish()
        self.assertEqual((told, flat[16:20].tolist(), flat[0:3].tolist()), ([1], [1.0] * 4, [-1.0] * 3))

    def test_gradients_of_neighbours_go_to_their_places_together(self):
        import torch
        mirror, flat = self.mirror(20)
        mirror.begin(lambda _: None)
        mirror.gradient_is_final(0, torch.full((3,), 1.0))
        self.assertEqual(mirror.gradients[0].tolist(), [0.0] * 3)  # the other one of its piece is not there
        mirror.gradient_is_final(1, torch.full((2, 2), 2.0, dtype=torch.bfloat16).t())
        mirror.gradient_is_final(2, torch.full((5,), 3.0))
        mirror.finish()
        self.assertEqual((flat[0:3].tolist(), flat[16:20].tolist(), flat[32:37].tolist()), ([1.0] * 3, [2.0] * 4, [3.0] * 5))

    def test_while_it_waits_for_gradients_it_works_on_those_that_have_arrived(self):
        mirror, _ = self.mirror(20)
        told, seen = [], []

        def work():
            seen.append(list(told))
            return len(seen) < 3

        mirror.begin(told.append)
        mirror.gradient_is_final(2)
        mirror.gradient_is_final(0)  # leaves at the end, as the gradient between them is missing
        self.assertEqual(told, [2])
        mirror.finish(work)
        self.assertEqual((told, seen), ([2, 0], [[2]]))

    def test_each_worker_of_a_machine_has_one_of_its_gpus(self):
        import torch
        from scavenger.devices import choice
        from scavenger.problems import UserError
        cuda = {"is_available": lambda: True, "set_device": lambda _: None, "device_count": lambda: 1}
        with mock.patch.multiple(torch.cuda, **cuda), mock.patch.dict(os.environ):
            for index, gpu in ((0, "5"), (1, "GPU-7"), (2, "5")):
                os.environ["CUDA_VISIBLE_DEVICES"] = "5, GPU-7"
                self.assertEqual(str(choice.choose("auto", index)), "cuda:0")
                self.assertEqual(os.environ["CUDA_VISIBLE_DEVICES"], gpu)
            self.assertEqual((choice.choose("cpu", 1).type, os.environ["CUDA_VISIBLE_DEVICES"]), ("cpu", ""))
            with self.assertRaisesRegex(UserError, "finds no GPU"):
                choice.choose("cuda", 0)

    def test_batches_of_any_nesting_are_moved(self):
        import torch
        from scavenger import Batch
        from scavenger.devices import choice
        batch = {"a": [torch.zeros(2), (torch.ones(1), "text")], "b": Batch(torch.zeros(1), torch.ones(3))}
        moved = choice.moved(batch, torch.device("meta"))
        self.assertEqual(moved["a"][0].device.type, "meta")
        self.assertEqual((moved["a"][1][0].device.type, moved["a"][1][1]), ("meta", "text"))
        self.assertIsInstance(moved["b"], Batch)
        self.assertEqual(moved["b"].targets.shape, (3,))


if __name__ == "__main__":
    job.main()
