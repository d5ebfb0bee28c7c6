#!/usr/bin/env python3
"""Writes random programs of all operations, with PyTorch's results in float64.

    program 17
    input 3 4 : 0.1 0.2 ...              v0, a variable of this shape
    softmax v0 , 1 : 3 4 : 5.25          v1 = softmax(v0, 1) has this shape and this weighted sum
    gradient v0 : ...                    of the weighted sum of the last value

Element i of a value, in row-major order, has weight 1 - (i % 7) / 4 in its weighted sum.
tests/fuzz/golden_programs_test.cpp runs the programs. Every operation is tried --each times as the last step.

A program is left out if its gradients jump when the inputs move by 1e-9: it is at a kink, or chooses among equal
elements.

usage: make_programs.py [--seed N] [--each N] [--out FILE]        (needs torch; the tests need only its output)
"""

import argparse
import math
import pathlib
import random

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
MOST_ELEMENTS = 40


def numbers(values):
    return " ".join(f"{v:.12g}" for v in values)


def weights_of(tensor):
    return 1 - (torch.arange(tensor.numel()) % 7) / 4


def weighted_sum(tensor):
    return (tensor.reshape(-1) * weights_of(tensor)).sum()


def positive(x):
    return x * x + 0.5


def within_unit(x):
    return x / (1 + x * x)


class Impossible(Exception):
    """No value so far is a valid operand of the operation."""


