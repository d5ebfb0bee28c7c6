#!/usr/bin/env python3
"""Writes schedulers.txt: the learning rates of 20 steps of torch.optim.lr_scheduler, also past the end of a schedule.

Each line is a name, the number of values, and the values: the rate (or the momentum) at the start, and after each step.
A OneCycleLR that ends earlier has the values of its cycle. Needs PyTorch, as make_golden.py does.
"""
import pathlib
import warnings

import torch
from torch.optim import lr_scheduler as schedulers
from torch.optim import swa_utils

warnings.filterwarnings("ignore")  # no optimizer steps in between
STEPS = 20
LOSSES = [1.0, 0.9, 0.85, 0.86, 0.87, 0.85, 0.8499, 0.9, 0.7, 0.72, 0.71, 0.73, 0.74, 0.69] + 6 * [0.7]

CASES = {
    "step": lambda o: schedulers.StepLR(o, 6, 0.3),
    "multi_step": lambda o: schedulers.MultiStepLR(o, [3, 8, 8, 15], 0.5),
    "exponential": lambda o: schedulers.ExponentialLR(o, 0.9),
    "linear": lambda o: schedulers.LinearLR(o, 0.1, 0.8, 7),
    "linear_to_0": lambda o: schedulers.LinearLR(o, 0.7, 0.0, 6),
    "constant": lambda o: schedulers.ConstantLR(o, 0.25, 4),
    "cosine": lambda o: schedulers.CosineAnnealingLR(o, 8, 0.01),
    "cosine_whole": lambda o: schedulers.CosineAnnealingLR(o, 20),
    "cosine_one_past": lambda o: schedulers.CosineAnnealingLR(o, 19),
    "cosine_each": lambda o: schedulers.CosineAnnealingLR(o, 1, 0.1),
    "warm_restarts": lambda o: schedulers.CosineAnnealingWarmRestarts(o, 3, 2, 0.02),
    "warm_restarts_equal": lambda o: schedulers.CosineAnnealingWarmRestarts(o, 6),
    "one_cycle": lambda o: schedulers.OneCycleLR(o, 0.8, total_steps=21, cycle_momentum=False),
    "one_cycle_linear": lambda o: schedulers.OneCycleLR(
        o, 0.8, total_steps=25, pct_start=0.4, anneal_strategy="linear", cycle_momentum=False, div_factor=10,
        final_div_factor=100, three_phase=True),
    "polynomial": lambda o: schedulers.PolynomialLR(o, 12, 0.9),
    "multiplicative": lambda o: schedulers.MultiplicativeLR(o, lambda step: 0.9 if step % 2 else 1.05),
    "cyclic": lambda o: schedulers.CyclicLR(o, 0.1, 0.7, 3, cycle_momentum=False),
    "cyclic_halved": lambda o: schedulers.CyclicLR(o, 0.1, 0.7, 2, 4, "triangular2", cycle_momentum=False),
    "cyclic_powers": lambda o: schedulers.CyclicLR(o, 0.1, 0.7, 4, 3, "exp_range", 0.95, cycle_momentum=False),
    "swa": lambda o: swa_utils.SWALR(o, 0.05),
    "swa_linear": lambda o: swa_utils.SWALR(o, 0.9, 6, "linear"),
    "swa_at_once": lambda o: swa_utils.SWALR(o, 0.2, 0),
    "sequential_swa": lambda o: schedulers.SequentialLR(
        o, [schedulers.ConstantLR(o, 1.0, 1), swa_utils.SWALR(o, 0.05, 4)], [9]),
    "lambda": lambda o: schedulers.LambdaLR(o, lambda step: 1 / (1 + step)),
    "chained": lambda o: schedulers.ChainedScheduler(
        [schedulers.ConstantLR(o, 0.1, 5), schedulers.ExponentialLR(o, 0.9)]),
    "sequential": lambda o: schedulers.SequentialLR(
        o, [schedulers.LinearLR(o, 0.1, 1.0, 4), schedulers.CosineAnnealingLR(o, 10, 0.001),
            schedulers.StepLR(o, 2, 0.5)], [4, 14]),
    "chained_past": lambda o: schedulers.ChainedScheduler(
        [schedulers.LinearLR(o, 0.5, 1.0, 3), schedulers.MultiStepLR(o, [4, 9], 0.5)]),
    "sequential_past": lambda o: schedulers.SequentialLR(
        o, [schedulers.ConstantLR(o, 0.1, 2), schedulers.LinearLR(o, 1.0, 0.25, 6)], [5]),
    "plateau": lambda o: schedulers.ReduceLROnPlateau(o, factor=0.5, patience=1, threshold=1e-3, cooldown=3, min_lr=0.1),
    "plateau_max": lambda o: schedulers.ReduceLROnPlateau(
        o, mode="max", factor=0.1, patience=1, threshold=0.05, threshold_mode="abs"),
}

