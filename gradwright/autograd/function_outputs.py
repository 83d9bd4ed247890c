"""The outputs of a custom Function: which of them are views, written inputs or new, and the history that each gets."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from gradwright.autograd.function_node import FunctionNode
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor
from runtime.graph import views
from runtime.graph.grad_mode import no_grad
from runtime.graph.node import OutputEdge


class Outputs:
    """Gives what `forward` returned its history."""

    def __init__(self, node: FunctionNode, inputs: Sequence[Any], outputs: Sequence[Any], recording: bool) -> None:
        self.node = node
        self.outputs = outputs
        self.recording = recording
        self.inputs = {id(value) for value in inputs if isinstance(value, Tensor)}
        self.dirty = {id(tensor) for tensor in node._dirty}
        self.constant = {id(tensor) for tensor in node._non_differentiable}

    def wrap(self) -> list[Any]:
        self._check_dirty()
        wrapped = [
            self._with_history(output, number) if isinstance(output, Tensor) else output
            for number, output in enumerate(self.outputs)
        ]
        self.node.shape = tuple([out._array.shape if isinstance(out, Tensor) else None for out in wrapped])
        self.node.dtype = tuple([out._array.dtype if isinstance(out, Tensor) else None for out in wrapped])
        return wrapped

    def _check_dirty(self) -> None:
        returned = {id(output) for output in self.outputs}
        if not self.dirty <= returned:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
        for tensor in self.node._dirty:
            if id(tensor) not in self.inputs:
                warnings.warn(
                    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no "
                    "need to pass it to mark_dirty().",
                    stacklevel=4,
                )
            views.bump_version(tensor)
            if tensor._base is not None and len(self.outputs) > 1 and self.recording:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                    "return more than one Tensor. This is not supported by the current autograd engine. You should "
                    "either make sure the input is not a view (using .clone() for example) or make your Function only "
                    "return one Tensor (potentially splitting it into two Functions: one doing the inplace that "
                    "returns a single Tensor and a second one that does the other operations)."
                )

    def _with_history(self, out: Tensor, number: int) -> Tensor:
        is_input, is_dirty = id(out) in self.inputs, id(out) in self.dirty
        if is_dirty and is_input and out._edge is not LEAF:
            views.check_inplace(out, needs_grad=self.recording)
        differentiable = self.recording and id(out) not in self.constant and out._array.dtype.kind not in "biu"
        if is_input and not is_dirty:
            # The caller's Tensor keeps its own history; the output is a view of it.
            with no_grad():
                out = views.view_anywhere(out._array, out)
            out.extra.view = "function"
        if not differentiable:
            if is_dirty and self.recording:
                out.detach_()
            return out
        edge = self.node if number == 0 else OutputEdge(self.node, number)
        if is_dirty and is_input:
            if out._edge is LEAF:
                raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
            if out._base is not None:
                self.node.shape, self.node.dtype = (out._array.shape,), (out._array.dtype,)
                views.rebase_history(out, self.node)
                return out
            views.replace_history(out, edge)
            return out
        if out._base is not None:
            out.extra.view = "function"
        out._edge = edge
        return out
