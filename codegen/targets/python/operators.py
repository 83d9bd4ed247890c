"""Operators in Python: one callable per overload, and the Operator object beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegen.formula.typed import OperatorCall, Variable, VariableKind, walk
from codegen.plan.forward import ForwardPlan
from codegen.plan.names import module_alias
from codegen.plan.operator import CompositePlan, OperatorPlan, ParameterPlan
from codegen.plan.signs import SignPlan
from codegen.python_source import PythonFunction
from codegen.schema.facts import facts_of
from codegen.schema.names import python
from codegen.targets.environment import docstring
from codegen.targets.literals import literal, tuple_of
from codegen.targets.python.code import STEP, Lines, call, comprehension, dictionary, function_head
from codegen.targets.python.fast_path import write_fast_path, write_traced
from codegen.targets.python.names import argument
from codegen.targets.python.packets import write_sign
from codegen.targets.python.text import PythonPrinter, forwarded, in_schema_order, signature
from codegen.words import BUILT_IN_NAMESPACE, NumberKind


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A function: its head, and its body, which is indented; `docstring` is the schema, where it has one."""

    head: str
    body: str
    docstring: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorView:
    """What the template of an operator prints.  `functions` are the callable."""

    function: str
    functions: tuple[FunctionView, ...]
    object: str  # the Operator
    kernel: str | None  # what gives it a name
    jvp: FunctionView | None
    composite: FunctionView | None  # the formula that it is
    inplace: FunctionView | None  # what the in-place variant of another name for an operator calls
    variants: tuple[FunctionView, ...]
    signs: tuple[FunctionView, ...]  # Python signs with this overload's fast path


def operator_view(
    operator: OperatorPlan, printer: PythonPrinter, namespace: str, signs: Sequence[SignPlan] = ()
) -> OperatorView:
    """The callable of an operator, and what stands beside it."""
    out, schema = "out=None" if operator.python.out is not None else None, str(operator.schema)
    kernel = None
    if operator.compute.fast_path is not None:
        function = operator.compute.implementation
        kernel = f"{operator.python.function}_kernel = {_deferred(function)}"
    return OperatorView(
        operator.python.function,
        _functions(operator.python.function, operator.python.parameters, out, _body(operator), docstring(schema)),
        _object(operator, literal(schema), namespace),
        kernel,
        _jvp(operator, printer),
        _composite(operator, printer),
        _inplace_of_other_name(operator, printer),
        tuple(_variants(operator)),
        tuple(_sign(operator, sign) for sign in signs if sign.function is not None),
    )


def _function(name: str, parameters: Sequence[str], body: Lines, docstring: str | None = None) -> FunctionView:
    return FunctionView(function_head(name, parameters), body.text, docstring)


def _sign(operator: OperatorPlan, sign: SignPlan) -> FunctionView:
    assert sign.function is not None
    out = Lines()
    write_sign(operator, sign, out)
    return _function(sign.function, ["self", "other"], out)


def _body(operator: OperatorPlan) -> Lines:
    out = Lines()
    if operator.python.out is not None:
        with out.when(["out is not None"]):
            out.add(_call_of_out(operator))
    general = f"return {call(f'{operator.python.function}_op', forwarded(operator.python.parameters, exact=True))}"
    if operator.compute.traced is not None:
        write_traced(operator, operator.compute.traced, general, out)
        return out
    if operator.compute.fast_path is not None:
        write_fast_path(operator, operator.compute.fast_path, general, out)
    out.add(general)
    return out


def _call_of_out(operator: OperatorPlan) -> str:
    return f"return {call(f'{operator.python.function}_op.out', ['out', *in_schema_order(operator.python.parameters)])}"


def _functions(
    name: str, parameters: tuple[ParameterPlan, ...], out: str | None, body: Lines, docstring: str | None = None
) -> tuple[FunctionView, ...]:
    """The function `name`, whose parameters have the schema's names.

    Where its body has other names for some of them, these are the parameters of a second function, which it calls.
    """
    inner = signature(parameters, out, checked=True)
    public = signature(parameters, out, spelled=python, checked=True)
    if inner == public:
        return (_function(name, inner, body, docstring),)
    passed = [f"{argument(p.name)}={python(p.name)}" if p.keyword_only else python(p.name) for p in parameters]
    passing = Lines()
    if out is not None:
        passed.append("out=out")
    passing.add(f"return {call(f'{name}_fast_path', passed)}")
    return (_function(name, public, passing, docstring), _function(f"{name}_fast_path", inner, body))


