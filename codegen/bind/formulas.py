"""One formula: its syntax tree in, its typed tree out.

Every name is bound to an argument, a result or a gradient, every call to one overload of an operator, one helper or one
intrinsic.
"""

from __future__ import annotations

from collections.abc import Sequence

from codegen.bind.call_targets import OperatorTable, Target, helper_target
from codegen.bind.overloads import Overloads
from codegen.bind.scope import BEFORE_WRITE, CONSTANTS, ELEMENT_INDEX, MEANINGS, NONE_NAMES, Scope
from codegen.bind.value_calls import value_function, value_method
from codegen.formula import syntax
from codegen.formula.typed import (
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    NONE,
    NUMBERS,
    SCALAR,
    STR,
    TENSOR,
    Arithmetic,
    Conditional,
    Element,
    Intrinsic,
    ListDisplay,
    Literal,
    Mapped,
    TupleType,
    TypedExpr,
    ValueType,
    Variable,
    VariableKind,
)
from codegen.schema.types import ListType, OptionalType
from codegen.signs import MULTIPLICATION, Form, Sign, binary_sign, prefix_sign
from codegen.source import Diagnostics, Text
from codegen.words import did_you_mean

_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_NAMESPACES = ("at::", "torch::", "_ops::", "native::")
_SYMBOLIC_SUFFIX = "_symint"
# Methods of C++ classes behind Tensors that an operator stands for.
_METHODS = {"get_nested_sizes": "_nested_tensor_size"}


