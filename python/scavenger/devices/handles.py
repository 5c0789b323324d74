"""What a GPU's libraries make when they are used first."""

from __future__ import annotations

import torch

from scavenger.devices.choice import is_apart


def make_handles(device: torch.device) -> None:
    """Have a GPU make its context, and the handles of the libraries for products and convolutions.

    Call it before a worker takes part in a job: its first pass would make them otherwise, for which
    all other workers wait. It draws no random numbers.
    """
    if not is_apart(device):
        return
    with torch.enable_grad():
        rows = torch.ones(8, 8, device=device, requires_grad=True)
        images = torch.ones(2, 8, 8, 8, device=device, requires_grad=True)
        weights = torch.ones(8, 8, 3, 3, device=device, requires_grad=True)
        product = torch.nn.functional.linear(rows, rows)
        image = torch.nn.functional.conv2d(images, weights, padding=1)
        # Autograd's thread has handles of its own.
        torch.autograd.grad(product.sum() + image.sum(), [rows, images, weights])[0].sum().item()
