"""The schema that an entry is of, read as all three files have it."""

from __future__ import annotations

import yaml

from codegen.codes import Code
from codegen.read.pieces import stripped
from codegen.read.yaml_text import YamlFile
from codegen.schema.parser import parse_schema
from codegen.schema.types import BASE_TYPES, FunctionSchema
from codegen.source import ParseError, Text


def read_schema(
    file: YamlFile, node: yaml.Node, key: str, hint: str, types: frozenset[str] = BASE_TYPES
) -> tuple[Text, FunctionSchema] | None:
    """The schema that stands under `key`, and its text without the white space around it; None with an error.

    Args:
        file: where it stands.
        node: the value of the key.
        key: for messages.
        hint: what to write where the value is no text.
        types: the names of types that the schema may have.
    """
    text = file.scalar(node, f"'{key}'", hint)
    if text is None:
        return None
    text = stripped(text)
    try:
        return text, parse_schema(text, types=types)
    except ParseError as error:
        file.parse_error(Code.SIGNATURE, text, error)
        if key == "func":
            file.diagnostics.unread.add(text.value.partition("(")[0].strip())
        return None
