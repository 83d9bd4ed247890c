"""The recorded graph: a Node for each operator call, edges to where its input gradients go, and hooks.

A Node never refers to the Tensor it made, so a graph has no cycles and disappears with its last user. Leaves stand
in `edges` as the Tensor itself; the AccumulateGrad that PyTorch shows in their place is made on demand.
"""

from __future__ import annotations

import functools
import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np

from runtime.base.handles import Hooks, RemovableHandle
from runtime.base.once import publish
from runtime.base.state import LEAF_EDGES
from runtime.graph.hooks import run_node
from runtime.native import core

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor

__all__ = [
    "DISCARD_GRADIENT",
    "AccumulateGrad",
    "DiscardGradient",
    "Edge",
    "GradientEdge",
    "GradientMetadata",
    "Node",
    "NodeExtra",
    "OutputEdge",
    "RecordedNode",
    "accumulator",
    "next_sequence_nr",
    "peek_sequence_nr",
]

# One counter for all threads: a Node is numbered after everything it points at, whichever thread made that.
_sequence_nrs = itertools.count()
next_sequence_nr: Callable[[], int] = _sequence_nrs.__next__ if core is None else core.next_sequence_nr


def peek_sequence_nr() -> int:
    """The number that the next Node gets, unless another thread records one first."""
    if core is not None:
        return core.peek_sequence_nr()  # type: ignore[no-any-return]
    return int(repr(_sequence_nrs).removeprefix("count(").removesuffix(")"))


class NodeExtra:
    """The rare parts of a Node: hooks of every kind, the user's metadata, and what forward mode keeps of results."""

    __slots__ = ("hooks", "lock", "metadata", "prehooks", "results", "retained", "saved", "tangents", "tensor_hooks")

    def __init__(self) -> None:
        self.prehooks: Hooks = {}
        self.hooks: Hooks = {}
        self.tensor_hooks: dict[int, Hooks] = {}  # by output number
        self.retained: dict[int, weakref.ref[Tensor]] = {}  # outputs that keep their gradient, by output number
        self.metadata: dict[Any, Any] = {}
        self.saved: dict[str, Any] = {}  # SavedTensors that stand for the Node's slots, by name
        self.lock = threading.RLock()  # held while they are taken out or put back
        # Of the results, by output number: their tangents, and their history where that is another than this Node.
        self.tangents: dict[int, Any] = {}
        self.results: dict[int, Any] | None = None


if core is not None:
    gc.callbacks.append(core.before_collection)


class GradientMetadata(NamedTuple):
    """Shape and element type (as NumPy names it) of a gradient."""

    shape: tuple[int, ...]
    dtype: Any


class OutputEdge:
    """An edge to output `output_nr` (1 or higher) of a Node; output 0 is the Node itself."""

    __slots__ = ("node", "output_nr")

    def __init__(self, node: Node, output_nr: int) -> None:
        self.node = node
        self.output_nr = output_nr

    def __repr__(self) -> str:
        return f"OutputEdge({self.node!r}, {self.output_nr})"


class GradientEdge(NamedTuple):
    """Where the gradient of a Tensor goes: output `output_nr` of `node`. Stands for the Tensor in `grad`."""

    node: Node
    output_nr: int
    ownership_token: Any = None


Edge: TypeAlias = "Node | OutputEdge | Tensor | None"


if TYPE_CHECKING or core is None:

    class NodeBase:
        """The state of a Node where there is no native core."""

        __slots__ = ("__weakref__", "_extra", "dtype", "edges", "sequence_nr", "shape")

else:
    NodeBase = core.NodeBase


