"""Types of arguments, for annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Union, runtime_checkable

if TYPE_CHECKING:
    import numpy

    from locus._core import Tensor


@runtime_checkable
class SupportsDLPack(Protocol):
    """An array of another library: of NumPy, PyTorch, JAX, CuPy."""

    def __dlpack__(self) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


ArrayLike = Union["Tensor", SupportsDLPack, float]
DtypeLike = Union[str, "numpy.dtype[Any]", type, Any]
