"""In-place variants: a result written over its first argument, and what that does to histories and tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.dispatch_keys import COMPOSITE_IMPLICIT, CPU
from runtime import ops
from runtime.base import class_dispatch, modes
from runtime.base.array_proxies import overwrite, tensor_over
from runtime.base.arrays import is_half
from runtime.base.dtypes import from_numpy
from runtime.base.memory import repeats
from runtime.base.modes import grad_mode, plain_types, process_handlers, thread_handlers, unrecorded
from runtime.base.sharing import check_captured, counter, shares, transforms
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor
from runtime.call.facts import any_has_history, tensors_at
from runtime.call.general import (
    Constant,
    NotDifferentiable,
    call_override,
    call_values,
    choose,
    compute,
    give_history,
    has_override,
    only_inference_is_unusual,
    performed,
    show_recorded,
)
from runtime.call.guards import real_numbers
from runtime.call.kernel_table import call_composite
from runtime.call.placing import placed
from runtime.call.promote import check_castable, promoted_dtype_of
from runtime.devices.tensor import check_views
from runtime.graph import forward, jvp, overlap, views, zero_tensors
from runtime.graph.node import Node

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

# Kinds of promotion whose dtype is that of the result.
_PROMOTED_RESULTS = frozenset(("default", "int_to_float", "bool_to_int"))


def write_inplace(operator: Operator, *args: Any) -> Tensor:
    """`self` overwritten with the result, as `add_` does; a view operator such as `t_` makes `self` the view.

    Raises:
        RuntimeError: the result does not fit into `self` by shape or dtype, or `self` must not be written.
    """
    if transforms.captured and args:
        check_captured(args[0], _inplace_name(operator))
    if not grad_mode.enabled and _took_fast_path(operator, args):
        return args[0]  # type: ignore[no-any-return]
    values = operator.signature.bind(args[: operator.signature.positional], operator.by_name(args))
    written: Tensor = performed(operator, "inplace", values, _write if operator.view is None else _become_view)
    return written


def _inplace_name(operator: Operator) -> str:
    """`aten::add_.Tensor`, as PyTorch calls the in-place variant."""
    base, dot, overload = (operator.of_tensors or operator.name).partition(".")
    base = base.removeprefix(f"{operator.namespace}::")
    return f"{operator.namespace}::{base if base.endswith('_') else f'{base}_'}{dot}{overload}"


def _write(operator: Operator, values: list[Any]) -> Tensor:
    target: Tensor = values[0]
    if operator.inplace_formula is not None and operator.kernels is operator.built_in:
        return _write_as_other(operator, operator.inplace_formula, values)
    zero_tensors.make_numbers(target)
    values = [target, *map(zero_tensors.as_numbers, values[1:])]
    recorded = is_recorded(operator, values)
    views.check_inplace(target, recorded, operator.one_value)
    overlap.check_partial_overlap(target, tensors_at(values, range(1, len(values))), operator.exclusive)
    check_promoted(operator, values, target)
    if operator.traced is not None:
        before = _snapshot(target) if recorded else target
        result = call_composite(operator, operator.traced, [before, *values[1:]])
        check_fits(operator, result._array, target)
        written = ops.copy_(target, result)
        if recorded and written._edge is None:
            views.rebase_history(target, Constant(written, [before, *tensors_at(values, range(1, len(values)))]))
        return written
    backend, values = placed(operator, values)
    result = None if has_override(values) else _result(operator, backend, values)
    history = History(operator, values, recorded)
    check_views(target, recorded)
    if result is None:
        _hand_over(operator, values)
    else:
        overwrite(target._array, result)
        views.bump_version(target)
    history.give()
    return target


def _write_as_other(operator: Operator, formula: Callable[..., Any], values: list[Any]) -> Tensor:
    """The in-place variant of the operator that this one is another name for, as long as it has no other kernel."""
    written: Tensor = call_composite(operator, formula, values)
    return written


def is_recorded(operator: Operator, values: Sequence[Any], position: int = 0) -> bool:
    """Whether a call that writes the Tensor at `position` gives it a history."""
    target: Tensor = values[position]
    if not grad_mode.enabled or target._array.dtype.kind in "biu":
        return False
    # Composite operators do not say in which arguments they are differentiable: all Tensors may be.
    positions = range(len(values)) if operator.traced is not None else operator.written_positions
    return target._edge is not None or any_has_history(values, positions)


def check_promoted(operator: Operator, values: Sequence[Any], target: Tensor) -> None:
    """Refuse to write where the dtype that arguments are brought to can not be cast to that of the target."""
    if operator.promotion is not None and operator.promotion[0] in _PROMOTED_RESULTS:
        check_castable(operator, promoted_dtype_of(operator, values), target)


class History:
    """What becomes of the history and the tangents of a Tensor that a call writes and gives back.

    It is made before the write, when the values that derivatives read are still there; `give` follows the write.

    Args:
        operator: what is called.
        values: its arguments.
        recorded: whether the write is recorded.
        position: where the Tensor stands among the arguments.
    """

    __slots__ = ("_before", "_carried", "_operator", "_others", "_position", "_recorded", "_values")

    def __init__(self, operator: Operator, values: list[Any], recorded: bool, position: int = 0) -> None:
        target: Tensor = values[position]
        self._operator, self._values, self._position, self._recorded = operator, values, position, recorded
        self._carried = forward.active() and (jvp.carried(operator, values) or forward.any_tangent([target]))
        if not recorded and not self._carried:
            return
        self._before = _snapshot(target) if operator.saves_self else _alias(target)
        if self._carried:
            if self._before._extra is None:
                forward.copy_tangents(target, self._before)
            others = [*values[:position], None, *values[position + 1 :]]
            self._others = [_unshared(value, target) for value in others]

    def give(self) -> None:
        """Give the Tensor, just written, its new history and its new tangents."""
        if not self._recorded and not self._carried:
            return
        position = self._position
        target = self._values[position]
        written = _alias(target)
        written._edge = None
        if self._recorded:
            values = [*self._values[:position], self._before, *self._values[position + 1 :]]
            _record_write(self._operator, target, written, values, position)
        if self._carried:
            others = [*self._others[:position], self._before, *self._others[position + 1 :]]
            jvp.apply(self._operator, written, others, self._operator.record_inplace)
            jvp.overwrite(target, written)


def _result(operator: Operator, backend: str, values: list[Any]) -> np.ndarray[Any, Any]:
    """What the kernel gives, which fits into the first argument."""
    result: np.ndarray[Any, Any] = compute(operator, choose(operator, backend)[1], values)._array
    check_fits(operator, result, values[0])
    return result


def _hand_over(operator: Operator, values: list[Any]) -> None:
    """Let the newest handler of `modes.handle_kernels` do the write, which counts even if it does not.

    What it gives is of no interest, as in PyTorch.
    """
    writes = counter(values[0])
    before = None if writes is UNTRACKED else writes[0]
    with forward.suspended(), unrecorded():
        call_override(operator, "inplace", values)
    if before is not None and writes[0] == before:
        views.bump_version(values[0])


def _become_view(operator: Operator, values: list[Any]) -> Tensor:
    """Let `self` be the view of itself, over the same memory; that counts as a write."""
    target: Tensor = values[0]
    if operator.inplace_formula is not None and operator.kernels is operator.built_in:
        return _write_as_other(operator, operator.inplace_formula, values)
    needs_grad = grad_mode.enabled and target._edge is not None and target._array.dtype.kind not in "biu"
    views.check_inplace(target, needs_grad, one_value=True)
    before = _alias(target)
    forward.share_tangents(target, before)
    if has_override(values) and choose(operator, placed(operator, values)[0])[0] != COMPOSITE_IMPLICIT:
        _hand_over(operator, values)
        if target._array is before._array:
            return target  # the handler left it as it was
        out = views.view_of(target._array, before)
        give_history(operator, out, [before, *values[1:]])
        views.take_history(target, out, needs_grad)
    else:
        out = call_values(operator, [before, *values[1:]])
        views.become(target, out, needs_grad)
    forward.share_tangents(out, target)
    return target


def _record_write(operator: Operator, target: Tensor, written: Tensor, values: Sequence[Any], position: int) -> None:
    """Give `target`, just written, its new history; of `values` that at `position` is the Tensor as it was before, with
    the old one, and `written` gets the new Node.
    """
    tensors = tensors_at(values, [i for i in range(len(values)) if i != position])
    if operator.record_inplace is not None:
        shared = target._writes
        assert shared is not None
        # Arguments over the memory that was just written are saved as they were before: using them must fail.
        overwritten = [tensor for tensor in tensors if tensor._writes is shared]
        for tensor in overwritten:
            tensor._writes = [shared[0] - 1]
        try:
            operator.record_inplace(written, *values)
        finally:
            for tensor in overwritten:
                tensor._writes = shared
    elif operator.never_differentiable:
        written._edge = Constant(written, [values[position], *tensors])
    else:
        written._edge = NotDifferentiable(operator.name, written)
    node = written._edge
    if isinstance(node, Node):
        if thread_handlers.recorded or process_handlers.recorded:
            show_recorded(written)
        views.rebase_history(target, node)


def _took_fast_path(operator: Operator, args: Sequence[Any]) -> bool:
    """The fast path of an in-place write that is not recorded, such as an optimizer's: whether it was taken."""
    target = args[0]
    promoted = operator.promotion is not None and operator.promotion[0] == "default"
    plain = plain_types if grad_mode.inference and only_inference_is_unusual(operator) else modes.plain
    if not promoted or type(target) not in plain or CPU not in operator.kernels:
        return False
    array = target._array
    dtype = array.dtype
    if dtype.kind != "f" or is_half(dtype) or target._base is not None or repeats(array):
        return False
    if operator.dtypes is not None and ("half" if dtype.itemsize == 2 else "float") not in operator.dtypes[0]:
        return False
    if target._writes is UNTRACKED and not grad_mode.inference:
        return False
    values = [array]
    for value in args[1:]:
        if type(value) in plain:
            if value._array.dtype is not dtype or value._base is target:
                return False
            values.append(value._array)
        elif type(value) in real_numbers:
            values.append(value)
        else:
            return False
    try:
        result = operator.kernels[CPU](*values)
    except Exception:
        return False  # the general path says what is wrong
    if type(result) is not np.ndarray or result.dtype is not dtype or result.shape != array.shape:
        return False
    np.copyto(array, result)
    views.bump_version(target)
    return True


