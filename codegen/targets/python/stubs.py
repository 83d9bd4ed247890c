"""Type stubs: the packets, the methods that generation adds to Tensor, and the results that have names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from jinja2 import Environment

from codegen.formula.typed import (
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    SCALAR,
    STR,
    TENSOR,
    formula_type,
)
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.plan.packet import PacketPlan, spread_position
from codegen.plan.plan import Plan
from codegen.schema.names import python
from codegen.schema.types import BaseType, ListType, OptionalType, Type
from codegen.targets.literals import default_text
from codegen.targets.python.code import function_head
from codegen.words import BUILT_IN_NAMESPACE, SHORTENING_MODULES

_TYPES: Mapping[Type, str] = {
    TENSOR: "Tensor",
    INT: "int",
    FLOAT: "float",
    BOOL: "bool",
    STR: "str",
    SCALAR: "Scalar",
    DTYPE: "DType | type",
    BaseType("Generator"): "Generator",
    DEVICE: "Device | str",
    LAYOUT: "Layout",
    MEMORY_FORMAT: "MemoryFormat",
}


Signature: TypeAlias = "tuple[tuple[str, ...], str]"  # parameters, what it returns


@dataclass(frozen=True, slots=True)
class FunctionStub:
    """One signature of a packet or method; `overload` says that there are several."""

    text: str
    overload: bool


def emit(plan: Plan, env: Environment, hidden: Set[str]) -> Iterator[tuple[str, str]]:
    """packets.pyi and _methods.pyi, and for Gradwright's own operators what its public modules have of them.

    `hidden` has the names that are something else in the root of the public API.
    """
    results = _Results()
    functions = _grouped_functions(plan, results)
    is_own = plan.namespace == BUILT_IN_NAMESPACE
    methods = _grouped_methods(plan, results)
    classes = results.classes()

    def render(template: str, **values: object) -> str:
        return env.get_template(template).render(is_own=is_own, named=bool(classes), **values)

    yield "packets.pyi", render("packets.pyi.j2", functions=_stubs(functions), names=[*sorted(functions), "PACKETS"])
    yield "_methods.pyi", render("methods.pyi.j2", methods=_stubs(methods), signs=_sign_stubs(plan, methods.keys()))
    if classes:
        yield "_results.pyi", render("results.pyi.j2", classes=classes)
    if is_own:
        yield "py.typed", ""  # of a package, that is the author's to say
        for module, functions_there in _modules(plan.packets, hidden):
            yield f"_{module}.pyi", render("module.pyi.j2", functions=functions_there)


def _modules(packets: Sequence[PacketPlan], hidden: Set[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """What public modules have of the operators, the root as `functions`: each name, and the one it has there."""
    modules: dict[str, list[tuple[str, str]]] = {"functions": []}
    for packet in packets:
        name, module = python(packet.base), packet.python_module
        if module in SHORTENING_MODULES:
            modules.setdefault(module, []).append((name, python(packet.base.removeprefix(f"{module}_"))))
        elif module is None and packet.is_function and packet.base not in hidden:
            modules["functions"].append((name, name))
    return ((module, sorted(names)) for module, names in sorted(modules.items()))


def python_type(type: Type, argument: bool = True) -> str:
    """A schema type as a Python annotation."""
    if isinstance(type, OptionalType):
        return f"{python_type(type.elem, argument)} | None"
    if isinstance(type, ListType):
        if not argument:
            return f"tuple[{python_type(type.elem, argument)}, ...]"
        several = f"Sequence[{python_type(type.elem)}]"
        return f"int | {several}" if type.elem == INT else several
    return _TYPES.get(type, "object")


class _Results:
    """The classes of results that have names: `sort` returns one with `values` and `indices`."""

    def __init__(self) -> None:
        self._classes: dict[str, tuple[str, ...]] = {}

    def annotation(self, operator: OperatorPlan) -> str:
        """What a function of the operator returns."""
        returns = operator.schema.returns
        types = [python_type(formula_type(result.type), argument=False) for result in returns]
        if not types:
            return "None"
        if len(types) == 1:
            return types[0]
        names = [result.name for result in returns]
        if not all(name is not None and _is_field(name) for name in names):
            return f"tuple[{', '.join(types)}]"
        fields = tuple(f"{name}: {type}" for name, type in zip(names, types, strict=True))
        name = python(operator.name.base)
        if self._classes.setdefault(name, fields) != fields:
            name = operator.python.function
            self._classes[name] = fields
        return f"_results.{name}"

    def classes(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each class with its fields."""
        return sorted(self._classes.items())


