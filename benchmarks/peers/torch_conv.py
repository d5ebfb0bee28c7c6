#!/usr/bin/env python3
"""PyTorch's side of benchmarks/conv.py: the lines of cpu_conv.cpp, answered for both memory formats, NCHW first."""

import torch

from torch_lines import answer, fastest

BUDGET = 0.15  # seconds of runs of each pass


def passes(clock, memory_format, dtype, batch, channels, out, groups, size, kernel, stride):
    def random(*shape):
        return torch.randn(*shape).to(dtype).contiguous(memory_format=memory_format)

    x, w, padding = random(batch, channels, size, size), random(out, channels // groups, kernel, kernel), kernel // 2

    def value():
        return torch.nn.functional.conv2d(x, w, stride=stride, padding=padding, groups=groups)

    g = torch.randn_like(value())

    def gradient(*wanted):
        torch.ops.aten.convolution_backward(g, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups,
                                            [*wanted, False])

    return [fastest(clock, BUDGET, value), fastest(clock, BUDGET, lambda: gradient(True, False)),
            fastest(clock, BUDGET, lambda: gradient(False, True))]


def measure(clock, dtype, *numbers):
    *shape, _ = (int(number) for number in numbers)
    return [time for memory_format in (torch.contiguous_format, torch.channels_last)
            for time in passes(clock, memory_format, getattr(torch, dtype), *shape)]


if __name__ == "__main__":
    answer(measure)
