"""Entries of derivatives.yaml: formulas for inputs and outputs, and what goes with them."""

from __future__ import annotations

import re

import yaml

from codegen.codes import Code
from codegen.dispatch_keys import AUTOGRAD_KEYS, BACKENDS, DEFAULT
from codegen.formula.parser import parse_formula
from codegen.read.model import DerivativeEntry, Formula, FormulaKind
from codegen.read.pieces import comma_separated, stripped
from codegen.read.schema_text import read_schema
from codegen.read.yaml_text import Fields, YamlFile, describe
from codegen.schema.types import FunctionSchema, OperatorName
from codegen.source import ParseError, Span, Text
from codegen.words import Meant, did_you_mean

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NOT_IMPLEMENTED = re.compile(r'not_implemented(?:_list)?\(\s*"((?:[^"\\]|\\.)*)"\s*(?:,[^()"]*)?\)')
_WORDS = {
    kind.value: kind
    for kind in (FormulaKind.NON_DIFFERENTIABLE, FormulaKind.AUTO_LINEAR, FormulaKind.AUTO_ELEMENT_WISE)
}
_TRUE = frozenset(("True", "true", "TRUE"))
_FALSE = frozenset(("False", "false", "FALSE"))
ENTRY_KEYS = ("name", "dispatch", "output_differentiability")
_OUTPUT_HINT = "write True or False for each output, or a condition in quotes: '[True, False]'"
_FORMULA_HINT = "a formula that begins with '[', '{' or another mark of YAML must be quoted"
_DISPATCH_HINT = "write 'Default:' and below it the formulas, indented"


