"""Locus's exceptions. Each is also one of Python's own, so that `except ValueError` works, too."""


class Error(Exception):
    """Base of all exceptions of Locus. The message names the given value, the expected one, and the remedy."""


class ShapeError(Error, ValueError):
    """Ranks or extents that do not fit."""


class ArgumentError(Error, ValueError):
    """An option or argument outside its range."""


class IndexError(Error, IndexError):  # noqa: A001
    """An index, axis or label out of range."""


class NumericError(Error, ArithmeticError):
    """NaN or infinity where a finite number is needed; a matrix that is singular or not positive definite."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed; the program may go on."""


class CudaUnavailable(Error, RuntimeError):
    """Memory of a GPU, in a build for the CPU."""


class GraphError(Error, RuntimeError):
    """A backward pass that cannot be run."""


class StaleError(Error, RuntimeError):
    """A tensor changed in place before its pending use."""