class Pick:
    """Random choices of operands and arguments among the values of a program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = []

    def below(self, n):
        return self.random.randrange(n)

    def flag(self):
        return self.below(2)

    def among(self, condition):
        found = [i for i, v in enumerate(self.values) if v.numel() > 0 and condition(v)]
        if not found:
            raise Impossible
        return found[-1] if self.flag() else self.random.choice(found)

    def any(self, ranks=range(9)):
        return self.among(lambda v: v.dim() in ranks)

    def ranked(self, least=1):
        return self.any(range(least, 9))

    def pair(self):
        a = self.any()

        def fits(v):
            try:
                return math.prod(torch.broadcast_shapes(self.values[a].shape, v.shape)) <= MOST_ELEMENTS
            except RuntimeError:
                return False

        return a, self.among(fits)

    def alike(self, a):
        return self.among(lambda v: v.shape == self.values[a].shape)

    def axis(self, a):
        """An axis, possibly negative."""
        rank = self.values[a].dim()
        return self.below(2 * rank) - rank

    def axes(self, a):
        """Some axes; an empty list stands for all of them."""
        rank = self.values[a].dim()
        return sorted(self.random.sample(range(rank), self.below(rank + 1)))

    def extent(self, a, axis):
        return self.values[a].shape[axis]

    def indices(self, count, below):
        return [self.below(below) for _ in range(count)]


OPERATIONS = {}


def operation(make):
    """Registers an operation. make(pick) returns operands, arguments and a function of the operands."""
    OPERATIONS[make.__name__.rstrip("_")] = make
    return make


def functions(table, make):
    for name, function in table.items():
        OPERATIONS[name] = lambda pick, function=function: make(pick, function)


# --- Elementwise -----------------------------------------------------------------------------------------------------

functions({
    "negative": torch.neg, "abs": torch.abs, "square": torch.square, "exp": torch.exp, "expm1": torch.expm1,
    "exp2": torch.exp2, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "sinh": torch.sinh, "cosh": torch.cosh,
    "asinh": torch.asinh, "atan": torch.atan, "erf": torch.erf, "erfc": torch.erfc, "sigmoid": torch.sigmoid,
    "relu": torch.relu, "relu6": F.relu6, "selu": torch.selu, "gelu": F.gelu, "silu": F.silu, "mish": F.mish,
    "softplus": F.softplus, "softsign": F.softsign, "hardswish": F.hardswish, "hardtanh": F.hardtanh,
    "hardsigmoid": lambda x: F.relu6(x + 3) / 6,  # F.hardsigmoid has the slope 1 / 6 in float
    "softshrink": F.softshrink, "hardshrink": F.hardshrink, "floor": torch.floor,
    "ceil": torch.ceil, "trunc": torch.trunc, "round": torch.round, "sign": torch.sign,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "log": lambda x: positive(x).log(), "log2": lambda x: positive(x).log2(), "log10": lambda x: positive(x).log10(),
    "log1p": lambda x: positive(x).log1p(), "sqrt": lambda x: positive(x).sqrt(), "rsqrt": lambda x: positive(x).rsqrt(),
    "reciprocal": lambda x: positive(x).reciprocal(), "cbrt": lambda x: positive(x) ** (1 / 3),
    "acosh": lambda x: (positive(x) + 0.75).acosh(), "lgamma": lambda x: positive(x).lgamma(),
    "digamma": lambda x: positive(x).digamma(),
    "tan": lambda x: within_unit(x).tan(), "asin": lambda x: within_unit(x).asin(),
    "acos": lambda x: within_unit(x).acos(), "atanh": lambda x: within_unit(x).atanh(),
    "erfinv": lambda x: within_unit(x).erfinv(), "logit": lambda x: (within_unit(x) / 2 + 0.5).logit(),
}, lambda pick, function: ([pick.any()], [], function))

functions({
    "leaky_relu": F.leaky_relu, "elu": F.elu,
    # PyTorch's own celu divides by alpha in float.
    "celu": lambda x, alpha: torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0) / alpha)),
},
          lambda pick, function: ([pick.any()], [s := pick.random.choice([0.01, 0.25, 1.5])], lambda x: function(x, s)))

functions({
    "add": torch.add, "subtract": torch.sub, "multiply": lambda u, v: u * v / 2, "maximum": torch.maximum,
    "minimum": torch.minimum, "hypot": torch.hypot, "atan2": torch.atan2, "copysign": torch.copysign,
    "divide": lambda u, v: u / positive(v), "power": lambda u, v: positive(u) ** (v / 4),
    "xlogy": lambda u, v: torch.xlogy(u, positive(v)), "fmod": lambda u, v: torch.fmod(u, positive(v).detach()),
    "remainder": lambda u, v: torch.remainder(u, positive(v).detach()),
    "where": lambda u, v: torch.where(u > 0, u, v),
    "pending": lambda u, v: torch.tanh(u * v / 2) * (u - v) / 2,  # one expression
}, lambda pick, function: ([*pick.pair()], [], function))


@operation
def clamp(pick):
    low = pick.random.choice([-1, -0.5])
    return [pick.any()], [low, 0.75], lambda x: x.clamp(low, 0.75)


@operation
def threshold(pick):
    return [pick.any()], [0.1, -2], lambda x: F.threshold(x, 0.1, -2)


@operation
def lerp(pick):
    a, b = pick.pair()
    return [a, b], [share := pick.random.random()], lambda u, v: torch.lerp(u, v, share)


@operation
def addcmul(pick):
    a = pick.any()
    return [a, pick.alike(a), pick.alike(a)], [0.5], lambda x, u, v: torch.addcmul(x, u, v, value=0.5)


@operation
def addcdiv(pick):
    a = pick.any()
    return [a, pick.alike(a), pick.alike(a)], [0.5], lambda x, u, v: torch.addcdiv(x, u, positive(v), value=0.5)


@operation
def prelu(pick):
    return [pick.ranked(2)], [0.3], lambda x: F.prelu(x, torch.tensor([0.3]))


@operation
def glu(pick):
    a = pick.among(lambda v: v.dim() and v.shape[-1] % 2 == 0)
    return [a], [], lambda x: F.glu(x, -1)


@operation
def masked_fill(pick):
    return [pick.any()], [0.25], lambda x: x.masked_fill(x > 0.25, 0.25)


# --- Reductions ------------------------------------------------------------------------------------------------------

def folded(pick, function):
    a = pick.any()
    axes, keepdim = pick.axes(a), pick.flag()
    every = axes or list(range(pick.values[a].dim()))
    return [a], [keepdim, *axes], lambda x: function(x, every, bool(keepdim))


def over_each(function):
    """Reduces several axes by reducing one after another."""
    def fold(x, axes, keepdim):
        for axis in reversed(axes):
            x = function(x, axis, keepdim)
        return x
    return fold


functions({
    "sum": lambda x, axes, keepdim: x.sum(axes, keepdim) / 2 if axes else x / 2,
    "mean": lambda x, axes, keepdim: x.mean(axes, keepdim) if axes else x.clone(),
    "prod": over_each(lambda x, axis, keepdim: x.prod(axis, keepdim)),
    "max": lambda x, axes, keepdim: x.amax(axes, keepdim) if axes else x.clone(),
    "min": lambda x, axes, keepdim: x.amin(axes, keepdim) if axes else x.clone(),
    "norm1": lambda x, axes, keepdim: torch.linalg.vector_norm(x, 1, axes, keepdim),
    "norm2": lambda x, axes, keepdim: torch.linalg.vector_norm(x, 2, axes, keepdim),
    "norm3": lambda x, axes, keepdim: torch.linalg.vector_norm(x, 3, axes, keepdim),
    "norm_infinity": lambda x, axes, keepdim: torch.linalg.vector_norm(x, math.inf, axes, keepdim),
}, folded)


def spread(pick, function):
    """A reduction of at least two elements, with a correction."""
    operands, arguments, _ = folded(pick, None)
    keepdim, axes = arguments[0], arguments[1:]
    shape = pick.values[operands[0]].shape
    every = axes or list(range(len(shape)))
    if math.prod(shape[axis] for axis in every) < 2:
        raise Impossible
    correction = pick.random.choice([0, 0.5, 1])
    return operands, [correction, keepdim, *axes], lambda x: function(x, every, correction, bool(keepdim))


functions({
    "var": lambda x, axes, correction, keepdim: x.var(axes, correction=correction, keepdim=keepdim),
    "stddev": lambda x, axes, correction, keepdim: x.std(axes, correction=correction, keepdim=keepdim),
}, spread)


def along_axis(pick, function):
    a = pick.ranked()
    axis = pick.axis(a)
    return [a], [axis], lambda x: function(x, axis)


functions({
    "softmax": torch.softmax, "log_softmax": torch.log_softmax, "logsumexp": torch.logsumexp,
    "cumsum": lambda x, axis: x.cumsum(axis) / 4, "cumprod": torch.cumprod, "logcumsumexp": torch.logcumsumexp,
    "cummax": lambda x, axis: x.cummax(axis).values, "cummin": lambda x, axis: x.cummin(axis).values,
    "max_with_indices": lambda x, axis: x.max(axis).values, "min_with_indices": lambda x, axis: x.min(axis).values,
    "median": lambda x, axis: x.contiguous().median(axis).values, "flip": lambda x, axis: x.flip(axis),
    "sort": lambda x, axis: x.sort(axis).values, "sort_descending": lambda x, axis: x.sort(axis, descending=True).values,
    "unsqueeze": torch.unsqueeze, "quantile": lambda x, axis: x.quantile(0.3, axis),
    "repeat_interleave": lambda x, axis: x.repeat_interleave(2, axis),
}, along_axis)


@operation
def kthvalue(pick):
    a = pick.ranked()
    axis = pick.axis(a)
    k = 1 + pick.below(pick.extent(a, axis))
    return [a], [k, axis], lambda x: x.kthvalue(k, axis).values


@operation
def topk(pick):
    a = pick.ranked()
    axis, largest = pick.axis(a), pick.flag()
    k = 1 + pick.below(pick.extent(a, axis))
    return [a], [k, axis, largest], lambda x: x.topk(k, axis, bool(largest)).values


@operation
def cov(pick):
    a = pick.among(lambda v: v.dim() == 2 and v.shape[0] > 1 and v.shape[1] > 1)
    return [a], [correction := pick.flag()], lambda x: torch.cov(x, correction=correction)


@operation
def corrcoef(pick):
    return [pick.among(lambda v: v.dim() == 2 and v.shape[0] > 1 and v.shape[1] > 2)], [], torch.corrcoef


# --- Views and parts -------------------------------------------------------------------------------------------------

@operation
def reshape(pick):
    a = pick.any()
    n = pick.values[a].numel()
    first = pick.random.choice([d for d in range(1, n + 1) if n % d == 0])
    return [a], [first, -1], lambda x: x.reshape(first, -1)


@operation
def flatten(pick):
    return [pick.any()], [], lambda x: x.flatten()


@operation
def transpose(pick):
    a = pick.ranked()
    d, e = pick.axis(a), pick.axis(a)
    return [a], [d, e], lambda x: x.transpose(d, e)


@operation
def permute(pick):
    a = pick.ranked()
    order = pick.random.sample(range(pick.values[a].dim()), pick.values[a].dim())
    return [a], order, lambda x: x.permute(order)


@operation
def movedim(pick):
    a = pick.ranked()
    d, e = pick.axis(a), pick.axis(a)
    return [a], [d, e], lambda x: x.movedim(d, e)


@operation
def squeeze(pick):
    return [pick.any()], [], torch.squeeze


@operation
def expand(pick):
    a = pick.any(range(4))
    shape = [pick.below(3) + 1, *(pick.below(3) + 1 if n == 1 else n for n in pick.values[a].shape)]
    return [a], shape, lambda x: x.expand(shape)


@operation
def select(pick):
    a = pick.ranked()
    axis = pick.axis(a)
    at = pick.below(2 * pick.extent(a, axis)) - pick.extent(a, axis)
    return [a], [axis, at], lambda x: x.select(axis, at)


@operation
def slice_(pick):
    a = pick.ranked()
    axis = pick.below(pick.values[a].dim())
    start = pick.below(pick.extent(a, axis))
    end = start + 1 + pick.below(pick.extent(a, axis) - start)
    step = 1 + pick.below(3)
    where = (slice(None),) * axis + (slice(start, end, step),)
    return [a], [axis, start, end, step], lambda x: x[where]


@operation
def diagonal(pick):
    return [pick.ranked(2)], [], lambda x: x.diagonal(0, 0, 1)


@operation
def tril(pick):
    return [pick.ranked(2)], [k := pick.below(3) - 1], lambda x: x.tril(k)


@operation
def triu(pick):
    return [pick.ranked(2)], [k := pick.below(3) - 1], lambda x: x.triu(k)


@operation
def diag_embed(pick):
    a = pick.among(lambda v: v.dim() in (1, 2) and v.numel() <= 8)
    return [a], [k := pick.below(3) - 1], lambda x: torch.diag_embed(x, k)


@operation
def roll(pick):
    a = pick.ranked()
    axis, shift = pick.axis(a), pick.below(7) - 3
    return [a], [shift, axis], lambda x: x.roll(shift, axis)


@operation
def rot90(pick):
    return [pick.any(range(2, 3))], [k := pick.below(5) - 2], lambda x: x.rot90(k)


@operation
def unfold(pick):
    a = pick.ranked()
    axis = pick.axis(a)
    size = 1 + pick.below(pick.extent(a, axis))
    step = 1 + pick.below(2)
    return [a], [axis, size, step], lambda x: x.unfold(axis, size, step)


@operation
def as_strided(pick):
    a = pick.among(lambda v: v.numel() >= 4)
    n = pick.values[a].numel()
    shape, strides = [1 + pick.below(3), 1 + pick.below(3)], [pick.below(3), pick.below(3)]
    last = sum((extent - 1) * stride for extent, stride in zip(shape, strides))
    if last >= n:
        raise Impossible
    offset = pick.below(n - last)
    # Locus indexes the elements of x in row-major order.
    return [a], [offset, *shape, *strides], lambda x: x.flatten().clone().as_strided(shape, strides, offset)


@operation
def unbind(pick):
    a = pick.ranked()
    axis = pick.axis(a)
    return [a], [axis, i := pick.below(pick.extent(a, axis))], lambda x: x.unbind(axis)[i]


@operation
def split(pick):
    a = pick.ranked()
    axis = pick.axis(a)
    size = 1 + pick.below(pick.extent(a, axis))
    return [a], [size, axis], lambda x: x.split(size, axis)[-1]


@operation
def chunk(pick):
    a = pick.ranked()
    axis = pick.axis(a)
    return [a], [chunks := 1 + pick.below(3), axis], lambda x: x.chunk(chunks, axis)[0]


@operation
def concat(pick):
    a = pick.ranked()
    axis = pick.below(pick.values[a].dim())

    def fits(v):
        mine = list(pick.values[a].shape)
        return v.dim() == len(mine) and all(v.shape[d] == mine[d] for d in range(len(mine)) if d != axis)

    return [a, pick.among(fits), a], [axis], lambda *x: torch.cat(x, axis)


@operation
def stack(pick):
    a = pick.any(range(4))
    return [a, pick.alike(a)], [axis := pick.below(pick.values[a].dim() + 1)], lambda *x: torch.stack(x, axis)


@operation
def tile(pick):
    a = pick.any(range(4))
    times = [1 + pick.below(2) for _ in range(pick.values[a].dim() or 1)]
    return [a], times, lambda x: x.tile(times)


@operation
def pad(pick):
    mode = pick.below(4)
    a = pick.any(range(2, 5))
    before, after = pick.below(3), pick.below(3)
    if mode and max(before, after) >= pick.extent(a, -1):
        raise Impossible
    name = ["constant", "reflect", "replicate", "circular"][mode]
    return [a], [before, after, mode], lambda x: F.pad(x.reshape(-1, *x.shape[-2:]), (before, after), name).reshape(
        *x.shape[:-1], -1)


# --- Lookups ---------------------------------------------------------------------------------------------------------

@operation
def index_select(pick):
    a = pick.ranked()
    axis = pick.axis(a)
    indices = pick.indices(1 + pick.below(4), pick.extent(a, axis))
    return [a], [axis, *indices], lambda x: x.index_select(axis, torch.tensor(indices))


@operation
def gather(pick):
    a = pick.any(range(2, 3))
    axis = pick.below(2)
    shape = pick.values[a].shape
    indices = pick.indices(shape[0] * shape[1], shape[axis])
    return [a], [axis, *indices], lambda x: x.gather(axis, torch.tensor(indices).reshape(shape))


@operation
def scatter_add(pick):
    a = pick.any(range(2, 3))
    axis, b = pick.below(2), pick.alike(a)
    shape = pick.values[a].shape
    indices = pick.indices(shape[0] * shape[1], shape[axis])
    return [a, b], [axis, *indices], lambda x, y: x.scatter_add(axis, torch.tensor(indices).reshape(shape), y)


@operation
def scatter(pick):
    a = pick.any(range(2, 3))
    axis, b = pick.below(2), pick.alike(a)
    shape = pick.values[a].shape
    lines = [pick.random.sample(range(shape[axis]), shape[axis]) for _ in range(shape[1 - axis])]
    index = torch.tensor(lines) if axis else torch.tensor(lines).T
    return [a, b], [axis, *index.flatten().tolist()], lambda x, y: x.scatter(axis, index, y)


@operation
def index_add(pick):
    a = pick.ranked()
    axis = pick.below(pick.values[a].dim())
    b = pick.alike(a)
    indices = pick.indices(pick.extent(a, axis), pick.extent(a, axis))
    return [a, b], [axis, *indices], lambda x, y: x.index_add(axis, torch.tensor(indices), y)


@operation
def index_copy(pick):
    a = pick.ranked()
    axis = pick.below(pick.values[a].dim())
    b = pick.alike(a)
    indices = pick.random.sample(range(pick.extent(a, axis)), pick.extent(a, axis))
    return [a, b], [axis, *indices], lambda x, y: x.index_copy(axis, torch.tensor(indices), y)


@operation
def take(pick):
    a = pick.any()
    indices = pick.indices(1 + pick.below(6), pick.values[a].numel())
    return [a], indices, lambda x: x.take(torch.tensor(indices))


@operation
def masked_select(pick):
    a = pick.any()
    return [a], [], lambda x: x.masked_select(x > 0)


# --- Products --------------------------------------------------------------------------------------------------------

@operation
def matmul(pick):
    a = pick.any(range(1, 4))
    x = pick.values[a]
    b = pick.among(lambda v: v.dim() == 2 and v.shape[0] == x.shape[-1] or v.dim() == 1 and v.shape[0] == x.shape[-1])
    return [a, b], [], lambda u, v: u @ v / 4


@operation
def matmul_transposed(pick):
    return [pick.ranked(2)], [], lambda x: x @ x.mT / 4


@operation
def outer(pick):
    return [pick.any(range(1, 2)), pick.any(range(1, 2))], [], torch.outer


@operation
def einsum(pick):
    a = pick.any(range(2, 3))
    return [a, pick.alike(a)], [], lambda u, v: torch.einsum("ij,kj->ki", u, v) / 4


@operation
def tensordot(pick):
    a = pick.any(range(2, 4))
    return [a, pick.alike(a)], [], lambda u, v: torch.tensordot(u, v, dims=([0, 1], [0, 1])) / 4


@operation
def kron(pick):
    a = pick.among(lambda v: v.numel() <= 6)
    return [a, pick.among(lambda v: v.numel() <= 6)], [], torch.kron


@operation
def cross(pick):
    a = pick.among(lambda v: v.dim() and v.shape[-1] == 3)
    return [a, pick.alike(a)], [], lambda u, v: torch.linalg.cross(u, v)


@operation
def cdist(pick):
    a = pick.any(range(2, 3))
    columns = pick.extent(a, 1)
    b = pick.among(lambda v: v.dim() == 2 and v.shape[1] == columns)
    p = pick.random.choice([1, 2, 3])
    return [a, b], [p], lambda u, v: torch.cdist(u, v + 0.125, p, compute_mode="donot_use_mm_for_euclid_dist")


@operation
def linear(pick):
    a = pick.ranked()
    columns = pick.extent(a, -1)
    w = pick.among(lambda v: v.dim() == 2 and v.shape[1] == columns)
    return [a, w], [], lambda x, w: torch.tanh(F.linear(x, w, torch.full((w.shape[0],), 0.25)))


# --- Normalization and windows ---------------------------------------------------------------------------------------

@operation
def layer_norm(pick):
    a = pick.ranked()
    return [a], [], lambda x: F.layer_norm(x, x.shape[-1:], eps=0.5)


@operation
def rms_norm(pick):
    a = pick.ranked()
    return [a], [], lambda x: F.rms_norm(x, x.shape[-1:], eps=0.5)


@operation
def group_norm(pick):
    a = pick.among(lambda v: v.dim() >= 3 and v.shape[1] % 2 == 0)
    return [a], [2], lambda x: F.group_norm(x, 2, eps=0.5)


@operation
def instance_norm(pick):
    a = pick.among(lambda v: v.dim() >= 3 and v[0, 0].numel() > 1)
    return [a], [], lambda x: F.instance_norm(x, eps=0.5)


@operation
def batch_norm(pick):
    a = pick.among(lambda v: v.dim() >= 2 and v.numel() > v.shape[1])
    return [a], [], lambda x: F.batch_norm(x, None, None, training=True, eps=0.5)


def images(pick, extent=2):
    return pick.among(lambda v: v.dim() == 4 and v.shape[2] >= extent and v.shape[3] >= extent)


@operation
def conv2d(pick):
    a = images(pick)
    channels = pick.extent(a, 1)
    w = pick.among(lambda v: v.dim() == 4 and v.shape[1] == channels)
    stride, padding = 1 + pick.below(2), pick.below(3)
    return [a, w], [stride, padding], lambda x, w: F.conv2d(x, w, stride=stride, padding=padding) / 4


@operation
def conv1d(pick):
    a = pick.any(range(3, 4))
    channels = pick.extent(a, 1)
    w = pick.among(lambda v: v.dim() == 3 and v.shape[1] == channels)
    return [a, w], [padding := pick.below(3)], lambda x, w: F.conv1d(x, w, padding=padding) / 4


@operation
def conv_transpose2d(pick):
    a = images(pick, 1)
    channels = pick.extent(a, 1)
    w = pick.among(lambda v: v.dim() == 4 and v.shape[0] == channels)
    stride = 1 + pick.below(2)
    return [a, w], [stride], lambda x, w: F.conv_transpose2d(x, w, stride=stride) / 4


@operation
def max_pool2d(pick):
    return [images(pick)], [stride := 1 + pick.below(2)], lambda x: F.max_pool2d(x, 2, stride, 1)


@operation
def avg_pool2d(pick):
    return [images(pick)], [stride := 1 + pick.below(2)], lambda x: F.avg_pool2d(x, 2, stride, 1)


@operation
def adaptive_avg_pool2d(pick):
    return [images(pick)], [h := 1 + pick.below(2), w := 1 + pick.below(2)], lambda x: F.adaptive_avg_pool2d(x, (h, w))


@operation
def im2col(pick):
    return [images(pick)], [padding := pick.below(2)], lambda x: F.unfold(x, 2, padding=padding)


@operation
def interpolate_nearest(pick):
    return [images(pick)], [h := 1 + pick.below(4), w := 1 + pick.below(4)], lambda x: F.interpolate(x, (h, w))


@operation
def interpolate_bilinear(pick):
    a, h, w, corners = images(pick), 1 + pick.below(4), 1 + pick.below(4), pick.flag()
    return [a], [h, w, corners], lambda x: F.interpolate(x, (h, w), mode="bilinear", align_corners=bool(corners))


@operation
def attention(pick):
    a = pick.any(range(3, 5))
    k = pick.alike(a)
    causal = pick.flag()
    return [a, k, pick.alike(a)], [causal], lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=bool(causal))


# --- Losses ----------------------------------------------------------------------------------------------------------

REDUCTIONS = ["none", "mean", "sum"]


def against_target(pick, function):
    a = pick.any()
    b = pick.alike(a)
    reduction = pick.below(3)
    return [a, b], [reduction], lambda x, y: function(x, y.detach(), reduction=REDUCTIONS[reduction])


functions({
    "mse_loss": F.mse_loss, "l1_loss": F.l1_loss, "huber_loss": F.huber_loss,
    "smooth_l1_loss": F.smooth_l1_loss,
    "binary_cross_entropy_with_logits": lambda x, y, reduction: F.binary_cross_entropy_with_logits(
        x, torch.sigmoid(y), reduction=reduction),
    "kl_div": lambda x, y, reduction: F.kl_div(x, torch.sigmoid(y), reduction=reduction),
}, against_target)


def labelled(pick, function):
    a = pick.any(range(2, 3))
    labels = pick.indices(pick.extent(a, 0), pick.extent(a, 1))
    reduction = pick.below(3)
    return [a], [reduction, *labels], lambda x: function(x, torch.tensor(labels), reduction=REDUCTIONS[reduction])


functions({
    "cross_entropy": F.cross_entropy,
    "cross_entropy_smooth": lambda x, y, reduction: F.cross_entropy(x, y, reduction=reduction, label_smoothing=0.2),
    "nll_loss": F.nll_loss,
}, labelled)


@operation
def linear_cross_entropy(pick):
    a = pick.any(range(2, 3))
    w = pick.among(lambda v: v.dim() == 2 and v.shape[1] == pick.extent(a, 1))
    labels = pick.indices(pick.extent(a, 0), pick.extent(w, 0))
    reduction = pick.below(3)
    return [a, w], [reduction, *labels], lambda x, y: F.cross_entropy(x @ y.mT, torch.tensor(labels), reduction=REDUCTIONS[reduction])


# --- Programs --------------------------------------------------------------------------------------------------------

def acceptable(value):
    return 0 < value.numel() <= MOST_ELEMENTS and value.dim() <= 6 and bool(value.isfinite().all()) and value.abs().max() < 30


def run(inputs, steps):
    values = list(inputs)
    for _, operands, _, function in steps:
        values.append(function(*(values[i] for i in operands)))
    return values


def gradients(inputs, steps):
    leaves = [x.clone().requires_grad_() for x in inputs]
    values = run(leaves, steps)
    if not values[-1].requires_grad:
        return [torch.zeros_like(x) for x in leaves]
    found = torch.autograd.grad(weighted_sum(values[-1]), leaves, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(leaves, found)]


SHAPES = [[2, 3], [3, 4], [4, 3], [3, 3], [6], [3], [5], [2, 4, 3], [2, 2, 3, 3], [2, 2, 2, 2], [1, 2, 4, 3], [2, 1, 3], []]


def some_inputs(pick):
    shape = pick.random.choice(SHAPES)
    shapes = [shape, shape]
    if pick.flag():
        shapes.append(pick.random.choice(SHAPES))
    return [torch.tensor([(pick.below(4000) - 1999.5) / 1000 for _ in range(math.prod(s))]).reshape(s) for s in shapes]


def program(seed, last):
    """Inputs, steps, values and gradients of a program that ends in this operation; None if it is impossible."""
    pick = Pick(seed)
    inputs = some_inputs(pick)
    pick.values = list(inputs)
    steps = []
    names = [*pick.random.choices(list(OPERATIONS), k=pick.below(5)), last]
    for name in names:
        try:
            operands, arguments, function = OPERATIONS[name](pick)
            value = function(*(pick.values[i] for i in operands))
        except (Impossible, RuntimeError):  # raised by PyTorch: a kernel larger than its image
            if name == last:
                return None
            continue
        if not acceptable(value):
            if name == last:
                return None
            continue
        pick.values.append(value.detach())
        steps.append((name, operands, arguments, function))
    if any(((0 < value.abs()) & (value.abs() < 1e-9)).any() for value in pick.values):
        return None  # only rounding errors, whose sign may decide
    found = gradients(inputs, steps)
    moved = [x + 1e-9 * torch.tensor([pick.random.choice([-1, 1]) for _ in range(x.numel())]).reshape(x.shape) for x in inputs]
    nearby, values_nearby = gradients(moved, steps), run(moved, steps)
    for here, there in zip([*found, *pick.values], [*nearby, *values_nearby]):
        if here.shape != there.shape or not here.isfinite().all() or (here - there).abs().max() > 1e-5 or here.abs().max() > 1e3:
            return None
    return inputs, steps, pick.values, found


def text_of(number, made):
    inputs, steps, values, found = made
    lines = [f"program {number}"]
    for x in inputs:
        lines.append(" ".join(["input", *map(str, x.shape), ":", numbers(x.flatten().tolist())]))
    for (name, operands, arguments, _), value in zip(steps, values[len(inputs):]):
        lines.append(" ".join([name, *(f"v{i}" for i in operands), ",", *(f"{a:.12g}" for a in arguments), ":",
                               *map(str, value.shape), ":", f"{weighted_sum(value).item():.12g}"]))
    for i, gradient in enumerate(found):
        lines.append(f"gradient v{i} : {numbers(gradient.flatten().tolist())}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "programs.txt")
    options = parser.parse_args()
    texts, number = [], options.seed * 1_000_000
    for name in OPERATIONS:
        left, tries = options.each, 0
        while left > 0:
            number, tries = number + 1, tries + 1
            if tries > 3000:
                raise SystemExit(f"{name}: no program ends in it")
            made = program(number, name)
            if made:
                texts.append(text_of(number, made))
                left -= 1
    options.out.write_text(f"# written by make_programs.py with PyTorch {torch.__version__.split('+')[0]}\n" + "".join(texts))
    print(f"{len(texts)} programs, {len(OPERATIONS)} operations, {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