def _snapshot(tensor: Tensor) -> Tensor:
    """`tensor` as it is now, for a derivative that needs the value that is about to be overwritten."""
    if class_dispatch.overriding_types((tensor,)):
        with unrecorded():
            copy = tensor.clone()
    else:
        copy = tensor_over(tensor._array.copy())
    copy._edge = tensor._edge
    if forward.active():
        forward.copy_tangents(tensor, copy)
    return copy


def _unshared(value: Any, target: Tensor) -> Any:
    """An argument for the forward formula: as it was, where `target` is about to overwrite it."""
    if isinstance(value, list):
        return [_unshared(item, target) for item in value]
    if not isinstance(value, Tensor):
        return value
    return _snapshot(value) if shares(value, target) else value


def check_fits(operator: Operator, result: np.ndarray, target: Tensor) -> None:
    """Refuse a result that the Tensor to be written cannot hold, by dtype or shape."""
    check_castable(operator, from_numpy(result.dtype), target)
    if result.shape != target._array.shape:
        raise RuntimeError(
            f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(result.shape)}"
            f"\n  schema: {operator.schema}"
        )


def _alias(tensor: Tensor) -> Tensor:
    """Another Tensor over the same memory, version and history."""
    alias = tensor_over(tensor._array)
    alias._writes = tensor._writes
    alias._edge = tensor._edge
    return alias
