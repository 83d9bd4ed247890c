"""Schema text -> `FunctionSchema`: recursive descent over the tokens of one signature (grammar: docs/formulas.md)."""

from __future__ import annotations

import difflib
import re
from functools import cache
from typing import NoReturn

from codegen.schema.defaults import DefaultError, parse_default
from codegen.schema.types import (
    BASE_TYPES,
    Alias,
    Argument,
    BaseType,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    SchemaError,
    Type,
)
from codegen.source import ParseError, Text

# Leading blanks belong to the match, the token to the group.  An unclosed string or a stray character is a token too:
# the parser meets it where something else is expected.
_TOKEN = re.compile(
    r"""[ \t\r\n]*(
        ->
      | [A-Za-z_][A-Za-z0-9_]*
      | -?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?
      | -inf\b
      | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
      | ::
      | \S
    )""",
    re.VERBOSE | re.ASCII,
)
_CUSTOM_CLASS = "__torch__"
_MAX_SUFFIXES = 8
_MAX_SIZE_DIGITS = 9
_TYPE_WORDS = {
    "tensor": "Tensor",
    "string": "str",
    "String": "str",
    "boolean": "bool",
    "double": "float",
    "long": "int",
    "int64_t": "int",
    "integer": "int",
    "number": "Scalar",
    "Number": "Scalar",
    "dtype": "ScalarType",
    "TensorList": "Tensor[]",
    "IntArrayRef": "int[]",
    "SymIntArrayRef": "SymInt[]",
    "IntList": "int[]",
}


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


def _is_name(token: str) -> bool:
    return token.isidentifier() and token.isascii()


