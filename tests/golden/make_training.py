#!/usr/bin/env python3
"""Writes training.txt: losses, trajectories of optimizers and a small training run, as PyTorch computes them in float64.

usage: make_training.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
import torch.nn.functional as F

import make_golden
from make_golden import differentiate, keep, leaf

STEPS = 10


def losses():
    x = leaf("loss_x", 4, 3)
    y = keep("loss_y", torch.randn(4, 3))
    targets = keep("loss_targets", torch.rand(4, 3))
    for reduction in "mean", "sum", "none":
        differentiate(f"mse_{reduction}", F.mse_loss(x, y, reduction=reduction), x=x)
        differentiate(f"l1_{reduction}", F.l1_loss(x, y, reduction=reduction), x=x)
        differentiate(f"huber_{reduction}", F.huber_loss(x, y, reduction=reduction, delta=0.7), x=x)
        differentiate(f"bce_{reduction}", F.binary_cross_entropy_with_logits(x, targets, reduction=reduction), x=x)


def trajectory(name, optimizer, first_gradient_of_b=0, **options):
    """Values after every step on the loss 0.15 |p|^2 + p . g_t; b may get its first gradient later."""
    w = numbers("optim_w").clone().requires_grad_()
    b = numbers("optim_b").clone().requires_grad_()
    stepper = optimizer([w, b], **options)
    values_w, values_b = [], []
    for step in range(STEPS):
        stepper.zero_grad()
        loss = (0.15 * w * w + w * numbers("optim_gw")[step]).sum()
        if step >= first_gradient_of_b:
            loss = loss + (0.15 * b * b + b * numbers("optim_gb")[step]).sum()
        loss.backward()
        stepper.step()
        values_w.append(w.detach().clone())
        values_b.append(b.detach().clone())
    keep(f"{name}_w", torch.stack(values_w))
    keep(f"{name}_b", torch.stack(values_b))


def numbers(name):
    return make_golden.numbers[name]


def optimizers():
    keep("optim_w", torch.randn(3, 4))
    keep("optim_b", torch.randn(5))
    keep("optim_gw", torch.randn(STEPS, 3, 4))
    keep("optim_gb", torch.randn(STEPS, 5))
    sgd, adam, adamw = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    trajectory("sgd", sgd, lr=0.1)
    trajectory("sgd_decay", sgd, lr=0.1, weight_decay=0.2)
    trajectory("sgd_momentum", sgd, lr=0.1, momentum=0.9)
    trajectory("sgd_dampening", sgd, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.02)
    trajectory("sgd_nesterov", sgd, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.02)
    trajectory("adam", adam, lr=0.05)
    trajectory("adam_decay", adam, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.2)
    trajectory("adamw", adamw, lr=0.05, weight_decay=0.3)
    trajectory("sgd_late", sgd, 3, lr=0.1, momentum=0.9, dampening=0.3)
    trajectory("adam_late", adam, 3, lr=0.05)


def clipping():
    w = numbers("optim_w").clone().requires_grad_()
    b = numbers("optim_b").clone().requires_grad_()
    for limit in 0.5, 100.0:
        w.grad, b.grad = numbers("optim_gw")[0].clone(), numbers("optim_gb")[0].clone()
        keep(f"clip_norm_{limit:g}", torch.nn.utils.clip_grad_norm_([w, b], limit))
        keep(f"clip_w_{limit:g}", w.grad.clone())
        keep(f"clip_b_{limit:g}", b.grad.clone())


def training_run():
    x = keep("run_x", torch.randn(8, 6))
    labels = keep("run_labels", torch.randint(0, 3, (8,)))
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    for name, parameter in model.named_parameters():
        keep(f"run_{name}", parameter.clone())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    history = []
    for _ in range(2 * STEPS):
        loss = F.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.detach())
    keep("run_losses", torch.stack(history))
    for name, parameter in model.named_parameters():
        keep(f"run_trained_{name}", parameter.clone())


def clipping_by_other_norms():
    for order in (0.5, 1, 3, float("inf")):
        w = numbers("optim_w").clone().requires_grad_()
        b = numbers("optim_b").clone().requires_grad_()
        w.grad, b.grad = numbers("optim_gw")[0].clone(), numbers("optim_gb")[0].clone()
        keep(f"clip_norm_order_{order:g}", torch.nn.utils.clip_grad_norm_([w, b], 0.5, norm_type=order))
        keep(f"clip_w_order_{order:g}", w.grad.clone())
        keep(f"clip_b_order_{order:g}", b.grad.clone())


if __name__ == "__main__":
    torch.manual_seed(11)
    for make in losses, optimizers, clipping, training_run, clipping_by_other_norms:
        make()
    make_golden.write(pathlib.Path(__file__).with_name("training.txt"))
