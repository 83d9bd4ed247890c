"""The file of `save`: an archive in the zip format, with a pickle and the bytes of each storage."""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePath
from typing import IO, Any

import numpy as np

File = str | os.PathLike[str] | IO[bytes]

# Where the bytes of a storage begin is a multiple of this, so that they can be used where they lie in a file.
_ALIGNMENT = 64
_HEADER = struct.Struct("<26xHH")  # the lengths of the name and of the extra field, at the end of an entry's header
_LARGE = 1 << 31
_PART = 1 << 24


class Writer:
    """Writes an archive.

    Args:
        file: a path, or an open file.
    """

    def __init__(self, file: File) -> None:
        self._folder = "archive"
        if isinstance(file, (str, os.PathLike)):
            self._folder = PurePath(file).stem or "archive"
        elif not hasattr(file, "write"):
            raise AttributeError(
                f"expected 'f' to be string, path, or a file-like object with a 'write' method, got {file!r}"
            )
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._checks: list[int] = []

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exception: object) -> None:
        self._zip.close()

    def put(self, name: str, data: Any) -> None:
        """Add an entry with these bytes."""
        entry = zipfile.ZipInfo(f"{self._folder}/{name}", (1980, 1, 1, 0, 0, 0))
        size = memoryview(data).nbytes
        file: Any = self._zip.fp
        if size < _LARGE and getattr(self._zip, "_seekable", False):
            begin = file.tell() + 30 + len(entry.filename.encode()) + 4
            entry.extra = struct.pack("<HH", 0x4246, -begin % _ALIGNMENT) + b"Z" * (-begin % _ALIGNMENT)
        self._checks.append(zlib.crc32(data))
        self._zip.writestr(entry, data)

    def finish(self) -> None:
        """Add what says how the rest is to be read."""
        self.put(".format_version", b"1")
        self.put(".storage_alignment", str(_ALIGNMENT).encode())
        self.put("byteorder", sys.byteorder.encode())
        self.put("version", b"3\n")
        # A number that tells archives apart: PyTorch makes one of the checksums, too.
        whole = zlib.crc32(struct.pack(f"<{len(self._checks)}I", *self._checks))
        self.put(".data/serialization_id", f"{whole:040d}".encode())


class Reader:
    """Reads an archive.

    Args:
        file: a path, or an open file that can be sought in.
        map_into_memory: whether the bytes of storages stay in the file until they are used.

    Raises:
        RuntimeError: the file is no such archive.
    """

    def __init__(self, file: File, map_into_memory: bool = False) -> None:
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise RuntimeError(
                "the file is no archive in the zip format: files of PyTorch before 1.6 and of "
                "_use_new_zipfile_serialization=False can not be read, and others may be damaged"
            ) from error
        names = self._zip.namelist()
        self._folder = next((name.removesuffix("data.pkl") for name in names if name.endswith("/data.pkl")), None)
        if self._folder is None:
            self._zip.close()
            raise RuntimeError(
                "the archive has no entry data.pkl: it was not written by save(); TorchScript has its own"
            )
        self._mapped = None
        if map_into_memory:
            if not isinstance(file, (str, os.PathLike)):
                raise ValueError("f must be a file filename in order to use the mmap argument")
            self._mapped = np.memmap(file, np.uint8, "c")

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exception: object) -> None:
        self._zip.close()

    def get(self, name: str) -> bytes:
        """The bytes of an entry."""
        with _damage():
            return self._zip.read(f"{self._folder}{name}")

    def has(self, name: str) -> bool:
        """Whether there is an entry."""
        return f"{self._folder}{name}" in self._zip.NameToInfo

    def memory(self, key: str) -> np.ndarray[Any, Any]:
        """The bytes of a storage, which can be written."""
        name = f"{self._folder}data/{key}"
        with _damage():
            entry = self._zip.getinfo(name)
            if self._mapped is not None and entry.compress_type == zipfile.ZIP_STORED:
                header = bytes(self._mapped[entry.header_offset : entry.header_offset + _HEADER.size])
                begin = entry.header_offset + _HEADER.size + sum(_HEADER.unpack(header))
                return np.asarray(self._mapped[begin : begin + entry.file_size])
            out = np.empty(entry.file_size, np.uint8)
            begin = 0
            with self._zip.open(entry) as source:
                while begin < entry.file_size:
                    part = source.read(_PART)  # not all at once: then there would be two copies for a moment
                    if not part:
                        raise zipfile.BadZipFile(f"{name} ends too early")
                    out[begin : begin + len(part)] = np.frombuffer(part, np.uint8)
                    begin += len(part)
            return out

    @property
    def is_swapped(self) -> bool:
        """Whether numbers in the file have their bytes in the other order."""
        return self.has("byteorder") and self.get("byteorder").decode() != sys.byteorder


@contextlib.contextmanager
def _damage() -> Iterator[None]:
    """What a broken archive raises, as one error."""
    try:
        yield
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise RuntimeError(f"PytorchStreamReader failed reading the archive: {error}") from error
