"""Optimizers that workers step: the steps of plain PyTorch, also by a worker that takes over half-way."""

import ctypes
import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

HAS_TORCH = importlib.util.find_spec("torch") is not None
if HAS_TORCH:
    import torch
    from torch import nn
    from torch.optim import lr_scheduler

    from scavenger import native
    from scavenger.model_state import ModelState, make_module
    from scavenger.optimizers.settings import require_trainable, settings_of
    from scavenger.problems import UserError
    from scavenger.optimizers.stepped_here import SteppedHere, scheduler_of

STEPS, SAMPLES_PER_EPOCH, BATCH = 12, 40, 16
PLACE = "make_optimizer()"


def mlp():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))


def gradients_of(step, parameters):
    generator = torch.Generator().manual_seed(step)
    return [torch.randn(parameter.shape, generator=generator) for parameter in parameters]


class Worker:
    """A worker with the memory that the library would own."""

    def __init__(self, make, make_scheduler=None, make_model=None):
        self.state = ModelState(make_module(make_model or mlp, 1))
        optimizer = make(self.state.module)
        require_trainable(optimizer, self.state.names, self.state.parameters, PLACE)
        scheduler, interval = None, "iteration"
        if make_scheduler is not None:
            scheduler, interval = scheduler_of(make_scheduler(optimizer), PLACE)
        self.optimizer = optimizer
        self.stepped = SteppedHere(optimizer, self.state, PLACE, scheduler, interval)
        sizes = [parameter.numel() for parameter in self.state.parameters]
        self.offsets = [sum((size + 15) // 16 * 16 for size in sizes[:i]) for i in range(len(sizes))]
        self.size = self.offsets[-1] + (sizes[-1] + 15) // 16 * 16
        self.gradient = torch.zeros(self.size)
        # Two versions of weights and state.
        self.versions = [[torch.zeros(self.size) for _ in range(1 + len(self.stepped.names))] for _ in range(2)]
        self.state.use_weights(self.views(self.versions[0][0].data_ptr()))
        self.state.write_initial_weights()

    def views(self, address):
        return self.state.views_of(address, self.offsets, self.size)

    def take_over(self, other, iteration):
        for mine, theirs in zip(self.versions[iteration % 2], other.versions[iteration % 2]):
            mine.copy_(theirs)

    def step(self, iteration, factor=1.0):
        for view, value in zip(self.views(self.gradient.data_ptr()), gradients_of(iteration, self.state.parameters)):
            view.copy_(value)
        count = len(self.versions[0])
        before, after = ((ctypes.c_void_p * count)(*[vector.data_ptr() for vector in self.versions[i % 2]])
                         for i in (iteration, iteration + 1))
        request = native.OptimizerStep(
            iteration=iteration, step_number=iteration + 1, epochs=iteration * BATCH // SAMPLES_PER_EPOCH, factor=factor,
            gradient=self.gradient.data_ptr(), before=before, to=after, vectors=count)
        self.stepped.step(request, self.views, self.size, 1)

    def weights(self):
        return [parameter.detach().clone() for parameter in self.state.parameters]


def plain(make, make_scheduler=None, steps=STEPS):
    """The weights after each step of PyTorch alone."""
    module = make_module(mlp, 1)
    optimizer = make(module)
    scheduler, interval = scheduler_of(make_scheduler(optimizer), PLACE) if make_scheduler else (None, "")
    epochs, found = 0, []
    for step in range(steps):
        while scheduler is not None and interval == "epoch" and epochs < step * BATCH // SAMPLES_PER_EPOCH:
            scheduler.step()
            epochs += 1
        for parameter, gradient in zip(module.parameters(), gradients_of(step, list(module.parameters()))):
            parameter.grad = gradient
        optimizer.step()
        if scheduler is not None and interval == "iteration":
            scheduler.step()
        found.append([parameter.detach().clone() for parameter in module.parameters()])
    return found


def largest(a, b):
    return max(float((x - y).abs().max()) for x, y in zip(a, b))


def groups(module):
    return [{"params": [p for p in module.parameters() if p.dim() > 1], "lr": 0.02},
            {"params": [p for p in module.parameters() if p.dim() == 1], "weight_decay": 0.0, "lr": 0.1}]


def kinds():
    """Optimizers by name, made for a module."""
    found = {name: (lambda m, kind=getattr(torch.optim, name): kind(m.parameters(), lr=0.01))
             for name in ("RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor")
             if hasattr(torch.optim, name)}
    found["groups"] = lambda m: torch.optim.AdamW(groups(m), lr=0.1, weight_decay=0.1)
    found["momentum in groups"] = lambda m: torch.optim.SGD(groups(m), lr=0.1, momentum=0.9, dampening=0.5)
    found["amsgrad"] = lambda m: torch.optim.Adam(m.parameters(), lr=0.01, amsgrad=True)
    found["centred"] = lambda m: torch.optim.RMSprop(m.parameters(), lr=0.01, momentum=0.9, centered=True)
    found["of a user"] = lambda m: Lion(m.parameters(), lr=0.01)
    return found


if HAS_TORCH:
    class Lion(torch.optim.Optimizer):
        """With a Python number and a replaced tensor among its state, as users write them."""

        def __init__(self, parameters, lr):
            super().__init__(parameters, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["count"] = state.get("count", 0) + 1
                    old = state.get("mean", torch.zeros_like(p))
                    p.add_(torch.sign(0.9 * old + 0.1 * p.grad), alpha=-group["lr"] / state["count"])
                    state["mean"] = 0.99 * old + 0.01 * p.grad


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class SteppedHereTest(unittest.TestCase):
    def test_steps_are_those_of_plain_pytorch(self):
        for name, make in kinds().items():
            with self.subTest(name):
                expected, worker = plain(make), Worker(make)
                for step in range(STEPS):
                    worker.step(step)
                    self.assertLess(largest(worker.weights(), expected[step]), 1e-6, step)
                self.assertGreater(largest(expected[0], expected[-1]), 1e-4)

    def test_a_worker_that_takes_over_has_the_same_bits(self):
        for name, make in kinds().items():
            with self.subTest(name):
                whole, joiner = Worker(make), Worker(make)
                for step in range(STEPS):
                    whole.step(step)
                    if step == 4:
                        joiner.take_over(whole, 5)
                    if step >= 5:
                        joiner.step(step)
                self.assertEqual(largest(whole.weights(), joiner.weights()), 0.0)

    def test_a_step_that_is_made_again_is_the_same(self):
        make = kinds()["NAdam"]
        once, again = Worker(make), Worker(make)
        for step in range(STEPS):
            once.step(step)
            for _ in range(1 + step % 3):  # workers were lost
                again.step(step)
        self.assertEqual(largest(once.weights(), again.weights()), 0.0)

    def test_schedulers_follow_iterations_or_epochs(self):
        make = lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
        for scheduler in (
                lambda o: lr_scheduler.StepLR(o, 3, gamma=0.5),
                lambda o: lr_scheduler.OneCycleLR(o, 0.2, total_steps=STEPS + 1),
                lambda o: lr_scheduler.LambdaLR(o, lambda step: 1.0 / (1 + step)),
                lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4),
                lambda o: lr_scheduler.SequentialLR(
                    o, [lr_scheduler.LinearLR(o, 0.1, total_iters=3), lr_scheduler.ExponentialLR(o, 0.9)], [3]),
                lambda o: {"scheduler": lr_scheduler.ExponentialLR(o, 0.5), "interval": "epoch"}):
            expected, worker, joiner = plain(make, scheduler), Worker(make, scheduler), Worker(make, scheduler)
            for step in range(STEPS):
                worker.step(step)
                self.assertLess(largest(worker.weights(), expected[step]), 1e-6, step)
            joiner.step(0)
            joiner.take_over(worker, STEPS)
            worker.step(STEPS)
            joiner.step(STEPS)
            self.assertEqual(largest(worker.weights(), joiner.weights()), 0.0)
            before = worker.weights()
            worker.step(2)  # back to a checkpoint, and on again
            worker.take_over(joiner, STEPS)
            worker.take_over(joiner, STEPS + 1)
            worker.step(STEPS)
            self.assertEqual(largest(worker.weights(), before), 0.0)

    def test_parameters_of_bfloat16_have_exact_weights(self):
        make = lambda m: torch.optim.NAdam(m.parameters(), lr=0.001)
        worker, exact = Worker(make, make_model=lambda: mlp().bfloat16()), Worker(make)
        worker.versions[0][0].copy_(exact.versions[0][0])
        for step in range(STEPS):
            worker.step(step)
            exact.step(step)
        weights = worker.views(worker.versions[STEPS % 2][0].data_ptr())
        self.assertEqual(largest(weights, exact.weights()), 0.0)
        worker.state.use_weights(weights)
        for parameter, weight in zip(worker.state.parameters, weights):
            self.assertTrue(torch.equal(parameter, weight.bfloat16()))

    def test_the_jobs_factor_is_of_the_rates_of_all_groups(self):
        half = Worker(lambda m: torch.optim.SGD(groups(m), lr=0.1))
        half.step(0, factor=0.5)
        rates = [group["lr"] for group in half.optimizer.param_groups]
        self.assertEqual(rates, [0.02, 0.1])
        direct = plain(lambda m: torch.optim.SGD(
            [{**group, "lr": group["lr"] / 2} for group in groups(m)], lr=0.1), steps=1)
        self.assertLess(largest(half.weights(), direct[0]), 1e-7)


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class RefusedTest(unittest.TestCase):
    def said_of(self, make, scheduler=None):
        with self.assertRaises(UserError) as raised:
            Worker(make, scheduler)
        self.assertTrue(raised.exception.remedy or raised.exception.traceback)
        return raised.exception.what

    def test_what_cannot_be_stepped_is_refused(self):
        class Growing(Lion):
            def step(self, closure=None):
                super().step()
                for p in self.param_groups[0]["params"]:
                    self.state[p]["history"] = torch.zeros(2 * p.numel())

        class Grouped(Lion):
            def step(self, closure=None):
                self.param_groups[0]["lr"] *= 0.9

        class Alternating(Lion):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    self.state[p]["even" if "odd" in self.state[p] else "odd"] = 1

        class Texts(Lion):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    self.state[p]["name"] = "a"

        for kind, words in [
                (Growing, "the optimizer's history of 0.weight has 60 numbers, and the parameter 30"),
                (Grouped, "the optimizer changes lr of its parameter groups"),
                (Alternating, "after its second step is another than after its first"),
                (Texts, "the optimizer's name of 0.weight is of type str"),
                (torch.optim.LBFGS, "the optimizer's step() failed: TypeError")]:
            with self.subTest(words):
                self.assertIn(words, self.said_of(lambda m: kind(m.parameters(), lr=0.1)))
        self.assertIn("does not have parameter 2.weight", self.said_of(lambda m: torch.optim.RMSprop(m[0].parameters())))
        self.assertIn("NoneType is no optimizer", self.said_of(lambda m: None))
        sgd = lambda m: torch.optim.SGD(m.parameters(), lr=0.1)
        for scheduler, words in [
                (lr_scheduler.ReduceLROnPlateau, "ReduceLROnPlateau follows a metric"),
                (lambda o: 3, "int is no scheduler"),
                (lambda o: lr_scheduler.StepLR(sgd(mlp()), 3), "belongs to another optimizer"),
                (lambda o: {"scheduler": lr_scheduler.StepLR(o, 3), "interval": "day"}, "interval is day"),
                (lambda o: {"scheduler": lr_scheduler.StepLR(o, 3), "monitor": "loss"}, "described by monitor")]:
            with self.subTest(words):
                self.assertIn(words, self.said_of(sgd, scheduler))

    def test_numbers_that_floats_do_not_have_are_told(self):
        class Exact(Lion):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    state["sum"] = state.get("sum", torch.zeros((), dtype=torch.float64)) + p.grad.double().mean()

        worker = Worker(lambda m: Exact(m.parameters(), lr=0.1))
        with self.assertRaisesRegex(UserError, "sum has numbers that 32-bit floats do not have"):
            worker.step(0)

    def test_the_parameter_server_steps_what_it_has(self):
        module = make_module(mlp, 1)
        for make, expected in [
                (lambda m: torch.optim.AdamW([{"params": m[0].parameters()}, {"params": m[2].parameters()}], 0.1), "adamw"),
                (lambda m: torch.optim.AdamW(groups(m), 0.1), None),
                (lambda m: torch.optim.Adam(m.parameters(), amsgrad=True), None),
                (lambda m: torch.optim.SGD(m.parameters(), 0.1, maximize=True), None),
                (lambda m: torch.optim.RMSprop(m.parameters()), None)]:
            found = settings_of(make(module), list(module.parameters()))
            self.assertEqual(found and found["type"], expected)


if __name__ == "__main__":
    unittest.main()
