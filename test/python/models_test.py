"""What users' modules are made of, without a job: each has the gradients that plain PyTorch has."""

import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_PEFT = all(importlib.util.find_spec(name) for name in ("peft", "transformers"))
if HAS_TORCH:
    import torch
    from torch import nn
    from torch.nn import functional

    from scavenger import Batch, native, objective
    from scavenger.model_state import ModelState, make_module
    from scavenger.problems import UserError
    from scavenger.trainer import Settings, Trainer
    from scavenger.user_file import UserFile

SAMPLES, FEATURES, CLASSES = 12, 6, 4


class Rows:
    """A batch in memory, as a source of the trainer."""

    wait_seconds = 0.0

    def __init__(self, batch):
        self.batch = batch

    def open(self, _):
        pass

    def rows(self, first, last):
        return Batch(self.batch.inputs[first:last], self.batch.targets[first:last])

    def use_micro_batch(self, samples):
        pass

    def numbers(self, first, last):
        return list(range(first, last))


class Worker:
    """A trainer with the memory that the library would own."""

    def __init__(self, make_model, loss=None, batch=None, **settings):
        self.state = ModelState(make_module(make_model, 1))
        self.told = []
        self.source = Rows(batch or batch_of())
        self.settings = Settings(loss={}, micro_batch=settings.get("micro_batch", 0),
                                 is_bfloat16=settings.get("is_bfloat16", False),
                                 shape=objective.DataShape("label", CLASSES, True), worker=0)
        file = UserFile(path=pathlib.Path("train.py"), make_model=make_model, loss=loss)
        self.trainer = Trainer(file, self.state, self.settings, self.source, lambda _, index: self.told.append(index))
        # Two versions of the weights, which take turns as those of the library do.
        sizes = [parameter.numel() for parameter in self.state.parameters]
        self.offsets = [sum(sizes[:i]) for i in range(len(sizes))]
        self.versions = [torch.zeros(sum(sizes)) for _ in range(2)]
        self.gradients = torch.zeros(sum(sizes))
        self.trainer.use_gradients(self.views(self.gradients))
        self.use(0)
        self.state.write_initial_weights()

    def views(self, flat):
        return self.state.views_of(flat.data_ptr(), self.offsets, flat.numel())

    def use(self, version):
        self.state.use_weights(self.views(self.versions[version]))

    def gradient(self):
        """Names and gradients of the whole batch, and the loss."""
        self.told.clear()
        step = native.Step()
        self.trainer.forward_backward(None, native.Batch(size=SAMPLES), 5, step)
        return dict(zip(self.state.names, (view.clone() for view in self.views(self.gradients)))), step.loss

    def descend(self, steps):
        """Trains by plain SGD, with the weights in another place after each step."""
        losses = []
        for step in range(steps):
            losses.append(self.gradient()[1])
            self.versions[(step + 1) % 2].copy_(self.versions[step % 2] - 0.1 * self.gradients)
            self.use((step + 1) % 2)
        return losses


def batch_of():
    generator = torch.Generator().manual_seed(3)
    return Batch(torch.randn(SAMPLES, FEATURES, generator=generator),
                 torch.randint(0, CLASSES, (SAMPLES,), generator=generator))


