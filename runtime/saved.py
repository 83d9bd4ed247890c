"""The errors of saved state: a saved tensor that was written since, and saved state that was freed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.node import Node, OutputEdge

if TYPE_CHECKING:
    import numpy as np

    from runtime.tensor import Tensor

_KINDS = {
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "bfloat16": "BFloat16",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "bool": "Bool",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
}


def type_name(dtype: np.dtype) -> str:
    """`FloatTensor` for float32: the name of a Tensor of this element type."""
    return f"{_KINDS.get(dtype.name, dtype.name)}Tensor"


def describe(tensor: Tensor) -> str:
    """`[FloatTensor [3]], which is output 0 of MulBackward0,` for error messages."""
    text = f"[{type_name(tensor._array.dtype)} {list(tensor._array.shape)}]"
    edge = tensor._edge
    if isinstance(edge, Node):
        return f"{text}, which is output 0 of {edge.name()},"
    if isinstance(edge, OutputEdge):
        return f"{text}, which is output {edge.output_nr} of {edge.node.name()},"
    return text


def modified_error(node: Node, name: str, tensor: Tensor, saved_version: int) -> RuntimeError:
    """A tensor saved for the way back was overwritten after it was saved."""
    version = 0 if tensor._writes is None else tensor._writes[0]
    error = RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{describe(tensor)} is at version {version}; expected version {saved_version} instead."
    )
    error.add_note(f"it was saved as '{name}' by {node.name()}")
    return error


def freed_error(node: Node) -> RuntimeError:
    """The saved state of `node` is gone: an earlier backward used it up."""
    error = RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
        "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
        "saved tensors after calling backward."
    )
    error.add_note(f"the freed state is that of {node.name()}")
    return error
