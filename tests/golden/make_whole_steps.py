#!/usr/bin/env python3
"""Writes whole_steps.txt: runs of optimizers whose steps are not elementwise, as PyTorch computes them in float64: Muon
(with products in float64 and, as PyTorch ships it, in bfloat16), Adafactor, LBFGS, and SAM.

usage: make_whole_steps.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
from torch.optim import _muon

import make_golden
from make_golden import keep

STEPS = 8
SHAPES = {"wide": (3, 5), "tall": (6, 2), "vector": (4,), "cube": (2, 3, 4)}


def numbers(name):
    return make_golden.numbers[name]


def run(name, shapes, make):
    """The values after each step with the gradients g_t + 0.15 p."""
    parameters = {shape: numbers(f"start_{shape}").clone().requires_grad_() for shape in shapes}
    optimizer = make(list(parameters.values()))
    values = {shape: [] for shape in shapes}
    for step in range(STEPS):
        for shape, p in parameters.items():
            p.grad = numbers(f"gradients_{shape}")[step] + 0.15 * p.detach()
        optimizer.step()
        for shape, p in parameters.items():
            values[shape].append(p.detach().clone())
    for shape in shapes:
        keep(f"{name}_{shape}", torch.stack(values[shape]))


def muon():
    in_bfloat16 = _muon._zeropower_via_newtonschulz

    def in_float64(grad, coefficients, steps, eps):
        """PyTorch's function, but for the element type."""
        a, b, c = coefficients
        x = grad.T.clone() if grad.size(0) > grad.size(1) else grad.clone()
        x.div_(x.norm().clamp(min=eps))
        for _ in range(steps):
            gram = x @ x.T
            x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
        return x.T if grad.size(0) > grad.size(1) else x

    matrices = ("wide", "tall")
    run("muon_bfloat16", matrices, lambda p: torch.optim.Muon(p, lr=0.02))
    _muon._zeropower_via_newtonschulz = in_float64
    run("muon", matrices, lambda p: torch.optim.Muon(p, lr=0.02))
    run("muon_matched", matrices, lambda p: torch.optim.Muon(
        p, lr=0.05, weight_decay=0.3, momentum=0.8, nesterov=False, ns_steps=3, adjust_lr_fn="match_rms_adamw"))
    run("muon_spectral", matrices, lambda p: torch.optim.Muon(
        p, lr=0.05, weight_decay=0, ns_coefficients=(2.0, -1.5, 0.5), adjust_lr_fn="spectral_unclamped"))
    _muon._zeropower_via_newtonschulz = in_bfloat16


def adafactor():
    run("adafactor", SHAPES, torch.optim.Adafactor)
    run("adafactor_options", SHAPES, lambda p: torch.optim.Adafactor(
        p, lr=0.3, beta2_decay=-0.5, eps=(1e-3, 0.5), d=1.5, weight_decay=0.1, maximize=True))


def lbfgs():
    """Rosenbrock's function of pairs of elements of a vector and a matrix; values and losses after each step."""
    def loss_of(parameters):
        x = torch.cat([p.flatten() for p in parameters]).reshape(-1, 2)
        return (100 * (x[:, 1] - x[:, 0] ** 2) ** 2 + (1 - x[:, 0]) ** 2).sum()

    for name, options, steps in (
            ("wolfe", {"line_search_fn": "strong_wolfe", "max_iter": 5}, 6),
            ("wolfe_short", {"line_search_fn": "strong_wolfe", "max_iter": 4, "history_size": 2}, 7),
            ("wolfe_few", {"line_search_fn": "strong_wolfe", "max_iter": 8, "max_eval": 9, "lr": 0.5}, 4),
            ("plain", {"lr": 0.1, "max_iter": 3, "history_size": 3}, 6)):
        parameters = [numbers("start_vector").clone().requires_grad_(), numbers("start_tall").clone().requires_grad_()]
        optimizer = torch.optim.LBFGS(parameters, **options)
        vectors, matrices, losses = [], [], []

        def closure():
            optimizer.zero_grad()
            loss = loss_of(parameters)
            loss.backward()
            return loss

        for _ in range(steps):
            losses.append(optimizer.step(closure).detach())
            vectors.append(parameters[0].detach().clone())
            matrices.append(parameters[1].detach().clone())
        keep(f"lbfgs_{name}_vector", torch.stack(vectors))
        keep(f"lbfgs_{name}_tall", torch.stack(matrices))
        keep(f"lbfgs_{name}_losses", torch.stack(losses))


def sam():
    """The step of Foret et al., and the adaptive one of Kwon et al., around SGD with momentum; loss sum(p^4 + p g)."""
    for name, rho, adaptive in (("sam", 0.1, False), ("asam", 0.8, True)):
        parameters = [numbers("start_vector").clone().requires_grad_(), numbers("start_tall").clone().requires_grad_()]
        gradients = [numbers("gradients_vector"), numbers("gradients_tall")]
        optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
        values = []
        for step in range(STEPS):
            def differentiate(step=step):
                optimizer.zero_grad()
                sum((p ** 4 + p * g[step]).sum() for p, g in zip(parameters, gradients)).backward()

            differentiate()
            with torch.no_grad():
                scales = [p.abs() if adaptive else torch.ones_like(p) for p in parameters]
                norm = torch.stack([(s * p.grad).norm() for s, p in zip(scales, parameters)]).norm()
                kept = [p.clone() for p in parameters]
                for s, p in zip(scales, parameters):
                    p += rho / (norm + 1e-12) * s ** 2 * p.grad
            differentiate()
            with torch.no_grad():
                for p, value in zip(parameters, kept):
                    p.copy_(value)
            optimizer.step()
            values.append(torch.cat([p.detach().flatten() for p in parameters]))
        keep(name, torch.stack(values))


if __name__ == "__main__":
    torch.manual_seed(31)
    make_golden.numbers.clear()
    for shape, extents in SHAPES.items():
        keep(f"start_{shape}", torch.randn(*extents))
        keep(f"gradients_{shape}", torch.randn(STEPS, *extents))
    for make in muon, adafactor, lbfgs, sam:
        make()
    make_golden.write(pathlib.Path(__file__).with_name("whole_steps.txt"))
