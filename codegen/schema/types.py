"""Operator schemas as data: types, arguments, returns, names.  `str()` of each is the text it was read from.

The constructors refuse what can not exist: they raise `SchemaError`, which says where in the schema's text
the contradiction stands.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from codegen.signs import SIGNS
from codegen.words import PLACEMENT_FLAGS, PLACEMENT_TYPES, counted

# fmt: off
BASE_TYPES = frozenset((
    "Tensor", "int", "SymInt", "Scalar", "float", "bool", "SymBool", "str", "ScalarType", "Layout", "Device",
    "MemoryFormat", "Generator", "Dimname", "Storage", "Stream", "DeviceIndex", "QScheme", "ConstQuantizerPtr",
    "DimVector", "GraphModule",
))

# fmt: on

# Operators that Python spells with an augmented assignment: `__iand__` writes in place, `__index__` does not.  Python 2
# had `__idiv__`.
_AUGMENTED = frozenset((*(sign.method for sign in SIGNS if sign.is_augmented), "div"))


class SchemaError(ValueError):
    """A schema contradicts itself; `start` and `end` are the place in its text (0 and 0: the name)."""

    def __init__(self, message: str, start: int = 0, end: int = 0, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.hint = hint


@dataclass(frozen=True, slots=True)
class BaseType:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionalType:
    elem: Type

    def __post_init__(self) -> None:
        if isinstance(self.elem, OptionalType):
            raise SchemaError(f"'{self.elem}' is optional already", hint="one '?' is enough")

    def __str__(self) -> str:
        return f"{self.elem}?"


@dataclass(frozen=True, slots=True)
class ListType:
    elem: Type
    size: int | None = None

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 1:
            raise SchemaError(
                f"a list of {self.size} elements is no use as an argument", hint="'[]' is a list of any length"
            )

    def __str__(self) -> str:
        return f"{self.elem}[{'' if self.size is None else self.size}]"


Type = BaseType | OptionalType | ListType

TENSOR = BaseType("Tensor")
DTYPE = BaseType("ScalarType")
BOOL = BaseType("bool")


def required(type: Type) -> Type:
    """The type of what is given where an optional value is."""
    return type.elem if isinstance(type, OptionalType) else type


def is_list_of(type: Type, elem: BaseType) -> bool:
    """Whether values, where there are any, are lists of such."""
    inner = required(type)
    return isinstance(inner, ListType) and inner.elem == elem


def base_type(type: Type) -> BaseType:
    """`type` without its `?` and `[]`."""
    while not isinstance(type, BaseType):
        type = type.elem
    return type


@dataclass(frozen=True, slots=True)
class Alias:
    """`(a)`, `(a!)`, `(a -> *)`, `(a|b)`: which memory a value shares, and whether it is written."""

    sets: tuple[str, ...]
    is_write: bool
    after: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.sets:
            raise SchemaError("an alias annotation names at least one set", hint="as in 'Tensor(a) self'")
        if self.is_write and len(self.sets) > 1:
            raise SchemaError(f"'{self}' writes two sets at once", hint="what is written belongs to one set: '(a!)'")
        if len(self.sets) > 1 and len(self.after) > 1:
            raise SchemaError(f"'{self}' has several sets both before and after '->'")

    def __str__(self) -> str:
        after = f" -> {'|'.join(self.after)}" if self.after else ""
        return f"({'|'.join(self.sets)}{'!' if self.is_write else ''}{after})"

    def same_memory(self, other: Alias | None) -> bool:
        """Whether `other` names the same sets and treats them alike."""
        return other is not None and self.sets == other.sets and self.is_write == other.is_write


def _typed(type: Type, alias: Alias | None) -> str:
    text = str(type)
    return text if alias is None else f"Tensor{alias}{text[len('Tensor') :]}"


def _check_alias(type: Type, alias: Alias | None, start: int, end: int) -> None:
    if alias is not None and base_type(type) != TENSOR:
        raise SchemaError(
            f"'{alias}' says which memory a Tensor shares, but the type is '{type}'", start, end, "only Tensors alias"
        )


@dataclass(frozen=True, slots=True)
class Argument:
    """`Tensor(a!) self`, `int[2] stride=1`.  `default` is the text after `=`; start/end: place in the schema's text."""

    name: str
    type: Type
    default: str | None = None
    alias: Alias | None = None
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.alias is not None:
            _check_alias(self.type, self.alias, self.start, self.end)

    @property
    def is_write(self) -> bool:
        return self.alias is not None and self.alias.is_write

    @property
    def is_placement(self) -> bool:
        """Whether it says where and how a Tensor lies in memory, which kernels on arrays do not take."""
        inner = str(self.type.elem if isinstance(self.type, OptionalType) else self.type)
        return inner in PLACEMENT_TYPES or (inner == "bool" and self.name in PLACEMENT_FLAGS)

    def __str__(self) -> str:
        default = "" if self.default is None else f"={self.default}"
        return f"{_typed(self.type, self.alias)} {self.name}{default}"


