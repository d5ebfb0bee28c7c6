#!/usr/bin/env python3
"""Writes sixteen_bits.txt: gradients of log_softmax in 16 bits, as PyTorch computes them on the CPU, and in float64.

usage: make_sixteen_bits.py        (needs torch; the tests need only its output)

Rows of 3,000 numbers that every type represents exactly; results are near -8. Every 50th column of the gradient is
kept.
"""

import pathlib

import torch

ROWS, COLUMNS, STRIDE = 2, 3000, 50


def gradient(dtype):
    """The gradient of log_softmax over rows, as in the test."""
    i = torch.arange(ROWS * COLUMNS)
    x = ((i * 37 % 64).double() / 32 - 1).reshape(ROWS, COLUMNS).to(dtype).requires_grad_()
    cotangent = ((i * 53 % 128).double() / 64 - 0.5).reshape(ROWS, COLUMNS).to(dtype)
    return torch.autograd.grad(torch.log_softmax(x, 1), x, cotangent)[0][:, ::STRIDE]


def main():
    lines = [f"# written by {pathlib.Path(__file__).name} with PyTorch {torch.__version__.split('+')[0]}"]
    for name, dtype in ("bfloat16", torch.bfloat16), ("half", torch.float16), ("float64", torch.float64):
        d = gradient(dtype)
        lines.append(f"log_softmax_{name} {d.shape[0]} {d.shape[1]} :" + "".join(f" {float(v):.12g}" for v in d.flatten()))
    pathlib.Path(__file__).with_name("sixteen_bits.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
