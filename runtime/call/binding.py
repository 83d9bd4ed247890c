"""Arguments of an operator call, checked and converted by its schema.

The fast path of generated code does not come here: this is for everything that needs a conversion or an error.
"""

from __future__ import annotations

import builtins
import operator as _operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from codegen.schema.names import python
from runtime.base import dtypes
from runtime.base.describe import describe
from runtime.base.dtypes import dtype as DType
from runtime.base.signature_facts import SignatureFacts
from runtime.base.tensor import Tensor
from runtime.base.types import Device, note_device
from runtime.call.absent import absent
from runtime.call.guards import NotInts
from runtime.random import Generator


class _Mismatch(Exception):
    """A value does not fit the type of its argument; the text says more, where there is more to say."""


# What an int argument holds.
_LEAST, _MOST = -(2**63), 2**63 - 1
_OVERFLOW = "Overflow when unpacking long long"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a schema, ready for binding.

    `spelled` is its name as a parameter of Python functions, which can not be called `from`; it may be given as that,
    too. Values of the types `as_is` need no conversion.
    """

    name: str
    spelled: str
    type: str
    convert: Callable[[Any], Any]
    required: bool
    default: Any
    keyword_only: bool
    as_is: tuple[builtins.type, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """All arguments of a schema, and how many of them may be given by position."""

    name: str
    schema: str
    parameters: tuple[Parameter, ...]
    positional: int
    spread: int | None  # where ints may stand without brackets: x.permute(0, 1)
    names: frozenset[str]

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The values of all arguments in the schema's order.

        Raises:
            TypeError: an argument is missing, unknown, given twice, or of a type that does not fit.
        """
        if self.spread is not None and len(args) > self.spread and not isinstance(args[self.spread], (list, tuple)):
            spread = args[self.spread :]
            if all(_is_int(value) for value in spread):
                args = (*args[: self.spread], tuple(spread))
        if len(args) > self.positional:
            raise self.error(f"takes {self.positional} positional arguments but {len(args)} were given")
        if kwargs and not kwargs.keys() <= self.names:
            kwargs = self._under_own_names(kwargs)
        values = []
        positional = len(args)
        for position, parameter in enumerate(self.parameters):
            if position < positional:
                if kwargs and parameter.name in kwargs:
                    raise self.error(f"got multiple values for argument '{parameter.name}'")
                value = args[position]
            elif kwargs and parameter.name in kwargs:
                value = kwargs[parameter.name]
            elif parameter.required:
                raise self.error(f"missing required argument '{parameter.name}'")
            else:
                values.append(parameter.default)
                continue
            values.append(
                value if isinstance(value, parameter.as_is) else self._converted(parameter, value, position, positional)
            )
        return values

    def _under_own_names(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Keyword arguments by the schema's names, of which some are given by their second names."""
        named = {}
        for name, value in kwargs.items():
            own = name if name in self.names else self._own_name(name)
            if own in named:
                raise self.error(f"got argument '{own}' under two names")
            named[own] = value
        return named

    def _own_name(self, alias: str) -> str:
        for name, aliases in _ALIASES.items():
            if alias in aliases and name in self.names:
                return name
        for parameter in self.parameters:
            if parameter.spelled == alias:
                return parameter.name
        raise self.error(f"got an unexpected keyword argument '{alias}'")

    def _converted(self, parameter: Parameter, value: Any, position: int, positional: int) -> Any:
        if value is None and parameter.default is None and not parameter.required:
            return None
        if type(value) is NotInts:  # the fast path has tried it
            value = value.given
        if value is absent:
            raise self.error(f"missing required argument '{parameter.name}'")
        try:
            return parameter.convert(value)
        except _Mismatch as misfit:
            place = f" (position {position + 1})" if position < positional else ""
            what = str(misfit) or f"must be {parameter.type}, not {describe(value)}"
            # Packets give None for what a call leaves out.
            left_out = (
                f" (missing required argument '{parameter.name}')" if value is None and parameter.required else ""
            )
            raise self.error(f"argument '{parameter.name}'{place} {what}{left_out}") from None

    def tensors_match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether every Tensor among the arguments stands where the schema has a Tensor."""
        for parameter, value in zip(self.parameters, args, strict=False):
            if isinstance(value, Tensor) and not parameter.type.startswith("Tensor"):
                return False
        for parameter in self.parameters:
            if isinstance(kwargs.get(parameter.name), Tensor) and not parameter.type.startswith("Tensor"):
                return False
        return True

    def without(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """What an error says after the schema where a call left arguments out that it takes to fit; else nothing."""
        try:
            given = self._under_own_names(kwargs)
        except TypeError:
            return ""
        missing = [
            f"'{parameter.name}'"
            for parameter in self.parameters[len(args) :]
            if parameter.required and parameter.name not in given
        ]
        return f": missing required argument{'s' if len(missing) > 1 else ''} {', '.join(missing)}" if missing else ""

    def error(self, message: str) -> TypeError:
        return TypeError(f"{self.name}(): {message}\n  schema: {self.schema}")


# NumPy's and PyTorch's second names of common arguments.
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "self": ("input", "x", "a", "x1"),
    "input": ("x", "a", "x1"),
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "other": ("x2",),
}


def signature_of(schema: str, facts: SignatureFacts) -> Signature:
    """The signature of an operator, for calls as PyTorch takes them."""
    parameters = _parameters(facts)
    spread = 1 if parameters and parameters[0].type == "Tensor" else 0
    spreads = facts.positional == spread + 1 and parameters[spread].type.startswith(("int[]", "SymInt[]"))
    return _signature(schema, facts, parameters, spread if spreads else None)


def exact_signature(schema: str, facts: SignatureFacts) -> Signature:
    """The signature of an operator that was defined at run time, for functions of users.

    They get a device where one is asked for, and not its name.
    """
    return _signature(schema, facts, tuple(map(_with_device, _parameters(facts))), None)


def _signature(schema: str, facts: SignatureFacts, parameters: tuple[Parameter, ...], spread: int | None) -> Signature:
    names = frozenset(parameter.name for parameter in parameters)
    base = schema.partition("(")[0].partition(".")[0]
    return Signature(base, schema, parameters, facts.positional, spread, names)


def _parameters(facts: SignatureFacts) -> tuple[Parameter, ...]:
    return tuple([_parameter(*each, keyword_only=i >= facts.positional) for i, each in enumerate(facts.arguments)])


def _with_device(parameter: Parameter) -> Parameter:
    if parameter.type == "Device":
        default = parameter.default if parameter.required else _to_device(parameter.default)
        return replace(parameter, convert=_to_device, default=default)
    if parameter.type == "Device?":
        return replace(parameter, convert=lambda value: None if value is None else _to_device(value))
    return parameter


def _parameter(name: str, type: str, *default: Any, keyword_only: bool) -> Parameter:
    value = default[0] if default else None
    convert = _converter(type)
    if value is not None:
        value = convert(_value_of_default(type, value))
    as_is = _AS_IS.get(type.removesuffix("?"), ())
    return Parameter(name, python(name), type, convert, not default, value, keyword_only, as_is)


def _value_of_default(type: str, value: Any) -> Any:
    """What a call could give in place of a default: dtypes for names, and all elements of a list of fixed size."""
    if type.startswith("ScalarType") and isinstance(value, str):
        value = getattr(dtypes, value)
    elif type.startswith("ScalarType"):
        value = tuple([getattr(dtypes, each) for each in value])
    elements, _, size = type.removesuffix("?").removesuffix("]").rpartition("[")
    return (value,) * int(size) if elements and size and not isinstance(value, tuple) else value


def _converter(type: str) -> Callable[[Any], Any]:
    if type.endswith("?"):
        inner = _converter(type[:-1])
        return lambda value: None if value is None else inner(value)
    if type.endswith("]"):
        elem, _, size = type[:-1].rpartition("[")
        return _list_converter(elem, int(size) if size else None)
    return _CONVERTERS.get(type, lambda value: value)


def _list_converter(type_of_elements: str, size: int | None) -> Callable[[Any], Any]:
    elem = _converter(type_of_elements)
    tensors = type_of_elements.startswith("Tensor")
    exact = _EXACT.get(type_of_elements)

    def convert(value: Any) -> Any:
        if exact is not None and type(value) is tuple:
            for item in value:
                if type(item) is not exact or not _LEAST <= item <= _MOST:  # type: ignore[operator]
                    break
            else:
                return value
        if not tensors and size is not None and _is_int(value):
            return (elem(value),) * size
        if isinstance(value, np.ndarray) or not isinstance(value, (list, tuple)):
            raise _Mismatch
        items = []
        for position, item in enumerate(value):
            try:
                items.append(elem(item))
            except ValueError as error:
                text = f'failed to unpack the object at pos {position + 1} with error "{error}"'
                raise _Mismatch(text) from None
        return items if tensors else tuple(items)

    return convert


def _fits(number: Any) -> bool:
    return bool(_LEAST <= number <= _MOST)


def _is_int(value: object) -> bool:
    if type(value) is int:
        return True
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, np.integer)) or (
        isinstance(value, Tensor) and value._array.ndim == 0 and value._array.dtype.kind in "iu"
    )


def _to_tensor(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    raise _Mismatch


def _to_int(value: Any) -> int:
    if type(value) is not int:
        if not _is_int(value):
            raise _Mismatch
        value = int(value) if isinstance(value, Tensor) else _operator.index(value)
    if not _fits(value):
        raise ValueError(_OVERFLOW)
    return value  # type: ignore[no-any-return]


def _to_float(value: Any) -> float:
    if type(value) is float:
        return value
    number = _to_scalar(value)
    if isinstance(number, complex):
        raise _Mismatch
    return float(number)


def _to_bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Tensor) and value._array.ndim == 0 and value._array.dtype.kind == "b":
        return bool(value)
    raise _Mismatch


def _to_scalar(value: Any) -> Any:
    if type(value) is float or type(value) is int:
        return value
    if isinstance(value, Tensor):
        if value._array.ndim == 0 and value._edge is None:
            return value.item()
        raise _Mismatch
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bool, int, float, complex)):
        return value
    raise _Mismatch


def _to_str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise _Mismatch


def _to_dtype(value: Any) -> DType:
    try:
        return dtypes.as_dtype(value)
    except TypeError:
        raise _Mismatch from None


def _to_device(value: Any) -> Device:
    if isinstance(value, (str, Device)) or type(value) is int:
        return note_device(value)
    raise _Mismatch


def _to_generator(value: Any) -> Generator:
    if isinstance(value, Generator):
        return value
    raise _Mismatch


# Elements of lists that need no conversion.
_EXACT: Mapping[str, type] = {"int": int, "SymInt": int, "bool": bool}

# Types whose values converters give back. Numbers are not among them: bools are ints, and NumPy's floats are floats.
_AS_IS: Mapping[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "str": (str,),
    "ScalarType": (DType,),
    "Generator": (Generator,),
}

_CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "Tensor": _to_tensor,
    "int": _to_int,
    "SymInt": _to_int,
    "float": _to_float,
    "bool": _to_bool,
    "Scalar": _to_scalar,
    "str": _to_str,
    "ScalarType": _to_dtype,
    "Generator": _to_generator,
    "Device": _to_device,
}
