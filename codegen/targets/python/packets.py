"""Packets and Python's signs in Python: a callable for each base name, and for each sign that is no packet itself."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.typed import TENSOR
from codegen.plan.names import packet as packet_name
from codegen.plan.operator import OperatorPlan
from codegen.plan.packet import ALIASED, PacketForm, PacketPlan
from codegen.plan.signs import SignKind, SignPlan
from codegen.schema.names import python
from codegen.targets.literals import literal, tuple_of
from codegen.targets.python.code import Lines, any_of, call, dictionary, function_head
from codegen.targets.python.fast_path import write_fast_path
from codegen.targets.python.names import argument
from codegen.targets.python.text import forwarded, signature


@dataclass(frozen=True, slots=True)
class PacketView:
    """What the template of a packet prints.

    `head` and `body` make the packet's callable; where there is none the first overload serves itself, which `callable`
    names in both cases.  `method` is what the Tensor method of this name calls.
    """

    base: str
    identifier: str
    head: str
    body: str
    callable: str
    method: str
    candidates: str  # the assignment of the overloads and their functions
    overloads: str  # the names of attributes, and functions
    factory: bool
    is_function: bool
    python_module: str | None
    only: str | None  # the overload, where there are no others


@dataclass(frozen=True, slots=True)
class SignView:
    """What the template of a sign prints: `body` is empty where `function` in `operators` is the sign."""

    dunder: str
    parameters: str
    body: str
    function: str | None


def packet_view(packet: PacketPlan) -> PacketView:
    """The callable of a packet, and what stands beside it."""
    out = Lines()
    parameters = _write(packet, out)
    name, first = packet_name(packet.base), f"operators.{packet.candidates[0].function}"
    candidates = [tuple_of((f"operators.{c.operator}_op", f"operators.{c.function}")) for c in packet.candidates]
    overloads = dictionary((literal(name), f"operators.{function}") for name, function in packet.overloads)
    return PacketView(
        packet.base,
        name,
        function_head(name, parameters),
        out.text,
        name if out.lines else first,
        first if packet.is_direct_method else f"packets.{name}",
        f"{packet.base}_overloads = {tuple_of(candidates)}",
        overloads,
        packet.takes_requires_grad,
        packet.is_function,
        packet.python_module,
        first if len(packet.candidates) == 1 else None,
    )


def _write(packet: PacketPlan, out: Lines) -> list[str]:
    """The body of a packet's callable; gives its parameters."""
    match packet.form:
        case PacketForm.ALONE:
            return []
        case PacketForm.RESPELLED:
            return _write_respelled(packet, out)
        case PacketForm.OLD_ORDERS:
            _write_own_order(packet, out)
        case PacketForm.TYPES:
            _write_types(packet, out)
        case PacketForm.SPREAD:
            return _write_spread(packet, out)
    _write_choice(packet, out)
    return ["*args", "**kwargs"]


def _write_choice(packet: PacketPlan, out: Lines) -> None:
    out.add(_chosen(packet, "args", "kwargs"))


def _chosen(packet: PacketPlan, *given: str) -> str:
    return f"return choose({literal(packet.qualified)}, {packet.base}_overloads, {', '.join(given)})"


def _write_respelled(packet: PacketPlan, out: Lines) -> list[str]:
    parameters = packet.candidates[0].parameters
    # Those that may come by keyword under another name than that of the parameter.
    renamed = (p for p in parameters if p.name in ALIASED or argument(p.name) != p.name)
    absent = frozenset(p.name for p in renamed if p.default != "None")
    known = dictionary((literal(p.name), argument(p.name)) for p in parameters)
    with out.when(["kwargs"]):
        out.add(_chosen(packet, "()", call("given", (literal(packet.qualified), known, "kwargs"))))
    out.add(f"return {call(f'operators.{packet.candidates[0].function}', forwarded(parameters, absent))}")
    return [*signature(parameters, required=False, absent=absent), "**kwargs"]


def _write_own_order(packet: PacketPlan, out: Lines) -> None:
    """The order of the schema; the others are left to `choose`."""
    parameters = packet.candidates[0].parameters
    positional = sum(not parameter.keyword_only for parameter in parameters)
    keywords = [literal(p.name) for p in parameters if p.keyword_only and python(p.name) == p.name]
    known = f"kwargs.keys() <= {{{', '.join(keywords)}}}"
    with out.when([f"len(args) == {positional}", any_of(["not kwargs", known])]):
        out.add(f"return operators.{packet.candidates[0].function}(*args, **kwargs)")


def _write_spread(packet: PacketPlan, out: Lines) -> list[str]:
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
    return [*([f"{first}=None"] if packet.spread_at else []), "*args", "**kwargs"]


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
            if sign.number_first is not None:
                with out.when(["type(other) in numbers"]):
                    out.add(f"return operators.{sign.number_first}(other, self)")
            out.add(f"return {call('swapped', [base, 'self', 'other', *_swapping(sign)])}")
        case SignKind.BINARY | SignKind.INPLACE:
            _write_operands("type(other)", "self, other", sign.tensor, sign.number, out)
            out.add(_foreign(sign))
    return SignView(sign.dunder, "self" if sign.has_one_operand else "self, other", out.text, sign.function)


def write_sign(operator: OperatorPlan, sign: SignPlan, out: Lines) -> None:
    """The function of a sign that takes the fast path of an operator, for which it needs no call."""
    assert sign.fast_path is not None
    general = f"return {operator.python.function}_op(self, other)"
    write_fast_path(operator, sign.fast_path, general, out)
    out.add("kind = type(other)")
    with out.when(["kind in plain"]):
        out.add(general)
    if sign.number is not None:
        with out.when(["kind in numbers"]):
            out.add(f"return {sign.number}(self, other)")
    out.add(_foreign(sign))


def _foreign(sign: SignPlan) -> str:
    """What takes an operand that is neither a plain Tensor nor a number."""
    function = "foreign_equality" if sign.is_equality else "foreign_operand"
    return f"return {function}({literal(sign.packet.base)}, self, other)"


def _swapping(sign: SignPlan) -> list[str]:
    inverse = [] if sign.inverse is None else [f"inverse={literal(sign.inverse.base)}"]
    return [*inverse, *([] if sign.takes_numbers else ["takes_numbers=False"])]
