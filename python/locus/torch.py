"""Locus's functions for PyTorch: they take and return torch.Tensors, and record gradients for torch.autograd.

    import locus.torch as lt

    y = lt.layer_norm(x, 64, weight, bias)   # x.requires_grad: y.sum().backward() fills x.grad
    values, indices = lt.sort(scores)

Every function of `locus` and `locus.linalg` (as lt.linalg_solve) is there by its name. Memory is shared both ways.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

import torch

from locus import _core

_OWN = {"from_dlpack", "variable"}  # torch.from_dlpack and requires_grad are PyTorch's
__all__ = [name for name in dir(_core) if callable(getattr(_core, name)) and name[0].islower() and name not in _OWN]


def _flattened(value: Any, tensors: list[torch.Tensor]) -> Any:
    """The value with each torch.Tensor replaced by its place in `tensors`, to which it is added."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return _Place(len(tensors) - 1)
    if isinstance(value, (list, tuple)):
        return _like(value, [_flattened(part, tensors) for part in value])
    return value


class _Place:
    def __init__(self, number: int):
        self.number = number


def _filled(value: Any, tensors: list[Any]) -> Any:
    if isinstance(value, _Place):
        return tensors[value.number]
    if isinstance(value, (list, tuple)):
        return _like(value, [_filled(part, tensors) for part in value])
    return value


def _to_torch(result: Any) -> Any:
    if isinstance(result, _core.Tensor):
        return torch.from_dlpack(result.detach())
    if isinstance(result, (list, tuple)):
        return _like(result, [_to_torch(part) for part in result])
    return result


def _like(result: Any, parts: Any) -> Any:
    """The parts as a list, a tuple or a named tuple, as the result is."""
    return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)


class _Recorded(torch.autograd.Function):
    """A function of Locus as a node of PyTorch's graph: the backward pass is Locus's."""

    @staticmethod
    def forward(ctx, function, args, options, form, *tensors):
        given = [
            _core.variable(x.detach()) if needed else x.detach()
            for x, needed in zip(tensors, ctx.needs_input_grad[4:])
        ]
        result = function(*_filled(args, given), **{name: _filled(value, given) for name, value in options.items()})
        parts = result if isinstance(result, (list, tuple)) else [result]
        outputs = [_to_torch(part) for part in parts]
        ctx.given, ctx.parts = given, parts
        ctx.save_for_backward(*tensors, *outputs)  # PyTorch then refuses a backward pass after a change in place
        ctx.mark_non_differentiable(*(y for y, part in zip(outputs, parts) if not part.requires_grad))
        ctx.set_materialize_grads(False)
        form.append(result)
        return tuple(outputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *cotangents):
        _ = ctx.saved_tensors  # checks for changes in place; Locus has its own references to the memory
        variables = [x for x in ctx.given if isinstance(x, _core.Tensor)]
        for x in variables:
            x.zero_grad()
        for part, cotangent in zip(ctx.parts, cotangents):
            if part.requires_grad and cotangent is not None:
                part.backward(cotangent.detach(), retain_graph=True)
        gradients = [x.grad if isinstance(x, _core.Tensor) else None for x in ctx.given]
        return (None, None, None, None, *(None if g is None else torch.from_dlpack(g) for g in gradients))


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        tensors: list[torch.Tensor] = []
        flat_args, flat_options = _flattened(args, tensors), {k: _flattened(v, tensors) for k, v in options.items()}
        if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
            form: list[Any] = []
            parts = _Recorded.apply(function, flat_args, flat_options, form, *tensors)
            return _like(form[0], parts) if isinstance(form[0], (list, tuple)) else parts[0]
        plain = [x.detach() for x in tensors]
        return _to_torch(function(*_filled(flat_args, plain), **{k: _filled(v, plain) for k, v in flat_options.items()}))

    return call


for _name in __all__:
    globals()[_name] = _wrapped(getattr(_core, _name))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...
