#!/usr/bin/env python3
"""Writes init.txt: statistics of a million initial values of each kind, as PyTorch draws them in float64: the least, the
largest, mean, deviation and fourth standardized moment.

usage: make_init.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
from torch.nn import init

import make_golden
from make_golden import keep


def statistics(name, fill, *shape):
    x = torch.stack([fill(torch.empty(*shape)) for _ in range(1_000_000 // torch.Size(shape).numel())])
    deviation, mean = torch.std_mean(x, correction=0)
    keep(f"init_{name}", torch.stack([x.min(), x.max(), mean, deviation, (((x - mean) / deviation) ** 4).mean()]))


if __name__ == "__main__":
    torch.manual_seed(27)
    make_golden.numbers.clear()
    wide, image = (400, 100), (80, 20, 5, 5)
    statistics("kaiming_uniform", init.kaiming_uniform_, *wide)
    statistics("kaiming_uniform_relu_out", lambda w: init.kaiming_uniform_(w, mode="fan_out", nonlinearity="relu"), *image)
    statistics("kaiming_normal", lambda w: init.kaiming_normal_(w, 0.2), *wide)
    statistics("kaiming_normal_tanh_out", lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="tanh"), *image)
    statistics("xavier_uniform", lambda w: init.xavier_uniform_(w, 1.5), *image)
    statistics("xavier_normal", lambda w: init.xavier_normal_(w, 1.5), *image)
    statistics("trunc_normal", init.trunc_normal_, *wide)
    statistics("trunc_normal_skew", lambda w: init.trunc_normal_(w, 0.5, 0.4, 0.4, 2), *wide)
    statistics("trunc_normal_tail", lambda w: init.trunc_normal_(w, 0, 1, 4, 6), *wide)
    statistics("trunc_normal_lower_tail", lambda w: init.trunc_normal_(w, 1, 2, -11, -9), *wide)
    gains = [init.calculate_gain(name) for name in ("linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu")]
    keep("init_gains", torch.tensor([*gains, init.calculate_gain("leaky_relu", 0.2)]))
    make_golden.write(pathlib.Path(__file__).with_name("init.txt"))
