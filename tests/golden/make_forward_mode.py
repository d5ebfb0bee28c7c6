#!/usr/bin/env python3
"""Writes forward_mode.txt: tangents by torch.func.jvp, and second derivatives by torch.func.hessian, for tests/autograd/forward_mode_test.cpp and its neighbours.

Inputs are waves that the tests compute, too; tests/support/derivative_case.hpp has the formulas.
"""

import math
import pathlib

import torch
import torch.nn.functional as F
from torch import special
from torch.func import hessian, jvp

torch.set_default_dtype(torch.float64)


def wave(shape, seed, low=-2, high=2):
    count = math.prod(shape)
    numbers = [low + (high - low) * (0.5 + 0.5 * math.sin(12.9898 * (i + 1) + 78.233 * seed)) for i in range(count)]
    return torch.tensor(numbers).reshape(shape)


x, y = wave((2, 3), 1), wave((2, 3), 2)
positive = wave((2, 3), 2, 0.3, 2.5)
share = wave((2, 3), 2, 0.1, 0.9)
three = wave((3,), 4)
image = wave((2, 2, 4, 4), 1)
labels = torch.tensor([1, 2])
queries = [wave((1, 2, 3, 4), seed) for seed in (1, 2, 3)]
square = wave((3, 3), 1) + 3 * torch.eye(3)
weight, bias = wave((4, 3), 2), wave((4,), 3)
kernel, channels, two = wave((3, 2, 3, 3), 2), wave((3,), 4), wave((2,), 4)

CASES = {
    "fused": (lambda a, b: torch.exp(a) * b + torch.tanh(a * b), x, y),
    "divide": (torch.div, x, positive),
    "maximum": (torch.maximum, x, y),
    "clamp": (lambda a: torch.clamp(a, -1, 1), x),
    "where": (lambda a, b: torch.where(a > 0, a * a, b), x, y),
    "gelu": (F.gelu, x),
    "pow": (torch.pow, positive, y),
    "lgamma": (torch.lgamma, positive),
    "sum": (lambda a: a.sum(0), x),
    "mean": (lambda a: a.mean(1), x),
    "prod": (lambda a: a.prod(0), x),
    "max": (lambda a: a.max(1).values, x),
    "var": (lambda a: a.var(1), x),
    "stddev": (lambda a: a.std(1), x),
    "norm": (lambda a: torch.linalg.vector_norm(a), x),
    "norm_3": (lambda a: torch.linalg.vector_norm(a, 3, 1), x),
    "logsumexp": (lambda a: torch.logsumexp(a, 1), x),
    "softmax": (lambda a: F.softmax(a, 1), x),
    "log_softmax": (lambda a: F.log_softmax(a, 0), x),
    "cumsum": (lambda a: a.cumsum(1), x),
    "cumprod": (lambda a: a.cumprod(1), x),
    "logcumsumexp": (lambda a: a.logcumsumexp(1), x),
    "cov": (torch.cov, x),
    "concat": (lambda a, b: torch.cat((a, b), 0), x, y),
    "flip": (lambda a: a.flip(0), x),
    "unfold": (lambda a: a.unfold(1, 2, 1), x),
    "matmul": (torch.matmul, wave((2, 2, 3), 1), wave((2, 3, 2), 2)),
    "einsum": (lambda a, b: torch.einsum("ij,kj->ik", a, b), x, y),
    "cdist": (lambda a, b: torch.linalg.vector_norm(a[:, None] - b, dim=2), x, y),  # cdist has no forward mode
    "linear": (F.linear, x, weight, bias),
    "linear_relu": (lambda a, w, b: F.relu(F.linear(a, w, b)), x, weight, bias),
    "linear_gelu": (lambda a, w, b: F.gelu(F.linear(a, w, b)), x, weight, bias),
    "sort": (lambda a: a.sort(1).values, x),
    "topk": (lambda a: a.topk(2).values, x),
    "gather": (lambda a: a.gather(0, torch.tensor([[1, 0, 1]])), x),
    "scatter_add": (lambda a, b: a.scatter_add(0, torch.tensor([[1, 0, 1]]), b), x, wave((1, 3), 2)),
    "layer_norm": (lambda a, w, b: F.layer_norm(a, (3,), w, b), x, three, wave((3,), 9)),
    "group_norm": (lambda a, w, b: F.group_norm(a, 1, w, b), image, two, wave((2,), 9)),
    "batch_norm": (lambda a, w, b: F.batch_norm(a, None, None, w, b, True), wave((3, 2, 4), 1), two, wave((2,), 9)),
    "conv1d": (F.conv1d, wave((2, 2, 5), 1), wave((3, 2, 3), 2), channels),
    "conv2d": (lambda a, w, b: F.conv2d(a, w, b, 2, 1), image, kernel, channels),
    "conv_transpose2d": (F.conv_transpose2d, image, wave((2, 3, 3, 3), 2), channels),
    "max_pool2d": (lambda a: F.max_pool2d(a, 2), image),
    "adaptive_avg_pool2d": (lambda a: F.adaptive_avg_pool2d(a, 3), image),
    "interpolate": (lambda a: F.interpolate(a, scale_factor=2, mode="bilinear"), image),
    # the fused function has no forward mode
    "attention": (lambda q, k, v: F.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v, *queries),
    "cross_entropy": (lambda a: F.cross_entropy(a, labels), x),
    "huber_loss": (F.huber_loss, x, y),
    "binary_cross_entropy": (F.binary_cross_entropy_with_logits, x, share),
    "grid_sample": (lambda a, g: F.grid_sample(a, g, align_corners=False), image, wave((2, 3, 3, 2), 5, -1.1, 1.1)),
    "hinge_embedding_loss": (lambda a: F.hinge_embedding_loss(a, torch.tensor([[1.0, -1, 1], [-1, 1, -1]])), x),
    "cosine_embedding_loss": (lambda a, b: F.cosine_embedding_loss(a, b, torch.tensor([1.0, -1.0])), x, y),
    "multi_margin_loss": (lambda a: F.multi_margin_loss(a, labels), x),
    "ctc_loss": (lambda a: F.ctc_loss(F.log_softmax(a, -1), torch.tensor([[1, 2], [1, 1]]), (4, 3), (2, 1)),
                 wave((4, 2, 3), 1)),
    "bessel": (lambda a: special.i0(a) + special.i1(a) + special.i0e(a) * special.i1e(a), x),
    "normal": (lambda a: special.erfcx(a) + special.ndtr(a) * special.log_ndtr(a) + torch.sinc(a), x),
    "polygamma": (lambda a, b: special.polygamma(2, a) + special.multigammaln(a + 1, 3) + special.entr(a)
                  + special.xlog1py(a, b), positive, wave((2, 3), 1, 0.1, 0.9)),
    "solve": (torch.linalg.solve, square, wave((3, 2), 2)),
    "inv": (torch.linalg.inv, square),
    "det": (torch.linalg.det, square),
    "cholesky": (lambda a: torch.linalg.cholesky(a @ a.T), square),
}