def mlp():
    return nn.Sequential(nn.Linear(FEATURES, 8), nn.ReLU(), nn.Linear(8, CLASSES))


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class ModelsTest(unittest.TestCase):
    def reference(self, make_model, loss=None, names=lambda name: name):
        """The gradients of the same module in plain PyTorch."""
        module = make_module(make_model, 1)
        module.train()
        torch.manual_seed(5)
        batch = batch_of()
        value = loss(module, batch) if loss else functional.cross_entropy(module(batch.inputs), batch.targets)
        value.backward()
        return {names(name): parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
                for name, parameter in module.named_parameters() if parameter.grad is not None}, float(value.detach())

    def assert_same(self, make_model, loss=None, exact=True, **settings):
        worker = Worker(make_model, loss, **settings)
        gradients, value = worker.gradient()
        wanted, wanted_value = self.reference(make_model, loss, lambda name: name.replace("_orig_mod.", ""))
        self.assertEqual(sorted(gradients), sorted(wanted))
        for name, gradient in wanted.items():
            if exact:
                self.assertTrue(torch.equal(gradients[name], gradient), name)
            else:
                torch.testing.assert_close(gradients[name], gradient, msg=name)
        self.assertAlmostEqual(value, wanted_value, places=5)
        self.assertEqual(sorted(worker.told), list(range(len(worker.state.parameters))), "each is told once")
        return worker

    def assert_learns(self, worker):
        losses = worker.descend(20)
        self.assertLess(losses[-1], 0.9 * losses[0])

    def said_of(self, make_model, loss=None):
        with self.assertRaises(UserError) as raised:
            Worker(make_model, loss).gradient()
        return raised.exception.what

    def test_a_compiled_module_keeps_its_names_and_its_gradients(self):
        def make_model():
            return torch.compile(mlp(), backend="aot_eager")  # inductor would call a compiler
        worker = self.assert_same(make_model, exact=False)
        self.assertEqual(worker.state.names, ["0.weight", "0.bias", "2.weight", "2.bias"])
        self.assert_learns(worker)

    def test_a_module_that_is_compiled_in_part_keeps_its_names(self):
        def make_model():
            module = nn.Sequential(nn.BatchNorm1d(FEATURES), mlp())
            module[1] = torch.compile(module[1], backend="aot_eager")
            return module
        worker = self.assert_same(make_model, exact=False)
        self.assertEqual(worker.state.names[-1], "1.2.bias")
        self.assertEqual([name for name, *_ in worker.state.buffers],
                         ["0.running_mean", "0.running_var", "0.num_batches_tracked"])

    def test_gradient_checkpointing(self):
        from torch.utils.checkpoint import checkpoint

        class Checkpointed(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(FEATURES, 8), nn.Dropout(0.5), nn.ReLU())
                self.head = nn.Linear(8, CLASSES)

            def forward(self, x):
                return self.head(checkpoint(self.body, x, use_reentrant=False))
        self.assert_learns(self.assert_same(Checkpointed))

    def test_reentrant_checkpointing_that_uses_weights_twice_is_refused(self):
        from torch.utils.checkpoint import checkpoint

        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(FEATURES, FEATURES)
                self.head = nn.Linear(FEATURES, CLASSES)

            def forward(self, x):
                x.requires_grad_(True)
                once = checkpoint(self.body, x, use_reentrant=True)
                return self.head(checkpoint(self.body, once, use_reentrant=True))
        self.assertIn("came twice in one backward pass", self.said_of(Twice))

    def test_frozen_parameters_are_not_trained(self):
        def make_model():
            module = mlp()
            module[0].requires_grad_(False)
            return module
        worker = self.assert_same(make_model)
        self.assertEqual(worker.state.names, ["2.weight", "2.bias"])
        before = worker.state.module[0].weight.clone()
        self.assert_learns(worker)
        self.assertTrue(torch.equal(before, worker.state.module[0].weight))

    def test_tied_weights_are_one_parameter(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(FEATURES, FEATURES, bias=False)
                self.second = nn.Linear(FEATURES, FEATURES, bias=False)
                self.second.weight = self.first.weight
                self.head = nn.Linear(FEATURES, CLASSES)

            def forward(self, x):
                return self.head(self.second(functional.relu(self.first(x))))
        worker = self.assert_same(Tied)
        self.assertEqual(worker.state.names, ["first.weight", "head.weight", "head.bias"])
        worker.descend(3)
        self.assertIs(worker.state.module.first.weight, worker.state.module.second.weight)

    def test_batch_norm_keeps_its_statistics_in_their_place(self):
        def make_model():
            return nn.Sequential(nn.BatchNorm1d(FEATURES), mlp())
        worker = self.assert_same(make_model)
        places = [tensor.data_ptr() for *_, tensor in worker.state.buffers]
        plain = make_module(make_model, 1).train()
        plain(batch_of().inputs)
        self.assertTrue(torch.equal(plain[0].running_mean, worker.state.module[0].running_mean))
        worker.gradient()
        self.assertEqual(int(worker.state.module[0].num_batches_tracked), 2)
        self.assertEqual(places, [tensor.data_ptr() for *_, tensor in worker.state.buffers])

    def test_an_answer_may_be_a_dictionary(self):
        class Answers(nn.Module):
            def __init__(self, key):
                super().__init__()
                self.body, self.key = mlp(), key

            def forward(self, x):
                return {self.key: self.body(x), "hidden": x}
        self.assert_same(lambda: Answers("logits"), lambda model, batch: functional.cross_entropy(
            model(batch.inputs)["logits"], batch.targets))
        self.assert_learns(Worker(lambda: Answers("logits")))  # its logits, without a loss of one's own
        self.assertIn("the model answers dict, not a tensor", self.said_of(lambda: Answers("other")))

    @unittest.skipUnless(HAS_PEFT, "peft is not installed")
    def test_lora_trains_its_own_parameters_alone(self):
        import peft

        def make_model():
            return peft.get_peft_model(mlp(), peft.LoraConfig(r=2, target_modules=["0", "2"]))
        worker = self.assert_same(make_model)
        self.assertEqual(len(worker.state.names), 4)
        self.assertTrue(all("lora_" in name for name in worker.state.names))
        self.assert_learns(worker)

    def test_sparse_gradients_are_made_dense(self):
        class Embedded(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(9, CLASSES, sparse=True)

            def forward(self, x):
                return self.table((x[:, 0].abs() * 3).long().clamp(max=8))
        self.assert_same(Embedded)

    def test_micro_batches_have_the_gradient_of_the_batch(self):
        self.assert_same(mlp, exact=False, micro_batch=5)

    def test_float16_parameters_are_refused(self):
        self.assertIn("is of type torch.float16", self.said_of(lambda: mlp().half()))

    def test_an_output_in_half_precision_is_compared_in_float(self):
        def loss(model, batch):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return functional.cross_entropy(model(batch.inputs), batch.targets)
        self.assert_same(mlp, loss)

    def test_memory_that_does_not_suffice_halves_the_passes(self):
        sizes = []

        def loss(model, batch):
            sizes.append(len(batch.inputs))
            if len(batch.inputs) > 3:
                torch.empty(2**48)  # a petabyte
            return functional.cross_entropy(model(batch.inputs), batch.targets)
        worker = Worker(mlp, loss)
        gradients, _ = worker.gradient()
        wanted, _ = self.reference(mlp)
        self.assertEqual(sizes, [12, 6, 3, 3, 3, 3])
        torch.testing.assert_close(gradients, wanted)

        sums = self.evaluation(worker)
        self.assertEqual(sizes[6:], [12, 6, 3, 3, 3, 3])
        whole = self.evaluation(Worker(mlp, lambda model, batch: functional.cross_entropy(model(batch.inputs), batch.targets)))
        self.assertEqual((sums.predictions, sums.correct), (SAMPLES, whole.correct))
        self.assertAlmostEqual(sums.loss, whole.loss, places=4)

        def never(model, batch):
            raise MemoryError("cannot allocate")
        self.assertIn("memory does not suffice for one sample", self.said_of(mlp, never))

    def evaluation(self, worker):
        sums = native.Sums()
        worker.trainer.evaluate(native.Batch(size=SAMPLES), sums)
        return sums

    def test_parameters_of_bfloat16_are_rounded_copies_of_exact_weights(self):
        def loss(model, batch):
            return functional.cross_entropy(model(batch.inputs.bfloat16()).float(), batch.targets)

        worker = Worker(lambda: mlp().bfloat16(), loss)
        begun = worker.views(worker.versions[0])
        for view, initial, parameter in zip(begun, worker.state.initial, worker.state.parameters):
            self.assertEqual((view.dtype, parameter.dtype), (torch.float32, torch.bfloat16))
            self.assertTrue(torch.equal(view, initial.float()) and torch.equal(parameter, initial))
        gradient, _ = worker.gradient()
        plain = make_module(lambda: mlp().bfloat16(), 1)
        loss(plain, worker.source.batch).backward()
        for name, parameter in plain.named_parameters():
            self.assertTrue(torch.equal(gradient[name], parameter.grad.float()))
        # Steps that bfloat16 would lose add up.
        losses = worker.descend(30)
        self.assertLess(losses[-1], losses[0])
        moved = [view - initial.float() for view, initial in zip(worker.views(worker.versions[0]), worker.state.initial)]
        self.assertTrue(all(float(change.abs().max()) > 0 for change in moved))

    def test_a_loss_that_cannot_be_minimised_is_named(self):
        for loss, words in [
                (lambda model, batch: functional.cross_entropy(model(batch.inputs), batch.targets, reduction="none"),
                 "loss() returned a tensor of shape [12], not one number"),
                (lambda model, batch: 3.0, "loss() returned float, not one number"),
                (lambda model, batch: torch.tensor(1.0), "the loss does not depend on the model's parameters"),
                (lambda model, batch: {"loss": 1}, "loss() returned dict, not one number")]:
            with self.subTest(words):
                self.assertIn(words, self.said_of(mlp, loss))


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class OptimizerTest(unittest.TestCase):
    def settings(self, make):
        from scavenger.optimizers.settings import require_trainable, settings_of
        state = ModelState(make_module(mlp, 1))
        optimizer = make(state.module)
        require_trainable(optimizer, state.names, state.parameters, "make_optimizer()")
        return settings_of(optimizer, state.parameters)

    def test_settings_are_those_of_the_object(self):
        self.assertEqual(
            self.settings(lambda m: torch.optim.SGD(m.parameters(), 0.5, momentum=0.9, weight_decay=1e-3, nesterov=True)),
            {"type": "sgd", "learning_rate": 0.5, "weight_decay": 1e-3, "momentum": 0.9, "dampening": 0.0, "nesterov": True})
        adam = {"learning_rate": 0.01, "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-6, "weight_decay": 0.1}
        for kind, name in ((torch.optim.Adam, "adam"), (torch.optim.AdamW, "adamw")):
            found = self.settings(lambda m: kind(m.parameters(), 0.01, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1))
            self.assertEqual(found, {"type": name, **adam})
        two = self.settings(lambda m: torch.optim.AdamW([{"params": m[0].parameters()}, {"params": m[2].parameters()}], 0.1))
        self.assertEqual(two["learning_rate"], 0.1)


if __name__ == "__main__":
    unittest.main()
