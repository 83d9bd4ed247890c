"""How Python spells formulas, defaults and parameter lists."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from codegen.formula.meaning import Meaning
from codegen.formula.structure import structure
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    TENSOR,
    Arithmetic,
    Conditional,
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    Mapped,
    OperatorCall,
    TupleDisplay,
    TypedExpr,
    ValueType,
    Variable,
    VariableKind,
)
from codegen.plan.names import FunctionNames, module_alias
from codegen.plan.operator import ParameterPlan
from codegen.plan.sharing import is_shareable, shared_parts
from codegen.schema.names import python
from codegen.schema.types import OperatorName
from codegen.targets.literals import default_text, literal, tuple_of
from codegen.targets.python.code import Lines, bracketed, call, choice, comprehension, dictionary, list_of
from codegen.targets.python.names import argument, local

_INTRINSICS = {
    "sizes": "{0}._array.shape",
    "optional_sizes": "(None if {0} is None else {0}._array.shape)",
    "strides": "{0}.stride()",
    "storage_offset": "{0}.storage_offset()",
    "dim": "{0}._array.ndim",
    "numel": "{0}._array.size",
    "scalar_type": "{0}.dtype",
    "options": "{0}.dtype",
    "is_complex": '({0}._array.dtype.kind in "cV" and {0}.is_complex())',  # V: complex32, and types of ml_dtypes
    "is_contiguous": "{0}._array.flags.c_contiguous",
    "is_floating_point": "{0}.is_floating_point()",
    "defined": "({0} is not None)",
    "length": "len({0})",
    "to_float": "float({0})",
    "to_int": "int({0})",
    "number_is_complex": "isinstance({0}, complex)",
    "number_is_float": "isinstance({0}, float)",
    "conjugate": "{0}.conjugate()",
    "to_complex": "complex({0})",
    "layout": "{0}.layout",
    "device": "{0}.device",
    "blocksize": "None",
    "memory_format": "None",
    "geometry": "Geometry({0})",
    "info": "info_of({0})",
    "zeros": "zeros_of({0})",
    "requires_grad": "{0}.requires_grad",
    "list_sizes": "[each._array.shape for each in {0}]",
    "list_dtypes": "[each.dtype for each in {0}]",
    "repeat": "(({0},) * {1})",
    "grad_enabled": "grad_mode.enabled",
    "sqrt": "math.sqrt({0})",
    "exp": "math.exp({0})",
    "log": "math.log({0})",
    "log1p": "math.log1p({0})",
    "abs": "abs({0})",
}
_OPERATORS = {"&&": "and", "||": "or"}


def import_lines(modules: Iterable[str]) -> list[str]:
    """Imports of modules under the names that generated code has for them."""
    return [f"from {m.rpartition('.')[0]} import {m.rpartition('.')[2]} as {module_alias(m)}" for m in sorted(modules)]


# Constants of formulas that are objects of the runtime.
_OBJECTS: Mapping[tuple[ValueType, object], str] = {
    (DTYPE, "bool"): "dtypes.bool",
    (DTYPE, "int64"): "dtypes.int64",
    (LAYOUT, "strided"): "types.strided",
    (MEMORY_FORMAT, "contiguous_format"): "types.contiguous_format",
}


class PythonPrinter:
    """Prints typed trees.

    Args:
        functions: the names of operators' functions.
        in_method: arguments have other names there.
        result: gives the text of a result, which is a variable under its own name otherwise.
    """

    def __init__(
        self, functions: FunctionNames, in_method: bool = True, result: Callable[[int], str] | None = None
    ) -> None:
        self.rename = local if in_method else argument
        self.functions = functions
        self.result = result
        self.modules: set[str] = set()
        self._named: dict[Hashable, str] = {}  # parts of a formula that have been computed

    def formula(self, expr: TypedExpr, out: Lines) -> str:
        """A whole value; what stands in it several times gets a statement of its own before it."""
        for number, part in enumerate(shared_parts(expr)):
            name = f"shared_{number}"
            out.add(f"{name} = {self.bare(part)}")
            self._named[structure(part)] = name
        text = self.bare(expr)
        self._named.clear()
        return text

    def print(self, expr: TypedExpr) -> str:
        """An expression that can stand among operators."""
        text = self.bare(expr)
        return bracketed(text) if isinstance(expr, Arithmetic | Conditional) or self._is_choice(expr) else text

    def bare(self, expr: TypedExpr) -> str:
        """An expression without brackets around it: a whole value, an argument, an element."""
        if self._named and is_shareable(expr) and (known := self._named.get(structure(expr))) is not None:
            return known
        match expr:
            case Variable():
                return self.variable(expr)
            case Literal():
                return _OBJECTS.get((expr.type, expr.value)) or literal(expr.value)
            case OperatorCall() if self._is_choice(expr):
                # A real Tensor is its own conjugate: the test saves the call. V: complex32, and types of ml_dtypes.
                name = self.print(expr.args[0][1])
                conjugated = call(self.function(expr.schema.name), (name,))
                return choice(name, f'{name}._array.dtype.kind not in "cV"', conjugated)
            case OperatorCall():
                return call(self.function(expr.schema.name), self.arguments(expr))
            case HelperCall():
                values = [self.bare(value) for _, value in expr.args]
                function = expr.helper.function
                if function is None:
                    return call("missing_helper", [literal(str(expr.helper.name)), *values])
                self.modules.add(function.module)
                return call(f"{module_alias(function.module)}.{function.name}", values)
            case Intrinsic(name="device_is"):
                return f"({self.print(expr.args[0])}.type == {literal(expr.spelling)})"
            case Intrinsic():
                return self.intrinsic(expr)
            case Arithmetic():
                return self.arithmetic(expr)
            case Conditional():
                return choice(self.print(expr.then), self.print(expr.test), self.print(expr.orelse))
            case ListDisplay():
                items = [self.bare(item) for item in expr.items]
                return list_of(items) if any(item.type == TENSOR for item in expr.items) else tuple_of(items)
            case TupleDisplay():
                return tuple_of([self.bare(item) for item in expr.items])
            case Mapped():
                return self.mapped(expr)
            case Element():
                return f"{self.print(expr.receiver)}[{self.bare(expr.index)}]"

    @staticmethod
    def _is_choice(expr: TypedExpr) -> bool:
        """Whether it is the conjugate of a variable, which is printed as a choice."""
        match expr:
            case OperatorCall(args=((_, Variable()),), meaning=Meaning.CONJUGATE):
                return True
        return False

    def function(self, name: OperatorName) -> str:
        """The function of an operator, in the module where it is."""
        return f"{'base_ops' if self.functions.is_of_base(name) else 'ops'}.{self.functions[name]}"

    def variable(self, expr: Variable) -> str:
        match expr.kind:
            case VariableKind.GRAD:
                return f"grad_{expr.index}"
            case VariableKind.GRAD_OR_ZEROS:
                return f"defined_{expr.index}"
            case VariableKind.GRADS:
                return "grads"
            case VariableKind.MASK:
                return "mask"
            case VariableKind.RETAIN:
                return "True"
            case VariableKind.TANGENT:
                return f"{self.rename(expr.name)}_t"
            case VariableKind.OUTPUT if self.result is not None:
                return self.result(expr.index)
            case _:
                return self.rename(expr.name)

    def mapped(self, expr: Mapped) -> str:
        source, body = self.print(expr.source), self.print(expr.body)
        parameter = self.rename(expr.parameter)
        if not expr.by_index:
            return call("tuple", (comprehension(body, parameter, source),))
        # What comes in for an element may be undefined: its gradient is, then, too.
        element = choice("None", "each is None", body)
        return comprehension(element, f"{parameter}, each", call("enumerate", (source,)))

    def intrinsic(self, expr: Intrinsic) -> str:
        return _INTRINSICS[expr.name].format(*(self.print(arg) for arg in expr.args))

    def arguments(self, expr: OperatorCall) -> list[str]:
        positional = [argument.name for argument in expr.schema.positional]
        parts = []
        for number, (name, value) in enumerate(expr.args):
            text = self.bare(value)
            in_place = number < len(positional) and positional[number] == name
            parts.append(text if in_place else f"{python(name)}={text}")
        return parts

    def arithmetic(self, expr: Arithmetic) -> str:
        parts = [self.print(operand) for operand in expr.operands]
        if len(parts) == 1:
            return f"{'not ' if expr.op == '!' else '-'}{parts[0]}"
        op = _OPERATORS.get(expr.op, expr.op)
        if op == "/" and all(operand.type in (INT, BOOL) for operand in expr.operands):
            op = "//"
        return f" {op} ".join(parts)


def signature(
    parameters: tuple[ParameterPlan, ...],
    out: str | None = None,
    required: bool = True,
    spelled: Callable[[str], str] = argument,
    absent: frozenset[str] = frozenset(),
    checked: bool = False,
) -> list[str]:
    """A parameter list; `out` names a last keyword-only parameter, with its default.

    `required`: whether parameters without a default have to be given; else they are None where they are not.
    `spelled` gives the names; `absent`: parameters with a default that are `absent` where they are not given.
    `checked`: so are those without one, but the first: the function finds out what is missing, and names the schema.
    """
    parts = []
    starred = False
    for position, parameter in enumerate(parameters):
        if parameter.keyword_only and not starred:
            parts.append("*")
            starred = True
        name = spelled(parameter.name)
        left_out = checked and position > 0 and parameter.default is None
        if parameter.default is None and not left_out:
            parts.append(name if required else f"{name}=None")
        elif left_out or parameter.name in absent:
            parts.append(f"{name}=absent")
        else:
            parts.append(f"{name}={default_text(parameter)}")
    if out is not None:
        parts += [out] if starred else ["*", out]
    return parts


def forwarded(
    parameters: tuple[ParameterPlan, ...], absent: frozenset[str] = frozenset(), exact: bool = False
) -> list[str]:
    """The arguments that pass parameters on, keyword-only ones under their names in Python.

    Those that may be `absent` are passed by their default. `exact`: under the names of the schema, which may be no
    Python names.
    """
    parts = []
    for parameter in parameters:
        name, text = parameter.name, argument(parameter.name)
        if name in absent and parameter.default is not None:
            text = choice(default_text(parameter), f"{text} is absent", text)
        if parameter.keyword_only:
            other = exact and python(name) != name
            text = f"**{dictionary([(literal(name), text)])}" if other else f"{python(name)}={text}"
        parts.append(text)
    return parts


def in_schema_order(parameters: tuple[ParameterPlan, ...]) -> list[str]:
    """The parameters' values, in the schema's order."""
    return [argument(parameter.name) for parameter in parameters]
