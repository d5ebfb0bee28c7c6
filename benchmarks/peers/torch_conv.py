#!/usr/bin/env python3
"""PyTorch's side of benchmarks/conv.py: the lines of cpu_conv.cpp, answered for both memory formats, NCHW first."""

import torch

from torch_lines import answer, fastest

BUDGET = 0.15  # seconds of runs of each pass


def passes(clock, memory_format, batch, channels, out, size, kernel, stride):
    x = torch.randn(batch, channels, size, size).contiguous(memory_format=memory_format)
    w = torch.randn(out, channels, kernel, kernel).contiguous(memory_format=memory_format)
    padding = kernel // 2
    g = torch.randn_like(torch.nn.functional.conv2d(x, w, stride=stride, padding=padding))

    def gradient(*wanted):
        torch.ops.aten.convolution_backward(g, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1,
                                            [*wanted, False])

    return [fastest(clock, BUDGET, lambda: torch.nn.functional.conv2d(x, w, stride=stride, padding=padding)),
            fastest(clock, BUDGET, lambda: gradient(True, False)), fastest(clock, BUDGET, lambda: gradient(False, True))]


def measure(clock, *numbers):
    *shape, _ = (int(number) for number in numbers)
    return passes(clock, torch.contiguous_format, *shape) + passes(clock, torch.channels_last, *shape)


if __name__ == "__main__":
    answer(measure)
