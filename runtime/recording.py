"""What generated Nodes call when they record, unpack and fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from runtime.node import Node, OutputEdge
from runtime.saved import freed_error, modified_error
from runtime.tensor import Tensor, wrap

new = object.__new__

__all__ = [
    "Geometry",
    "check_versions",
    "freed_error",
    "missing_helper",
    "modified_error",
    "not_implemented_error",
    "saved_list",
    "saved_result",
    "saved_tensor",
    "saved_value",
    "set_edges",
    "shapes_of",
    "unpack_result",
    "versions_of",
    "zeros_for",
    "zeros_of",
]


def set_edges(tensors: Sequence[Tensor | None], node: Node) -> None:
    """Make `tensors` the outputs of `node`, in order; those that can have no gradient stay as they are."""
    for number, tensor in enumerate(tensors):
        if tensor is not None and tensor._array.dtype.kind not in "biu":
            tensor._edge = node if number == 0 else OutputEdge(node, number)


def shapes_of(tensors: Sequence[Tensor | None]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Shapes and dtypes of outputs; None for those that a mask left out."""
    arrays = [None if tensor is None else tensor._array for tensor in tensors]
    shapes = tuple([None if array is None else array.shape for array in arrays])
    return shapes, tuple([None if array is None else array.dtype for array in arrays])


def versions_of(tensors: Iterable[Tensor | None]) -> tuple[int, ...]:
    """How often each tensor was written so far; 0 for those that are absent."""
    return tuple([0 if t is None or t._writes is None else t._writes[0] for t in tensors])


def unpack_tensor(node: Node, name: str, tensor: Tensor | None, version: int) -> Tensor | None:
    """A saved input, if it was not written since."""
    if tensor is not None and tensor._writes is not None and tensor._writes[0] != version:
        raise modified_error(node, name, tensor, version)
    return tensor


def check_versions(node: Node, name: str, tensors: Sequence[Tensor | None] | None, versions: Sequence[int]) -> None:
    """Raise if one of the saved inputs was written since."""
    for tensor, version in zip(tensors or (), versions, strict=False):
        unpack_tensor(node, name, tensor, version)


def unpack_result(
    node: Node, name: str, array: np.ndarray, version: list[int], saved_at: int, output_nr: int | None
) -> Tensor:
    """A saved output: a Tensor over the same memory whose history is `node` again (None: it has no gradient)."""
    tensor = new(Tensor)
    tensor._array = array
    tensor._writes = version
    tensor._base = tensor._extra = None
    tensor._edge = node if output_nr == 0 else None if output_nr is None else OutputEdge(node, output_nr)
    if version[0] != saved_at:
        raise modified_error(node, name, tensor, saved_at)
    return tensor


class Geometry:
    """Where the elements of a Tensor lie in its memory; strides and offset count elements."""

    __slots__ = ("offset", "shape", "strides")

    def __init__(self, tensor: Tensor) -> None:
        self.shape = tuple(tensor.shape)
        self.strides = tensor.stride()
        self.offset = tensor.storage_offset()


def zeros_of(info: tuple[tuple[int, ...], np.dtype[Any]]) -> Tensor:
    """Zeros of a saved shape and dtype."""
    return wrap(np.zeros(*info))


def missing_helper(name: str, *args: object) -> NoReturn:
    """Raise: a formula called a helper that is declared, and that nothing implements."""
    raise NotImplementedError(f"the helper '{name}' is declared, but the runtime does not implement it")


def zeros_for(node: Node, output_nr: int) -> Tensor | None:
    """The gradient of an output that nothing depends on; None for one that a mask left out."""
    if node.shape[output_nr] is None:
        return None
    return wrap(np.zeros(node.shape[output_nr], node.dtype[output_nr]))


def not_implemented_error(node: Node, argument: str, reason: str) -> NotImplementedError:
    """The derivative of an operator in one of its arguments was declared as missing."""
    return NotImplementedError(f"the derivative of '{reason}' for '{argument}' is not implemented ({node.name()})")


# -- `_saved_self` and the like, as properties of Node classes


def _saved(unpack: Callable[[Any], Any]) -> property:
    def get(node: Any) -> Any:
        try:
            return unpack(node)
        except AttributeError:
            raise freed_error(node) from None

    return property(get)


def saved_tensor(name: str) -> property:
    """A saved input, checked for writes since."""
    attribute, version = f"_{name}", f"_{name}_version"
    return _saved(lambda node: unpack_tensor(node, name, getattr(node, attribute), getattr(node, version)))


def saved_list(name: str) -> property:
    """A saved list of inputs, checked for writes since."""
    attribute, version = f"_{name}", f"_{name}_version"

    def unpack(node: Any) -> Any:
        check_versions(node, name, getattr(node, attribute), getattr(node, version))
        return getattr(node, attribute)

    return _saved(unpack)


def saved_result(name: str, output_nr: int | None) -> property:
    """A saved output, checked for writes since."""
    attribute, version, at = f"_{name}", f"_{name}_version", f"_{name}_at"
    return _saved(
        lambda node: unpack_result(
            node, name, getattr(node, attribute), getattr(node, version), getattr(node, at), output_nr
        )
    )


def saved_value(name: str) -> property:
    """A saved value that is no Tensor."""
    attribute = f"_{name}"
    return _saved(lambda node: getattr(node, attribute))
