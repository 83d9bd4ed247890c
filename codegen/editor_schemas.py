"""JSON Schemas by which editors complete and check the YAML; they are written into the output of each package.

Those of operators and of derivatives follow from the tables of keys; those of other files lie in codegen/schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from codegen.dispatch_keys import AUTOGRAD_KEYS, DEFAULT
from codegen.paths import SCHEMAS
from codegen.read.derivatives import ENTRY_KEYS
from codegen.read.implied import IMPLIED, RULES
from codegen.read.keys import KEYS, SIGNATURE, WORD

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_FORMULA_KEY = rf"^(?!(?:{'|'.join(ENTRY_KEYS)})$)\s*{WORD}(\s*,\s*{WORD})*\s*$"


def texts() -> Iterator[tuple[str, str]]:
    """The schemas by the names of their files."""
    for name, schema in (("native_functions", operator_schema()), ("derivatives", derivative_schema())):
        yield f"{name}.schema.json", json.dumps(schema, indent=2) + "\n"
    for file in sorted(SCHEMAS.iterdir()):
        yield file.name, file.read_text(encoding="utf-8")


def operator_schema() -> Mapping[str, object]:
    """The JSON Schema of a native_functions.yaml."""
    properties: dict[str, object] = {}
    for key in KEYS:
        described = {"description": key.documentation, **key.grammar}
        properties[key.name] = described
        if key.former:
            properties[key.former] = {"deprecated": True, **described}
    rules = f"({'|'.join(RULES)})"
    properties[IMPLIED] = {
        "description": "The first entry of a file, alone: keys that follow from the rest of an entry that has them not",
        "type": "string",
        "pattern": rf"^\s*{rules}(\s*,\s*{rules})*\s*$",
        "examples": [", ".join(RULES)],
    }
    about = "Operator signatures and dispatch. docs/yaml.md describes every key."
    kinds = {"if": {"required": [IMPLIED]}, "then": {"maxProperties": 1}, "else": {"required": ["func"]}}
    return _list_of("native_functions.yaml", about, {**kinds, "properties": properties})


def derivative_keys() -> Iterator[tuple[str, str]]:
    """The keys of an entry of a derivatives.yaml that are no names of arguments, and what they say."""
    yield "name", "The signature, as in native_functions.yaml."
    yield "output_differentiability", "Which results are differentiable; a string is a condition."
    yield "dispatch", "Formulas that hold for one dispatch key; Default for all others."


def derivative_schema() -> Mapping[str, object]:
    """The JSON Schema of a derivatives.yaml."""
    formula = {
        "type": ["string", "number"],
        "description": "An expression, non_differentiable, not_implemented('reason'), auto_linear, auto_element_wise.",
    }
    formulas = {"patternProperties": {_FORMULA_KEY: formula}}
    keys = "|".join((DEFAULT, *sorted(AUTOGRAD_KEYS)))
    about_key = dict(derivative_keys())
    properties = {
        "name": {**SIGNATURE, "description": about_key["name"]},
        "output_differentiability": {
            "type": "array",
            "minItems": 1,
            "items": {"type": ["boolean", "string"]},
            "description": about_key["output_differentiability"],
        },
        "dispatch": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {f"^(?:{keys})$": {"type": "object", "additionalProperties": False, **formulas}},
            "description": about_key["dispatch"],
        },
    }
    about = "Backward and forward formulas of operators. docs/yaml.md describes every key."
    return _list_of("derivatives.yaml", about, {"required": ["name"], "properties": properties, **formulas})


def _list_of(title: str, about: str, entry: Mapping[str, object]) -> Mapping[str, object]:
    items = {"type": "object", "additionalProperties": False, **entry}
    return {"$schema": _DIALECT, "title": title, "description": about, "type": "array", "items": items}
