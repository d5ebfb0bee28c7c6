#!/usr/bin/env python3
"""Writes optimizer_runs.txt: short runs of optimizers with random options, as PyTorch computes them in float64.

    adam , 0.05 0.9 0.99 1e-08 0.1 1 : 1 -2 : 0.5 0.25 0.1 0.2 : 0.9 -1.9

is a rule, its options in the order of the test's table, the initial parameter, the gradient of each step, and the
parameter after the last step. tests/fuzz/golden_optimizers_test.cpp runs them.

usage: make_optimizer_runs.py [--seed N] [--each N] [--out FILE]        (needs torch; the tests need only its output)
"""

import argparse
import pathlib
import random

import torch

from make_optimizers import Lion

torch.set_default_dtype(torch.float64)
STEPS, SIZE = 8, 3
PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}
FLAGS = ("nesterov", "amsgrad", "centered", "decoupled_weight_decay", "maximize")


def rules(choose):
    """{rule: (class, {option: value})} with random values, in the order of the test's table."""
    rate = choose.choice([0.001, 0.05, 0.3])
    beta1, beta2 = choose.choice([0.0, 0.5, 0.9]), choose.choice([0.6, 0.9, 0.999])
    eps, decay, flag = choose.choice([1e-10, 1e-8, 1e-2]), choose.choice([0.0, 0.01, 0.4]), choose.randrange(2)
    momentum = choose.choice([0.0, 0.5, 0.9])
    dampening = 0.0 if flag and momentum else choose.choice([0.0, 0.3])
    maximize = choose.randrange(2)
    adam = {"lr": rate, "beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": decay, "amsgrad": flag, "maximize": maximize}
    return {
        "sgd": (torch.optim.SGD, {"lr": rate, "momentum": momentum, "dampening": dampening, "weight_decay": decay,
                                  "nesterov": int(flag and momentum > 0), "maximize": maximize}),
        "adam": (torch.optim.Adam, adam),
        "adamw": (torch.optim.AdamW, adam),
        "rmsprop": (torch.optim.RMSprop, {"lr": rate, "alpha": beta2, "eps": eps, "weight_decay": decay,
                                          "momentum": momentum, "centered": flag, "maximize": maximize}),
        "adagrad": (torch.optim.Adagrad, {"lr": rate, "lr_decay": decay, "weight_decay": decay,
                                          "initial_accumulator_value": choose.choice([0.0, 0.5]), "eps": eps,
                                          "maximize": maximize}),
        "adadelta": (torch.optim.Adadelta, {"lr": rate, "rho": beta1, "eps": eps, "weight_decay": decay, "maximize": maximize}),
        "adamax": (torch.optim.Adamax, {"lr": rate, "beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": decay,
                                        "maximize": maximize}),
        "nadam": (torch.optim.NAdam, {"lr": rate, "beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": decay,
                                      "momentum_decay": choose.choice([0.0, 0.004, 0.5, 5.0]),
                                      "decoupled_weight_decay": flag, "maximize": maximize}),
        "radam": (torch.optim.RAdam, {"lr": rate, "beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": decay,
                                      "decoupled_weight_decay": flag, "maximize": maximize}),
        "asgd": (torch.optim.ASGD, {"lr": rate, "lambd": choose.choice([1e-4, 0.1]), "alpha": choose.choice([0.75, 0.3]),
                                    "t0": choose.choice([0, 3, 1000000]), "weight_decay": decay, "maximize": maximize}),
        "rprop": (torch.optim.Rprop, {"lr": rate, "etaminus": choose.choice([0.5, 0.9]), "etaplus": choose.choice([1.2, 3.0]),
                                      "step_size_min": choose.choice([1e-6, 0.02]), "step_size_max": choose.choice([0.3, 50.0]),
                                      "maximize": maximize}),
        "lion": (Lion, {"lr": rate, "beta1": beta1, "beta2": beta2, "weight_decay": decay, "maximize": maximize}),
    }


def named_as_in_pytorch(options):
    named = {name: value for name, value in options.items() if not any(name in pair for pair in PAIRS.values())}
    for name, (first, second) in PAIRS.items():
        if first in options:
            named[name] = (options[first], options[second])
    return {name: bool(value) if name in FLAGS else value for name, value in named.items()}


def numbers(values):
    return " ".join(f"{v:.13g}" for v in values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "optimizer_runs.txt")
    asked = parser.parse_args()
    choose = random.Random(asked.seed)
    lines = [f"# written by make_optimizer_runs.py with PyTorch {torch.__version__.split('+')[0]}"]
    for _ in range(asked.each):
        for name, (optimizer, options) in rules(choose).items():
            start = [choose.randrange(-2000, 2000) / 1000 for _ in range(SIZE)]
            gradients = [choose.randrange(-2000, 2001) / 1000 * choose.choice([1, 1e-3]) for _ in range(STEPS * SIZE)]
            parameter = torch.tensor(start, requires_grad=True)
            stepper = optimizer([parameter], **named_as_in_pytorch(options))
            for step in torch.tensor(gradients).reshape(STEPS, SIZE):
                parameter.grad = step.clone()
                stepper.step()
            lines.append(f"{name} , {numbers(options.values())} : {numbers(start)} : {numbers(gradients)} : "
                         f"{numbers(parameter.tolist())}")
    asked.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