def _is_field(name: str) -> bool:
    """Whether a class of a named tuple can have such a field: not one that tuples have as a method."""
    return not name.startswith("_") and python(name) == name and not hasattr(tuple, name)


def _parameter(parameter: ParameterPlan) -> str:
    text = f"{python(parameter.name)}: {python_type(parameter.type)}"
    return text if parameter.default is None else f"{text} = {_shown_default(parameter)}"


def _shown_default(parameter: ParameterPlan) -> str:
    text = default_text(parameter)
    named = text.startswith("dtypes.") or (text == "None" and parameter.default != "None")
    return "..." if named or len(text) > 20 else text


def _parameters(parameters: Sequence[ParameterPlan], extra: Sequence[str]) -> tuple[str, ...]:
    parts = [_parameter(parameter) for parameter in parameters if not parameter.keyword_only]
    keywords = [*(_parameter(parameter) for parameter in parameters if parameter.keyword_only), *extra]
    return (*parts, "*", *keywords) if keywords else tuple(parts)


def _spread_parameters(parameters: Sequence[ParameterPlan], extra: Sequence[str]) -> tuple[str, ...] | None:
    """`view(self, *size: int)`, where a packet takes ints without brackets."""
    start = spread_position(parameters)
    if start is None:
        return None
    positional = [p for p in parameters if not p.keyword_only]
    head = [_parameter(parameter) for parameter in positional[:start]]
    keywords = [*(_parameter(parameter) for parameter in parameters if parameter.keyword_only), *extra]
    return (*head, f"*{python(positional[start].name)}: int", *keywords)


def _extra(operator: OperatorPlan) -> list[str]:
    extra = []
    if operator.python.out is not None:
        out = "Tensor" if len(operator.schema.returns) == 1 else "Sequence[Tensor]"
        extra.append(f"out: {out} | None = None")
    if operator.schema.is_factory:
        extra.append("requires_grad: bool = False")
    return extra


def _signatures(operator: OperatorPlan, functional: bool) -> list[tuple[str, ...]]:
    extra = _extra(operator) if functional else []
    overloads = [_parameters(operator.python.parameters, extra)]
    spread = _spread_parameters(operator.python.parameters, extra)
    return overloads if spread is None else [*overloads, spread]


def _grouped_functions(plan: Plan, results: _Results) -> dict[str, list[Signature]]:
    """The signatures of packets, by name."""
    grouped: dict[str, list[Signature]] = {}
    for operator in plan.operators:
        for parameters in _signatures(operator, functional=True):
            grouped.setdefault(python(operator.name.base), []).append((parameters, results.annotation(operator)))
    for operator in plan.operators:
        if operator.python.inplace is not None:
            for parameters in _signatures(operator, functional=False):
                grouped.setdefault(operator.python.inplace.base, []).append((parameters, "Tensor"))
    return grouped


def _grouped_methods(plan: Plan, results: _Results) -> dict[str, list[Signature]]:
    """The signatures of methods, by name."""
    grouped: dict[str, list[Signature]] = {}

    def add(name: str, operator: OperatorPlan, returns: str, functional: bool) -> None:
        for parameters in _signatures(operator, functional):
            if "self: Tensor" in parameters:
                others = (part for part in parameters if part != "self: Tensor")
                grouped.setdefault(python(name), []).append((("self", *others), returns))

    methods = {packet.base for packet in plan.packets if packet.is_method}
    for operator in plan.operators:
        if operator.name.base in methods:
            add(operator.name.base, operator, results.annotation(operator), functional=True)
    for operator in plan.operators:
        if operator.python.inplace is not None:
            add(operator.python.inplace.base, operator, "Tensor", functional=False)
    return grouped


def _stubs(grouped: Mapping[str, Sequence[Signature]]) -> list[FunctionStub]:
    stubs = []
    for name, signatures in sorted(grouped.items()):
        distinct = dict.fromkeys(signatures)
        for parameters, returns in distinct:
            stubs.append(FunctionStub(f"{function_head(name, parameters, returns)} ...", len(distinct) > 1))
    return stubs


def _sign_stubs(plan: Plan, methods: Set[str]) -> list[str]:
    """The signs that are no operators of the same name, whose methods say what they take."""
    stubs = []
    for sign in plan.signs:
        if str(sign.dunder) in methods:
            continue
        ignore = "  # type: ignore[override]" if sign.is_equality else ""
        parameters = "self" if sign.has_one_operand else "self, other: Tensor | Scalar"
        stubs.append(f"def {sign.dunder}({parameters}) -> Tensor: ...{ignore}")
    return stubs
