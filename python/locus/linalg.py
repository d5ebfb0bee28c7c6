"""Linear algebra, by LAPACK of SciPy, which has to be installed."""

from locus._core import linalg_cholesky as cholesky
from locus._core import linalg_det as det
from locus._core import linalg_eigh as eigh
from locus._core import linalg_eigvalsh as eigvalsh
from locus._core import linalg_inv as inv
from locus._core import linalg_lstsq as lstsq
from locus._core import linalg_qr as qr
from locus._core import linalg_slogdet as slogdet
from locus._core import linalg_solve as solve
from locus._core import linalg_svd as svd
from locus._core import linalg_svdvals as svdvals

__all__ = ["cholesky", "det", "eigh", "eigvalsh", "inv", "lstsq", "qr", "slogdet", "solve", "svd", "svdvals"]
