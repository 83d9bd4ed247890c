"""Formula text -> syntax tree: a Pratt parser over the tokens of one formula (grammar: docs/formulas.md).

It recurses where formulas nest, and stops at `MAX_DEPTH`: a tree that it returns is never deeper than that,
whether the depth comes from brackets or from a long chain such as `a + b + c ...`.
"""

from __future__ import annotations

from codegen.formula.cursor import CLOSERS, WORDS
from codegen.formula.lexer import END, NAME, NUMBER, OPERATOR, STRING
from codegen.formula.literals import number, string_value
from codegen.formula.operators import BINARY, CONDITIONAL_PRECEDENCE, UNARY, UNARY_PRECEDENCE
from codegen.formula.syntax import (
    MAX_DEPTH,
    Attribute,
    Binary,
    BoolLiteral,
    BraceList,
    Call,
    Conditional,
    Expr,
    Index,
    Lambda,
    MethodCall,
    Name,
    Parameter,
    StringLiteral,
    Unary,
)
from codegen.formula.types import Types
from codegen.source import ParseError, Text


def parse_formula(text: str | Text) -> Expr:
    """The syntax tree of `text`; raises `ParseError` with offsets into it."""
    value = text if isinstance(text, str) else text.value
    parser = _Parser(value)
    if parser.kinds[0] == END:
        raise ParseError("the formula is empty", 0, len(value))
    result = parser.expression(0)
    if parser.kinds[parser.at] != END:
        parser.fail_after_end()
    return result


