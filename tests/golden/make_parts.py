#!/usr/bin/env python3
"""Writes parts.txt: parts, orders, lookups, scans and order statistics, with gradients, as PyTorch computes them in float64.

usage: make_parts.py        (needs torch; the tests need only what it wrote)
"""

import pathlib

import torch

import make_golden
from make_golden import keep

torch.manual_seed(31)
torch.set_default_dtype(torch.float64)


def leaf(name, *shape):
    # Few digits, so that there are ties and the file is short.
    return keep(name, torch.round(torch.randn(*shape) * 4) / 4).clone().requires_grad_()


def differentiate(name, result, **inputs):
    """Keeps a result, a cotangent of it, and the gradients of the inputs."""
    keep(name, result)
    cotangent = keep(name + "_cotangent", torch.round(torch.randn_like(result) * 4) / 4)
    for key, gradient in zip(inputs, torch.autograd.grad(result, list(inputs.values()), cotangent)):
        keep(f"{name}_d{key}", gradient)


def parts():
    x = leaf("parts_x", 3, 2, 4)
    differentiate("tile", x.tile(2, 1, 3, 2), x=x)
    differentiate("repeat_interleave", x.repeat_interleave(3, 1), x=x)
    differentiate("flip", x.flip(0, -1), x=x)
    differentiate("roll", x.roll((2, -1), (2, 1)), x=x)
    differentiate("roll_flat", x.roll(5), x=x)
    differentiate("rot90", x.rot90(1, (0, 2)), x=x)
    differentiate("rot90_back", x.rot90(-1, (1, 2)), x=x)
    differentiate("rot180", x.rot90(6, (2, 1)), x=x)
    differentiate("tril", x.tril(1), x=x)
    differentiate("triu", x.triu(-1), x=x)
    differentiate("diagonal", x.diagonal(1, 2, 1), x=x)
    differentiate("diag_embed", x.diag_embed(-2), x=x)
    differentiate("movedim", x.movedim((0, 1), (-1, 0)), x=x)
    differentiate("subscripts", x[:, 1, 0:4:2], x=x)


if __name__ == "__main__":
    for make in (parts,):
        make()
    make_golden.write(pathlib.Path(__file__).with_name("parts.txt"))
