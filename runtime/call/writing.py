"""Operators that write to arguments, and have a kernel of their own: `damp_(Tensor(a!) self, float f) -> Tensor(a!)`.

A kernel on arrays gets the memory of what it is to write, or a copy of it in the dtype that it computes in, which is
brought back. A result that is an argument holds what the kernel gives for it, be that this memory or another array.
What lies in the memory of something that is written is given to the kernel as a copy, so that it is read as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base.array_proxies import overwrite
from runtime.base.modes import grad_mode, unrecorded
from runtime.base.sharing import check_captured, counter, shares, transforms
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor, wrap
from runtime.call.device_kernels import DeviceKernel
from runtime.call.facts import flat_tensors, tensors_at
from runtime.call.general import call_override, give_history, has_override
from runtime.call.inference import untrack
from runtime.call.inplace import History, check_fits, check_promoted, is_recorded
from runtime.call.kernel_stacks import Kernel
from runtime.call.kernel_table import ArrayKernel, check_results
from runtime.call.meta_kernels import MetaKernel
from runtime.call.promote import run_kernel
from runtime.call.results import as_results, laid_out, wrapped
from runtime.devices.tensor import check_views
from runtime.graph import forward, overlap, views

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def call_writing(operator: Operator, kernel: Kernel, values: list[Any]) -> Any:
    """Call a kernel that writes, count the writes, and give what it wrote and its results history and tangents.

    Raises:
        RuntimeError: an argument must not be written, or what is to be written does not fit into it; or one that is no
            result requires grad, and no formula could say what becomes of its gradient.
        NotImplementedError: such an argument has a tangent; or a backend can not write it.
    """
    back = operator.given_back
    recorded = back is not None and is_recorded(operator, values, back)
    if transforms.captured and back is not None:
        check_captured(values[back], operator.qualified_name)
    for position in operator.targets:
        for target in tensors_at(values, [position]):
            if position == back:
                check_promoted(operator, values, target)
            else:
                _check_no_result(operator, values, position, target)
            views.check_inplace(target, recorded and position == back, operator.one_value)
            check_views(target, recorded and position == back)
            _check_overlap(operator, values, target)
    history = None if back is None else History(operator, values, recorded, back)
    counts = [(target, _count(target)) for target in tensors_at(values, operator.targets)]
    out = _run(operator, kernel, values)
    for target, count in counts:
        if count is not None and _count(target) == count:
            views.bump_version(target)
    if history is None or back is None:
        give_history(operator, out, values)
        return out
    history.give()
    return values[back]


def _check_no_result(operator: Operator, values: list[Any], position: int, target: Tensor) -> None:
    """Refuse to write what has a gradient or a tangent, and is no result that these could belong to."""
    if operator.promotion is not None and position in operator.promoted_positions:
        check_promoted(operator, values, target)
    name = operator.names[position]
    if grad_mode.enabled and target._edge is not None:
        raise RuntimeError(
            f"{operator.qualified_name}: '{name}' requires grad and is overwritten, and no formula says what becomes "
            f"of its gradient: give the detach() of it, or call under no_grad()\n  schema: {operator.schema}"
        )
    if forward.active() and forward.any_tangent([target]):
        raise NotImplementedError(
            f"{operator.qualified_name}: '{name}' has a tangent and is overwritten, and no formula says what becomes "
            f"of that\n  schema: {operator.schema}"
        )


def _check_overlap(operator: Operator, values: list[Any], target: Tensor) -> None:
    """Refuse to write what lies in other places of an argument's memory, or in what is written as well."""
    targets = tensors_at(values, operator.targets)
    written = [other for other in targets if other is not target]
    overlap.check_partial_overlap(target, written, exclusive=True)
    if len(written) < len(targets) - 1:
        raise RuntimeError(
            f"{operator.qualified_name}: one Tensor is given for two arguments that are written"
            f"\n  schema: {operator.schema}"
        )
    read = tensors_at(values, [i for i in range(len(values)) if i not in operator.targets])
    overlap.check_partial_overlap(target, read, operator.exclusive)


def _count(tensor: Tensor) -> int | None:
    """How often a Tensor was written; None where nobody counts."""
    writes = counter(tensor)
    return None if writes is UNTRACKED else writes[0]


def _run(operator: Operator, kernel: Kernel, values: list[Any]) -> Any:
    """Let the kernel, or what stands for it, write; give its results, which are new ones where none is given back."""
    back = operator.given_back
    if has_override(values):
        with forward.suspended(), unrecorded():
            out = check_results(operator, call_override(operator, "call", values))
        return out if back is not None else as_results(operator, out, values)
    if type(kernel) is ArrayKernel:
        return _run_on_arrays(operator, kernel, values)
    if isinstance(kernel, (DeviceKernel, MetaKernel)):
        if operator.targets not in ([], [back]):
            raise NotImplementedError(
                f"{operator.qualified_name}: kernels of other backends than the CPU write nothing, so only what is a "
                f"result can be written there\n  schema: {operator.schema}"
            )
        out = kernel.compute(operator, values)
    else:
        with forward.suspended(), unrecorded():
            out = kernel.run(operator, values)
    if back is None:
        return as_results(operator, out, values)
    if out is not values[back]:
        check_fits(operator, out._array, values[back])
        overwrite(values[back]._array, out._array)
    return out


def _run_on_arrays(operator: Operator, kernel: ArrayKernel, values: list[Any]) -> Any:
    targets = tensors_at(values, operator.targets)
    apart = [value if i in operator.targets else _apart(value, targets) for i, value in enumerate(values)]
    used: list[Any] = []

    def run(*arrays: Any) -> Any:
        used.extend(arrays)
        return kernel.function(*arrays)

    result = run_kernel(operator, run, apart)
    back, given = operator.given_back, dict(zip(operator.kernel_positions, used, strict=True))
    if back is not None:
        result = np.asarray(result)
        check_fits(operator, result, values[back])
    for position in operator.targets:
        arrays = given[position] if isinstance(given[position], list) else [given[position]]
        computed = [array for array in arrays if array is not None]
        for target, array in zip(flat_tensors([values[position]]), computed, strict=True):
            if array is not target._array:
                overwrite(target._array, array)
    if back is None:
        out = wrapped(operator, laid_out(operator, result, values))
        if grad_mode.inference:
            untrack(out)
        return out
    if result is not given[back]:
        overwrite(values[back]._array, result)
    return None


def _apart(value: Any, targets: Sequence[Tensor]) -> Any:
    """An argument that is not written, in memory in which nothing is."""
    if isinstance(value, list):
        return [_apart(item, targets) for item in value]
    if not isinstance(value, Tensor) or not any(shares(value, target) for target in targets):
        return value
    return wrap(value._array.copy())
