#!/usr/bin/env python3
"""Writes convolutions.txt: convolutions and their gradients, functions and layers, as PyTorch computes them in float64.

usage: make_convolutions.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
import torch.nn.functional as F

import make_golden
from make_golden import keep

torch.manual_seed(27)
torch.set_default_dtype(torch.float64)


def leaf(name, *shape):
    return keep(name, torch.round(torch.randn(*shape) * 8) / 8).clone().requires_grad_()


def differentiate(name, result, **inputs):
    """Keeps a result, a cotangent of it, and the gradients of the inputs."""
    keep(name, result)
    cotangent = keep(name + "_cotangent", torch.round(torch.randn_like(result) * 4) / 4)
    gradients = torch.autograd.grad(result, list(inputs.values()), cotangent)
    for key, gradient in zip(inputs, gradients):
        keep(f"{name}_d{key}", gradient)


def case(name, function, x, w, b, **options):
    differentiate(name, function(x, w, b, **options), x=x, w=w, b=b)


def convolutions():
    x, line = leaf("conv_x", 2, 4, 6, 7), leaf("conv_line", 2, 4, 11)
    for name, shape in {"w33": (3, 4, 3, 3), "w23": (3, 4, 2, 3), "w11": (5, 4, 1, 1), "grouped": (6, 2, 3, 2),
                        "depthwise": (8, 1, 3, 3), "w3": (3, 4, 3), "line_grouped": (2, 2, 4)}.items():
        leaf(f"conv_{name}", *shape)
        leaf(f"conv_{name}_b", shape[0])
    weights = lambda name: [make_golden.numbers[f"conv_{name}{end}"].clone().requires_grad_() for end in ("", "_b")]
    case("conv2d", F.conv2d, x, *weights("w33"))
    case("conv2d_padded", F.conv2d, x, *weights("w33"), padding=1)
    case("conv2d_strided", F.conv2d, x, *weights("w33"), stride=2, padding=1)
    case("conv2d_pairs", F.conv2d, x, *weights("w23"), stride=(2, 3), padding=(2, 1), dilation=(3, 2))
    case("conv2d_same", F.conv2d, x, *weights("w23"), padding="same", dilation=(1, 2))
    case("conv2d_wide", F.conv2d, x, *weights("w33"), padding=4)
    case("conv2d_pointwise", F.conv2d, x, *weights("w11"))
    case("conv2d_pointwise_strided", F.conv2d, x, *weights("w11"), stride=2)
    case("conv2d_grouped", F.conv2d, x, *weights("grouped"), padding=1, groups=2)
    case("conv2d_depthwise", F.conv2d, x, *weights("depthwise"), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=4)
    case("conv1d", F.conv1d, line, *weights("w3"), stride=2, padding=2, dilation=2)
    case("conv1d_same", F.conv1d, line, *weights("line_grouped"), padding="same", groups=2)


def transposed():
    x = leaf("convt_x", 2, 4, 3, 5)
    for name, shape in {"w33": (4, 3, 3, 3), "w23": (4, 5, 2, 3), "wgrouped": (4, 3, 3, 2), "w11": (4, 2, 1, 1)}.items():
        leaf(f"convt_{name}", *shape)
        leaf(f"convt_{name}_b", shape[1] * (2 if name == "wgrouped" else 1))
    weights = lambda name: [make_golden.numbers[f"convt_{name}{end}"].clone().requires_grad_() for end in ("", "_b")]
    case("convt", F.conv_transpose2d, x, *weights("w33"))
    case("convt_strided", F.conv_transpose2d, x, *weights("w33"), stride=2, padding=1, output_padding=1)
    case("convt_pairs", F.conv_transpose2d, x, *weights("w23"), stride=(3, 2), padding=(1, 2), output_padding=(2, 1),
         dilation=(1, 3))
    case("convt_dilated", F.conv_transpose2d, x, *weights("w33"), output_padding=2, dilation=3)
    case("convt_grouped", F.conv_transpose2d, x, *weights("wgrouped"), stride=2, groups=2)
    case("convt_pointwise", F.conv_transpose2d, x, *weights("w11"))


def layers():
    image, line = make_golden.numbers["conv_x"], make_golden.numbers["conv_line"]
    for mode in ("zeros", "reflect", "replicate", "circular"):
        for size, x, layer in (("2d", image, torch.nn.Conv2d), ("1d", line, torch.nn.Conv1d)):
            for name, options in {"padded": dict(padding=2, stride=2), "same": dict(padding="same", dilation=2)}.items():
                made = layer(4, 2, 3 if size == "1d" else (2, 3), padding_mode=mode, **options)
                name = f"conv{size}_layer_{name}_{mode}"
                keep(name + "_weight", made.weight)
                keep(name + "_bias", made.bias)
                given = x.clone().requires_grad_()
                differentiate(name, made(given), x=given, weight=made.weight, bias=made.bias)


def volumes():
    x = leaf("conv_volume", 2, 4, 3, 4, 4)
    for name, shape in {"w333": (3, 4, 3, 3, 3), "w123": (3, 4, 1, 2, 3), "w111": (5, 4, 1, 1, 1),
                        "volume_grouped": (6, 2, 2, 3, 2), "volume_depthwise": (8, 1, 3, 2, 2)}.items():
        leaf(f"conv_{name}", *shape)
        leaf(f"conv_{name}_b", shape[0])
    weights = lambda name: [make_golden.numbers[f"conv_{name}{end}"].clone().requires_grad_() for end in ("", "_b")]
    case("conv3d", F.conv3d, x, *weights("w333"))
    case("conv3d_strided", F.conv3d, x, *weights("w333"), stride=2, padding=1)
    case("conv3d_triples", F.conv3d, x, *weights("w123"), stride=(1, 2, 3), padding=(1, 2, 1), dilation=(1, 3, 2))
    case("conv3d_same", F.conv3d, x, *weights("w333"), padding="same", dilation=(1, 2, 1))
    case("conv3d_pointwise", F.conv3d, x, *weights("w111"))
    case("conv3d_grouped", F.conv3d, x, *weights("volume_grouped"), padding=1, groups=2)
    case("conv3d_depthwise", F.conv3d, x, *weights("volume_depthwise"), stride=(2, 1, 1), padding=(1, 0, 1), groups=4)
    made = torch.nn.Conv3d(4, 2, (2, 3, 2), padding=(1, 2, 1), stride=(1, 2, 1), padding_mode="replicate")
    keep("conv3d_layer_weight", made.weight)
    keep("conv3d_layer_bias", made.bias)
    given = x.detach().clone().requires_grad_()
    differentiate("conv3d_layer", made(given), x=given, weight=made.weight, bias=made.bias)


for part in (convolutions, transposed, layers, volumes):
    part()
make_golden.write(pathlib.Path(__file__).with_name("convolutions.txt"))
