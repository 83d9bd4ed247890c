"""The degrees of Python expressions over operators."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from codegen.formula.intrinsics import tensor_intrinsic
from codegen.python_source import PythonModule
from codegen.rules.linear.calls import Argument, Cause, Operators, Trace, Why
from codegen.rules.linear.degree import Degree, Value, either, either_value, flat, opaque, varies
from codegen.signs import Sign, binary_sign, prefix_sign

_SIGNS: dict[type[ast.operator | ast.unaryop], Sign | None] = {
    ast.Add: binary_sign("+"), ast.Sub: binary_sign("-"), ast.Mult: binary_sign("*"), ast.Div: binary_sign("/"),
    ast.Mod: binary_sign("%"), ast.Pow: binary_sign("**"), ast.FloorDiv: binary_sign("//"),
    ast.MatMult: binary_sign("@"), ast.BitAnd: binary_sign("&"), ast.BitOr: binary_sign("|"),
    ast.BitXor: binary_sign("^"), ast.USub: prefix_sign("-"), ast.Invert: prefix_sign("~"),
}  # fmt: skip
# Attributes that give the elements of a Tensor, conjugated or in another order; those that give facts about it.
_LINEAR_ATTRIBUTES = frozenset(("T", "mT", "H", "mH"))
_FACTS = frozenset((
    "shape", "ndim", "dtype", "device", "layout", "requires_grad", "is_leaf", "is_meta", "itemsize", "flags", "size",
    "strides",
))  # fmt: skip
_FACT_METHODS = frozenset(("size", "stride", "element_size", "data_ptr", "is_conj", "is_signed"))
# Functions and methods that give what they are given, or part of it, in another container.
_CONTAINERS = frozenset(("list", "tuple", "reversed", "iter", "next", "set", "zip", "enumerate", "dict", "sum"))
_CONTAINER_METHODS = frozenset(("copy", "index", "count", "items", "keys", "values", "get", "pop"))
_GROWING_METHODS = frozenset(("append", "extend", "insert", "add", "update"))
_CONSTANT_FUNCTIONS = frozenset(("len", "isinstance", "range", "type", "id", "hasattr"))
# What annotations say.
_IS_TENSOR = {"Tensor": True, "Scalar": False, "int": False, "float": False}
# Modules whose functions look at shapes, strides and dtypes only.
_OPS = (("runtime", "ops"), ("gradwright", "ops"))  # the module of operators, under both names of the package
_FACT_MODULES = ("runtime.base.dtypes", "runtime.base.types")


class Expressions(ABC):
    """The degrees of the expressions of one function, whose variables have known degrees.

    Args:
        module: where the function stands.
        modules: all modules whose functions can be followed, by name.
        operators: what is known of the operators.
        trace: takes the place where something stops being linear, if that is asked for.
    """

    def __init__(
        self, module: PythonModule, modules: Mapping[str, PythonModule], operators: Operators, trace: Trace | None
    ) -> None:
        self.module = module
        self.modules = modules
        self.operators = operators
        self.trace = trace
        self.variables: dict[str, Value] = {}
        self.annotations: dict[str, ast.expr | None] = {}  # of the parameters

    @abstractmethod
    def follow(self, module: PythonModule, name: str, values: Mapping[str, Value]) -> Value:
        """The degree of a call of another function."""

    def blame(self, node: ast.expr, why: str | Why) -> None:
        if self.trace is not None and self.trace.first is None:
            self.trace.first = Cause(self.module.span(node), Why(why) if isinstance(why, str) else why)

    def assign(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.variables[name] = value
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                starred = any(isinstance(item, ast.Starred) for item in elts)
                matching = isinstance(value, tuple) and len(value) == len(elts) and not starred
                for place, item in enumerate(elts):
                    part = value[place] if matching and isinstance(value, tuple) else flat(value)
                    self.assign(item.value if isinstance(item, ast.Starred) else item, part)
            case ast.Subscript(value=ast.Name(id=name)):
                self.grow(name, flat(value))

    def grow(self, name: str, value: Degree) -> None:
        """What a container holds has something added."""
        self.variables[name] = either(flat(self.variables.get(name, Degree.ZERO)), value)

    # -- expressions

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=value):
                return Degree.ZERO if value is None or (value == 0 and value is not False) else Degree.CONSTANT
            case ast.Name(id=name):
                return self.variables.get(name, Degree.CONSTANT)
            case ast.Tuple(elts=elts) if not any(isinstance(item, ast.Starred) for item in elts):
                return tuple(self.value(item) for item in elts)
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                return self.together(node, [flat(self.value(item)) for item in elts])
            case ast.Starred(value=value):
                return flat(self.value(value))
            case ast.Dict(values=values):
                return self.together(node, [flat(self.value(item)) for item in values])
            case ast.ListComp(elt=elt, generators=generators) | ast.GeneratorExp(elt=elt, generators=generators):
                return self.comprehension(elt, generators)
            case ast.SetComp(elt=elt, generators=generators) | ast.DictComp(value=elt, generators=generators):
                return self.comprehension(elt, generators)
            case ast.NamedExpr(target=target, value=value):
                degree = self.value(value)
                self.assign(target, degree)
                return degree
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = self.truth(test)
                either_one = either_value(self.value(body), self.value(orelse))
                if varies(decided):
                    self.blame(test, "this condition depends on it")
                    return Degree.UNKNOWN if decided is Degree.UNKNOWN else Degree.NONLINEAR
                return either_one
            case ast.BinOp(left=left, op=op, right=right):
                return self.sign(node, op, left, right)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.decided(node, [self.truth(operand)])
            case ast.UnaryOp(op=op, operand=operand):
                return self.sign(node, op, operand)
            case ast.Compare(ops=comparisons):
                compared = [flat(self.value(item)) for item in (node.left, *node.comparators)]
                if all(isinstance(comparison, ast.Is | ast.IsNot) for comparison in comparisons):
                    return Degree.CONSTANT  # whether something is there
                return self.decided(node, compared)
            case ast.BoolOp(values=tests):
                return self.decided(node, [self.truth(test) for test in tests])
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Call():
                return self.call(node)
        return opaque(
            flat(self.variables.get(part.id, Degree.CONSTANT)) for part in ast.walk(node) if isinstance(part, ast.Name)
        )

    def truth(self, node: ast.expr) -> Degree:
        """The degree of what a test asks of a value."""
        if isinstance(node, ast.Name) and _is_list(self.annotations.get(node.id)):
            return Degree.CONSTANT  # whether it has items
        return flat(self.value(node))

    def decided(self, node: ast.expr, values: Sequence[Degree]) -> Degree:
        """A truth value."""
        if Degree.LINEAR in values or Degree.NONLINEAR in values:
            self.blame(node, "a truth value is not linear in it")
            return Degree.NONLINEAR
        return Degree.UNKNOWN if Degree.UNKNOWN in values else Degree.CONSTANT

    def together(self, node: ast.expr, values: Sequence[Degree]) -> Degree:
        degree = either(*values)
        if degree is Degree.NONLINEAR and degree not in values:
            self.blame(node, "one part of this depends on it, and another one neither does nor is zero")
        return degree

    def comprehension(self, elt: ast.expr, generators: Sequence[ast.comprehension]) -> Value:
        hidden = dict(self.variables)
        items = self.items(generators[0].iter) if len(generators) == 1 and not generators[0].ifs else None
        if items is not None:
            parts = []
            for item in items:
                self.assign(generators[0].target, item)
                parts.append(self.value(elt))
            self.variables = hidden
            return tuple(parts)
        for generator in generators:
            self.assign(generator.target, self.item(generator.iter))
        tests = [self.truth(test) for generator in generators for test in generator.ifs]
        value = flat(self.value(elt))
        self.variables = hidden
        return self.decided(elt, tests) if any(map(varies, tests)) else value

    def items(self, node: ast.expr) -> tuple[Value, ...] | None:
        """The values that a loop over `node` sees, where that is known of each."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
            columns = [self.value(argument) for argument in node.args]
            lengths = {len(column) for column in columns if isinstance(column, tuple)}
            if len(lengths) != 1:
                return None
            rows = range(lengths.pop())
            return tuple(tuple(c[row] if isinstance(c, tuple) else c for c in columns) for row in rows)
        value = self.value(node)
        return value if isinstance(value, tuple) else None

    def item(self, node: ast.expr) -> Value:
        """What a loop over `node` gives at each step."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in self.variables:
            parts = [self.item(argument) for argument in node.args]
            if node.func.id == "zip":
                return tuple(parts)
            if node.func.id == "enumerate" and parts:
                return (Degree.CONSTANT, parts[0])
            if node.func.id == "reversed" and parts:
                return parts[0]
        value = self.value(node)
        if isinstance(value, tuple):
            item: Value | None = None
            for part in value:
                item = part if item is None else either_value(item, part)
            return Degree.ZERO if item is None else item
        return value

    def attribute(self, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id not in self.variables:
            return Degree.CONSTANT  # of a module
        value = flat(self.value(node.value))
        if node.attr in _FACTS:
            return Degree.CONSTANT
        if node.attr == "_array" or not varies(value):
            return value
        if node.attr in _LINEAR_ATTRIBUTES:
            return value
        if not self.operators.has_base(node.attr):
            return Degree.UNKNOWN
        return self.operator(node, node.attr, None, [Argument(value, True)], {})  # `x.real` is `real(x)`

    def subscript(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
        if isinstance(value, tuple) and (place := _integer(node.slice)) is not None:
            return value[place] if -len(value) <= place < len(value) else Degree.UNKNOWN
        index = Degree.CONSTANT if isinstance(node.slice, ast.Slice) else flat(self.value(node.slice))
        return self.decided(node, [index]) if varies(index) else flat(value)

    def sign(self, node: ast.expr, op: ast.operator | ast.unaryop, *operands: ast.expr) -> Degree:
        arguments = [self.argument(operand) for operand in operands]
        degrees = [argument.degree for argument in arguments]
        base = self.operators.written(_SIGNS.get(type(op)))
        if not any(map(varies, degrees)):
            multiplied = isinstance(op, ast.Mult) and Degree.ZERO in degrees
            return Degree.ZERO if multiplied or set(degrees) == {Degree.ZERO} else Degree.CONSTANT
        if base is None:
            return opaque(degrees)
        return flat(self.operator(node, base, None, arguments, {}))

    def argument(self, node: ast.expr) -> Argument:
        return Argument(flat(self.value(node)), self.is_tensor(node))

    def is_tensor(self, node: ast.expr) -> bool | None:
        """Whether an expression is a Tensor, as far as it shows without looking further."""
        match node:
            case ast.Constant(value=value):
                return None if value is None else False
            case ast.Name(id=name):
                annotation = self.annotations.get(name)
                return _IS_TENSOR.get(annotation.id) if isinstance(annotation, ast.Name) else None
            case ast.Call(func=ast.Attribute() as function) if self.operator_base(function) is not None:
                return True
        return None

    # -- calls

    def operator(
        self,
        node: ast.expr,
        base: str,
        overload: str | None,
        args: Sequence[Argument],
        keywords: Mapping[str, Argument],
    ) -> Value:
        operators = self.operators
        result = operators.of_base(base, overload, args, keywords)
        degrees = [argument.degree for argument in (*args, *keywords.values())]
        if self.trace is not None and flat(result) is Degree.NONLINEAR and Degree.NONLINEAR not in degrees:
            self.blame(node, self.trace.explain(base, overload, args, keywords))
        return result

    def call(self, node: ast.Call) -> Value:
        function = node.func
        if isinstance(function, ast.Attribute):
            args = [self.argument(argument) for argument in node.args]
            named = {keyword.arg or "": self.argument(keyword.value) for keyword in node.keywords}
            base = self.operator_base(function)
            if base is not None:
                return self.operator(node, *base, args, named)
            if not (isinstance(function.value, ast.Name) and function.value.id not in self.variables):
                return self.method(node, function, args, named)
        values = [self.value(argument) for argument in node.args]
        keywords = {keyword.arg or "": self.value(keyword.value) for keyword in node.keywords}
        match function:
            case ast.Name(id=name):
                return self.named_call(node, name, values, keywords)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return self.module_call(module, name, values, keywords)
        return opaque(flat(value) for value in (*values, *keywords.values()))

    def operator_base(self, function: ast.Attribute) -> tuple[str, str | None] | None:
        """The operator that `ops.base` or `ops.base.overload` names, or `ops.namespace.base`."""
        inner = function.value
        if isinstance(inner, ast.Name) and self.imported(inner.id) in _OPS:
            return function.attr, None
        before = self.operator_base(inner) if isinstance(inner, ast.Attribute) else None
        if before is None:
            return None
        is_namespace = before[1] is None and not self.operators.has_base(before[0])
        return (function.attr, None) if is_namespace else (before[0], function.attr)

    def imported(self, name: str) -> tuple[str, str | None] | None:
        return None if name in self.variables else self.module.imports.get(name)

    def named_call(self, node: ast.Call, name: str, values: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        degrees = [flat(value) for value in (*values, *keywords.values())]
        if name not in self.variables:
            if name in self.module.functions:
                return self.function_call(self.module, name, values, keywords)
            origin = self.module.imports.get(name)
            if origin is not None and origin[1] is not None:
                return self.module_function(origin[0], origin[1], values, keywords)
            if name in _CONSTANT_FUNCTIONS:
                return Degree.CONSTANT
            if name in ("list", "tuple") and len(values) == 1:
                return values[0]
            if name in _CONTAINERS:
                return either(*degrees)
            if name in ("bool", "any", "all", "max", "min"):
                return self.decided(node, degrees)
        return opaque(degrees)

    def module_call(self, alias: str, name: str, values: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """`alias.name(...)`, where `alias` is a module."""
        origin = self.module.imports.get(alias)
        if origin is None:
            return opaque(flat(value) for value in (*values, *keywords.values()))
        module = origin[0] if origin[1] is None else f"{origin[0]}.{origin[1]}"
        return self.module_function(module, name, values, keywords)

    def module_function(self, module: str, name: str, values: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        known = self.modules.get(module)
        if known is not None and name in known.functions:
            return self.function_call(known, name, values, keywords)
        if module in _FACT_MODULES:
            return Degree.CONSTANT
        if module == "typing" and name == "cast" and len(values) == 2:
            return values[1]
        return opaque(flat(value) for value in (*values, *keywords.values()))

    def function_call(
        self, module: PythonModule, name: str, values: Sequence[Value], keywords: Mapping[str, Value]
    ) -> Value:
        definition = module.functions[name]
        arguments = definition.args
        names = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
        arguments_by_name = dict(zip(names, values, strict=False)) | dict(keywords)
        if arguments.vararg is not None:
            arguments_by_name[arguments.vararg.arg] = either(*(flat(value) for value in values[len(names) :]))
        elif len(values) > len(names) or not arguments_by_name.keys() <= {
            *names,
            *(p.arg for p in arguments.kwonlyargs),
        }:
            return opaque(map(flat, arguments_by_name.values()))  # `f(*args)`
        return self.follow(module, name, arguments_by_name)

    def method(
        self, node: ast.Call, function: ast.Attribute, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Value:
        receiver, name = flat(self.value(function.value)), function.attr
        degrees = [receiver, *(argument.degree for argument in (*args, *keywords.values()))]
        if name in _GROWING_METHODS and isinstance(function.value, ast.Name):
            self.grow(function.value.id, either(*degrees[1:]))
            return Degree.ZERO
        if name in _FACT_METHODS or tensor_intrinsic(name) is not None:
            return Degree.CONSTANT
        operators = self.operators
        base = name
        if not operators.has_base(base) and base.endswith("_") and operators.has_base(base[:-1]):
            base = base[:-1]  # in place
        if not operators.has_base(base):
            return receiver if name in _CONTAINER_METHODS else opaque(degrees)
        result = self.operator(node, base, None, [Argument(receiver, True), *args], keywords)
        if base != name and isinstance(function.value, ast.Name):
            self.variables[function.value.id] = result
        return result


def _integer(node: ast.expr) -> int | None:
    """The number that an index is, where it stands in the source."""
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None


def _is_list(annotation: ast.expr | None) -> bool:
    return (
        isinstance(annotation, ast.Subscript)
        and isinstance(annotation.value, ast.Name)
        and annotation.value.id in ("Sequence", "list", "tuple")
    )
