"""Gradients that PyTorch has kernels of their own for, and that follow here from operators: the engine computes them.

They go through the composite functions themselves, since the operators of these names have PyTorch's formulas here.

Names and parameters are those of PyTorch's native_functions.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar
from runtime.graph.backward import grad as gradients
from runtime.graph.grad_mode import enable_grad, is_grad_enabled
from runtime.operators.composite.indexing import segment_reduce


def _through(
    function: Callable[..., Tensor | list[Tensor]],
    inputs: Sequence[Tensor],
    cotangent: Tensor | list[Tensor],
    wanted: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    """The vjp of a function of operators, differentiable again where gradients are recorded."""
    create_graph = is_grad_enabled()
    with enable_grad():
        given = [tensor if tensor.requires_grad else tensor.detach().requires_grad_() for tensor in inputs]
        result = function(*map(_wide, given))
    asked = [tensor for tensor, needed in zip(given, wanted, strict=True) if needed]
    seeds = [_wide(each) for each in cotangent] if isinstance(cotangent, list) else _wide(cotangent)
    found = iter(gradients(result, asked, seeds, create_graph=create_graph, allow_unused=True))
    return tuple(next(found) if needed else None for needed in wanted)


def _wide(tensor: Tensor) -> Tensor:
    """Half precision in single precision, in which it is computed and rounded once."""
    return tensor.float() if tensor.dtype in (dtypes.float16, dtypes.bfloat16) else tensor


def _segment_reduce_backward(
    grad: Tensor,
    output: Tensor,
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    initial: Scalar | None = None,
) -> Tensor | None:
    """The gradient of what was reduced."""

    def reduced(given: Tensor) -> Tensor:
        return segment_reduce(given, reduce, lengths=lengths, offsets=offsets, axis=axis, unsafe=True, initial=initial)

    return _through(reduced, (data,), grad, (True,))[0]
