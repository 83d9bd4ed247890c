"""Shapes of all values of a graph, by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwright.fx.interpreter import Interpreter
from gradwright.fx.node import Node, map_aggregate
from runtime.base import types
from runtime.base.dtypes import dtype as DType
from runtime.base.tensor import Tensor
from runtime.base.types import Size, memory_format

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What there is to a Tensor besides its elements."""

    shape: Size
    dtype: DType
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


_FORMATS = (types.contiguous_format, types.channels_last, types.channels_last_3d)


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """What there is to a Tensor besides its elements."""
    layout = None
    if include_contiguity:
        layout = next((each for each in _FORMATS if result.is_contiguous(memory_format=each)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), layout, False, {})


class ShapeProp(Interpreter):
    """Runs a graph, and notes in `meta` of each Node what its value is: `tensor_meta` of Tensors, and `type`."""

    def run_node(self, n: Node) -> Any:
        """The value of a Node, which is noted."""
        result = super().run_node(n)
        found = False

        def described(value: Any) -> Any:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        described_result = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = described_result
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """What the graph gives for these arguments."""
        return super().run(*args)
