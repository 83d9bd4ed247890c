"""Packets: the callables of the public API, `add(x, y)`.  They pick the overload that takes the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from runtime import ops
from runtime.base.arrays import element
from runtime.base.describe import describe
from runtime.base.dtypes import common_dtype
from runtime.base.leaves import leaf
from runtime.base.overriding import ask_types, overriding_types
from runtime.base.tensor import Tensor, wrap
from runtime.call import old_orders
from runtime.call.absent import absent as absent
from runtime.call.dispatch import Operator
from runtime.call.public import remember_number
from runtime.native import core

numbers = frozenset((int, float, bool, complex))


def packet(
    function: Callable[..., Any],
    base: str,
    overloads: Mapping[str, Callable[..., Any]],
    only: Callable[..., Any] | None = None,
    factory: bool = False,
) -> Callable[..., Any]:
    """Finish a packet: its name, and its overloads as attributes.

    `only` is its overload, where there are no others: that says which arguments it takes, and is the method itself.
    """
    if factory:
        function = _factory(function)
    function.__name__ = function.__qualname__ = base
    vars(function).update(overloads)
    function.overloads = lambda: list(overloads)  # type: ignore[attr-defined]
    if only is not None and only is not function:
        function.__wrapped__ = only  # type: ignore[attr-defined]
    return function


def _factory(function: Callable[..., Any]) -> Callable[..., Any]:
    """A factory with the keyword `requires_grad`, which is not in schemas."""

    def factory(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        return leaf(out, requires_grad)

    return factory


Candidates = Sequence[tuple[Operator, Callable[..., Any]]]


def choose(base: str, candidates: Candidates, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the first overload that takes these arguments.

    A Tensor stands for a number only where nothing else fits, so the choice follows from the types and is made once.

    Raises:
        TypeError: no overload does; the message lists all of them.
    """
    out = kwargs.pop("out", None) if "out" in kwargs and not _has_argument(candidates, "out") else None
    kinds: tuple[Any, ...] = tuple(map(type, args))
    if list in kinds or tuple in kinds:
        kinds = tuple(map(_kind_of, args))
    key = (base, kinds, *kwargs, *map(_kind_of, kwargs.values())) if kwargs else (base, kinds)
    known = _choices.get(key) if out is None else None  # not every overload has a form with out=
    if known is not None:
        return known(*args, **kwargs)
    if out is None and (converting := _converting.get(key)) is not None:
        operator, function = converting
        try:
            bound: Sequence[Any] = operator.signature.bind(args, kwargs)
        except TypeError:  # a list of another length than the first time
            pass
        else:
            return _called(operator, function, bound)
    misfit: TypeError | None = None
    for values, named, strict in _readings(base, candidates, args, kwargs):
        for operator, function in candidates:
            if strict and not operator.signature.tensors_match(values, named):
                continue
            try:
                bound = operator.signature.bind(values, named)
            except TypeError as error:
                if named is kwargs and values is args:
                    misfit = error
                continue
            if strict and _is_direct(operator, values, named, bound):
                _choices[key] = function
                if core is not None:
                    core.remember_choice(base, args, kwargs, function)
            elif strict and out is None:
                _converting[key] = operator, function
            if named is not kwargs:
                old_orders.warn(base, operator.schema)
            if out is not None:
                return operator.out(out, *bound)
            return _called(operator, function, bound)
    if found := overriding_types((*args, *kwargs.values())):  # of a class that is none of Tensors
        return ask_types(getattr(ops, base), args, kwargs if out is None else {**kwargs, "out": out}, found)
    if len(candidates) == 1 and misfit is not None:
        raise misfit from None
    given_text = ", ".join([*map(describe, args), *(f"{name}={describe(value)}" for name, value in kwargs.items())])
    choices = "\n".join(f" * {operator.schema}{operator.signature.without(args, kwargs)}" for operator, _ in candidates)
    raise TypeError(
        f"{base}() received an invalid combination of arguments - got ({given_text}), but expected one of:\n{choices}"
    )


def _called(operator: Operator, function: Callable[..., Any], bound: Sequence[Any]) -> Any:
    return function(*bound[: operator.signature.positional], **operator.keywords(bound))


def _readings(
    base: str, candidates: Candidates, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], bool]]:
    """The ways to understand arguments, best first; the last part says whether Tensors stand for Tensors alone."""
    yield args, kwargs, True
    yield args, kwargs, False
    orders = dict.fromkeys(order for operator, _ in candidates for order in operator.old_orders)
    for named in old_orders.readings(orders, args, kwargs):
        yield (), named, False
    if any(operator.numbers_as_tensors and operator.signature.name == base for operator, _ in candidates):
        values = numbers_as_tensors(args, kwargs)
        if values is not None:
            yield values, kwargs, False


