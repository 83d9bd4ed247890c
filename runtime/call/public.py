"""Calls of operators as a program would write them: for classes and modes that take calls over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base import overriding
from runtime.base.modes import Variant
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState
from runtime.call import registered
from runtime.call.facts import BUILT_IN

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator
    from runtime.call.overloads import OpOverload

_COMPARED = frozenset((bool, complex, float, int, list, str, tuple, type(None)))


class _LastNumber(ThreadState):
    """The last number that a Tensor was made of, as in `add(2, x)`, and that Tensor."""

    tensor: Tensor | None = None
    number: Any = None


_last_number = _LastNumber()


def remember_number(tensor: Tensor, number: Any) -> None:
    """Remember a number, so that classes and modes see it where the operator gets the Tensor that was made of it."""
    _last_number.tensor, _last_number.number = tensor, number


def as_called(
    operator: Operator, variant: Variant, values: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The function of the public API that does this, and its arguments, without those that have their defaults.

    It is the function, such as `add`, also of a call that was written as a method; in place, or where there is no
    function, it is the method.
    """
    targets: Sequence[Any] = ()
    if variant == "out":
        targets, *values = values
    if _last_number.tensor is not None:
        values = [_last_number.number if value is _last_number.tensor else value for value in values]
    signature = operator.signature
    parameters, count = signature.parameters, signature.positional
    last = max((i for i in range(count) if not _is_default(parameters[i], values[i])), default=-1)
    kwargs = {
        parameter.spelled: value
        for parameter, value in zip(parameters[count:], values[count:], strict=True)
        if not _is_default(parameter, value)
    }
    if variant == "out":
        kwargs["out"] = targets[0] if len(targets) == 1 else tuple(targets)
    return named(operator, variant), tuple(values[: last + 1]), kwargs


def _is_default(parameter: Any, value: Any) -> bool:
    if parameter.required:
        return False
    return value is parameter.default or (type(value) in _COMPARED and bool(value == parameter.default))


def named(operator: Operator, variant: Variant = "call") -> Callable[..., Any]:
    """The function of the public API, or the method, that calls an operator."""
    name = operator.signature.name.rpartition("::")[2]
    if variant == "inplace":
        name = name if name.endswith("_") else f"{name}_"
    known = vars(ops).get(name)
    found: Any = known if known is not None and not name.endswith("_") else getattr(Tensor, name, known)
    if found is None or operator.namespace != BUILT_IN:
        found = getattr(getattr(ops, operator.namespace), name)
    return found  # type: ignore[no-any-return]


class _Asked(ThreadState):
    """The operator that a program has asked for as an object of its own, `ops.aten.add.Scalar`, until it computes."""

    operator: Operator | None = None


_asked = _Asked()


@contextmanager
def asked_for(operator: Operator) -> Iterator[None]:
    """While a program calls an operator of a Tensor and a number as an object, the call is seen under its own name."""
    before = _asked.operator
    _asked.operator = operator
    try:
        yield
    finally:
        _asked.operator = before


def as_dispatched(
    operator: Operator, variant: Variant, values: Sequence[Any]
) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]]:
    """The overload that PyTorch would call here, and its arguments, without those that have their defaults.

    Where a program calls it is that of two Tensors also if one of them is a number, unless it asked for the other; what
    formulas and composites call, which PyTorch has in C++, is the overload of a Tensor and a number itself.
    """
    own = _asked.operator is operator or overriding.state.in_formula
    _asked.operator = None  # what is called next is another call
    if operator.of_tensors is not None and not own:
        operator = registered.get(f"{operator.namespace}::{operator.of_tensors}")
    _, args, kwargs = as_called(operator, variant, values)
    return overload_of(operator, variant), args, kwargs


def overload_of(operator: Operator, variant: Variant = "call") -> OpOverload:
    """The overload object of an operator, or of a variant of it."""
    base, _, overload = registered.name_of(operator, variant).partition(".")
    packet = getattr(getattr(ops, operator.namespace), base)
    overloaded: OpOverload = getattr(packet, overload or "default")
    return overloaded
