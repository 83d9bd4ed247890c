"""What is said about a packet where users ask: its overloads, what they compute, and their formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.packet import PacketPlan


@dataclass(frozen=True, slots=True)
class OverloadDocumentation:
    """One overload of a packet: an operator, or the in-place variant that follows from one.

    `derivative` is a sentence where there are no formulas.
    """

    operator: OperatorPlan
    is_variant: bool
    signature: str
    about: str
    formulas: tuple[str, ...]
    derivative: str


def plan_documentation(packet: PacketPlan, operators: Mapping[str, OperatorPlan]) -> tuple[OverloadDocumentation, ...]:
    """What is known of the overloads of a packet; `operators` has the plans by their function."""
    return tuple(
        (_overload if candidate.function == candidate.operator else _variant)(operators[candidate.operator])
        for candidate in packet.candidates
    )


def _overload(operator: OperatorPlan) -> OverloadDocumentation:
    derivative = ""
    if operator.kind is OperatorKind.DECLARED:
        derivative = "Declared only: a call raises NotImplementedError."
    elif operator.kind is OperatorKind.IMPLICIT:
        derivative = "Differentiated through the operators that it calls."
    elif operator.autograd.node is None:
        derivative = "Not differentiable."
    return OverloadDocumentation(
        operator,
        False,
        str(operator.schema),
        about(operator),
        operator.autograd.formula_texts if operator.autograd.node is not None else (),
        derivative,
    )


def about(operator: OperatorPlan) -> str:
    """What it computes: what its entry says, its formula, the first paragraph of its function, or NumPy's function."""
    if operator.source.about is not None:
        return operator.source.about
    if operator.compute.composite is not None:
        return f"`{' '.join(operator.compute.composite.text.value.split())}`."
    if not operator.compute.implementations:
        return ""
    function = operator.compute.implementation
    return function.about or (f"NumPy's `{function.alias}`." if function.alias else "")


def _variant(operator: OperatorPlan) -> OverloadDocumentation:
    arguments = str(operator.schema).partition("(")[2].rpartition(") -> ")[0]
    arguments = arguments.replace("Tensor(a) self", "Tensor self", 1).replace("Tensor self", "Tensor(a!) self", 1)
    node = operator.autograd.inplace_node
    return OverloadDocumentation(
        operator,
        True,
        f"{operator.python.inplace}({arguments}) -> Tensor(a!)",
        f"Writes the result of `{operator.name.base}` into `self`.",
        () if node is None else tuple(f"{', '.join(each.names)}: {each.text}" for each in node.gradients),
        "",
    )
