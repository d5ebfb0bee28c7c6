#!/usr/bin/env python3
"""Writes windows.txt: padding, windows, pooling and dropout, with gradients, as PyTorch computes them in float64.

usage: make_windows.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
import torch.nn.functional as F

import make_golden
from make_golden import keep

torch.manual_seed(25)
torch.set_default_dtype(torch.float64)


def leaf(name, *shape):
    # Quarters, so that there are ties.
    return keep(name, torch.round(torch.randn(*shape) * 4) / 4).clone().requires_grad_()


def differentiate(name, result, x):
    """Keeps a result, a cotangent of it, and the gradient of the input."""
    keep(name, result)
    cotangent = keep(name + "_cotangent", torch.round(torch.randn_like(result) * 8) / 8)
    keep(name + "_dx", torch.autograd.grad(result, x, cotangent)[0])


def padding():
    x = leaf("pad_x", 2, 3, 4)
    differentiate("pad_constant", F.pad(x, (1, 2, 0, 3), value=1.5), x)
    differentiate("pad_crop", F.pad(x, (-1, 2, 1, -2)), x)
    for mode in ("reflect", "replicate", "circular"):
        differentiate(f"pad_{mode}", F.pad(x[None], (2, 3, 1, 2), mode=mode)[0], x)
        differentiate(f"pad_{mode}_1d", F.pad(x, (3, 0), mode=mode), x)


def windows():
    x = leaf("unfold_x", 2, 3, 6, 7)
    differentiate("unfold_1d", x.unfold(2, 3, 2), x)
    differentiate("unfold_2d", x.unfold(2, 3, 1).unfold(3, 2, 3), x)
    differentiate("im2col", F.unfold(x, (3, 2), dilation=(1, 2), padding=(1, 0), stride=(2, 1)), x)
    columns = leaf("col2im_x", 2, 12, 12)
    size, kernel, dilation, border, step = (7, 4), (2, 2), (2, 1), (1, 1), (2, 2)
    differentiate("col2im", F.fold(columns, size, kernel, dilation, border, step), columns)


def pools():
    x = leaf("pool_x", 2, 2, 7, 8)
    differentiate("max_plain", F.max_pool2d(x, 2), x)
    differentiate("max_overlap", F.max_pool2d(x, 3, stride=1), x)
    differentiate("max_strided", F.max_pool2d(x, (3, 2), stride=(2, 3)), x)
    differentiate("max_padded", F.max_pool2d(x, 3, stride=2, padding=1), x)
    differentiate("max_ceil", F.max_pool2d(x, 3, stride=2, ceil_mode=True), x)
    differentiate("max_ceil_padded", F.max_pool2d(x, 2, stride=3, padding=1, ceil_mode=True), x)
    differentiate("max_dilated", F.max_pool2d(x, (3, 2), stride=1, padding=1, dilation=(2, 3)), x)
    differentiate("avg_plain", F.avg_pool2d(x, 2), x)
    differentiate("avg_strided", F.avg_pool2d(x, (3, 2), stride=(2, 3)), x)
    differentiate("avg_padded", F.avg_pool2d(x, 3, stride=2, padding=1), x)
    differentiate("avg_excluded", F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False), x)
    differentiate("avg_ceil", F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True), x)
    differentiate("avg_ceil_excluded", F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), x)
    differentiate("avg_divisor", F.avg_pool2d(x, 3, stride=2, padding=1, divisor_override=5), x)
    for size in ((1, 1), (3, 5), (7, 8), (9, 3)):
        differentiate(f"adaptive_{size[0]}_{size[1]}", F.adaptive_avg_pool2d(x, size), x)
    line = leaf("pool_line", 2, 3, 11)
    differentiate("max_1d", F.max_pool1d(line, 3, stride=2, padding=1), line)
    differentiate("max_1d_dilated", F.max_pool1d(line, 3, stride=2, dilation=2, ceil_mode=True), line)
    differentiate("avg_1d", F.avg_pool1d(line, 4, stride=3, padding=2), line)
    differentiate("avg_1d_excluded", F.avg_pool1d(line, 4, 3, 2, ceil_mode=True, count_include_pad=False), line)


def dropped():
    x = leaf("dropout_x", 3, 4)
    differentiate("dropout_none", F.dropout(x, 0.0), x)
    differentiate("dropout_all", F.dropout(x, 1.0), x)


def cropped_borders():
    x = make_golden.numbers["pad_x"].clone().requires_grad_()
    for mode in ("reflect", "replicate", "circular"):
        differentiate(f"pad_{mode}_crop", F.pad(x[None], (-2, 1, 1, -1), mode=mode)[0], x)
    differentiate("pad_circular_crop_right", F.pad(x[None], (2, -1, 0, 0), mode="circular")[0], x)


# The newest part comes last, so that earlier random numbers stay the same.
for part in (padding, windows, pools, dropped, cropped_borders):
    part()
make_golden.write(pathlib.Path(__file__).with_name("windows.txt"))
