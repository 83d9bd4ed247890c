"""`save` and `load`: values with Tensors in files, which PyTorch reads and writes too."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradwright.serialization import unpickling
from gradwright.serialization.archive import File, Reader, Writer
from gradwright.serialization.names import ALLOWED, ours
from gradwright.serialization.pickling import TensorPickler
from gradwright.serialization.rebuilding import StorageKind
from runtime.base.storage import UntypedStorage
from runtime.base.tensor import Tensor
from runtime.base.types import Device

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]

Location = Callable[[Any, str], Any] | Device | str | Mapping[str, str] | None

_safe_globals: list[Any] = []


def save(
    obj: object,
    f: File,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write a value with all Tensors in it to a file, in PyTorch's format; Tensors that share memory go on sharing it.

    Args:
        obj: anything that can be pickled.
        f: a path, or a file that is open for writing.
        pickle_module: Python's `pickle`.
        pickle_protocol: that of the pickle in the file.

    Raises:
        NotImplementedError: another `pickle_module`, or the format without zip, is asked for.
        RuntimeError: two Tensors view the same memory as different types.
    """
    if pickle_module is not pickle or not _use_new_zipfile_serialization:
        raise NotImplementedError("save() writes the zip format with Python's pickle alone")
    if _disable_byteorder_record:
        raise NotImplementedError("save() always says the order of bytes")
    data = io.BytesIO()
    pickler = TensorPickler(data, pickle_protocol)
    pickler.dump(obj)
    with Writer(f) as archive:
        archive.put("data.pkl", data.getvalue())
        for storage in pickler.storages:
            archive.put(f"data/{storage.key}", storage.memory)
        archive.finish()


def load(
    f: File,
    map_location: Location = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` wrote, here or in PyTorch.

    Args:
        f: a path, or a file that is open for reading.
        map_location: where Tensors are to lie: a device, a table of devices by those in the file, or a function of a
            storage and the device in the file, which returns the storage, a device, or None for the one in the file.
        pickle_module: Python's `pickle`.
        weights_only: whether only Tensors, plain containers and what `add_safe_globals` allows are read, so that the
            file can run no code. False runs any code that the file has.
        mmap: leave the bytes of Tensors in the file until they are used.

    Raises:
        UnpicklingError: the file names something that is not allowed; the text says what.
        RuntimeError: the file is none of this format, or a device is not there.
    """
    if pickle_module not in (None, pickle) or pickle_load_args.keys() - {"encoding"}:
        raise NotImplementedError("load() reads with Python's pickle alone")
    if not isinstance(f, str) and not hasattr(f, "__fspath__") and not (hasattr(f, "read") and hasattr(f, "seek")):
        raise AttributeError(f"expected 'f' to be a path, or a file that can be read and sought in, got {f!r}")
    with Reader(f, bool(mmap)) as archive:
        storages = _Storages(archive, map_location)
        data = archive.get("data.pkl")
        if weights_only is None or weights_only:
            return unpickling.Machine(ALLOWED, _users_globals(), storages.get).run(data)
        return _TrustingUnpickler(data, storages).load()


class _Storages:
    """The storages of a file, each read once."""

    def __init__(self, archive: Reader, map_location: Location) -> None:
        self._archive = archive
        self._map_location = map_location
        self._known: dict[str, UntypedStorage] = {}

    def get(self, saved_id: Any) -> UntypedStorage:
        """The storage of an id in the pickle."""
        if not (isinstance(saved_id, tuple) and len(saved_id) == 5 and saved_id[0] == "storage"):
            raise pickle.UnpicklingError(f"Unknown typename for persistent_load: {saved_id!r}")
        _, kind, key, location, _ = saved_id
        if not isinstance(kind, StorageKind):
            raise pickle.UnpicklingError(f"expected a class of storages, but got {kind!r}")
        found = self._known.get(key)
        if found is None:
            memory = self._archive.memory(key)
            if self._archive.is_swapped:
                item = kind.dtype.itemsize // (2 if kind.dtype.is_complex else 1)
                memory = memory.reshape(-1, item)[:, ::-1].reshape(-1)
            found = self._known[key] = UntypedStorage._over(memory)
            found.elements = kind.dtype
            found.destination = self._device(found, location)
        return found

    def _device(self, stored: UntypedStorage, location: str) -> str | None:
        """Where Tensors over a storage are to lie; None for main memory."""
        wanted: Any = self._map_location
        if isinstance(wanted, Mapping):
            wanted = wanted.get(location, location)
        elif callable(wanted):
            wanted = wanted(stored, location)
            if wanted is stored:
                return None
        if wanted is None:
            wanted = location
        try:
            device = Device(wanted)
            Tensor(0).to(device)
        except (RuntimeError, TypeError, NotImplementedError, AssertionError) as error:
            raise RuntimeError(
                f"Attempting to deserialize a storage on the device {wanted!r}, which is not there. If you want it in "
                "main memory, use load() with map_location='cpu'."
            ) from error
        return None if device.type == "cpu" else str(device)


class _TrustingUnpickler(pickle.Unpickler):
    """Reads any pickle; PyTorch's names are those of this library."""

    def __init__(self, data: bytes, storages: _Storages) -> None:
        super().__init__(io.BytesIO(data))
        self._storages = storages

    def persistent_load(self, saved_id: Any) -> UntypedStorage:
        return self._storages.get(saved_id)

    def find_class(self, module: str, name: str) -> Any:
        found = ours(module, name)
        return super().find_class(module, name) if found is None else found


def _name_of(item: Any) -> tuple[str, Any]:
    if isinstance(item, tuple):
        return item[1], item[0]
    return f"{item.__module__}.{item.__qualname__}", item


def _users_globals() -> dict[str, Any]:
    return dict(map(_name_of, _safe_globals))


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow classes and functions in files that are read with `weights_only`.

    Args:
        safe_globals: each by itself, or as a pair of it and the name that files have for it.
    """
    _safe_globals.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What has been allowed."""
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Take back what has been allowed."""
    _safe_globals.clear()


class safe_globals:
    """A block in which more is allowed: see `add_safe_globals`."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self._added = list(safe_globals)

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(self, *exception: object) -> None:
        _safe_globals[:] = self._before


def get_unsafe_globals_in_checkpoint(f: File) -> list[str]:
    """The names in a file that `weights_only` refuses."""
    allowed = ALLOWED.keys() | _users_globals().keys()
    with Reader(f) as archive:
        found = dict.fromkeys(unpickling.globals_of(archive.get("data.pkl")))
    return [name for name in found if name.replace("__builtin__.", "builtins.", 1) not in allowed]