@dataclass(frozen=True, slots=True)
class Return:
    name: str | None
    type: Type
    alias: Alias | None = None
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.alias is not None:
            _check_alias(self.type, self.alias, self.start, self.end)

    @property
    def is_write(self) -> bool:
        return self.alias is not None and self.alias.is_write

    def __str__(self) -> str:
        text = _typed(self.type, self.alias)
        return text if self.name is None else f"{text} {self.name}"


@dataclass(frozen=True, slots=True)
class OperatorName:
    """`add_.Tensor`: `base` is `add_` as written, `overload` is `Tensor` or ''."""

    base: str
    overload: str = ""

    def __str__(self) -> str:
        return f"{self.base}.{self.overload}" if self.overload else self.base

    @property
    def python_name(self) -> str:
        """`add.Tensor` -> `add_Tensor`: the Python function that stands for it, where nothing else is said."""
        return f"{self.base}_{self.overload}" if self.overload else self.base

    @property
    def function_name(self) -> str:
        """`add_Tensor`, `sin_default`: the function that is printed for it, by its whole name."""
        return f"{self.base}_{self.overload or 'default'}"

    @property
    def is_dunder(self) -> bool:
        return len(self.base) > 4 and self.base.startswith("__") and self.base.endswith("__")

    @property
    def is_inplace(self) -> bool:
        """`add_`, `__iand__`: the name of an operator that writes its `self`."""
        if not self.base.endswith("_"):
            return False
        return not self.is_dunder or (self.base[2] == "i" and self.base[3:-2] in _AUGMENTED)

    @property
    def functional_name(self) -> OperatorName:
        """`add_.Tensor` -> `add.Tensor`, `__iand__` -> `__and__`; a functional name is its own."""
        if not self.is_inplace:
            return self
        base = f"__{self.base[3:]}" if self.is_dunder else self.base[:-1]
        return OperatorName(base, self.overload)

    @property
    def inplace_name(self) -> OperatorName:
        """`add.Tensor` -> `add_.Tensor`, `__and__` -> `__iand__`; an in-place name is its own."""
        if self.is_inplace:
            return self
        base = f"__i{self.base[2:]}" if self.is_dunder else f"{self.base}_"
        return OperatorName(base, self.overload)