# Cycles that end before the last step. The last rate is of step total_steps - 1: PyTorch continues the curve by a step,
# and then raises ValueError.
CYCLES = {
    "cycle_cosine": dict(total_steps=9),
    "cycle_linear": dict(total_steps=9, anneal_strategy="linear"),
    "cycle_three_phases": dict(total_steps=11, pct_start=0.4, three_phase=True),
    "cycle_three_phases_linear": dict(total_steps=11, pct_start=0.4, three_phase=True, anneal_strategy="linear"),
}

# The momentum of these schedules, instead of the rate.
MOMENTA = {
    "one_cycle_momentum": lambda o: schedulers.OneCycleLR(o, 0.8, total_steps=21),
    "one_cycle_linear_momentum": lambda o: schedulers.OneCycleLR(
        o, 0.8, total_steps=25, pct_start=0.4, anneal_strategy="linear", base_momentum=0.7, max_momentum=0.9,
        three_phase=True),
    "cyclic_momentum": lambda o: schedulers.CyclicLR(o, 0.1, 0.7, 2, 4, "triangular2", base_momentum=0.6),
    "sequential_momentum": lambda o: schedulers.SequentialLR(
        o, [schedulers.LinearLR(o, 0.1, 1.0, 4), schedulers.OneCycleLR(o, 0.8, total_steps=21)], [4]),
}


def rates(make, of="lr", steps=STEPS):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.5)
    scheduler = make(optimizer)
    numbers = [optimizer.param_groups[0][of]]
    for i in range(steps):
        optimizer.step()
        if isinstance(scheduler, schedulers.ReduceLROnPlateau):
            scheduler.step(LOSSES[i])
        else:
            scheduler.step()
        numbers.append(optimizer.param_groups[0][of])
    return numbers


def plateau_of_groups():
    """The rates of two groups, one after the other, at the start and after each step."""
    groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": lr} for lr in (0.5, 0.02)]
    optimizer = torch.optim.SGD(groups, lr=0.5)
    scheduler = schedulers.ReduceLROnPlateau(optimizer, factor=0.5, patience=0, min_lr=0.015, eps=0.006)
    numbers = [[group["lr"] for group in optimizer.param_groups]]
    for _ in range(STEPS):
        optimizer.step()
        scheduler.step(1.0)
        numbers.append([group["lr"] for group in optimizer.param_groups])
    return [row[group] for group in range(2) for row in numbers]


def main():
    lines = [f"# PyTorch {torch.__version__.split('+')[0]}, made by {pathlib.Path(__file__).name}"]
    numbers = {name: rates(make) for name, make in CASES.items()} | {"losses": LOSSES}
    numbers |= {name: rates(make, "momentum") for name, make in MOMENTA.items()}
    for name, options in CYCLES.items():
        for of in ("lr", "momentum"):
            numbers[name if of == "lr" else name + "_momentum"] = rates(
                lambda o, options=options: schedulers.OneCycleLR(o, 0.01, **options), of, options["total_steps"] - 1)
    numbers["plateau_of_groups"] = plateau_of_groups()
    lines += [f"{name} {len(of)} :" + "".join(f" {float(x)!r}" for x in of) for name, of in numbers.items()]
    pathlib.Path(__file__).with_name("schedulers.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
