"""Values of keys, as the entries of native_functions.yaml write them: words, booleans, names of arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

import yaml

from codegen.codes import Code
from codegen.read.pieces import comma_separated
from codegen.read.yaml_text import Fields, YamlFile
from codegen.schema.parser import parse_operator_name
from codegen.schema.types import FunctionSchema, OperatorName, base_type
from codegen.source import ParseError, Text
from codegen.words import (
    did_you_mean,
)

_TRUE = frozenset(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSE = frozenset(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"))
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


class Values:
    """Reads values of one file; what is wrong with them goes into the file's diagnostics."""

    def __init__(self, yaml_file: YamlFile) -> None:
        self.yaml = yaml_file

    def boolean(self, fields: Fields, key: str, default: bool = False) -> bool:
        if key not in fields:
            return default
        node = fields[key][1]
        if isinstance(node, yaml.ScalarNode) and not node.style and not node.tag:
            if node.value in _TRUE:
                return True
            if node.value in _FALSE:
                return False
        self.yaml.error(Code.MALFORMED, node, f"'{key}' must be True or False", f"write '{key}: True', without quotes")
        return default

    def says_true(self, fields: Fields, key: str) -> bool:
        return key in fields and isinstance(fields[key][1], yaml.ScalarNode) and fields[key][1].value in _TRUE

    def word(self, fields: Fields, key: str) -> str | None:
        if key not in fields:
            return None
        text = self.yaml.scalar(fields[key][1], f"'{key}'")
        if text is None:
            return None
        if _IDENTIFIER.fullmatch(text.value) is None:
            self.yaml.diagnostics.error(
                Code.MALFORMED, text.span(), f"'{key}' must be one word, a name", "as in 'linalg'"
            )
            return None
        return text.value

    def texts(self, node: yaml.Node, what: str, element: str, hint: str | None = None) -> list[Text]:
        elements = self.yaml.sequence(node, what, hint)
        texts = [self.yaml.scalar(item, element, hint) for item in elements or ()]
        return [text for text in texts if text is not None]

    def arguments(self, text: Text, schema: FunctionSchema, types: Sequence[str]) -> tuple[str, ...]:
        """The names of arguments of these types that a list of names gives."""
        known = [argument.name for argument in schema.arguments if base_type(argument.type).name in types]
        kinds = " and ".join(f"{type}s" for type in types)
        return self.named(text, schema, known, f"{' or '.join(types)} argument", kinds)

    def named(self, text: Text, schema: FunctionSchema, known: Sequence[str], what: str, kinds: str) -> tuple[str, ...]:
        """The names in a list of some that are known: of a kind of arguments, or of results."""
        names: list[str] = []
        noun = what.split()[-1]
        for name in comma_separated(text):
            if not name.value:
                article = "an" if noun == "argument" else "a"
                hint = f"its {kinds}: {', '.join(known) or 'none'}"
                self.yaml.diagnostics.error(Code.MALFORMED, name.span(), f"{article} {noun} is missing here", hint)
            elif name.value not in known:
                self.yaml.diagnostics.error(
                    Code.NO_SUCH_ARGUMENT,
                    name.span(),
                    f"'{schema.name}' has no {what} '{name}'",
                    did_you_mean(name.value, known) or f"its {kinds}: {', '.join(known) or 'none'}",
                )
            elif name.value in names:
                self.yaml.diagnostics.error(Code.GIVEN_TWICE, name.span(), f"{noun} '{name}' is given twice")
            else:
                names.append(name.value)
        return tuple(names)

    def operator_name(self, text: Text) -> OperatorName | None:
        try:
            return parse_operator_name(text)
        except ParseError as error:
            self.yaml.parse_error(Code.SIGNATURE, text, error)
        return None

    def conflict(self, fields: Fields, key: str, message: str, other: str | None, hint: str | None) -> None:
        notes = [(self.yaml.span(fields[other][0]), f"'{other}' is given here")] if other is not None else []
        self.yaml.error(Code.CONTRADICTION, fields[key][0], message, hint, *notes)
