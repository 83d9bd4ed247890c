"""Operators in Python: one callable per overload, and the Operator object beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegen.formula.typed import Variable, VariableKind, walk
from codegen.plan.forward import ForwardPlan
from codegen.plan.names import module_alias
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.plan.signs import SignPlan
from codegen.schema.names import python
from codegen.targets.literals import literal, tuple_of
from codegen.targets.python.lines import Lines
from codegen.targets.python.names import argument
from codegen.targets.python.packets import sign_lines
from codegen.targets.python.straight import write_straight, write_traced
from codegen.targets.python.text import PythonPrinter, forwarded, plain, signature


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
    signs: tuple[tuple[str, tuple[str, ...]], ...]  # function, lines: Python signs with this overload's fast path


def operator_view(operator: OperatorPlan, printer: PythonPrinter, signs: Sequence[SignPlan] = ()) -> OperatorView:
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
        tuple((sign.function, tuple(sign_lines(operator, sign))) for sign in signs if sign.function is not None),
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
        f"{literal(key)}: {module_alias(function.module)}.{function.name}" for key, function in operator.implementations
    )
    options = [f"kernels={{{kernels}}}"]
    names = [parameter.name for parameter in operator.parameters]
    if operator.promotion is not None:
        named = operator.promotion.arguments
        options.append(f"promotion={literal((operator.promotion.kind, named))}")
    limit = operator.source.dtypes
    if limit is not None:
        options.append(f"dtypes={literal((limit.kinds, limit.arguments, limit.error))}")
    if operator.node is not None:
        options.append(f"record={literal(operator.function)}")
        options.append(f"differentiable={literal(tuple(edge.name for edge in operator.node.edges))}")
    elif operator.never_differentiable:
        options.append("never_differentiable=True")
    if operator.inplace_node is not None and operator.inplace is not None:
        options.append(f"record_inplace={literal(operator.inplace_function)}")
    if operator.forward is not None:
        options.append(f"jvp=jvp_{operator.function}")
    if operator.unimplemented:
        options.append(f"unimplemented={literal(dict(operator.unimplemented))}")
    if operator.factors:
        options.append(f"factors={literal(operator.factors)}")
    if operator.view is not None:
        options.append(f"view={literal(operator.view.value)}")
    if operator.saves_self:
        options.append("saves_self=True")
    numbers = _numbers(operator)
    if numbers:
        options.append(f"numbers={literal(numbers)}")
    if operator.in_float32:
        options.append("in_float32=True")
    if operator.batching is not None:
        batching = operator.batching
        options.append(f"batching={literal((batching.rule, batching.tensors, batching.dims))}")
    if operator.exclusive:
        options.append("exclusive=True")
    if operator.one_value:
        options.append("one_value=True")
    if operator.old_orders:
        options.append(f"old_orders={literal(operator.old_orders)}")
    if operator.numbers_as_tensors:
        options.append("numbers_as_tensors=True")
    if operator.out is not None:
        options.append(f"out_dtype={literal(operator.out_dtype)}")
    if operator.layout is not None:
        layout = operator.layout
        positions = tuple(names.index(name) for name in layout.arguments)
        options.append(f"layout={literal((layout.kind, positions, layout.results))}")
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
    for formula in forward.formulas:
        lines.append(f"# {formula.source}")
        if count == 1:
            parts[0] = printer.bare(formula.tree)
        else:
            names_of_tangents = [f"tangent_{index}" for index in formula.outputs]
            lines.append(f"{', '.join(names_of_tangents)} = {printer.bare(formula.tree)}")
            for index in formula.outputs:
                parts[index] = f"tangent_{index}"
    lines.append(f"return {parts[0] if count == 1 else tuple_of(parts)}")
    return f"out, {', '.join(names)}, {', '.join(tangents)}", tuple(lines)


def _result_lines(operator: OperatorPlan, forward: ForwardPlan) -> list[str]:
    """Names of results that the formulas use."""
    used = {}
    for formula in forward.formulas:
        for part in walk(formula.tree):
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
