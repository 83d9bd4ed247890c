"""From YAML files to the model: the front door of the generator.

`load` reads a file; `read_native_functions`, `read_derivatives` and `read_tags` turn it into model objects.  None of
them raises for anything that a file can contain: what is wrong goes into the `Diagnostics`, and every entry that can be
understood is returned, so that later steps find their errors in the same run.
"""

from __future__ import annotations

import os
from pathlib import PurePath

from codegen.codes import Code
from codegen.inputs import content
from codegen.paths import HEADERS
from codegen.read.cpp_headers import read_declarations
from codegen.read.derivatives import DerivativeReader
from codegen.read.functions import FunctionReader
from codegen.read.helpers import HelperReader
from codegen.read.model import DerivativeEntry, HelperDeclaration, NativeFunction
from codegen.read.sample_file import SampleEntry, read_sample_file
from codegen.read.yaml_text import YamlFile
from codegen.source import CONFLICT_HINT, Diagnostics, SourceFile, Span, find_conflict
from codegen.words import TAGS


def load(path: str | os.PathLike[str], display_path: str, diagnostics: Diagnostics) -> SourceFile | None:
    """The text of a file, None with a diagnostic where it cannot be read.  Messages name it `display_path`."""
    try:
        data = content(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        diagnostics.error(Code.UNREADABLE, Span(SourceFile(display_path, ""), 0, 0), f"cannot read the file: {reason}")
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        # What could be decoded gives the place; the rest is shown as well as it can be.
        text = data.decode("utf-8", "replace")
        offset = len(data[: error.start].decode("utf-8"))
        diagnostics.error(
            Code.UNREADABLE,
            Span(SourceFile(display_path, text), offset, offset + 1),
            f"the file is not valid UTF-8: byte 0x{data[error.start]:02x}",
            "save the file as UTF-8",
        )
        return None
    file = SourceFile(display_path, text)
    conflict = find_conflict(file)
    if conflict is not None:
        diagnostics.error(Code.UNREADABLE, conflict, "a merge conflict: both sides stand here", CONFLICT_HINT)
        return None
    return file


def read_native_functions(
    file: SourceFile, diagnostics: Diagnostics, tags: frozenset[str] = TAGS, part: range | None = None
) -> tuple[NativeFunction, ...]:
    """The operators of a native_functions.yaml; `tags` are those that its entries may carry.

    `part`: of one entry alone, which `entry_around` gives.
    """
    return FunctionReader(YamlFile(file, diagnostics, part), tags).read()


def read_samples(file: SourceFile, diagnostics: Diagnostics, part: range | None = None) -> tuple[SampleEntry, ...]:
    """The samples of a samples.yaml, or of one entry."""
    return read_sample_file(YamlFile(file, diagnostics, part))


def read_derivatives(
    file: SourceFile, diagnostics: Diagnostics, part: range | None = None
) -> tuple[DerivativeEntry, ...]:
    """The entries of a derivatives.yaml, or one of them."""
    return DerivativeReader(YamlFile(file, diagnostics, part)).read()


def read_helpers(file: SourceFile, diagnostics: Diagnostics) -> tuple[HelperDeclaration, ...]:
    """The declarations of a helper file, or of a header of C++."""
    if PurePath(file.path).suffix in HEADERS:
        return read_declarations(file)
    return HelperReader(YamlFile(file, diagnostics)).read()


def read_tags(file: SourceFile, diagnostics: Diagnostics) -> frozenset[str]:
    """The names that a tags.yaml defines."""
    yaml_file = YamlFile(file, diagnostics)
    names: set[str] = set()
    for node in yaml_file.entries():
        fields = yaml_file.mapping(node, "an entry", "write it as '- tag: name' and 'desc: text'")
        if fields is None:
            continue
        for key, (key_node, _) in fields.items():
            if key not in ("tag", "desc"):
                yaml_file.error(
                    Code.UNKNOWN_KEY, key_node, f"unknown key {key!r}", "a tag has the keys 'tag' and 'desc'"
                )
        if "tag" not in fields:
            yaml_file.error(Code.MISSING_KEY, node, "the entry has no 'tag'")
            continue
        text = yaml_file.scalar(fields["tag"][1], "'tag'")
        if text is None:
            continue
        if text.value in names:
            diagnostics.error(Code.GIVEN_TWICE, text.span(), f"duplicate tag '{text}'")
        names.add(text.value)
    return frozenset(names)
