"""`save` and `load`, which are in every namespace; what they are made of is loaded with their first call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.serialization.archive import File


def save(obj: object, f: File, *args: Any, **kwargs: Any) -> None:
    """Write a value with all Tensors in it to a file: see `serialization.save`."""
    from runtime.serialization import save

    save(obj, f, *args, **kwargs)


def load(f: File, *args: Any, **kwargs: Any) -> Any:
    """Read what `save` wrote, here or in PyTorch: see `serialization.load`."""
    from runtime.serialization import load

    return load(f, *args, **kwargs)
