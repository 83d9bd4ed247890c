"""Operators in Python: one callable per overload, the packets over them, Tensor methods and signs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codegen.formula.typed import Variable, VariableKind, walk
from codegen.names import argument, python
from codegen.names import packet as packet_name
from codegen.plan.forward import ForwardPlan
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.plan.packet import PacketPlan
from codegen.plan.plan import Plan
from codegen.plan.steps import Asked
from codegen.schema.types import OperatorName
from codegen.targets.python.lines import Lines
from codegen.targets.python.straight import write_straight, write_traced
from codegen.targets.python.text import (
    PythonPrinter,
    forwarded,
    module_alias,
    plain,
    signature,
)

# Python's signs and the packets behind them.
BINARY_SIGNS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
REFLECTED_SIGNS = {
    "radd": ("add", False), "rmul": ("mul", False), "rsub": ("rsub", False), "rtruediv": ("div", True),
    "rpow": ("pow", True), "rfloordiv": ("floor_divide", True), "rmod": ("remainder", True),
    "rmatmul": ("matmul", True), "rand": ("bitwise_and", False), "ror": ("bitwise_or", False),
    "rxor": ("bitwise_xor", False), "rlshift": ("bitwise_left_shift", True), "rrshift": ("bitwise_right_shift", True),
}  # fmt: skip
INPLACE_SIGNS = {
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "ifloordiv": "floor_divide_",
    "imod": "remainder_", "ipow": "pow_", "iand": "bitwise_and_", "ior": "bitwise_or_", "ixor": "bitwise_xor_",
    "ilshift": "bitwise_left_shift_", "irshift": "bitwise_right_shift_",
}  # fmt: skip
UNARY_SIGNS = {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A function: its name, its parameter list, and the lines of its body."""

    name: str
    signature: str
    body: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperatorView:
    """What the template of an operator prints.  `functions` are the callable, with the schema in its docstring."""

    name: str
    schema: str
    function: str
    functions: tuple[FunctionView, ...]
    options: tuple[str, ...]
    jvp: tuple[str, tuple[str, ...]] | None  # parameters, lines
    variants: tuple[FunctionView, ...]
    signs: tuple[tuple[str, tuple[str, ...]], ...]  # function, lines: Python signs with this overload's straight way


@dataclass(frozen=True, slots=True)
class Candidate:
    """An overload that a packet can pick: the function to call, and the operator whose schema binds the arguments."""

    function: str
    operator: str
    parameters: tuple[ParameterPlan, ...]


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
    """A Python sign (`__add__`): the packet, and the overloads for a Tensor and for a number on the right."""

    dunder: str
    packet: str
    tensor: str | None
    number: str | None
    kind: str  # binary, swapped, unary, inverted, inplace
    function: str | None = None  # one in `operators` that has the straight way of the Tensor overload in it


def operator_view(operator: OperatorPlan, printer: PythonPrinter, signs: Sequence[SignView] = ()) -> OperatorView:
    """The callable of an operator, and what stands beside it."""
    return OperatorView(
        str(operator.name),
        str(operator.schema),
        operator.function,
        _functions(
            operator.function, operator.parameters, "out=None" if operator.out is not None else None, _body(operator)
        ),
        tuple(_options(operator)),
        _jvp(operator, printer),
        tuple(_variants(operator)),
        tuple((sign.function, _sign_lines(operator, sign)) for sign in signs if sign.function is not None),
    )


def _body(operator: OperatorPlan) -> list[str]:
    out = Lines()
    if operator.out is not None:
        with out.when(["out is not None"]):
            out.add(f"return {operator.function}_op.out(out, {plain(operator.parameters)})")
    general = f"return {operator.function}_op({forwarded(operator.parameters, exact=True)})"
    if operator.traced is not None:
        write_traced(operator, operator.traced, general, out)
        return out.lines
    if operator.straight is not None:
        write_straight(operator, operator.straight, general, out)
    out.add(general)
    return out.lines


def _functions(
    name: str, parameters: tuple[ParameterPlan, ...], out: str | None, body: Sequence[str]
) -> tuple[FunctionView, ...]:
    """The function `name`, whose parameters have the schema's names.

    Where its body has other names for some of them, these are the parameters of a second function, which it calls.
    """
    inner = signature(parameters, out)
    public = signature(parameters, out, spelled=python)
    if inner == public:
        return (FunctionView(name, inner, tuple(body)),)
    passed = [f"{argument(p.name)}={python(p.name)}" if p.keyword_only else python(p.name) for p in parameters]
    call = f"return {name}_straight({', '.join([*passed, *(['out=out'] if out is not None else [])])})"
    return (
        FunctionView(name, public, (call,)),
        FunctionView(f"{name}_straight", signature(parameters, out), tuple(body)),
    )


