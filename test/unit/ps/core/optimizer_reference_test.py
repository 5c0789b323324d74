"""The shard's optimizers against torch.optim: the same gradients and learning rates, 100 steps, every option.

    optimizer_reference_test.py path/to/optimizer_trace
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SIZE = 1003
STEPS = 100
TOLERANCE = 1e-6  # of a vector's largest element: float rounding, since torch fuses some multiply-adds
TORCH_STATE = {"momentum": "momentum_buffer", "exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}


def cases():
    for momentum, dampening, nesterov, decay in itertools.product((0.0, 0.9), (0.0, 0.3), (False, True), (0.0, 1e-2)):
        if nesterov and (momentum == 0.0 or dampening != 0.0):
            continue  # torch refuses these
        yield {"type": "sgd", "momentum": momentum, "dampening": dampening, "nesterov": nesterov, "weight_decay": decay}
    for kind, decay, beta1, beta2, epsilon in itertools.product(
        ("adam", "adamw"), (0.0, 1e-2), (0.9, 0.3), (0.999, 0.9), (1e-8, 1e-3)
    ):
        yield {"type": kind, "weight_decay": decay, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}


def torch_optimizer(case, parameter):
    if case["type"] == "sgd":
        options = {name: case[name] for name in ("momentum", "dampening", "nesterov", "weight_decay")}
        return torch.optim.SGD([parameter], lr=1.0, foreach=False, **options)
    kind = torch.optim.Adam if case["type"] == "adam" else torch.optim.AdamW
    betas = (case["beta1"], case["beta2"])
    return kind([parameter], lr=1.0, betas=betas, eps=case["epsilon"], weight_decay=case["weight_decay"], foreach=False)


def run_torch(case, initial, gradients, learning_rates):
    parameter = torch.nn.Parameter(initial.clone())
    optimizer = torch_optimizer(case, parameter)
    for gradient, learning_rate in zip(gradients, learning_rates):
        optimizer.param_groups[0]["lr"] = learning_rate
        parameter.grad = gradient.clone()
        optimizer.step()
    result = {"weights": parameter.detach()}
    for ours, name in TORCH_STATE.items():
        vector = optimizer.state[parameter].get(name)
        if vector is not None:
            result[ours] = vector
    return result


def run_ours(trace, case, initial, gradients, learning_rates):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "case.json").write_text(json.dumps(case | {"learning_rates": learning_rates}))
        initial.numpy().tofile(folder / "initial.bin")
        gradients.numpy().tofile(folder / "gradients.bin")
        subprocess.run([trace, name], check=True)
        vectors = [path for path in folder.glob("*.bin") if path.stem not in ("initial", "gradients")]
        return {path.stem: torch.from_numpy(numpy.fromfile(path, dtype=numpy.float32)) for path in vectors}


def main():
    generator = torch.Generator().manual_seed(1)
    scales = 10.0 ** torch.empty(SIZE).uniform_(-4, 0, generator=generator)
    initial = torch.randn(SIZE, generator=generator)
    gradients = torch.randn(STEPS, SIZE, generator=generator) * scales
    learning_rates = [0.01 * 0.99**step for step in range(STEPS)]
    failed, worst = 0, 0.0
    for case in cases():
        expected = run_torch(case, initial, gradients, learning_rates)
        found = run_ours(sys.argv[1], case, initial, gradients, learning_rates)
        if found.keys() != expected.keys():
            print(f"FAILED {case}: vectors {sorted(found)} instead of {sorted(expected)}")
            failed += 1
            continue
        moved = (expected["weights"] - initial).abs().max().item()
        for name, vector in expected.items():
            error = ((found[name] - vector).abs().max() / vector.abs().max()).item()
            worst = max(worst, error)
            if not (error <= TOLERANCE and moved > 1e-3):
                print(f"FAILED {case}: {name} differs by {error:.1e}")
                failed += 1
    print(f"largest difference {worst:.1e}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
