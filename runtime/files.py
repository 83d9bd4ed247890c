"""`save`, `load` and `from_dlpack`; what they are made of is loaded with their first call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor
    from runtime.serialization.archive import File


def save(obj: object, f: File, *args: Any, **kwargs: Any) -> None:
    """Write a value with all Tensors in it to a file: see `serialization.save`."""
    from runtime.serialization import save

    save(obj, f, *args, **kwargs)


def load(f: File, *args: Any, **kwargs: Any) -> Any:
    """Read what `save` wrote, here or in PyTorch: see `serialization.load`."""
    from runtime.serialization import load

    return load(f, *args, **kwargs)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor over the memory of an array of another library: see `utils.dlpack`.

    Args:
        ext_tensor: an object with the method `__dlpack__`, or a capsule.
        device: where the Tensor is to lie.
        copy: True for a copy, False for none at all, None for one where it is needed.
    """
    from runtime.methods.dlpack import from_dlpack

    return from_dlpack(ext_tensor, device=device, copy=copy)
