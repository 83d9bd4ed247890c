"""Schemas from the annotations of Python functions."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Union, get_args, get_origin

from runtime.base.dtypes import dtype
from runtime.base.tags import Tag, as_tags
from runtime.base.tensor import Tensor
from runtime.base.types import Device
from runtime.random import Generator

_BASES: Mapping[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtype: "ScalarType",
    Device: "Device",
    Generator: "Generator",
}
_NUMBERS = ({int, float, bool}, {int, float, bool, complex})
_ELEMENTS = frozenset(("Tensor", "Tensor?", "SymInt", "float", "bool", "Scalar"))
_RESULTS = frozenset(("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"))
_SUPPORTED = (
    "Tensor, int, float, bool, str, dtype, device, numbers (int | float | bool), Optional of these, and lists of "
    "Tensor, int, float, bool and numbers"
)
_SUPPORTED_RESULTS = "Tensor, list[Tensor], int, float, bool, numbers (int | float | bool), and tuples of them"


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Tag | Sequence[Tag] | None = (),
) -> str:
    """The schema that the annotations of a function say.

    Args:
        prototype_function: has an annotation for each parameter and for what it returns.
        mutates_args: the names of the parameters that it writes, or "unknown": all that are Tensors.
        op_name: what the schema begins with, if anything.
        tags: with `Tag.inplace` or `Tag.out` the results are the arguments that are written.

    Raises:
        ValueError: a parameter is missing its annotation, or has one that no schema can say.
    """
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
            "'unknown'."
        )
    written = None if isinstance(mutates_args, str) else set(mutates_args)
    reader = _Reader(prototype_function, written)
    arguments = reader.arguments()
    return f"{op_name or ''}({', '.join(arguments)}) -> {reader.result(as_tags(tags))}"


class _Reader:
    """Reads the signature of one function.  `written` names the parameters that it writes; None: all Tensors."""

    def __init__(self, function: Callable[..., Any], written: set[str] | None) -> None:
        self.signature = inspect.signature(function)
        self.names = _Names(function)
        self.written = written
        self.aliases: list[str] = []  # of the arguments that are written

    def fail(self, message: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {message} Got func with signature {self.signature}")

    def arguments(self) -> list[str]:
        """The arguments of the schema, the star before those by keyword included."""
        missing = (self.written or set()) - set(self.signature.parameters)
        if missing:
            self.fail(
                f"{missing} in mutates_args were not found in the custom op's signature. mutates_args should contain "
                "the names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
            )
        arguments: list[str] = []
        for number, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                self.fail("We do not support positional-only args, varargs, or varkwargs.")
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in arguments:
                arguments.append("*")
            arguments.append(self._argument(number, parameter))
        return arguments

    def _argument(self, number: int, parameter: inspect.Parameter) -> str:
        name = parameter.name
        if parameter.annotation is parameter.empty:
            self.fail(f"Parameter {name} must have a type annotation.")
        annotation = self._evaluated(parameter.annotation)
        text = _type_text(annotation)
        if text is None:
            is_tuple = get_origin(annotation) is tuple
            hint = " Tuples are not supported: use a list instead, such as list[int]." if is_tuple else ""
            self.fail(
                f"Parameter {name} has unsupported type {parameter.annotation}.{hint} Supported are {_SUPPORTED}."
            )
        if self.written is None or name in self.written:
            if text.startswith("Tensor"):
                alias = f"(a{number}!)"
                self.aliases.append(alias)
                text = f"Tensor{alias}{text.removeprefix('Tensor')}"
            elif self.written is not None:
                self.fail(f"Parameter {name} is in mutates_args, but only Tensors and lists of Tensors can be mutated.")
        if parameter.default is parameter.empty:
            return f"{text} {name}"
        default = _default_text(parameter.default)
        if default is None:
            self.fail(f"Parameter {name} has an unsupported default value type {type(parameter.default)}.")
        return f"{text} {name}={default}"

    def result(self, tags: Sequence[Tag]) -> str:
        """What stands after the arrow; known after `arguments`."""
        annotation = self.signature.return_annotation
        if annotation is self.signature.empty:
            self.fail("No return type annotation was provided. Please add one.")
        text = _returned_text(self._evaluated(annotation))
        if text is None:
            self.fail(f"Return has unsupported type {annotation}. Supported are {_SUPPORTED_RESULTS}.")
        if not self.aliases or not (Tag.inplace in tags or Tag.out in tags):
            return text
        written = self.aliases[:1] if Tag.inplace in tags else self.aliases
        values = [f"Tensor{alias}" for alias in written]
        return values[0] if len(values) == 1 else f"({', '.join(values)})"

    def _evaluated(self, annotation: Any) -> Any:
        try:
            return self.names.evaluate(annotation)
        except NameError as error:
            self.fail(
                f"Unsupported type annotation {annotation}. It is not a type. ({error}). With 'from __future__ import "
                "annotations', the types must be names of the module that the function stands in."
            )


class _Names:
    """What the names in annotations mean that are kept as text: what they do in the function's module, or here."""

    def __init__(self, function: Callable[..., Any]) -> None:
        function = inspect.unwrap(function)
        self._globals: dict[str, Any] = getattr(function, "__globals__", {})

    def evaluate(self, annotation: Any) -> Any:
        if not isinstance(annotation, str):
            return annotation
        known = {name: getattr(typing, name) for name in ("List", "Optional", "Sequence", "Tuple", "Union")}
        known |= {"Tensor": Tensor, "dtype": dtype, "device": Device}
        return eval(annotation, {**known, **self._globals})


def _type_text(annotation: Any) -> str | None:
    """The schema's type for an annotation of a parameter; None where there is none."""
    base = _base_text(annotation)
    if base is not None:
        return base
    origin, args = get_origin(annotation), get_args(annotation)
    if _is_union(origin) and type(None) in args:
        rest = tuple(arg for arg in args if arg is not type(None))
        inner = _type_text(rest[0] if len(rest) == 1 else Union[rest])  # noqa: UP007 (made of a tuple)
        return None if inner is None or "?" in inner or inner == "Tensor[]" else f"{inner}?"
    if origin in (list, collections.abc.Sequence) and len(args) == 1:
        element = _type_text(args[0])
        return f"{element}[]" if element in _ELEMENTS else None
    return None


def _base_text(annotation: Any) -> str | None:
    if _is_union(get_origin(annotation)):
        return "Scalar" if set(get_args(annotation)) in _NUMBERS else None
    try:
        return _BASES.get(annotation)
    except TypeError:
        return None


def _is_union(origin: Any) -> bool:
    return origin is Union or origin is types.UnionType


def _returned_text(annotation: Any) -> str | None:
    if annotation is None:
        return "()"
    if get_origin(annotation) is tuple or annotation == tuple[()]:
        parts = [_result_text(arg) for arg in get_args(annotation)]
        return None if None in parts else f"({', '.join(part for part in parts if part)})"
    return _result_text(annotation)


def _result_text(annotation: Any) -> str | None:
    text = _type_text(annotation)
    return text if text in _RESULTS else None


def _default_text(value: Any) -> str | None:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dtype):
        return value.name
    if isinstance(value, Device):
        return f'"{value}"'
    return str(value) if value is None or isinstance(value, (bool, int, float)) else None
