#!/usr/bin/env python3
"""Writes products.txt: sums of products, cross products and distances, with gradients, as PyTorch computes them in float64.

usage: make_products.py     (needs torch; the tests need only its output)
"""

import pathlib

import numpy as np
import torch

import make_golden
from make_golden import keep
from make_parts import differentiate

# Name, equation, shapes of the operands.
EQUATIONS = [
    ("matrices", "ij,jk->ik", [(2, 3), (3, 4)]),
    ("turned", "ij,jk->ki", [(2, 3), (3, 4)]),
    ("scores", "blhd,bshd->bhls", [(2, 3, 2, 4), (2, 5, 2, 4)]),
    ("dot_products", "bi,bi->b", [(3, 4), (3, 4)]),
    ("own_letters", "iaj,jbk->ki", [(2, 3, 2), (2, 2, 3)]),
    ("diagonal", "iij->ji", [(3, 3, 2)]),
    ("trace", "ii", [(3, 3)]),
    ("repeated", "...i,ij->...j", [(2, 1, 3), (3, 2)]),
    ("ellipses", "i...,j...->ij...", [(2, 3, 1), (2, 1, 2)]),
    ("chain", "ab,bc,cd,d->a", [(2, 3), (3, 4), (4, 2), (2,)]),
    ("bilinear", "ni,nj,oij->no", [(3, 2), (3, 4), (2, 2, 4)]),
]


def main():
    torch.manual_seed(32)
    torch.set_default_dtype(torch.float64)

    def leaf(name, *shape):
        return keep(name, torch.round(torch.randn(*shape) * 4) / 4).clone().requires_grad_()

    for name, equation, shapes in EQUATIONS:
        inputs = {letter: leaf(f"einsum_{name}_{letter}", *shape) for letter, shape in zip("abcd", shapes)}
        differentiate(f"einsum_{name}", torch.einsum(equation, *inputs.values()), **inputs)
    a, b = leaf("einsum_tensordot_a", 3, 2, 4), leaf("einsum_tensordot_b", 4, 3, 2)
    differentiate("einsum_tensordot", torch.tensordot(a, b, ([2, 0], [0, 1])), a=a, b=b)
    a, b = leaf("einsum_kron_a", 2, 3), leaf("einsum_kron_b", 2, 1, 2)
    differentiate("einsum_kron", torch.kron(a, b), a=a, b=b)
    a, b = leaf("cross_a", 2, 3, 1), leaf("cross_b", 1, 3, 2)
    differentiate("cross", torch.linalg.cross(a, b, dim=1), a=a, b=b)
    x, y = leaf("cdist_x", 2, 1, 3, 4), leaf("cdist_y", 2, 5, 4)
    for name, p in ("1", 1), ("2", 2), ("inf", torch.inf), ("0", 0), ("3", 3), ("half", 0.5), ("1_5", 1.5):
        differentiate(f"cdist_{name}", torch.cdist(x, y, p=p, compute_mode="donot_use_mm_for_euclid_dist"), x=x, y=y)
    x = leaf("cov_x", 3, 5)
    differentiate("cov", torch.cov(x), x=x)
    differentiate("cov_list", torch.cov(x[0], correction=0), x=x)
    differentiate("corrcoef", torch.corrcoef(x), x=x)
    points, values = np.array([-1.5, -0.25, 0.5, 2]), np.array([3.0, -1, 0.5, 4])
    at = np.array([[-9, -1.5, -1, 0], [0.5, 1.25, 2, 7]])
    for name, numbers in ("points", points), ("values", values), ("at", at), ("y", np.interp(at, points, values)):
        keep(f"interp_{name}", torch.tensor(numbers))
    make_golden.write(pathlib.Path(__file__).with_name("products.txt"))


if __name__ == "__main__":
    main()