def _options(operator: OperatorPlan) -> list[str]:
    """Keyword arguments of the Operator object: what its general path has to know."""
    kernels = ", ".join(
        f"{key!r}: {module_alias(function.module)}.{function.name}" for key, function in operator.implementations
    )
    options = [f"kernels={{{kernels}}}"]
    names = [parameter.name for parameter in operator.parameters]
    if operator.promotion is not None:
        named = operator.promotion.arguments
        options.append(f"promotion={(operator.promotion.kind, named)!r}")
    limit = operator.source.dtypes
    if limit is not None:
        options.append(f"dtypes={(limit.kinds, limit.arguments, limit.error)!r}")
    if operator.node is not None:
        options.append(f"record={operator.function!r}")
        options.append(f"differentiable={tuple(edge.name for edge in operator.node.edges)!r}")
    elif operator.never_differentiable:
        options.append("never_differentiable=True")
    if operator.inplace_node is not None and operator.inplace is not None:
        options.append(f"record_inplace={operator.inplace_function!r}")
    if operator.forward is not None:
        options.append(f"jvp=jvp_{operator.function}")
    if operator.unimplemented:
        options.append(f"unimplemented={dict(operator.unimplemented)!r}")
    if operator.factors:
        options.append(f"factors={operator.factors!r}")
    if operator.view is not None:
        options.append(f"view={operator.view!r}")
    if operator.saves_self:
        options.append("saves_self=True")
    numbers = _numbers(operator)
    if numbers:
        options.append(f"numbers={numbers!r}")
    if operator.in_float32:
        options.append("in_float32=True")
    if operator.batching is not None:
        batching = operator.batching
        options.append(f"batching={(batching.rule, batching.tensors, batching.dims)!r}")
    if operator.exclusive:
        options.append("exclusive=True")
    if operator.out is not None:
        options.append(f"out_dtype={operator.out_dtype!r}")
    if operator.layout is not None:
        layout = operator.layout
        positions = tuple(names.index(name) for name in layout.arguments)
        options.append(f"layout={(layout.kind, positions, layout.results)!r}")
    return options


def _numbers(operator: OperatorPlan) -> tuple[tuple[str, bool], ...]:
    """The numbers that become elements of integer dtypes before the kernel sees them, and whether they wrap around."""
    return tuple((name, kind == "wrap") for name, kind in operator.numbers if kind != "as_is")


# -- forward mode


def _jvp(operator: OperatorPlan, printer: PythonPrinter) -> tuple[str, tuple[str, ...]] | None:
    forward = operator.forward
    if forward is None:
        return None
    names = [argument(parameter.name) for parameter in operator.parameters]
    tangents = [f"{argument(tangent.name)}_t" for tangent in forward.tangents]
    lines = _result_lines(operator, forward)
    count = len(operator.schema.returns)
    parts = ["None"] * count
    for outputs, tree in forward.formulas:
        if len(outputs) > 1:
            lines.append(f"{', '.join(f'tangent_{index}' for index in outputs)} = {printer.print(tree)}")
            for index in outputs:
                parts[index] = f"tangent_{index}"
        else:
            parts[outputs[0]] = printer.print(tree)
    lines.append(f"return {parts[0] if count == 1 else '(' + ', '.join(parts) + ',)'}")
    return f"out, {', '.join(names)}, {', '.join(tangents)}", tuple(lines)


def _result_lines(operator: OperatorPlan, forward: ForwardPlan) -> list[str]:
    """Names of results that the formulas use."""
    used = {}
    for _, tree in forward.formulas:
        for part in walk(tree):
            if isinstance(part, Variable) and part.kind is VariableKind.OUTPUT:
                used[part.name] = part.index
    single = len(operator.schema.returns) == 1
    return [f"{argument(name)} = {'out' if single else f'out[{index}]'}" for name, index in used.items()]


# -- variants


def _variants(operator: OperatorPlan) -> list[FunctionView]:
    found: list[FunctionView] = []
    if operator.inplace_function is not None:
        body = f"return {operator.function}_op.inplace({plain(operator.parameters)})"
        found += _functions(operator.inplace_function, operator.parameters, None, [body])
    if operator.out_function is not None:
        body = f"return {operator.function}_op.out(out, {plain(operator.parameters)})"
        found += _functions(operator.out_function, operator.parameters, "out", [body])
    return found


# -- packets


