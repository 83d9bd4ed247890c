"""How operators are called on sparse Tensors: the kernels for SparseCPU, given to the operators when this is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.dispatch_keys import CPU
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor, wrap
from runtime.call import registered
from runtime.call.device_kernels import DeviceKernel
from runtime.call.inference import untrack
from runtime.operators.sparse.coordinates import Coordinates
from runtime.operators.sparse.kernels import KERNELS, ON_PARTS, ON_SUMS
from runtime.operators.sparse.tensor import KEY, SparseTensor, backend, parts_of

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


class SparseKernel(DeviceKernel):
    """A function on Coordinates, and on NumPy's arrays where Tensors are dense.

    What a view operator gives is a Tensor of its own.
    """

    __slots__ = ()

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, backend)  # type: ignore[arg-type]

    def _cast(self, value: Any, dtype: Any) -> Any:
        if isinstance(value, Tensor) and not isinstance(value, SparseTensor):
            return value if value._array.dtype is dtype else wrap(value._array.astype(dtype))
        return super()._cast(value, dtype)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return parts_of(value) if isinstance(value, SparseTensor) else value._array
        return super()._argument(value)

    def _wrapped(self, operator: Operator, result: Any) -> Any:
        if isinstance(result, (np.ndarray, np.generic)):
            return wrap(np.asarray(result))
        return super()._wrapped(operator, result)

    def _views(self, operator: Operator, values: Sequence[Any], arguments: list[Any], result: Any) -> Any:
        return self._wrapped(operator, result)

    def compute(self, operator: Operator, values: list[Any]) -> Any:
        """`run`, with results as they are in this mode."""
        out = self.run(operator, values)
        if grad_mode.inference:
            untrack(out)
        return out


def _on_parts(kernel: Callable[..., Any], summed: bool) -> Callable[..., Any]:
    """A kernel for main memory as one on the parts."""

    def apply(self: Coordinates, *rest: Any) -> Any:
        parts = self.summed() if summed else self
        made = np.asarray(kernel(parts.values, *rest))
        return parts.with_values(made) if made.shape[:1] == parts.values.shape[:1] and made.ndim else made

    return apply


def install() -> None:
    """Give the operators their kernels."""
    for name, function in KERNELS.items():
        operator = registered.find(f"aten::{name}")
        if operator is not None:
            _give(operator, function)
    for names, summed in ((ON_SUMS, True), (ON_PARTS, False)):
        for name in names:
            operator = registered.find(f"aten::{name}")
            if operator is not None and CPU in operator.built_in:
                _give(operator, _on_parts(operator.built_in[CPU], summed))


def _give(operator: Operator, function: Callable[..., Any]) -> None:
    kernel: Any = SparseKernel(function)
    operator.add_backend(KEY, kernel)
