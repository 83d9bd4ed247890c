"""Schema text -> `FunctionSchema`: recursive descent over the tokens of one signature (grammar: docs/formulas.md)."""

from __future__ import annotations

from functools import cache

from codegen.schema.cursor import is_name
from codegen.schema.defaults import DefaultError, parse_default
from codegen.schema.type_parser import TypeParser
from codegen.schema.types import (
    BASE_TYPES,
    Argument,
    FunctionSchema,
    OperatorName,
    Return,
    SchemaError,
    Type,
)
from codegen.source import ParseError, Text


def parse_schema(
    text: str | Text,
    *,
    free_form: bool = False,
    types: frozenset[str] = BASE_TYPES,
    conventional: bool = True,
) -> FunctionSchema:
    """The schema that `text` says.

    A schema prints back to exactly the text it was read from, so blanks stand where PyTorch has them;
    `free_form` lets them stand anywhere, and without `conventional` names and aliases need not mean what they mean in
    native_functions.yaml: both are for signatures that users write at run time.  `types` are the known ones.
    """
    return _parse_schema(text if isinstance(text, str) else text.value, free_form, types, conventional)


# A derivative repeats the signature of its operator, and so does foreign YAML those of ours.
@cache
def _parse_schema(value: str, free_form: bool, types: frozenset[str], conventional: bool) -> FunctionSchema:
    schema = _Parser(value, types, conventional).schema()
    if not free_form:
        _check_spacing(value, str(schema))
    return schema


def parse_type(text: str | Text) -> Type:
    """The type that `text` says: `int[2]?`."""
    value = text if isinstance(text, str) else text.value
    parser = _Parser(value)
    type, alias, _ = parser.type()
    if alias is not None:
        parser.fail("an alias annotation stands in a signature only", value.index("("), len(value))
    parser.end_of_text("type")
    _check_spacing(value, str(type))
    return type


def parse_operator_name(text: str | Text) -> OperatorName:
    """The name that `text` says: `add_.Tensor`."""
    value = text if isinstance(text, str) else text.value
    parser = _Parser(value)
    name = parser.operator_name()
    parser.end_of_text("operator name")
    _check_spacing(value, str(name))
    return name


def _check_spacing(text: str, printed: str) -> None:
    """What parsed but prints otherwise differs in blanks (or in leading zeros)."""
    if text == printed:
        return
    length = min(len(text), len(printed))
    at = next((i for i in range(length) if text[i] != printed[i]), length)
    if at < len(text) and text[at].isspace():
        message = "a blank too many"
    elif at < len(printed) and printed[at] == " ":
        message = "a blank is missing"
    else:
        message = "this is not written as signatures are"
    raise ParseError(message, min(at, len(text)), min(at + 1, len(text)), f"write '{printed}'")


