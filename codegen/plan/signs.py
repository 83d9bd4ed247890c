"""Python's signs: which packet stands behind each, and which overloads take its common operands.

Which operators are written with signs, their entries say (`python_operator: self + other`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from codegen.plan.operator import OperatorPlan
from codegen.plan.packet import PacketPlan
from codegen.plan.steps import Asked, FastPathPlan
from codegen.signs import EQUALITIES, INVERSION, SIGNS, Form, Notation, Sign


class SignKind(Enum):
    """What a sign does with its operands."""

    BINARY = "gives them to the packet"
    SWAPPED = "gives them to the packet the other way round"
    INPLACE = "writes the left one"
    UNARY = "gives the only one to the packet"
    INVERTED = "the same, and refuses what is neither integer nor bool"


@dataclass(frozen=True, slots=True)
class SignPlan:
    """A sign, `__add__`: its packet, and the functions for a Tensor alone, for a second Tensor and for a number.

    `fast_path`: the fast path of the function for two Tensors where the sign goes it itself, without a call.
    `is_reflected`: it is a method of the right operand.  Of a swapped sign `takes_numbers` says whether numbers may be
    the left one, `number_first` is the function for a number and a Tensor, where the packet has one, and `inverse` the
    packet of `1 / self`, by which an array there is multiplied.
    """

    sign: Sign
    dunder: str
    packet: PacketPlan
    kind: SignKind
    unary: str | None = None
    tensor: str | None = None
    number: str | None = None
    fast_path: FastPathPlan | None = None
    is_reflected: bool = False
    takes_numbers: bool = True
    number_first: str | None = None
    inverse: PacketPlan | None = None

    def __post_init__(self) -> None:
        one = self.kind in (SignKind.UNARY, SignKind.INVERTED)
        if (one and (self.tensor or self.number)) or (not one and self.unary):
            raise ValueError(f"{self.dunder}: functions for other operands than it has")
        if self.fast_path is not None and self.tensor is None:
            raise ValueError(f"{self.dunder}: a fast path of no function")

    @property
    def has_one_operand(self) -> bool:
        return self.kind in (SignKind.UNARY, SignKind.INVERTED)

    @property
    def is_equality(self) -> bool:
        """Whether it is `==` or `!=`, of which nothing would come if arrays of NumPy answered first."""
        return self.sign in EQUALITIES

    @property
    def function(self) -> str | None:
        """The name of its function where it has the fast path in it."""
        return f"{self.dunder.strip('_')}_sign" if self.fast_path is not None else None


def plan_signs(packets: Sequence[PacketPlan], operators: Sequence[OperatorPlan]) -> tuple[SignPlan, ...]:
    """The methods of all signs that operators are written with."""
    by_base = {packet.base: packet for packet in packets}
    fast_path = {operator.python.function: operator.compute.fast_path for operator in operators}
    written: dict[tuple[Sign, Form], PacketPlan] = {}
    for operator in operators:
        for use in operator.source.signs:
            written.setdefault((use.sign, use.form), by_base[operator.name.base])
    direct = {sign: written[sign, Form.DIRECT] for sign in SIGNS if (sign, Form.DIRECT) in written}
    arithmetic = {sign: packet for sign, packet in direct.items() if sign.notation is Notation.ARITHMETIC}
    signs = [_binary(sign, packet, fast_path) for sign, packet in direct.items() if sign.is_binary]
    for sign, packet in arithmetic.items():
        reflected = written.get((sign, Form.REFLECTED))
        inverse = written.get((sign, Form.INVERSE))
        signs.append(_swapped(sign, packet, inverse) if reflected is None else _reflected(sign, reflected))
    for sign, packet in arithmetic.items():
        inplace = by_base.get(f"{packet.base}_")
        if inplace is not None:
            tensor, number = inplace.tensor, inplace.number
            signs.append(SignPlan(sign, f"__i{sign.method}__", inplace, SignKind.INPLACE, tensor=tensor, number=number))
    for sign, packet in direct.items():
        if not sign.is_binary and sign.method is not None:
            kind = SignKind.INVERTED if sign is INVERSION else SignKind.UNARY
            signs.append(SignPlan(sign, f"__{sign.method}__", packet, kind, unary=packet.unary))
    return tuple(signs)


def _binary(sign: Sign, packet: PacketPlan, fast_path: Mapping[str, FastPathPlan | None]) -> SignPlan:
    own = fast_path.get(packet.tensor or "")
    if own is not None:
        own = own.of_first(2) if own.those(Asked.TENSOR) == ("self", "other") else None
    dunder = f"__{sign.method}__"
    return SignPlan(sign, dunder, packet, SignKind.BINARY, tensor=packet.tensor, number=packet.number, fast_path=own)


def _reflected(sign: Sign, packet: PacketPlan) -> SignPlan:
    """The packet has the operands the other way round."""
    dunder = f"__r{sign.method}__"
    return SignPlan(
        sign, dunder, packet, SignKind.BINARY, tensor=packet.tensor, number=packet.number, is_reflected=True
    )


def _swapped(sign: Sign, packet: PacketPlan, inverse: PacketPlan | None) -> SignPlan:
    takes_numbers = packet.number is not None
    dunder = f"__r{sign.method}__"
    return SignPlan(
        sign,
        dunder,
        packet,
        SignKind.SWAPPED,
        is_reflected=True,
        takes_numbers=takes_numbers,
        number_first=packet.number_first,
        inverse=inverse,
    )