class _Parser:
    """The tokens of one signature, and the place of the next one.  Both lists end with an empty token."""

    __slots__ = ("at", "conventional", "starts", "text", "tokens", "types")

    def __init__(self, text: str, types: frozenset[str] = BASE_TYPES, conventional: bool = True) -> None:
        self.text = text
        self.conventional = conventional
        self.types = types
        self.at = 0
        found = [*_TOKEN.finditer(text)]
        self.tokens: list[str] = [*[match[1] for match in found], ""]
        self.starts: list[int] = [*[match.start(1) for match in found], len(text)]

    # -- errors ---------------------------------------------------------------------------------------------

    def fail(self, message: str, start: int, end: int, hint: str | None = None) -> NoReturn:
        size = len(self.text)
        raise ParseError(message, min(start, size), min(max(start, end), size), hint)

    def fail_here(self, message: str, hint: str | None = None) -> NoReturn:
        """The next token is wrong; at the end of the text, the last one is shown, for there is no other place."""
        token, start = self.tokens[self.at], self.starts[self.at]
        if token in ('"', "'"):
            self.fail("this string is never closed", start, len(self.text))
        if token:
            self.fail(message, start, start + len(token), hint)
        self.fail(message, max(self.last_end() - 1, 0), len(self.text), hint)

    def last_end(self) -> int:
        """Where the token before the next one ends."""
        return self.starts[self.at - 1] + len(self.tokens[self.at - 1]) if self.at else 0

    def found(self) -> str:
        token = self.tokens[self.at]
        return f"found '{token}'" if token else "the text ends"

    def end_of_text(self, what: str) -> None:
        token = self.tokens[self.at]
        if token == ")":
            self.fail_here("unbalanced parenthesis: ')' closes nothing")
        if token:
            self.fail(f"text after the end of the {what}", self.starts[self.at], len(self.text.rstrip()))

    def close(self, closer: str, opening: int, wanted: str) -> None:
        """Take `closer`; `opening` is the index of the token that it closes."""
        token = self.tokens[self.at]
        if token == closer:
            self.at += 1
            return
        if token in ("", "->"):
            kind = "parenthesis" if closer == ")" else "bracket"
            start = self.starts[opening]
            self.fail(f"unbalanced {kind}: '{self.tokens[opening]}' is never closed", start, start + 1)
        self.fail_here(f"expected {wanted}, {self.found()}")

    # -- grammar --------------------------------------------------------------------------------------------

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
        if not _is_name(tokens[self.at]):
            self.fail_here("expected the operator's name")
        base = tokens[self.at]
        self.at += 1
        while tokens[self.at] == "::":
            if not _is_name(tokens[self.at + 1]):
                self.at += 1
                self.fail_here("expected a name after '::'")
            base = f"{base}::{tokens[self.at + 1]}"
            self.at += 2
        if tokens[self.at] != ".":
            return OperatorName(base)
        self.at += 1
        if not _is_name(tokens[self.at]):
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
        if not _is_name(name):
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

    def type(self) -> tuple[Type, Alias | None, int]:
        """A type, the alias annotation inside of it, and where it starts."""
        tokens = self.tokens
        name, start = tokens[self.at], self.starts[self.at]
        if name not in self.types:
            name = self.custom_class() if name == _CUSTOM_CLASS else self.unknown_type(name)
        else:
            self.at += 1
        result: Type = _BASES.get(name) or BaseType(name)
        alias: Alias | None = None
        if tokens[self.at] == "(":
            alias = self.alias()
        suffixes = 0
        while (token := tokens[self.at]) == "?" or token == "[":
            suffixes += 1
            if suffixes > _MAX_SUFFIXES:
                self.fail_here("this type is nested too deeply")
            try:
                if token == "?":
                    result = OptionalType(result)
                    self.at += 1
                else:
                    result = self.list_of(result)
            except SchemaError as error:
                self.fail_here(error.message, error.hint)
        if token == "(":
            self.fail_here("an alias annotation stands right after 'Tensor'", "as in 'Tensor(a!)[]'")
        return result, alias, start

    def list_of(self, elem: Type) -> ListType:
        opening = self.at
        size: int | None = None
        token = self.tokens[opening + 1]
        if token.isdigit() and token.isascii():
            if len(token) > _MAX_SIZE_DIGITS:
                self.at += 1
                self.fail_here("this list is too long")
            size = int(token)
        result = ListType(elem, size)
        self.at += 1 if size is None else 2
        self.close("]", opening, "a size or ']'")
        return result

    def custom_class(self) -> str:
        """`__torch__.torch.classes.space.Name`: a class that a user registered."""
        parts = [_CUSTOM_CLASS]
        self.at += 1
        while self.tokens[self.at] == ".":
            self.at += 1
            if not _is_name(self.tokens[self.at]):
                self.fail_here("expected a name after '.'")
            parts.append(self.tokens[self.at])
            self.at += 1
        return ".".join(parts)

    def unknown_type(self, name: str) -> NoReturn:
        if not _is_name(name):
            if name in ("", "->"):
                opening = self.tokens.index("(") if "(" in self.tokens[: self.at] else None
                if opening is not None and ")" not in self.tokens[opening : self.at]:
                    self.close(")", opening, "a type")
            self.fail_here(f"expected a type, {self.found()}")
        guess = _TYPE_WORDS.get(name)
        if guess is None:
            close = difflib.get_close_matches(name, sorted(self.types), n=1)
            guess = close[0] if close else None
        if guess is None and self.tokens[self.at + 1] in (",", ")", "="):
            self.fail_here(f"argument '{name}' without a type", f"write 'Tensor {name}'")
        hint = None if guess is None else f"did you mean '{guess}'?"
        self.fail_here(f"unknown type '{name}'", hint)

    def alias(self) -> Alias:
        opening = self.at
        self.at += 1
        sets = self.alias_sets()
        is_write = self.tokens[self.at] == "!"
        if is_write:
            self.at += 1
        after: tuple[str, ...] = ()
        if self.tokens[self.at] == "->":
            self.at += 1
            if self.tokens[self.at] == "*":
                after = ("*",)
                self.at += 1
            else:
                after = self.alias_sets()
        self.close(")", opening, "')' after the alias annotation")
        try:
            return Alias(sets, is_write, after)
        except SchemaError as error:
            self.fail(error.message, self.starts[opening], self.last_end(), error.hint)

    def alias_sets(self) -> tuple[str, ...]:
        letters = [self.alias_letter()]
        while self.tokens[self.at] == "|":
            self.at += 1
            letters.append(self.alias_letter())
        return tuple(letters)

    def alias_letter(self) -> str:
        token = self.tokens[self.at]
        numbered = not self.conventional and token[1:].isdigit()
        if not "a" <= token[:1] <= "z" or (len(token) != 1 and not numbered):
            self.fail_here(f"expected a letter that names an alias set, {self.found()}", "as in 'Tensor(a!) self'")
        self.at += 1
        return token

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
        if _is_name(self.tokens[self.at]):
            name = self.tokens[self.at]
            self.at += 1
        try:
            return Return(name, type, alias, start, self.last_end())
        except SchemaError as error:
            self.fail(error.message, error.start, error.end, error.hint)


_BASES = {name: BaseType(name) for name in BASE_TYPES}
