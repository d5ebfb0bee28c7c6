#!/usr/bin/env python3
"""PyTorch's side of benchmarks/linear_cross_entropy.py: the lines of cpu_linear_cross_entropy.cpp. "chunks" are
torch.nn.LinearCrossEntropyOptions."""

import resource

import torch
from torch import nn
from torch.nn import functional as F

from torch_lines import answer, fastest


def used():
    """Megabytes of the process at their peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024e-6


def measure(clock, rows, width, classes, kind, way):
    rows, width, classes = int(rows), int(width), int(classes)
    x, w = (torch.empty(count, width, dtype=getattr(torch, kind)) for count in (rows, classes))
    x.normal_().requires_grad_(), w.normal_(0, 0.02).requires_grad_()
    targets = torch.randint(0, classes, (rows,))
    before = used()

    def run():
        x.grad = w.grad = None
        if way == "chunks":
            loss = F.linear_cross_entropy(x, w, targets, options=nn.LinearCrossEntropyOptions())
        else:
            loss = F.cross_entropy(F.linear(x, w).float(), targets)
        loss.backward()

    return fastest(clock, 2, run), used() - before


if __name__ == "__main__":
    answer(measure)
