"""Fast functions of tensors, with gradients: the C++ library Locus for Python.

Operands are tensors of Locus, NumPy arrays, PyTorch tensors, and all objects with __dlpack__; their memory is shared.
Results are tensors of Locus, which other libraries read without a copy, too.
"""

from typing import TYPE_CHECKING, Any, Optional

from locus._core import *  # noqa: F403
from locus._core import Tensor as Tensor
from locus._core import from_dlpack as from_dlpack
from locus._errors import ArgumentError as ArgumentError
from locus._errors import CudaUnavailable as CudaUnavailable
from locus._errors import Error as Error
from locus._errors import GraphError as GraphError
from locus._errors import IndexError as IndexError
from locus._errors import NumericError as NumericError
from locus._errors import OutOfMemory as OutOfMemory
from locus._errors import ShapeError as ShapeError
from locus._errors import StaleError as StaleError
from locus._types import ArrayLike as ArrayLike
from locus._types import DtypeLike as DtypeLike
from locus._types import SupportsDLPack as SupportsDLPack

__version__ = "0.1.0"


if TYPE_CHECKING:
    from locus import linalg as linalg
else:

    def __getattr__(name):
        """locus.linalg, imported by its first use."""
        if name != "linalg":
            raise AttributeError(f"module 'locus' has no attribute {name!r}")
        import importlib

        return importlib.import_module("locus.linalg")


def asarray(x: Any, dtype: Optional[DtypeLike] = None) -> Tensor:
    """A Tensor that shares the memory of an array; of numbers and lists, which NumPy reads, a new one."""
    if not (isinstance(x, Tensor) or hasattr(x, "__dlpack__")):
        import numpy

        x = numpy.asarray(x)
    tensor = from_dlpack(x)
    return tensor if dtype is None else tensor.astype(dtype)
