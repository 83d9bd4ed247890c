"""How an input lies in memory does not matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gradwright.verify.points import Array, Point, array, assert_close, gradients
from gradwright.verify.results import Inapplicable
from runtime.base.tensor import Tensor, wrap

Form = Callable[[Array], Array]


def layouts(point: Point) -> None:
    """Results and gradients are the same for transposed, strided, expanded and overlapping inputs and output gradients.

    Random numbers go to elements in the order in which these lie in memory, as PyTorch's do: they are the same for
    inputs that keep it.
    """
    outs = point.results()
    cotangents = point.like(outs)
    taken = 0
    for name, form in (_IN_ORDER if point.info.random else _FORMS).items():
        laid = [np.asarray(form(x._array)) for x in point.inputs]
        seeds = [np.asarray(form(each._array)) for each in cotangents]
        try:
            wanted, expected = _derived(point, [_plain(each) for each in laid], [_plain(each) for each in seeds])
        except RuntimeError:
            continue  # such as the inverse of a matrix with equal columns
        try:
            found, given = _derived(point, laid, seeds)
        except RuntimeError as error:
            if "stride" not in str(error) and "view" not in str(error):
                raise
            continue  # only an operator whose contract is about strides refuses them
        taken += 1
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            assert_close(array(one), array(other), f"result {place} of {name} inputs", 1e-12)
        for argument, one, other in zip(point.names(), given, expected, strict=True):
            assert_close(array(one), array(other), f"gradient of '{argument}', of {name} inputs", 1e-10, argument)
    if not taken:
        raise Inapplicable("its contract is about strides")


def _derived(point: Point, values: list[Array], seeds: list[Array]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """The results and the gradients of inputs that lie as they do."""
    inputs = [wrap(each).requires_grad_() for each in values]
    outs = point.function(*inputs)
    return outs, gradients(outs, inputs, [wrap(each) for each in seeds])


def _plain(values: Array) -> Array:
    return np.array(values, order="C", copy=True)


def _strided(values: Array) -> Array:
    """At every second place of a larger array, last axis first in memory."""
    if values.ndim == 0:
        return values.copy()
    room = np.zeros((2 * values.shape[-1], *values.shape[:-1]), values.dtype)
    view = np.moveaxis(room[::2], 0, -1)
    view[...] = values
    return view


def _fortran(values: Array) -> Array:
    return np.array(values, order="F", copy=True)


def _expanded(values: Array) -> Array:
    """One slice of it, many times: elements that lie at one place."""
    if values.ndim == 0 or values.size == 0:
        return values.copy()
    return np.broadcast_to(values[..., :1].copy(), values.shape)


def _overlapping(values: Array) -> Array:
    """Rows that each begin one element after the one before, in all matrices the same."""
    if values.ndim < 2 or values.size == 0:
        return values.copy()
    rows, columns = values.shape[-2:]
    base = np.resize(values.reshape(-1), rows + columns - 1)
    return np.broadcast_to(np.lib.stride_tricks.sliding_window_view(base, columns), values.shape)


def _inside(values: Array) -> Array:
    """A part of a larger array, not at its start."""
    room = np.zeros(tuple(size + 2 for size in values.shape), values.dtype)
    if values.ndim == 0:
        return values.copy()
    view = room[tuple(slice(1, size + 1) for size in values.shape)]
    view[...] = values
    return view


_FORMS: dict[str, Form] = {
    "strided": _strided,
    "transposed": _fortran,
    "expanded": _expanded,
    "overlapping": _overlapping,
    "sliced": _inside,
}
_IN_ORDER = {"sliced": _FORMS["sliced"]}
