"""Declarations in a C++ header: the signatures of the functions that formulas call, as their author has them.

Read is what stands in namespaces, with or without a body. Macros are not expanded; words in capitals before a
declaration (`TORCH_API`) say nothing of its type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codegen.read.model import HelperDeclaration
from codegen.schema.types import Argument, BaseType, FunctionSchema, ListType, OperatorName, OptionalType, Return, Type
from codegen.source import SourceFile, Text

# What says nothing of a call: comments, strings, and lines of the preprocessor with those that they go on in.
_SILENT = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*",
    re.DOTALL | re.MULTILINE,
)
_NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\b|\s*extern\s*$")
_NOT_A_TYPE = re.compile(r"\b(?:const|inline|static|extern|constexpr|volatile|[A-Z][A-Z0-9]*_[A-Z0-9_]*)\b|\[\[.*?\]\]")
_NAMES_OF_SPACES = re.compile(r"(?:\b[A-Za-z_]\w*)?\s*::\s*")
_TYPE = re.compile(r"([A-Za-z_]\w*)(?:<(.*)>)?", re.DOTALL)
_OPENING, _CLOSING = "(<{[", ")>}]"

_BASES = {
    "int64_t": "int", "int32_t": "int", "int": "int", "long": "int", "size_t": "int", "double": "float",
    "float": "float", "bool": "bool", "string": "str", "string_view": "str", "Variable": "Tensor",
    **{
        name: name for name in (
            "Tensor", "Scalar", "SymInt", "SymBool", "ScalarType", "Layout", "Device", "MemoryFormat", "Generator",
            "TensorOptions", "TensorGeometry",
        )
    },
}  # fmt: skip
_INTS, _SYMBOLIC_INTS, _TENSORS = (ListType(BaseType(name)) for name in ("int", "SymInt", "Tensor"))
_LISTS: dict[str, Type] = {
    "IntArrayRef": _INTS, "SymIntArrayRef": _SYMBOLIC_INTS, "TensorList": _TENSORS, "ITensorListRef": _TENSORS,
    "variable_list": _TENSORS, "OptionalIntArrayRef": OptionalType(_INTS),
    "OptionalSymIntArrayRef": OptionalType(_SYMBOLIC_INTS),
}  # fmt: skip
_LISTS_OF = frozenset(("ArrayRef", "vector", "List", "SmallVector", "initializer_list"))


def read_declarations(file: SourceFile) -> tuple[HelperDeclaration, ...]:
    """The functions that a header declares, overloads among them.

    Of a name with a declaration that formulas have no types for, such as a template, there is none.
    """
    silent = _SILENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), file.text)
    declarations: dict[str, list[HelperDeclaration | None]] = {}
    for start, end in _statements(silent):
        read = _declaration(file, silent, start, end)
        if read is not None:
            name, declaration = read
            declarations.setdefault(name, []).append(declaration)
    known = ([each for each in group if each is not None] for group in declarations.values() if None not in group)
    return tuple(each for group in known for each in group)


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """The places of what stands in namespaces, without bodies and the `;` behind."""
    start = at = 0
    while at < len(text):
        character = text[at]
        if character == "{":
            if _NAMESPACE.match(text, start, at) is None:
                yield start, at
                at = _closing(text, at)
            start = at + 1
        elif character in ";}":
            if character == ";":
                yield start, at
            start = at + 1
        elif character == "(":
            at = _closing(text, at)  # a default in it may be in braces
        at += 1


def _closing(text: str, opening: int) -> int:
    """Where the bracket closes that opens here; the end of the text where it does not."""
    depth, opens = 0, text[opening]
    closes = _CLOSING[_OPENING.index(opens)]
    for at in range(opening, len(text)):
        depth += (text[at] == opens) - (text[at] == closes)
        if depth == 0:
            return at
    return len(text)


def _declaration(file: SourceFile, text: str, start: int, end: int) -> tuple[str, HelperDeclaration | None] | None:
    """The name of the function that is declared, and what is known of it; None where it is no function."""
    opening = text.find("(", start, end)
    closing = end if opening < 0 else _closing(text, opening)
    if closing >= end:
        return None
    before = text[start:opening].rstrip()
    name = re.search(r"[A-Za-z_]\w*$", before)
    if name is None:
        return None
    returns = _returns(before[: name.start()])
    arguments = [_argument(part, number) for number, part in enumerate(_parts(text[opening + 1 : closing]))]
    known = [argument for argument in arguments if argument is not None]
    place = start + name.start()
    if returns is None or len(known) < len(arguments) or before.lstrip().startswith("template"):
        return name[0], None
    schema = FunctionSchema(
        OperatorName(name[0]), tuple(known), (), (), returns, name_end=len(name[0]), conventional=False
    )
    shown = Text(file.text[place : closing + 1], file, range(place, closing + 2))
    return name[0], HelperDeclaration(schema, shown)


def _parts(text: str) -> list[str]:
    """What stands between commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]] if text.strip() else []


def _argument(text: str, number: int) -> Argument | None:
    """`const Tensor& grad = {}`; None where formulas have no such type."""
    declared, equals, default = text.partition("=")
    given = default.strip() if equals else None
    name = re.search(r"(?<=[\s&*>])[A-Za-z_]\w*$", declared.rstrip())
    if name is not None and (type := _type(_plain(declared[: name.start()]))) is not None:
        return Argument(name[0], type, given)
    type = _type(_plain(declared))
    return None if type is None else Argument(f"argument_{number}", type, given)


def _returns(text: str) -> tuple[Return, ...] | None:
    words = _plain(text)
    match = re.fullmatch(r"(?:tuple|pair)<(.*)>", words, re.DOTALL)
    types = [_type(part) for part in (_parts(match[1]) if match is not None else [words])]
    known = [type for type in types if type is not None]
    return tuple(Return(None, type) for type in known) if len(known) == len(types) else None


def _plain(text: str) -> str:
    """A type without what a call does not depend on: namespaces, `const`, macros."""
    return _NAMES_OF_SPACES.sub("", _NOT_A_TYPE.sub(" ", text)).strip()


def _type(text: str) -> Type | None:
    """The type of a value as schemas have it; None for one that they have not."""
    match = _TYPE.fullmatch("".join(text.split()).rstrip("&"))
    if match is None:
        return None
    name, inside = match.groups()
    if inside is None:
        base = _BASES.get(name)
        return _LISTS.get(name) if base is None else BaseType(base)
    parts: Sequence[str] = _parts(inside)
    elem = _type(parts[0])
    if elem is None:
        return None
    if name == "optional" and len(parts) == 1 and not isinstance(elem, OptionalType):
        return OptionalType(elem)
    if name == "array" and len(parts) == 2 and parts[1].isdigit() and int(parts[1]) > 0:
        return ListType(elem, int(parts[1]))
    if name == "OptionalArrayRef" and len(parts) == 1:
        return OptionalType(ListType(elem))
    return ListType(elem) if name in _LISTS_OF else None
