"""Python's signs: which packet stands behind each, and which overloads take its common operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from codegen.plan.operator import OperatorPlan
from codegen.plan.packet import PacketPlan
from codegen.plan.steps import Asked, StraightPlan

# The signs and their packets.
_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
# With the Tensor on the right; of some of these the packet takes the operands the other way round.
_REFLECTED = {
    "radd": "add", "rmul": "mul", "rsub": "rsub", "rand": "bitwise_and", "ror": "bitwise_or", "rxor": "bitwise_xor",
}  # fmt: skip
_SWAPPED = {
    "rtruediv": "div", "rpow": "pow", "rfloordiv": "floor_divide", "rmod": "remainder", "rmatmul": "matmul",
    "rlshift": "bitwise_left_shift", "rrshift": "bitwise_right_shift",
}  # fmt: skip
_INPLACE = {
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "ifloordiv": "floor_divide_",
    "imod": "remainder_", "ipow": "pow_", "iand": "bitwise_and_", "ior": "bitwise_or_", "ixor": "bitwise_xor_",
    "ilshift": "bitwise_left_shift_", "irshift": "bitwise_right_shift_",
}  # fmt: skip
_UNARY = {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}


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

    `straight`: the fast path of the function for two Tensors where the sign goes it itself, without a call.
    """

    dunder: str
    packet: PacketPlan
    kind: SignKind
    unary: str | None = None
    tensor: str | None = None
    number: str | None = None
    straight: StraightPlan | None = None

    def __post_init__(self) -> None:
        one = self.kind in (SignKind.UNARY, SignKind.INVERTED)
        if (one and (self.tensor or self.number)) or (not one and self.unary):
            raise ValueError(f"{self.dunder}: functions for other operands than it has")
        if self.straight is not None and self.tensor is None:
            raise ValueError(f"{self.dunder}: a fast path of no function")

    @property
    def has_one_operand(self) -> bool:
        return self.kind in (SignKind.UNARY, SignKind.INVERTED)

    @property
    def function(self) -> str | None:
        """The name of its function where it has the fast path in it."""
        return f"{self.dunder.strip('_')}_sign" if self.straight is not None else None


def plan_signs(packets: Sequence[PacketPlan], operators: Sequence[OperatorPlan]) -> tuple[SignPlan, ...]:
    """The signs, as far as their packets exist."""
    by_base = {packet.base: packet for packet in packets}
    straight = {operator.function: operator.straight for operator in operators}
    signs = []
    for table, kind in (
        (_BINARY, SignKind.BINARY),
        (_REFLECTED, SignKind.BINARY),
        (_SWAPPED, SignKind.SWAPPED),
        (_INPLACE, SignKind.INPLACE),
        (_UNARY, SignKind.UNARY),
    ):
        for name, base in table.items():
            if base in by_base:
                own = straight if table is _BINARY else {}
                signs.append(_plan_sign(name, by_base[base], SignKind.INVERTED if name == "invert" else kind, own))
    return tuple(signs)


def _plan_sign(name: str, packet: PacketPlan, kind: SignKind, straight: Mapping[str, StraightPlan | None]) -> SignPlan:
    dunder = f"__{name}__"
    if kind is SignKind.SWAPPED:
        return SignPlan(dunder, packet, kind)
    if kind in (SignKind.UNARY, SignKind.INVERTED):
        return SignPlan(dunder, packet, kind, unary=packet.unary)
    own = straight.get(packet.tensor or "")
    if own is not None and own.those(Asked.TENSOR) != ("self", "other"):
        own = None
    return SignPlan(
        dunder,
        packet,
        kind,
        tensor=packet.tensor,
        number=packet.number,
        straight=None if own is None else own.of_first(2),
    )