class _Parser(TypeParser):
    """Reads signatures, and names of operators."""

    __slots__ = ()

    def schema(self) -> FunctionSchema:
        if not self.tokens[0]:
            self.fail("the signature is empty", 0, 0, "write 'name(Tensor self) -> Tensor'")
        name = self.operator_name()
        name_end = self.last_end()
        positional, kwarg_only, out = self.arguments()
        if self.tokens[self.at] != "->":
            if self.tokens[self.at] == ")":
                self.fail_here("unbalanced parenthesis: ')' closes nothing")
            self.fail_here("expected '->' and what is returned", "write '-> Tensor', or '-> ()' for nothing")
        self.at += 1
        returns = self.returns()
        self.end_of_text("signature")
        try:
            return FunctionSchema(name, positional, kwarg_only, out, returns, name_end, self.conventional)
        except SchemaError as error:
            self.fail(error.message, error.start, error.end or name_end, error.hint)

    def operator_name(self) -> OperatorName:
        tokens = self.tokens
        if not is_name(tokens[self.at]):
            self.fail_here("expected the operator's name")
        base = tokens[self.at]
        self.at += 1
        while tokens[self.at] == "::":
            if not is_name(tokens[self.at + 1]):
                self.at += 1
                self.fail_here("expected a name after '::'")
            base = f"{base}::{tokens[self.at + 1]}"
            self.at += 2
        if tokens[self.at] != ".":
            return OperatorName(base)
        self.at += 1
        if not is_name(tokens[self.at]):
            self.fail_here("expected the overload's name after '.'")
        self.at += 1
        return OperatorName(base, tokens[self.at - 1])

    def arguments(self) -> tuple[tuple[Argument, ...], tuple[Argument, ...], tuple[Argument, ...]]:
        tokens, opening = self.tokens, self.at
        if tokens[opening] != "(":
            self.fail_here("expected '(' and the arguments")
        self.at += 1
        positional: list[Argument] = []
        kwarg_only: list[Argument] = []
        out: list[Argument] = []
        star: int | None = None
        while tokens[self.at] != ")":
            if tokens[self.at] == "*":
                if star is not None:
                    self.fail_here("a second '*'", "one '*' makes all arguments after it keyword-only")
                star = self.at
                self.at += 1
            else:
                argument = self.argument()
                if star is None:
                    positional.append(argument)
                elif argument.is_write:
                    out.append(argument)
                elif out:
                    self.fail(
                        f"'{argument.name}' is not written, but stands after out argument '{out[-1].name}'",
                        argument.start,
                        argument.end,
                        "out arguments come last",
                    )
                else:
                    kwarg_only.append(argument)
            if tokens[self.at] != ",":
                break
            self.at += 1
            if tokens[self.at] == ")":
                self.at -= 1
                self.fail_here("expected an argument after ','")
        if star is not None and not kwarg_only and not out and tokens[self.at] == ")":
            self.fail("no argument stands after '*'", self.starts[star], self.starts[star] + 1)
        self.close(")", opening, "',' or ')'")
        return tuple(positional), tuple(kwarg_only), tuple(out)

    def argument(self) -> Argument:
        start = self.starts[self.at]
        type, alias, _ = self.type()
        name = self.tokens[self.at]
        if not is_name(name):
            if name in (",", ")", "="):
                shown = self.text[start : self.last_end()]
                self.fail("argument without a name", start, self.last_end(), f"write '{shown} name'")
            if name == "->" or not name:
                self.close(")", self.tokens.index("("), "an argument's name")
            self.fail_here(f"expected the argument's name after its type, {self.found()}")
        self.at += 1
        default: str | None = None
        if self.tokens[self.at] == "=":
            self.at += 1
            default = self.default(name, type)
        try:
            return Argument(name, type, default, alias, start, self.last_end())
        except SchemaError as error:
            self.fail(error.message, error.start, error.end, error.hint)

    def default(self, name: str, type: Type) -> str:
        tokens, opening = self.tokens, self.at
        start = self.starts[opening]
        first = tokens[opening]
        if first in ("", ",", ")", "->"):
            self.at -= 1
            self.fail_here(f"expected the default of '{name}' after '='")
        if first in ("'", '"'):
            self.fail_here("expected a string")
        self.at += 1
        if first == "[":
            while tokens[self.at] not in ("]", "", "->", ")", "=", '"', "'"):
                self.at += 1
            self.close("]", opening, "',' or ']'")
        text = self.text[start : self.last_end()]
        try:
            parse_default(type, text)
        except DefaultError as error:
            self.fail(error.message, start, self.last_end(), error.hint)
        return text

    def returns(self) -> tuple[Return, ...]:
        if self.tokens[self.at] != "(":
            return (self.result(),)
        opening = self.at
        self.at += 1
        values: list[Return] = []
        if self.tokens[self.at] != ")":
            values.append(self.result())
            while self.tokens[self.at] == ",":
                self.at += 1
                values.append(self.result())
        self.close(")", opening, "',' or ')'")
        return tuple(values)

    def result(self) -> Return:
        if not self.tokens[self.at]:
            self.fail_here(f"expected what is returned after '{self.tokens[self.at - 1]}'")
        type, alias, start = self.type()
        name: str | None = None
        if is_name(self.tokens[self.at]):
            name = self.tokens[self.at]
            self.at += 1
        try:
            return Return(name, type, alias, start, self.last_end())
        except SchemaError as error:
            self.fail(error.message, error.start, error.end, error.hint)
