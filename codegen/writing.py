"""How files are read to be hashed, and how they are written.

Git and editors may give a text other line ends and a mark at its start: to a hash it is the same text. What is written
goes beside its place first and is renamed then, so that a full disk or an interrupt leaves what was there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from codegen.inputs import MARK, content


def write_text(path: Path, text: str) -> None:
    """Write a file: all of the text, or nothing.

    Raises:
        OSError: it can not be written; its `filename` is the path.
    """
    _write({path: text.encode()})


def replace_texts(texts: Mapping[Path, str]) -> None:
    """Write files that somebody else wrote, which keep their line ends, mark, mode and links: all of them, or none.

    Raises:
        OSError: one can not be written; its `filename` is the path.
    """
    _write({path: _as_before(path, text) for path, text in texts.items()})


def text_of(path: Path) -> str | None:
    """The text of a file, whatever its line ends are; None where it can not be read."""
    try:
        return content(path).decode("utf-8", "replace")
    except OSError:
        return None


def _as_before(path: Path, text: str) -> bytes:
    data = text.encode()
    if not path.exists():
        return data
    before = path.read_bytes()
    if b"\r\n" in before:
        data = data.replace(b"\n", b"\r\n")
    return MARK + data if before.startswith(MARK) else data


def _write(contents: Mapping[Path, bytes]) -> None:
    made: dict[Path, tuple[Path, Path]] = {}
    path = Path()
    try:
        for path, data in contents.items():
            target = path.resolve()  # through a link, which stays one
            if target.exists() and not target.is_file():  # a device or a pipe, which nothing can be put in place of
                target.write_bytes(data)
            else:
                beside = target.with_name(f".{target.name}.{os.getpid()}")
                made[path] = beside, target
                _write_beside(beside, target, data)
        for path in made:
            os.replace(*made[path])
    except OSError as error:
        error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        for beside, _ in made.values():
            beside.unlink(missing_ok=True)


def _write_beside(beside: Path, target: Path, data: bytes) -> None:
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    beside.unlink(missing_ok=True)
    with open(beside, "xb") as file:
        file.write(data)
    if target.exists():
        os.chmod(beside, target.stat().st_mode & 0o7777)


def as_item(sample: str) -> str:
    """A sample as an item of a list in YAML, to be pasted below `samples:`."""
    is_plain = bool(sample) and sample[0] not in "[{\"'" and ": " not in sample and " #" not in sample
    return f"- {sample if is_plain else quoted(sample)}"


def quoted(text: str) -> str:
    """A text of one line in YAML, in single quotes."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
