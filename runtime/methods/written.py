"""The methods of Tensor that are written by hand and stand on more than Tensor itself: on operators, on the graph."""

from __future__ import annotations

from typing import Any

from runtime.base.tensor import Tensor
from runtime.methods import conversion, dense, gradients, indexing, storage
from runtime.operators import functional, sparse_functions


def written_by_hand() -> dict[str, Any]:
    """Each under its name."""
    methods: dict[str, Any] = {
        **dense.methods(),
        **sparse_functions.methods(),
        "__getitem__": indexing.getitem,
        "__setitem__": indexing.setitem,
        "__delitem__": indexing.delitem,
        "__repr__": _text,
        "__rdiv__": _divides,
        "untyped_storage": storage.untyped_storage,
        "storage": storage.storage,
        "set_": storage.set_,
        "is_set_to": storage.is_set_to,
        "is_shared": storage.is_shared,
        "share_memory_": storage.share_memory_,
        "resize_": storage.resize_,
        "resize_as_": storage.resize_as_,
        "to": conversion.to,
        "cpu": conversion.cpu,
        "as_subclass": conversion.as_subclass,
        "new_tensor": conversion.new_tensor,
        "_make_wrapper_subclass": staticmethod(_make_wrapper_subclass),
        "lu": functional.lu,
        "nonzero": functional.nonzero,
        "norm": functional.norm,
        "unique": functional.unique,
        "unique_consecutive": functional.unique_consecutive,
        "stft": functional.stft,
        "backward": gradients.backward,
        "requires_grad_": gradients.requires_grad_,
        "detach_": gradients.detach_,
        "retain_grad": gradients.retain_grad,
        "register_hook": gradients.register_hook,
        "register_post_accumulate_grad_hook": gradients.register_post_accumulate_grad_hook,
    }
    for name, function in methods.items():
        if name.startswith("__"):
            function.__name__ = name  # as classes are told that take calls over
    return methods


def _make_wrapper_subclass(cls: type[Tensor], size: Any, *args: Any, **kwargs: Any) -> Tensor:
    """A Tensor around others; see `runtime.devices.wrapper`."""
    from runtime.devices.wrapper import make_wrapper_subclass

    return make_wrapper_subclass(cls, size, *args, **kwargs)


def _divides(self: Tensor, other: Any) -> Any:
    """`other / self`, under the name that Python 2 had for it."""
    return other / self


def _text(self: Tensor) -> str:
    from runtime.methods.printing import tensor_text  # few programs print Tensors, and it takes long to import

    return tensor_text(self)
