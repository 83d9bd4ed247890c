"""Derivatives that users give to operators: the kernel for the Autograd key, and the Nodes that it records."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from runtime.base.modes import grad_mode, thread_handlers
from runtime.base.sharing import counter
from runtime.base.tensor import Tensor
from runtime.call.dispatch import Operator
from runtime.call.facts import flat_tensors
from runtime.call.kernel_table import backend_of, call_arguments
from runtime.graph import forward, jvp
from runtime.graph.linear import edge_of
from runtime.graph.node import Edge, Node, OutputEdge
from runtime.graph.recording import freed_error, modified_error, unpack_result, zeros_for

_new_node: Callable[[type[FormulaBackward]], FormulaBackward] = object.__new__

# A value that was saved: None, an input with its version, or an output's array, versions and number.
_Saved = Any


class Context:
    """What `setup_context` leaves for `backward`: saved tensors, and any attributes."""

    def __init__(self, needs_input_grad: tuple[Any, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = True
        self._to_save: tuple[Tensor | None, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._node: weakref.ref[FormulaBackward] | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs, whose later change is an error, until the graph is freed.

        Raises:
            TypeError: one is neither a Tensor nor None.
        """
        for position, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                kind = type(tensor).__name__
                raise TypeError(f"save_for_backward can only save variables, but argument {position} is of type {kind}")
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was saved.

        Raises:
            RuntimeError: one of them was written since, or the graph was freed.
        """
        node = None if self._node is None else self._node()
        return self._to_save if node is None else node.unpack()

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Say that no gradient comes back from some outputs."""
        self._non_differentiable = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (or None) for outputs that nothing depends on."""
        self.materialize_grads = value


class FormulaBackward(Node):
    """Runs `backward` of a registered derivative.  Each operator has a subclass, for the name."""

    __slots__ = ("_saved", "context", "formula", "inputs", "optional", "outputs")

    num_outputs = None

    context: Context
    formula: AutogradFormula
    # Where the Tensors stand: an edge's or output's number, a list of them, or None for what is no Tensor.
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    optional: int  # how many arguments at the end need no gradient returned
    _saved: tuple[_Saved, ...] | None

    def apply(self, grads: Sequence[Tensor | None]) -> tuple[Tensor | None, ...]:
        """The gradients that `backward` returns, one for each edge.

        Raises:
            RuntimeError: there is no formula, or it returns something else.
        """
        backward = self.formula.backward
        if backward is None:
            raise RuntimeError(
                f"Trying to backward through {self.formula.shown_name} but no autograd formula was registered. Please "
                "use register_autograd to add one."
            )
        results = backward(self.context, *[self._gradient(place, grads) for place in self.outputs])
        return self._fitted(results if isinstance(results, tuple) else (results,))

    def _gradient(self, place: Any, grads: Sequence[Tensor | None]) -> Any:
        if isinstance(place, list):
            return [self._gradient(item, grads) for item in place]
        if place is None:
            return None
        grad = grads[place]
        return zeros_for(self, place) if grad is None and self.context.materialize_grads else grad

    def _fitted(self, results: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
        places = self.inputs
        if len(results) < len(places) - self.optional or any(r is not None for r in results[len(places) :]):
            raise RuntimeError(
                f"function {self._name} returned an incorrect number of gradients (expected {len(places)}, got "
                f"{len(results)})"
            )
        gradients: list[Tensor | None] = [None] * len(self.edges)
        for position, (place, grad) in enumerate(zip(places, results, strict=False)):
            if isinstance(place, list):
                grads = [None] * len(place) if grad is None else grad
                if not isinstance(grads, (list, tuple)) or len(grads) != len(place):
                    raise RuntimeError(
                        f"Expected the return from backward to be of the same structure as the inputs: {self._name} "
                        f"returned {type(grad).__name__} for the list of {len(place)} at position {position + 1}"
                    )
                for item, part in zip(place, grads, strict=True):
                    self._store(gradients, item, part, position)
            else:
                self._store(gradients, place, grad, position)
        return tuple(gradients)

    def _store(self, gradients: list[Tensor | None], place: int | None, grad: Any, position: int) -> None:
        if grad is None:
            return
        if not isinstance(grad, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
        if place is None:
            raise RuntimeError(
                f"function {self._name} returned a gradient different than None at position {position + 1}, but the "
                "corresponding forward input was not a Variable"
            )
        if self.edges[place] is not None:
            gradients[place] = grad

    def save(self, tensors: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> None:
        """Keep tensors in a way that makes no cycle, and notices writes."""
        self._saved = tuple([_pack(tensor, outputs) for tensor in tensors])

    def unpack(self) -> tuple[Tensor | None, ...]:
        """The saved tensors."""
        if self._saved is None:
            raise freed_error(self)
        return tuple([self._unpack(number, saved) for number, saved in enumerate(self._saved)])

    def _unpack(self, number: int, saved: _Saved) -> Tensor | None:
        if saved is None:
            return None
        name = f"saved tensor {number}"
        if len(saved) == 4:
            return unpack_result(self, name, *saved)
        tensor, version = saved
        if tensor._version != version:
            raise modified_error(self, name, tensor, version)
        return tensor  # type: ignore[no-any-return]

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The saved tensors, as `backward` sees them."""
        return self.unpack()

    def release(self) -> None:
        """Drop the saved tensors."""
        self._saved = None
        self.context._to_save = ()


