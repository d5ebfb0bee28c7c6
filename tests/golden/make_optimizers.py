#!/usr/bin/env python3
"""Writes optimizers.txt: trajectories of optimizers with groups, master weights, clipping and skipped steps; 20 steps
of each rule that make_training.py does not cover; and 20 steps with a GradScaler.

usage: make_optimizers.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch

import make_golden
from make_golden import keep

STEPS = 8
RULE_STEPS = 20


def numbers(name):
    return make_golden.numbers[name]


def parameters():
    return numbers("groups_w").clone().requires_grad_(), numbers("groups_b").clone().requires_grad_()


def trajectory(name, w, b, stepper, before=lambda step: True, gradients="groups"):
    """Values after every step on the loss 0.15 |p|^2 + p . g_t; a step is skipped unless before(step)."""
    values_w, values_b = [], []
    for step in range(len(numbers(gradients + "_gw"))):
        stepper.zero_grad()
        loss = sum((0.15 * p * p + p * numbers(gradients + g)[step]).sum() for p, g in ((w, "_gw"), (b, "_gb")))
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
    """float master weights of 16-bit parameters with 16-bit gradients."""
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


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen et al., Symbolic Discovery of Optimization Algorithms, 2023: not in PyTorch."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                mean = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                gradient = -p.grad if group["maximize"] else p.grad
                direction = torch.sign(beta1 * mean + (1 - beta1) * gradient)
                p -= group["lr"] * (direction + group["weight_decay"] * p)
                mean.copy_(beta2 * mean + (1 - beta2) * gradient)


def rules():
    """20 steps of each rule; the gradients shrink, so that a mean of squares does, too."""
    shrinking = torch.linspace(2, 0.1, RULE_STEPS)
    keep("rules_w", numbers("groups_w"))
    keep("rules_b", numbers("groups_b"))
    keep("rules_gw", torch.randn(RULE_STEPS, 3, 4) * shrinking[:, None, None])
    keep("rules_gb", torch.randn(RULE_STEPS, 5) * shrinking[:, None])
    optim = torch.optim
    for name, optimizer, options in (
            ("rmsprop", optim.RMSprop, {}),
            ("rmsprop_momentum", optim.RMSprop, {"lr": 0.02, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1, "momentum": 0.8}),
            ("rmsprop_centered", optim.RMSprop, {"lr": 0.02, "alpha": 0.8, "centered": True}),
            ("rmsprop_centered_momentum", optim.RMSprop, {"lr": 0.02, "momentum": 0.8, "centered": True}),
            ("adagrad", optim.Adagrad, {}),
            ("adagrad_decay", optim.Adagrad, {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.1,
                                              "initial_accumulator_value": 0.5, "eps": 1e-3}),
            ("adadelta", optim.Adadelta, {}),
            ("adadelta_decay", optim.Adadelta, {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1}),
            ("lion", Lion, {"lr": 0.05}),
            ("lion_decay", Lion, {"lr": 0.05, "betas": (0.8, 0.9), "weight_decay": 0.3}),
            ("amsgrad", optim.Adam, {"lr": 0.05, "betas": (0.9, 0.8), "weight_decay": 0.1, "amsgrad": True}),
            ("amsgrad_adamw", optim.AdamW, {"lr": 0.05, "betas": (0.9, 0.8), "weight_decay": 0.3, "amsgrad": True})):
        w, b = parameters()
        trajectory(name, w, b, optimizer([w, b], **options), gradients="rules")
    w, b = parameters()
    trajectory("rmsprop_skipped", w, b, optim.RMSprop([w, b], lr=0.02, momentum=0.8, centered=True),
               lambda step: step not in (0, 3, 4), gradients="rules")
    w, b = parameters()
    trajectory("adagrad_groups", w, b, optim.Adagrad([{"params": [w], "weight_decay": 0.2}, {"params": [b], "lr": 0.1}],
                                                     lr=0.3, lr_decay=0.1), gradients="rules")


def masters_of_20_steps():
    """20 steps of float master weights with bfloat16 gradients, and the same in float alone."""
    optim = torch.optim
    for name, optimizer, options in (
            ("adam", optim.Adam, {"lr": 0.01}), ("adamw", optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
            ("sgd", optim.SGD, {"lr": 0.01, "momentum": 0.9})):
        for kind, dtype in (("masters", torch.bfloat16), ("floats", torch.float32)):
            p = numbers("rules_w").to(dtype).float().requires_grad_()
            stepper = optimizer([p], **options)
            values = []
            for gradient in numbers("rules_gw"):
                p.grad = gradient.to(dtype).float()
                stepper.step()
                values.append(p.detach().to(torch.float64))
            keep(f"{kind}_{name}", torch.stack(values))


OVERFLOWS = (0, 5, 6, 13)


def scaled():
    """20 steps with torch.amp.GradScaler, of which four overflow. The second run has two losses per step, and clips."""
    for name, optimizer, options, clips in (("scaled_sgd", torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}, False),
                                            ("scaled_adamw", torch.optim.AdamW, {"lr": 0.05}, True)):
        w, b = parameters()
        stepper = optimizer([w, b], **options)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024, growth_factor=2, backoff_factor=0.25, growth_interval=3)
        values_w, values_b, scales = [], [], []
        for step in range(RULE_STEPS):
            stepper.zero_grad()
            gw, gb = numbers("rules_gw")[step], numbers("rules_gb")[step].clone()
            if step in OVERFLOWS:
                gb[0] = float("inf") if step % 2 else float("nan")
            for _ in range(2 if clips else 1):
                loss = (0.15 * w * w + w * gw).sum() + (0.15 * b * b + b * gb).sum()
                scaler.scale(loss / 2 if clips else loss).backward()
            if clips:
                scaler.unscale_(stepper)
                torch.nn.utils.clip_grad_norm_([w, b], 0.5)
            scaler.step(stepper)
            scaler.update()
            values_w.append(w.detach().clone())
            values_b.append(b.detach().clone())
            scales.append(scaler.get_scale())
        keep(f"{name}_w", torch.stack(values_w))
        keep(f"{name}_b", torch.stack(values_b))
        keep(f"{name}_scales", torch.tensor(scales))


def maximized():
    optim = torch.optim
    for name, optimizer, options in (
            ("sgd", optim.SGD, {"lr": 0.02, "momentum": 0.8, "dampening": 0.3, "weight_decay": 0.4}),
            ("nesterov", optim.SGD, {"lr": 0.02, "momentum": 0.8, "nesterov": True}),
            ("adam", optim.Adam, {"lr": 0.05, "weight_decay": 0.4}),
            ("adamw", optim.AdamW, {"lr": 0.05, "weight_decay": 0.3}),
            ("amsgrad", optim.Adam, {"lr": 0.05, "betas": (0.9, 0.8), "weight_decay": 0.4, "amsgrad": True}),
            ("rmsprop", optim.RMSprop, {"lr": 0.02, "weight_decay": 0.4, "momentum": 0.8, "centered": True}),
            ("adagrad", optim.Adagrad, {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.4}),
            ("adadelta", optim.Adadelta, {"weight_decay": 0.4}),
            ("lion", Lion, {"lr": 0.05, "weight_decay": 0.3})):
        w, b = parameters()
        trajectory(f"maximize_{name}", w, b, optimizer([w, b], **options, maximize=True), gradients="rules")
    w, b = parameters()
    groups = [{"params": [w], "weight_decay": 0.3}, {"params": [b], "lr": 0.01}]
    trajectory("maximize_groups", w, b, optim.AdamW(groups, lr=0.05, maximize=True), gradients="rules")


def frozen():
    """The second parameter is frozen in steps 6 to 12: it has no gradient, and keeps its value, state and count."""
    optim = torch.optim
    for name, optimizer, options in (("adamw", optim.AdamW, {"lr": 0.05, "weight_decay": 0.3}),
                                     ("sgd", optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2})):
        w, b = parameters()
        stepper = optimizer([w, b], **options)

        def freeze(step):
            b.requires_grad_(not 5 <= step < 12)  # for the next step
            return True

        trajectory(f"frozen_{name}", w, b, stepper, freeze, gradients="rules")


if __name__ == "__main__":
    torch.manual_seed(25)
    make_golden.numbers.clear()
    keep("groups_w", torch.randn(3, 4))
    keep("groups_b", torch.randn(5))
    keep("groups_gw", torch.randn(STEPS, 3, 4))
    keep("groups_gb", torch.randn(STEPS, 5))
    for make in groups, clipping, skipping, masters, rules, masters_of_20_steps, scaled, maximized, frozen:
        make()
    make_golden.write(pathlib.Path(__file__).with_name("optimizers.txt"))
