"""Schemas of operators as objects, `ops.aten.add.Tensor._schema`, for programs that ask what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from codegen.schema.defaults import Default, EnumDefault, default_value
from codegen.schema.types import Alias, FunctionSchema, ListType, OperatorName, Return, Type, base_type
from codegen.schema.types import Argument as SchemaArgument

if TYPE_CHECKING:
    from runtime.base.modes import Variant
    from runtime.call.dispatch import Operator


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """What memory an argument or result shares, and whether it is written."""

    before_set: frozenset[str]
    is_write: bool


class Argument:
    """An argument or a result of a schema."""

    def __init__(self, source: SchemaArgument | Return, kwarg_only: bool = False) -> None:
        self.name = source.name or ""
        self.type = source.type
        self.kwarg_only = kwarg_only
        self.alias_info = (
            None if source.alias is None else AliasInfo(frozenset(source.alias.sets), source.alias.is_write)
        )
        self.default_value: Any = None
        self._has_default = isinstance(source, SchemaArgument) and source.default is not None
        if isinstance(source, SchemaArgument) and source.default is not None:
            self.default_value = _shown_default(source.type, default_value(source))

    def has_default_value(self) -> bool:
        """Whether a call may leave this argument out."""
        return self._has_default

    @property
    def is_out(self) -> bool:
        """Whether it is keyword-only and written."""
        return self.kwarg_only and self.is_write

    @property
    def is_write(self) -> bool:
        """Whether it is written."""
        return self.alias_info is not None and self.alias_info.is_write

    def __repr__(self) -> str:
        return f"<Argument {self.type} {self.name}>"


def _shown_default(type: Type, value: Default) -> Any:
    """A default as callers look at it: named constants are their names, lists have all of their elements."""
    if isinstance(value, EnumDefault):
        return value.name
    if isinstance(type, ListType) and type.size is not None and not isinstance(value, tuple):
        value = (value,) * type.size
    return (
        [each.name if isinstance(each, EnumDefault) else each for each in value] if isinstance(value, tuple) else value
    )


class OperatorSchema:
    """A schema as callers look at it; `str()` gives its text."""

    def __init__(self, schema: FunctionSchema) -> None:
        self._parsed = schema
        self.name = schema.name.base
        self.overload_name = schema.name.overload
        self.arguments = [
            *(Argument(argument) for argument in schema.positional),
            *(Argument(argument, kwarg_only=True) for argument in (*schema.kwarg_only, *schema.out)),
        ]
        self.returns = [Argument(value) for value in schema.returns]

    @property
    def is_mutable(self) -> bool:
        """Whether some argument is written."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        return str(self._parsed)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperatorSchema) and self._parsed == other._parsed

    def __hash__(self) -> int:
        return hash(str(self))


def schema_of(operator: Operator, variant: Variant, qualname: str, space: str) -> OperatorSchema:
    """The schema of an operator, or of a variant of it, by its whole name."""
    return OperatorSchema(_qualified(_variant_schema(operator, variant, qualname), space))


def _qualified(schema: FunctionSchema, space: str) -> FunctionSchema:
    base = schema.name.base
    if "::" in base:
        return schema
    return replace(schema, name=OperatorName(f"{space}::{base}", schema.name.overload), conventional=False)


def _variant_schema(operator: Operator, variant: Variant, qualname: str) -> FunctionSchema:
    """The schema of a generated operator, or of its in-place or out variant."""
    schema = operator.parsed_schema
    if variant == "call":
        return schema
    base, _, overload = qualname.partition("::")[2].partition(".")
    schema = replace(schema, name=OperatorName(base, overload), conventional=False)
    if variant == "inplace":
        written = Alias(("a",), True)
        positional = tuple(
            replace(argument, alias=written) if argument.name == "self" else argument for argument in schema.positional
        )
        return replace(schema, positional=positional, returns=(replace(schema.returns[0], alias=written),))
    aliases = [Alias((letter,), True) for letter, _ in zip("abcdefghij", schema.returns, strict=False)]
    single = len(schema.returns) == 1
    out = tuple(
        SchemaArgument("out" if single else value.name or f"out{number}", base_type(value.type), None, alias)
        for number, (value, alias) in enumerate(zip(schema.returns, aliases, strict=True))
    )
    returns = tuple(replace(value, alias=alias) for value, alias in zip(schema.returns, aliases, strict=True))
    return replace(schema, out=out, returns=returns)
