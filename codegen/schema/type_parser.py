"""Types of a signature, with the alias annotations in them."""

from __future__ import annotations

import difflib
from typing import NoReturn

from codegen.schema.cursor import Cursor, is_name
from codegen.schema.types import BASE_TYPES, Alias, BaseType, ListType, OptionalType, SchemaError, Type
from codegen.words import Meant

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
_BASES = {name: BaseType(name) for name in BASE_TYPES}


class TypeParser(Cursor):
    """Reads types.

    Args:
        text: of the signature.
        types: the names of the known ones.
        conventional: whether names and aliases mean what they mean in native_functions.yaml.
    """

    __slots__ = ("conventional", "types")

    def __init__(self, text: str, types: frozenset[str] = BASE_TYPES, conventional: bool = True) -> None:
        super().__init__(text)
        self.types = types
        self.conventional = conventional

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
            if not is_name(self.tokens[self.at]):
                self.fail_here("expected a name after '.'")
            parts.append(self.tokens[self.at])
            self.at += 1
        return ".".join(parts)

    def unknown_type(self, name: str) -> NoReturn:
        if not is_name(name):
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
        hint = None if guess is None else Meant(name, guess)
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
