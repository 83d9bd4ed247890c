"""Views and in-place writes: which Tensors share memory, and what a write does to their histories.

A view knows its root base (never itself a view); `runtime.base.sharing` finds the live views of a base. After a
recorded in-place write the base's history ends in the write (for a write through a view, in a CopySlices that replaces
one slice of the gradient), and every live view gets a new history that starts at the base.

A view is described by where its bytes lie in its base, and not by the chain of operators that made it. That costs
nothing when the view is made, takes one step however long the chain was, and is also right for views of another element
type (`real`, `view_as_complex`): the gradient of a complex number lies in memory as the gradients of its parts do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base import class_dispatch
from runtime.base.array_proxies import NonHostArray, tensor_over
from runtime.base.modes import grad_mode, plain
from runtime.base.sharing import counter, guard, share, views_over
from runtime.base.state import LEAF, MARKS, UNTRACKED, Leaf, ViewKind
from runtime.base.tensor import Tensor, wrap
from runtime.graph.fit import fit
from runtime.graph.linear import LinearBackward, apply_linear, edge_of
from runtime.graph.node import DISCARD_GRADIENT, Node, OutputEdge
from runtime.graph.overlap import check_single_places
from runtime.graph.regions import Place, Region
from runtime.graph.saved import freed_error
from runtime.native import core

_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {mode} block (if you don't want the inplace to be tracked) or "
    "both outside (if you want the inplace to be tracked)."
)
_CUSTOM = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
_SEVERAL = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one."
)


def _view_of(array: np.ndarray[Any, Any], base: Tensor, kind: ViewKind = "single") -> Tensor:
    """A new Tensor over `array`, the memory of which is that of `base`: a result of a view operator.

    Args:
        array: some elements of the array of `base`.
        base: the argument of the operator, perhaps a view itself.
        kind: "single", or "multi" for one of several results: those are not to be written, nor are views made while
            grad mode is off.
    """
    out = tensor_over(array)
    make_view(out, base, kind)
    return out


def make_view(out: Tensor, base: Tensor, kind: ViewKind = "single") -> None:
    """Let a Tensor without a history, which lies in the memory of `base`, be a view of that; see `_view_of`."""
    out._edge = out._extra = out._writes = None
    root = base._base
    if root is None:
        root = base
        if not grad_mode.enabled:
            kind = "inference" if grad_mode.inference else "no_grad"
    else:
        extra = base._extra
        if extra is not None and extra.view != "single":
            kind = extra.view
        elif not grad_mode.enabled:
            kind = "inference" if grad_mode.inference else "no_grad"
    out._base = root
    share(out, base)
    if kind != "single" and out._writes is not UNTRACKED:
        if root._edge is not None and out._array.dtype.kind not in "biu":
            out._edge = DISCARD_GRADIENT  # until it is recorded, which a view of no_grad mode never is
        out._extra = MARKS[kind]
        guard(out)


view_of: Callable[..., Tensor] = _view_of if core is None else core.view_of


def view_anywhere(array: np.ndarray[Any, Any], base: Tensor, kind: ViewKind = "single") -> Tensor:
    """`view_of`, also of a Tensor that is not in main memory."""
    return view_of(array, base, kind) if type(array) is np.ndarray else _view_of(array, base, kind)


def share_requires_grad(tensor: Tensor) -> None:
    """Let a view require grad if its base does, and the live views of a base; after `tensor` was told to or not to."""
    base = tensor._base
    if base is not None:
        if tensor._edge is None and base._edge is not None:
            _require_grad(tensor, True)
        return
    for view in views_over(tensor):
        if view._base is tensor:
            _require_grad(view, tensor._edge is not None)


def _require_grad(view: Tensor, value: bool) -> None:
    if value and view._edge is None and view._array.dtype.kind not in "biu":
        view._edge = DISCARD_GRADIENT
    elif not value and view._edge is DISCARD_GRADIENT:
        view._edge = None


def views_of(out: Any, base: Tensor, kind: ViewKind) -> Any:
    """The results of a view operator, a Tensor or a tuple of them, as views of its argument."""
    if kind == "single":
        return view_of(out._array, base)
    return tuple([view_of(tensor._array, base, kind) for tensor in out])


def bump_version(tensor: Tensor) -> None:
    """Count a write to the memory of `tensor`."""
    writes = counter(tensor)
    if writes is UNTRACKED:
        return
    writes[0] += 1
    if len(writes) > 1 and writes[1].guarded:
        # Whoever wrote, and recorded or not: views that must not change have lost their meaning, and hooks on other
        # views, or on their Nodes, are of what they were before. What is recorded as written gets its new history
        # afterwards. But nothing is unclear about a view of no_grad mode that was itself written in this mode: no
        # gradient is asked of it.
        for view in views_over(tensor):
            if view is tensor and _kind(view) == "no_grad" and not grad_mode.enabled:
                _require_grad(view, False)
            elif _kind(view) != "single":
                _make_stale(view)
            elif _has_hooks(view) and not (view is tensor and grad_mode.enabled):
                _renew(view)


def check_tracked(tensor: Tensor) -> None:
    """Refuse a write to an inference tensor outside of inference mode.

    Raises:
        RuntimeError: it is one.
    """
    if tensor._writes is UNTRACKED and not grad_mode.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a "
            "normal tensor before doing inplace update."
        )


def check_inplace(tensor: Tensor, needs_grad: bool, one_value: bool = False) -> None:
    """Refuse an in-place write that has no meaning.

    Args:
        tensor: what is about to be written.
        needs_grad: whether the write will be recorded.
        one_value: whether all elements become the same.

    Raises:
        RuntimeError: a leaf that requires grad, a view of one, a view that must not be written, or memory where several
            elements of `tensor` are one.
        NotImplementedError: a view of a Tensor whose class stands for kernels.
    """
    check_tracked(tensor)
    if not one_value:
        check_single_places(tensor)
    if not grad_mode.enabled:
        return
    root = tensor._base
    # The base may have come to require grad after the view was made.
    if not needs_grad and (root is None or root._edge is None):
        return
    if root is not None:
        kind = _kind(tensor)
        if kind != "single":
            raise RuntimeError(_stale_message(tensor, kind, "is being modified inplace"))
        if root._edge is LEAF:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if class_dispatch.watch.classes and class_dispatch.stands_in(type(root)):
            raise NotImplementedError(
                f"a view of a {type(root).__name__}, which has a __torch_dispatch__, is being modified inplace while "
                "this is recorded: write to a clone() of the view, or under no_grad()"
            )
    if tensor._edge is LEAF:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def _kind(view: Tensor) -> ViewKind:
    return "single" if view._extra is None else view._extra.view


def _stale_message(view: Tensor, kind: ViewKind, event: str) -> str:
    if kind == "no_grad":
        mode = _AMBIGUOUS.format(mode="no_grad")
        return f"A view was created in no_grad mode and {event} with grad mode enabled. {mode}"
    if kind == "inference":
        mode = _AMBIGUOUS.format(mode="inference_mode")
        return f"A view was created in inference mode and {event} in normal mode. {mode}"
    return f"{_origin(view)} is a view and {event}. {_CUSTOM if kind == 'function' else _SEVERAL}"


def _origin(view: Tensor) -> str:
    edge = view._edge
    if isinstance(edge, StaleView):
        return edge.origin
    if not isinstance(edge, (Node, OutputEdge)):
        return "This tensor"
    node, output_nr = _place_of(edge)
    assert isinstance(node, Node)
    return f"Output {output_nr} of {node.name()}"


def rebase_history(tensor: Tensor, node: Node) -> None:
    """Give `tensor` the history `node` after an in-place write, and every Tensor over the same memory its part of it.

    Args:
        tensor: what was written.
        node: of the in-place operator, with one output of the shape of `tensor`; its edges lead to the old history.
    """
    root = tensor._base
    if root is None:
        replace_history(tensor, node)
    else:
        replace_history(root, CopySlices(root, tensor, node))


def become(tensor: Tensor, view: Tensor, recorded: bool) -> None:
    """Let `tensor` be `view`, which lies in the same memory.

    Its other views stay where they are. What it was a view of is not written, so no CopySlices is needed: gradients go
    from the new form of `tensor` to its old one.
    """
    tensor._array = view._array
    extra = tensor._extra
    if extra is not None and extra.accumulate_node is not None:
        extra.accumulate_node = None  # made for the old shape
    bump_version(tensor)
    take_history(tensor, view, recorded)


def take_history(tensor: Tensor, view: Tensor, recorded: bool) -> None:
    """Give `tensor`, which has become `view`, the history of that if it is recorded."""
    if recorded:
        tensor._edge = view._edge  # what is retained stays what it was, of the old shape
        _renew_views(tensor)
    elif tensor._edge is not LEAF:
        _renew(tensor)  # what it has is the history of a Tensor of the old shape


def replace_history(tensor: Tensor, edge: Node | OutputEdge) -> None:
    """Give `tensor` the history `edge` after an in-place write, and views of it their part of that."""
    old = tensor._edge
    tensor._edge = edge
    _move_retained(tensor, old, edge)
    _renew_views(tensor)


def _renew_views(root: Tensor) -> None:
    for view in views_over(root):
        if view._base is root:  # and not of a Tensor that was detached
            _renew(view)


def _renew(view: Tensor) -> None:
    """Let the history of a view begin at its base; what keeps its gradient goes on keeping it."""
    root = view._base
    if root is None or root._edge is None or view._array.dtype.kind in "biu":
        return
    if _kind(view) != "single":
        _make_stale(view)
        return
    old = view._edge
    region = Region(root._array, view._array)
    view._edge = new = AsStridedBackward0(root, region.gather, region.scatter, view._array)
    _move_retained(view, old, new)


def _has_hooks(view: Tensor) -> bool:
    """Whether there are hooks on the history of a view, put there through the view or through its `grad_fn`."""
    node, output_nr = _place_of(view._edge)
    if not isinstance(node, Node) or node._extra is None:
        return False
    extra = node._extra
    return output_nr in extra.tensor_hooks or bool(extra.hooks) or bool(extra.prehooks)


def _place_of(edge: Leaf | Node | OutputEdge | None) -> tuple[Leaf | Node | None, int]:
    return (edge.node, edge.output_nr) if isinstance(edge, OutputEdge) else (edge, 0)


def _make_stale(view: Tensor) -> None:
    root = view._base
    if root is None or root._edge is None or view._array.dtype.kind in "biu" or isinstance(view._edge, StaleView):
        return
    event = "its base or another view of its base has been modified inplace"
    view._edge = StaleView(root, view, _stale_message(view, _kind(view), event))


def _move_retained(tensor: Tensor, old: Leaf | Node | OutputEdge | None, new: Node | OutputEdge) -> None:
    """`tensor` keeps the gradient of its new value, no longer that of the old one."""
    (node, output_nr), (new_node, new_output_nr) = _place_of(old), _place_of(new)
    if not isinstance(node, Node) or node._extra is None or node is new_node or not isinstance(new_node, Node):
        return
    known = node._extra.retained.get(output_nr)
    if known is not None and known() is tensor:
        del node._extra.retained[output_nr]
        new_node.extra.retained[new_output_nr] = known


class AsStridedBackward0(LinearBackward):
    """The history of a view after a write to its base: the gradient goes to the view's place in the base."""

    __slots__ = ()


