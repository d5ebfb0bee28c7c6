#!/usr/bin/env python3
"""PyTorch's side of benchmarks/attention.py: the lines of cpu_attention.cpp."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from torch_lines import answer, fastest

BUDGET = 0.3  # seconds of runs of each


def measure(clock, dtype, *numbers):
    *shape, is_causal = (int(number) for number in numbers)
    is_causal = bool(is_causal)
    dtype = torch.bfloat16 if dtype == "bfloat16" else torch.float32
    q, k, v, g = (torch.randn(shape, dtype=dtype) for _ in range(4))
    with torch.no_grad():
        value = fastest(clock, BUDGET, lambda: scaled_dot_product_attention(q, k, v, is_causal=is_causal))
    inputs = [x.requires_grad_() for x in (q, k, v)]

    def step():
        for x in inputs:
            x.grad = None
        scaled_dot_product_attention(*inputs, is_causal=is_causal).backward(g)

    return value, fastest(clock, BUDGET, step)


if __name__ == "__main__":
    answer(measure)
