"""What stands in the slots of a Tensor: marks of leaves, views and inference tensors, and the rare parts."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from runtime.native import core

if TYPE_CHECKING:
    from runtime.base.dtypes import dtype as DType
    from runtime.base.tensor import Tensor


class Leaf:
    """The type of LEAF, the mark in `Tensor._edge` of a leaf that requires a gradient."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "LEAF"


LEAF: Final = Leaf()

# What stands in `Tensor._edge` of leaves; `runtime.graph.node` adds the type of DISCARD_GRADIENT.
LEAF_EDGES: Final[set[type]] = {type(None), Leaf}

ViewKind: TypeAlias = Literal["single", "multi", "no_grad", "inference", "function"]


class Untracked(list[Any]):
    """The type of UNTRACKED, which stands in `Tensor._writes` of inference tensors: their writes are not counted."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        # A count that is read is compared later.
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
            "it in autograd, or use `no_grad()` instead of `inference_mode()`."
        )

    def __bool__(self) -> bool:
        return True


UNTRACKED: Final = Untracked()


class Extra:
    """The rare parts of a Tensor's state; made on first use."""

    # Most of these are never set on most Tensors that have one, so the class holds what they start as.
    grad: Tensor | None = None
    # Hooks of a leaf; those of other Tensors belong to the Node, which stays when the Tensor is written in place.
    hooks: dict[int, Callable[..., Any]] | None = None
    post_accumulate_hooks: dict[int, Callable[..., Any]] | None = None
    retains_grad: builtins.bool = False
    # What `Tensor.grad_dtype` was set to: a dtype, or None for any; where it was not, the gradient is of the leaf's.
    grad_dtype: tuple[DType | None] | None = None
    # Kept by runtime.graph.views, runtime.graph.node and runtime.graph.forward.
    view: ViewKind = "single"
    accumulate_node: Any = None
    tangent: Any = None
    level: Any = None  # the transform of gradwright.func whose input this is


class Mark(Extra):
    """The rare parts of a view that must not be written, and has no others: one object for all views of a kind."""

    def __init__(self, view: ViewKind) -> None:
        vars(self)["view"] = view

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"many Tensors share these parts: '{name}' is to be set on Tensor.extra")


MARKS: Final[dict[str, Mark | None]] = {
    "single": None,
    "multi": Mark("multi"),
    "no_grad": Mark("no_grad"),
    "inference": Mark("inference"),
    "function": Mark("function"),
}


if TYPE_CHECKING or core is None:

    class TensorBase:
        """The state of a Tensor where there is no native core."""

        __slots__ = ("__dict__", "__weakref__", "_array", "_base", "_edge", "_extra", "_writes")

else:
    TensorBase = core.TensorBase