def _pack(tensor: Tensor | None, outputs: Sequence[Tensor]) -> _Saved:
    if tensor is None:
        return None
    for number, out in enumerate(outputs):
        if out is tensor:
            writes = counter(out)
            return (out._array, writes, writes[0], None if out._edge is None else number)
    return (tensor, tensor._version)


class AutogradFormula:
    """The kernel for the Autograd key of an operator: runs the operator below it, and records its derivative.

    Args:
        operator: whose derivative it is.
        backward: `backward(ctx, *grads)`; None gives an error when a gradient arrives.
        setup_context: `setup_context(ctx, inputs, output)`, with `keyword_only_inputs` before `output` where the
            schema has keyword-only arguments.
    """

    def __init__(
        self,
        operator: Operator,
        backward: Callable[..., Any] | None = None,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        self.backward = backward
        self.setup_context = setup_context
        namespace, _, name = operator.qualified_name.partition("::")
        base, _, overload = name.partition(".")
        self.shown_name = f"{namespace}.{base}.{overload or 'default'}"
        self._node_class: type[FormulaBackward] = type(
            f"GeneratedBackwardFor_{namespace}_{base}_{overload or 'default'}Backward",
            (FormulaBackward,),
            {"__slots__": (), "operator": operator.qualified_name},
        )

    def run(self, operator: Operator, values: list[Any]) -> Any:
        """The operator's result, recorded where an argument requires grad."""
        out = operator.compute(operator.choose(backend_of(values))[1], values)
        inputs = flat_tensors(values[: operator.signature.positional])
        if grad_mode.enabled and any(tensor._edge is not None for tensor in inputs):
            grad_mode.enabled = False
            try:
                node, outputs = self._node(operator, values, out)
            finally:
                grad_mode.enabled = True
            _connect(node, outputs)
        if forward.active():
            jvp.apply(operator, out, values)
        return out

    def _node(self, operator: Operator, values: list[Any], out: Any) -> tuple[FormulaBackward, list[Tensor]]:
        """The Node of a call, which knows its outputs but is not yet their history."""
        signature = operator.signature
        count = signature.positional
        listed = [list(value) if type(value) is tuple else value for value in values]
        passed = len(call_arguments(operator, values)[0])
        context = Context(tuple([_needs_grad(value) for value in listed[:passed]]))
        if self.setup_context is not None:
            if len(values) > count:
                names = operator.names[count:]
                keywords = dict(zip(names, listed[count:], strict=True))
                self.setup_context(ctx=context, inputs=tuple(listed[:count]), keyword_only_inputs=keywords, output=out)
            else:
                self.setup_context(ctx=context, inputs=tuple(listed[:count]), output=out)
        edges: list[Edge] = []
        outputs: list[Tensor] = []
        node = _new_node(self._node_class)
        node.inputs = tuple([_place(value, edges, edge_of) for value in listed[:count]])
        several = len(operator.facts.results) > 1
        node.outputs = tuple([_place(value, outputs, lambda tensor: tensor) for value in (out if several else (out,))])
        node.optional = count - passed
        node.context, node.formula = context, self
        shapes = tuple([tensor._array.shape for tensor in outputs])
        Node.__init__(node, tuple(edges), shapes, tuple([tensor._array.dtype for tensor in outputs]))
        return node, outputs


def _connect(node: FormulaBackward, outputs: list[Tensor]) -> None:
    """Make a Node the history of its outputs, and keep what it saves: outputs as such."""
    context = node.context
    for number, tensor in enumerate(outputs):
        marked = any(tensor is other for other in context._non_differentiable)
        if tensor._array.dtype.kind in "fcV" and not marked:
            tensor._edge = node if number == 0 else OutputEdge(node, number)
    node.save(context._to_save, outputs)
    context._to_save = ()
    context._node = weakref.ref(node)
    for callback in thread_handlers.recorded:
        callback(node)


def _needs_grad(value: Any) -> Any:
    if isinstance(value, list) and any(isinstance(item, Tensor) for item in value):
        return [_needs_grad(item) for item in value]
    return isinstance(value, Tensor) and value._edge is not None


def _place(value: Any, entries: list[Any], entry: Callable[[Tensor], Any]) -> Any:
    """Number the Tensors in one argument or result, and add an entry for each to `found`."""
    if isinstance(value, Tensor):
        entries.append(entry(value))
        return len(entries) - 1
    if isinstance(value, list) and any(isinstance(item, Tensor) for item in value):
        return [_place(item, entries, entry) for item in value]
    return None
