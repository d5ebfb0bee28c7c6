#!/usr/bin/env python3
"""Writes linalg.txt: linear algebra, with gradients, as PyTorch computes it in float64.

usage: make_linalg.py     (needs torch; the tests need only its output)
"""

import pathlib

import torch

import make_golden
from make_golden import keep
from make_parts import differentiate


def factorizations(leaf, square, positive, wide):
    """Squares of vectors, because their signs are arbitrary."""
    differentiate("linalg_eigh_values", torch.linalg.eigh(positive).eigenvalues, x=positive)
    differentiate("linalg_eigh_vectors", torch.linalg.eigh(positive).eigenvectors.square(), x=positive)
    tall = leaf("tall", 4, 2)
    for name, x in ("wide", wide), ("tall", tall), ("square", square):
        differentiate(f"linalg_svd_u_{name}", torch.linalg.svd(x, full_matrices=False).U.square(), x=x)
        differentiate(f"linalg_svd_s_{name}", torch.linalg.svd(x, full_matrices=False).S, x=x)
        differentiate(f"linalg_svd_vh_{name}", torch.linalg.svd(x, full_matrices=False).Vh.square(), x=x)
        differentiate(f"linalg_qr_q_{name}", torch.linalg.qr(x).Q, x=x)
        differentiate(f"linalg_qr_r_{name}", torch.linalg.qr(x).R, x=x)
        differentiate(f"linalg_pinv_{name}", torch.linalg.pinv(x), x=x)
    deficient = leaf("deficient", 3, 2) @ torch.tensor([[1., 2, 0], [0, 1, 1]])
    deficient = keep("linalg_rank_two", deficient.detach()).clone().requires_grad_()
    differentiate("linalg_pinv_rank_two", torch.linalg.pinv(deficient, rtol=1e-10), x=deficient)
    b = leaf("least", 3, 2)
    differentiate("linalg_lstsq_wide", torch.linalg.lstsq(wide, b.expand(2, 3, 2), driver="gelsd").solution, a=wide, b=b)
    keep("linalg_lu_pivots", torch.linalg.lu_factor(square).pivots.double())
    differentiate("linalg_lu_factor", torch.linalg.lu_factor(square).LU, x=square)
    differentiate("linalg_lu_solve", torch.linalg.lu_solve(*torch.linalg.lu_factor(square), square + 1), x=square)
    reflectors, tau = torch.geqrf(tall.detach())
    reflectors = keep("linalg_reflectors", reflectors).clone().requires_grad_()
    tau = keep("linalg_tau", tau).clone().requires_grad_()
    differentiate("linalg_householder_product", torch.linalg.householder_product(reflectors, tau), x=reflectors, tau=tau)


def functions_of_matrices(leaf, square, positive, wide):
    b = leaf("sides", 3, 2)
    for name, upper, unit in ("lower", False, False), ("upper", True, False), ("unit", True, True):
        x = torch.linalg.solve_triangular(square, b, upper=upper, unitriangular=unit)
        differentiate(f"linalg_triangular_{name}", x, a=square, b=b)
    row = leaf("row", 2, 2, 1, 3)
    differentiate("linalg_triangular_right", torch.linalg.solve_triangular(square, row, upper=False, left=False), a=square, b=row)
    c = leaf("c", 4, 2)
    differentiate("linalg_cholesky_solve", torch.cholesky_solve(c.expand(2, 4, 2), torch.linalg.cholesky(positive)), x=positive, b=c)
    differentiate("linalg_cholesky_inverse", torch.cholesky_inverse(torch.linalg.cholesky(positive)), x=positive)
    differentiate("linalg_matrix_exp", torch.linalg.matrix_exp(square), x=square)
    small = leaf("small", 2, 2)
    differentiate("linalg_matrix_exp_small", torch.linalg.matrix_exp(small / 64), x=small)
    for n in -2, 0, 1, 5:
        differentiate(f"linalg_power_{n}", torch.linalg.matrix_power(square, n) + 0 * square, x=square)
    for name, order in ("2", 2), ("least_2", -2):
        differentiate(f"linalg_cond_{name}", torch.linalg.cond(square, order), x=square)
    for name, order in ("fro", "fro"), ("1", 1):  # linalg.cond itself changes the inverse that its gradient needs
        product = torch.linalg.matrix_norm(square, order) * torch.linalg.matrix_norm(torch.linalg.inv(square), order)
        differentiate(f"linalg_cond_{name}", product, x=square)
    differentiate("linalg_vander", torch.linalg.vander(wide, N=4), x=wide)
    left, vector = leaf("left", 4, 5), leaf("vector", 3)
    differentiate("linalg_multi_dot", torch.linalg.multi_dot([left, wide[0].mT, vector]), a=left, x=wide, v=vector)
    tensor, side = leaf("tensor", 2, 3, 6), leaf("side", 2, 3)
    differentiate("linalg_tensorsolve", torch.linalg.tensorsolve(tensor, side), a=tensor, b=side)
    differentiate("linalg_tensorinv", torch.linalg.tensorinv(tensor, ind=2), x=tensor)


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
    factorizations(leaf, square, positive, wide)
    functions_of_matrices(leaf, square, positive, wide)
    make_golden.write(pathlib.Path(__file__).with_name("linalg.txt"))


if __name__ == "__main__":
    main()
