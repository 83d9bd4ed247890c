"""One formula: its syntax tree in, its typed tree out.

Every name is bound to an argument, a result or a gradient, every call to one overload of an operator, one helper or one
intrinsic.
"""

from __future__ import annotations

from codegen.bind.operations import Operations
from codegen.bind.scope import BEFORE_WRITE, CONSTANTS, ELEMENT_INDEX, MEANINGS, NONE_NAMES
from codegen.codes import Code
from codegen.formula import syntax
from codegen.formula.typed import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    Element,
    Literal,
    TupleType,
    TypedExpr,
    Variable,
    VariableKind,
)
from codegen.schema.types import ListType
from codegen.words import Hint, did_you_mean


class FormulaResolver(Operations):
    """Resolves one formula.  Methods give None where something was reported."""

    def resolve(self, node: syntax.Expr) -> TypedExpr | None:
        match node:
            case syntax.IntLiteral():
                return Literal(INT, node.start, node.end, node.value)
            case syntax.FloatLiteral():
                return Literal(FLOAT, node.start, node.end, node.value)
            case syntax.BoolLiteral():
                if self.is_ambiguous(str(node.value).lower(), node):
                    return None
                return Literal(BOOL, node.start, node.end, node.value)
            case syntax.StringLiteral():
                return Literal(STR, node.start, node.end, node.value)
            case syntax.Name():
                return self.name(node)
            case syntax.Call():
                return self.call(node)
            case syntax.MethodCall():
                return self.method(node)
            case syntax.Index():
                return self.index(node)
            case syntax.Unary():
                return self.unary(node)
            case syntax.Binary():
                return self.binary(node)
            case syntax.Conditional():
                return self.conditional(node)
            case syntax.BraceList():
                return self.brace_list(node)
            case syntax.Attribute():
                self.error(
                    Code.NOT_A_VALUE,
                    node.name_start,
                    node.end,
                    f"'{node.name}' is not called",
                    hint="attributes are methods here",
                )
                return None
            case syntax.Lambda():
                self.error(
                    Code.NOT_A_VALUE, node.start, node.end, "a lambda can not be used as a value", hint="write a helper"
                )
                return None

    def name(self, node: syntax.Name) -> TypedExpr | None:
        if self.is_ambiguous(node.id, node):
            return None
        if node.id in NONE_NAMES:
            return Literal(NONE, node.start, node.end, None)
        constant = CONSTANTS.get(node.id)
        if constant is not None:
            return Literal(constant[0], node.start, node.end, constant[1])
        known = self.scope.variables.get(node.id)
        if known is None:
            missing = self.scope.missing.get(node.id)
            if missing is not None:
                self.error(Code.OUTPUTS, node.start, node.end, *missing)
                return None
            hint: Hint = did_you_mean(node.id, self.scope.variables)
            if hint is None:
                hint = f"in scope: {', '.join(sorted(self.scope.variables))}"
            self.error(Code.UNKNOWN_NAME, node.start, node.end, f"unknown name '{node.id}'", hint)
            return None
        kind, index, type = known
        name = node.id.removesuffix("_p") if kind is VariableKind.INPUT and self.is_primal(node.id) else node.id
        if kind is VariableKind.TANGENT:
            name = node.id.removesuffix("_t")
        if name != node.id:
            name = name.removeprefix(BEFORE_WRITE)
        variable = Variable(type, node.start, node.end, kind, name, index)
        if name != node.id and self.scope.by_element and isinstance(type, ListType):
            # In a formula for lists element by element, `self_t` is the tangent of the element.
            element = Variable(INT, node.start, node.end, VariableKind.PARAMETER, ELEMENT_INDEX)
            return Element(type.elem, node.start, node.end, variable, element)
        return variable

    def is_ambiguous(self, name: str, node: syntax.Expr) -> bool:
        """Whether a name stands for two things, which is reported."""
        meanings = self.scope.ambiguous.get(name)
        if meanings is None:
            return False
        hint = "give the argument another name"
        if meanings.endswith(MEANINGS[VariableKind.GRAD]):
            hint += ", or write 'grads[i]' for the gradient"
        self.error(Code.AMBIGUOUS, node.start, node.end, f"'{name}' is {meanings}", hint)
        return True

    def is_primal(self, name: str) -> bool:
        return name.endswith("_p") and all(argument.name != name for argument in self.scope.schema.arguments)

    def index(self, node: syntax.Index) -> TypedExpr | None:
        receiver, index = self.resolve(node.receiver), self.resolve(node.index)
        if receiver is None or index is None:
            return None
        if index.type != INT:
            self.error(Code.TYPES, node.index.start, node.index.end, f"an index is an int, this is {index.type}")
            return None
        if isinstance(receiver, Variable) and receiver.kind is VariableKind.GRADS and isinstance(index, Literal):
            return self.gradient(node, receiver, index)
        if isinstance(receiver.type, ListType):
            return Element(receiver.type.elem, node.start, node.end, receiver, index)
        if isinstance(receiver.type, TupleType) and isinstance(index, Literal):
            position = index.value
            if isinstance(position, int) and position < len(receiver.type.elems):
                return Element(receiver.type.elems[position], node.start, node.end, receiver, index)
        self.error(Code.TYPES, node.start, node.end, f"{receiver.type} can not be indexed")
        return None

    def gradient(self, node: syntax.Index, grads: Variable, index: Literal) -> TypedExpr | None:
        if self.scope.result_types[0] != TENSOR:  # Tensor[]: only the run knows how many
            return Element(TENSOR, node.start, node.end, grads, index)
        count = len(self.scope.differentiable_outputs)
        position = index.value
        assert isinstance(position, int)
        if position >= count:
            outputs = "1 differentiable output" if count == 1 else f"{count} differentiable outputs"
            self.error(
                Code.WHICH_GRADIENT,
                node.start, node.end, f"grads[{position}] is out of range: '{self.scope.schema.name}' has {outputs}",
                hint=f"the last one is grads[{count - 1}]",
            )  # fmt: skip
            return None
        return Variable(TENSOR, node.start, node.end, VariableKind.GRAD, f"grads[{position}]", position)
