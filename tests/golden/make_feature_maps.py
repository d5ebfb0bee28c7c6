#!/usr/bin/env python3
"""Writes feature_maps.txt: activations, normalization of groups and instances, and interpolation, as PyTorch computes them
in float64.

usage: make_feature_maps.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
import torch.nn.functional as F

import make_golden
from make_golden import differentiate, keep, leaf


def activations():
    x = (3 * torch.randn(2, 3, 5)).requires_grad_()
    with torch.no_grad():
        x[0, 0, :3] = torch.tensor([-3.0, 0, 3])  # where slopes change
    keep("activation_x", x)
    differentiate("elu", F.elu(x, 0.7), x=x)
    differentiate("hardswish", F.hardswish(x), x=x)
    differentiate("mish", F.mish(x), x=x)
    one, each = leaf("prelu_one", 1), leaf("prelu_each", 3)
    differentiate("prelu_of_one", F.prelu(x, one), x=x, w=one)
    differentiate("prelu_of_each", F.prelu(x, each), x=x, w=each)


def normalizations():
    x, w, b = leaf("group_x", 2, 6, 4, 3), leaf("group_w", 6), leaf("group_b", 6)
    differentiate("group_norm", F.group_norm(x, 3, w, b, 1e-3), x=x, w=w, b=b)
    differentiate("group_norm_of_one", F.group_norm(x, 1, w, b), x=x, w=w, b=b)
    differentiate("group_norm_plain", F.group_norm(x, 2), x=x)
    differentiate("instance_norm", F.instance_norm(x, weight=w, bias=b), x=x, w=w, b=b)
    differentiate("instance_norm_plain", F.instance_norm(x, eps=0.5), x=x)
    rows = leaf("group_rows", 1, 6)
    differentiate("group_norm_rows", F.group_norm(rows, 2, w, b), x=rows, w=w, b=b)
    return x, w, b


def running_statistics(x, w, b):
    layer = torch.nn.InstanceNorm2d(6, momentum=0.3, affine=True, track_running_stats=True)
    with torch.no_grad():
        layer.weight.copy_(w)
        layer.bias.copy_(b)
    layer(x)
    keep("instance_running_mean", layer.running_mean.clone())
    keep("instance_running_var", layer.running_var.clone())
    differentiate("instance_norm_running", layer.eval()(x), x=x)


def interpolations():
    x = leaf("interpolate_x", 2, 2, 4, 5)

    def keep_one(name, **options):
        differentiate(f"interpolate_{name}", F.interpolate(x, **options), x=x)

    keep_one("nearest_2", scale_factor=2)
    keep_one("nearest_up", size=(7, 13))
    keep_one("nearest_down", size=(3, 2))
    keep_one("nearest_factors", scale_factor=(1.6, 0.7))
    for align in False, True:
        name = "aligned" if align else "bilinear"
        keep_one(f"{name}_2", scale_factor=2, mode="bilinear", align_corners=align)
        keep_one(f"{name}_up", size=(7, 13), mode="bilinear", align_corners=align)
        keep_one(f"{name}_down", size=(3, 1), mode="bilinear", align_corners=align)
        keep_one(f"{name}_factors", scale_factor=(1.6, 0.7), mode="bilinear", align_corners=align)
    # Factors that keep both extents, or one.
    keep_one("bilinear_kept", scale_factor=1.1, mode="bilinear")
    keep_one("bilinear_kept_one", scale_factor=(2, 1.15), mode="bilinear")


if __name__ == "__main__":
    make_golden.numbers.clear()
    torch.manual_seed(27)
    activations()
    normalized = normalizations()
    interpolations()
    running_statistics(*normalized)
    make_golden.write(pathlib.Path(__file__).with_name("feature_maps.txt"))
