"""Operators in Python: one callable per overload, the packets over them, Tensor methods and signs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codegen.formula.typed import Variable, VariableKind, walk
from codegen.names import argument, python
from codegen.names import packet as packet_name
from codegen.plan.forward import ForwardPlan
from codegen.plan.layout import LayoutPlan
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.plan.packet import PacketPlan
from codegen.plan.plan import Plan
from codegen.plan.straight import FactoryDtype, FastPath
from codegen.schema.types import OperatorName
from codegen.targets.python.nodes import differentiable, record_lines
from codegen.targets.python.text import (
    PythonPrinter,
    default_text,
    forwarded,
    module_alias,
    plain,
    signature,
    tuple_of,
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
    out = "out=None" if operator.out is not None else None
    body: list[str] = []
    if operator.out is not None:
        body += ["if out is not None:", f"    return {operator.function}_op.out(out, {plain(operator.parameters)})"]
    handle = f"{operator.function}_op({forwarded(operator.parameters, exact=True)})"
    if operator.kind == "implicit":
        call = f"{operator.function}_op.composite({forwarded(operator.parameters)})"
        if len(operator.schema.returns) > 1:
            call = f"{operator.function}_op.counted({call})"
        body += [
            *_int_lines(operator, f"return {handle}"),
            *_limit_lines(operator),
            "try:",
            f"    return {f'tuple({call})' if operator.returns_list else call}",
            "except Exception as error:",
            f"    raise {operator.function}_op.explained(error, ({forwarded_tuple(operator.parameters)}))",
        ]
    elif operator.fast is not None:
        body += [*_fast_lines(operator, operator.fast, f"return {handle}"), f"return {handle}"]
    else:
        body.append(f"return {handle}")
    return OperatorView(
        str(operator.name),
        str(operator.schema),
        operator.function,
        _functions(operator.function, operator.parameters, out, body),
        tuple(_options(operator)),
        _jvp(operator, printer),
        tuple(_variants(operator)),
        tuple((sign.function, _sign_lines(operator, sign)) for sign in signs if sign.function is not None),
    )


def _limit_lines(operator: OperatorPlan) -> list[str]:
    """What lets an operator that is traced through look at element types, unless all is as it mostly is."""
    dtypes = operator.source.dtypes
    if dtypes is None:
        return []
    check = f"{operator.function}_op.check_dtypes(({forwarded_tuple(operator.parameters)}))"
    limited = [p for p in operator.parameters if dtypes.arguments is None or p.name in dtypes.arguments]
    limited = [p for p in limited if str(p.type).startswith("Tensor")]
    if "float" not in dtypes.kinds or any(str(p.type) != "Tensor" for p in limited):
        return [check]
    usual = [f"{argument(p.name)} is None" for p in operator.parameters if str(p.type).startswith("ScalarType")]
    names = [argument(p.name) for p in limited]
    usual += [f"type({name}) in plain and {_is_float(f'{name}._array')}" for name in names]
    return [f"if not ({' and '.join(usual)}):", f"    {check}"]


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


def forwarded_tuple(parameters: tuple[ParameterPlan, ...]) -> str:
    return "".join(f"{argument(parameter.name)}, " for parameter in parameters).rstrip()


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


def _int_lines(operator: OperatorPlan, decline: str) -> list[str]:
    """Lists of ints as tuples, for a composite function, which gets its arguments as they are given otherwise.

    `decline` is the line that leaves what is no int to the general path.
    """
    lines: list[str] = []
    tests: list[str] = []
    for parameter in operator.parameters:
        name, type_ = argument(parameter.name), str(parameter.type)
        optional = f"{name} is not None and " if type_.endswith("?") else ""
        if type_.rstrip("?") == "int[]":
            lines += [f"if {optional}type({name}) is not tuple:", f"    {name} = int_tuple({name}, {parameter.size})"]
        if type_.rstrip("?") in ("int", "int[]"):
            kind = "int" if type_.rstrip("?") == "int" else "tuple"
            tests.append(f"{optional}type({name}) is not {kind}")
    if len(tests) > 1:
        tests = [f"({test})" if " and " in test else test for test in tests]
    return [*lines, f"if {' or '.join(tests)}:", f"    {decline}"] if tests else []


def _numbers(operator: OperatorPlan) -> tuple[tuple[str, bool], ...]:
    """The numbers that become elements of integer dtypes before the kernel sees them, and whether they wrap around."""
    return tuple((name, kind == "wrap") for name, kind in operator.numbers if kind != "as_is")


# -- the straight way


def _fast_lines(operator: OperatorPlan, fast: FastPath, decline: str, given: int | None = None) -> list[str]:
    """The straight way.  `decline` is the line that leaves it; `given`: only so many arguments are passed."""
    name = argument
    tests = [f"type({name(tensor)}) in plain" for tensor in fast.tensors]
    if fast.factory is not None:
        tests.append("plain")
    if fast.seeded:
        tests.append("not interest.around")
    tests += [f"({name(tensor)} is None or type({name(tensor)}) in plain)" for tensor in fast.optionals]
    tests += [f"all_plain({name(tensors)})" for tensors in fast.lists]
    tests += [f"all_plain_or_none({name(tensors)})" for tensors in fast.optional_lists]
    if given is None:
        tests += [f"{name(absent)} is None" for absent in fast.absent]
        tests += [f"type({name(flags)}) is tuple" for flags in fast.bool_lists]
        tests += [f"type({name(argument)}) is dtypes.dtype" for argument in fast.dtype_arguments]
        tests += [f"({name(dtype)} is None or type({name(dtype)}) is dtypes.dtype)" for dtype in fast.optional_dtypes]
        tests += [f"type({name(integer)}) is int" for integer in fast.integers]
    optional = {p.name for p in operator.parameters if str(p.type).endswith("?")}
    tests += [
        f"type({name(scalar)}) in {'optional_real_numbers' if scalar in optional else 'real_numbers'}"
        for scalar in fast.scalars
    ]
    lines = [f"if {' and '.join(tests)}:"]
    arrays = {tensor: f"{name(tensor)}_array" for tensor in fast.tensors}
    inner = [f"{arrays[tensor]} = {name(tensor)}._array" for tensor in fast.tensors]
    inner += _int_list_lines(operator, fast)
    call = [
        "try:",
        f"    result = {_call(operator, fast, arrays, operator.parameters[:given])}",
        "except Exception:",
        f"    {decline}",
        *_wrap_lines(operator, fast, arrays, decline),
        *_record_lines(operator, fast, given),
        "return out",
    ]
    test = _dtype_test(fast, arrays)
    if test:
        inner += [f"if {test}:", *(f"    {line}" for line in call)]
    else:
        inner += call
    return lines + [f"    {line}" for line in inner]


def _int_list_lines(operator: OperatorPlan, fast: FastPath) -> list[str]:
    lines = []
    for parameter in operator.parameters:
        if parameter.name in fast.int_lists:
            name = argument(parameter.name)
            optional = f"{name} is not None and " if str(parameter.type).endswith("?") else ""
            if fast.factory is None:
                lines.append(f"if {optional}type({name}) is not tuple:")
                lines.append(f"    {name} = int_tuple({name}, {parameter.size})")
            else:  # NumPy makes arrays of sizes that are bools
                lines.append(f"{name} = int_tuple({name}, {parameter.size})")
    return lines


def _not_half(array: str) -> str:
    """Half precision is declined, and with it int16, whose elements have the same size: quick to ask in every call."""
    return f"(common := {array}.dtype) is float32 or common is float64 or common.itemsize != 2"


def _dtype_test(fast: FastPath, arrays: dict[str, str]) -> str:
    limits = _limit_tests(fast, arrays)
    promoted = [arrays[name] for name in fast.promoted if name in arrays]
    if fast.dtypes == "any" or not promoted:
        first = next(iter(arrays.values()), None)
        if fast.in_float32 and first is not None:
            return _not_half(first)
        return " and ".join(limits)
    optional = [argument(name) for name in fast.promoted if name in fast.optionals]
    tests = [f"({name} is None or {name}._array.dtype is {promoted[0]}.dtype)" for name in optional]
    return " and ".join(filter(None, (_dtype_test_of_arrays(fast, promoted), *tests, *limits)))


def _is_float(array: str, *others: str) -> str:
    """Whether an array has one of the dtypes that are mostly met, or something else holds."""
    return f"({' or '.join([f'{array}.dtype is float32', f'{array}.dtype is float64', *others])})"


_NUMPY_KINDS = {"bool": "b", "integer": "iu", "half": "fV", "float": "", "complex": "c"}  # V: bfloat16


def _limit_tests(fast: FastPath, arrays: dict[str, str]) -> list[str]:
    """What asks whether Tensors have element types that the operator takes."""
    if fast.dtypes in ("float", "weak"):
        return []  # the other test lets float32 and float64 through, and nothing else
    tests = []
    kinds = "".join(_NUMPY_KINDS[kind] for kind in fast.takes)
    for name in fast.limited:
        array = arrays.get(name, f"{argument(name)}._array")
        some = [f"{array}.dtype.kind in {kinds!r}"] if kinds else []
        test = _is_float(array, *some) if "float" in fast.takes else some[0]
        tests.append(test if name in arrays else f"({argument(name)} is None or {test})")
    return tests


def _dtype_test_of_arrays(fast: FastPath, promoted: list[str]) -> str:
    tests = []
    if len(promoted) > 1 or fast.dtypes in ("float", "weak", "number"):
        first, *rest = promoted
        tests = [f"{other}.dtype is common" for other in rest]
        if fast.dtypes == "same" and fast.in_float32:
            return " and ".join([f"({_not_half(first)})", *tests])
        if fast.dtypes == "same":
            return " and ".join([f"(common := {first}.dtype) is {rest[0]}.dtype", *tests[1:]])
        known = "is float32 or common is float64" + (" or common is int64" if fast.dtypes == "number" else "")
        head = f"(common := {first}.dtype) {known}"
        return " and ".join([f"({head})", *tests]) if tests else head
    return _not_half(promoted[0]) if fast.in_float32 else ""


def _call(operator: OperatorPlan, fast: FastPath, arrays: dict[str, str], parameters: tuple[ParameterPlan, ...]) -> str:
    parts = []
    for parameter in parameters:
        name = argument(parameter.name)
        if parameter.is_placement:
            continue
        if parameter.name in fast.tensors:
            text = arrays[parameter.name]
        elif parameter.name in fast.optionals:
            text = f"None if {name} is None else {name}._array"
        elif parameter.name in fast.dtype_arguments:
            text = f"{name}.numpy"
        elif parameter.name in fast.optional_dtypes:
            text = (
                f"{name} and {name}.numpy" if fast.factory is None else f"({name} or {_dtype_of(fast.factory)}).numpy"
            )
        elif parameter.name in fast.lists:
            text = f"[each._array for each in {name}]"
        elif parameter.name in fast.optional_lists:
            text = f"[None if each is None else each._array for each in {name}]"
        else:
            text = name
        parts.append(text)
    return f"{operator.function}_kernel({', '.join(parts)})"


def _dtype_of(factory: FactoryDtype) -> str:
    """The dtype of a factory that is not told one."""
    if factory.kind is not None:
        return f"dtypes.promoted_dtype({factory.kind!r}, {tuple_of([argument(name) for name in factory.numbers])})"
    return "dtypes.get_default_dtype()" if factory.default is None else f"dtypes.{factory.default}"


def _wrap_lines(operator: OperatorPlan, fast: FastPath, arrays: dict[str, str], decline: str) -> list[str]:
    """`out` of `result`; a result that is not as many as the operator has is left to the general path to refuse."""
    base = _base(operator) if operator.view is not None else None
    count = len(operator.schema.returns)
    several = "isinstance(result, (tuple, list))"
    if operator.returns_list or count > 1:
        misfit = f"not {several}" + ("" if operator.returns_list else f" or len(result) != {count}")
        return [f"if {misfit}:", f"    {decline}", *_wrap_several_lines(operator, base, fast, arrays)]
    if base is not None:
        return [f"out = view_of(result, {base})"]
    return [
        "if type(result) is not ndarray:",
        f"    if {several}:",
        f"        {decline}",
        "    result = asarray(result)",
        *_layout_lines(operator.layout, fast, arrays),
        "out = new(Tensor)",
        "out._array = result",
        "out._base = out._edge = out._writes = out._extra = None",
    ]


def _wrap_several_lines(operator: OperatorPlan, base: str | None, fast: FastPath, arrays: dict[str, str]) -> list[str]:
    if operator.view == "multi":
        return [f"out = tuple([view_of(array, {base}, 'multi') for array in result])"]
    layout = operator.layout
    own = f"wrap({_laid_out(layout, 'asarray(array)', fast, arrays)})"
    if operator.returns_list:
        return [f"out = tuple([{own} for array in result])"]
    if layout is not None and len(layout.results) != len(operator.schema.returns):
        first = len(layout.results)
        assert layout.results == tuple(range(first))
        rest = f"wrap({_laid_out(LayoutPlan('contiguous', (), ()), 'asarray(array)', fast, arrays)})"
        parts = f"*[{own} for array in result[:{first}]], *[{rest} for array in result[{first}:]]"
        return [f"out = {operator.function}_op.results([{parts}])"]
    if operator.schema.masks_outputs:
        own = f"None if array is None else {own}"
    return [f"out = {operator.function}_op.results([{own} for array in result])"]


def _laid_out(layout: LayoutPlan | None, array: str, fast: FastPath, arrays: dict[str, str]) -> str:
    """An array as it is to lie in memory."""
    if layout is None:
        return array
    return f"layouts.{layout.kind}({', '.join([array, *_operands(layout, fast, arrays)])})"


def _operands(layout: LayoutPlan, fast: FastPath, arrays: dict[str, str]) -> list[str]:
    found = []
    for name in layout.arguments:
        text = argument(name)
        if name in fast.lists:
            found.append(f"*[each._array for each in {text}]")
        elif name in fast.optional_lists:
            found.append(f"*[None if each is None else each._array for each in {text}]")
        elif name in fast.optionals:
            found.append(f"None if {text} is None else {text}._array")
        else:
            found.append(arrays[name])
    return found


def _layout_lines(layout: LayoutPlan | None, fast: FastPath, arrays: dict[str, str]) -> list[str]:
    """The layout of `result`. In the common case everything is contiguous, and only that is asked for."""
    if layout is None or fast.factory is not None:
        return []
    if layout.kind == "contiguous":
        return ["if not result.flags.c_contiguous:", "    result = layouts.contiguous(result)"]
    line = f"result = {_laid_out(layout, 'result', fast, arrays)}"
    if layout.kind != "iterated" or any(name not in arrays for name in layout.arguments):
        return [line]
    tests = [f"{arrays[name]}.flags.c_contiguous" for name in layout.arguments]
    return [f"if not ({' and '.join(tests)}):" if len(tests) > 1 else f"if not {tests[0]}:", f"    {line}"]


def _base(operator: OperatorPlan) -> str:
    return next(argument(a.name) for a in operator.schema.arguments if a.alias is not None)


def _record_lines(operator: OperatorPlan, fast: FastPath, given: int | None) -> list[str]:
    node = operator.node
    if node is None:
        if not fast.tensors or operator.never_differentiable:
            return []
        return [f"if {_any_edge(fast, fast.tensors)}:", f"    {operator.function}_op.undifferentiable(out)"]
    test = _any_edge(fast, [edge.name for edge in node.edges])
    tests = [f"({test})" if " or " in test else test, "grad_mode.enabled"]
    left_out = operator.parameters[given:] if given is not None else ()
    if node.plain:
        tests += [differentiable(operator, node) or ""]
        body = [f"{argument(p.name)} = {default_text(p)}" for p in left_out]
        body += record_lines(operator.parameters, node, f"nodes.{node.class_name}")
    else:
        values = [argument(p.name) for p in operator.parameters[:given]] + [default_text(p) for p in left_out]
        body = [f"nodes.record_{operator.function}(out, {', '.join(values)})"]
    return [f"if {' and '.join(filter(None, tests))}:", *(f"    {line}" for line in body)]


def _any_edge(fast: FastPath, names: tuple[str, ...] | list[str]) -> str:
    tests = []
    for name in names:
        text = argument(name)
        if name in (*fast.lists, *fast.optional_lists):
            tests.append(f"any_edge({text})")
        elif name in fast.optionals:
            tests.append(f"({text} is not None and {text}._edge is not None)")
        else:
            tests.append(f"{text}._edge is not None")
    return " or ".join(tests)


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
    assert operator.fast is not None
    left_out = frozenset(parameter.name for parameter in operator.parameters[2:])
    lines = _fast_lines(operator, operator.fast.without(left_out), f"return {operator.function}_op(self, other)", 2)
    lines += ["kind = type(other)", "if kind in plain:", f"    return {operator.function}_op(self, other)"]
    if sign.number is not None:
        lines += ["if kind in numbers:", f"    return {sign.number}(self, other)"]
    return (*lines, f"return foreign_operand({sign.packet!r}, self, other)")


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
    inlined = operator is not None and operator.fast is not None and operator.fast.tensors == ("self", "other")
    return SignView(f"__{sign}__", packet.base, tensor, number, kind, f"{sign}_sign" if inlined else None)
