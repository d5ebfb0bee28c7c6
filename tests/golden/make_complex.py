#!/usr/bin/env python3
"""Writes complex.txt: functions and products of complex numbers, with gradients, as PyTorch computes them in complex128. Complex
numbers stand as pairs, in a last dimension.

usage: make_complex.py     (needs torch; the tests need only its output)
"""

import pathlib

import torch

import make_golden


def keep(name, tensor):
    make_golden.keep(name, torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor)
    return tensor


def quarters(*shape, complex_numbers=True):
    """Multiples of 1/4, so that the file is short."""
    def part():
        return torch.round(torch.randn(shape) * 4) / 4
    return torch.complex(part(), part()) if complex_numbers else part()


def leaf(name, tensor):
    return keep(name, tensor).clone().requires_grad_()


def differentiate(name, result, **inputs):
    """Keeps a result, a cotangent of it, and the gradients of the inputs."""
    keep(name, result.detach())
    cotangent = keep(name + "_cotangent", quarters(*result.shape, complex_numbers=result.is_complex()))
    for key, gradient in zip(inputs, torch.autograd.grad(result, list(inputs.values()), cotangent)):
        keep(f"{name}_d{key}", gradient)


FUNCTIONS = ["exp", "log", "sqrt", "tan", "tanh", "abs", "angle"]


def main():
    torch.manual_seed(41)
    torch.set_default_dtype(torch.float64)
    given = quarters(2, 6)
    given[given.abs() < 0.3] = 0.5 - 1.25j  # neither 0, nor near the cuts
    x, y = leaf("complex_x", given), leaf("complex_y", quarters(2, 6) + 3)
    for function in FUNCTIONS:
        differentiate(f"complex_{function}", getattr(torch, function)(x), x=x)
    differentiate("complex_powers", x.rsqrt() * x.square() + x.reciprocal(), x=x)
    differentiate("complex_sin_cos", x.sin() - 2 * x.cos(), x=x)
    differentiate("complex_sinh_cosh", x.sinh() * x.cosh(), x=x)
    differentiate("complex_conj", torch.conj_physical(x), x=x)
    differentiate("complex_real", x.real * 1, x=x)
    differentiate("complex_imag", x.imag * 1, x=x)
    differentiate("complex_product", x * y, x=x, y=y)
    differentiate("complex_quotient", x / y, x=x, y=y)
    differentiate("complex_pow", x**y, x=x, y=y)
    differentiate("complex_with_numbers", (2 - 1j) * x / 4 + 1j - x, x=x)
    for function in "sum", "mean", "prod", "var", "std":
        differentiate(f"complex_{function}", getattr(x, function)(1), x=x)
    differentiate("complex_norm", torch.linalg.vector_norm(x, 2, 1), x=x)
    differentiate("complex_norm_3", torch.linalg.vector_norm(x, 3), x=x)
    differentiate("complex_cumsum", x.cumsum(1), x=x)
    differentiate("complex_vdot", torch.vdot(x[0], y[0]), x=x, y=y)
    differentiate("complex_matmul", x @ y.mT, x=x, y=y)
    differentiate("complex_matmul_adjoint", x.mH @ y, x=x, y=y)
    batch = leaf("complex_batch", quarters(3, 2, 4))
    differentiate("complex_matmul_batch", batch @ x[:, :4].mT, x=x, batch=batch)
    # Positive, since PyTorch's gradient by a negative size has the wrong sign.
    size, turn = leaf("complex_size", quarters(5, complex_numbers=False).abs() + 0.25), leaf("complex_turn", quarters(5, complex_numbers=False))
    differentiate("complex_polar", torch.polar(size, turn), size=size, turn=turn)
    differentiate("complex_of_parts", torch.complex(size, turn), size=size, turn=turn)
    differentiate("complex_of_real", size.to(torch.complex128) * 1j, size=size)
    make_golden.write(pathlib.Path(__file__).with_name("complex.txt"))


if __name__ == "__main__":
    main()
