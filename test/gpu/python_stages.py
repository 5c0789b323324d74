"""The stage of gpu_check.py that trains models in Python: with the package and the library of the bundle."""

import os
import sys
import textwrap

from job_stages import configuration, end_of, resized, seconds_per_iteration, started
from running import HERE, CaseFailed
from stage_log import Check
from stages import median, steady

import job as job_files  # job_stages has its folder on the path

MODELS = HERE.parent / "unit" / "runtime" / "torch" / "models"
SOURCES = {
    "mlp": """
        import torch

        def make_model():
            return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 64), torch.nn.BatchNorm1d(64),
                                       torch.nn.ReLU(), torch.nn.Linear(64, 10))
    """,
    "resnet18": f"""
        import sys
        sys.path.insert(0, {str(MODELS)!r})
        import reference_models

        def make_model():
            return reference_models.resnet18()
    """,
}
ON_DEVICE = {"cuda": "on the cuda:", "cpu": "on the cpu"}


def python_configuration(around, model, workers, iterations, batch_size=64):
    """A job of this model in Python, on the data of the built-in one."""
    path = around.folder / f"{model}.py"
    path.write_text(textwrap.dedent(SOURCES[model]))
    config = configuration(around, workers, iterations, model, batch_size)
    config["model"] = {"type": "python", "file": str(path)}
    return config


def weights_of(around, config):
    with started(around, config) as running:
        end_of(around, running)
        logs = "".join(path.read_text() for path in (running.run / "logs").glob("worker*"))
        if ON_DEVICE[config["device"]] not in logs:
            raise CaseFailed(f"no worker was on the device:\n{logs[-1500:]}")
        return job_files.last_weights(running.run)


def equal_results(model, workers, must_hold):
    """With as many workers on the CPU, as each has batch statistics of its own."""
    def case(around):
        config = python_configuration(around, model, workers, 20)
        expected = weights_of(around, {**config, "device": "cpu"})
        difference = job_files.largest_difference(expected, weights_of(around, config))
        checks = [Check("difference of weights", difference, 1e-4)] if must_hold else []
        return {"largest difference of weights": difference}, checks
    return f"equal results, {model}, K = {workers}", case


def resizes(around):
    sizes = [2, 1] if around.is_small else [2, 4, 1, 3]
    return resized(around, sizes, config=python_configuration(around, "mlp", 1, 10**8))


def speed(around):
    """Beside the same module in a plain loop of PyTorch, whose batches wait in pinned memory.

    The small case compares two models, and only shows that both run.
    """
    model, size, precision = ("mlp", 32, "float32") if around.is_small else ("resnet18", 512, "bfloat16")
    iterations = 4000 if around.is_small else 300  # the small ones take less than a millisecond each
    config = python_configuration(around, model, 1, iterations, size)
    config["compute"] = {"precision": precision}
    ours = [seconds_per_iteration(around, config) for _ in range(1 if around.is_small else 2)]
    done = around.pytorch(model, "--batch-size", size, "--precision", precision, "--seconds", 0.1 if around.is_small else 4.0)
    alone = median(steady(done["seconds"]))
    values = {"Python, K = 1: seconds": median(ours), "PyTorch: seconds": alone, "ours / PyTorch": median(ours) / alone}
    if around.device == "cpu":
        return values, []
    return values, [Check("ours / PyTorch", median(ours) / alone, 1.03, is_target=True)]


def python(around):
    os.environ["SCAVENGER_PYTHON"] = sys.executable  # workers run in the Python that runs this
    sizes = [2] if around.is_small else [1, 2, 4]
    cases = [*(equal_results("mlp", workers, True) for workers in sizes), ("resizes", resizes), ("speed", speed)]
    # For information: its batch statistics make much of differences of the last bit.
    return cases if around.is_small else [*cases, *(equal_results("resnet18", workers, False) for workers in sizes)]
