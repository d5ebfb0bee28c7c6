#!/usr/bin/env python3
"""PyTorch's side of benchmarks/functions.py: the lines of cpu_functions.cpp."""

import torch

from torch_lines import answer, fastest

BUDGET = 0.5  # seconds of runs of each
HEADS = 8, 256, 8, 64  # batch, length, heads, width


def einsum(equation, *shapes):
    operands = [torch.randn(shape) for shape in shapes]
    return lambda: torch.einsum(equation, *operands)


def gradient(function, x, g):
    """A run of the backward pass of function(x)."""
    y = function(x)

    def run():
        x.grad = None
        y.backward(g, retain_graph=True)

    return run


def embedding_gradient():
    chosen = torch.randint(100000, (1000000,))
    return gradient(lambda table: torch.nn.functional.embedding(chosen, table),
                    torch.randn(100000, 64, requires_grad=True), torch.randn(1000000, 64))


def index_select_gradient():
    chosen = torch.randint(1024, (4096,))
    return gradient(lambda x: x.index_select(1, chosen), torch.randn(1024, 1024, requires_grad=True),
                    torch.randn(1024, 4096))


def scatter_add(shape, axis, source_shape):
    x, source = torch.randn(shape), torch.randn(source_shape)
    chosen = torch.randint(shape[axis], source_shape)
    return lambda: x.scatter_add(axis, chosen, source)


def of(function, *shapes):
    operands = [torch.randn(shape) for shape in shapes]
    return lambda: function(*operands)


FUNCTIONS = {
    "einsum_scores": lambda: einsum("blhd,bshd->bhls", HEADS, HEADS),
    "einsum_scores_apart": lambda: einsum("bhld,bhsd->bhls", (8, 8, 256, 64), (8, 8, 256, 64)),
    "einsum_values": lambda: einsum("bhls,bshd->blhd", (8, 8, 256, 256), HEADS),
    "einsum_bilinear": lambda: einsum("ni,nj,oij->no", (4096, 64), (4096, 64), (64, 64, 64)),
    "embedding_gradient": embedding_gradient,
    "index_select_gradient": index_select_gradient,
    "scatter_add": lambda: scatter_add((100000,), 0, (1000000,)),
    "scatter_add_rows": lambda: scatter_add((1024, 1024), 1, (1024, 1024)),
    "sort": lambda: of(torch.sort, (1000000,)),
    "sort_rows": lambda: of(torch.sort, (1024, 1024)),
    "tril": lambda: of(torch.tril, (4096, 4096)),
    "cdist": lambda: of(torch.cdist, (2048, 64), (2048, 64)),
}


if __name__ == "__main__":
    answer(lambda clock, name: [fastest(clock, BUDGET, FUNCTIONS[name]())])
