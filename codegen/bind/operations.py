"""Operators of the formula language: on numbers, and on Tensors, where they are calls."""

from __future__ import annotations

from codegen.bind.calls import Calls
from codegen.codes import Code
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
    Intrinsic,
    ListDisplay,
    Literal,
    TupleType,
    TypedExpr,
    ValueType,
)
from codegen.schema.types import ListType, OptionalType
from codegen.signs import CHOICE, MULTIPLICATION, Form, binary_sign, prefix_sign

_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))


class Operations(Calls):
    """Resolves the operators of one formula, and its brace lists."""

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
        self.error(Code.TYPES, node.start, node.start + len(node.op), message)
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
                if inverse is None or (isinstance(left, Literal) and left.value == 1):
                    return inverse
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
            Code.TYPES,
            node.op_start,
            node.op_start + len(node.op),
            f"'{node.op}' does not apply to {left.type} and {right.type}",
        )
        return None

    def conditional(self, node: syntax.Conditional) -> TypedExpr | None:
        test, then, orelse = self.resolve(node.test), self.resolve(node.then), self.resolve(node.orelse)
        if test is None or then is None or orelse is None:
            return None
        if test.type == TENSOR and self.scope.by_choice:
            chosen = self.table.written(CHOICE)
            if chosen is not None:
                base = chosen.name.base
                args = [test, then, orelse]
                return self.overloads.choose(base, self.table.targets(base), args, node.start, node.end, node)
        if test.type == TENSOR or test.type not in NUMBERS:
            self.error(
                Code.TYPES,
                node.test.start, node.test.end, f"the condition of '?:' is a bool, this is {test.type}",
                hint="where(condition, a, b) chooses by element" if test.type == TENSOR else None,
            )  # fmt: skip
            return None
        type = _common_type(then.type, orelse.type)
        if type is None:
            self.error(
                Code.TYPES, node.then.start, node.orelse.end, f"the two sides of '?:' are {then.type} and {orelse.type}"
            )
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
                self.error(Code.TYPES, item.start, item.end, f"a list of {elem} can not hold {item.type}")
                return None
            elem = common
        if isinstance(elem, TupleType):
            self.error(Code.TYPES, node.start, node.end, "a list can not hold tuples")
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
