"""The degrees of calls in Python: of operators, of functions that can be followed, of Python's own."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from codegen.formula.intrinsics import tensor_intrinsic
from codegen.python_source import PythonModule
from codegen.python_syntax import OPERATORS, parameters, positional_parameters
from codegen.rules.linear.calls import Argument
from codegen.rules.linear.degree import Degree, Value, conjugated, either, flat, opaque
from codegen.rules.linear.scope import Scope

_FACT_METHODS = frozenset(("size", "stride", "element_size", "data_ptr", "is_conj", "is_signed"))
# Functions and methods that give what they are given, or part of it, in another container.
_CONTAINERS = frozenset(("list", "tuple", "reversed", "iter", "next", "set", "zip", "enumerate", "dict", "sum"))
_CONTAINER_METHODS = frozenset(("copy", "index", "count", "items", "keys", "values", "get", "pop"))
_GROWING_METHODS = frozenset(("append", "extend", "insert", "add", "update"))
_CONSTANT_FUNCTIONS = frozenset(("len", "isinstance", "range", "type", "id", "hasattr"))
# What annotations say.
_IS_TENSOR = {"Tensor": True, "Scalar": False, "int": False, "float": False}
# Modules whose functions look at shapes, strides and dtypes only.
_FACT_MODULES = ("runtime.base.dtypes", "runtime.base.types")


class Calls(Scope):
    """The degrees of the calls of one function."""

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

    def operator_base(self, function: ast.Attribute) -> tuple[str, str | None] | None:
        """The operator that `ops.base` or `ops.base.overload` names, or `ops.namespace.base`."""
        inner = function.value
        if isinstance(inner, ast.Name) and self.imported(inner.id) in OPERATORS:
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
        names = [parameter.arg for parameter in positional_parameters(definition)]
        arguments_by_name = dict(zip(names, values, strict=False)) | dict(keywords)
        if arguments.vararg is not None:
            arguments_by_name[arguments.vararg.arg] = either(*(flat(value) for value in values[len(names) :]))
        elif len(values) > len(names) or not arguments_by_name.keys() <= {each.arg for each in parameters(definition)}:
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
        if name == "conjugate" and not args:  # of a number
            return conjugated(receiver)
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
