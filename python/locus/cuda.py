"""The functions of `locus` for tensors on a GPU, in a package that was built with CUDA.

    import locus.cuda as lc

    x = lc.asarray(torch.rand(1000, 100, device="cuda"))   # shares memory
    y = lc.softmax(x, axis=-1)                              # a locus.cuda.Tensor
    y.to("cpu").numpy()

A tensor on the host is a locus.Tensor, one on a GPU a locus.cuda.Tensor; each has the functions of its module. locus.linalg
is for the host alone.
"""

from typing import Any, Optional

import locus
from locus._types import DtypeLike as DtypeLike

try:
    from locus._cuda import *  # noqa: F403
    from locus._cuda import Tensor as Tensor
    from locus._cuda import from_dlpack as from_dlpack
except ModuleNotFoundError as error:
    if error.name != "locus._cuda":
        raise
    raise ImportError(
        "this package was built for Cpu alone; build it with pip wheel ./python -Csetup-args=-Dcuda=enabled"
    ) from error


def asarray(x: Any, dtype: Optional[DtypeLike] = None) -> Tensor:
    """A Tensor that shares the memory of an array on a GPU; of an array on the host, or of numbers and lists, a copy."""
    on_gpu = hasattr(x, "__dlpack_device__") and x.__dlpack_device__()[0] in (2, 13)  # DLPack's kDLCUDA, kDLCUDAManaged
    tensor = from_dlpack(x) if on_gpu else locus.asarray(x).to("cuda")
    return tensor if dtype is None else tensor.astype(dtype)
