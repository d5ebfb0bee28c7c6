#!/usr/bin/env python3
"""PyTorch's side of benchmarks/products.py: the lines of cpu_products.cpp."""

import torch

from torch_lines import answer, fastest

BUDGET = 0.5  # seconds of runs of each
HEADS = 8, 256, 8, 64  # batch, length, heads, width


def einsum(equation, *shapes):
    operands = [torch.randn(shape) for shape in shapes]
    return lambda: torch.einsum(equation, *operands)


def of(function, *shapes):
    operands = [torch.randn(shape) for shape in shapes]
    return lambda: function(*operands)


PRODUCTS = {
    "einsum_scores": lambda: einsum("blhd,bshd->bhls", HEADS, HEADS),
    "einsum_scores_apart": lambda: einsum("bhld,bhsd->bhls", (8, 8, 256, 64), (8, 8, 256, 64)),
    "einsum_values": lambda: einsum("bhls,bshd->blhd", (8, 8, 256, 256), HEADS),
    "einsum_bilinear": lambda: einsum("ni,nj,oij->no", (4096, 64), (4096, 64), (64, 64, 64)),
    "cdist": lambda: of(torch.cdist, (2048, 64), (2048, 64)),
}


if __name__ == "__main__":
    answer(lambda clock, name: [fastest(clock, BUDGET, PRODUCTS[name]())])
