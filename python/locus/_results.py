"""Results of several tensors: named tuples, as `values, indices = locus.sort(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from locus._core import Tensor


class ValuesAndIndices(NamedTuple):
    values: Tensor
    indices: Tensor


class Unique(NamedTuple):
    values: Tensor
    inverse: Tensor
    counts: Tensor


class SignAndLog(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class Qr(NamedTuple):
    q: Tensor
    r: Tensor


class Svd(NamedTuple):
    u: Tensor
    s: Tensor
    vh: Tensor


class Eigh(NamedTuple):
    values: Tensor
    vectors: Tensor
