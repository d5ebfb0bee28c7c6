#!/usr/bin/env python3
"""Writes parts.txt: parts, orders, lookups, scans and order statistics, with gradients, as PyTorch computes them in float64.

usage: make_parts.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch

import make_golden
from make_golden import keep

torch.manual_seed(31)
torch.set_default_dtype(torch.float64)


def leaf(name, *shape):
    # Quarters, so that there are ties and the file is short.
    return keep(name, torch.round(torch.randn(*shape) * 4) / 4).clone().requires_grad_()


def differentiate(name, result, **inputs):
    """Keeps a result, a cotangent of it, and the gradients of the inputs."""
    keep(name, result)
    cotangent = keep(name + "_cotangent", torch.round(torch.randn_like(result) * 4) / 4)
    for key, gradient in zip(inputs, torch.autograd.grad(result, list(inputs.values()), cotangent)):
        keep(f"{name}_d{key}", gradient)


def parts():
    x = leaf("parts_x", 3, 2, 4)
    differentiate("tile", x.tile(2, 1, 3, 2), x=x)
    differentiate("repeat_interleave", x.repeat_interleave(3, 1), x=x)
    differentiate("flip", x.flip(0, -1), x=x)
    differentiate("roll", x.roll((2, -1), (2, 1)), x=x)
    differentiate("roll_flat", x.roll(5), x=x)
    differentiate("rot90", x.rot90(1, (0, 2)), x=x)
    differentiate("rot90_back", x.rot90(-1, (1, 2)), x=x)
    differentiate("rot180", x.rot90(6, (2, 1)), x=x)
    differentiate("tril", x.tril(1), x=x)
    differentiate("triu", x.triu(-1), x=x)
    differentiate("diagonal", x.diagonal(1, 2, 1), x=x)
    differentiate("diag_embed", x.diag_embed(-2), x=x)
    differentiate("movedim", x.movedim((0, 1), (-1, 0)), x=x)
    differentiate("subscripts", x[:, 1, 0:4:2], x=x)


def lookups():
    x, source = leaf("put_x", 4, 3, 2), leaf("put_source", 5, 3, 2)
    twice = keep("put_twice", torch.tensor([3, 0, 3, 1, 3]))
    differentiate("index_add", x.index_add(0, twice, source), x=x, source=source)
    differentiate("scatter_add_list", x.scatter_add(0, twice[:, None, None].expand_as(source), source), x=x, source=source)
    few = leaf("put_few", 4, 2, 2)
    once = keep("put_once", torch.tensor([2, 0]))
    differentiate("index_copy", x.index_copy(1, once, few), x=x, source=few)
    index = keep("put_index", torch.randint(0, 3, (4, 2, 2)))
    differentiate("scatter_add", x.scatter_add(1, index, few), x=x, source=few)
    smaller, part = keep("put_smaller", torch.randint(0, 4, (5, 2, 1))), leaf("put_part", 5, 2, 1)
    differentiate("scatter_add_smaller", x.scatter_add(0, smaller, part), x=x, source=part)
    distinct = keep("put_distinct", torch.tensor([[[0, 2], [2, 1]], [[1, 0], [2, 1]], [[0, 0], [1, 2]], [[2, 1], [0, 0]]]))
    differentiate("scatter", x.scatter(1, distinct, few), x=x, source=few)
    rows, columns = keep("put_rows", torch.tensor([[3], [0]])), keep("put_columns", torch.tensor([0, 2, 2]))
    values = leaf("put_values", 3, 1)
    differentiate("index_put_add", x.index_put((rows, columns), values, accumulate=True), x=x, source=values)
    single = leaf("put_single", 2)
    differentiate("index_put", x.index_put((rows, columns[:2]), single), x=x, source=single)
    differentiate("take", x.take(keep("take_places", torch.tensor([[23, 0], [7, 7]]))), x=x)
    differentiate("take_along", torch.take_along_dim(x, keep("take_along_index", torch.tensor([[[1], [0]]])), 1), x=x)
    sorted_rows = keep("search_rows", torch.round(torch.randn(3, 5) * 4).sort(1).values / 4)
    values = keep("search_values", torch.round(torch.randn(3, 4) * 4) / 4)
    keep("search_by_row", torch.searchsorted(sorted_rows, values))
    keep("search_by_row_right", torch.searchsorted(sorted_rows, values, right=True))
    keep("bucketize_right", torch.bucketize(values, sorted_rows[0].contiguous(), right=True))
    strided = leaf("strided_x", 3, 4)
    differentiate("as_strided", strided.as_strided((2, 3, 2), (1, 2, 4), 2), x=strided)
    mask = keep("mask_rows", torch.tensor([[True], [False], [True]]))
    differentiate("masked_select", strided.masked_select(mask), x=strided)


def scans():
    x = leaf("scan_x", 3, 5, 2)
    differentiate("cumprod", x.cumprod(1), x=x)
    zeros = keep("scan_zeros", torch.tensor([[2.0, 0, 3, 0, 4], [1, 2, 0, -1, 3], [0, 1, 2, 3, 4], [2, -1, 3, 1, 0]])).clone().requires_grad_()
    differentiate("cumprod_zeros", zeros.cumprod(1), x=zeros)
    differentiate("logcumsumexp", x.logcumsumexp(0), x=x)
    for name, values, indices in (("cummax", *x.cummax(1)), ("cummin", *x.cummin(-3))):
        differentiate(name, values, x=x)
        keep(name + "_indices", indices)
    differentiate("cumsum_reverse", x.flip(1).cumsum(1).flip(1), x=x)
    differentiate("cumsum_exclusive", x.cumsum(1) - x, x=x)
    differentiate("cumsum_exclusive_reverse", x.flip(1).cumsum(1).flip(1) - x, x=x)


def statistics():
    x = keep("statistics_x", torch.randperm(72).reshape(4, 6, 3) / 8 - 4).clone().requires_grad_()  # without ties
    for name, values, indices in (("kthvalue", *x.kthvalue(2, 1)), ("median", *x.median(0)), ("max_with", *x.max(1))):
        differentiate(name, values, x=x)
        keep(name + "_indices", indices)
    ties = keep("mode_x", torch.randint(0, 4, (3, 9, 2)))
    keep("mode", ties.mode(1).values)
    for name in "linear", "lower", "higher", "nearest", "midpoint":
        differentiate("quantile_" + name, x.quantile(0.3, 1, interpolation=name), x=x)
    differentiate("quantile_list", x.quantile(torch.tensor([0.0, 0.5, 0.9]), 2, True), x=x)
    differentiate("quantile_all", x.quantile(0.25), x=x)
    differentiate("stddev", x.std((0, 2), correction=0, keepdim=True), x=x)


def norms():
    x = leaf("norm_of_x", 3, 4, 2)  # with zeros and ties
    keep("norm_of_0", torch.linalg.vector_norm(x, 0, (0, 2)))
    for name, p, axes, keepdim in [("3", 3, (0, 2), True), ("half", 0.5, 1, False), ("1_5", 1.5, (1, 2), False),
                                   ("minus_2", -2, 0, False), ("least", -torch.inf, 0, True), ("largest", torch.inf, (2, 0), False),
                                   ("2_5_all", 2.5, None, False)]:
        differentiate("norm_of_" + name, torch.linalg.vector_norm(x, p, axes, keepdim), x=x)


def repeats():
    x = leaf("repeats_x", 3, 2, 4)
    counts = keep("repeats_counts", torch.tensor([2, 0, 3, 1]))
    differentiate("repeats_last", x.repeat_interleave(counts, -1), x=x)
    differentiate("repeats_first", x.repeat_interleave(torch.tensor([0, 4, 1]), 0), x=x)
    differentiate("repeats_all", x.repeat_interleave(torch.arange(24) % 3), x=x)
    a, b, c = leaf("mesh_a", 2), leaf("mesh_b", 3), leaf("mesh_c", 2)
    for name, grid in zip("abc", torch.meshgrid(a, b, c, indexing="xy")):
        differentiate("mesh_xy_" + name, grid, **{name: {"a": a, "b": b, "c": c}[name]})


def slices():
    x = keep("unique_x", torch.tensor([[2, 0, 1, 0, 2, 2], [1, 1, 1, 1, 1, 1], [2, 0, 1, 0, 2, 2], [1, 1, 0, 1, 1, 1]]).double())
    for axis in 0, 1:
        for name, result in zip(("values", "inverse", "counts"), x.unique(dim=axis, return_inverse=True, return_counts=True)):
            keep(f"unique_{axis}_{name}", result)


def shuffles():
    x = leaf("shuffle_x", 2, 8, 2, 4)
    differentiate("shuffled", torch.nn.functional.pixel_shuffle(x, 2), x=x)
    differentiate("unshuffled", torch.nn.functional.pixel_unshuffle(x, 2), x=x)


def differences():
    x, y = leaf("differences_x", 3, 5, 2), leaf("differences_y", 4)
    for name, flipped in ("cumprod_reverse", x.flip(1).cumprod(1).flip(1)), ("logcumsumexp_reverse", x.flip(0).logcumsumexp(0).flip(0)):
        differentiate(name, flipped, x=x)
    differentiate("cumprod_exclusive", torch.cat([torch.ones(3, 1, 2), x[:, :-1]], 1).cumprod(1), x=x)
    differentiate("cumprod_exclusive_reverse", torch.cat([torch.ones(1, 5, 2), x.flip(0)[:-1]]).cumprod(0).flip(0), x=x)
    differentiate("logcumsumexp_exclusive", x[:, :-1].logcumsumexp(1), x=x)
    differentiate("diff", torch.diff(x, dim=1), x=x)
    differentiate("diff_twice", torch.diff(x, n=2, dim=1), x=x)
    at = leaf("differences_at", 5)
    differentiate("trapezoid", torch.trapezoid(x, dx=0.5, dim=1), x=x)
    differentiate("trapezoid_at", torch.trapezoid(x.mT, at, dim=-1), x=x, at=at)
    differentiate("cumulative_trapezoid", torch.cumulative_trapezoid(x, dx=0.5, dim=1), x=x)
    differentiate("cumulative_trapezoid_at", torch.cumulative_trapezoid(x, x * 2, dim=0), x=x)
    differentiate("renorm", torch.renorm(x, 3, 1, 1.5), x=x)
    differentiate("combinations", torch.combinations(y, 3), y=y)
    differentiate("combinations_repeated", torch.combinations(y, 2, with_replacement=True), y=y)
    differentiate("cartesian_prod", torch.cartesian_prod(y, at), y=y, at=at)
    differentiate("block_diag", torch.block_diag(x[0], y, x[1].mT), x=x, y=y)
    for name in "hann", "hamming", "blackman", "bartlett", "kaiser":
        for periodic in True, False:
            keep(f"{name}_window_{periodic}".lower(), getattr(torch, name + "_window")(9, periodic=periodic))
    keep("kaiser_window_wide", torch.kaiser_window(8, True, 600.))


if __name__ == "__main__":
    for make in parts, lookups, scans, statistics, norms, repeats, slices, shuffles, differences:
        make()
    make_golden.write(pathlib.Path(__file__).with_name("parts.txt"))
