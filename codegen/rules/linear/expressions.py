"""The degrees of Python expressions over operators."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codegen.python_syntax import PREFIXES, SIGNS
from codegen.rules.linear.calls import Argument
from codegen.rules.linear.degree import Degree, Value, conjugated, either, either_value, flat, opaque, varies
from codegen.rules.linear.python_calls import Calls
from codegen.signs import Sign, binary_sign, prefix_sign

# Attributes that give the elements of a Tensor, conjugated or in another order; those that give facts about it.
_LINEAR_ATTRIBUTES = {"T": False, "mT": False, "H": True, "mH": True}  # whether they conjugate
_FACTS = frozenset((
    "shape", "ndim", "dtype", "device", "layout", "requires_grad", "is_leaf", "is_meta", "itemsize", "flags", "size",
    "strides",
))  # fmt: skip  # fmt: skip


class Expressions(Calls):
    """The degrees of the expressions of one function, whose variables have known degrees."""

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=value):
                return Degree.ZERO if value is None or (value == 0 and value is not False) else Degree.CONSTANT
            case ast.Name(id=name):
                return self.variables.get(name, Degree.CONSTANT)
            case ast.Call():
                return self.call(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.sign(node, op, left, right)
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
            case ast.IfExp(test=test, body=body, orelse=orelse) if (settled := self.settled(test)) is not None:
                return self.value(body if settled else orelse)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                decided = self.truth(test)
                either_one = either_value(self.value(body), self.value(orelse))
                if varies(decided):
                    self.blame(test, "this condition depends on it")
                    return Degree.UNKNOWN if decided is Degree.UNKNOWN else Degree.NONLINEAR
                return either_one
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
        return opaque(
            flat(self.variables.get(part.id, Degree.CONSTANT)) for part in ast.walk(node) if isinstance(part, ast.Name)
        )

    def truth(self, node: ast.expr) -> Degree:
        """The degree of what a test asks of a value."""
        is_list = isinstance(node, ast.Name) and _is_list(self.annotations.get(node.id))
        if is_list or self.operators.complex_alone:
            return Degree.CONSTANT  # of a list, whether it has items
        return flat(self.value(node))

    def settled(self, test: ast.expr) -> bool | None:
        """What a test says, where that is known."""
        match test:
            case ast.Call(func=ast.Attribute(attr="is_complex")) | ast.Attribute(attr="is_complex"):
                return True if self.operators.complex_alone else None
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.settled(operand)
                return None if inner is None else not inner
            case ast.BoolOp(op=op, values=tests):
                decisive = isinstance(op, ast.Or)
                known = [self.settled(each) for each in tests]
                if decisive in known:
                    return decisive
                return None if None in known else not decisive
        return None

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
            return conjugated(value) if _LINEAR_ATTRIBUTES[node.attr] else value
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
        base = self.operators.written(_sign(op))
        if not any(map(varies, degrees)):
            multiplied = isinstance(op, ast.Mult) and Degree.ZERO in degrees
            return Degree.ZERO if multiplied or set(degrees) == {Degree.ZERO} else Degree.CONSTANT
        if base is None:
            return opaque(degrees)
        return flat(self.operator(node, base, None, arguments, {}))


def _sign(op: ast.operator | ast.unaryop) -> Sign | None:
    prefix = PREFIXES.get(type(op))
    return binary_sign(SIGNS.get(type(op), "")) if prefix is None else prefix_sign(prefix)


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
