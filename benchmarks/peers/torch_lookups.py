#!/usr/bin/env python3
"""PyTorch's side of benchmarks/lookups.py: the lines of cpu_lookups.cpp."""

import torch

from torch_lines import answer, fastest

BUDGET = 0.5  # seconds of runs


def gradient(y, x, g):
    def run():
        x.grad = None
        y.backward(g, retain_graph=True)

    return run


def run_of(name, rows, cols, count):
    if count == 0:
        x = torch.randn(rows, cols)
        return {"tril": lambda: x.tril(), "flip": lambda: x.flip(1), "roll": lambda: x.roll((5, 7), (0, 1)),
                "cumprod": lambda: x.cumprod(1), "sort": lambda: x.sort(1),
                "quantile": lambda: x.quantile(0.75, 1)}[name]
    indices, index = torch.randint(0, rows, (count,)), torch.randint(0, rows, (count, cols))
    source, table = torch.randn(count, cols), torch.randn(rows, cols).requires_grad_()
    x = table.detach()
    if name == "embedding_gradient":
        return gradient(torch.nn.functional.embedding(indices, table), table, source)
    if name == "gather_gradient":
        return gradient(table.gather(0, index), table, source)
    ordered, values = x.flatten().sort().values, source.flatten()
    expanded = indices[:, None].expand(count, cols)
    return {"index_add": lambda: x.index_add(0, indices, source), "scatter_add": lambda: x.scatter_add(0, index, source),
            "index_copy": lambda: x.index_copy(0, indices, source),
            "scatter_add_list": lambda: x.scatter_add(0, expanded, source),
            "searchsorted": lambda: torch.searchsorted(ordered, values)}[name]


def measure(clock, name, *numbers):
    return (fastest(clock, BUDGET, run_of(name, *map(int, numbers))),)


if __name__ == "__main__":
    answer(measure)
