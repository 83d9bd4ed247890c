"""What a Node keeps is needed."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradwright.autograd.graph import saved_tensors_hooks
from gradwright.verify.boundary import special
from gradwright.verify.points import Point, all_tensors, array, gradients
from gradwright.verify.results import Refuted
from runtime.base.tensor import Tensor, wrap


def saved(points: Sequence[Point]) -> int:
    """No Tensor is kept that the gradients which are asked for do not depend on, for each input alone.

    Inputs that have one formula together are asked for together: what one of them needs is kept for all. Whether one is
    needed may depend on the values of other arguments: it is, where one sample needs it, be it one with special values.

    Returns:
        How many samples were looked at.
    """
    used: dict[tuple[str, int, int], bool] = {}
    shown: dict[tuple[str, int, int], tuple[Point, Tensor, list[int]]] = {}
    looked = 0
    for point in points:
        if point.info.determined is not None:
            if point.dtype != "float64":
                continue  # such results have no gradient as they are
            plain = replace(point.info, determined=None)
            point = Point(plain, point.sample, point.number, point.dtype)
        if point.info.composite or not point.inputs or not point.function(*point.inputs):
            continue
        if any(tensor.numel() == 0 for tensor in all_tensors(point.sample)):
            continue
        for name, places in _formulas(point):
            inputs = [x.detach().requires_grad_(i in places) for i, x in enumerate(point.inputs)]
            kept = _kept(point, inputs)
            looked += len(kept) > 0
            for number, tensor in enumerate(kept):
                slot = (name, number, len(kept))
                shown.setdefault(slot, (point, tensor, places))
                if not used.get(slot):
                    used[slot] = _matters(point, inputs, places, number)
    for slot, needed in used.items():
        if needed:
            continue
        point, tensor, places = shown[slot]
        if not _matters_where_special(point, places, slot[1], slot[2]):
            said = f"of what is saved for the gradient of '{slot[0]}' alone, Tensor {slot[1]} of shape "
            raise Refuted(f"{said}{tuple(tensor.shape)} is not used", slot[0].partition(",")[0], point=point)
    return looked


def _formulas(point: Point) -> list[tuple[str, list[int]]]:
    """The inputs that are asked for together: their names, and which of the inputs they are."""
    alone: list[tuple[str, list[int]]] = []
    together: dict[tuple[str, ...], list[int]] = {}
    for place, name in enumerate(point.names()):
        joint = next((each for each in point.info.joint if name in each), None)
        if joint is None:
            alone.append((name, [place]))
        else:
            together.setdefault(joint, []).append(place)
    return alone + [(", ".join(names), places) for names, places in together.items()]


def _kept(point: Point, inputs: list[Tensor]) -> list[Tensor]:
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        point.function(*inputs)
    return kept


def _matters_where_special(point: Point, places: list[int], number: int, count: int) -> bool:
    """Whether it does at zeros, ties and the ends of the domain, for as many saved Tensors as in the sample."""
    for values in special(point):
        inputs = [x.detach().requires_grad_(i in places) for i, x in enumerate(values)]
        with contextlib.suppress(RuntimeError):  # such values are refused
            if len(_kept(point, inputs)) == count and _matters(point, inputs, places, number):
                return True
    return False


def _matters(point: Point, inputs: list[Tensor], places: list[int], number: int) -> bool:
    """Whether a gradient is another one when one of the saved Tensors is."""
    return any(_changes(point, inputs, places, number, change) for change in _CHANGES)


def _changes(point: Point, inputs: list[Tensor], places: list[int], number: int, change: Any) -> bool:
    """Whether a gradient is another one when one of the saved Tensors is altered in a certain way."""
    rows: list[list[Any]] = []
    for altered in (False, True):
        order: list[int] = []

        def pack(tensor: Tensor, order: list[int] = order) -> tuple[int, Tensor]:
            order.append(len(order))
            return order[-1], tensor

        def unpack(kept: tuple[int, Tensor], altered: bool = altered) -> Tensor:
            if kept[0] != number or not altered:
                return kept[1]
            return wrap(np.asarray(change(kept[1]._array.copy())))

        try:
            with saved_tensors_hooks(pack, unpack):
                outs = point.function(*inputs)
            if not outs:
                return True  # these inputs alone have no gradient
            seeds = [wrap(np.cos(np.arange(o.numel())).reshape(o.shape).astype(o._array.dtype)) for o in outs]
            rows.append([array(each) for each in gradients(outs, [inputs[place] for place in places], seeds)])
        except (RuntimeError, IndexError, ValueError):
            return True
    return not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*rows, strict=True))


def _not_a_number(values: np.ndarray) -> np.ndarray:
    return np.full_like(values, np.nan) if values.dtype.kind in "fc" else _other(values)


def _other(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "b":
        return ~values
    return np.where(values == 0, values + 1, values * 0).astype(values.dtype)


def _negative(values: np.ndarray) -> np.ndarray:
    return ~values if values.dtype.kind == "b" else -values


def _rolled(values: np.ndarray) -> np.ndarray:
    return np.roll(values.reshape(-1), 1).reshape(values.shape)


_CHANGES = (_not_a_number, _negative, _other, _rolled)
