#!/usr/bin/env python3
"""PyTorch's side of benchmarks/attention.py: the lines of cpu_attention.cpp."""

import sys
import time

import torch
from torch.nn.functional import scaled_dot_product_attention


def fastest(clock, run):
    best, total = float("inf"), 0.0
    for i in range(20):
        if i >= 3 and total >= 0.3:
            break
        begin = clock()
        run()
        taken = clock() - begin
        best, total = min(best, taken), total + taken
    return 1e3 * best


def measure(clock, dtype, shape, is_causal):
    q, k, v, g = (torch.randn(shape, dtype=dtype) for _ in range(4))
    with torch.no_grad():
        value = fastest(clock, lambda: scaled_dot_product_attention(q, k, v, is_causal=is_causal))
    inputs = [x.requires_grad_() for x in (q, k, v)]

    def step():
        for x in inputs:
            x.grad = None
        scaled_dot_product_attention(*inputs, is_causal=is_causal).backward(g)

    return value, fastest(clock, step)


def main():
    for line in sys.stdin:
        threads, clock, dtype, *numbers = line.split()
        torch.set_num_threads(int(threads))
        timer = time.process_time if clock == "processor" else time.perf_counter
        *shape, is_causal = (int(number) for number in numbers)
        dtype = torch.bfloat16 if dtype == "bfloat16" else torch.float32
        print(*(f"{answer:.4f}" for answer in measure(timer, dtype, shape, bool(is_causal))), flush=True)


if __name__ == "__main__":
    main()
