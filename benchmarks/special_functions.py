#!/usr/bin/env python3
"""Errors of the special functions of Locus in double and float, and of SciPy and PyTorch in double, against mpmath.

usage: special_functions.py [--points 200] [--seed 1] [--only REGEX] [--write]

Needs g++, NumPy and mpmath; columns of SciPy and PyTorch are blank without them. Each row is a function and a range of arguments,
drawn at random. An error is in units in the last place of the exact result (ulp), which mpmath computes with 50 digits;
that of Locus in float belongs to arguments that are rounded to float. --write puts the table into docs/accuracy.md.
"""

import argparse
import ctypes
import importlib
import importlib.util
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import mpmath
import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- made by benchmarks/special_functions.py -->\n", "<!-- end -->"

mpmath.mp.dps = 50
uniform, sign = random.uniform, lambda: random.choice((-1, 1))


def spread(low, high):
    """A number of uniform logarithm."""
    return math.exp(uniform(math.log(low), math.log(high)))


def erfcx(x):
    if x < 1e4:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    return (1 - 1 / (2 * x**2) + 3 / (4 * x**4) - 15 / (8 * x**6)) / (x * mpmath.sqrt(mpmath.pi))


def log_ndtr(x):
    return mpmath.log(mpmath.ncdf(x)) if x < 3 else mpmath.log1p(-mpmath.ncdf(-x))


def ndtri(p):
    start = -mpmath.sqrt(-2 * mpmath.log(p)) if p < 0.1 else (p - 0.5) * 2.5
    return mpmath.findroot(lambda t: mpmath.log(mpmath.ncdf(t) / p), start)


def lbeta(a, b):
    return mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)


def near(a, width):
    """Arguments of an incomplete gamma function, `width` deviations around its mean."""
    return a, a * (1 + uniform(-width, width) / math.sqrt(a))


# (function, arguments, exact, SciPy's name, PyTorch's, [(words, draw)])
FUNCTIONS = [
    ("i0", 1, lambda x: mpmath.besseli(0, x), "i0", "i0", [("-8 to 8", lambda: uniform(-8, 8)), ("8 to 713", lambda: uniform(8, 713))]),
    ("i1", 1, lambda x: mpmath.besseli(1, x), "i1", "i1", [("-8 to 8", lambda: uniform(-8, 8)), ("8 to 713", lambda: uniform(8, 713))]),
    ("i0e", 1, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), "i0e", "i0e", [("-8 to 8", lambda: uniform(-8, 8)), ("8 to 1e10", lambda: spread(8, 1e10))]),
    ("i1e", 1, lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), "i1e", "i1e", [("-8 to 8", lambda: uniform(-8, 8)), ("8 to 1e10", lambda: spread(8, 1e10))]),
    ("erfcx", 1, erfcx, "erfcx", "erfcx", [("-26 to 0", lambda: uniform(-26, 0)), ("0 to 5", lambda: uniform(0, 5)), ("5 to 1e20", lambda: spread(5, 1e20))]),
    ("ndtr", 1, mpmath.ncdf, "ndtr", "ndtr", [("-37 to -6", lambda: uniform(-37, -6)), ("-6 to 6", lambda: uniform(-6, 6))]),
    ("log_ndtr", 1, log_ndtr, "log_ndtr", "log_ndtr", [("-100 to -6", lambda: uniform(-100, -6)), ("-6 to 6", lambda: uniform(-6, 6)), ("6 to 30", lambda: uniform(6, 30))]),
    ("ndtri", 1, ndtri, "ndtri", "ndtri", [("1e-300 to 0.01", lambda: spread(1e-300, 0.01)), ("0.01 to 0.99", lambda: uniform(0.01, 0.99))]),
    ("sinc", 1, mpmath.sincpi, None, "sinc", [("-1 to 1", lambda: uniform(-1, 1)), ("1 to 1e8", lambda: spread(1, 1e8)), ("near integers", lambda: random.randint(1, 20) + sign() * spread(1e-12, 1e-3))]),
    ("digamma", 1, mpmath.digamma, "digamma", "digamma", [("0 to 10", lambda: uniform(0, 10)), ("near 1.4616", lambda: 1.4616321449683623 + sign() * spread(1e-8, 0.1)), ("10 to 1e10", lambda: spread(10, 1e10)), ("-10 to 0", lambda: uniform(-10, 0))]),
    ("trigamma", 1, lambda x: mpmath.psi(1, x), "polygamma 1", "polygamma 1", [("0 to 10", lambda: uniform(0, 10)), ("-10 to 0", lambda: uniform(-10, 0))]),
    ("lbeta", 2, lbeta, "betaln", None, [("0 to 10", lambda: (uniform(0, 10), uniform(0, 10))), ("10 to 1e15", lambda: (spread(10, 1e15), spread(10, 1e15))), ("small, large", lambda: (spread(1e-10, 10), spread(10, 1e15)))]),
    ("gammainc", 2, lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), "gammainc", "igamma", [("a and x to 20", lambda: (uniform(0.05, 20), uniform(0, 20))), ("a to 1000, x near", lambda: near(spread(20, 1000), 5)), ("a to 1e5, x near", lambda: near(spread(1000, 1e5), 5)), ("lower tail", lambda: (lambda a: (a, a * uniform(0.05, 0.5)))(uniform(1, 100)))]),
    ("gammaincc", 2, lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True), "gammaincc", "igammac", [("a and x to 20", lambda: (uniform(0.05, 20), uniform(0, 20))), ("a to 1000, x near", lambda: near(spread(20, 1000), 5)), ("small a", lambda: (spread(1e-10, 0.5), spread(1e-10, 3))), ("upper tail", lambda: (lambda a: (a, a * uniform(2, 5)))(uniform(1, 100)))]),
    ("betainc", 3, lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True), "betainc", None, [("a and b to 10", lambda: (uniform(0.1, 10), uniform(0.1, 10), uniform(0, 1))), ("small a and b", lambda: (spread(1e-6, 1), spread(1e-6, 1), uniform(0, 0.95))), ("lower tail", lambda: (uniform(1, 50), uniform(1, 50), spread(1e-6, 0.3)))]),
    ("zeta", 2, mpmath.zeta, "zeta", "zeta", [("s to 20, q to 30", lambda: (uniform(1.01, 20), uniform(0.01, 30))), ("s to 10, q to 1e10", lambda: (uniform(1.1, 10), spread(30, 1e10)))]),
]


