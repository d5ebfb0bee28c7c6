#!/usr/bin/env python3
"""Writes averages.txt: averages of weights and buffers by torch.optim.swa_utils.AveragedModel, and running statistics
by update_bn.

usage: make_averages.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn

import make_golden
from make_golden import keep

UPDATES = 6


def model_of(step):
    """A linear layer and batch norm with the values of this step."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    with torch.no_grad():
        model[0].weight.copy_(make_golden.numbers["average_w"][step])
        model[1].running_var.copy_(make_golden.numbers["average_var"][step])
    return model


def averages(name, **options):
    model = model_of(0)
    averaged = AveragedModel(model, **options)
    weights, variances = [], []
    for step in range(UPDATES):
        model.load_state_dict(model_of(step).state_dict())
        averaged.update_parameters(model)
        weights.append(averaged.module[0].weight.detach().clone())
        variances.append(averaged.module[1].running_var.clone())
    assert averaged.n_averaged == UPDATES
    keep(f"average_{name}_w", torch.stack(weights))
    keep(f"average_{name}_var", torch.stack(variances))


def recalibration():
    """A network with batch norms of several momenta, one of them nested, and batches of several sizes."""
    inner = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2, momentum=None))
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3, momentum=0.3), torch.nn.ReLU(), inner)
    batches = [torch.randn(size, 4) for size in (5, 7, 3)]
    for i, batch in enumerate(batches):
        keep(f"update_bn_x{i}", batch)
    model(torch.randn(6, 4) + 5)  # statistics to be forgotten
    for name, value in model.state_dict().items():
        keep(f"update_bn_before_{name}", value.double().clone())
    update_bn([(batch, None) for batch in batches], model)
    for name, value in model.state_dict().items():
        if "running" in name or "tracked" in name:
            keep(f"update_bn_after_{name}", value.double().clone())
    assert model[1].momentum == 0.3 and inner[1].momentum is None and model.training


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(31)
    make_golden.numbers.clear()
    keep("average_w", torch.randn(UPDATES, 3, 4))
    keep("average_var", torch.rand(UPDATES, 3) + 0.5)
    averages("exponential", multi_avg_fn=get_ema_multi_avg_fn(0.9))
    averages("short", multi_avg_fn=get_ema_multi_avg_fn(0.3))
    averages("equal")
    averages("buffers", multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    recalibration()
    make_golden.write(pathlib.Path(__file__).with_name("averages.txt"))