class DerivativeReader:
    """Reads the entries of one file; what is wrong with them goes into the file's diagnostics."""

    def __init__(self, yaml_file: YamlFile) -> None:
        self.yaml = yaml_file

    def read(self) -> tuple[DerivativeEntry, ...]:
        entries: list[DerivativeEntry] = []
        seen: dict[OperatorName, DerivativeEntry] = {}
        for node in self.yaml.entries():
            entry = self._entry(node)
            if entry is None:
                continue
            first = seen.setdefault(entry.schema.name, entry)
            if first is entry:
                entries.append(entry)
            else:
                self.yaml.diagnostics.error(
                    Code.DUPLICATE_ENTRY,
                    entry.text.span(0, entry.schema.name_end),
                    f"duplicate entry for '{entry.schema.name}'",
                    "bring the formulas of both together in one entry",
                    ((first.text.span(0, first.schema.name_end), "the first one is here"),),
                )
        return tuple(entries)

    def _entry(self, node: yaml.Node) -> DerivativeEntry | None:
        fields = self.yaml.mapping(node, "an entry", "write it as '- name: operator(arguments) -> result'")
        if fields is None:
            return None
        if "name" not in fields:
            misspelled = [key for key in fields if did_you_mean(key, ("name",))]
            if misspelled:
                key = misspelled[0]
                self.yaml.error(Code.UNKNOWN_KEY, fields[key][0], f"unknown key '{key}'", Meant(key, "name"))
            else:
                hint = "in derivatives.yaml the schema's key is 'name'" if "func" in fields else None
                self.yaml.error(Code.MISSING_KEY, node, "the entry has no 'name'", hint)
            return None
        hint = "write the operator's schema as in native_functions.yaml"
        known = read_schema(self.yaml, fields["name"][1], "name", hint)
        if known is None:
            return None
        text, schema = known
        formulas = self._formulas(fields, schema)
        dispatch: tuple[tuple[Text, tuple[Formula, ...]], ...] = ()
        if "dispatch" in fields:
            dispatch = self._dispatch(fields["dispatch"][1], schema)
            for formula in formulas:
                self.yaml.diagnostics.error(
                    Code.CONTRADICTION,
                    formula.names[0].span(),
                    "a formula beside a 'dispatch' table",
                    "move it below the 'Default' of the table",
                    ((self.yaml.span(fields["dispatch"][0]), "the table is here"),),
                )
        conditions: tuple[bool | Text, ...] | None = None
        conditions_span: Span | None = None
        if "output_differentiability" in fields:
            value = fields["output_differentiability"][1]
            conditions_span = self.yaml.span(value)
            conditions = self._output_differentiability(value)
        return DerivativeEntry(schema, text, formulas, conditions, conditions_span, dispatch)

    def _formulas(self, fields: Fields, schema: FunctionSchema) -> tuple[Formula, ...]:
        formulas: list[Formula] = []
        for key, (key_node, value) in fields.items():
            if key in ENTRY_KEYS:
                continue
            formula = self._formula(key_node, value, schema)
            if formula is not None:
                formulas.append(formula)
        return tuple(formulas)

    def _formula(self, key_node: yaml.ScalarNode, value: yaml.Node, schema: FunctionSchema) -> Formula | None:
        key = self.yaml.text(key_node)
        if (close := _meant_reserved(key.value, schema)) is not None:
            self.yaml.error(Code.UNKNOWN_KEY, key_node, f"unknown key '{key}'", close)
            return None
        names = comma_separated(key)
        if not all(_NAME.fullmatch(name.value) for name in names):
            self._bad_names(names)
            return None
        words = [name.value for name in names]
        if len(set(words)) < len(words):
            self._repeated_name(names)
            return None
        if not isinstance(value, yaml.ScalarNode):
            self.yaml.error(Code.WRONG_SHAPE, value, f"a formula must be text, not {describe(value)}", _FORMULA_HINT)
            return None
        text = self.yaml.scalar(value, "the formula", "write 'non_differentiable' where there is no gradient")
        if text is None:
            return None
        text = stripped(text)
        word = text.value
        if word in _WORDS:
            return Formula(tuple(names), _WORDS[word], text)
        if re.match(r"not_implemented(_list)?\b", word):
            match = _NOT_IMPLEMENTED.fullmatch(word)
            if match is None:
                self.yaml.diagnostics.error(
                    Code.MALFORMED,
                    text.span(),
                    "'not_implemented' stands alone, with the reason in double quotes",
                    f"write 'not_implemented(\"{schema.name.base}\")'",
                )
                return None
            return Formula(tuple(names), FormulaKind.NOT_IMPLEMENTED, text, reason=match[1])
        try:
            tree = parse_formula(word)
        except ParseError as error:
            self.yaml.parse_error(Code.FORMULA_SYNTAX, text, error)
            return None
        return Formula(tuple(names), FormulaKind.EXPRESSION, text, tree)

    def _bad_names(self, names: list[Text]) -> None:
        for name in names:
            if not name.value:
                self.yaml.diagnostics.error(
                    Code.MALFORMED, name.span(), "a name is missing here", "write 'self, other: formula'"
                )
            elif _NAME.fullmatch(name.value) is None:
                self.yaml.diagnostics.error(
                    Code.MALFORMED,
                    name.span(),
                    f"'{name}' is no name of an argument or output",
                    "write 'self: formula'",
                )

    def _repeated_name(self, names: list[Text]) -> None:
        seen: dict[str, Span] = {}
        for name in names:
            if name.value in seen:
                note = (seen[name.value], "the first one is here")
                self.yaml.diagnostics.error(Code.GIVEN_TWICE, name.span(), f"'{name}' is given twice", None, (note,))
            seen.setdefault(name.value, name.span())

    def _dispatch(self, node: yaml.Node, schema: FunctionSchema) -> tuple[tuple[Text, tuple[Formula, ...]], ...]:
        blocks: list[tuple[Text, tuple[Formula, ...]]] = []
        table = self.yaml.mapping(node, "'dispatch'", _DISPATCH_HINT) or {}
        for key, (key_node, value) in table.items():
            text = self.yaml.text(key_node)
            if key != DEFAULT and key not in AUTOGRAD_KEYS:
                known = {DEFAULT, *AUTOGRAD_KEYS}
                hint = Meant(key, f"Autograd{key}") if key in BACKENDS else did_you_mean(key, known)
                self.yaml.diagnostics.error(Code.UNKNOWN_WORD, text.span(), f"unknown dispatch key '{key}'", hint)
                continue
            fields = self.yaml.mapping(value, f"the block of '{key}'", _DISPATCH_HINT)
            if fields is None:
                continue
            for reserved in ENTRY_KEYS:
                if reserved in fields:
                    self.yaml.error(
                        Code.CONTRADICTION,
                        fields[reserved][0], f"'{reserved}' cannot stand in the block of a dispatch key",
                        "move it to the entry: it holds for all keys",
                    )  # fmt: skip
            blocks.append((text, self._formulas(fields, schema)))
        return tuple(blocks)

    def _output_differentiability(self, node: yaml.Node) -> tuple[bool | Text, ...] | None:
        elements = self.yaml.sequence(node, "'output_differentiability'", _OUTPUT_HINT)
        if elements is None:
            return None
        if not elements:
            self.yaml.error(Code.WRONG_SHAPE, node, "'output_differentiability' is empty", _OUTPUT_HINT)
            return None
        values: list[bool | Text] = []
        for element in elements:
            text = self.yaml.scalar(element, "an element of 'output_differentiability'", _OUTPUT_HINT)
            if text is None:
                return None
            assert isinstance(element, yaml.ScalarNode)
            if not element.style and text.value in _TRUE | _FALSE:
                values.append(text.value in _TRUE)
            elif not element.style and did_you_mean(text.value, ("True", "False")):
                hint = did_you_mean(text.value, ("True", "False"))
                self.yaml.diagnostics.error(Code.UNKNOWN_WORD, text.span(), f"'{text}' is neither True nor False", hint)
                return None
            else:
                values.append(stripped(text))
        return tuple(values)


def _meant_reserved(key: str, schema: FunctionSchema) -> Meant | None:
    """A hint where `key` names nothing of the operator, but nearly is one of the reserved keys."""
    if "," in key or any(key == argument.name for argument in schema.all_arguments):
        return None
    if key.startswith("result") or any(key == result.name for result in schema.returns):
        return None
    return did_you_mean(key, ENTRY_KEYS)
