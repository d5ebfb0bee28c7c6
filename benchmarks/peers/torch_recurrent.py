#!/usr/bin/env python3
"""PyTorch's side of benchmarks/recurrent.py: the lines of cpu_recurrent.cpp."""

import torch

from torch_lines import answer, fastest

BUDGET = 0.5  # seconds of runs of each


def measure(clock, layer, *numbers):
    steps, batch, width, hidden = (int(number) for number in numbers)
    model = getattr(torch.nn, layer)(width, hidden)
    x, g = torch.randn(steps, batch, width), torch.randn(steps, batch, hidden)
    with torch.no_grad():
        value = fastest(clock, BUDGET, lambda: model(x))
    x.requires_grad_()

    def step():
        x.grad = None
        model.zero_grad()
        model(x)[0].backward(g)

    return value, fastest(clock, BUDGET, step)


if __name__ == "__main__":
    answer(measure)
