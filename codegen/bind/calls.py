"""Calls in formulas, each bound to one overload of an operator, one helper or one intrinsic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from codegen.bind.call_targets import OperatorTable, Target, helper_target
from codegen.bind.overloads import Overloads
from codegen.bind.scope import Scope
from codegen.bind.value_calls import value_function, value_method
from codegen.codes import Code
from codegen.formula import syntax
from codegen.formula.typed import (
    NONE,
    TENSOR,
    Conditional,
    Literal,
    Mapped,
    TupleType,
    TypedExpr,
    VariableKind,
)
from codegen.schema.types import ListType, OptionalType
from codegen.signs import Form, Sign
from codegen.source import Diagnostics, Text
from codegen.words import Hint, did_you_mean

_NAMESPACES = ("at::", "torch::", "_ops::", "native::")
_SYMBOLIC_SUFFIX = "_symint"
# Methods of C++ classes behind Tensors that an operator stands for.
_METHODS = {"get_nested_sizes": "_nested_tensor_size"}


class Calls(ABC):
    """Resolves the calls of one formula.  Methods give None where something was reported."""

    def __init__(self, table: OperatorTable, scope: Scope, text: Text, diagnostics: Diagnostics) -> None:
        self.table = table
        self.scope = scope
        self.text = text
        self.diagnostics = diagnostics
        self.overloads = Overloads(text, diagnostics)

    def error(self, code: Code, start: int, end: int, message: str, hint: Hint = None) -> None:
        self.diagnostics.error(code, self.text.span(start, end), message, hint)

    @abstractmethod
    def resolve(self, node: syntax.Expr) -> TypedExpr | None:
        """The typed tree of any expression."""

    def resolve_all(self, nodes: Sequence[syntax.Expr]) -> list[TypedExpr] | None:
        results = [self.resolve(node) for node in nodes]
        known = [result for result in results if result is not None]
        return known if len(known) == len(results) else None

    def call(self, node: syntax.Call) -> TypedExpr | None:
        if not isinstance(node.function, syntax.Name):
            self.error(
                Code.NOT_A_VALUE,
                node.start,
                node.end,
                "only operators and helpers can be called",
                hint="write a helper",
            )
            return None
        name = node.function.id.removeprefix("::")
        if name == "fmap" and len(node.args) == 2 and isinstance(node.args[1], syntax.Lambda):
            return self.mapped(node, node.args[0], node.args[1])
        args = self.resolve_all(node.args)
        if args is None:
            return None
        if name == "wrap_opt_if" and len(args) == 2:
            none = Literal(NONE, node.start, node.end, None)
            return Conditional(OptionalType(TENSOR), node.start, node.end, args[1], args[0], none)
        own = value_function(node, name, args, self.overloads)
        if own is not None:
            return own
        base = name
        for namespace in _NAMESPACES:
            base = base.removeprefix(namespace)
        targets: list[Target] = []
        for spelling in (base, base.removesuffix(_SYMBOLIC_SUFFIX)):
            targets = list(self.table.targets(spelling))
            targets += [helper_target(h) for h in self.table.helpers.overloads(spelling, self.diagnostics)]
            if targets:
                return self.overloads.choose(spelling, targets, args, node.function.start, node.function.end, node)
        if (
            base not in self.table.helpers
            and self.table.helpers.index.complete
            and base not in self.diagnostics.unread_bases
        ):
            known = [*self.table.by_base, *self.table.helpers.names()]
            hint = did_you_mean(base, known) or self.table.helpers.place
            self.error(
                Code.UNKNOWN_FUNCTION, node.function.start, node.function.end, f"unknown function '{name}'", hint
            )
        return None

    def mapped(self, node: syntax.Call, source: syntax.Expr, function: syntax.Lambda) -> TypedExpr | None:
        """`fmap(list, [](int i) { return -i; })`."""
        values = self.resolve(source)
        if values is None:
            return None
        if not isinstance(values.type, ListType) or len(function.parameters) != 1:
            self.error(
                Code.TYPES,
                node.start,
                node.end,
                f"fmap takes a list and a lambda of one parameter, this is {values.type}",
            )
            return None
        parameter = function.parameters[0].name
        hidden = self.scope.variables.get(parameter)
        self.scope.variables[parameter] = (VariableKind.PARAMETER, 0, values.type.elem)
        body = self.resolve(function.body)
        if hidden is None:
            del self.scope.variables[parameter]
        else:
            self.scope.variables[parameter] = hidden
        if body is None or isinstance(body.type, TupleType):
            return None
        return Mapped(ListType(body.type), node.start, node.end, values, parameter, body)

    def method(self, node: syntax.MethodCall) -> TypedExpr | None:
        receiver, args = self.resolve(node.receiver), self.resolve_all(node.args)
        if receiver is None or args is None:
            return None
        name_end = node.name_start + len(node.name)
        type = receiver.type.elem if isinstance(receiver.type, OptionalType) else receiver.type
        own = value_method(node, receiver, type, args)
        if own is not None:
            return own
        if type == TENSOR:
            for spelling in (node.name, _METHODS.get(node.name) or node.name.removesuffix(_SYMBOLIC_SUFFIX)):
                targets = self.table.targets(spelling)
                methods = [target for target in targets if target.is_method]
                if methods:
                    return self.overloads.choose(spelling, methods, args, node.name_start, name_end, node, receiver)
                if targets:
                    self.error(
                        Code.UNKNOWN_FUNCTION,
                        node.name_start,
                        name_end,
                        f"'{node.name}' is not a method",
                        f"call {node.name}(...)",
                    )
                    return None
        known = [
            base for base, functions in self.table.by_base.items() if any("method" in f.variants for f in functions)
        ]
        hint = did_you_mean(node.name, known) if type == TENSOR else None
        self.error(Code.UNKNOWN_FUNCTION, node.name_start, name_end, f"{type} has no method '{node.name}'", hint)
        return None

    def sign(
        self, sign: Sign, form: Form, args: list[TypedExpr], node: syntax.Unary | syntax.Binary, at: int
    ) -> TypedExpr | None:
        """A sign applied to Tensors is a call of the operator that is written with it."""
        function = self.table.written(sign, form)
        if function is None:
            operands = ("self", "other")[: len(args)]
            written = sign.written(*(reversed(operands) if form is Form.REFLECTED else operands))
            self.error(
                Code.SIGN,
                at,
                at + len(node.op),
                f"'{node.op}' on Tensors needs an operator with 'python_operator: {written}'",
            )
            return None
        base = function.name.base
        return self.overloads.choose(base, self.table.targets(base), args, at, at + len(node.op), node)
