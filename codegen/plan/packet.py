"""Packets: which overload a call by base name takes.

A packet tells common calls apart by the types of their arguments; all other calls try one overload after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from codegen.formula.typed import INT_LIST, SCALAR, TENSOR
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.schema.names import python
from codegen.schema.types import OperatorName, OptionalType, Type
from codegen.words import BUILT_IN_NAMESPACE


@dataclass(frozen=True, slots=True)
class Candidate:
    """An overload that a packet can pick: the function to call, and the operator whose schema binds the arguments."""

    function: str
    operator: str
    parameters: tuple[ParameterPlan, ...]
    has_old_orders: bool


class PacketForm(Enum):
    """How a packet picks."""

    ALONE = "its only overload serves itself"
    RESPELLED = "its only overload; some parameters have second names"
    OLD_ORDERS = "its only overload; arguments may stand elsewhere, in PyTorch's old orders"
    SPREAD = "its first overload for ints, with or without brackets around them"
    TYPES = "its overloads are told apart by the types of arguments"


@dataclass(frozen=True, slots=True)
class PacketPlan:
    """All overloads under one base name, and the in-place variants that follow from those of another.

    Attributes:
        base: the name.
        qualified: the name as messages have it: with its namespace where that is not the built-in one.
        candidates: the overloads, in the order in which they are tried.
        overloads: names of attributes, and the functions.
        form: how it picks.
        spread_at: where ints may stand without brackets.
        unary: the function for a Tensor alone.
        tensor: the function for two Tensors.
        number: the function for a Tensor and a number.
        number_first: the function for a number and a Tensor.
        is_direct_method: whether its only overload serves the method of this name, too.
        is_method: whether there is a method of this name.
        self_at: where `self` stands among the arguments of the method: `x.where(condition, y)` has it second.
        is_function: whether there is a function of this name.
        takes_requires_grad: whether it is a factory, whose results may be asked to require grad.
        python_module: where it lies besides.
    """

    base: str
    qualified: str
    candidates: tuple[Candidate, ...]
    overloads: tuple[tuple[str, str], ...]
    form: PacketForm
    spread_at: int | None
    unary: str | None
    tensor: str | None
    number: str | None
    number_first: str | None
    is_direct_method: bool
    is_method: bool
    self_at: int
    is_function: bool
    takes_requires_grad: bool
    python_module: str | None

    def __post_init__(self) -> None:
        if not self.candidates:
            raise ValueError(f"{self.base}: no overloads")
        if self.form is PacketForm.SPREAD and self.spread_at is None:
            raise ValueError(f"{self.base}: no ints to spread")
        if self.form in _OF_ONE and len(self.candidates) > 1:
            raise ValueError(f"{self.base}: {len(self.candidates)} overloads, of which none is the only one")


_OF_ONE = frozenset((PacketForm.ALONE, PacketForm.RESPELLED, PacketForm.OLD_ORDERS))
# Parameters that have a second name, NumPy's or PyTorch's (`runtime.call.binding` knows which): `self` is also `input`.
ALIASED = frozenset(("self", "input", "dim", "keepdim", "other"))
_ALIASED_IN_METHODS = ALIASED - {"self", "input"}


def plan_packets(operators: Sequence[OperatorPlan], namespace: str) -> tuple[PacketPlan, ...]:
    """A packet for each base name: those of functional overloads, and then of the in-place variants that follow."""
    functional: dict[str, list[OperatorPlan]] = {}
    for operator in operators:
        functional.setdefault(operator.name.base, []).append(operator)
    candidates = {base: [_candidate(o, o.python.function) for o in group] for base, group in functional.items()}
    overloads = {base: _attributes(group) for base, group in functional.items()}
    for group in list(functional.values()):
        for operator in group:
            if operator.python.inplace is not None and operator.python.inplace_function is not None:
                name, function = operator.python.inplace, operator.python.inplace_function
                candidates.setdefault(name.base, []).append(_candidate(operator, function))
                overloads.setdefault(name.base, {})[_attribute(name)] = function
    return tuple(
        _plan_packet(base, namespace, tuple(members), overloads[base], functional.get(base, ()))
        for base, members in candidates.items()
    )


def _candidate(operator: OperatorPlan, function: str) -> Candidate:
    return Candidate(function, operator.python.function, operator.python.parameters, bool(operator.python.old_orders))


def _attributes(group: Sequence[OperatorPlan]) -> dict[str, str]:
    attributes = {}
    for operator in group:
        attributes[_attribute(operator.name)] = operator.python.function
        if operator.python.out is not None and operator.python.out_function is not None:
            attributes[_attribute(operator.python.out)] = operator.python.out_function
    return attributes


def _attribute(name: OperatorName) -> str:
    return name.overload or "default"


def _plan_packet(
    base: str,
    namespace: str,
    candidates: tuple[Candidate, ...],
    overloads: dict[str, str],
    functional: Sequence[OperatorPlan],
) -> PacketPlan:
    parameters = candidates[0].parameters
    names = {parameter.name for parameter in parameters}
    spread_at = spread_position(parameters)
    respelled = any(python(name) != name for name in names)  # keywords of Python are no parameters
    old_orders = any(candidate.has_old_orders for candidate in candidates)
    alone = len(candidates) == 1 and spread_at is None and not old_orders
    if old_orders and len(candidates) == 1:
        form = PacketForm.OLD_ORDERS
    elif spread_at is not None:
        form = PacketForm.SPREAD
    elif not alone:
        form = PacketForm.TYPES
    else:
        form = PacketForm.RESPELLED if names & ALIASED or respelled else PacketForm.ALONE
    methods = [operator for operator in functional if "method" in operator.source.variants]
    orders = (_names(method.python.parameters) for method in methods)
    positions = [order.index("self") for order in orders if "self" in order]
    writes = any(
        candidate.function != candidate.operator and _names(candidate.parameters)[:1] == ["self"]
        for candidate in candidates
    )
    every = {parameter.name for candidate in candidates for parameter in candidate.parameters}
    factory = any(operator.schema.is_factory for operator in functional)
    return PacketPlan(
        base,
        base if namespace == BUILT_IN_NAMESPACE else f"{namespace}::{base}",
        candidates,
        tuple(overloads.items()),
        form,
        spread_at,
        _unary(candidates),
        _binary(candidates, TENSOR, TENSOR),
        _binary(candidates, TENSOR, SCALAR),
        _binary(candidates, SCALAR, TENSOR),
        is_direct_method=alone and not respelled and not names & _ALIASED_IN_METHODS,
        is_method=bool(methods) or writes,
        self_at=positions[0] if positions else 0,
        is_function=not functional or any("function" in operator.source.variants for operator in functional),
        takes_requires_grad=factory and "requires_grad" not in every,
        python_module=functional[0].source.python_module if functional else None,
    )


def _names(parameters: Sequence[ParameterPlan]) -> list[str]:
    return [parameter.name for parameter in parameters]


def _required(parameters: Sequence[ParameterPlan]) -> int:
    return sum(parameter.default is None for parameter in parameters)


def _unary(candidates: Sequence[Candidate]) -> str | None:
    """The overload for a Tensor alone."""
    for candidate in candidates:
        parameters = candidate.parameters
        if parameters and not _required(parameters[1:]) and parameters[0].type == TENSOR:
            return candidate.function
    return None


def _binary(candidates: Sequence[Candidate], first: Type, second: Type) -> str | None:
    """The overload for two operands of these types."""
    for candidate in candidates:
        parameters = candidate.parameters
        if len(parameters) < 2 or _required(parameters[2:]) or parameters[1].keyword_only:
            continue
        if (parameters[0].type, parameters[1].type) == (first, second):
            return candidate.function
    return None


def spread_position(parameters: Sequence[ParameterPlan]) -> int | None:
    """Where ints may stand without brackets, `x.permute(0, 1)`: the only positional parameter besides `self`."""
    positional = [p for p in parameters if not p.keyword_only]
    start = 1 if positional and positional[0].type == TENSOR else 0
    if len(positional) != start + 1:
        return None
    type = positional[start].type
    return start if (type.elem if isinstance(type, OptionalType) else type) == INT_LIST else None
