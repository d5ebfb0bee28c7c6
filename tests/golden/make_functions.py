#!/usr/bin/env python3
"""Writes functions.txt: scalar functions and their gradients as PyTorch computes them in float64.

usage: make_functions.py        (needs torch; the tests need only its output)
"""

import pathlib

import mpmath
import torch
import torch.nn.functional as F

import make_golden
from make_golden import differentiate, keep

ANYWHERE = [-7.5, -3.0, -2.25, -1.0, -0.625, -0.5, -0.125, 0.125, 0.5, 0.75, 1.0, 1.5, 3.0, 4.25, 9.5]
WITHIN_ONE = [-0.9375, -0.5, -0.125, 0.0625, 0.5, 0.8125]
POSITIVE = [0.0625, 0.5, 0.75, 1.0, 1.4375, 2.0, 3.5, 17.0, 300.0]
PROBABILITIES = [0.0078125, 0.25, 0.5, 0.75, 0.96875]

UNARY = {
    "tan": (torch.tan, ANYWHERE), "asin": (torch.asin, WITHIN_ONE), "acos": (torch.acos, WITHIN_ONE),
    "atan": (torch.atan, ANYWHERE), "sinh": (torch.sinh, ANYWHERE), "cosh": (torch.cosh, ANYWHERE),
    "asinh": (torch.asinh, ANYWHERE), "acosh": (torch.acosh, [1.0625, 1.5, 4.25, 300.0]), "atanh": (torch.atanh, WITHIN_ONE),
    "exp2": (torch.exp2, ANYWHERE), "log2": (torch.log2, POSITIVE), "log10": (torch.log10, POSITIVE),
    "cbrt": (lambda x: x.sign() * x.abs() ** (1 / 3), ANYWHERE), "erfc": (torch.erfc, ANYWHERE),
    "erfinv": (torch.erfinv, WITHIN_ONE),
    "lgamma": (torch.lgamma, ANYWHERE[:1] + ANYWHERE[4:] + [-2.25, 300.0]), "digamma": (torch.digamma, [-2.25, -0.625] + POSITIVE),
    "logit": (torch.logit, PROBABILITIES), "trunc": (torch.trunc, ANYWHERE), "nan_to_num": (torch.nan_to_num, ANYWHERE),
    "selu": (F.selu, ANYWHERE), "celu": (lambda x: F.celu(x, 0.75), ANYWHERE), "hardsigmoid": (lambda x: F.relu6(x + 3) / 6, ANYWHERE),
    "hardtanh": (lambda x: F.hardtanh(x, -1, 3), ANYWHERE), "relu6": (F.relu6, ANYWHERE), "softsign": (F.softsign, ANYWHERE),
    "threshold": (lambda x: F.threshold(x, 0.5, -2), ANYWHERE), "softshrink": (F.softshrink, ANYWHERE),
    "hardshrink": (lambda x: F.hardshrink(x, 0.75), ANYWHERE),
}
PAIRS = ([1.5, -2.75, 0.75, -1.25, 5.5, 0.125], [0.5, 1.25, -2.5, -0.75, 2.0, 9.0])
POSITIVE_SECOND = (PAIRS[0], [0.5, 1.25, 2.5, 0.75, 2.0, 9.0])
BINARY = {"atan2": (torch.atan2, PAIRS), "hypot": (torch.hypot, PAIRS), "xlogy": (torch.xlogy, POSITIVE_SECOND),
          "copysign": (torch.copysign, PAIRS), "fmod": (torch.fmod, PAIRS)}


def numbers(name, values):
    return keep(name, torch.tensor(values)).clone().requires_grad_()


def several():
    a, b, w = (numbers(f"function_{name}", values) for name, values in
               [("a", PAIRS[0]), ("b", PAIRS[1]), ("w", [0, 0.25, 0.5, 0.625, 1, 1.5])])
    differentiate("lerp", torch.lerp(a, b, w), a=a, b=b, w=w)
    differentiate("addcmul", torch.addcmul(w, a, b, value=-0.75), w=w, a=a, b=b)
    differentiate("addcdiv", torch.addcdiv(w, a, b, value=-0.75), w=w, a=a, b=b)
    x = numbers("function_x", [PAIRS[0], PAIRS[1]])
    differentiate("glu", F.glu(x), x=x)
    differentiate("glu_0", F.glu(x, 0), x=x)
    differentiate("swiglu", F.silu(x[:, :3]) * x[:, 3:], x=x)


if __name__ == "__main__":
    make_golden.numbers.clear()
    torch.manual_seed(28)
    for name, (function, values) in UNARY.items():
        x = numbers(f"{name}_x", values)
        differentiate(name, function(x), x=x)
    for name, (function, values) in BINARY.items():
        x, y = numbers(f"{name}_x", values[0]), numbers(f"{name}_y", values[1])
        differentiate(name, function(x, y), x=x, y=y)
    # PyTorch's derivatives of hardsigmoid (1 / 6 in float) and digamma (error 3e-10) are less exact than the tests
    # require.
    slopes = [float(mpmath.psi(1, float(x))) for x in make_golden.numbers["digamma_x"]]
    keep("digamma_dx", make_golden.numbers["digamma_cotangent"] * torch.tensor(slopes))
    several()
    make_golden.write(pathlib.Path(__file__).with_name("functions.txt"))
