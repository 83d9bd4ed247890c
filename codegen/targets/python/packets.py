"""Packets and Python's signs in Python: a callable for each base name, and for each sign that is no packet itself."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.typed import TENSOR
from codegen.plan.names import packet as packet_name
from codegen.plan.operator import OperatorPlan
from codegen.plan.packet import ALIASED, Candidate, PacketForm, PacketPlan
from codegen.plan.signs import SignKind, SignPlan
from codegen.schema.names import python
from codegen.targets.literals import literal
from codegen.targets.python.lines import Lines
from codegen.targets.python.names import argument
from codegen.targets.python.straight import write_straight
from codegen.targets.python.text import forwarded, signature


@dataclass(frozen=True, slots=True)
class PacketView:
    """What the template of a packet prints.

    `lines` make the packet's callable; where they are empty the first overload serves itself.  `overloads` pairs
    attribute names with functions.  `method` is what the Tensor method of this name calls.
    """

    base: str
    identifier: str
    parameters: str
    lines: tuple[str, ...]
    method: str
    candidates: tuple[Candidate, ...]
    overloads: tuple[tuple[str, str], ...]
    factory: bool
    is_function: bool
    python_module: str | None


@dataclass(frozen=True, slots=True)
class SignView:
    """What the template of a sign prints: `lines` are the body; none where `function` in `operators` is the sign."""

    dunder: str
    parameters: str
    lines: tuple[str, ...]
    function: str | None


def packet_view(packet: PacketPlan) -> PacketView:
    """The callable of a packet, and what stands beside it."""
    out = Lines()
    parameters = _write(packet, out)
    name = packet_name(packet.base)
    return PacketView(
        packet.base,
        name,
        parameters,
        tuple(out.lines),
        f"operators.{packet.candidates[0].function}" if packet.is_direct_method else f"packets.{name}",
        packet.candidates,
        packet.overloads,
        packet.takes_requires_grad,
        packet.is_function,
        packet.python_module,
    )


def _write(packet: PacketPlan, out: Lines) -> str:
    """The body of a packet's callable; gives its parameters."""
    match packet.form:
        case PacketForm.ALONE:
            return ""
        case PacketForm.RESPELLED:
            return _write_respelled(packet, out)
        case PacketForm.OLD_ORDERS:
            _write_own_order(packet, out)
        case PacketForm.TYPES:
            _write_types(packet, out)
        case PacketForm.SPREAD:
            return _write_spread(packet, out)
    _write_choice(packet, out)
    return "*args, **kwargs"


def _write_choice(packet: PacketPlan, out: Lines) -> None:
    out.add(f"return choose({literal(packet.base)}, {packet.base}_overloads, args, kwargs)")


def _write_respelled(packet: PacketPlan, out: Lines) -> str:
    base, parameters = packet.base, packet.candidates[0].parameters
    absent = frozenset(p.name for p in parameters if p.name in ALIASED and p.default != "None")
    known = ", ".join(f"{literal(p.name)}: {argument(p.name)}" for p in parameters)
    with out.when(["kwargs"]):
        out.add(f"return choose({literal(base)}, {base}_overloads, (), given({literal(base)}, {{{known}}}, kwargs))")
    out.add(f"return operators.{packet.candidates[0].function}({forwarded(parameters, absent)})")
    return f"{signature(parameters, required=False, absent=absent)}, **kwargs"


def _write_own_order(packet: PacketPlan, out: Lines) -> None:
    """The order of the schema; the others are left to `choose`."""
    parameters = packet.candidates[0].parameters
    positional = sum(not parameter.keyword_only for parameter in parameters)
    keywords = [literal(p.name) for p in parameters if p.keyword_only and python(p.name) == p.name]
    with out.when([f"len(args) == {positional}", f"(not kwargs or kwargs.keys() <= {{{', '.join(keywords)}}})"]):
        out.add(f"return operators.{packet.candidates[0].function}(*args, **kwargs)")


