"""Packets: what people call, `add(x, y)`.  They pick the overload that takes the arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime import ops
from runtime.dispatch import Operator
from runtime.dtypes import common_dtype
from runtime.native import core
from runtime.tensor import Tensor, wrap

if TYPE_CHECKING:
    from runtime.binding import Signature

numbers = frozenset((int, float, bool, complex))


def packet(
    function: Callable[..., Any], base: str, overloads: Mapping[str, Callable[..., Any]], factory: bool = False
) -> Callable[..., Any]:
    """Finish a packet: its name, and its overloads as attributes."""
    if factory:
        function = _factory(function)
    function.__name__ = function.__qualname__ = base
    vars(function).update(overloads)
    function.overloads = lambda: list(overloads)  # type: ignore[attr-defined]
    return function


def _factory(function: Callable[..., Any]) -> Callable[..., Any]:
    """A factory with the keyword `requires_grad`, which is not in schemas."""

    def factory(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        return out.requires_grad_() if requires_grad else out

    factory.__doc__ = function.__doc__
    return factory


Candidates = Sequence[tuple[Operator, Callable[..., Any]]]


def choose(base: str, candidates: Candidates, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the first overload that takes these arguments.

    A Tensor stands for a number only where nothing else fits, so the choice follows from the types and is made once.

    Raises:
        TypeError: no overload does; the message lists all of them.
    """
    out = kwargs.pop("out", None) if "out" in kwargs else None
    kinds: tuple[Any, ...] = tuple(map(type, args))
    if list in kinds or tuple in kinds:
        kinds = tuple(map(_kind_of, args))
    key = (base, kinds, *kwargs, *map(_kind_of, kwargs.values())) if kwargs else (base, kinds)
    known = _choices.get(key) if out is None else None  # not every overload has a form with out=
    if known is not None:
        return known(*args, **kwargs)
    misfit: TypeError | None = None
    for values, strict in ((args, True), (args, False), (_numbers_as_tensors(args), False)):
        if values is None:
            continue
        for operator, function in candidates:
            if strict and not operator.signature.tensors_match(values, kwargs):
                continue
            try:
                bound = operator.signature.bind(values, kwargs)
            except TypeError as error:
                misfit = error
                continue
            if strict and _is_direct(operator.signature, values, kwargs):
                _choices[key] = function
                if core is not None:
                    core.remember_choice(base, args, kwargs, function)
            if out is not None:
                return operator.out(out, *bound)
            positional = operator.signature.positional
            return function(
                *bound[:positional], **dict(zip(operator._names[positional:], bound[positional:], strict=True))
            )
    if len(candidates) == 1 and misfit is not None:
        raise misfit from None
    from runtime.binding import describe

    given_text = ", ".join([*map(describe, args), *(f"{name}={describe(value)}" for name, value in kwargs.items())])
    choices = "\n".join(f" * {operator.schema}" for operator, _ in candidates)
    raise TypeError(
        f"{base}() received an invalid combination of arguments - got ({given_text}), but expected one of:\n{choices}"
    )


def given(**arguments: Any) -> dict[str, Any]:
    """Those of the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


# Overloads that were chosen before, by packet and types of the arguments.
_choices: dict[tuple[Any, ...], Callable[..., Any]] = {}


def _kind_of(value: Any) -> Any:
    kind = type(value)
    return (kind, frozenset(map(type, value))) if kind is list or kind is tuple else kind


def _is_direct(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the overload's callable takes these arguments as they are: no second names, no ints without brackets."""
    if not kwargs.keys() <= {parameter.name for parameter in signature.parameters}:
        return False
    return signature.spread is None or len(args) <= signature.spread or isinstance(args[signature.spread], list | tuple)


def _numbers_as_tensors(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """`add(2, x)`: a number in the place of the first Tensor is a Tensor of x's kind; None if it is not that case."""
    if len(args) < 2 or type(args[0]) not in numbers or not isinstance(args[1], Tensor):
        return None
    return (number_like(args[0], args[1]), *args[1:])


def number_like(number: Any, tensor: Tensor) -> Tensor:
    """A 0-dim Tensor of a Python number that promotes with `tensor` as the number itself would."""
    return wrap(np.asarray(number, dtype=common_dtype([tensor, number])))


# -- Python's signs


def foreign_operand(packet: str, self: Tensor, other: Any) -> Any:
    """`self op other` where `other` is neither a plain Tensor nor a Python number."""
    try:
        return getattr(ops, packet)(self, other)
    except TypeError:
        if isinstance(other, Tensor | int | float | complex | np.generic | np.ndarray):
            raise
        return NotImplemented


def swapped(packet: str, self: Tensor, other: Any) -> Any:
    """`other op self` where `other` is no Tensor."""
    if type(other) in numbers or isinstance(other, np.generic):
        return getattr(ops, packet)(number_like(other, self), self)
    if isinstance(other, Tensor):
        return getattr(ops, packet)(other, self)
    return NotImplemented
