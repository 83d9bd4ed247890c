"""What an entry leaves out and the rest of it implies: samples, the layout of results, variants, a namespace.

`samples_of` and `layout_rule` hold for every file. `RULES` are for files that begin with `- implied: ...`: in others,
as in PyTorch's, what is not written is not there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from codegen.formula.parser import parse_formula
from codegen.formula.typed import FLOAT, SCALAR, TENSOR, formula_type
from codegen.read.model import CompositeFormula, Layout, NativeFunction
from codegen.read.pieces import at_place_of, part
from codegen.schema.defaults import default_value
from codegen.schema.types import OperatorName, OptionalType, SchemaKind, base_type
from codegen.source import ParseError
from codegen.words import LayoutKind

IMPLIED = "implied"
"""The key of a file's first entry, which names keys of `RULES`."""

_Said = Mapping[str, Any]
"""Values of fields of an operator."""

# What the names of operators on lists begin with.
_OF_LISTS = "_foreach_"
# Shapes per number of tensor arguments: plain, broadcast, 0-dim, zero-size.
_SHAPES = {
    1: (((3, 4),), ((),), ((0, 2),)),
    2: (((3, 4), (3, 4)), ((2, 1, 3), (4, 1)), ((), (3,)), ((), ()), ((0, 2), (2,))),
    3: (((3, 4), (3, 4), (3, 4)), ((2, 1, 3), (4, 1), (3,)), ((), (), ()), ((0, 2), (2,), ())),
}
# Namespaces whose operators have its name before their own: `linalg_det`.
_NAMESPACES = ("fft", "linalg", "special")
_NO_METHODS = ("_backward", "_copy", "_like")
# What numbers are multiplied by, each with another one than those beside it.
_FACTORS = (1.25, 1.5, 0.75)


def samples_of(function: NativeFunction) -> tuple[str, ...]:
    """The calls to test `function` with; none for an operator that is not pointwise and lists none."""
    if function.samples:
        return tuple(str(sample) for sample in function.samples)
    if "pointwise" not in function.tags:
        return ()
    tensors = 0
    rest = []
    for argument in function.schema.positional:
        type = formula_type(argument.type)
        if type == TENSOR:
            tensors += 1
        elif argument.default is None and type == SCALAR:
            rest.append("1.5")
        elif argument.default is None and not isinstance(type, OptionalType):
            return ()
    if any(argument.default is None for argument in function.schema.kwarg_only):
        return ()
    limits = ""
    if function.domain is not None:
        low, high = function.domain
        limits = f", low={low}, high={high}"
    calls = []
    other_numbers = _other_numbers(function) if function.elementwise is not None else []
    for shapes in _SHAPES.get(tensors, ()):
        parts = [f"T({', '.join(map(str, shape))}{limits})".replace("(, ", "(") for shape in shapes]
        calls.append(", ".join([*parts, *rest]))
        if other_numbers and len(calls) == 1:
            calls.append(", ".join([*parts, *rest, *other_numbers]))
    return tuple(calls)


def _other_numbers(function: NativeFunction) -> list[str]:
    """Numbers beside the defaults: of a factor that is 1 nobody sees whether a formula has it."""
    numbers = []
    for argument in function.schema.arguments:
        has_default = argument.default is not None and formula_type(argument.type) in (SCALAR, FLOAT)
        value = default_value(argument) if has_default else None
        if isinstance(value, int | float) and math.isfinite(value):
            numbers.append((argument.name, value))
    return [f"{name}={(value or 1) * factor:.4g}" for (name, value), factor in zip(numbers, itertools.cycle(_FACTORS))]


def layout_rule(function: NativeFunction) -> Layout:
    """The rule that the entry names, or what follows from its schema."""
    default = LayoutKind.ITERATED if "pointwise" in function.tags else LayoutKind.CONTIGUOUS
    return function.layout or Layout(default, None, function.text)


def _namespace(function: NativeFunction) -> str | None:
    module, underscore, _ = function.name.base.partition("_")
    return module if underscore and module in _NAMESPACES else None


def _tags(function: NativeFunction) -> _Said:
    """An operator that takes a Generator draws numbers."""
    draws = any(base_type(argument.type).name == "Generator" for argument in function.schema.arguments)
    return {"tags": (*function.tags, "nondeterministic_seeded")} if draws else {}


def _python_module(function: NativeFunction) -> _Said:
    """The namespace that the operator's name begins with: `linalg_det` lies in `linalg`."""
    return {"python_module": _namespace(function)}


