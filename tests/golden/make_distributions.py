#!/usr/bin/env python3
"""Writes distributions.txt: densities, entropies, moments and divergences of torch.distributions in float64, and special
functions with their derivatives by mpmath.

usage: make_distributions.py        (needs torch and mpmath; the tests need only its output)
"""

import math
import pathlib

import mpmath
import torch
import torch.distributions as td

import make_golden
from make_golden import differentiate, keep

mpmath.mp.dps = 40

# name: (class, parameters, values)
CASES = {
    "normal": (td.Normal, {"loc": [-1.5, 0.25, 3], "scale": [0.5, 2, 0.125]}, [[-2.25, 0.5, 3.0625], [4, -7.5, 2.75]]),
    "log_normal": (td.LogNormal, {"loc": [-0.5, 0.25, 1], "scale": [0.5, 1.25, 0.125]}, [[0.25, 0.5, 3.0625], [4, 7.5, 2.75]]),
    "uniform": (td.Uniform, {"low": [0.0625, 0, 0.5], "high": [0.75, 0.5, 0.875]}, [[0.125, 0.125, 0.625], [0.5, 0.25, 0.75]]),
    "exponential": (td.Exponential, {"rate": [0.25, 1, 8]}, [[3, 0.5, 0.0625], [0.125, 7, 0.5]]),
    "laplace": (td.Laplace, {"loc": [-1.5, 0.25, 3], "scale": [0.5, 2, 0.125]}, [[-2.25, 0.5, 3.0625], [4, -7.5, 2.75]]),
    "gamma": (td.Gamma, {"concentration": [0.25, 1.5, 40], "rate": [2, 0.5, 8]}, [[0.03125, 2.5, 4.75], [0.5, 9, 6]]),
    "student_t": (td.StudentT, {"df": [2.5, 4, 30], "loc": [-1, 0, 2], "scale": [0.5, 2, 1.25]}, [[-1.5, 3, 2.5], [9, -7, 0.25]]),
    "beta": (td.Beta, {"concentration1": [0.25, 2.5, 60], "concentration0": [0.75, 1.5, 20]}, [[0.03125, 0.5, 0.75], [0.96875, 0.25, 0.8125]]),
    "dirichlet": (td.Dirichlet, {"concentration": [[0.25, 1.5, 4], [8, 30, 0.75]]}, [[0.125, 0.25, 0.625], [0.25, 0.6875, 0.0625]]),
    "bernoulli": (lambda logits: td.Bernoulli(logits=logits), {"logits": [-3.5, 0.25, 2]}, [[0, 1, 1], [1, 0, 0]]),
    "bernoulli_of_probs": (lambda probs: td.Bernoulli(probs=probs), {"probs": [0.0625, 0.5, 0.9375]}, [[0, 1, 1], [1, 0, 0]]),
    "binomial": (lambda logits: td.Binomial(12, logits=logits), {"logits": [-3.5, 0.25, 2]}, [[0, 7, 12], [2, 3, 9]]),
    "poisson": (td.Poisson, {"rate": [0.25, 3, 40]}, [[0, 2, 35], [3, 7, 52]]),
    "categorical": (lambda logits: td.Categorical(logits=logits), {"logits": [[0.5, -1, 2], [3, 3, -4]]}, [[0, 1], [2, 2]]),
    "mvn": (lambda loc, tril: td.MultivariateNormal(loc, scale_tril=tril), {"loc": [0.5, -1, 2], "tril": [[1.5, 0, 0], [-0.25, 0.75, 0], [0.5, 1, 2]]},
            [[0, 0.25, 3], [1, -2, 0.5]]),
}
DISCRETE = {"bernoulli", "bernoulli_of_probs", "binomial", "poisson", "categorical"}
MOMENTS = ["mean", "variance", "entropy"]
WITHOUT = {("categorical", "mean"), ("categorical", "variance"), ("poisson", "entropy")}

PAIRS = [("normal", "normal"), ("normal", "laplace"), ("laplace", "normal"), ("laplace", "laplace"), ("log_normal", "log_normal"),
         ("bernoulli", "bernoulli"), ("bernoulli", "poisson"), ("binomial", "binomial"), ("categorical", "categorical"),
         ("poisson", "poisson"), ("exponential", "exponential"), ("exponential", "gamma"), ("exponential", "normal"), ("gamma", "gamma"),
         ("gamma", "exponential"), ("gamma", "normal"), ("beta", "beta"), ("beta", "exponential"), ("beta", "gamma"), ("beta", "normal"),
         ("beta", "uniform"), ("dirichlet", "dirichlet"), ("uniform", "uniform"), ("uniform", "normal"), ("uniform", "exponential"),
         ("uniform", "gamma"), ("uniform", "beta"), ("mvn", "mvn")]
