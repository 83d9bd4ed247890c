"""Variants with `out=`: the result written into Tensors that are given."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.dispatch_keys import COMPOSITE_IMPLICIT
from runtime.base.array_proxies import NonHostArray, overwrite
from runtime.base.describe import describe
from runtime.base.dtypes import from_numpy
from runtime.base.modes import grad_mode, unrecorded
from runtime.base.tensor import Tensor
from runtime.base.types import DType, named_result
from runtime.call.facts import tensors_at
from runtime.call.general import call_override, choose, has_override, performed
from runtime.call.kernel_table import backend_of
from runtime.call.promote import check_castable
from runtime.graph import forward, overlap, views

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def write_out(operator: Operator, out: Any, *args: Any) -> Any:
    """The result written into the given Tensors.

    Raises:
        RuntimeError: a Tensor requires grad, or the result can not be cast.
    """
    values = operator.signature.bind(args[: operator.signature.positional], operator.by_name(args))
    targets = list(out) if isinstance(out, (list, tuple)) else [out]
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(f"{operator.name}(): argument 'out' must be Tensor, not {describe(target)}")
    written = performed(operator, "out", [targets, *values], _write)
    if written is not targets:
        return written
    names = operator.facts.result_names
    return named_result(f"{operator.signature.name}_out", names)(targets) if names else out


def _write(operator: Operator, all_values: list[Any]) -> Any:
    targets: list[Tensor]
    targets, *values = all_values
    tensors = [*tensors_at(values, range(len(values))), *targets]
    if grad_mode.enabled and any(tensor._edge is not None for tensor in tensors):
        raise RuntimeError(
            f"{operator.signature.name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    if forward.active() and forward.any_tangent(tensors):
        raise NotImplementedError(
            f"Trying to use forward AD with {operator.signature.name}_out that does not support it because it is an "
            "out= function"
        )
    if has_override(tensors) and choose(operator, backend_of(tensors))[0] != COMPOSITE_IMPLICIT:
        with unrecorded():
            call_override(operator, "out", all_values)
        return targets
    if operator.out_dtype == "given":
        values = _asked_for(operator, targets[0].dtype, values)
    results = operator.entry(*values[: operator.signature.positional], **operator.keywords(values))
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if len(results) != len(targets):
        raise TypeError(f"{operator.name}(): out has {len(targets)} Tensors, the result {len(results)}")
    # An output that a mask left out is None.
    pairs = [(target, out._array) for target, out in zip(targets, results, strict=True) if out is not None]
    inputs = tensors_at(values, range(len(values)))
    for target, array in pairs:
        views.check_tracked(target)
        if type(target._array) is not type(array):
            raise RuntimeError(
                f"{operator.name}(): Expected all tensors to be on the same device, but out is on {target.device}"
            )
        _check_out_dtype(operator, array, target)
        if target._array.shape == array.shape:
            overlap.check_overlap(target, inputs, operator.exclusive)
    for target, array in pairs:
        if target._array.shape != array.shape:
            _resize(target, array)
        overwrite(target._array, array)
        views.bump_version(target)
    return targets


def _asked_for(operator: Operator, dtype: DType, values: Sequence[Any]) -> list[Any]:
    """The values, with the dtype of `out=` where none is given."""
    place = operator.names.index("dtype")
    asked = values[place]
    if asked not in (None, dtype, operator.signature.parameters[place].default):
        raise RuntimeError(
            f"{operator.signature.name}(): dtype {asked} does not match dtype of out parameter ({dtype})"
            f"\n  schema: {operator.schema}"
        )
    return [*values[:place], dtype, *values[place + 1 :]]


def _check_out_dtype(operator: Operator, result: np.ndarray, target: Tensor) -> None:
    if operator.out_dtype == "cast":
        check_castable(operator, from_numpy(result.dtype), target)
    elif result.dtype is not target._array.dtype and result.dtype != target._array.dtype:
        raise RuntimeError(
            f"Expected out tensor to have dtype {from_numpy(result.dtype).name}, but got "
            f"{from_numpy(target._array.dtype).name} instead\n  schema: {operator.schema}"
        )


def _resize(target: Tensor, array: np.ndarray) -> None:
    """Give a Tensor that is about to be written memory of another shape."""
    if target._array.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(target._array.shape)}, which "
            f"does not match the required output shape {list(array.shape)}. This behavior is deprecated, and in a "
            "future PyTorch release outputs will not be resized unless they have zero elements. You can explicitly "
            "reuse an out tensor t by making it one of zero elements.",
            UserWarning,
            stacklevel=5,
        )
    if isinstance(target._array, NonHostArray):
        target._array = array.copy()
    else:
        target._array = np.empty_like(array, target._array.dtype)
