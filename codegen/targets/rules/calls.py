"""Which overload a call in a Python function means, by the types of what it is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.formula.typed import BOOL, FLOAT, INT, NONE, SCALAR, TENSOR, conversion_cost
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.schema.names import python
from codegen.schema.types import ListType, OptionalType, Type
from codegen.targets.rules.values import NotPortable, Value

_UNKNOWN = 1  # what an argument of unknown type costs


def chosen(
    base: str,
    candidates: Sequence[OperatorPlan],
    args: Sequence[Value],
    keywords: Mapping[str, Value],
    is_method: bool = False,
) -> tuple[OperatorPlan, dict[str, Value]]:
    """The overload that takes these arguments best, and the arguments by the names of its schema.

    Raises:
        NotPortable: none takes them.
    """
    fitting = []
    for order, operator in enumerate(candidates):
        bound = _bound(operator, args, keywords, is_method)
        if bound is not None:
            cost, values = bound
            fitting.append((cost, len(operator.python.parameters), order, operator, values))
    if not fitting:
        given = [*(str(arg.type or "?") for arg in args), *(f"{name}: {arg.type}" for name, arg in keywords.items())]
        raise NotPortable(f"no overload of '{base}' is known to take ({', '.join(given)})")
    _, _, _, operator, values = min(fitting, key=lambda item: item[:3])
    return operator, values


def _bound(
    operator: OperatorPlan, args: Sequence[Value], keywords: Mapping[str, Value], is_method: bool
) -> tuple[int, dict[str, Value]] | None:
    parameters = {python(parameter.name): parameter for parameter in operator.python.parameters}
    positional = [parameter for parameter in operator.python.parameters if not parameter.keyword_only]
    if is_method:  # the receiver is `self`, wherever that stands
        positional.sort(key=lambda parameter: parameter.name != "self")
    packed = _packed(positional, args)
    if len(packed) > len(positional):
        return None
    given = dict(zip([python(parameter.name) for parameter in positional], packed, strict=False))
    if given.keys() & keywords.keys() or not keywords.keys() <= parameters.keys():
        return None
    given |= keywords
    cost = 0
    for name, parameter in parameters.items():
        if name not in given:
            if parameter.default is None:
                return None
            continue
        step = _cost(given[name], parameter)
        if step is None:
            return None
        cost += step
    return cost, {parameters[name].name: value for name, value in given.items()}


def _packed(positional: Sequence[ParameterPlan], args: Sequence[Value]) -> Sequence[Value]:
    """The arguments, where a list of ints is given as ints: `x.permute(1, 0)`."""
    for place, parameter in enumerate(positional):
        type = parameter.type.elem if isinstance(parameter.type, OptionalType) else parameter.type
        rest = args[place:]
        if (
            type == ListType(INT)
            and len(rest) > 1
            and place == len(positional) - 1
            and all(a.type == INT for a in rest)
        ):
            return [*args[:place], Value(f"({', '.join(arg.text for arg in rest)})", ListType(INT))]
    return args


def _cost(value: Value, parameter: ParameterPlan) -> int | None:
    wanted: Type = parameter.type
    if value.type is None:
        return _UNKNOWN
    if value.type == NONE:
        return 0 if isinstance(wanted, OptionalType) else None
    inner = wanted.elem if isinstance(wanted, OptionalType) else wanted
    if value.type in (FLOAT, SCALAR) and inner in (FLOAT, SCALAR, BOOL):
        return 0 if value.type == inner else 1
    if isinstance(value.type, OptionalType) and value.type.elem == TENSOR and inner != TENSOR:
        return None
    if isinstance(value.type, ListType) and value.type.elem == NONE:  # an empty list
        return 0 if isinstance(inner, ListType) else None
    return conversion_cost(value.type, wanted)