# The parameters of the second of a pair.
OTHERS = {
    "normal": {"loc": [0.5, -0.75, 2], "scale": [1.5, 0.75, 2]}, "log_normal": {"loc": [0.5, -0.75, 2], "scale": [1.5, 0.75, 2]},
    "uniform": {"low": [-2, -1, 0], "high": [3, 2, 9]}, "exponential": {"rate": [2, 0.5, 3]},
    "laplace": {"loc": [0.5, -0.75, 2], "scale": [1.5, 0.75, 2]}, "gamma": {"concentration": [1.5, 3, 0.5], "rate": [1, 0.25, 4]},
    "beta": {"concentration1": [2, 1.5, 3], "concentration0": [0.5, 4, 1]}, "dirichlet": {"concentration": [[2, 0.5, 1], [1, 3, 4]]},
    "bernoulli": {"logits": [1, -2, 0.5]}, "binomial": {"logits": [1, -2, 0.5]}, "poisson": {"rate": [1, 2, 0.5]},
    "categorical": {"logits": [[1, 2, 0.5], [-1, 0, 1]]},
    "mvn": {"loc": [0, 1, -1], "tril": [[1, 0, 0], [0.5, 1.25, 0], [-1, 0.25, 0.75]]},
}


def distribution(name, parameters=None, leaves=False):
    make, own, _ = CASES[name]
    tensors = {key: torch.tensor(x, dtype=torch.float64) for key, x in (parameters or own).items()}
    if leaves:
        tensors = {key: x.requires_grad_() for key, x in tensors.items()}
    return make(**tensors), tensors


def densities():
    for name, (_, _, values) in CASES.items():
        p, parameters = distribution(name, leaves=True)
        for key, x in parameters.items():
            keep(f"{name}_{key}", x)
        x = keep(f"{name}_value", torch.tensor(values, dtype=torch.float64)).clone()
        if name not in DISCRETE:
            parameters = {"value": x.requires_grad_(), **parameters}
        log_prob = p.log_prob(x)
        if name == "uniform":  # its gradient by the value is 0, as PyTorch's graph does not have it
            parameters.pop("value")
        differentiate(f"{name}_log_prob", log_prob, **parameters)
        for moment in MOMENTS:
            if (name, moment) not in WITHOUT:
                value = getattr(p, moment)
                keep(f"{name}_{moment}", value() if callable(value) else value)
        if name in ("normal", "log_normal", "uniform", "exponential", "laplace"):
            keep(f"{name}_cdf", p.cdf(x))
            keep(f"{name}_icdf", p.icdf(torch.tensor([0.03125, 0.5, 0.875], dtype=torch.float64)))
    # PyTorch's incomplete gamma function has an error of 1e-9 here.
    a, rate = (make_golden.numbers[f"gamma_{key}"] for key in ("concentration", "rate"))
    points = zip([*a, *a], (make_golden.numbers["gamma_value"] * rate).flatten())
    keep("gamma_cdf", torch.tensor([exact(lambda p, x: mpmath.gammainc(p, 0, x, regularized=True), float(p), float(x)) for p, x in points]).view(2, 3))
    mixture = td.MixtureSameFamily(td.Categorical(logits=torch.tensor([0.5, -1, 2], dtype=torch.float64)), distribution("normal")[0])
    x = torch.tensor([-2, 0.25, 3.5], dtype=torch.float64)
    for key, value in {"log_prob": mixture.log_prob(x), "cdf": mixture.cdf(x), "mean": mixture.mean, "variance": mixture.variance}.items():
        keep(f"mixture_{key}", value)


def divergences():
    for name, parameters in OTHERS.items():
        for key, x in parameters.items():
            keep(f"other_{name}_{key}", torch.tensor(x, dtype=torch.float64))
    for first, second in PAIRS:
        p, q = distribution(first)[0], distribution(second, OTHERS[second])[0]
        keep(f"kl_{first}_{second}", td.kl_divergence(p, q))


def exact(function, *arguments):
    return float(function(*(mpmath.mpf(x) for x in arguments)))


def slope_of_quantile(upper, density, a, *rest):
    """-(d cdf / d a) / density, by a central difference of 40 digits."""
    step = mpmath.mpf(a) * mpmath.mpf("1e-12")
    return float((upper(a + step, *rest) - upper(a - step, *rest)) / (2 * step) / density(a, *rest))


