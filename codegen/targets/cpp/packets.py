"""Packets and signs in C++: which entries they choose among.  The choosing itself is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from codegen.plan.plan import Plan
from codegen.targets.cpp.text import wrapped
from codegen.targets.environment import quoted
from codegen.targets.python.operators import (
    PacketView,
    binary_overloads,
    packet_views,
    sign_views,
    spread_position,
    unary_overload,
)


@dataclass(frozen=True, slots=True)
class PacketChoice:
    """A packet, and overloads by what they take; all are names of functions, or None."""

    name: str
    single: str | None = None
    unary: str | None = None
    tensor: str | None = None
    number: str | None = None
    spread: str | None = None
    sizes_at: int = 0  # where the ints of `spread` begin

    @property
    def lines(self) -> list[str]:
        """As C++ initializes it."""
        fields = _fields(self.name, self.single, self.unary, self.tensor, self.number, self.spread)
        return wrapped("    {", [*fields, str(self.sizes_at)], "},")


def packet_choices(plan: Plan, entries: Set[str]) -> Iterator[PacketChoice]:
    """The packets that have an overload with a native entry."""
    for packet in packet_views(plan):
        if any(candidate.function in entries for candidate in packet.candidates):
            yield _choice(packet, entries)


def _choice(packet: PacketView, entries: Set[str]) -> PacketChoice:
    def native(function: str | None) -> str | None:
        return function if function in entries else None

    first = packet.candidates[0]
    spread = spread_position(first.parameters)
    if spread is not None:
        return PacketChoice(packet.identifier, spread=native(first.function) if spread <= 1 else None, sizes_at=spread)
    if len(packet.candidates) == 1:
        return PacketChoice(packet.identifier, single=native(first.function))
    overloads = [(candidate.function, candidate.parameters) for candidate in packet.candidates]
    tensor, number = binary_overloads(overloads)
    return PacketChoice(
        packet.identifier, unary=native(unary_overload(overloads)), tensor=native(tensor), number=native(number)
    )


def sign_lines(plan: Plan, entries: Set[str]) -> Iterator[list[str]]:
    """The signs that have an overload with an entry, as C++ initializes them."""
    packets = {packet.base: packet for packet in plan.packets}
    candidates = {packet.base: packet.candidates for packet in packet_views(plan)}
    for sign in sign_views(plan):
        unary, tensor, number = None, sign.tensor, sign.number
        if sign.kind in ("unary", "inverted"):
            unary = unary_overload([(o.function, o.parameters) for o in packets[sign.packet].overloads])
        if sign.kind == "inplace":
            tensor, number = binary_overloads([(c.function, c.parameters) for c in candidates[sign.packet]])
        native = [name if name in entries else None for name in (unary, tensor, number)]
        if sign.kind != "swapped" and any(native):
            place = ("generated.operators", sign.function) if sign.function else ("generated.methods", sign.dunder)
            yield wrapped("    {", _fields(sign.dunder, *place, *native), "},")


def _fields(*names: str | None) -> list[str]:
    return ["nullptr" if name is None else quoted(name) for name in names]
