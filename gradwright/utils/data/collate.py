"""Batches of samples: Tensors are stacked, and containers of them keep their kind."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from runtime import ops
from runtime.base.creation import as_tensor, tensor
from runtime.base.dtypes import float64
from runtime.base.tensor import Tensor

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

Kinds = dict[type | tuple[type, ...], Callable[..., Any]]

_MESSAGE = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_collate(batch: Sequence[Any]) -> Any:
    """A list of samples as one batch, with a first dimension more.

    Tensors and arrays are stacked, numbers become a Tensor, text stays a list; mappings, named tuples and sequences
    hold batches of what they held.

    Raises:
        TypeError: samples are nothing of that.
        RuntimeError: sequences differ in length, or Tensors in shape.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def default_convert(data: Any) -> Any:
    """A sample whose arrays and NumPy's numbers are Tensors, in containers of the same kinds; tuples become lists."""
    if isinstance(data, Tensor):
        return data
    if type(data).__module__ == "numpy" and not isinstance(data, (np.str_, np.bytes_)):
        is_no_number = isinstance(data, np.ndarray) and data.dtype.kind in "SUO"
        return data if is_no_number else as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        converted = [default_convert(item) for item in data]
        return type(data)(*converted) if hasattr(data, "_fields") else converted
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence(data, [default_convert(item) for item in data])
    return data


def collate(batch: Sequence[Any], *, collate_fn_map: Kinds | None = None) -> Any:
    """As `default_collate`, with functions of one's own.

    Args:
        batch: samples.
        collate_fn_map: for a type, or a tuple of types, the function of a batch of it and of `collate_fn_map`.

    Raises:
        TypeError: there is no function for the samples, which are no containers.
        RuntimeError: sequences differ in length.
    """
    first = batch[0]
    kinds = collate_fn_map or {}
    function = kinds.get(type(first)) or next((kinds[kind] for kind in kinds if isinstance(first, kind)), None)
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)

    def columns() -> list[Any]:
        return [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False)]

    if isinstance(first, Mapping):
        return _mapping(
            first, {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        )
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*columns())
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return columns() if isinstance(first, tuple) else _sequence(first, columns())
    raise TypeError(_MESSAGE.format(type(first)))


def _mapping(like: Any, items: dict[Any, Any]) -> Any:
    """A mapping of the class of another one, or a dict where that can not be made."""
    try:
        if not isinstance(like, MutableMapping):
            return type(like)(items)
        clone = copy.copy(like)
        clone.update(items)
        return clone
    except TypeError:
        return items


def _sequence(like: Any, items: list[Any]) -> Any:
    """A sequence of the class of another one, or a list where that can not be made."""
    try:
        if not isinstance(like, MutableSequence):
            return type(like)(items)
        clone = copy.copy(like)
        for number, item in enumerate(items):
            clone[number] = item
        return clone
    except TypeError:
        return items


def _tensors(batch: Sequence[Tensor], *, collate_fn_map: Kinds | None = None) -> Any:
    return ops.stack(list(batch), 0)


def _arrays(batch: Sequence[np.ndarray[Any, Any]], *, collate_fn_map: Kinds | None = None) -> Any:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_MESSAGE.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def _scalars(batch: Sequence[Any], *, collate_fn_map: Kinds | None = None) -> Any:
    return as_tensor(batch)


def _floats(batch: Sequence[float], *, collate_fn_map: Kinds | None = None) -> Any:
    return tensor(batch, dtype=float64)


def _integers(batch: Sequence[int], *, collate_fn_map: Kinds | None = None) -> Any:
    return tensor(batch)


def _texts(batch: Any, *, collate_fn_map: Kinds | None = None) -> Any:
    return batch


default_collate_fn_map: Kinds = {
    Tensor: _tensors,
    np.ndarray: _arrays,
    (np.bool_, np.number, np.object_): _scalars,
    float: _floats,
    int: _integers,
    str: _texts,
    bytes: _texts,
}
