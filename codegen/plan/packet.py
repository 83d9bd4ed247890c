"""Plans of packets: the overloads under one base name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegen.plan.operator import OperatorPlan


@dataclass(frozen=True, slots=True)
class PacketPlan:
    """All overloads under one base name."""

    base: str
    overloads: tuple[OperatorPlan, ...]
    is_method: bool
    is_function: bool
    python_module: str | None


def plan_packets(operators: Sequence[OperatorPlan]) -> tuple[PacketPlan, ...]:
    groups: dict[str, list[OperatorPlan]] = {}
    for operator in operators:
        groups.setdefault(operator.name.base, []).append(operator)
    packets = []
    for base, overloads in groups.items():
        variants = [operator.source.variants for operator in overloads]
        packets.append(
            PacketPlan(
                base,
                tuple(overloads),
                any("method" in words for words in variants),
                any("function" in words for words in variants),
                overloads[0].source.python_module,
            )
        )
    return tuple(packets)
