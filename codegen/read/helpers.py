"""Entries of a helper file: signatures of the functions that formulas call and no operator gives."""

from __future__ import annotations

from codegen.codes import Code
from codegen.read.model import HelperDeclaration
from codegen.read.schema_text import read_schema
from codegen.read.yaml_text import YamlFile
from codegen.schema.types import BASE_TYPES, OperatorName

# Values that only formulas know, besides the types of operator schemas.
HELPER_TYPES = BASE_TYPES | {"TensorOptions", "TensorGeometry"}


class HelperReader:
    """Reads the entries of one file; what is wrong with them goes into the file's diagnostics."""

    def __init__(self, yaml_file: YamlFile) -> None:
        self.yaml = yaml_file

    def read(self) -> tuple[HelperDeclaration, ...]:
        declarations: dict[OperatorName, HelperDeclaration] = {}
        for node in self.yaml.entries():
            fields = self.yaml.mapping(node, "an entry", "write it as '- helper: name(arguments) -> result'")
            if fields is None:
                continue
            for key, (key_node, _) in fields.items():
                if key != "helper":
                    self.yaml.error(
                        Code.UNKNOWN_KEY, key_node, f"unknown key {key!r}", "a declaration has the key 'helper' only"
                    )
            if "helper" not in fields:
                self.yaml.error(Code.MISSING_KEY, node, "the entry has no 'helper'")
                continue
            hint = "write a signature: 'name(Tensor grad) -> Tensor'"
            known = read_schema(self.yaml, fields["helper"][1], "helper", hint, HELPER_TYPES)
            if known is None:
                continue
            text, schema = known
            first = declarations.setdefault(schema.name, HelperDeclaration(schema, text))
            if first.text is not text:
                self.yaml.diagnostics.error(
                    Code.DUPLICATE_ENTRY,
                    text.span(0, schema.name_end),
                    f"duplicate declaration of '{schema.name}'",
                    "give each overload a name of its own: 'name.overload(...)'",
                    ((first.text.span(0, first.schema.name_end), "the first one is here"),),
                )
        return tuple(declarations.values())