# Functions with one result, of a vector of these numbers. Zeros stand where a quotient would lose a derivative.
ramp = torch.tensor([0.5, -1.0, 2.0, 1.5])
HESSIANS = {
    "prod_one_zero": (lambda a: a.prod(), [2, 0, 3, -1]),
    "prod_two_zeros": (lambda a: a.prod(), [0, 2, 0, 3]),
    "prod_three_zeros": (lambda a: a.prod(), [0, 2, 0, 0]),
    "prod_of_rows": (lambda a: (a.reshape(2, 2).prod(1) * ramp[:2]).square().sum(), [0, 2, 3, 0]),
    "cumprod_one_zero": (lambda a: (a.cumprod(0) * ramp).sum(), [2, 0, 3, -1]),
    "cumprod_two_zeros": (lambda a: (a.cumprod(0) * ramp).sum(), [0, 2, 0, 3]),
    "power_at_zero": (lambda a: (a**2 + a**3).sum(), [0, 1, 0, -2]),
    "norm": (lambda a: torch.linalg.vector_norm(a), [1, 0, -2, 3]),
    "stddev": (lambda a: a.std(), [1, 0, -2, 3]),
    "softmax": (lambda a: (F.softmax(a, 0) * ramp).sum(), [1, 0, -2, 3]),
    "logsumexp": (lambda a: a.logsumexp(0), [1, 0, -2, 3]),
    "layer_norm": (lambda a: (F.layer_norm(a, (4,)) * ramp).sum(), [1, 0, -2, 3]),
    "products": (lambda a: torch.tanh(a.reshape(2, 2) @ a.reshape(2, 2)).sum(), [1, 0, -0.5, 0.3]),
    "gelu": (lambda a: F.gelu(a).sum(), [1, 0, -2, 3]),
}


def tangent_of(f, inputs, directions):
    """By forward mode; by backward mode, element by element, where PyTorch has no forward mode."""
    try:
        return jvp(f, inputs, directions)[1]
    except (NotImplementedError, RuntimeError):
        slopes = torch.autograd.functional.jacobian(f, inputs)
        return sum(torch.tensordot(d, v, dims=v.dim()) for d, v in zip(slopes, directions))


def main():
    lines = [f"# written by make_forward_mode.py with PyTorch {torch.__version__.partition('+')[0]}"]
    for name, (f, *inputs) in CASES.items():
        directions = tuple(wave(x.shape, 100 + i, -1, 1) for i, x in enumerate(inputs))
        tangent = tangent_of(f, tuple(inputs), directions)
        numbers = " ".join(f"{v:.12g}" for v in tangent.flatten().tolist())
        lines.append(" ".join([f"jvp_{name}", *map(str, tangent.shape), ":", numbers]))
    for name, (f, numbers) in HESSIANS.items():
        found = hessian(f)(torch.tensor(numbers, dtype=torch.float64)).flatten().tolist()
        lines.append(" ".join([f"hessian_{name}", "4 4 :", *(f"{v:.12g}" for v in found)]))
    pathlib.Path(__file__).with_name("forward_mode.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
