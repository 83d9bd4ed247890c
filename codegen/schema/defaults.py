"""Default values of arguments: their text, what a type allows, and the Python value they stand for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegen.schema.types import Argument, BaseType, ListType, OptionalType, Type

_INTEGER = re.compile(r"-?[0-9]+\Z")
_FLOAT = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_STRING = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\Z""", re.DOTALL)
_ITEM = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^,"'])*+""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}

# Named constants by the type that has them.  `Mean` and `Sum` are the reductions of losses, which schemas call int.
# fmt: off
_ENUM_NAMES: dict[str, frozenset[str]] = {
    "int": frozenset(("Mean", "Sum")),
    "ScalarType": frozenset((
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16",
        "float32", "float64", "complex32", "complex64", "complex128", "short", "int", "long", "half", "float", "double",
        "chalf", "cfloat", "cdouble",
    )),
    "Layout": frozenset((
        "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged",
    )),
    "MemoryFormat": frozenset(("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")),
}
# fmt: on
_INTEGERS = frozenset(("int", "SymInt", "DeviceIndex", "DimVector"))
_SAMPLES = {"int": "0", "SymInt": "0", "float": "0.5", "bool": "False", "SymBool": "False", "str": '"text"'}


@dataclass(frozen=True, slots=True)
class EnumDefault:
    """A default that is a named constant: `Mean`, `long`, `contiguous_format`."""

    name: str

    @property
    def is_dtype(self) -> bool:
        """Whether it is the name of a dtype."""
        return self.name in _ENUM_NAMES["ScalarType"]

    def __str__(self) -> str:
        return self.name


class DefaultError(ValueError):
    """A default does not fit the type of its argument."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


Default = None | bool | int | float | str | EnumDefault | tuple["Default", ...]


def default_value(argument: Argument) -> Default:
    """The Python value of the default of `argument`, which must have one.

    A number for a list of fixed size (`int[2] stride=1`) stays a number: it stands for every element.
    """
    if argument.default is None:
        raise ValueError(f"argument '{argument.name}' has no default")
    return parse_default(argument.type, argument.default)


def parse_default(type: Type, text: str) -> Default:
    """The value that `text` is as a default of `type`; raises `DefaultError` where it is none."""
    if isinstance(type, OptionalType):
        return None if text == "None" else parse_default(type.elem, text)
    if text == "None":
        raise DefaultError(f"'None' is no default for '{type}'", f"write '{type}?' if it may be left out")
    if isinstance(type, ListType):
        if text.startswith("["):
            return tuple(parse_default(type.elem, item) for item in items_of(text))
        if type.size is None:
            raise DefaultError(f"'{text}' is no default for '{type}'", f"write '[{text}]', or a list of fixed size")
        return parse_default(type.elem, text)
    return _parse_single(type, text)


def items_of(text: str) -> list[str]:
    """What stands between the commas of a list in brackets, but not between those inside strings."""
    inner = text[1:-1].strip()
    items: list[str] = []
    at = 0
    while inner and (match := _ITEM.match(inner, at)) is not None:
        items.append(match[0].strip())
        at = match.end() + 1
        if at > len(inner):
            break
    return items


def _parse_single(type: BaseType, text: str) -> Default:
    name = type.name
    if name in _INTEGERS or name == "Scalar":
        if _INTEGER.match(text):
            return _integer(text)
        if name == "Scalar" and (text in ("True", "False") or _FLOAT.match(text)):
            return text == "True" if text in ("True", "False") else float(text)
    elif name == "float":
        if _FLOAT.match(text) or text in ("inf", "-inf", "nan"):
            return float(text)
    elif name in ("bool", "SymBool"):
        if text in ("True", "False"):
            return text == "True"
        if text in ("true", "false"):
            raise DefaultError(f"'{text}' is no default for '{type}'", f"write '{text.capitalize()}'")
    elif name in ("str", "Device", "Dimname") and _STRING.match(text):
        return _unquote(text)
    names = _ENUM_NAMES.get(name, frozenset())
    if text in names:
        return EnumDefault(text)
    if names and _NAME.match(text) and name != "int":
        raise DefaultError(f"'{text}' is no '{type}'", f"one of: {', '.join(sorted(names))}")
    if not names and name not in _SAMPLES and name != "Scalar":
        raise DefaultError(f"an argument of type '{type}' can not have the default '{text}'", f"write '{type}? x=None'")
    raise DefaultError(f"'{text}' is no default for '{type}'", f"such as {_SAMPLES.get(name, '1')}")


def _integer(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise DefaultError("this number does not fit 64 bits")
    return int(text)


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.DOTALL)