class FormulaResolver:
    """Resolves one formula.  Methods give None where something was reported."""

    def __init__(self, table: OperatorTable, scope: Scope, text: Text, diagnostics: Diagnostics) -> None:
        self.table = table
        self.scope = scope
        self.text = text
        self.diagnostics = diagnostics
        self.overloads = Overloads(text, diagnostics)

    def error(self, start: int, end: int, message: str, hint: str | None = None) -> None:
        self.diagnostics.error(self.text.span(start, end), message, hint)

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
                    node.name_start, node.end, f"'{node.name}' is not called", hint="attributes are methods here"
                )
                return None
            case syntax.Lambda():
                self.error(node.start, node.end, "a lambda can not be used as a value", hint="write a helper")
                return None

    def resolve_all(self, nodes: Sequence[syntax.Expr]) -> list[TypedExpr] | None:
        results = [self.resolve(node) for node in nodes]
        known = [result for result in results if result is not None]
        return known if len(known) == len(results) else None

    # -- names

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
            hint = did_you_mean(node.id, self.scope.variables)
            if hint is None:
                hint = f"in scope: {', '.join(sorted(self.scope.variables))}"
            self.error(node.start, node.end, f"unknown name '{node.id}'", hint)
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
        self.error(node.start, node.end, f"'{name}' is {meanings}", hint)
        return True

    def is_primal(self, name: str) -> bool:
        return name.endswith("_p") and all(argument.name != name for argument in self.scope.schema.arguments)

    def index(self, node: syntax.Index) -> TypedExpr | None:
        receiver, index = self.resolve(node.receiver), self.resolve(node.index)
        if receiver is None or index is None:
            return None
        if index.type != INT:
            self.error(node.index.start, node.index.end, f"an index is an int, this is {index.type}")
            return None
        if isinstance(receiver, Variable) and receiver.kind is VariableKind.GRADS and isinstance(index, Literal):
            return self.gradient(node, receiver, index)
        if isinstance(receiver.type, ListType):
            return Element(receiver.type.elem, node.start, node.end, receiver, index)
        if isinstance(receiver.type, TupleType) and isinstance(index, Literal):
            position = index.value
            if isinstance(position, int) and position < len(receiver.type.elems):
                return Element(receiver.type.elems[position], node.start, node.end, receiver, index)
        self.error(node.start, node.end, f"{receiver.type} can not be indexed")
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
                node.start, node.end, f"grads[{position}] is out of range: '{self.scope.schema.name}' has {outputs}",
                hint=f"the last one is grads[{count - 1}]",
            )  # fmt: skip
            return None
        return Variable(TENSOR, node.start, node.end, VariableKind.GRAD, f"grads[{position}]", position)

    # -- calls

    def call(self, node: syntax.Call) -> TypedExpr | None:
        if not isinstance(node.function, syntax.Name):
            self.error(node.start, node.end, "only operators and helpers can be called", hint="write a helper")
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
        if base not in self.table.helpers:
            known = [*self.table.by_base, *self.table.helpers.names()]
            hint = did_you_mean(base, known) or f"a helper is a function of a module in {self.table.helpers.folder}"
            self.error(node.function.start, node.function.end, f"unknown function '{name}'", hint)
        return None

    def mapped(self, node: syntax.Call, source: syntax.Expr, function: syntax.Lambda) -> TypedExpr | None:
        """`fmap(list, [](int i) { return -i; })`."""
        values = self.resolve(source)
        if values is None:
            return None
        if not isinstance(values.type, ListType) or len(function.parameters) != 1:
            self.error(node.start, node.end, f"fmap takes a list and a lambda of one parameter, this is {values.type}")
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
                    self.error(node.name_start, name_end, f"'{node.name}' is not a method", f"call {node.name}(...)")
                    return None
        known = [
            base for base, functions in self.table.by_base.items() if any("method" in f.variants for f in functions)
        ]
        hint = did_you_mean(node.name, known) if type == TENSOR else None
        self.error(node.name_start, name_end, f"{type} has no method '{node.name}'", hint)
        return None

    def sign(
        self, sign: Sign, form: Form, args: list[TypedExpr], node: syntax.Unary | syntax.Binary, at: int
    ) -> TypedExpr | None:
        """A sign applied to Tensors is a call of the operator that is written with it."""
        function = self.table.written(sign, form)
        if function is None:
            operands = ("self", "other")[: len(args)]
            written = sign.written(*(reversed(operands) if form is Form.REFLECTED else operands))
            self.error(at, at + len(node.op), f"'{node.op}' on Tensors needs an operator with 'sign: {written}'")
            return None
        base = function.name.base
        return self.overloads.choose(base, self.table.targets(base), args, at, at + len(node.op), node)

    # -- operators

    def unary(self, node: syntax.Unary) -> TypedExpr | None:
        operand = self.resolve(node.operand)
        if operand is None:
            return None
        if (node.op == "*" and isinstance(operand.type, OptionalType)) or (node.op == "+" and operand.type in NUMBERS):
            return operand
        if operand.type == TENSOR and (sign := prefix_sign(node.op)) is not None:
            return self.sign(sign, Form.DIRECT, [operand], node, node.start)
        if operand.type in NUMBERS and node.op in "-!":
            return Arithmetic(BOOL if node.op == "!" else operand.type, node.start, node.end, node.op, (operand,))
        if node.op == "!" and isinstance(operand.type, OptionalType):
            defined = Intrinsic(BOOL, node.start, node.end, "defined", (operand,))
            return Arithmetic(BOOL, node.start, node.end, "!", (defined,))
        message = f"'{node.op}' does not apply to {operand.type}"
        if node.op == "*":
            message = f"'*' reads an optional value, this is {operand.type}"
        self.error(node.start, node.start + len(node.op), message)
        return None

    def binary(self, node: syntax.Binary) -> TypedExpr | None:
        left, right = self.resolve(node.left), self.resolve(node.right)
        if left is None or right is None:
            return None
        types = [t.elem if isinstance(t, OptionalType) and t.elem == TENSOR else t for t in (left.type, right.type)]
        sign = binary_sign(node.op)
        if sign is not None and TENSOR in types:
            if types[0] == TENSOR:
                return self.sign(sign, Form.DIRECT, [left, right], node, node.op_start)
            if self.table.written(sign, Form.INVERSE) is not None:
                inverse = self.sign(sign, Form.INVERSE, [right], node, node.op_start)
                if inverse is None:
                    return None
                return self.sign(MULTIPLICATION, Form.DIRECT, [inverse, left], node, node.op_start)
            return self.sign(sign, Form.REFLECTED, [right, left], node, node.op_start)
        if all(type in NUMBERS for type in types):
            if not {FLOAT, SCALAR}.isdisjoint(types) and not (
                self.overloads.fraction(left) and self.overloads.fraction(right)
            ):
                return None
            if node.op in ("&&", "||") or node.op in _COMPARISONS:
                result: ValueType = BOOL
            else:
                result = max((types[0], types[1], INT), key=NUMBERS.index)
            number = Arithmetic(result, node.start, node.end, node.op, (left, right))
            written = isinstance(left, Literal) and isinstance(right, Literal)
            return number if not written or self.overloads.fraction(number) else None
        comparable = {STR, DTYPE, LAYOUT, DEVICE, MEMORY_FORMAT}
        if node.op in ("==", "!=") and (
            types[0] == types[1] and (types[0] in comparable or isinstance(types[0], ListType))
        ):
            return Arithmetic(BOOL, node.start, node.end, node.op, (left, right))
        self.error(
            node.op_start, node.op_start + len(node.op), f"'{node.op}' does not apply to {left.type} and {right.type}"
        )
        return None

    def conditional(self, node: syntax.Conditional) -> TypedExpr | None:
        test, then, orelse = self.resolve(node.test), self.resolve(node.then), self.resolve(node.orelse)
        if test is None or then is None or orelse is None:
            return None
        if test.type == TENSOR or test.type not in NUMBERS:
            self.error(
                node.test.start, node.test.end, f"the condition of '?:' is a bool, this is {test.type}",
                hint="where(condition, a, b) chooses by element" if test.type == TENSOR else None,
            )  # fmt: skip
            return None
        type = _common_type(then.type, orelse.type)
        if type is None:
            self.error(node.then.start, node.orelse.end, f"the two sides of '?:' are {then.type} and {orelse.type}")
            return None
        if type in (FLOAT, SCALAR) and not (self.overloads.fraction(then) and self.overloads.fraction(orelse)):
            return None
        return Conditional(type, node.start, node.end, test, then, orelse)

    def brace_list(self, node: syntax.BraceList) -> TypedExpr | None:
        items = self.resolve_all(node.items)
        if items is None:
            return None
        if len(items) == 1 and isinstance(items[0], ListDisplay):
            return items[0]  # `{{0, 0}}`: the inner braces make the array
        elem: ValueType = NONE
        for item in items:
            common = item.type if elem == NONE else _common_type(elem, item.type)
            if common is None:
                self.error(item.start, item.end, f"a list of {elem} can not hold {item.type}")
                return None
            elem = common
        if isinstance(elem, TupleType):
            self.error(node.start, node.end, "a list can not hold tuples")
            return None
        return ListDisplay(ListType(elem), node.start, node.end, tuple(items))


def _common_type(left: ValueType, right: ValueType) -> ValueType | None:
    if left == right:
        return left
    for one, other in ((left, right), (right, left)):
        if one == NONE and not isinstance(other, TupleType):
            return other if other == TENSOR or isinstance(other, OptionalType) else OptionalType(other)
        if isinstance(one, OptionalType) and one.elem == other:
            return other if other == TENSOR else one
        if isinstance(one, ListType) and isinstance(other, ListType) and one.elem == NONE:
            return other
        if one == ListType(TENSOR) and other == ListType(OptionalType(TENSOR)):
            return other
    if left in NUMBERS and right in NUMBERS:
        return max((left, right), key=NUMBERS.index)
    return None