def _object(operator: OperatorPlan, schema: str, namespace: str) -> str:
    """The Operator, an argument on each line."""
    arguments = [schema, operator.python.function, *_options(operator, namespace)]
    lines = [f"{STEP}{text}," for text in arguments]
    return "\n".join([f"{operator.python.function}_op = Operator(", *lines, ")"])


def _deferred(function: PythonFunction) -> str:
    """A kernel, whose module may wait for the first call."""
    return call("deferred", [module_alias(function.module), literal(function.name)])


def _options(operator: OperatorPlan, namespace: str) -> list[str]:
    """Keyword arguments of the Operator object: what its general path has to know."""
    kernels = [(literal(key), _deferred(function)) for key, function in operator.compute.implementations]
    if operator.compute.composite is not None:
        kernels = [(literal(operator.compute.composite.key), f"composite_{operator.python.function}")]
    facts = [_option(name, value) for name, value in facts_of(operator.schema).items()]
    options: list[str] = [f"kernels={dictionary(kernels)}", f"facts={call('SignatureFacts', facts)}"]
    if _is_other_name(operator):
        options.append(f"inplace_formula=inplace_{operator.python.function}")
    if namespace != BUILT_IN_NAMESPACE:
        options.append(f"namespace={literal(namespace)}")
    names = [parameter.name for parameter in operator.python.parameters]
    if operator.compute.promotion is not None:
        named = operator.compute.promotion.arguments
        options.append(_option("promotion", (operator.compute.promotion.kind.value, named)))
    limit = operator.source.dtypes
    if limit is not None:
        options.append(_option("dtypes", (limit.kinds, limit.arguments, limit.error)))
    if operator.autograd.node is not None:
        options.append(_option("record", operator.python.function))
        options.append(_option("differentiable", tuple(edge.name for edge in operator.autograd.node.edges)))
    elif operator.autograd.never_differentiable:
        options.append("never_differentiable=True")
    if operator.autograd.inplace_node is not None and operator.python.inplace is not None:
        options.append(_option("record_inplace", operator.python.inplace_function))
    if operator.autograd.forward is not None:
        options.append(f"jvp=jvp_{operator.python.function}")
    if operator.autograd.unimplemented:
        options.append(_option("unimplemented", dict(operator.autograd.unimplemented)))
    if operator.autograd.factors:
        options.append(_option("factors", operator.autograd.factors))
    if operator.view is not None:
        options.append(_option("view", operator.view.value))
    if operator.autograd.saves_self:
        options.append("saves_self=True")
    numbers = _numbers(operator)
    if numbers:
        options.append(_option("numbers", numbers))
    if operator.compute.in_float32:
        options.append("in_float32=True")
    if operator.compute.batching is not None:
        batching = operator.compute.batching
        options.append(_option("batching", (batching.rule, batching.tensors, batching.dims)))
    if operator.compute.exclusive:
        options.append("exclusive=True")
    if operator.compute.one_value:
        options.append("one_value=True")
    if operator.python.old_orders:
        options.append(_option("old_orders", operator.python.old_orders))
    if operator.python.numbers_as_tensors:
        options.append("numbers_as_tensors=True")
    if operator.python.of_tensors is not None:
        options.append(_option("of_tensors", str(operator.python.of_tensors)))
    if operator.python.out is not None:
        options.append(_option("out_dtype", operator.compute.out_dtype.value))
    if operator.compute.layout is not None:
        layout = operator.compute.layout
        positions = tuple(names.index(name) for name in layout.arguments)
        options.append(_option("layout", (layout.kind.value, positions, layout.results)))
    return options


def _option(name: str, value: object) -> str:
    return f"{name}={literal(value)}"


def _numbers(operator: OperatorPlan) -> tuple[tuple[str, bool], ...]:
    """The numbers that become elements of integer dtypes before the kernel sees them, and whether they wrap around."""
    return tuple((name, kind.value) for name, kind in operator.compute.numbers if kind is not NumberKind.AS_IS)