def _write_spread(packet: PacketPlan, out: Lines) -> str:
    function, first = packet.candidates[0].function, argument(packet.candidates[0].parameters[0].name)
    head = f"{first}, " if packet.spread_at else ""
    with out.when(["args and not kwargs"]):
        out.add("kind = type(args[0])")
        with out.when(["kind is int and type(args[-1]) is int"]):
            out.add(f"return operators.{function}({head}args)")
        with out.when(["(kind is tuple or kind is list)", "len(args) == 1"]):
            out.add(f"return operators.{function}({head}args[0])")
    if packet.spread_at:
        with out.when([f"{first} is not None"]):
            out.add(f"args = ({first}, *args)")
    _write_choice(packet, out)
    return f"{first}=None, *args, **kwargs" if packet.spread_at else "*args, **kwargs"


def _write_types(packet: PacketPlan, out: Lines) -> None:
    """Common calls are told apart by types, the rest by trying."""
    if packet.tensor is not None or packet.number is not None:
        with out.when(["len(args) == 2", "not kwargs", "type(args[0]) in plain"]):
            out.add("kind = type(args[1])")
            _write_operands("kind", "*args", packet.tensor, packet.number, out)
    elif packet.unary is not None:
        alone = all(candidate.parameters[0].type == TENSOR for candidate in packet.candidates if candidate.parameters)
        with out.when(["len(args) == 1", "not kwargs", *([] if alone else ["type(args[0]) in plain"])]):
            out.add(f"return operators.{packet.unary}(args[0])")


def _write_operands(kind: str, values: str, tensor: str | None, number: str | None, out: Lines) -> None:
    """The calls for a second Tensor and for a number, whose type is `kind`."""
    for function, kinds in ((tensor, "plain"), (number, "numbers")):
        if function is not None:
            with out.when([f"{kind} in {kinds}"]):
                out.add(f"return operators.{function}({values})")


def sign_view(sign: SignPlan) -> SignView:
    """The function of a sign, where it does not take a fast path itself."""
    out = Lines()
    base = literal(sign.packet.base)
    match sign.kind:
        case SignKind.UNARY:
            out.add(f"return packets.{packet_name(sign.packet.base)}(self)")
        case SignKind.INVERTED:
            out.add(f"return inverted({base}, self)")
        case SignKind.SWAPPED:
            out.add(f"return swapped({', '.join([base, 'self', 'other', *_swapping(sign)])})")
        case SignKind.BINARY | SignKind.INPLACE:
            _write_operands("type(other)", "self, other", sign.tensor, sign.number, out)
            out.add(_foreign(sign))
    return SignView(sign.dunder, "self" if sign.has_one_operand else "self, other", tuple(out.lines), sign.function)


def sign_lines(operator: OperatorPlan, sign: SignPlan) -> list[str]:
    """The function of a sign that takes the fast path of an operator, for which it needs no call."""
    assert sign.straight is not None
    out = Lines()
    general = f"return {operator.function}_op(self, other)"
    write_straight(operator, sign.straight, general, out)
    out.add("kind = type(other)")
    with out.when(["kind in plain"]):
        out.add(general)
    if sign.number is not None:
        with out.when(["kind in numbers"]):
            out.add(f"return {sign.number}(self, other)")
    out.add(_foreign(sign))
    return out.lines


def _foreign(sign: SignPlan) -> str:
    """What takes an operand that is neither a plain Tensor nor a number."""
    function = "foreign_equality" if sign.is_equality else "foreign_operand"
    return f"return {function}({literal(sign.packet.base)}, self, other)"


def _swapping(sign: SignPlan) -> list[str]:
    inverse = [] if sign.inverse is None else [f"inverse={literal(sign.inverse.base)}"]
    return [*inverse, *([] if sign.takes_numbers else ["takes_numbers=False"])]