class Node(NodeBase):
    """One step of a backward: turns the gradients of an operator's outputs into gradients of its inputs.

    Subclasses hold the saved state in slots and define `apply` and `release`. `shape` and `dtype` describe the output
    (tuples of them, one per output, where `num_outputs` is not 1; None: `len(shape)` outputs).
    """

    __slots__ = ()

    num_outputs: ClassVar[int | None] = 1
    _name: ClassVar[str] = "Node"
    # What the Node saved under a name, as an object; `graph.recording`, which makes these, puts it here.
    take_out: ClassVar[Callable[[Node, str], Any]]

    edges: tuple[Edge, ...]
    sequence_nr: int
    shape: tuple[Any, ...]
    dtype: Any
    _extra: NodeExtra | None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # `name` is a method for users, as in PyTorch; a class may still give its name as a plain string.
        own_name = cls.__dict__.get("name")
        if isinstance(own_name, str):
            cls._name = cls.__name__ = own_name
            del cls.name
        else:
            cls._name = cls.__name__
        add_raw_saved(cls)

    def __init__(self, edges: tuple[Edge, ...], shape: tuple[Any, ...], dtype: Any) -> None:
        self.edges = edges
        self.shape = shape
        self.dtype = dtype
        self.sequence_nr = next_sequence_nr()
        self._extra = None

    def name(self) -> str:
        """The Node's name, such as `MulBackward0`."""
        return self._name

    def apply(self, grad: Any) -> tuple[Tensor | None, ...]:
        """The gradients of the inputs, one for each edge."""
        raise NotImplementedError(f"{self._name} does not define apply")

    def check_meaning(self) -> None:
        """Raise if this stands for a history that has lost its meaning; see `runtime.graph.views.StaleView`."""

    def release(self) -> None:
        """Drop the saved state; a Node that has none keeps this."""

    def __call__(self, *grads: Tensor | None) -> Any:
        """Run this Node alone, hooks included, on the gradients of its outputs."""
        if len(grads) != self.output_count:
            raise TypeError(f"{self._name} expected {self.output_count} gradients, but got {len(grads)}")
        results = run_node(self, grads[0] if self.num_outputs == 1 else grads)
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def output_count(self) -> int:
        """The number of outputs."""
        return len(self.shape) if self.num_outputs is None else self.num_outputs

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The Nodes that the input gradients go to, each with the number of the output it belongs to."""
        functions: list[tuple[Node | None, int]] = []
        for edge in self.edges:
            if edge is None or edge is DISCARD_GRADIENT:
                functions.append((None, 0))
            elif isinstance(edge, Node):
                functions.append((edge, 0))
            elif isinstance(edge, OutputEdge):
                functions.append((edge.node, edge.output_nr))
            else:
                functions.append((accumulator(edge), 0))
        return tuple(functions)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes on this Node."""
        return self.extra.metadata

    @property
    def extra(self) -> NodeExtra:
        """The rare parts, made on first use."""
        extra = self._extra
        if extra is None:
            extra = publish(self, "_extra", NodeExtra())
            if core is not None:
                core.follow_node(self)  # what users put there may lead back here
        return extra

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after this Node ran; what it returns replaces `grad_inputs`."""
        return RemovableHandle(self.extra.hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before this Node runs; what it returns replaces `grad_outputs`."""
        return RemovableHandle(self.extra.prehooks, hook)

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    @property
    def _input_metadata(self) -> tuple[GradientMetadata, ...]:
        """Shape and dtype of the gradients that this Node takes, one for each of its outputs."""
        if self.num_outputs == 1:
            return (GradientMetadata(self.shape, self.dtype),)
        return tuple([GradientMetadata(shape, dtype) for shape, dtype in zip(self.shape, self.dtype, strict=True)])

    def __repr__(self) -> str:
        return f"<{self._name} object at {id(self):#x}>"


def add_raw_saved(cls: type[Node]) -> None:
    """Give a class of Nodes `_raw_saved_NAME` for each `_saved_NAME`: what is saved as an object, for hooks."""
    for attribute in [name for name in vars(cls) if name.startswith("_saved_")]:
        setattr(cls, f"_raw{attribute}", property(functools.partial(_take_out, name=attribute.removeprefix("_saved_"))))


def _take_out(node: Node, name: str) -> Any:
    return node.take_out(name)


class RecordedNode(Node):
    """A Node of generated code, which is made empty and filled by the function that records a call.

    `__init__` of Node would be a call of Python besides; this one is C's, which makes recording as quick as it can be.
    """

    __slots__ = ()
    __init__ = object.__init__


class AccumulateGrad(Node):
    """Stands for a leaf in `next_functions`; the engine adds gradients to the leaf itself and runs these hooks."""

    __slots__ = ("variable",)

    num_outputs = 1
    variable: Tensor
    # `graph.leaves.accumulate`, which that module puts here.
    accumulate: ClassVar[Callable[[Tensor, Tensor, bool], None]]

    def __init__(self, variable: Tensor) -> None:
        super().__init__((), variable._array.shape, variable._array.dtype)
        self.variable = variable

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Add `grad` to the leaf's gradient."""
        type(self).accumulate(self.variable, grad, False)
        return ()

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the leaf's gradient was accumulated."""
        self._keep()
        return super().register_hook(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the leaf's gradient is accumulated."""
        self._keep()
        return super().register_prehook(hook)

    def _keep(self) -> None:
        # The graph holds the leaf and not this object, so its hooks would be lost with the caller's reference.
        extra = self.variable.extra
        known = extra.accumulate_node
        if known is None or (isinstance(known, weakref.ref) and known() is self):
            publish(extra, "accumulate_node", self, known)


class DiscardGradient(Node):
    """The type of DISCARD_GRADIENT, the edge of a view that requires grad only because its base does.

    Such is a view that was made while grad mode was off, or before its base came to require grad: a leaf, operators on
    which are recorded, and into which nothing is accumulated. All of them share this one, so that they cost nothing.
    """

    __slots__ = ()

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Drop the gradient."""
        return ()


# Numbered before all others. The engine brings gradients to this shape, which any has a sum of.
DISCARD_GRADIENT: Final = DiscardGradient((), (), np.dtype(np.float32))
LEAF_EDGES.add(DiscardGradient)


def accumulator(leaf: Tensor) -> AccumulateGrad:
    """The AccumulateGrad that stands for a leaf: the same object as long as it is referenced."""
    extra = leaf.extra
    known = extra.accumulate_node
    while (node := known() if isinstance(known, weakref.ref) else known) is None:
        node = AccumulateGrad(leaf)  # held until it is known whether it is the one
        known = publish(extra, "accumulate_node", weakref.ref(node), known)
    return node  # type: ignore[no-any-return]