def packet_views(plan: Plan) -> list[PacketView]:
    """A packet for each base name: that of functional overloads, and of the in-place variants that follow from them."""
    candidates: dict[str, list[Candidate]] = {}
    overloads: dict[str, dict[str, str]] = {}
    inplace: list[tuple[OperatorName, Candidate]] = []
    for packet in plan.packets:
        candidates[packet.base] = [Candidate(o.function, o.function, o.parameters) for o in packet.overloads]
        attributes = overloads.setdefault(packet.base, {})
        for operator in packet.overloads:
            attributes[operator.name.overload or "default"] = operator.function
            if operator.out is not None and operator.out_function is not None:
                attributes[operator.out.overload or "default"] = operator.out_function
            if operator.inplace is not None and operator.inplace_function is not None:
                function = operator.inplace_function
                inplace.append((operator.inplace, Candidate(function, operator.function, operator.parameters)))
    for name, candidate in inplace:
        candidates.setdefault(name.base, []).append(candidate)
        overloads.setdefault(name.base, {})[name.overload or "default"] = candidate.function
    packets = {packet.base: packet for packet in plan.packets}
    return [_packet_view(base, found, overloads[base], packets.get(base)) for base, found in candidates.items()]


# Parameters that have a second name, NumPy's or PyTorch's (`runtime.call.binding` knows which): `self` is also `input`.
_ALIASED_IN_FUNCTIONS = frozenset(("self", "input", "dim", "keepdim", "other"))
_ALIASED_IN_METHODS = _ALIASED_IN_FUNCTIONS - {"self", "input"}


def _packet_view(
    base: str, candidates: list[Candidate], overloads: Mapping[str, str], packet: PacketPlan | None
) -> PacketView:
    function, parameters = candidates[0].function, candidates[0].parameters
    spread = spread_position(parameters)
    names = {parameter.name for parameter in parameters}
    # Where factors are keyword-only, PyTorch's old orders have them by position (`runtime.call.old_orders`).
    factors = any(parameter.keyword_only and str(parameter.type) == "Scalar" for parameter in parameters)
    alone = len(candidates) == 1 and spread is None and not factors
    respelled = any(python(name) != name for name in names)  # keywords of Python are no parameters
    given = "*args, **kwargs"
    if factors and len(candidates) == 1:
        lines = _lines_with_factors(base, candidates[0])
    elif not alone:
        lines = _choice_lines(base, candidates, spread)
        if spread:
            given = f"{argument(parameters[0].name)}=None, *args, **kwargs"
    elif names & _ALIASED_IN_FUNCTIONS or respelled:
        absent = frozenset(p.name for p in parameters if p.name in _ALIASED_IN_FUNCTIONS and p.default != "None")
        given = f"{signature(parameters, required=False, absent=absent)}, **kwargs"
        known = ", ".join(f"{p.name!r}: {argument(p.name)}" for p in parameters)
        lines = [
            "if kwargs:",
            f"    return choose({base!r}, {base}_overloads, (), given({base!r}, {{{known}}}, kwargs))",
            f"return operators.{function}({forwarded(parameters, absent)})",
        ]
    else:
        lines = []
    name = packet_name(base)
    factory = packet is not None and any(operator.schema.is_factory for operator in packet.overloads)
    return PacketView(
        base,
        name,
        given,
        tuple(lines),
        f"operators.{function}" if alone and not respelled and not names & _ALIASED_IN_METHODS else f"packets.{name}",
        tuple(candidates),
        tuple(overloads.items()),
        factory and "requires_grad" not in {p.name for candidate in candidates for p in candidate.parameters},
        packet is None or packet.is_function,
        None if packet is None else packet.python_module,
    )


def _lines_with_factors(base: str, candidate: Candidate) -> list[str]:
    positional = sum(not parameter.keyword_only for parameter in candidate.parameters)
    keywords = [repr(p.name) for p in candidate.parameters if p.keyword_only and python(p.name) == p.name]
    names = f"{{{', '.join(keywords)}}}"
    return [
        f"if len(args) == {positional} and (not kwargs or kwargs.keys() <= {names}):",
        f"    return operators.{candidate.function}(*args, **kwargs)",
        f"return choose({base!r}, {base}_overloads, args, kwargs)",
    ]


