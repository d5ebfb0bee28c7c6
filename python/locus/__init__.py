"""Fast functions of tensors, with gradients: the C++ library Locus for Python.

Operands are tensors of Locus, NumPy arrays, PyTorch tensors, and all objects with __dlpack__; their memory is shared.
Results are tensors of Locus, which other libraries read without a copy, too.
"""

from typing import TYPE_CHECKING

from locus._core import *  # noqa: F403
from locus._core import Tensor, from_dlpack
from locus._errors import (
    ArgumentError,
    CudaUnavailable,
    Error,
    GraphError,
    IndexError,
    NumericError,
    OutOfMemory,
    ShapeError,
    StaleError,
)
from locus._types import ArrayLike, DtypeLike, SupportsDLPack

if TYPE_CHECKING:
    from locus import linalg as linalg

__version__ = "0.1.0"


def __getattr__(name):
    """locus.linalg, imported by its first use."""
    if name != "linalg":
        raise AttributeError(f"module 'locus' has no attribute {name!r}")
    import importlib

    return importlib.import_module("locus.linalg")


def asarray(x, dtype=None) -> Tensor:
    """A Tensor that shares the memory of an array; of numbers and lists, which NumPy reads, a new one."""
    if not (isinstance(x, Tensor) or hasattr(x, "__dlpack__")):
        import numpy

        x = numpy.asarray(x)
    tensor = from_dlpack(x)
    return tensor if dtype is None else tensor.astype(dtype)
