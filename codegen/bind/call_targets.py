"""What formulas may call: operators by name, helpers, and their types as formulas see them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from codegen.codes import Code
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    FLOAT,
    INT,
    OPTIONS,
    SCALAR,
    STR,
    TENSOR,
    Helper,
    TupleType,
    ValueType,
    conversion_cost,
    formula_type,
)
from codegen.python_source import FunctionIndex, PythonFunction
from codegen.read.model import HelperDeclaration, NativeFunction
from codegen.schema.types import FunctionSchema, ListType, OptionalType, Type
from codegen.signs import Form, Sign
from codegen.source import Diagnostics
from codegen.words import did_you_mean

_FACTORY_OPTIONS = ("dtype", "layout", "device", "pin_memory")


class HelperTable:
    """Helpers by base name: those that are declared, and the functions of `runtime/operators/helpers`."""

    def __init__(self, index: FunctionIndex, declarations: Iterable[HelperDeclaration] = ()) -> None:
        self.folder = index.folder
        self.index = index
        self._declared: dict[str, list[Helper]] = {}
        self.by_name: dict[str, Helper] = {}
        for declaration in declarations:
            helper = _declared(declaration, index)
            self._declared.setdefault(declaration.schema.name.base, []).append(helper)

    def overloads(self, base: str, diagnostics: Diagnostics) -> Sequence[Helper]:
        """The helpers of this name; a function without types that formulas know is reported."""
        declared = self._declared.get(base)
        if declared is not None:
            return declared
        function = self.index.get(base)
        if function is None:
            return ()
        helper = _implemented(function, diagnostics)
        return () if helper is None else (helper,)

    @property
    def place(self) -> str:
        """Where helpers come from, as a hint."""
        declared = " or a declaration in a file that '--helpers' names" if self._declared else ""
        return f"a helper is a function of a module in {self.folder}{declared}"

    def __contains__(self, base: str) -> bool:
        return base in self._declared or self.index.get(base) is not None

    def names(self) -> Iterable[str]:
        """All base names."""
        return {*self._declared, *(function.name for function in self.index)}


def _declared(declaration: HelperDeclaration, index: FunctionIndex) -> Helper:
    schema = declaration.schema
    parameters = tuple((argument.name, formula_type(argument.type)) for argument in schema.positional)
    required = sum(argument.default is None for argument in schema.positional)
    result = result_type(schema)
    function = index.get(schema.name.python_name)
    if function is not None and not _fits(function, parameters, required, result):
        function = None
    place = declaration.text.span(0, schema.name_end or 1)
    return Helper(str(schema.name), parameters, required, result, function, place)


def _fits(function: PythonFunction, declared: Sequence[tuple[str, Type]], required: int, result: ValueType) -> bool:
    """Whether a Python function takes what a declaration says it takes, and gives what it says it gives.

    The names count too: types alone do not tell a gradient from a result.
    """
    parameters = function.parameters or ()
    own = [annotation_type(parameter.annotation) for parameter in parameters]
    if [parameter.name for parameter in parameters[: len(declared)]] != [name for name, _ in declared]:
        return False
    if not all(parameter.has_default for parameter in parameters[required:]):
        return False
    for (_, type), wanted, parameter in zip(declared, own, parameters, strict=False):
        if parameter.annotation == "object":
            continue
        if wanted is None or isinstance(wanted, TupleType) or conversion_cost(type, wanted) is None:
            return False
    returned = annotation_type(function.returns)
    return returned is not None and _same_result(returned, result)


def _same_result(returned: ValueType, declared: ValueType) -> bool:
    if isinstance(returned, TupleType) or isinstance(declared, TupleType):
        return (
            isinstance(returned, TupleType)
            and isinstance(declared, TupleType)
            and len(returned.elems) == len(declared.elems)
        )
    if isinstance(returned, ListType) or isinstance(declared, ListType):
        return isinstance(returned, ListType) and isinstance(declared, ListType)
    return True


def _implemented(function: PythonFunction, diagnostics: Diagnostics) -> Helper | None:
    parameters: list[tuple[str, Type]] = []
    for parameter in function.parameters or ():
        type = annotation_type(parameter.annotation)
        if type is None or isinstance(type, TupleType):
            diagnostics.error(
                Code.PYTHON_SOURCE,
                function.span,
                f"parameter '{parameter.name}' of helper '{function.name}' has no type that formulas know"
                + (f": '{parameter.annotation}'" if parameter.annotation else ""),
                hint="Tensor, int, float, bool, str, Scalar, DType, 'X | None', 'Sequence[X]'",
            )
            return None
        parameters.append((parameter.name, type))
    result = annotation_type(function.returns)
    if result is None:
        diagnostics.error(
            Code.PYTHON_SOURCE,
            function.span,
            f"helper '{function.name}' has no result type that formulas know: '{function.returns}'",
        )
        return None
    known = {name for name, _ in parameters}
    for names, place in function.linear:
        if not names or not names <= known:
            diagnostics.error(
                Code.PYTHON_SOURCE,
                place,
                f"'linear_in' of helper '{function.name}' names none of its parameters: "
                + (", ".join(f"'{name}'" for name in sorted(names - known)) or "nothing"),
                hint=did_you_mean(next(iter(sorted(names - known)), ""), known),
            )
    required = sum(not parameter.has_default for parameter in function.parameters or ())
    return Helper(function.name, tuple(parameters), required, result, function)


class OperatorTable:
    """All operators by name and by base name, with the helpers that formulas may call."""

    def __init__(self, functions: Iterable[NativeFunction], helpers: HelperTable) -> None:
        self.functions = {str(function.name): function for function in functions}
        self.helpers = helpers
        self.by_base: dict[str, list[NativeFunction]] = {}
        for function in self.functions.values():
            if not function.schema.out:
                self.by_base.setdefault(function.name.base, []).append(function)
        self._further: dict[str, list[NativeFunction]] = {}
        for function in self.functions.values():
            if function.overload_of is not None:
                self._further.setdefault(function.overload_of, []).append(function)
        self._signs: dict[tuple[Sign, Form], NativeFunction] = {}
        for function in self.functions.values():
            for use in function.signs:
                self._signs.setdefault((use.sign, use.form), function)
        self._targets: dict[str, tuple[Target, ...]] = {}

    def written(self, sign: Sign | None, form: Form = Form.DIRECT) -> NativeFunction | None:
        """The operator whose calls are written with a sign."""
        return None if sign is None else self._signs.get((sign, form))

    def overloads(self, base: str) -> Sequence[NativeFunction]:
        return self.by_base.get(base, ())

    def targets(self, base: str) -> Sequence[Target]:
        """The overloads under a base name as call targets, each also with its factory options as one argument."""
        known = self._targets.get(base)
        if known is None:
            functions = (*self.overloads(base), *self._further.get(base, ()))
            targets = [operator_target(function) for function in functions]
            targets += [operator_target(function, options=True) for function in functions if takes_options(function)]
            known = self._targets[base] = tuple(targets)
        return known


@functools.cache
def annotation_type(annotation: str) -> ValueType | None:
    """The formula type of a helper's Python annotation; None if formulas have no such type."""
    try:
        return _annotation_type(ast.parse(annotation, mode="eval").body)
    except SyntaxError:
        return None


