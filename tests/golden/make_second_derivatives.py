#!/usr/bin/env python3
"""Writes random programs as make_programs.py does, with PyTorch's gradients of gradients in float64.

    second v0 : ...      of half the weighted sum of the squares of the inputs' gradients

tests/autograd/second_derivatives_test.cpp runs the programs of OPERATIONS; with --all, the programs are those of all
operations, which tests/fuzz/golden_programs_test.cpp runs if it is compiled with -DLOCUS_DOUBLE_BACKWARD=1.

usage: make_second_derivatives.py [--seed N] [--each N] [--all] [--out FILE]        (needs torch; the tests need only its
output)
"""

import argparse
import pathlib

import torch

import make_programs as programs

OPERATIONS = ["exp", "tanh", "sigmoid", "gelu", "log", "sqrt", "relu", "multiply", "divide", "power", "maximum", "where", "pending",
              "clamp", "sum", "mean", "prod", "max", "norm2", "var", "softmax", "log_softmax", "logsumexp", "cumsum", "reshape",
              "transpose", "permute", "expand", "select", "slice", "concat", "pad", "index_select", "gather", "scatter_add",
              "sort", "matmul", "linear", "layer_norm", "batch_norm", "conv2d", "max_pool2d", "avg_pool2d", "mse_loss",
              "cross_entropy"]
ONCE = ("Trying to backward", "derivative for")  # words of errors: PyTorch differentiates some operations once only


def second_derivatives(inputs, steps):
    """The gradients of half the weighted sum of squared gradients; None if PyTorch has none."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    values = programs.run(leaves, steps)
    zeros = [torch.zeros_like(x) for x in leaves]
    if not values[-1].requires_grad:
        return zeros
    try:
        first = torch.autograd.grad(programs.weighted_sum(values[-1]), leaves, create_graph=True, allow_unused=True)
        penalty = sum(programs.weighted_sum(g * g) / 2 for g in first if g is not None)
        if not penalty.requires_grad:
            return zeros
        found = torch.autograd.grad(penalty, leaves, allow_unused=True)
    except RuntimeError as error:
        if any(words in str(error) for words in ONCE):
            return None
        raise
    return [zero if g is None else zero + g for zero, g in zip(zeros, found)]


def with_second(number, made):
    """The text of a program; None if its second derivatives jump when the inputs move, or are too large to compare."""
    inputs, steps, _, _ = made
    moved = [x + 1e-9 * torch.tensor([(-1) ** i for i in range(x.numel())]).reshape(x.shape) for x in inputs]
    found, nearby = second_derivatives(inputs, steps), second_derivatives(moved, steps)
    if found is None or nearby is None:
        return None
    for here, there in zip(found, nearby):
        if not here.isfinite().all() or here.abs().max() > 1e3 or (here - there).abs().max() > 1e-4:
            return None
    lines = [f"second v{i} : {programs.numbers(gradient.flatten().tolist())}" for i, gradient in enumerate(found)]
    return programs.text_of(number, made) + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "second_derivatives.txt")
    options = parser.parse_args()
    if not options.all:
        programs.OPERATIONS = {name: programs.OPERATIONS[name] for name in OPERATIONS}
    texts, number = [], options.seed * 1_000_000
    for name in programs.OPERATIONS:
        made = 0
        for _ in range(2000):
            number += 1
            program = programs.program(number, name)
            text = with_second(number, program) if program else None
            if text:
                texts.append(text)
                made += 1
                if made == options.each:
                    break
        if made == 0:
            print(f"{name}: no program with second derivatives ends in it")
    version = torch.__version__.split("+")[0]
    options.out.write_text(f"# written by make_second_derivatives.py with PyTorch {version}\n" + "".join(texts))
    print(f"{len(texts)} programs, {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
