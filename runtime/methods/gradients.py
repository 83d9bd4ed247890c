"""The methods of Tensor that tell how its gradient is computed: backward, hooks, leaves that require grad."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

from runtime.base.errors import flag
from runtime.base.handles import RemovableHandle
from runtime.base.modes import grad_mode
from runtime.base.once import publish
from runtime.base.sharing import check_captured, guard, is_captured, transforms, views_over
from runtime.base.state import LEAF, LEAF_EDGES, UNTRACKED
from runtime.base.tensor import Tensor
from runtime.graph import forward
from runtime.graph.backward import backward as run_backward
from runtime.graph.views import share_requires_grad


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Accumulate the gradients of this Tensor in the leaves it was made of; see `gradwright.autograd.backward`."""
    run_backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set `requires_grad` of a leaf, and return this Tensor.

    Raises:
        TypeError: `requires_grad` is no bool.
        RuntimeError: this is no leaf, or no Tensor of its dtype can require grad.
    """
    if transforms.captured and is_captured(self):
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) "
            "inside of a function being transformed by a functorch transform. This is unsupported, please attempt to "
            "use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside "
            "of a function being transformed instead."
        )
    requires_grad = flag("requires_grad_", "requires_grad", requires_grad)
    edge = self._edge
    leaf = type(edge) in LEAF_EDGES
    if requires_grad and self._writes is UNTRACKED and not grad_mode.inference:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if leaf and requires_grad:
        if edge is None and not self.dtype.is_floating_point and not self.dtype.is_complex:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        self._edge = LEAF
    elif not requires_grad:
        if not leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        self._edge = None
    if self._base is not None or views_over(self):
        share_requires_grad(self)
    return self


def detach_(self: Tensor) -> Tensor:
    """Make this Tensor a leaf that requires no gradient, and carries no tangent.

    Raises:
        RuntimeError: it is a view.
    """
    if transforms.captured:
        check_captured(self, "aten::detach_")
    if self._is_view():
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    self._edge = None
    forward.drop_tangents(self)
    if self.retains_grad:
        self.extra.retains_grad = False
    if views_over(self):
        share_requires_grad(self)
    return self


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf Tensor in `grad`; leaves keep theirs anyway."""
    if self._edge is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self.is_leaf or self.retains_grad:
        return
    node, number = self._node_and_output()
    node.extra.retained[number] = weakref.ref(self)
    self.extra.retains_grad = True


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` when the gradient of this Tensor is known; what it returns replaces the gradient."""
    if self._edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.is_leaf:
        hooks = self.extra.hooks
        return RemovableHandle(publish(self.extra, "hooks", {}) if hooks is None else hooks, hook)
    if self._base is not None:
        guard(self)  # a write to its base leaves the hook behind
    node, number = self._node_and_output()
    return RemovableHandle(node.extra.tensor_hooks.setdefault(number, {}), hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` each time a gradient was added to this leaf's `grad`."""
    if self._edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hooks = self.extra.post_accumulate_hooks
    return RemovableHandle(publish(self.extra, "post_accumulate_hooks", {}) if hooks is None else hooks, hook)
