"""What may be written at a place: keys, words, operators, methods, arguments, helpers, kernels."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from codegen.bind.call_targets import OperatorTable
from codegen.bind.entries import formula_scope, output_names
from codegen.bind.formulas import FormulaResolver
from codegen.bind.scope import CONSTANTS, MEANINGS, Scope
from codegen.dispatch_keys import AUTOGRAD_KEYS, COMPOSITE_KEYS, DEFAULT, KERNEL_KEYS
from codegen.editor_schemas import derivative_keys
from codegen.formula.intrinsics import SCALAR_INTRINSICS, TENSOR_INTRINSICS, IntrinsicInfo
from codegen.formula.lexer import NAME, tokenize
from codegen.formula.parser import parse_formula
from codegen.formula.typed import SCALAR, TENSOR, ValueType
from codegen.lsp.analysis import State
from codegen.lsp.context import Context, context_at
from codegen.lsp.hover import documentation
from codegen.lsp.project import YAML, Role
from codegen.python_source import PythonFunction
from codegen.read.derivatives import ENTRY_KEYS
from codegen.read.implied import IMPLIED, RULES
from codegen.read.keys import KEYS, Arguments
from codegen.read.model import FormulaKind, NativeFunction
from codegen.schema.types import ListType, OptionalType
from codegen.source import Diagnostics, ParseError, SourceFile, Text
from codegen.words import VARIANTS

# More are not sent: what is typed next chooses among the rest.
_MOST = 200
_WORD = re.compile(r"[\w.]*$")
_NAME = re.compile(r"\w*$")
_FORMULAS = frozenset(key.name for key in KEYS if key.is_formula)
_OF_ARGUMENTS = frozenset(key.name for key in KEYS if key.arguments is not Arguments.NOWHERE)
_WORDS_OF_FORMULAS = (
    FormulaKind.NON_DIFFERENTIABLE.value,
    FormulaKind.AUTO_LINEAR.value,
    FormulaKind.AUTO_ELEMENT_WISE.value,
    "not_implemented",
)
_OPENERS = {")": "(", "]": "[", "}": "{"}


class Kind(enum.Enum):
    """What is written; of equal fit, the first ones come first."""

    KEY = "key"
    ARGUMENT = "argument"
    VALUE = "value"
    KERNEL = "kernel"
    HELPER = "helper"
    METHOD = "method"
    OPERATOR = "operator"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Item:
    """Something that may be written."""

    label: str
    kind: Kind
    detail: str = ""
    documentation: str = ""


@dataclass(frozen=True)
class Completions:
    """What may be written in the place of what stands from `start` on; `is_cut`: there is more."""

    items: tuple[Item, ...]
    start: int
    is_cut: bool


@dataclass(frozen=True)
class _Candidate:
    label: str
    kind: Kind
    about: Callable[[], tuple[str, str]] = lambda: ("", "")  # found where it is sent


def _said(detail: str, documentation: str = "") -> Callable[[], tuple[str, str]]:
    return lambda: (detail, documentation)


def complete(state: State, path: Path, offset: int) -> Completions:
    """What may be written at a place of a YAML file."""
    role = state.role(path)
    if role not in YAML:
        return Completions((), offset, False)
    context = context_at(state, path, offset)
    typed = state.file(path).text[context.start : offset]
    if not context.is_key and (scope := _scope(context, role)) is not None:
        return _in_formula(state, scope, typed, offset, role)
    if not context.is_key and context.keys[-1:] == ("name",) and role is Role.DERIVATIVES:
        return _chosen(_signatures(state), typed, offset - len(typed))
    is_name = not context.is_key and role is not Role.SAMPLES
    match = (_NAME if is_name and context.keys[-1] not in ("structured_delegate", "autogen") else _WORD).search(typed)
    prefix = "" if match is None else match[0]
    return _chosen(_candidates(state, context, role), prefix, offset - len(prefix))


def _chosen(candidates: Iterable[_Candidate], prefix: str, start: int) -> Completions:
    """Those that begin with what is typed, and then those that have it in them."""
    folded = prefix.lower()
    order = list(Kind)
    fitting = [each for each in candidates if folded in each.label.lower()]
    fitting.sort(key=lambda each: (not each.label.lower().startswith(folded), order.index(each.kind), each.label))
    items = tuple(Item(each.label, each.kind, *each.about()) for each in fitting[:_MOST])
    return Completions(items, start, len(fitting) > _MOST)


# -- keys and their values


def _candidates(state: State, context: Context, role: Role) -> Iterator[_Candidate]:
    function = context.entry.function if context.entry is not None else None
    if role is Role.SAMPLES:
        if context.is_key:
            yield from _operators(state)
        else:
            yield from _arguments(function, "=")
    elif role is Role.OPERATORS:
        yield from _of_operators(state, context, function)
    elif context.is_key:
        yield from _keys_of_derivatives(context, function)
    elif context.keys[-1:] == ("output_differentiability",):
        yield from _values("True", "False")


def _of_operators(state: State, context: Context, function: NativeFunction | None) -> Iterator[_Candidate]:
    keys = context.keys
    if context.is_key and not keys:
        present = _present_keys(context)
        yield from (
            _Candidate(key.name, Kind.KEY, _said("Gradwright" if key.is_own else "", key.documentation))
            for key in KEYS
            if key.name not in present
        )
    elif keys == ("dispatch",):
        yield from _values(*sorted(KERNEL_KEYS))
    elif keys[:1] == ("dispatch",):
        is_composite = any(key.strip() in COMPOSITE_KEYS for key in keys[1].split(","))
        yield from _kernels(state, is_composite)
    elif keys[-1:] in (("structured_delegate",), ("autogen",)):
        yield from _operators(state)
    elif keys == (IMPLIED,):
        yield from _values(*RULES)
    elif keys[-1:] == ("overload_of",):
        yield from _values(*(state.analysis.table.by_base if state.analysis.table is not None else ()))
    elif keys[-1:] == ("batching",):
        yield from _values(*(state.analysis.checked.batching.functions if state.analysis.checked is not None else ()))
    elif keys:
        grammar = next((key.grammar for key in KEYS if key.name == keys[0]), {})
        yield from _values(*_words(grammar))
        if keys[0] == "variants":
            yield from _values(*VARIANTS)
        if keys[0] in _OF_ARGUMENTS:
            yield from _arguments(function)


def _words(grammar: object) -> Iterator[str]:
    """The words that a grammar names."""
    if isinstance(grammar, Mapping):
        for name, value in grammar.items():
            if name in ("enum", "examples"):
                yield from (str(each) for each in value)
            elif name == "type" and value == "boolean":
                yield from ("True", "False")
            else:
                yield from _words(value)
    elif isinstance(grammar, list):
        for each in grammar:
            yield from _words(each)


def _present_keys(context: Context) -> set[str]:
    if context.entry is None:
        return set()
    text = context.entry.file.text[context.entry.part.start : context.entry.part.stop]
    return set(re.findall(r"^(?:- |  )(\w+) *:", text, re.MULTILINE))


def _keys_of_derivatives(context: Context, function: NativeFunction | None) -> Iterator[_Candidate]:
    present = _present_keys(context)
    documented = dict(derivative_keys())
    if context.keys[-1:] == ("dispatch",):
        yield from _values(DEFAULT, *sorted(AUTOGRAD_KEYS))
        return
    if function is not None:
        yield from (each for each in _arguments(function) if each.label not in present)
        names = output_names(function.schema)
        yield from (_Candidate(name, Kind.ARGUMENT, _said("a result")) for name in names if name not in present)
    if not context.keys:
        for key in ENTRY_KEYS:
            if key not in present:
                yield _Candidate(key, Kind.KEY, _said("", documented[key]))


def _values(*words: str) -> Iterator[_Candidate]:
    return (_Candidate(word, Kind.VALUE) for word in dict.fromkeys(words))


def _arguments(function: NativeFunction | None, behind: str = "") -> Iterator[_Candidate]:
    for argument in function.schema.arguments if function is not None else ():
        yield _Candidate(argument.name + behind, Kind.ARGUMENT, _said(str(argument)))


def _operators(state: State) -> Iterator[_Candidate]:
    for name, function in state.analysis.functions.items():
        yield _Candidate(name, Kind.OPERATOR, partial(_about, state, function))


def _signatures(state: State) -> Iterator[_Candidate]:
    for function in state.analysis.functions.values():
        yield _Candidate(str(function.schema), Kind.OPERATOR, partial(_about, state, function))


def _about_function(function: PythonFunction) -> tuple[str, str]:
    return function.signature, function.about


def _about(state: State, function: NativeFunction) -> tuple[str, str]:
    return str(function.schema), documentation(state, function)


def _kernels(state: State, is_composite: bool) -> Iterator[_Candidate]:
    checked = state.analysis.checked
    if checked is not None:
        for function in checked.composites if is_composite else checked.kernels:
            yield _Candidate(
                function.name,
                Kind.KERNEL,
                partial(_about_function, function),
            )


# -- formulas


def _scope(context: Context, role: Role) -> Scope | None:
    """The names that a formula at the place may use; None where no formula stands."""
    entry = context.entry
    if entry is None or entry.function is None or not context.keys:
        return None
    if role is Role.DERIVATIVES:
        key = context.keys[-1]
        if key in ENTRY_KEYS or entry.derivative is None:
            return None
        return formula_scope(entry.derivative, entry.function, [name.strip() for name in key.split(",")])
    key = context.keys[0]
    if role is not Role.OPERATORS or key not in _FORMULAS:
        return None
    is_composite = key in ("composite", "foreach")
    return Scope(
        entry.function, (), knows_results=False, by_choice=not is_composite, of_elements=key == "foreach"
    )  # fmt: skip


def _in_formula(state: State, scope: Scope, typed: str, offset: int, role: Role) -> Completions:
    table = state.analysis.table
    written = typed.lstrip()
    quote = written[:1] if written[:1] in ("'", '"') else ""
    written = written[len(quote) :].replace(quote * 2, quote) if quote == "'" else written[len(quote) :]
    try:
        tokens = tokenize(written)
    except ParseError:
        return Completions((), offset, False)  # in a string or a comment
    last = len(tokens.kinds) - 2
    prefix = ""
    if last >= 0 and tokens.kinds[last] == NAME and tokens.ends[last] == len(written):
        prefix = tokens.values[last].rpartition("::")[2]
        last -= 1
    if last >= 0 and tokens.values[last] in (".", "->"):
        receiver = _receiver(tokens.values, last - 1)
        text = written[tokens.starts[receiver] : tokens.starts[last]]
        type = None if table is None else _type_of(text, scope, table)
        return _chosen(_methods(state, type), prefix, offset - len(prefix))
    candidates = [*_names_in(scope), *_functions(state)]
    if last < 0 and role is Role.DERIVATIVES:
        candidates += _values(*_WORDS_OF_FORMULAS)
    return _chosen(candidates, prefix, offset - len(prefix))


def _receiver(values: list[str], at: int) -> int:
    """The first token of what a method is called of, of which `at` is the last one."""
    while at > 0:
        if values[at] in _OPENERS:
            depth = 0
            while at > 0:
                depth += (values[at] in _OPENERS) - (values[at] in _OPENERS.values())
                if not depth:
                    break
                at -= 1
            if at and (values[at - 1].replace("::", "").isidentifier() or values[at - 1] in _OPENERS):
                at -= 1  # what is called, or indexed
                continue
        if at and values[at - 1] in (".", "->"):
            at -= 2
            continue
        break
    return max(at, 0)


def _type_of(text: str, scope: Scope, table: OperatorTable) -> ValueType | None:
    try:
        tree = parse_formula(text)
    except ParseError:
        return None
    written = Text(text, SourceFile("", text), range(len(text) + 1))
    value = FormulaResolver(table, scope, written, Diagnostics()).resolve(tree)
    return None if value is None else value.type


def _methods(state: State, type: ValueType | None) -> Iterator[_Candidate]:
    """What may be asked of a value; of one whose type is not known, what may be asked of a Tensor."""
    if isinstance(type, OptionalType):
        yield from (_Candidate(name, Kind.METHOD) for name in ("has_value", "value", "value_or"))
        type = type.elem
    if isinstance(type, ListType):
        yield from (_Candidate(name, Kind.METHOD, _said("int")) for name in ("size", "empty"))
    elif type == SCALAR:
        yield from _intrinsics(SCALAR_INTRINSICS)
    elif type in (TENSOR, None):
        yield from _intrinsics(TENSOR_INTRINSICS)
        yield from _functions(state, is_method=True)


def _intrinsics(infos: Iterable[IntrinsicInfo]) -> Iterator[_Candidate]:
    for info in infos:
        for spelling in info.spellings:
            yield _Candidate(spelling, Kind.METHOD, _said(str(info.result)))


def _names_in(scope: Scope) -> Iterator[_Candidate]:
    for name, (kind, _, type) in scope.variables.items():
        if name not in scope.ambiguous:
            yield _Candidate(name, Kind.ARGUMENT, _said(str(type), MEANINGS.get(kind, "")))
    for name, (type, _) in CONSTANTS.items():
        yield _Candidate(name, Kind.CONSTANT, _said(str(type)))


def _functions(state: State, is_method: bool = False) -> Iterator[_Candidate]:
    """The operators and helpers that a formula may call."""
    table = state.analysis.table
    if table is None:
        return
    for base, functions in table.by_base.items():
        fitting = [each for each in functions if not is_method or "method" in each.variants]
        if fitting and not fitting[0].name.is_inplace:
            kind = Kind.METHOD if is_method else Kind.OPERATOR
            yield _Candidate(base, kind, partial(_about_overloads, state, fitting))
    if not is_method:
        for name in table.helpers.names():
            yield _Candidate(name, Kind.HELPER, partial(_about_helper, table, name))


def _about_overloads(state: State, functions: list[NativeFunction]) -> tuple[str, str]:
    more = f" (and {len(functions) - 1} more)" if len(functions) > 1 else ""
    schema, text = _about(state, functions[0])
    return schema + more, text


def _about_helper(table: OperatorTable, name: str) -> tuple[str, str]:
    helper = next(iter(table.helpers.overloads(name, Diagnostics())), None)
    if helper is None:
        return "", ""
    return str(helper), helper.function.about if helper.function is not None else ""