def _choice_lines(base: str, candidates: list[Candidate], spread: int | None) -> list[str]:
    """The body of a packet: common calls are told apart by types, the rest by trying."""
    lines: list[str] = []
    overloads = [(candidate.function, candidate.parameters) for candidate in candidates]
    tensor, number = binary_overloads(overloads)
    only_self = unary_overload(overloads)
    if spread is not None:
        function, first = candidates[0].function, argument(candidates[0].parameters[0].name)
        head = f"{first}, " if spread else ""
        lines = [
            "if args and not kwargs:",
            "    kind = type(args[0])",
            "    if kind is int and type(args[-1]) is int:",
            f"        return operators.{function}({head}args)",
            "    if (kind is tuple or kind is list) and len(args) == 1:",
            f"        return operators.{function}({head}args[0])",
        ]
        if spread:
            lines += [f"if {first} is not None:", f"    args = ({first}, *args)"]
        return [*lines, f"return choose({base!r}, {base}_overloads, args, kwargs)"]
    if len(candidates) > 1 and (tensor or number):
        lines += ["if len(args) == 2 and not kwargs and type(args[0]) in plain:", "    kind = type(args[1])"]
        if tensor:
            lines += ["    if kind in plain:", f"        return operators.{tensor}(*args)"]
        if number:
            lines += ["    if kind in numbers:", f"        return operators.{number}(*args)"]
    elif only_self is not None:
        alone = all(str(parameters[0].type) == "Tensor" for _, parameters in overloads if parameters)
        test = "" if alone else " and type(args[0]) in plain"
        lines += [f"if len(args) == 1 and not kwargs{test}:", f"    return operators.{only_self}(args[0])"]
    return [*lines, f"return choose({base!r}, {base}_overloads, args, kwargs)"]


def unary_overload(candidates: list[tuple[str, tuple[ParameterPlan, ...]]]) -> str | None:
    """The overload for a Tensor alone."""
    return next((f for f, ps in candidates if ps and not _required(ps[1:]) and str(ps[0].type) == "Tensor"), None)


def _required(parameters: tuple[ParameterPlan, ...]) -> int:
    return sum(parameter.default is None for parameter in parameters)


def spread_position(parameters: tuple[ParameterPlan, ...]) -> int | None:
    """Where ints may stand without brackets, `x.permute(0, 1)`: the only positional parameter besides `self`."""
    positional = [p for p in parameters if not p.keyword_only]
    start = 1 if positional and str(positional[0].type) == "Tensor" else 0
    if len(positional) == start + 1 and str(positional[start].type).rstrip("?") == "int[]":
        return start
    return None


def binary_overloads(candidates: list[tuple[str, tuple[ParameterPlan, ...]]]) -> tuple[str | None, str | None]:
    """The overloads for `x op tensor` and `x op number`."""
    tensor = number = None
    for function, parameters in candidates:
        if len(parameters) < 2 or _required(parameters[2:]) or parameters[1].keyword_only:
            continue
        if str(parameters[0].type) != "Tensor":
            continue
        if str(parameters[1].type) == "Tensor" and tensor is None:
            tensor = function
        elif str(parameters[1].type) == "Scalar" and number is None:
            number = function
    return tensor, number


def _sign_lines(operator: OperatorPlan, sign: SignView) -> tuple[str, ...]:
    assert operator.straight is not None
    out = Lines()
    general = f"return {operator.function}_op(self, other)"
    write_straight(operator, operator.straight.of_first(2), general, out)
    out.add("kind = type(other)")
    with out.when(["kind in plain"]):
        out.add(general)
    if sign.number is not None:
        with out.when(["kind in numbers"]):
            out.add(f"return {sign.number}(self, other)")
    out.add(f"return foreign_operand({sign.packet!r}, self, other)")
    return tuple(out.lines)


def sign_views(plan: Plan) -> list[SignView]:
    """Python signs, as far as their packets exist."""
    packets = {packet.base: packet for packet in plan.packets}
    operators = {operator.function: operator for operator in plan.operators}
    inplace = {
        operator.inplace.base: operator for packet in plan.packets for operator in packet.overloads if operator.inplace
    }
    signs = []
    for sign, base in BINARY_SIGNS.items():
        if base in packets:
            signs.append(_binary_sign(sign, packets[base], "binary", operators))
    for sign, (base, swapped) in REFLECTED_SIGNS.items():
        if base in packets:
            signs.append(_binary_sign(sign, packets[base], "swapped" if swapped else "binary", {}))
    signs += [SignView(f"__{s}__", b, None, None, "inplace") for s, b in INPLACE_SIGNS.items() if b in inplace]
    for s, base in UNARY_SIGNS.items():
        if base in packets:
            signs.append(SignView(f"__{s}__", base, None, None, "inverted" if s == "invert" else "unary"))
    return signs


def _binary_sign(sign: str, packet: PacketPlan, kind: str, operators: Mapping[str, OperatorPlan]) -> SignView:
    tensor, number = binary_overloads([(o.function, o.parameters) for o in packet.overloads])
    if kind == "swapped":
        return SignView(f"__{sign}__", packet.base, None, None, kind)
    operator = operators.get(tensor or "")
    straight = operator.straight if operator is not None else None
    inlined = straight is not None and straight.those(Asked.TENSOR) == ("self", "other")
    return SignView(f"__{sign}__", packet.base, tensor, number, kind, f"{sign}_sign" if inlined else None)