def slopes():
    """Derivatives of gamma- and beta-distributed numbers by their parameters: exact, and PyTorch's approximations."""
    a = [x for x in (0.0625, 0.5, 1, 2.5, 7, 30, 400) for _ in range(5)]
    x = [float(f"{a[i] * (0.03125, 0.5, 1, 1.5, 4)[i % 5] if a[i] < 5 else a[i] + (-2, -0.5, 0, 1, 2.5)[i % 5] * math.sqrt(a[i]):.4g}") for i in range(len(a))]
    upper = lambda p, z: mpmath.gammainc(p, z, regularized=True)  # noqa: E731
    density = lambda p, z: mpmath.mpf(z) ** (p - 1) * mpmath.exp(-z) / mpmath.gamma(p)  # noqa: E731
    keep("gamma_slope_a", torch.tensor(a)), keep("gamma_slope_x", torch.tensor(x))
    keep("gamma_slope", torch.tensor([slope_of_quantile(upper, density, mpmath.mpf(p), z) for p, z in zip(a, x)]))
    keep("gamma_slope_torch", torch._standard_gamma_grad(torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)))
    grid = [(p, q, z) for p in (0.125, 1.5, 20, 100) for q in (0.25, 3, 50) for z in (0.0625, 0.5, 0.9375) if abs(z - p / (p + q)) < 5 * math.sqrt(p * q / (p + q) ** 2 / (p + q + 1))]
    upper = lambda p, q, z: mpmath.betainc(p, q, z, 1, regularized=True)  # noqa: E731
    density = lambda p, q, z: mpmath.mpf(z) ** (p - 1) * mpmath.mpf(1 - z) ** (q - 1) / mpmath.beta(p, q)  # noqa: E731
    for i, key in enumerate("abx"):
        keep(f"beta_slope_{key}", torch.tensor([row[i] for row in grid]))
    keep("beta_slope", torch.tensor([slope_of_quantile(upper, density, mpmath.mpf(p), q, z) for p, q, z in grid]))
    p, q, z = (make_golden.numbers[f"beta_slope_{key}"].double() for key in "abx")
    keep("beta_slope_torch", torch._dirichlet_grad(z, p, p + q) * (1 - z))


def log_ndtr(x):
    return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)


UNARY = {
    "i0": (lambda x: mpmath.besseli(0, x), [-9.5, -0.25, 0, 1.5, 7.75, 8.25, 60]), "i1": (lambda x: mpmath.besseli(1, x), [-9.5, -0.25, 0, 1.5, 7.75, 8.25, 60]),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), [-9.5, -0.25, 1.5, 8.25, 900]),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), [-9.5, -0.25, 1.5, 8.25, 900]),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [-3, -0.5, 0, 0.25, 2, 9, 75]), "ndtr": (mpmath.ncdf, [-9, -1.5, 0, 0.25, 3]),
    "log_ndtr": (log_ndtr, [-37, -9, -1.5, -0.5, 0, 0.25, 3]), "ndtri": (lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), [1e-9, 0.03125, 0.375, 0.75, 0.9990234375]),
    "sinc": (mpmath.sincpi, [-2.25, -0.5, 0.03125, 0.0625, 0.75, 3.5]), "entr": (lambda x: -x * mpmath.log(x), [1e-9, 0.25, 1, 7]),
    "polygamma_2": (lambda x: mpmath.psi(2, x), [-3.25, 0.0625, 1, 5.5, 80]), "mvlgamma_3": (lambda x: sum(mpmath.loggamma(x - mpmath.mpf(j) / 2) for j in range(3)) + 1.5 * mpmath.log(mpmath.pi), [1.25, 3, 40]),
}
BINARY = {
    "xlog1py": (lambda x, y: x * mpmath.log1p(y), [(0.5, -0.75), (-2, 1e-9), (3, 8)]),
    "lbeta": (lambda a, b: mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b), [(0.125, 3), (4, 0.5), (2.5, 900), (40, 60), (1e6, 0.25)]),
    "gammainc": (lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), [(0.25, 0.0625), (0.5, 4), (3, 0.5), (3, 9), (40, 36), (1500, 1530), (1500, 1400)]),
    "gammaincc": (lambda a, x: mpmath.gammainc(a, x, regularized=True), [(0.25, 0.0625), (0.5, 4), (3, 0.5), (3, 9), (40, 36), (1500, 1530), (1500, 1400)]),
    "zeta": (mpmath.zeta, [(1.0625, 0.25), (2, 1), (3.5, 12), (30, 4)]),
}


def specials():
    for name, (function, points) in UNARY.items():
        keep(f"{name}_x", torch.tensor(points))
        keep(name, torch.tensor([exact(function, x) for x in points]))
        keep(f"{name}_slope", torch.tensor([exact(lambda t: mpmath.diff(function, t), x) for x in points]))
    for name, (function, points) in BINARY.items():
        for i, key in enumerate("xy"):
            keep(f"{name}_{key}", torch.tensor([point[i] for point in points]))
            # the derivative of zeta by its first argument is not offered
            keep(f"{name}_d{key}", torch.tensor([0 if name == "zeta" and i == 0 else exact(lambda s, t, i=i: mpmath.diff(function, (s, t), (1 - i, i)), *point) for point in points]))
        keep(name, torch.tensor([exact(function, *point) for point in points]))
    points = [(0.5, 0.25, 0.125), (2, 3, 0.75), (30, 20, 0.5625), (0.125, 40, 0.0009765625), (400, 600, 0.421875)]
    for i, key in enumerate("abx"):
        keep(f"betainc_{key}", torch.tensor([point[i] for point in points]))
    betainc = lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True)  # noqa: E731
    keep("betainc", torch.tensor([exact(betainc, *point) for point in points]))
    keep("betainc_dx", torch.tensor([exact(lambda a, b, x: mpmath.diff(lambda t: betainc(a, b, t), x), *point) for point in points]))


if __name__ == "__main__":
    make_golden.numbers.clear()
    torch.manual_seed(35)
    for make in densities, divergences, slopes, specials:
        make()
    make_golden.write(pathlib.Path(__file__).with_name("distributions.txt"), digits=17)
