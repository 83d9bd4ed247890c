"""PyTorch's keys of an entry of native_functions.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from codegen.codes import Code
from codegen.dispatch_keys import AUTOGRAD_KEYS, COMPOSITE_KEYS, KERNEL_KEYS
from codegen.read.model import (
    DispatchEntry,
)
from codegen.read.pieces import at_place_of, comma_separated
from codegen.read.values import Values
from codegen.read.yaml_text import Fields, is_null
from codegen.schema.types import FunctionSchema, OperatorName
from codegen.source import Span, Text
from codegen.words import VARIANTS, Hint, did_you_mean

DEVICE_CHECKS = ("NoCheck", "ExactSame")
UFUNC_KEYS = (
    "Generic", "ScalarOnly", "CPUScalar", "CPUVector", "CUDAFunctor", "CUDAFunctorOnOther", "CUDAFunctorOnSelf",
)  # fmt: skip
NONE = "none"
"""What keys say that have nothing to say, where something would follow."""
_KERNEL = re.compile(r"(?:[A-Za-z_]\w*::){0,3}[A-Za-z_]\w*", re.ASCII)
_UFUNC_LOOP = re.compile(r"\w+ ?\([\w, ]+\)", re.ASCII)
_FUNCTION_ONLY = frozenset(("function",))
_WRITE_TABLE = "write one line 'key: kernel' for each key, indented below 'dispatch:'"


class PytorchKeys:
    """Reads the values of PyTorch's keys."""

    def __init__(self, values: Values, tags: frozenset[str]) -> None:
        self.values = values
        self.yaml = values.yaml
        self.known_tags = tags

    def variants(self, fields: Fields, schema: FunctionSchema) -> frozenset[str]:
        text = self.yaml.scalar(fields["variants"][1], "'variants'", "write 'function', 'method' or 'function, method'")
        if text is None:
            return _FUNCTION_ONLY
        words: set[str] = set()
        for word in comma_separated(text):
            if word.value not in VARIANTS:
                self.yaml.diagnostics.error(
                    Code.UNKNOWN_WORD,
                    word.span(),
                    f"unknown variant '{word}'" if word.value else "a variant is missing here",
                    did_you_mean(word.value, VARIANTS) or "the variants are 'function' and 'method'",
                )
            elif word.value in words:
                self.yaml.diagnostics.error(Code.GIVEN_TWICE, word.span(), f"variant '{word}' is given twice")
            else:
                words.add(word.value)
        if "method" in words and schema.out:
            self.yaml.diagnostics.error(
                Code.CONTRADICTION,
                text.span(),
                "an operator with out arguments cannot be a method",
                "remove 'variants', or write 'function'",
            )
        return frozenset(words) or _FUNCTION_ONLY

    def dispatch(self, fields: Fields, schema: FunctionSchema) -> tuple[DispatchEntry, ...]:
        entries: list[DispatchEntry] = []
        seen: dict[str, Span] = {}
        node = fields["dispatch"][1]
        for key, kernel in self._kernels(node, schema):
            span = key.span()
            if not self._is_kernel_key(key, _WRITE_TABLE if isinstance(node, yaml.ScalarNode) else None):
                continue
            if key.value in seen:
                self.yaml.diagnostics.error(
                    Code.GIVEN_TWICE,
                    span,
                    f"dispatch key '{key}' has two kernels",
                    None,
                    ((seen[key.value], "the first one is here"),),
                )
                continue
            seen[key.value] = span
            if kernel is not None:
                entries.append(DispatchEntry(key.value, kernel, span))
        composites = [entry for entry in entries if entry.key in COMPOSITE_KEYS]
        if len(composites) > 1:
            self._two_composites(composites)
        return tuple(entries)

    def _kernels(self, node: yaml.Node, schema: FunctionSchema) -> Iterator[tuple[Text, Text | None]]:
        """The keys with their kernels, of which None is one that can not be read.

        Gradwright's own: keys alone are those of the kernel that has the operator's name, `dispatch: CPU`.
        """
        if isinstance(node, yaml.ScalarNode) and not is_null(node):
            keys = self.yaml.scalar(node, "'dispatch'", _WRITE_TABLE)
            for key in comma_separated(keys) if keys is not None else ():
                yield key, at_place_of(key, schema.name.python_name)
            return
        for key_node, value in (self.yaml.mapping(node, "'dispatch'", _WRITE_TABLE) or {}).values():
            kernel = self.yaml.scalar(value, "a kernel", "write its name: 'CPU: kernel'")
            if kernel is not None and _KERNEL.fullmatch(kernel.value) is None:
                self.yaml.diagnostics.error(
                    Code.MALFORMED,
                    kernel.span(),
                    f"'{kernel}' is not the name of a kernel",
                    "write a function's name, without arguments",
                )
                kernel = None
            for key in comma_separated(self.yaml.text(key_node)):
                yield key, kernel

    def _is_kernel_key(self, key: Text, otherwise: Hint) -> bool:
        if key.value in KERNEL_KEYS:
            return True
        hint: Hint = None
        if not key.value:
            message = "a dispatch key is missing here"
        elif key.value in AUTOGRAD_KEYS or key.value == "Autograd":
            message = f"dispatch key '{key}' cannot have a kernel"
            hint = "how an operator is differentiated is written in derivatives.yaml"
        else:
            message, hint = f"unknown dispatch key '{key}'", did_you_mean(key.value, KERNEL_KEYS) or otherwise
        self.yaml.diagnostics.error(Code.UNKNOWN_WORD, key.span(), message, hint)
        return False

    def _two_composites(self, composites: list[DispatchEntry]) -> None:
        keys = {entry.key for entry in composites}
        nested = "CompositeImplicitAutogradNestedTensor"
        if len(keys) == 2 and nested in keys and "CompositeExplicitAutogradNonFunctional" not in keys:
            return
        first, second = composites[0], composites[1]
        self.yaml.diagnostics.error(
            Code.CONTRADICTION,
            second.key_span,
            f"{second.key} and {first.key} cannot both be given: each holds for every backend",
            "with formulas in derivatives.yaml keep CompositeExplicitAutograd, without them CompositeImplicitAutograd",
            ((first.key_span, f"{first.key} is given here"),),
        )

    def python_module(self, fields: Fields, schema: FunctionSchema) -> str | None:
        module = self.values.word(fields, "python_module")
        return None if module == NONE else module

    def autogen(self, fields: Fields, schema: FunctionSchema) -> tuple[tuple[OperatorName, Span], ...]:
        text = self.yaml.scalar(
            fields["autogen"][1], "'autogen'", "write operator names: 'autogen: add_.Tensor, add.out'"
        )
        names: dict[OperatorName, Span] = {}
        if text is not None and text.value == NONE:
            return ()
        for word in comma_separated(text) if text is not None else ():
            name = self.values.operator_name(word)
            if name is None:
                continue
            if name == schema.name:
                self.yaml.diagnostics.error(
                    Code.VARIANT, word.span(), f"'{name}' is this entry itself", "name the operators to be made"
                )
            elif name in names:
                self.yaml.diagnostics.error(
                    Code.GIVEN_TWICE,
                    word.span(),
                    f"'{name}' is given twice",
                    None,
                    ((names[name], "the first one is here"),),
                )
            else:
                names[name] = word.span()
        return tuple(names.items())

    def tags(self, fields: Fields, schema: FunctionSchema) -> tuple[str, ...]:
        node = fields["tags"][1]
        hint = "write 'tags: pointwise' or 'tags: [pointwise, core]'"
        if isinstance(node, yaml.ScalarNode):
            text = self.yaml.scalar(node, "'tags'", hint)
            texts = [] if text is None else [text]
        else:
            texts = self.values.texts(node, "'tags'", "a tag", hint)
        tags: dict[str, Span] = {}
        for text in texts:
            if text.value not in self.known_tags:
                meant = did_you_mean(text.value, self.known_tags)
                self.yaml.diagnostics.error(Code.UNKNOWN_WORD, text.span(), f"unknown tag '{text}'", meant)
            elif text.value in tags:
                self.yaml.diagnostics.error(
                    Code.GIVEN_TWICE,
                    text.span(),
                    f"tag '{text}' is given twice",
                    None,
                    ((tags[text.value], "the first one is here"),),
                )
            else:
                tags[text.value] = text.span()
        return tuple(tags)

    def structured_delegate(self, fields: Fields, schema: FunctionSchema) -> Text | None:
        text = self.yaml.scalar(
            fields["structured_delegate"][1], "'structured_delegate'", "name an operator: 'add.out'"
        )
        if text is None or self.values.operator_name(text) is None:
            return None
        return text

    # Keys that say something to PyTorch's own build only: their values are checked and not kept.

    def device_check(self, fields: Fields, schema: FunctionSchema) -> None:
        known = self.values.word(fields, "device_check")
        if known is not None and known not in DEVICE_CHECKS:
            self.yaml.error(
                Code.UNKNOWN_WORD,
                fields["device_check"][1],
                f"unknown device check '{known}'",
                did_you_mean(known, DEVICE_CHECKS) or "write NoCheck or ExactSame",
            )

    def cpp_no_default_args(self, fields: Fields, schema: FunctionSchema) -> None:
        defaulted = {argument.name for argument in schema.all_arguments if argument.default is not None}
        node = fields["cpp_no_default_args"][1]
        for text in self.values.texts(node, "'cpp_no_default_args'", "an argument's name"):
            if text.value not in defaulted:
                self.yaml.diagnostics.error(
                    Code.NO_SUCH_ARGUMENT,
                    text.span(),
                    f"no argument '{text}' with a default",
                    did_you_mean(text.value, defaulted),
                )

    def precomputed(self, fields: Fields, schema: FunctionSchema) -> None:
        if "precomputed" in fields:
            self.values.texts(
                fields["precomputed"][1], "'precomputed'", "an element of 'precomputed'", "write 'dim -> int dim'"
            )

    def ufunc_inner_loop(self, fields: Fields, schema: FunctionSchema) -> None:
        node = fields["ufunc_inner_loop"][1]
        values = [node]
        if isinstance(node, yaml.MappingNode):
            table = self.yaml.mapping(node, "'ufunc_inner_loop'") or {}
            for key, (key_node, _) in table.items():
                if key not in UFUNC_KEYS:
                    self.yaml.error(
                        Code.UNKNOWN_WORD, key_node, f"unknown ufunc key '{key}'", did_you_mean(key, UFUNC_KEYS)
                    )
            values = [value for _, value in table.values()]
        for value in values:
            text = self.yaml.scalar(value, "'ufunc_inner_loop'", "write 'add (AllAndComplex, Half)'")
            if text is not None and _UFUNC_LOOP.fullmatch(text.value) is None:
                self.yaml.diagnostics.error(
                    Code.MALFORMED,
                    text.span(),
                    "not an inner loop",
                    "write a function and its types: 'add (AllAndComplex, Half)'",
                )
