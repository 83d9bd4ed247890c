"""Built-in kernels of other backends than the CPU: functions on arrays of a type of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base.array_proxies import DeviceArrayProxy
from runtime.base.dtypes import dtype as DType
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor
from runtime.call.failures import explained
from runtime.call.inference import untrack
from runtime.call.promote import converted_numbers, wanted_dtype, with_dtype
from runtime.call.returned import counted
from runtime.devices.tensor import view_of

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator
    from runtime.devices.backend import ArrayBackend


class DeviceKernel:
    """A function on the arrays of a backend, called with the arguments that kernels on NumPy's arrays get.

    Element types are the backend's own objects. It never writes to an array; so it makes no difference whether what it
    gives shares memory with what it got.
    """

    __slots__ = ("backend", "function")

    def __init__(self, function: Callable[..., Any], backend: ArrayBackend) -> None:
        self.function = function
        self.backend = backend

    def run(self, operator: Operator, values: list[Any]) -> Any:
        """Unwrap, promote, call, wrap; results of view operators are views."""
        values = with_dtype(operator, values)
        wanted = wanted_dtype(operator, values)
        if wanted is not None:
            values = converted_numbers(operator, values, wanted)
            for i in operator.promoted_positions:
                values[i] = self._cast(values[i], wanted)
        try:
            arguments = [self._argument(values[i]) for i in operator.kernel_positions]
            with np.errstate(all="ignore"):  # for arrays that are NumPy's in the end
                result = counted(operator, self.function(*arguments))
            if operator.view is not None:
                return self._views(operator, values, arguments, result)
            return self._wrapped(operator, result)
        except Exception as error:
            raise explained(operator, error, values) from None

    def compute(self, operator: Operator, values: list[Any]) -> Any:
        """`run`, with results as they are in this mode."""
        out = self.run(operator, values)
        if operator.view is None and grad_mode.inference:
            untrack(out)
        return out

    def _cast(self, value: Any, dtype: Any) -> Any:
        if isinstance(value, list):
            return [self._cast(item, dtype) for item in value]
        if not isinstance(value, Tensor) or value._array.dtype is dtype:
            return value
        return self.backend.tensor(self.backend.cast(_proxy(value), dtype))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return _proxy(value).read()
        if isinstance(value, list):
            return [self._argument(item) for item in value]
        if isinstance(value, DType):
            return self.backend.own_dtype(value)
        if isinstance(value, np.generic):
            return value.item()
        return getattr(value, "numpy", value)  # of generators, what draws

    def _wrapped(self, operator: Operator, result: Any) -> Any:
        if isinstance(result, self.backend.array_type):
            return self.backend.wrap(result)
        if isinstance(result, (tuple, list)):
            tensors = [None if item is None else self._wrapped(operator, item) for item in result]
            return operator.results(tensors) if isinstance(result, tuple) else tuple(tensors)
        if any(type.startswith("Tensor") for type in operator.facts.results[:1]):
            raise TypeError(
                f"the kernel of {operator.qualified_name} for {self.backend.key} returned {type(result).__name__}, and "
                f"no {self.backend.array_type.__name__}"
            )
        return result

    def _views(self, operator: Operator, values: Sequence[Any], arguments: list[Any], result: Any) -> Any:
        """What a view operator gave, as what is made again when the base was written."""
        base: Tensor = values[operator.base_position]
        place = operator.kernel_positions.index(operator.base_position)
        function = self.function

        def again(array: Any, part: int | None = None) -> Any:
            made = function(*arguments[:place], array, *arguments[place + 1 :])
            return made if part is None else made[part]

        arguments[place] = None  # the base's values of now need not live as long as the view
        proxy = _proxy(base)
        if operator.view == "single":
            return view_of(proxy.view_by(again, result), base)
        parts = [proxy.view_by(partial(again, part=part), item) for part, item in enumerate(result)]
        return tuple([view_of(part, base) for part in parts])


def _proxy(tensor: Tensor) -> DeviceArrayProxy:
    array = tensor._array
    assert isinstance(array, DeviceArrayProxy)
    return array
