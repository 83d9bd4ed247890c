"""Entries of native_functions.yaml: PyTorch's keys and Gradwright's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import yaml

from codegen.codes import Code
from codegen.dispatch_keys import COMPOSITE_KEYS, CPU, STRUCTURED_BACKENDS, UFUNC_BACKENDS
from codegen.read.implied import IMPLIED, RULES, Declared, with_others
from codegen.read.keys import FORMER_NAMES, KEYS, NAMES, Readers
from codegen.read.model import NativeFunction
from codegen.read.own_keys import OwnKeys
from codegen.read.pieces import comma_separated
from codegen.read.pytorch_keys import PytorchKeys
from codegen.read.schema_text import read_schema
from codegen.read.signs import check_signs
from codegen.read.values import Values
from codegen.read.yaml_text import ENTRY_START, Fields, YamlFile, entry_around, is_null
from codegen.schema.types import ListType, OperatorName, SchemaKind
from codegen.source import Diagnostics, Text
from codegen.words import did_you_mean

_KNOWN = frozenset(NAMES)
_READ = tuple((key, key.read) for key in KEYS if key.read is not None)
_OF_EXPRESSIONS = {
    "slope_at": "'slope_at' says what the derivatives of an expression are where it has none",
    "requires": "'requires' says what the arguments of an expression have to be",
}


class FunctionReader:
    """Reads the entries of one file; what is wrong with them goes into the file's diagnostics."""

    def __init__(self, yaml_file: YamlFile, tags: frozenset[str]) -> None:
        self.yaml = yaml_file
        self.values = Values(yaml_file)
        self.readers = Readers(self.values, PytorchKeys(self.values, tags), OwnKeys(self.values))
        self.implied: Collection[str] = ()
        self._followed: dict[OperatorName, Sequence[str]] = {}  # the keys that operators do not write

    def read(self) -> tuple[NativeFunction, ...]:
        functions: list[NativeFunction] = []
        seen: dict[OperatorName, Text] = {}
        nodes = self.yaml.entries()
        self.implied = self._implied_keys(nodes)
        for node in nodes:
            for function in () if _is_head(node) else self._entry(node):
                first = seen.setdefault(function.name, function.text)
                if first is function.text:
                    functions.append(function)
                else:
                    self.yaml.diagnostics.error(
                        Code.DUPLICATE_ENTRY,
                        function.text.span(0, function.schema.name_end),
                        f"duplicate entry for '{function.name}'",
                        "give each overload a name of its own: 'name.overload(...)'",
                        ((first.span(0, function.schema.name_end), "the first one is here"),),
                    )
        check_signs(functions, self.yaml.diagnostics)
        declared = Declared(functions)
        return tuple(with_others(each, declared, self._followed.get(each.name, ())) for each in functions)

    def _implied_keys(self, nodes: Sequence[yaml.Node]) -> Collection[str]:
        """The keys that the file's first entry names, of which what is not written follows by `RULES`."""
        file = self.yaml
        if file.part is not None:  # the first entry is another one
            start = ENTRY_START.search(file.file.text)
            file = YamlFile(file.file, Diagnostics(), entry_around(file.file.text, start.start() if start else 0))
            nodes = file.entries()
        keys: dict[str, Text] = {}
        for index, node in enumerate(nodes):
            if not _is_head(node):
                continue
            if index:
                file.error(
                    Code.WRONG_SHAPE, node, f"'{IMPLIED}' is about all of the file", "write it as the first entry"
                )
            fields = file.mapping(node, "an entry")
            if fields is None:
                continue
            for key in fields.keys() - {IMPLIED}:
                message = f"'{key}' stands beside '{IMPLIED}'"
                file.error(Code.UNKNOWN_KEY, fields[key][0], message, f"'{IMPLIED}' is an entry of its own")
            text = file.scalar(fields[IMPLIED][1], f"'{IMPLIED}'", f"name keys: '{IMPLIED}: {', '.join(RULES)}'")
            for word in comma_separated(text) if text is not None else ():
                first = keys.setdefault(word.value, word)
                if word.value not in RULES:
                    hint = did_you_mean(word.value, RULES) or f"there are rules for {', '.join(RULES)}"
                    message = f"no rule for '{word}'" if word.value else "a key is missing here"
                    file.diagnostics.error(Code.UNKNOWN_WORD, word.span(), message, hint)
                elif first is not word:
                    note = ((first.span(), "the first one is here"),)
                    file.diagnostics.error(Code.GIVEN_TWICE, word.span(), f"'{word}' is given twice", None, note)
        return frozenset(keys)

    def _with_implied(self, function: NativeFunction, fields: Fields) -> NativeFunction:
        """With what the entry does not write, and follows."""
        follow = [key for key in RULES if key in self.implied and key not in fields]
        for key in follow:
            changed = {name: value for name, value in RULES[key](function).items() if value != getattr(function, name)}
            if changed:
                function = replace(function, **changed)
        self._followed[function.name] = follow
        return function

    def _entry(self, node: yaml.Node) -> list[NativeFunction]:
        """The operators of an entry: one, or those of a list of signatures, of which all that the entry says holds."""
        fields = self.yaml.mapping(node, "an entry", "write it as '- func: name(arguments) -> result'")
        if fields is None:
            return []
        former = [self.yaml.text(fields[key][0]) for key in FORMER_NAMES if key in fields]
        if former:
            self._rename(fields, former)
        if not fields.keys() <= _KNOWN:
            self._unknown_keys(fields)
        if "func" not in fields:
            self.yaml.error(
                Code.MISSING_KEY,
                node,
                "the entry has no 'func'",
                "an entry begins with '- func: name(arguments) -> result'",
            )
            return []
        signatures = fields["func"][1]
        several = isinstance(signatures, yaml.SequenceNode) and bool(signatures.value)
        functions: list[NativeFunction] = []
        items = self.yaml.diagnostics.items
        for signature in signatures.value if several else [signatures]:
            before = len(items)
            function = self._function(node, fields, former, signature)
            # What is wrong with the other keys is said once.
            items[before:] = [item for item in items[before:] if item not in items[:before]]
            if function is not None:
                functions.append(function)
        return functions

    def _function(
        self, node: yaml.Node, fields: Fields, former: Sequence[Text], signature: yaml.Node
    ) -> NativeFunction | None:
        known = read_schema(self.yaml, signature, "func", "write a schema: 'name(Tensor self) -> Tensor'")
        if known is None:
            return None
        text, schema = known
        values: dict[str, Any] = {}
        for key, read in _READ:
            if key.name in fields:
                value = read(self.readers, fields, schema)
                if key.field:
                    values[key.field] = value
        if "elementwise" in fields:
            values["tags"] = tuple(dict.fromkeys((*values.get("tags", ()), "pointwise")))
        function = NativeFunction(
            schema=schema,
            text=text,
            span=self.yaml.span(node),
            former_keys=tuple(former),
            **values,
        )
        function = self._with_implied(function, fields)
        self._conflicts(fields, function)
        return function

    def _rename(self, fields: Fields, former: Sequence[Text]) -> None:
        """Take keys by the names that they have now."""
        for text in former:
            name = FORMER_NAMES[text.value]
            if name in fields:
                message = f"'{text}' is what '{name}' was called, which is given too"
                self.yaml.diagnostics.error(Code.GIVEN_TWICE, text.span(), message, f"remove '{text}'")
            fields[name] = fields.pop(text.value)

    def _unknown_keys(self, fields: Fields) -> None:
        for key in fields.keys() - _KNOWN:
            self.yaml.error(Code.UNKNOWN_KEY, fields[key][0], f"unknown key '{key}'", did_you_mean(key, NAMES))

    def _conflicts(self, fields: Fields, function: NativeFunction) -> None:
        schema = function.schema
        if function.python_module is not None and "method" in function.variants:
            message = "an operator in a module cannot be a method"
            first, second = ("python_module", "variants") if "python_module" in fields else ("variants", None)
            self.values.conflict(fields, first, message, second, None)
        for formula in ("composite", "foreach"):
            for key in ("dispatch", "structured", "structured_delegate", "promotion", "layout", "batching"):
                if formula in fields and key in fields:
                    message = "an operator that is a formula is made of others, which have kernels"
                    self.values.conflict(fields, formula, message, key, f"remove '{key}' or '{formula}'")
        if "foreach" in fields:
            if "composite" in fields:
                message = "an operator is one formula"
                self.values.conflict(fields, "foreach", message, "composite", "remove 'composite' or 'foreach'")
            if not any(isinstance(argument.type, ListType) for argument in schema.arguments):
                message = "'foreach' is about the elements of lists, and no argument is a list"
                self.values.conflict(fields, "foreach", message, None, "write 'composite'")
        self._elementwise_conflicts(fields, function)
        if "dispatch" in fields and not is_null(fields["dispatch"][1]):
            if self.values.says_true(fields, "manual_kernel_registration"):
                self.values.conflict(
                    fields,
                    "dispatch",
                    "'dispatch' has no effect",
                    "manual_kernel_registration",
                    "remove one of the two",
                )
            self._dispatch_conflicts(fields, function)
        if function.structured:
            if schema.kind is not SchemaKind.OUT:
                self.values.conflict(
                    fields, "structured", "only an operator with out arguments can be structured", None,
                    "the functional operator has 'structured_delegate: name.out'",
                )  # fmt: skip
        else:
            for key in ("structured_inherits", "precomputed", "ufunc_inner_loop"):
                if key in fields:
                    self.values.conflict(fields, key, f"'{key}' needs 'structured: True'", None, None)
        if function.structured_delegate is not None and schema.kind is SchemaKind.OUT:
            self.values.conflict(
                fields, "structured_delegate", "an operator with out arguments cannot delegate", None,
                "write 'structured: True'",
            )  # fmt: skip

    def _elementwise_conflicts(self, fields: Fields, function: NativeFunction) -> None:
        if "elementwise" not in fields:
            for key, message in _OF_EXPRESSIONS.items():
                if key in fields:
                    self.values.conflict(fields, key, message, None, f"write 'elementwise', or remove '{key}'")
            return
        for key in ("composite", "foreach", "structured", "structured_delegate"):
            if key in fields:
                message = "an operator is one expression, or it is made in another way"
                self.values.conflict(fields, "elementwise", message, key, f"remove '{key}' or 'elementwise'")
        for entry in function.dispatch:
            if entry.key in COMPOSITE_KEYS or entry.key == CPU:
                note = (self.yaml.span(fields["elementwise"][0]), "'elementwise' is given here")
                message = f"'{entry.key}' has its kernel from the expression"
                self.yaml.diagnostics.error(
                    Code.CONTRADICTION, entry.key_span, message, "remove one of the two", (note,)
                )

    def _dispatch_conflicts(self, fields: Fields, function: NativeFunction) -> None:
        if function.structured_delegate is None and "ufunc_inner_loop" not in fields:
            return
        for entry in function.dispatch:
            if function.structured_delegate is not None and entry.key in STRUCTURED_BACKENDS:
                message, key = (
                    f"'{entry.key}' has its kernel from '{function.structured_delegate}'",
                    "structured_delegate",
                )
            elif "ufunc_inner_loop" in fields and entry.key in UFUNC_BACKENDS:
                message, key = f"'{entry.key}' has its kernel from the inner loop", "ufunc_inner_loop"
            else:
                continue
            note = (self.yaml.span(fields[key][0]), f"'{key}' is given here")
            self.yaml.diagnostics.error(Code.CONTRADICTION, entry.key_span, message, "remove one of the two", (note,))


def _is_head(node: yaml.Node) -> bool:
    """Whether an entry is no operator, and says what follows in those of the file."""
    return isinstance(node, yaml.MappingNode) and any(key.value == IMPLIED for key, _ in node.value)