class SchemaKind(enum.Enum):
    FUNCTIONAL = "functional"  # writes nothing
    INPLACE = "inplace"  # writes `self`, and is named so
    OUT = "out"  # writes its results into keyword-only arguments
    MUTABLE = "mutable"  # writes some other argument


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """`name(positional, *, kwarg_only, out) -> returns`; `name_end` is where the name ends in the schema's text.

    `conventional` schemas keep to what names and alias annotations mean in native_functions.yaml; those that users
    write at run time need not.
    """

    name: OperatorName
    positional: tuple[Argument, ...]
    kwarg_only: tuple[Argument, ...]
    out: tuple[Argument, ...]
    returns: tuple[Return, ...]
    name_end: int = field(default=0, compare=False)
    conventional: bool = field(default=True, compare=False)
    _text: str = field(default="", init=False, repr=False, compare=False)  # each is printed several times

    def __hash__(self) -> int:
        return hash(self.name)  # few schemas have the same, and trees of formulas are full of them

    def __post_init__(self) -> None:
        object.__setattr__(self, "_text", self._printed())
        _check_arguments(self)
        if not self.conventional:
            return
        if self.name.is_inplace:
            _check_inplace(self)
        if any(argument.alias for argument in self.all_arguments) or any(value.alias for value in self.returns):
            _check_aliases(self)

    def __str__(self) -> str:
        return self._text

    def _printed(self) -> str:
        parts = [str(argument) for argument in self.positional]
        if self.kwarg_only or self.out:
            parts.append("*")
            parts += [str(argument) for argument in (*self.kwarg_only, *self.out)]
        if len(self.returns) == 1:
            returns = str(self.returns[0])
        else:
            returns = f"({', '.join([str(value) for value in self.returns])})"
        return f"{self.name}({', '.join(parts)}) -> {returns}"

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What a caller gives: all arguments but `out`."""
        return self.positional + self.kwarg_only

    @property
    def all_arguments(self) -> tuple[Argument, ...]:
        return self.positional + self.kwarg_only + self.out

    @property
    def self_argument(self) -> Argument | None:
        """The positional argument named `self`; it need not be the first (`where.self`)."""
        return next((argument for argument in self.positional if argument.name == "self"), None)

    @property
    def kind(self) -> SchemaKind:
        if self.out:
            return SchemaKind.OUT
        if self.name.is_inplace:
            return SchemaKind.INPLACE
        if any(argument.is_write for argument in self.positional):
            return SchemaKind.MUTABLE
        return SchemaKind.FUNCTIONAL

    @property
    def is_factory(self) -> bool:
        """Whether it makes a tensor of the dtype, and in the place, that its arguments say."""
        pinned = any(argument.name == "pin_memory" and argument.is_placement for argument in self.arguments)
        return pinned and any(a.name == "dtype" and base_type(a.type) == DTYPE for a in self.arguments)

    @property
    def masks_outputs(self) -> bool:
        """Whether an argument says which results are wanted (`bool[3] output_mask`); the others are None."""
        return len(self.returns) > 1 and any(is_list_of(argument.type, BOOL) for argument in self.arguments)

    @property
    def writes(self) -> bool:
        """Whether it writes an argument that is not an out argument."""
        return any(argument.is_write for argument in self.arguments)

    @property
    def is_view(self) -> bool:
        """Whether a result shares memory with an argument that is not written."""
        shared = {name for argument in self.arguments for name in _read_sets(argument)}
        return any(name in shared for value in self.returns for name in _read_sets(value))


def _read_sets(value: Argument | Return) -> tuple[str, ...]:
    return () if value.alias is None or value.alias.is_write else value.alias.sets


def _check_arguments(schema: FunctionSchema) -> None:
    """Names are unique, what Python can not call is refused, and out arguments are those that are written."""
    seen: set[str] = set()
    for argument in schema.all_arguments:
        if argument.name in seen:
            raise SchemaError(
                f"two arguments are named '{argument.name}'", argument.start, argument.end, "rename one of them"
            )
        seen.add(argument.name)
    defaulted: Argument | None = None
    for argument in schema.positional:
        if argument.default is not None:
            defaulted = argument
        elif defaulted is not None:
            raise SchemaError(
                f"'{argument.name}' has no default, but '{defaulted.name}' before it has one",
                argument.start,
                argument.end,
                f"give '{argument.name}' a default, or put '*' before it",
            )
    for argument in schema.kwarg_only:
        if argument.is_write:
            raise SchemaError(
                f"'{argument.name}' is keyword-only and written, so it is an out argument", argument.start, argument.end
            )
    for argument in schema.out:
        if not argument.is_write:
            raise SchemaError(
                f"out argument '{argument.name}' is not written", argument.start, argument.end, "write 'Tensor(a!)'"
            )


def _check_inplace(schema: FunctionSchema) -> None:
    """An in-place operator writes `self` and returns it; a list can not be chained on, so it returns nothing."""
    name, first = schema.name, schema.self_argument
    if schema.out:
        raise SchemaError(
            f"'{name}' is named as an in-place operator, but has out arguments",
            schema.out[0].start,
            schema.out[0].end,
            f"the out= variant of '{name.functional_name.base}' is named '{name.functional_name.base}.out'",
        )
    if first is None:
        raise SchemaError(
            f"'{name}' is named as an in-place operator, but has no argument 'self'",
            0,
            schema.name_end,
            "an in-place operator writes 'Tensor(a!) self'",
        )
    if not first.is_write:
        alias = Alias(first.alias.sets[:1], True) if first.alias is not None else Alias(("a",), True)
        wanted = f"{_typed(first.type, alias)} self" if base_type(first.type) == TENSOR else "Tensor(a!) self"
        raise SchemaError(
            f"in-place operator '{name}' does not say that it writes 'self'",
            first.start,
            first.end,
            f"write '{wanted}'",
        )
    if first.type == TENSOR:
        assert first.alias is not None
        if len(schema.returns) != 1 or not first.alias.same_memory(schema.returns[0].alias):
            start, end = _returns_place(schema)
            raise SchemaError(
                f"in-place operator '{name}' has to return 'self'",
                start,
                end,
                f"write '-> Tensor({first.alias.sets[0]}!)'",
            )
    elif schema.returns:
        start, end = _returns_place(schema)
        raise SchemaError(f"in-place operator '{name}' on '{first.type}' returns nothing", start, end, "write '-> ()'")


def _returns_place(schema: FunctionSchema) -> tuple[int, int]:
    return (schema.returns[0].start, schema.returns[-1].end) if schema.returns else (0, schema.name_end)


def _check_aliases(schema: FunctionSchema) -> None:
    owners: dict[str, Argument] = {}
    for argument in schema.all_arguments:
        for letter in argument.alias.sets if argument.alias is not None else ():
            other = owners.setdefault(letter, argument)
            if other is not argument and (other.is_write or argument.is_write):
                raise SchemaError(
                    f"'{argument.name}' and '{other.name}' share the alias set '{letter}', and one of them is written",
                    argument.start,
                    argument.end,
                    f"use another letter than '{letter}'",
                )
    for value in schema.returns:
        for letter in value.alias.sets if value.alias is not None else ():
            owner = owners.get(letter)
            if owner is None:
                raise SchemaError(
                    f"the result aliases '{letter}', but no argument does",
                    value.start,
                    value.end,
                    f"mark the argument that it shares memory with, as in 'Tensor({letter}) self'",
                )
            if owner.is_write != value.is_write:
                mark = "!" if owner.is_write else ""
                raise SchemaError(
                    f"the result is marked '{value.alias}', but '{owner.name}', which it aliases, '{owner.alias}'",
                    value.start,
                    value.end,
                    f"write 'Tensor({letter}{mark})'",
                )
    _check_out(schema)
    for value in written_returns(schema):
        letters = value.alias.sets if value.alias is not None else ()
        owner = owners[letters[0]]
        if owner.name != "self" and schema.name.is_inplace:
            raise SchemaError(
                f"in-place operator '{schema.name}' returns '{owner.name}' in place of 'self'", value.start, value.end
            )


def _check_out(schema: FunctionSchema) -> None:
    """Out arguments are returned in their order; lists of them, and scratch space, are not returned."""
    if not schema.out:
        return
    start, end = _returns_place(schema)
    if any(argument.type != TENSOR for argument in schema.out):
        if schema.returns:
            raise SchemaError("an operator with a list of out tensors returns nothing", start, end, "write '-> ()'")
        return
    wanted = [argument for argument in schema.out if not argument.name.startswith("_scratch_")]
    if not schema.returns:
        return
    aliases = [f"Tensor{argument.alias}" for argument in wanted]
    shown = aliases[0] if len(aliases) == 1 else f"({', '.join(aliases)})"
    if len(schema.returns) != len(wanted):
        raise SchemaError(
            f"{counted(len(wanted), 'out argument')}, but {counted(len(schema.returns), 'result')}",
            start,
            end,
            f"write '-> {shown}'",
        )
    for argument, value in zip(wanted, schema.returns, strict=True):
        if argument.alias is None or not argument.alias.same_memory(value.alias):
            raise SchemaError(
                f"out argument '{argument.name}' is not returned in its place",
                value.start,
                value.end,
                f"write '-> {shown}'",
            )


def written_returns(schema: FunctionSchema) -> Iterator[Return]:
    """The results that are arguments which the operator writes."""
    return (value for value in schema.returns if value.is_write)