# -- formulas over other operators


def _composite(operator: OperatorPlan, printer: PythonPrinter) -> FunctionView | None:
    """The function on Tensors that a formula is."""
    composite = operator.compute.composite
    if composite is None:
        return None
    out = Lines()
    out.comment(composite.source)
    if composite.lists:
        _each(composite, printer, out)
        return _function(f"composite_{operator.python.function}", signature(operator.python.parameters, None), out)
    value = printer.bare(composite.tree)
    if len(operator.schema.returns) > 1:
        value = call(f"{operator.python.function}_op.results", (value,))
    out.add(f"return {value}")
    return _function(f"composite_{operator.python.function}", signature(operator.python.parameters, None), out)


def _is_other_name(operator: OperatorPlan) -> bool:
    composite = operator.compute.composite
    return composite is not None and not composite.lists and composite.inplace is not None


def _inplace_of_other_name(operator: OperatorPlan, printer: PythonPrinter) -> FunctionView | None:
    """The call of the other operator's in-place variant."""
    composite = operator.compute.composite
    if composite is None or not _is_other_name(operator):
        return None
    assert composite.inplace is not None
    assert isinstance(composite.tree, OperatorCall), "a call has an in-place variant"
    out = Lines()
    out.add(f"return {call(printer.function(composite.inplace), printer.arguments(composite.tree))}")
    return _function(f"inplace_{operator.python.function}", signature(operator.python.parameters, None), out)


def _each(composite: CompositePlan, printer: PythonPrinter, out: Lines) -> None:
    """What is done for the elements of lists, whose names stand for an element inside of the loop."""
    names = [argument(name) for name in composite.lists]
    source, variables = call("together", names), ", ".join(names)
    if len(names) == 1:
        variables += ","
    if composite.inplace is None:
        out.add(f"return tuple({comprehension(printer.bare(composite.tree), variables, source)})")
        return
    assert isinstance(composite.tree, OperatorCall), "a call has an in-place variant"
    with out.block(f"for {variables} in {source}:"):
        out.add(call(printer.function(composite.inplace), printer.arguments(composite.tree)))


# -- forward mode


def _jvp(operator: OperatorPlan, printer: PythonPrinter) -> FunctionView | None:
    forward = operator.autograd.forward
    if forward is None:
        return None
    names = [argument(parameter.name) for parameter in operator.python.parameters]
    tangents = [f"{argument(tangent.name)}_t" for tangent in forward.tangents]
    out = Lines()
    _write_results(operator, forward, out)
    count = len(operator.schema.returns)
    parts = ["None"] * count
    for formula in forward.formulas:
        out.comment(formula.source)
        if count == 1:
            parts[0] = printer.formula(formula.tree, out)
        else:
            value = printer.formula(formula.tree, out)
            out.assign([f"tangent_{index}" for index in formula.outputs], value)
            for index in formula.outputs:
                parts[index] = f"tangent_{index}"
    out.add(f"return {parts[0] if count == 1 else tuple_of(parts)}")
    return _function(f"jvp_{operator.python.function}", ["out", *names, *tangents], out)


def _write_results(operator: OperatorPlan, forward: ForwardPlan, out: Lines) -> None:
    """Names of results that the formulas use."""
    used = {}
    for formula in forward.formulas:
        for part in walk(formula.tree):
            if isinstance(part, Variable) and part.kind is VariableKind.OUTPUT:
                used[part.name] = part.index
    single = len(operator.schema.returns) == 1
    for name, index in used.items():
        out.add(f"{argument(name)} = {'out' if single else f'out[{index}]'}")


# -- variants


def _variants(operator: OperatorPlan) -> list[FunctionView]:
    functions: list[FunctionView] = []
    if operator.python.inplace_function is not None:
        body = Lines()
        body.add(
            f"return {call(f'{operator.python.function}_op.inplace', in_schema_order(operator.python.parameters))}"
        )
        functions += _functions(operator.python.inplace_function, operator.python.parameters, None, body)
    if operator.python.out_function is not None:
        body = Lines()
        body.add(_call_of_out(operator))
        functions += _functions(operator.python.out_function, operator.python.parameters, "out", body)
    return functions