def compiled(folder):
    """The functions of Locus in a shared library: d_NAME and f_NAME."""
    lines = ["#include <locus/expr/special.hpp>"]
    for name, count, *_ in FUNCTIONS:
        for letter, kind in ("d", "double"), ("f", "float"):
            given = "xyz"[:count]
            lines.append(f'extern "C" {kind} {letter}_{name}({", ".join(f"{kind} {x}" for x in given)}) {{ return locus::math::{name}({", ".join(given)}); }}')
    source = folder / "functions.cpp"
    source.write_text("\n".join(lines))
    subprocess.run(["g++", "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'include'}", source, "-o", folder / "functions.so"], check=True)
    return ctypes.CDLL(str(folder / "functions.so"))


def locus_function(library, name, count, kind, letter):
    function = getattr(library, f"{letter}_{name}")
    function.restype, function.argtypes = kind, [kind] * count
    return function


def scipy_function(name):
    special = importlib.import_module("scipy.special")
    name, *order = name.split()
    return lambda *x: float(getattr(special, name)(*map(int, order), *x))


def torch_function(name):
    torch = importlib.import_module("torch")
    name, *order = name.split()
    function = getattr(torch.special, name, None) or getattr(torch, name)
    return lambda *x: function(*map(int, order), *(torch.tensor(v, dtype=torch.float64) for v in x)).item()


def foreign(make, name):
    """None where the library is not installed, or lacks the function."""
    try:
        return make(name) if name else None
    except ImportError:
        return None


def error(given, exact, digits, least):
    """In ulp, of numbers of `digits` binary digits, `least` the smallest normal one."""
    if not math.isfinite(given):
        return math.inf
    exponent = mpmath.floor(mpmath.log(max(abs(exact), least), 2)) if exact else mpmath.log(least, 2)
    return float(abs(given - exact) / mpmath.mpf(2) ** (exponent - digits + 1))


def largest_errors(columns, points, exact):
    """The largest error of each column (function or None, element type)."""
    worst = [0 if function else None for function, _ in columns]
    for point in points:
        for rounded in numpy.float64, numpy.float32:
            with numpy.errstate(over="ignore"):
                at = [float(rounded(x)) for x in point]
            if 0 in at or not all(map(math.isfinite, at)):
                continue
            expected = exact(*map(mpmath.mpf, at))
            digits, limits = (53, numpy.finfo(numpy.float64)) if rounded is numpy.float64 else (24, numpy.finfo(numpy.float32))
            if not float(limits.tiny) <= abs(expected) <= float(limits.max):
                continue
            for i, (function, kind) in enumerate(columns):
                if function and kind is rounded:
                    worst[i] = max(worst[i], error(function(*at), expected, digits, float(limits.tiny)))
    return worst


def shown(value):
    return "" if value is None else "infinite" if math.isinf(value) else f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 1e4 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def table(library, options):
    lines = ["| largest error in ulp | arguments | Locus | Locus, `float` | SciPy | PyTorch |", "| --- | --- | --- | --- | --- | --- |"]
    for name, count, exact, scipy_name, torch_name, ranges in FUNCTIONS:
        if not re.search(options.only, name):
            continue
        columns = [(locus_function(library, name, count, ctypes.c_double, "d"), numpy.float64), (locus_function(library, name, count, ctypes.c_float, "f"), numpy.float32),
                   (foreign(scipy_function, scipy_name), numpy.float64), (foreign(torch_function, torch_name), numpy.float64)]
        for words, draw in ranges:
            random.seed(f"{options.seed} {name} {words}")
            drawn = (draw() for _ in range(options.points))
            worst = largest_errors(columns, [x if isinstance(x, tuple) else (x,) for x in drawn], exact)
            lines.append(f"| `{name}` | {words} | " + " | ".join(map(shown, worst)) + " |")
            print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write with --only; expected the whole table")
    with tempfile.TemporaryDirectory() as folder:
        lines = table(compiled(pathlib.Path(folder)), options)
    versions = [f"{name} {importlib.import_module(name).__version__}" for name in ("scipy", "torch", "mpmath") if importlib.util.find_spec(name)]
    if options.write:
        text = PAGE.read_text()
        before, rest = text.split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + f"\n\n{options.points} random points of each row; {', '.join(versions)}.\n\n" + END + rest.split(END, 1)[1])


if __name__ == "__main__":
    sys.exit(main())