def _variants(function: NativeFunction) -> _Said:
    """Functional operators that begin with `Tensor self` are methods, too, where they are for users.

    Those of a namespace are not, nor those whose names begin with an underscore, or end as those of gradients, copies
    of views, and Tensors like others do.
    """
    base = function.name.base
    hidden = base.startswith("_") or base.endswith(_NO_METHODS) or function.python_module is not None
    is_method = function.schema.kind is SchemaKind.FUNCTIONAL and _begins_with_self(function) and not hidden
    return {"variants": frozenset(("function", "method") if is_method else ("function",))}


def _autogen(function: NativeFunction) -> _Said:
    """The variants of a functional operator whose results are new Tensors.

    It is made in place where it is a method, element-wise, and has one result. With `out=` where it is no function that
    is traced through, unless that is one of a namespace of PyTorch; a formula has it, but for one whose name begins
    with an underscore. It is `add.out` for `add.Tensor` where that is for numbers, too.
    """
    schema, name = function.schema, function.name
    gives_new = all(formula_type(result.type) == TENSOR and result.alias is None for result in schema.returns)
    if schema.kind is not SchemaKind.FUNCTIONAL or not schema.returns or not gives_new:
        return {"autogen": ()}
    names = []
    if "pointwise" in function.tags and "method" in function.variants and len(schema.returns) == 1:
        names += [name.inplace_name] if _begins_with_self(function) else []
    if function.composite is not None:
        has_out = not name.base.startswith("_")
    else:
        has_out = not function.is_composite_implicit or _namespace(function) is not None
    if has_out and all(argument.name != "out" for argument in schema.arguments):
        is_first = not name.overload or (name.overload == "Tensor" and function.numbers_as_tensors)
        names.append(OperatorName(name.base, "out" if is_first else f"{name.overload}_out"))
    place = function.text.span(0, schema.name_end)
    return {"autogen": tuple((name, place) for name in names)}


def _foreach(function: NativeFunction) -> _Said:
    """An operator on lists is the one whose name it has behind `_foreach_`, with the same arguments."""
    schema, base = function.schema, function.name.base
    if not base.startswith(_OF_LISTS) or function.dispatch or function.composite is not None:
        return {}
    arguments = ", ".join(argument.name for argument in schema.arguments)
    formula = f"{base.removeprefix(_OF_LISTS).removesuffix('_')}({arguments})"
    text = at_place_of(part(function.text, 0, len(base)), formula)
    try:
        tree = parse_formula(text)
    except ParseError:  # such as `_foreach_2` and `_foreach_if`: formulas can call no `2` and no `if`
        return {}
    return {"composite": CompositeFormula(text, tree, of_elements=True)}


def _begins_with_self(function: NativeFunction) -> bool:
    first = function.schema.positional[:1]
    return bool(first) and first[0].name == "self" and formula_type(first[0].type) == TENSOR


RULES: Mapping[str, Callable[[NativeFunction], _Said]] = {
    "foreach": _foreach,
    "python_module": _python_module,
    "tags": _tags,
    "variants": _variants,
    "autogen": _autogen,
}
"""What keys say that are not written, by their names; each rule may count on the keys before it."""


class Declared:
    """The operators of a file, by their names."""

    def __init__(self, functions: Sequence[NativeFunction]) -> None:
        self.functions = {function.name: function for function in functions}
        self.modules = {function.name.base: function.python_module for function in functions}


def with_others(function: NativeFunction, declared: Declared, followed: Collection[str]) -> NativeFunction:
    """With what follows from other entries.

    A gradient, `elu_backward`, lies in the namespace of its operator. `X_copy` is tagged `view_copy` where `X` is a
    view. Variants that have entries of their own are not made.

    Args:
        function: as it follows from its own entry.
        declared: the operators of the file.
        followed: the keys that its entry does not write, and that follow.
    """
    base, overload = function.name.base, function.name.overload
    if "python_module" in followed and base.endswith("_backward") and function.python_module is None:
        function = replace(function, python_module=declared.modules.get(base.removesuffix("_backward")))
    if "tags" in followed and base.endswith("_copy"):
        copied = declared.functions.get(OperatorName(base.removesuffix("_copy"), overload))
        if copied is not None and copied.schema.is_view:
            function = replace(function, tags=(*function.tags, "view_copy"))
    if "autogen" in followed:
        made = tuple([item for item in function.autogen if item[0] not in declared.functions])
        if len(made) < len(function.autogen):
            function = replace(function, autogen=made)
    return function