_ANNOTATIONS: dict[str, ValueType] = {
    "Tensor": TENSOR, "int": INT, "float": FLOAT, "bool": BOOL, "str": STR, "Scalar": SCALAR, "DType": DTYPE,
}  # fmt: skip


def _annotation_type(node: ast.expr) -> ValueType | None:
    if isinstance(node, ast.Name):
        return _ANNOTATIONS.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        elem = _annotation_type(node.left)
        is_none = isinstance(node.right, ast.Constant) and node.right.value is None
        return OptionalType(elem) if is_none and elem is not None and not isinstance(elem, TupleType) else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        variadic = len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis
        if node.value.id in ("Sequence", "list") or (node.value.id == "tuple" and variadic):
            elem = _annotation_type(parts[0])
            return ListType(elem) if elem is not None and not isinstance(elem, TupleType) else None
        if node.value.id == "tuple":
            elems = tuple(_annotation_type(part) for part in parts)
            known = tuple(elem for elem in elems if elem is not None)
            return TupleType(known) if len(known) == len(elems) else None
    return None


@dataclass(frozen=True, slots=True)
class Target:
    """Something that can be called: its parameters, in the order in which a formula gives them."""

    function: NativeFunction | None
    helper: Helper | None
    names: tuple[str, ...]
    types: tuple[Type, ...]
    required: int
    result: ValueType

    @property
    def is_method(self) -> bool:
        """Whether it can be called as a method of its first Tensor."""
        return self.function is not None and "method" in self.function.variants

    def __str__(self) -> str:
        return str(self.helper if self.function is None else self.function.schema)


def helper_target(helper: Helper) -> Target:
    """A helper as something to call."""
    names, types = zip(*helper.parameters, strict=True) if helper.parameters else ((), ())
    return Target(None, helper, names, types, helper.required, helper.result)


def result_type(schema: FunctionSchema) -> ValueType:
    """The type of a call of an operator, as formulas see it."""
    types = tuple(formula_type(result.type) for result in schema.returns)
    return types[0] if len(types) == 1 else TupleType(types)


def operator_target(function: NativeFunction, options: bool = False) -> Target:
    """An overload as something to call.

    `self` is the first argument, as it is the receiver of a method; `options`: the factory options are one argument.
    """
    schema = function.schema
    arguments: list[tuple[str, Type, bool]] = []
    names = [argument.name for argument in schema.arguments]
    grouped = options and all(name in names for name in _FACTORY_OPTIONS)
    for argument in schema.arguments:
        if grouped and argument.name in _FACTORY_OPTIONS:
            if argument.name == "dtype":
                arguments.append(("options", OPTIONS, argument.default is not None))
            continue
        arguments.append((argument.name, formula_type(argument.type), argument.default is not None))
    required = max((i + 1 for i, (_, _, has_default) in enumerate(arguments) if not has_default), default=0)
    return Target(
        function, None, tuple(a[0] for a in arguments), tuple(a[1] for a in arguments), required, result_type(schema)
    )


def takes_options(function: NativeFunction) -> bool:
    return function.schema.is_factory
