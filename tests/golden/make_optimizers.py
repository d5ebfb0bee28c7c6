#!/usr/bin/env python3
"""Writes optimizers.txt: trajectories of optimizers with groups, master weights, clipping and skipped steps.

usage: make_optimizers.py        (needs torch; the tests need only what it wrote)
"""

import pathlib

import torch

import make_golden
from make_golden import keep

STEPS = 8


def numbers(name):
    return make_golden.numbers[name]


def parameters():
    return numbers("groups_w").clone().requires_grad_(), numbers("groups_b").clone().requires_grad_()


def trajectory(name, w, b, stepper, before=lambda step: True):
    """Values after every step, which is made if before(step): on the loss 0.15 |p|^2 + p . g_t."""
    values_w, values_b = [], []
    for step in range(STEPS):
        stepper.zero_grad()
        loss = sum((0.15 * p * p + p * numbers(g)[step]).sum() for p, g in ((w, "groups_gw"), (b, "groups_gb")))
        loss.backward()
        if before(step):
            stepper.step()
        values_w.append(w.detach().clone())
        values_b.append(b.detach().clone())
    keep(f"{name}_w", torch.stack(values_w))
    keep(f"{name}_b", torch.stack(values_b))


def groups():
    w, b = parameters()
    stepper = torch.optim.AdamW([{"params": [w], "weight_decay": 0.3}, {"params": [b], "weight_decay": 0.0}], lr=0.05)
    trajectory("groups_adamw", w, b, stepper)

    w, b = parameters()
    stepper = torch.optim.SGD([{"params": [w], "weight_decay": 0.2}, {"params": [b], "lr": 0.01}], lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(stepper, 3, 0.5)

    def halve(step):
        if step > 0:
            schedule.step()
        return True

    trajectory("groups_sgd", w, b, stepper, halve)


def clipping():
    w, b = parameters()
    stepper = torch.optim.Adam([w, b], lr=0.05)
    trajectory("clipped", w, b, stepper, lambda step: torch.nn.utils.clip_grad_norm_([w, b], 0.5) is not None)


def skipping():
    for name, optimizer, options in (("skipped_adam", torch.optim.Adam, {"lr": 0.05}),
                                     ("skipped_sgd", torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3})):
        w, b = parameters()
        trajectory(name, w, b, optimizer([w, b], **options), lambda step: step not in (0, 3, 4))


def masters():
    """float master weights of 16-bit parameters, whose gradients are 16-bit, too."""
    for name, dtype, optimizer, options in (
            ("master_adamw", torch.bfloat16, torch.optim.AdamW, {"lr": 1e-3, "weight_decay": 0.1}),
            ("master_sgd", torch.float16, torch.optim.SGD, {"lr": 1e-4, "momentum": 0.9})):
        master = numbers("groups_w").to(dtype).float().requires_grad_()
        stepper = optimizer([master], **options)
        values = []
        for step in range(STEPS):
            master.grad = numbers("groups_gw")[step].to(dtype).float()
            stepper.step()
            values.append(master.detach().to(torch.float64))
        keep(name, torch.stack(values))


if __name__ == "__main__":
    torch.manual_seed(25)
    make_golden.numbers.clear()
    keep("groups_w", torch.randn(3, 4))
    keep("groups_b", torch.randn(5))
    keep("groups_gw", torch.randn(STEPS, 3, 4))
    keep("groups_gb", torch.randn(STEPS, 5))
    for make in groups, clipping, skipping, masters:
        make()
    make_golden.write(pathlib.Path(__file__).with_name("optimizers.txt"))
