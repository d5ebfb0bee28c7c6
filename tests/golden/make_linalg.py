#!/usr/bin/env python3
"""Writes linalg.txt: linear algebra, with gradients, as PyTorch computes it in float64.

usage: make_linalg.py     (needs torch; the tests need only its output)
"""

import pathlib

import torch

import make_golden
from make_golden import keep
from make_parts import differentiate


def main():
    torch.manual_seed(33)
    torch.set_default_dtype(torch.float64)

    def leaf(name, *shape, regular=False):
        x = torch.round(torch.randn(*shape) * 4) / 4
        return keep(f"linalg_{name}", x + 3 * torch.eye(shape[-1]) if regular else x).clone().requires_grad_()

    square, one = leaf("a", 2, 1, 3, 3, regular=True), leaf("one", 4, 4, regular=True)
    columns, many, vector = leaf("b", 4, 3, 2), leaf("many", 3, 4, 2), leaf("v", 4)
    differentiate("linalg_solve", torch.linalg.solve(square, columns), a=square, b=columns)
    differentiate("linalg_solve_many", torch.linalg.solve(one, many), a=one, b=many)
    differentiate("linalg_solve_vector", torch.linalg.solve(one, vector), a=one, b=vector)
    differentiate("linalg_inv", torch.linalg.inv(square), x=square)
    differentiate("linalg_det", torch.linalg.det(square), x=square)
    differentiate("linalg_slogdet", torch.linalg.slogdet(square).logabsdet, x=square)
    keep("linalg_slogdet_sign", torch.linalg.slogdet(square).sign)
    factor = torch.randn(2, 4, 4)
    positive = keep("linalg_positive", torch.round((factor @ factor.mT + torch.eye(4)) * 8) / 8).clone().requires_grad_()
    differentiate("linalg_cholesky", torch.linalg.cholesky(positive), x=positive)
    wide = leaf("wide", 2, 3, 5)
    for name, order in ("fro", "fro"), ("nuc", "nuc"), ("1", 1), ("2", 2), ("inf", torch.inf), ("least_2", -2), ("least_1", -1):
        differentiate(f"linalg_norm_{name}", torch.linalg.matrix_norm(wide, order), x=wide)
    keep("linalg_eigenvalues", torch.linalg.eigvalsh(positive))
    keep("linalg_singular_values", torch.linalg.svdvals(wide))
    keep("linalg_r", torch.linalg.qr(wide).R)
    tall, right = wide.mT, torch.round(torch.randn(2, 5, 2) * 4) / 4
    keep("linalg_right", right)
    keep("linalg_solution", torch.linalg.lstsq(tall, right, driver="gelsd").solution)
    make_golden.write(pathlib.Path(__file__).with_name("linalg.txt"))


if __name__ == "__main__":
    main()
