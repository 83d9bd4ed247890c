"""Calls of operators on Tensors without data: the kernels for main memory say what the results look like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base.meta_array import MetaArray, over, plain
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor
from runtime.call.inference import untrack
from runtime.call.promote import run_kernel
from runtime.call.results import laid_out
from runtime.call.returned import counted
from runtime.devices.meta import backend
from runtime.graph import views
from runtime.operators import meta_sizes
from runtime.random import default_generator

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


class MetaKernel:
    """A built-in kernel of main memory, of which only shapes, strides and dtypes of results are used.

    Checks of arguments, promotion and the layout of results are those of main memory.

    Args:
        function: the kernel.
        knows: whether it is one for Meta, which reads no elements and gives arrays of the right shapes and dtypes.
    """

    __slots__ = ("function", "knows")

    def __init__(self, function: Callable[..., Any], knows: bool = False) -> None:
        self.function = function
        self.knows = knows

    def run(self, operator: Operator, values: list[Any]) -> Any:
        """Unwrap, promote, find out, wrap.

        Raises:
            NotImplementedError: the shape of a result depends on the values.
        """
        if operator.view is not None:
            return self._views(operator, values)
        if operator.batching is not None and operator.batching[0] == "dynamic":
            raise needs_values(operator)
        try:
            result = run_kernel(operator, self._known if self.knows else self._results, values)
        except meta_sizes.NeedsValues:
            raise needs_values(operator) from None
        except meta_sizes.TooLarge:
            raise NotImplementedError(
                f"{operator.qualified_name}: the sizes of its result can not be told of so large meta Tensors; a "
                f"kernel for Meta would tell them\n  schema: {operator.schema}"
            ) from None
        return self._wrapped(operator, laid_out(operator, result, values))

    def compute(self, operator: Operator, values: list[Any]) -> Any:
        """`run`, with results as they are in this mode."""
        out = self.run(operator, values)
        if operator.view is None and grad_mode.inference:
            untrack(out)
        return out

    def _known(self, *arrays: Any) -> Any:
        return meta_sizes.contiguous(self.function(*arrays))

    def _results(self, *arrays: Any) -> Any:
        sources: list[Any] = [
            default_generator.numpy,
            *(each for each in arrays if isinstance(each, np.random.Generator)),
        ]
        before = [source.place() for source in sources]
        try:
            return meta_sizes.results_of(self.function, arrays)
        finally:  # nothing was drawn
            for source, place in zip(sources, before, strict=True):
                source.go_to(place)

    def _views(self, operator: Operator, values: list[Any]) -> Any:
        base: Tensor = values[operator.base_position]
        if operator.view != "single":
            return tuple([views.view_anywhere(place, base, "multi") for place in self.places(operator, values)])
        return views.view_anywhere(self.places(operator, values)[0], base)

    def places(self, operator: Operator, values: list[Any]) -> list[MetaArray]:
        """Where the results of a view operator lie; its kernel reads no elements, and is given the addresses."""
        result = run_kernel(operator, lambda *arrays: self.function(*map(_without_type, arrays)), values)
        return [over(each) for each in (result if isinstance(result, list) else [result])]

    def _wrapped(self, operator: Operator, result: Any) -> Any:
        counted(operator, result)
        if isinstance(result, tuple):
            return operator.results([None if array is None else backend.tensor(array) for array in result])
        if isinstance(result, list):
            return tuple([backend.tensor(array) for array in result])
        return backend.tensor(result)


def _without_type(value: Any) -> Any:
    return plain(value) if isinstance(value, MetaArray) else value


def needs_values(operator: Operator) -> NotImplementedError:
    """The error of a call whose result can not be told without data."""
    return NotImplementedError(
        f"{operator.qualified_name}: the result depends on the values of its arguments, which meta Tensors do not have"
        f"\n  schema: {operator.schema}"
    )
