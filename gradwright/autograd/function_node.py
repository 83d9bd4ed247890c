"""The Node of a call of a custom Function, which is the `ctx` of the user's methods."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from runtime.base import overriding
from runtime.base.tensor import Tensor, wrap
from runtime.graph.linear import edge_of
from runtime.graph.node import Edge, Node
from runtime.graph.saved import SavedTensor, freed_error
from runtime.native import core


class FunctionCtx:
    """What `forward`, `setup_context`, `backward` and `jvp` can do with their `ctx`."""

    __slots__ = ()

    materialize_grads: bool
    _to_save: Sequence[Tensor | None]
    _saved_for_forward: Sequence[Tensor | None] | None
    _dirty: Sequence[Tensor]
    _non_differentiable: Sequence[Tensor]

    def save_for_backward(self: Any, *tensors: Tensor | None) -> None:
        """Keep inputs and outputs for `backward`, which finds them in `ctx.saved_tensors`.

        Raises:
            TypeError: an argument is no Tensor; keep other values as attributes of `ctx`.
        """
        _check_tensors("save_for_backward can only save variables", tensors)
        self._to_save = tensors

    def save_for_forward(self: Any, *tensors: Tensor | None) -> None:
        """Keep Tensors for `jvp`, which finds them in `ctx.saved_tensors`."""
        _check_tensors("save_for_forward can only save variables", tensors)
        self._saved_for_forward = tensors

    def mark_dirty(self: Any, *tensors: Tensor) -> None:
        """Say which inputs `forward` wrote in place; each must also be returned."""
        _check_tensors("mark_dirty can only accept variables", tensors, RuntimeError)
        self._dirty = tensors

    def mark_non_differentiable(self: Any, *tensors: Tensor) -> None:
        """Say which outputs have no gradient; outputs of integer type have none anyway."""
        _check_tensors("mark_non_differentiable can only accept variables", tensors, RuntimeError)
        self._non_differentiable = tensors

    def set_materialize_grads(self: Any, value: bool) -> None:
        """Whether `backward` and `jvp` see zeros (the default) or None where there is no gradient."""
        self.materialize_grads = bool(value)

    @property
    def saved_tensors(self: Any) -> tuple[Tensor | None, ...]:
        """What was saved for the running method.

        Raises:
            RuntimeError: it was freed by an earlier backward, or a Tensor was written since.
        """
        if self._saved_for_forward is not None and self._in_jvp:
            return tuple(self._saved_for_forward)
        if self._freed:
            raise freed_error(self)
        if self._saved is None:
            return tuple(self._to_save)
        return tuple([saved.unpack(self) for saved in self._saved])

    @property
    def _raw_saved_tensors(self: Any) -> tuple[SavedTensor, ...]:
        if self._freed:
            raise freed_error(self)
        return tuple(self._saved or ())


def _check_tensors(refusal: str, tensors: Sequence[Any], error: type[Exception] = TypeError) -> None:
    for position, tensor in enumerate(tensors):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise error(f"{refusal}, but argument {position} is of type {type(tensor).__name__}")


class FunctionNode(FunctionCtx, Node):
    """The Node of a call of a Function, and its `ctx`; users may set attributes of their own."""

    num_outputs = None  # as many as `forward` gave, also those that are no Tensors
    _forward_cls: Any  # the subclass of Function

    def __init__(self, inputs: Sequence[Any]) -> None:
        self._is_tensor = [isinstance(value, Tensor) for value in inputs]
        self.needs_input_grad = tuple([isinstance(value, Tensor) and value._edge is not None for value in inputs])
        edges: list[Edge] = [edge_of(value) for value in inputs if isinstance(value, Tensor)]
        super().__init__(tuple(edges), (), ())
        self._to_save = ()
        self._saved: list[SavedTensor] | None = None
        self._freed = False
        self._saved_for_forward = None
        self._in_jvp = False
        self._dirty = ()
        self._non_differentiable = ()
        self.materialize_grads = True
        if core is not None:
            core.expect_cycles()  # users may keep what is made of the outputs

    def apply(self, grad: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        """The gradients of the Tensors among the inputs, by the user's `backward`."""
        received = grad
        if self.materialize_grads:
            received = tuple(
                [
                    wrap(np.zeros(shape, dtype)) if one is None and shape is not None else one
                    for one, shape, dtype in zip(grad, self.shape, self.dtype, strict=True)
                ]
            )
        with overriding.of_the_program() if overriding.watch.used else nullcontext():
            results = self._forward_cls._backward_method()(self, *received)
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _checked(self, results: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
        expected = len(self._is_tensor)
        if len(results) > expected and all(result is None for result in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self._name} returned an incorrect number of gradients (expected {expected}, got "
                f"{len(results)})"
            )
        gradients: list[Tensor | None] = []
        for position, (is_tensor, result) in enumerate(zip(self._is_tensor, results, strict=True), 1):
            if is_tensor:
                if result is not None and not isinstance(result, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
                gradients.append(result)
            elif result is not None:
                raise RuntimeError(
                    f"function {self._name} returned a gradient different than None at position {position}, but the "
                    "corresponding forward input was not a Variable"
                )
        return tuple(gradients)

    def release(self) -> None:
        """Drop what was saved; a `backward` that does not ask for it can be run again."""
        self._freed = True
        for saved in self._saved or ():
            saved.free()
