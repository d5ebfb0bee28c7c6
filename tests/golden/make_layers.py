#!/usr/bin/env python3
"""Writes layers.txt: batch normalization and embeddings as PyTorch's layers compute them in float64.

usage: make_layers.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
from torch import nn

import make_golden
from make_golden import differentiate, keep, leaf

STEPS = 3


def batch_norm(name, layer, *shape, options):
    """Some training steps, then inference: results, gradients, running statistics after every step."""
    module = layer(shape[1], **options)
    if module.affine:
        with torch.no_grad():
            module.weight.copy_(keep(f"{name}_weight", torch.randn(shape[1])))
            module.bias.copy_(keep(f"{name}_bias", torch.randn(shape[1])))
    parameters = {"weight": module.weight, "bias": module.bias} if module.affine else {}
    means, variances = [], []
    for step in range(STEPS):
        x = keep(f"{name}_x{step}", 3 * torch.randn(*shape) + 2).clone().requires_grad_()
        differentiate(f"{name}_train{step}", module(x), x=x, **parameters)
        if module.track_running_stats:
            means.append(module.running_mean.clone())
            variances.append(module.running_var.clone())
    if module.track_running_stats:
        keep(f"{name}_means", torch.stack(means))
        keep(f"{name}_vars", torch.stack(variances))
    module.eval()
    x = keep(f"{name}_x", torch.randn(*shape)).clone().requires_grad_()
    differentiate(f"{name}_eval", module(x), x=x, **parameters)


def batch_norms():
    batch_norm("bn1d", nn.BatchNorm1d, 5, 3, options={})
    batch_norm("bn1d_length", nn.BatchNorm1d, 4, 3, 2, options={"momentum": None})
    batch_norm("bn2d", nn.BatchNorm2d, 3, 2, 4, 3, options={"momentum": 0.3, "eps": 1e-3})
    batch_norm("bn2d_plain", nn.BatchNorm2d, 2, 3, 2, 2, options={"affine": False})
    batch_norm("bn1d_untracked", nn.BatchNorm1d, 4, 2, options={"track_running_stats": False})


def rectified_batch_norms():
    """Batch normalization, a residual and ReLU, in training and in inference."""
    for name, shape, adds in ("relu", (3, 4, 3, 5), False), ("add_relu", (3, 4, 3, 5), True), ("add", (5, 3, 2, 1), True):
        module = nn.BatchNorm2d(shape[1])
        with torch.no_grad():
            module.weight.copy_(keep(f"bn_{name}_weight", torch.randn(shape[1])))
            module.bias.copy_(keep(f"bn_{name}_bias", torch.randn(shape[1])))
        for run in "train", "eval":
            inputs = {"x": leaf(f"bn_{name}_{run}_x", *shape)}
            if adds:
                inputs["residual"] = leaf(f"bn_{name}_{run}_residual", *shape)
            module.train(run == "train")
            y = module(inputs["x"]) + inputs.get("residual", 0)
            y = torch.relu(y) if "relu" in name else y
            differentiate(f"bn_{name}_{run}", y, **inputs, weight=module.weight, bias=module.bias)


def embedding():
    table = leaf("padded_table", 5, 3)
    indices = keep("padded_indices", torch.tensor([[1, 0, 4], [1, 2, 1]]))
    differentiate("padded_embedding", nn.functional.embedding(indices, table, padding_idx=2), table=table)


if __name__ == "__main__":
    make_golden.numbers.clear()
    torch.manual_seed(25)
    batch_norms()
    embedding()
    rectified_batch_norms()
    make_golden.write(pathlib.Path(__file__).with_name("layers.txt"))