def _has_argument(candidates: Candidates, name: str) -> bool:
    return any(parameter.name == name for operator, _ in candidates for parameter in operator.signature.parameters)


def given(base: str, arguments: dict[str, Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Those of the arguments that are not None, and others by keyword.

    Raises:
        TypeError: one is among both.
    """
    known = {name: value for name, value in arguments.items() if value is not None and value is not absent}
    if not known.keys().isdisjoint(kwargs):
        raise TypeError(
            f"{base}(): got multiple values for argument '{next(name for name in known if name in kwargs)}'"
        )
    return known | kwargs


# Overloads that were chosen before, by packet and types of the arguments.
_choices: dict[tuple[Any, ...], Callable[..., Any]] = {}
# Likewise, of those whose arguments are converted first: an int that stands for a list, a second name.
_converting: dict[tuple[Any, ...], tuple[Operator, Callable[..., Any]]] = {}


def _kind_of(value: Any) -> Any:
    kind = type(value)
    return (kind, frozenset(map(type, value))) if kind is list or kind is tuple else kind


def _is_direct(operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any], bound: Sequence[Any]) -> bool:
    """Whether the overload's callable takes these arguments as they are: no second names, no ints without brackets.

    Composite functions do not look at what they get, as fast paths do, so nothing may need a conversion, either.
    """
    signature = operator.signature
    values = dict(zip(operator.names, bound, strict=True))
    if not kwargs.keys() <= {
        parameter.name for parameter in signature.parameters if parameter.name == parameter.spelled
    }:
        return False
    spread = signature.spread
    if spread is not None and len(args) > spread and not isinstance(args[spread], (list, tuple)):
        return False
    if operator.traced is None:
        return True
    pairs = [*zip(args, bound, strict=False), *((given, values[name]) for name, given in kwargs.items())]
    return all(_is_as_given(value, given) for given, value in pairs)


def _is_as_given(value: Any, given: Any) -> bool:
    """Whether binding has left an argument alone, but for the kind of a number or of a list."""
    if isinstance(value, (list, tuple)) and isinstance(given, (list, tuple)):
        return len(value) == len(given) and all(map(_is_as_given, value, given))
    return value is given or (type(value) in numbers and type(given) in numbers)


def numbers_as_tensors(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """`add(2, x)`: a number in the place of the first Tensor is a Tensor of x's kind; None if it is not that case."""
    if not args or not _is_number(args[0]):
        return None
    other = args[1] if len(args) > 1 else kwargs.get("other")
    if isinstance(other, Tensor):
        return (number_like(args[0], other), *args[1:])
    if _is_number(other):
        return (wrap(np.asarray(args[0], dtype=common_dtype([args[0]]))), *args[1:])
    return None


def _is_number(value: Any) -> bool:
    return type(value) in numbers or isinstance(value, np.generic)


def number_like(number: Any, tensor: Tensor) -> Tensor:
    """A 0-dim Tensor of a Python number that promotes with `tensor` as the number itself would."""
    dtype = common_dtype([tensor, number])
    made = wrap(np.asarray(element(number, dtype, wraps=True) if type(number) is int else number, dtype))
    remember_number(made, number)
    return made


# -- Python's signs


def foreign_operand(packet: str, self: Tensor, other: Any) -> Any:
    """`self op other` where `other` is neither a plain Tensor nor a Python number.

    With an array NumPy computes, and gives a Tensor of what it takes the two to; it knows us by `__array_priority__`.
    """
    if isinstance(other, np.ndarray):
        return NotImplemented
    try:
        return getattr(ops, packet)(self, other)
    except TypeError:
        if isinstance(other, (Tensor, int, float, complex, np.generic)):
            raise
        return NotImplemented


def foreign_equality(packet: str, self: Tensor, other: Any) -> Any:
    """As `foreign_operand`, for `==` and `!=`: of these nothing would come if an array were left to NumPy."""
    return foreign_operand(packet, self, wrap(other) if _is_numeric(other) else other)


def swapped(packet: str, self: Tensor, other: Any, inverse: str | None = None, takes_numbers: bool = True) -> Any:
    """`other op self` where `other` is no plain Tensor.

    `inverse` is the packet of `1 op self`: a number or an array on the left is multiplied by that, as in PyTorch.
    """
    if isinstance(other, Tensor):
        return getattr(ops, packet)(other, self)
    if inverse is not None and (_is_number(other) or _is_numeric(other)):
        return getattr(ops, inverse)(self) * other
    if takes_numbers and _is_number(other):
        return getattr(ops, packet)(number_like(other, self), self)
    return NotImplemented


def inverted(packet: str, self: Tensor) -> Tensor:
    """`~self`."""
    if self._array.dtype.kind not in "biu":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    out: Tensor = getattr(ops, packet)(self)
    return out


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
