"""Values of operators against those of functions of NumPy, SciPy and mpmath, which the YAML names."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from gradwright.testing import operator_of
from gradwright.verify.points import Array, Point, array
from gradwright.verify.results import Inapplicable, Refuted, Undecided
from runtime.base.tensor import Tensor
from runtime.graph.grad_mode import no_grad

# How far values may be apart: as parts of themselves, and of the largest one, which has the last digits of a sum.
_RELATIVE, _OF_LARGEST = 1e-11, 1e-13
_DIGITS = 30  # that mpmath computes with


def reference(point: Point) -> None:
    """The results are what the operator's reference gives for the same arguments.

    Raises:
        Inapplicable: the operator has none, or this call gives no number to compare.
        Undecided: its library is not installed, or it does not take such a call.
    """
    if point.info.reference is None:
        raise Inapplicable("no reference is named")
    function, tree = _function(point.info.reference)
    args, kwargs = _arguments(point, tree)
    with no_grad():
        found = point.called()
    try:
        with np.errstate(all="ignore"):
            wanted = function(*args, **kwargs)
    except (TypeError, ValueError, NotImplementedError, np.linalg.LinAlgError) as error:
        raise Undecided(f"{ast.unparse(tree.func)} does not take this call") from error
    results = found if isinstance(found, list | tuple) else (found,)
    is_several = isinstance(wanted, tuple) or (isinstance(wanted, list) and len(results) > 1)
    others = wanted if is_several else (wanted,)
    name = ast.unparse(tree.func)
    compared = 0
    for place, (one, other) in enumerate(zip(results, others, strict=False)):
        if isinstance(one, Tensor | bool | int | float | complex):
            values = array(one) if isinstance(one, Tensor) else np.asarray(one)
            _compare(values, np.asarray(other), name, f"result {place}" if len(results) > 1 else "the result")
            compared += values.size
    if not compared:  # which a function that takes no other call does as well
        raise Inapplicable("the results have no elements")


def _compare(found: Array, wanted: Array, name: str, what: str) -> None:
    if wanted.dtype.kind not in "biufc":
        raise Refuted(f"{name} gives no numbers for {what}")
    if found.shape != wanted.shape:
        raise Refuted(f"{what} has shape {found.shape}, that of {name} is {wanted.shape}")
    finite = np.isfinite(wanted)
    largest = float(np.abs(wanted[finite]).max(initial=0.0))
    close = np.isclose(found, wanted, rtol=_RELATIVE, atol=_OF_LARGEST * largest, equal_nan=True)
    if not close.all():
        place = tuple(int(each) for each in np.argwhere(~close)[0])
        at = f" at element {list(place)}" if place else ""
        raise Refuted(f"{what} is not that of {name}{at}: {found[place]:.12g} instead of {wanted[place]:.12g}")


@functools.cache
def _function(text: str) -> tuple[Callable[..., Any], ast.Call]:
    """The function that a reference names, and the call of it.

    Raises:
        Undecided: there is no such library.
        Refuted: the library has no such function.
    """
    tree = ast.parse(text, mode="eval").body
    call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
    name = ast.unparse(call.func)
    library, *path = name.split(".")
    try:
        found: Any = importlib.import_module(library)
    except ImportError as error:
        raise Undecided(f"values were not compared with {name}: {library} is not installed") from error
    so_far = library
    for part in path:
        so_far = f"{so_far}.{part}"
        if not hasattr(found, part):
            try:
                found = importlib.import_module(so_far)
                continue
            except ImportError as error:
                raise Refuted(f"'reference' names {name}, and there is no {so_far}") from error
        found = getattr(found, part)
    return (_by_elements(found) if library == "mpmath" else found), call


def _by_elements(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers of mpmath as one of arrays."""
    mpmath = importlib.import_module("mpmath")

    def of_numbers(*args: Any, **kwargs: Any) -> complex:
        with mpmath.workdps(_DIGITS):
            named = {name: _as_number(value) for name, value in kwargs.items()}
            result = function(*map(_as_number, args), **named)
        return complex(result)

    def run(*args: Any, **kwargs: Any) -> Array:
        made = np.vectorize(of_numbers, otypes=[np.complex128])(*args, **kwargs)
        are_real = not any(np.iscomplexobj(each) for each in args)
        return np.asarray(made.real if are_real else made)

    return run


def _as_number(value: Any) -> Any:
    """A number of mpmath; ints, such as orders, and flags stay what they are."""
    mpmath = importlib.import_module("mpmath")

    if isinstance(value, bool | np.bool_):
        return bool(value)
    return int(value) if isinstance(value, int | np.integer) else mpmath.mpmathify(value)


def _arguments(point: Point, call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    """What the reference is called with."""
    parameters = operator_of(point.info).signature.parameters
    values = {each.name: each.default for each in parameters}
    values |= dict(zip(values, point.sample.args, strict=False)) | dict(point.sample.kwargs)
    plain = {name: _plain(value) for name, value in values.items()}
    if not (call.args or call.keywords):
        is_number = (np.ndarray, int, float, complex)
        return [each for each in plain.values() if isinstance(each, is_number) and not isinstance(each, bool)], {}

    def value_of(node: ast.expr) -> Any:
        return plain[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)

    keywords = {each.arg: value_of(each.value) for each in call.keywords if each.arg is not None}
    return [value_of(each) for each in call.args], keywords


def _plain(value: Any) -> Any:
    """An argument without Tensors; a list is a tuple, as NumPy wants axes."""
    if isinstance(value, Tensor):
        return array(value)
    return tuple(_plain(each) for each in value) if isinstance(value, list | tuple) else value
