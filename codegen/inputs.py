"""The project's YAML and its checksum: all that `import gradwright` needs to know of the generator.

It asks at every start whether the generated code was made of this YAML, so here is nothing of pathlib, json and
hashlib: to import those takes longer than to answer.
"""

from __future__ import annotations

import os
from binascii import crc32
from collections.abc import Iterable

from codegen.module_names import PREFIX

# Names another output folder of the generator, made of other YAML, for the runtime to load.
OUTPUT_VARIABLE = "GRADWRIGHT_GENERATED"
MANIFEST = "manifest.json"
# Beside native_functions.yaml.
SAMPLES = "samples.yaml"
# The folder of a checkout with the pages and lists that programs write.
REPORTS = "docs/reports"
# Beside the manifest: the docstrings of the packets in the order of PACKETS, with a line behind each of them.
DOCSTRINGS = "docstrings.txt"
DOCSTRING_END = "\f\n"
# What some editors put at the start of UTF-8.
MARK = b"\xef\xbb\xbf"
# Raised when emission changes in a way that makes older output unusable.
FORMAT = 6
# What generated code may count on in the runtime. Raised when code that was generated before would fail or go wrong:
# packages carry the number that they were generated for, and are refused by another.
INTERFACE = 3


def data_folder() -> str:
    """Where the YAML and the templates lie: the root of the checkout, or a folder of the installed package."""
    root = root_folder()
    is_checkout = os.path.exists(os.path.join(root, "native_functions.yaml"))
    return root if is_checkout else os.path.join(root, "codegen", "data")


def input_files() -> tuple[str, str, str]:
    """The operators, their derivatives and their samples."""
    folder = data_folder()
    return (
        os.path.join(folder, "native_functions.yaml"),
        os.path.join(folder, "derivatives.yaml"),
        os.path.join(folder, SAMPLES),
    )


def root_folder() -> str:
    """The folder with the inner packages: the root of the checkout, or that of the installed package."""
    return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def import_folder() -> str:
    """The folder that Python finds the packages in: the root of the checkout, or site-packages."""
    return os.path.dirname(root_folder()) if PREFIX else root_folder()


def shown_path(path: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> str:
    """`path` as messages name it: relative to the project or to where the user is, if it lies below."""
    full = os.path.realpath(path)
    for base in map(os.path.realpath, (root or root_folder(), os.getcwd())):
        if full == base or full.startswith(os.path.join(base, "")):
            return os.path.relpath(full, base).replace(os.sep, "/")
    return os.fspath(path).replace(os.sep, "/")


def manifest_text(output: str | os.PathLike[str]) -> str:
    """The manifest of an output folder.

    Raises:
        OSError: there is none.
    """
    with open(os.path.join(output, MANIFEST), encoding="utf-8") as file:
        return file.read()


def content(name: str | os.PathLike[str]) -> bytes:
    """The text of a file as it is hashed: the same whatever line ends and mark git or an editor has given it."""
    with open(name, "rb") as file:
        return file.read().removeprefix(MARK).replace(b"\r\n", b"\n")


def checksum(files: Iterable[str | os.PathLike[str]]) -> str:
    """What tells one state of some files, in order, from another, and one version of the output from another."""
    total = FORMAT
    for name in files:
        total = crc32(content(name) + b"\0", total)
    return f"{total:08x}"


def is_current(manifest: str, files: Iterable[str | os.PathLike[str]]) -> bool:
    """Whether the output that a manifest stands for was made from these files.

    Args:
        manifest: its text, of which this reads one line.
        files: what the checksum is over.
    """
    return f' "checksum": "{checksum(files)}",' in manifest.splitlines()
