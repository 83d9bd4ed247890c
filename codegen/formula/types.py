"""Types in formulas: template arguments, and the parameters of lambdas."""

from __future__ import annotations

from codegen.formula.cursor import Cursor
from codegen.formula.lexer import NAME, NUMBER, OPERATOR
from codegen.formula.syntax import MAX_DEPTH, Parameter


class Types(Cursor):
    """Reads types; what is no type it leaves to others."""

    __slots__ = ()

    def template(self) -> tuple[str, ...] | None:
        """`<2>`, `<Tensor, Tensor>` before a call, a brace list or `::`.

        None, with nothing taken, where the '<' is less-than: what follows is no list of types and numbers, or
        nothing follows that template arguments stand before.
        """
        before = self.at
        arguments = self.template_arguments()
        if arguments is not None and (
            (self.kinds[self.at] == OPERATOR and self.values[self.at] in ("(", "{"))
            or (self.kinds[self.at] == NAME and self.values[self.at].startswith("::"))
        ):
            return arguments
        self.at = before
        return None

    def template_arguments(self) -> tuple[str, ...] | None:
        """The arguments between `<` and `>`, which stands next; nested ones as part of their text."""
        stack: list[list[str]] = []  # the finished arguments of each open list
        heads: list[str] = []  # the name before each nested list
        while True:
            # A '<' stands next.
            self.at += 1
            stack.append([])
            if len(stack) > MAX_DEPTH:
                return None
            while True:
                argument = self.template_argument()
                if argument is None:
                    return None
                if self.values[self.at] == "<":
                    heads.append(argument)
                    break
                argument += self.reference()
                stack[-1].append(argument)
                while self.close_template():
                    finished = stack.pop()
                    if not stack:
                        return tuple(finished)
                    stack[-1].append(f"{heads.pop()}<{', '.join(finished)}>{self.reference()}")
                if self.values[self.at] != ",":
                    return None
                self.at += 1

    def template_argument(self) -> str | None:
        kind, value = self.kinds[self.at], self.values[self.at]
        if kind not in (NAME, NUMBER) or (kind == NUMBER and not value.isdigit()):
            return None
        self.at += 1
        if value == "const":
            if self.kinds[self.at] != NAME:
                return None
            value = f"const {self.values[self.at]}"
            self.at += 1
        return value

    def reference(self) -> str:
        """The `&`, `&&` and `*` after a type."""
        start = self.at
        while self.kinds[self.at] == OPERATOR and self.values[self.at] in ("&", "&&", "*"):
            self.at += 1
        return "".join(self.values[start : self.at])

    def close_template(self) -> bool:
        """Take a `>`, if it stands next."""
        if self.values[self.at] != ">":
            return False
        self.at += 1
        return True

    def parameters(self) -> tuple[Parameter, ...]:
        opening = self.at
        self.at += 1
        parameters: list[Parameter] = []
        if self.values[self.at] != ")":
            parameters.append(self.parameter())
            while self.values[self.at] == ",":
                self.at += 1
                parameters.append(self.parameter())
        self.expect(")", opening, "',' or ')'")
        return tuple(parameters)

    def parameter(self) -> Parameter:
        at = self.at
        type = self.template_argument()
        if type is None:
            self.fail_at(at, "expected the type of a parameter")
        if self.values[self.at] == "<":
            arguments = self.template_arguments()
            if arguments is None:
                self.fail_at(at, "expected the type of a parameter")
            type = f"{type}<{', '.join(arguments)}>"
        type += self.reference()
        if self.kinds[self.at] != NAME:
            self.fail_at(self.at, f"expected the name of a parameter after '{type}'")
        self.at += 1
        return Parameter(type, self.values[self.at - 1])
