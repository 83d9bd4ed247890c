"""Packets and signs in C++: which entries they choose among.  The choosing itself is written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from codegen.plan.names import packet as packet_name
from codegen.plan.packet import PacketPlan
from codegen.plan.signs import SignKind, SignPlan
from codegen.signs import ADDITION, POWER, Sign
from codegen.targets.cpp.statements import row
from codegen.targets.environment import quoted


def packet_rows(packets: Sequence[PacketPlan], entries: Set[str]) -> Iterator[str]:
    """The packets that have an overload with a native entry, as C++ initializes them."""
    for packet in packets:
        if any(candidate.function in entries for candidate in packet.candidates):
            native = [name if name in entries else None for name in _choices(packet)]
            yield row(*_fields(packet_name(packet.base), *native), str(packet.spread_at or 0))


def _choices(packet: PacketPlan) -> tuple[str | None, ...]:
    """The functions for any arguments, for a Tensor alone, for two Tensors, for a Tensor and a number, and for ints."""
    first = packet.candidates[0].function
    if packet.spread_at is not None:
        return None, None, None, None, first
    if len(packet.candidates) == 1:
        return first, None, None, None, None
    return None, packet.unary, packet.tensor, packet.number, None


def sign_rows(signs: Sequence[SignPlan], entries: Set[str]) -> Iterator[str]:
    """The signs that have an overload with an entry, as C++ initializes them."""
    for sign in signs:
        native = [name if name in entries else None for name in (sign.unary, sign.tensor, sign.number)]
        if sign.kind is not SignKind.SWAPPED and any(native):
            place = ("generated.operators", sign.function) if sign.function else ("generated.methods", sign.dunder)
            yield row(*_fields(sign.dunder, *place, *native))


@dataclass(frozen=True, slots=True)
class NumberSlots:
    """Signs as slots of the type: their names, and each slot with the function in it."""

    names: tuple[str, ...]
    slots: tuple[tuple[str, str], ...]


def number_slots(signs: Sequence[SignPlan]) -> NumberSlots:
    """The slots of the signs that CPython has any for; those between two operands ask both of them."""
    indexes: dict[Sign, int] = {}
    slots = []
    for sign in signs:
        functions = _OF_POWER if sign.sign is POWER else _SLOT_FUNCTIONS
        writes = sign.kind is SignKind.INPLACE
        # `+=` stays a method: Python would take a slot of a base class for the `+=` of sequences, too, and that may not
        # answer NotImplemented.
        has_slot = sign.sign.slot is not None and not (writes and sign.sign is ADDITION)
        if has_slot and sign.kind in functions and not sign.is_reflected:
            index = indexes.setdefault(sign.sign, len(indexes))
            slot = f"Py_nb_{'inplace_' if writes else ''}{sign.sign.slot}"
            slots.append((slot, f"{functions[sign.kind]}<{index}>"))
    return NumberSlots(tuple(quoted(str(sign.method)) for sign in indexes), tuple(slots))


# Functions of signs.hpp; those of the power have a third argument.
_SLOT_FUNCTIONS = {
    SignKind.BINARY: "binary_sign",
    SignKind.INPLACE: "writing_sign",
    SignKind.UNARY: "unary_sign",
    SignKind.INVERTED: "integer_sign",
}
_OF_POWER = {SignKind.BINARY: "power_sign", SignKind.INPLACE: "writing_power_sign"}


def _fields(*names: str | None) -> list[str]:
    return ["nullptr" if name is None else quoted(name) for name in names]