class _Parser(Types):
    """Reads expressions.

    Every method that returns a tree leaves its height in `height`: what the parser adds on top may not exceed
    the limit.  `depth` counts the calls of the parser that are under way, for the same reason.
    """

    __slots__ = ("depth", "height")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0
        self.height = 0

    def expression(self, precedence: int) -> Expr:
        """An expression whose operators bind tighter than `precedence`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail_deep()
        first = self.at
        left = self.operand()
        values, kinds = self.values, self.kinds
        while kinds[self.at] == OPERATOR:
            operator = values[self.at]
            power = BINARY.get(operator)
            if power is None:
                if operator == "?" and precedence < CONDITIONAL_PRECEDENCE:
                    left = self.conditional(left, first)
                break
            at = self.at
            if operator == ">" and values[at + 1] == ">" and self.starts[at + 1] == self.ends[at]:
                operator, power = ">>", BINARY[">>"]
            if power <= precedence:
                break
            self.at = at + (2 if operator == ">>" else 1)
            height = self.height
            right = self.expression(power)
            self.grow(height)
            left = Binary(self.starts[first], self.ends[self.at - 1], operator, self.starts[at], left, right)
        self.depth -= 1
        return left

    def grow(self, height: int = 0) -> None:
        """A node was put on top of the last tree and one of `height`."""
        self.height = max(self.height, height) + 1
        if self.height > MAX_DEPTH:
            self.fail_deep()

    def conditional(self, test: Expr, first: int) -> Expr:
        question = self.at
        height = self.height
        self.at += 1
        then = self.expression(0)
        height = max(height, self.height)
        if self.values[self.at] != ":" or self.kinds[self.at] != OPERATOR:
            self.fail_at(question, "'?' without ':'", "write 'condition ? value : other value'")
        self.at += 1
        orelse = self.expression(0)
        self.grow(height)
        return Conditional(self.starts[first], self.ends[self.at - 1], test, then, orelse)

    def operand(self) -> Expr:
        at = self.at
        kind = self.kinds[at]
        if kind == OPERATOR and self.values[at] in UNARY:
            self.at = at + 1
            operand = self.expression(UNARY_PRECEDENCE)
            self.grow()
            return Unary(self.starts[at], self.ends[self.at - 1], self.values[at], operand)
        return self.postfix(self.primary(), at)

    def primary(self) -> Expr:
        at = self.at
        kind, value = self.kinds[at], self.values[at]
        start, end = self.starts[at], self.ends[at]
        self.height = 1
        if kind == NAME:
            self.at = at + 1
            if value == "true" or value == "false":
                return BoolLiteral(start, end, value == "true")
            return self.named(at)
        if kind == NUMBER:
            self.at = at + 1
            return number(value, start, end)
        if kind == STRING:
            self.at = at + 1
            return StringLiteral(start, end, string_value(value, start))
        if kind == OPERATOR:
            if value == "(":
                self.at = at + 1
                inner = self.expression(0)
                self.expect(")", at, "')'")
                return inner
            if value == "{":
                items = self.items(at)
                return BraceList(start, self.ends[self.at - 1], None, items)
            if value == "[":
                return self.lambda_()
        self.fail_operand()

    def named(self, at: int) -> Expr:
        """What a name begins: a variable, a call, or a typed brace list.  The name itself has been taken."""
        id = self.values[at]
        if id in WORDS:
            self.at = at
            if at and self.kinds[at - 1] != OPERATOR:
                self.fail_at(at, *self.wrong_operator())
            self.fail_at(at, f"'{id}' is no value", f"write '{WORDS[id]}'")
        template: tuple[str, ...] = ()
        while self.values[self.at] == "<" and (arguments := self.template()) is not None:
            if self.kinds[self.at] == NAME:  # `std::numeric_limits<float>::max`: the rest of the name
                id = f"{id}<{', '.join(arguments)}>{self.values[self.at]}"
                self.at += 1
            else:
                template = arguments
                break
        name = Name(self.starts[at], self.ends[self.at - 1] if not template else self.ends[at], id)
        following = self.values[self.at] if self.kinds[self.at] == OPERATOR else ""
        if following == "(":
            args = self.items(self.at)
            return Call(self.starts[at], self.ends[self.at - 1], name, template, args)
        if following == "{":
            items = self.items(self.at)
            type_name = f"{id}<{', '.join(template)}>" if template else id
            return BraceList(self.starts[at], self.ends[self.at - 1], type_name, items)
        return name

    def postfix(self, expr: Expr, first: int) -> Expr:
        """Methods, attributes, indexing and calls after `expr`."""
        values, kinds = self.values, self.kinds
        start = self.starts[first]
        while kinds[self.at] == OPERATOR:
            operator = values[self.at]
            if operator == "." or operator == "->":
                expr = self.member(expr, start)
            elif operator == "[":
                opening = self.at
                self.at += 1
                height = self.height
                index = self.expression(0)
                self.expect("]", opening, "']'")
                self.grow(height)
                expr = Index(start, self.ends[self.at - 1], expr, index)
            elif operator == "(":
                if not isinstance(expr, Name | Lambda):
                    self.fail_at(self.at, "this can not be called", "a call is 'name(...)' or 'value.name(...)'")
                height = self.height
                args = self.items(self.at)
                self.height = max(self.height, height + 1)
                expr = Call(start, self.ends[self.at - 1], expr, (), args)
            else:
                break
        return expr

    def member(self, receiver: Expr, start: int) -> Expr:
        arrow = self.values[self.at] == "->"
        self.at += 1
        at = self.at
        name = self.values[at]
        if self.kinds[at] != NAME or ":" in name:
            self.fail_at(at, f"expected a name after '{'->' if arrow else '.'}'")
        self.at += 1
        height = self.height
        template: tuple[str, ...] = ()
        if self.values[self.at] == "<":
            template = self.template() or ()
        if self.values[self.at] == "(" and self.kinds[self.at] == OPERATOR:
            args = self.items(self.at)
            self.height -= 1
            self.grow(height)
            return MethodCall(start, self.ends[self.at - 1], receiver, name, self.starts[at], arrow, template, args)
        self.grow()
        return Attribute(start, self.ends[at], receiver, name, self.starts[at], arrow)

    def items(self, opening: int) -> tuple[Expr, ...]:
        """What stands between the brackets that the token `opening` opens.  Leaves the height with the node over it."""
        closer = CLOSERS[self.values[opening]]
        self.at = opening + 1
        if self.values[self.at] == closer and self.kinds[self.at] == OPERATOR:
            self.at += 1
            self.height = 2
            return ()
        items: list[Expr] = []
        height = 0
        while True:
            items.append(self.expression(0))
            height = max(height, self.height)
            if self.values[self.at] != "," or self.kinds[self.at] != OPERATOR:
                break
            self.at += 1
        self.expect(closer, opening, f"',' or '{closer}'")
        self.height = height
        self.grow()
        return tuple(items)

    def lambda_(self) -> Expr:
        """`[&](const Tensor& x) { return body; }`, with or without parameters."""
        first = self.at
        self.at += 1
        captures: list[str] = []
        while self.values[self.at] != "]":
            value, kind = self.values[self.at], self.kinds[self.at]
            if kind != NAME and value not in ("&", "=", ",", "*"):
                if kind == END:
                    self.expect("]", first, "']'")
                self.fail_at(self.at, "expected the captures of a lambda", "a list is written '{a, b}', a lambda '[&]'")
            captures.append(", " if value == "," else value)
            self.at += 1
        self.at += 1
        parameters: tuple[Parameter, ...] = ()
        if self.values[self.at] == "(" and self.kinds[self.at] == OPERATOR:
            parameters = self.parameters()
        opening = self.at
        if self.values[opening] != "{":
            self.fail_at(opening, "expected the body of a lambda", "a list is written '{a, b}', a lambda '[&] { ... }'")
        self.at += 1
        if self.values[self.at] != "return":
            self.fail_at(self.at, "expected 'return'", "the body of a lambda is one 'return expression;'")
        self.at += 1
        body = self.expression(0)
        if self.values[self.at] != ";":
            self.expect("}", opening, "';'")
            self.fail_at(self.at - 1, "expected ';' after the expression")
        self.at += 1
        self.expect("}", opening, "'}'")
        self.grow()
        return Lambda(self.starts[first], self.ends[self.at - 1], "".join(captures), parameters, body)
