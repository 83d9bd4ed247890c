"""The fast path of an operator is planned here: which calls it takes, and what it does with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegen.formula.typed import BOOL, DTYPE, FLOAT, INT, SCALAR, TENSOR, formula_type, is_tensor_like
from codegen.plan.steps import (
    INT_LISTS,
    LISTS,
    PLACEMENTS,
    TENSOR_KINDS,
    Asked,
    Conversion,
    ConversionKind,
    DefaultNumber,
    FactoryDtype,
    FastPathArgument,
    FastPathPlan,
    Guard,
    GuardKind,
    HistoryKind,
    HistoryPlan,
    KernelCall,
    ResultPlan,
    TracedPlan,
    in_order,
)
from codegen.python_source import PythonFunction
from codegen.read.model import NativeFunction, Promotion
from codegen.schema.defaults import EnumDefault, default_value
from codegen.schema.types import Argument, BaseType, FunctionSchema, ListType, OptionalType, Type
from codegen.words import COMMON_KINDS, DTYPE_KINDS, PromotionKind

# What is asked of arguments one by one; the other kinds are asked of nothing.
_GUARDS: Mapping[Asked, GuardKind] = {
    Asked.TENSOR: GuardKind.PLAIN,
    Asked.OPTIONAL_TENSOR: GuardKind.PLAIN_OR_NONE,
    Asked.TENSORS: GuardKind.ALL_PLAIN,
    Asked.OPTIONAL_TENSORS: GuardKind.ALL_PLAIN_OR_NONE,
    Asked.NUMBER: GuardKind.NUMBER,
    Asked.OPTIONAL_NUMBER: GuardKind.NUMBER_OR_NONE,
    Asked.INTEGER: GuardKind.INTEGER,
    Asked.FLAG: GuardKind.FLAG,
    Asked.OPTIONAL_FLAG: GuardKind.FLAG_OR_NONE,
    Asked.FLAGS: GuardKind.TUPLE,
    Asked.OPTIONAL_FLOATS: GuardKind.SEQUENCE_OR_NONE,
    Asked.DTYPE: GuardKind.DTYPE,
    Asked.OPTIONAL_DTYPE: GuardKind.DTYPE_OR_NONE,
    Asked.ABSENT: GuardKind.ABSENT,
    Asked.PLACEMENT: GuardKind.ABSENT,
}


def plan_fast_path(
    function: NativeFunction,
    implementation: tuple[str, PythonFunction],
    in_float32: bool,
    results: ResultPlan,
    edges: Sequence[str] | None,
    undifferentiable: bool,
    of_complex: bool = False,
) -> FastPathPlan | None:
    """The fast path of an operator on arrays; None where only the general path takes its arguments.

    Args:
        function: the operator.
        implementation: the kernel that serves the CPU, and its key.
        in_float32: whether half precision is computed in float32.
        results: what becomes of what the kernel gives.
        edges: the differentiable arguments; None where no Node is recorded.
        undifferentiable: whether results have to say that there is no derivative.
        of_complex: whether its kernel computes complex numbers as it does floats.
    """
    schema = function.schema
    asked = [_asked(argument) for argument in schema.arguments]
    if None in asked:
        return None
    arguments = tuple(
        FastPathArgument(argument.name, kind, _size(argument) if kind in INT_LISTS else None)
        for argument, kind in zip(schema.arguments, asked, strict=True)
        if kind is not None
    )
    if not any(argument.asked in (Asked.TENSOR, Asked.TENSORS) for argument in arguments):
        return _plan_factory(function, arguments, implementation, results)
    limited = _limited(function, arguments)
    if limited is None:
        return None
    promotion = function.promotion
    if promotion is not None or (limited and not _takes_all(function)):  # what a call asks for decides what is computed
        arguments = _with(arguments, Asked.OPTIONAL_DTYPE, Asked.ABSENT)
    takes = function.dtypes.kinds if function.dtypes is not None else ()
    # Stored types always go the general way.
    takes = tuple(kind for kind in takes if kind in COMMON_KINDS and not (in_float32 and kind == "half"))
    not_half = in_float32 and not limited  # what is taken tells it already
    if promotion is None:
        dtypes: tuple[Guard, ...] = _taken(limited, takes, arguments)
        first = next((argument.name for argument in arguments if argument.asked is Asked.TENSOR), None)
        if not_half and first is not None:
            dtypes = (Guard(GuardKind.NOT_HALF, (first,)),)
        at_default = None
    else:
        known = _plan_promoted(schema, promotion, arguments, limited, takes, not_half, of_complex)
        if known is None:
            return None
        dtypes, at_default = known
    watched = tuple(edges) if edges is not None else ()
    if edges is None and undifferentiable:
        watched = tuple(argument.name for argument in arguments if argument.asked is Asked.TENSOR)
    kind = HistoryKind.UNDIFFERENTIABLE if edges is None else HistoryKind.NODE
    return FastPathPlan(
        arguments,
        _guards(function, arguments),
        dtypes,
        _conversions(arguments),
        KernelCall(*implementation, _passed(arguments)),
        results,
        HistoryPlan(kind, watched) if watched else None,
        at_default,
    )


def _plan_factory(
    function: NativeFunction,
    arguments: tuple[FastPathArgument, ...],
    implementation: tuple[str, PythonFunction],
    results: ResultPlan,
) -> FastPathPlan | None:
    """That of an operator which takes no Tensor, and has a dtype."""
    names = [argument.name for argument in arguments if argument.asked is Asked.OPTIONAL_DTYPE]
    others = [argument.name for argument in arguments if argument.asked is Asked.NOTHING]
    types = {argument.name: formula_type(argument.type) for argument in function.schema.arguments}
    floats = [name for name in others if _inner(types[name]) == FLOAT]
    unknown = {argument.asked for argument in arguments} - _OF_FACTORIES
    if len(names) != 1 or unknown or any(_inner(types[name]) not in (FLOAT, INT) for name in others):
        return None
    converted = tuple(replace(a, asked=Asked.NUMBER) if a.name in floats else a for a in arguments)
    return FastPathPlan(
        converted,
        in_order((Guard(GuardKind.NO_MODE), *_guards(function, converted))),
        (),
        _conversions(converted, ConversionKind.SIZES),
        KernelCall(*implementation, _passed(converted), _factory_dtype(function, names[0])),
        replace(results, layout=None),
        None,
    )


def _plan_promoted(
    schema: FunctionSchema,
    promotion: Promotion,
    arguments: tuple[FastPathArgument, ...],
    limited: Sequence[str],
    takes: tuple[str, ...],
    not_half: bool,
    of_complex: bool,
) -> tuple[tuple[Guard, ...], DefaultNumber | None] | None:
    """The guards of dtypes where arguments are promoted: they have one dtype already, and the result has it as well."""
    operands = [a.name for kind in (Asked.TENSOR, Asked.OPTIONAL_TENSOR) for a in arguments if a.asked is kind]
    promoted = [name for name in operands if promotion.arguments is None or name in promotion.arguments]
    asked = {argument.name: argument.asked for argument in arguments}
    if set(asked.values()) & (LISTS | {Asked.FLAGS}) or not promoted or asked[promoted[0]] is not Asked.TENSOR:
        return None
    first, *rest = promoted
    numbers = [argument for argument in schema.arguments if asked[argument.name] in _NUMBERS]
    known = None if numbers else _PROMOTED_DTYPES[promotion.kind]
    if known is GuardKind.FLOAT_DTYPE:
        if limited and "float" not in takes:
            return None
        if of_complex:
            known = GuardKind.INEXACT_DTYPE
    of_number = _kinds_with_numbers(promotion, of_complex, takes if limited else COMMON_KINDS)
    if numbers and not of_number:
        return None
    same = []
    for other in rest:
        optional = asked[other] is Asked.OPTIONAL_TENSOR
        same.append(Guard(GuardKind.SAME_DTYPE_OR_NONE if optional else GuardKind.SAME_DTYPE, (first, other)))
    taken = _taken([first] if limited else [], takes, arguments)
    of_any = in_order((*([Guard(GuardKind.NOT_HALF, (first,))] if not_half else []), *same, *taken))
    if numbers:
        tests = [Guard(GuardKind.WITH_NUMBER, (first, number.name), of_number) for number in numbers]
    elif known is not None:
        tests = [Guard(known, (first,))]
    else:
        return of_any, None
    some = in_order((*tests, *same, *(taken if known is GuardKind.NUMBER_DTYPE else ())))
    if len(numbers) != 1 or numbers[0].default is None or not rest:
        return some, None
    return some, DefaultNumber(numbers[0].name, of_any)


def _kinds_with_numbers(promotion: Promotion, of_complex: bool, takes: Sequence[str]) -> tuple[str, ...]:
    """The kinds of dtypes in which a kernel computes with Python numbers, of those that the operator takes."""
    kinds = ["float"]
    if promotion.kind in (PromotionKind.DEFAULT, PromotionKind.ALWAYS_BOOL):
        kinds.append("integer")
    if of_complex:
        kinds.append("complex")
    return tuple(kind for kind in kinds if kind in takes)


# Which dtypes the kernels of a kind of promotion compute in without being told; None: all.
_PROMOTED_DTYPES: Mapping[PromotionKind, GuardKind | None] = {
    PromotionKind.DEFAULT: None,
    PromotionKind.ALWAYS_BOOL: None,
    PromotionKind.INT_TO_FLOAT: GuardKind.FLOAT_DTYPE,
    PromotionKind.COMPLEX_TO_FLOAT: GuardKind.FLOAT_DTYPE,
    PromotionKind.BOOL_TO_INT: GuardKind.NUMBER_DTYPE,
}
_NUMBERS = frozenset((Asked.NUMBER, Asked.OPTIONAL_NUMBER))
_OF_FACTORIES = (
    _NUMBERS | INT_LISTS | {Asked.OPTIONAL_DTYPE, Asked.ABSENT, Asked.PLACEMENT, Asked.INTEGER, Asked.NOTHING}
)
_GENERAL_ONLY = frozenset((BaseType("Stream"), BaseType("Storage"), BaseType("Dimname")))


def _inner(type: Type) -> Type:
    return type.elem if isinstance(type, OptionalType) else type


def _size(argument: Argument) -> int | None:
    type = _inner(argument.type)
    return type.size if isinstance(type, ListType) else None


def _asked(argument: Argument) -> Asked | None:
    """What is asked of an argument; None for one that only the general path takes."""
    type = formula_type(argument.type)
    optional, inner = isinstance(type, OptionalType), _inner(type)
    if inner == TENSOR:
        return Asked.OPTIONAL_TENSOR if optional else Asked.TENSOR
    if inner == ListType(TENSOR):
        return Asked.TENSORS
    if inner == ListType(OptionalType(TENSOR)):
        return Asked.OPTIONAL_TENSORS
    if is_tensor_like(inner) or inner in _GENERAL_ONLY:
        return None
    if inner == DTYPE:
        return Asked.OPTIONAL_DTYPE if optional else Asked.DTYPE
    if argument.is_placement:
        return Asked.PLACEMENT if optional else Asked.PLACEMENT_FLAG
    if inner == BaseType("Generator"):
        return Asked.ABSENT
    if inner == SCALAR:
        return Asked.OPTIONAL_NUMBER if optional else Asked.NUMBER
    if inner == INT and not optional:
        return Asked.INTEGER
    if inner == ListType(INT):
        return Asked.OPTIONAL_INTS if optional else Asked.INTS
    if inner == ListType(BOOL):
        return Asked.FLAGS
    if inner == ListType(FLOAT) and optional:
        return Asked.OPTIONAL_FLOATS
    if inner == BOOL:
        return Asked.OPTIONAL_FLAG if optional else Asked.FLAG
    return None if isinstance(inner, ListType) else Asked.NOTHING


def _with(arguments: Sequence[FastPathArgument], old: Asked, new: Asked) -> tuple[FastPathArgument, ...]:
    return tuple(replace(argument, asked=new) if argument.asked is old else argument for argument in arguments)


def _passed(arguments: Sequence[FastPathArgument]) -> tuple[FastPathArgument, ...]:
    return tuple(argument for argument in arguments if argument.asked not in PLACEMENTS)


def _guards(function: NativeFunction, arguments: Sequence[FastPathArgument]) -> tuple[Guard, ...]:
    guards = [Guard(_GUARDS[argument.asked], (argument.name,)) for argument in arguments if argument.asked in _GUARDS]
    if function.is_random:
        guards.append(Guard(GuardKind.NO_CALL_HANDLERS))
    return in_order(guards)


def _conversions(arguments: Sequence[FastPathArgument], always: ConversionKind | None = None) -> tuple[Conversion, ...]:
    kinds = {Asked.INTS: ConversionKind.INTS, Asked.OPTIONAL_INTS: ConversionKind.OPTIONAL_INTS}
    return tuple(
        Conversion(always or kinds[argument.asked], argument.name, argument.size)
        for argument in arguments
        if argument.asked in kinds
    )


def _limited(function: NativeFunction, arguments: Sequence[FastPathArgument]) -> tuple[str, ...] | None:
    """The Tensors whose dtypes have to be looked at; None where some stand in lists."""
    dtypes = function.dtypes
    if dtypes is None:
        return ()
    tensors = [argument for argument in arguments if argument.asked in TENSOR_KINDS]
    limited = [argument for argument in tensors if dtypes.arguments is None or argument.name in dtypes.arguments]
    return None if any(a.asked in LISTS for a in limited) else tuple(argument.name for argument in limited)


def _takes_all(function: NativeFunction) -> bool:
    """Whether an operator moves elements of all types that can be copied."""
    return function.dtypes is not None and set(DTYPE_KINDS) - set(function.dtypes.kinds) <= {"view_only"}


def _taken(names: Sequence[str], takes: tuple[str, ...], arguments: Sequence[FastPathArgument]) -> tuple[Guard, ...]:
    optional = {argument.name for argument in arguments if argument.asked is Asked.OPTIONAL_TENSOR}
    kinds = {name: GuardKind.TAKEN_OR_NONE if name in optional else GuardKind.TAKEN for name in names}
    return in_order([Guard(kind, (name,), takes) for name, kind in kinds.items()])


def _factory_dtype(function: NativeFunction, name: str) -> FactoryDtype:
    argument = next(argument for argument in function.schema.arguments if argument.name == name)
    default = default_value(argument) if argument.default is not None else None
    named = default.name if isinstance(default, EnumDefault) else None
    if function.promotion is None:
        return FactoryDtype(named, None, ())
    return FactoryDtype(named, function.promotion.kind, function.promotion.arguments or ())


# -- operators that are traced through


def plan_traced(function: NativeFunction, in_float32: bool) -> TracedPlan:
    """The way of an operator that is traced through."""
    schema, dtypes = function.schema, function.dtypes
    types = {argument.name: formula_type(argument.type) for argument in schema.arguments}
    exact = []
    for argument in schema.arguments:
        inner, optional = _inner(types[argument.name]), isinstance(argument.type, OptionalType)
        if inner == INT:
            exact.append(FastPathArgument(argument.name, Asked.OPTIONAL_INTEGER if optional else Asked.INTEGER))
        elif inner == BOOL and not argument.is_placement:
            exact.append(FastPathArgument(argument.name, Asked.OPTIONAL_FLAG if optional else Asked.FLAG))
        elif inner == ListType(INT):
            kind = Asked.OPTIONAL_INTS if optional else Asked.INTS
            exact.append(FastPathArgument(argument.name, kind, _size(argument)))
    guards = [Guard(_PLAIN[type], (name,)) for name, type in types.items() if type in _PLAIN]
    guards += [Guard(_GUARDS[a.asked], (a.name,)) for a in exact if a.asked in (Asked.FLAG, Asked.OPTIONAL_FLAG)]
    limited = [name for name in types if dtypes is not None and (dtypes.arguments is None or name in dtypes.arguments)]
    limited = [name for name in limited if is_tensor_like(types[name])]
    usual: list[Guard] = []
    if dtypes is not None:
        taken = {TENSOR: GuardKind.TAKEN, OptionalType(TENSOR): GuardKind.TAKEN_OR_NONE}
        takes = tuple(kind for kind in dtypes.kinds if kind in COMMON_KINDS)
        guards += [Guard(taken[types[name]], (name,), takes) for name in limited if types[name] in taken]
        if "float" in dtypes.kinds and all(types[name] == TENSOR for name in limited):
            usual += [Guard(GuardKind.ABSENT, (name,)) for name, type in types.items() if _inner(type) == DTYPE]
            usual += [Guard(kind, (name,)) for name in limited for kind in (GuardKind.PLAIN, GuardKind.FLOAT_DTYPE)]
    if in_float32:
        guards += [Guard(GuardKind.NOT_HALF, (name,)) for name, type in types.items() if type == TENSOR]
    return TracedPlan(tuple(exact), in_order(guards), dtypes is not None, tuple(usual))


_PLAIN: Mapping[Type, GuardKind] = {
    TENSOR: GuardKind.PLAIN,
    OptionalType(TENSOR): GuardKind.PLAIN_OR_NONE,
    ListType(TENSOR): GuardKind.ALL_PLAIN,
    ListType(OptionalType(TENSOR)): GuardKind.ALL_PLAIN_OR_NONE,
}