class StaleView(Node):
    """The history of a view that lost its meaning because its base was written; raises when a gradient arrives."""

    __slots__ = ("message", "origin")

    def __init__(self, root: Tensor, view: Tensor, message: str) -> None:
        # The edge makes a backward towards given inputs come by here.
        super().__init__((edge_of(root),), view._array.shape, view._array.dtype)
        self.message = message
        self.origin = _origin(view)  # what made it, for later messages

    def check_meaning(self) -> None:
        """Raise."""
        raise RuntimeError(self.message)

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Raise."""
        raise RuntimeError(self.message)


class CopySlices(Node):
    """An in-place write through a view, as the base sees it: one slice of its gradient goes through the operator."""

    __slots__ = ("_freed", "_recorded", "_written", "inner", "region")

    def __init__(self, root: Tensor, view: Tensor, inner: Node) -> None:
        self.inner = inner
        self._freed = self._recorded = False
        self.region = Region(root._array, view._array)
        # Which of the operator's edges is the written value's: its gradient goes into the slice, not along the edge.
        old = view._edge
        self._written = -1
        if old is not None:
            self._written = next((i for i, edge in enumerate(inner.edges) if edge is old), -1)
        others = list(inner.edges)
        if self._written >= 0:
            others[self._written] = None
        super().__init__((edge_of(root), *others), root._array.shape, root._array.dtype)

    @property
    def operator(self) -> Any:
        """The operator that wrote."""
        return getattr(self.inner, "operator", None)

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The slice of `grad` through the operator, the rest as it is."""
        if self._freed:
            raise freed_error(self)
        region = self.region
        piece = apply_linear(grad, region.gather, region.scatter)
        self._recorded |= grad_mode.enabled
        results = list(self.inner.apply(piece if self.inner.num_outputs == 1 else (piece,)))
        below = None
        if self._written >= 0:
            below = results[self._written]
            results[self._written] = None
        if self.edges[0] is None:
            return (None, *results)
        if below is not None:
            below = fit(below, region.shape, region.dtype, self.inner.name())
        if grad_mode.enabled or type(grad) not in plain:
            rest = apply_linear(grad, region.clear, region.clear)
            if below is not None:
                rest = rest + apply_linear(below, region.scatter, region.gather)
        else:
            rest = wrap(region.replace(grad._array, None if below is None else below._array))
        return (rest, *results)

    def release(self) -> None:
        """Drop the saved state of the operator; as in PyTorch a second backward is refused in any case."""
        self._freed = True
        # A saved result has the inner Node as its history. Once a recorded backward used that, the inner Node is part
        # of a graph itself, is run after this one, and drops its state then.
        if not self._recorded:
            self.inner.release()


def part_of(whole: Tensor, base: np.ndarray, view: np.ndarray) -> Tensor:
    """A view of `whole` that lies in it where `view` lies in `base`; `whole` is laid out as `base` is."""
    offset = view.__array_interface__["data"][0] - base.__array_interface__["data"][0] if view.size else 0
    array = np.asarray(Place(whole._array, offset, view)).view(view.dtype)
    if isinstance(whole._array, NonHostArray):
        array = array.view(type(whole._array))
    part = view_anywhere(array, whole)
    root = part._base
    assert root is not None
    if root._edge is not None and grad_mode.enabled:
        region = Region(root._array, array)
        part._edge = AsStridedBackward0(root, region.gather, region.scatter, array)
    return part
