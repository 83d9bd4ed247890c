"""`save`, `load` and `from_dlpack`; what they are made of is loaded with their first call."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base import types
from runtime.base.dtypes import dtype as DType
from runtime.base.dtypes import get_default_dtype
from runtime.base.leaves import leaf
from runtime.base.shared_memory import SharedMemory
from runtime.base.tensor import Tensor, wrap

if TYPE_CHECKING:
    from gradwright.serialization.archive import File


def save(obj: object, f: File, *args: Any, **kwargs: Any) -> None:
    """Write a value with all Tensors in it to a file: see `serialization.save`."""
    from gradwright.serialization import save

    save(obj, f, *args, **kwargs)


def load(f: File, *args: Any, **kwargs: Any) -> Any:
    """Read what `save` wrote, here or in PyTorch: see `serialization.load`."""
    from gradwright.serialization import load

    return load(f, *args, **kwargs)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor over the memory of an array of another library: see `utils.dlpack`.

    Args:
        ext_tensor: an object with the method `__dlpack__`, or a capsule.
        device: where the Tensor is to lie.
        copy: True for a copy, False for none at all, None for one where it is needed.
    """
    from gradwright.utils.dlpack import from_dlpack

    return from_dlpack(ext_tensor, device=device, copy=copy)


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: DType | None = None,
    layout: types.Layout | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A Tensor with one dimension whose memory is that of a file, which is mapped and not read.

    Args:
        filename: of the file; where it is shared and there is none, it is made.
        shared: whether writes go to the file, and are seen by all who share it.
        size: how many elements; a shared file that is shorter becomes as long.
        dtype: of the elements; the default one if left out.
        layout: accepted, if it is `strided`.
        device: where it lies: in main memory.
        pin_memory: refused.
        requires_grad: whether gradients of it are wanted.

    Raises:
        NotImplementedError: the device is another one.
        RuntimeError: the file cannot be opened or mapped, or is too short.
        TypeError: the name is no string.
    """
    if not isinstance(filename, str):
        raise TypeError(f"from_file(): argument 'filename' must be str, not {type(filename).__name__}")
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    if (place := types.get_default_device() if device is None else types.device(device)).type != "cpu":
        raise NotImplementedError(f"a file is mapped into main memory, but the device is {place}")
    wanted = get_default_dtype() if dtype is None else dtype
    memory = _bytes_of_file(filename, (size or 0) * wanted.itemsize, bool(shared))
    out = wrap(memory.view(wanted.numpy))
    return leaf(out, requires_grad)


def _bytes_of_file(path: str, count: int, shared: bool) -> np.ndarray[Any, Any]:
    """The first bytes of a file as memory.

    Args:
        path: of the file; where it is shared and there is none, it is made.
        count: how many bytes; a shared file that is shorter becomes as long.
        shared: whether writes go to the file.

    Raises:
        RuntimeError: it cannot be opened or mapped, or is too short.
    """
    mode = "read-write" if shared else "read-only"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o666)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{path}> in {mode} mode: {error.strerror} ({error.errno})") from None
    try:
        size = os.fstat(handle).st_size
        if count < 0:
            raise RuntimeError(f"unable to mmap {count} bytes from file <{path}>")
        if count > size:
            if not shared:
                raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{count}>")
            os.ftruncate(handle, count)
        if not count:
            return np.empty(0, np.uint8)
        pages: mmap.mmap = SharedMemory(handle, count) if shared else mmap.mmap(handle, count, access=mmap.ACCESS_COPY)
    finally:
        os.close(handle)
    return np.frombuffer(pages, np.uint8)
