"""`tensor[index]` and `tensor[index] = value`: any index that PyTorch takes, as views and `index` or `index_put_`.

An index is read from left to right. Integers, slices, `None` and `...` become views at once. Tensors of indices and
masks are collected, one for each dimension that the views leave (a mask takes several), and applied at the end.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime import ops
from runtime.base import identity
from runtime.base.arrays import element, is_half
from runtime.base.memory import repeats
from runtime.base.modes import plain
from runtime.base.sharing import shares, transforms
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor, wrap
from runtime.graph.views import bump_version

_EVERYTHING = slice(None)
_MOST_ITEMS = 32  # of a list that may be read as a tuple; PyTorch took the number from old NumPy


def getitem(self: Tensor, index: Any) -> Tensor:
    """`self[index]`.

    Raises:
        IndexError: an index is out of range, of a wrong type, or one too many.
        ValueError: the step of a slice is not positive, or an index is more than an int64 holds.
    """
    kind = type(index)
    if kind is int:
        return _selected(self, 0, index, 0)
    if kind is slice:
        return _sliced(self, 0, index)
    view, indices = _views_and_indices(self, index)
    if any(each is not None for each in indices):
        return ops.index(view, indices)
    return ops.alias(self) if view is self else view


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """`self[index] = value`; a value of another dtype is converted, one of fewer dimensions broadcast.

    Raises:
        IndexError, ValueError: as for `getitem`.
        TypeError: the value is neither a Tensor nor a number.
        RuntimeError: it does not fit in shape, or the Tensor must not be written.
    """
    if _written_directly(self, index, value):
        return
    source = _as_value(self, value)
    if index is False:
        return
    view, indices = _views_and_indices(self, index)
    source = _without_leading_ones(source)
    if any(each is not None for each in indices):
        view.index_put_(indices, source)
        return
    if source.shape != view.shape:
        source = source.expand(view.shape)
    view.copy_(source)


def delitem(self: Tensor, index: Any) -> None:
    """`del self[index]`, which there is not."""
    raise TypeError("Tensor does not support deleting items")


def _written_directly(self: Tensor, index: Any, value: Any) -> bool:
    """Whether the write was one that autograd has nothing to do with, and NumPy does as PyTorch; if so, it is done.

    That is integers and slices into a Tensor that needs no gradient, nor does what it is a view of: filling a buffer.
    """
    if self._edge is not None or self._extra is not None or type(self) not in plain or self._writes is UNTRACKED:
        return False
    if transforms.captured:
        return False  # the general path asks whether it is captured
    array, root = self._array, self._base
    if (root is not None and (root._edge is not None or root._extra is not None)) or repeats(array):
        return False
    parts = index if type(index) is tuple else (index,)
    if len(parts) > array.ndim or not all(_is_simple(part) for part in parts):
        return False
    if type(value) in (int, float, bool):
        source = _element(value, array.dtype)
    elif type(value) in plain and value._edge is None and value._array.dtype is array.dtype:
        if shares(value, self):
            return False
        source = value._array
    else:
        return False
    try:
        array[index] = source
    except (IndexError, ValueError, OverflowError):
        return False  # the general path finds the words
    bump_version(self)
    return True


def _element(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return element(value, dtype, wraps=is_half(dtype))


def _is_simple(part: object) -> bool:
    if type(part) is int:
        return True
    if type(part) is not slice:
        return False
    step = part.step
    return (step is None or (type(step) is int and step > 0)) and all(
        bound is None or type(bound) is int for bound in (part.start, part.stop)
    )


def _as_value(self: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, complex)):
        return wrap(np.asarray(_element(value, self._array.dtype)))
    raise TypeError(f"can't assign a {_type_name(value)} to a {identity.name}.{self.dtype.scalar_name}Tensor")


def _type_name(value: object) -> str:
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _without_leading_ones(value: Tensor) -> Tensor:
    sizes = value._array.shape
    first = next((place for place, size in enumerate(sizes) if size != 1), len(sizes))
    return value.reshape(sizes[first:]) if first else value


# -- reading an index


def _views_and_indices(self: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None]]:
    """The view that the simple parts of `index` make, and for its dimensions the index tensors (None: take all)."""
    parts = _parts(index)
    read = [_as_index(part) for part in parts]
    left = self._array.ndim - sum(_consumed(part) for part in read)
    if left < 0:
        raise IndexError(f"too many indices for tensor of dimension {self._array.ndim}")
    view = self
    indices: list[Tensor | None] = []
    dim = real_dim = 0  # where the next part stands in the view, and stood in `self`
    for part in read:
        if part is None:
            view = view.unsqueeze(dim)
            indices.append(None)
            dim += 1
        elif part is Ellipsis:
            # A second ellipsis stands for a whole dimension each, of which none is left.
            indices += [None] * left
            dim += left
            real_dim += left
            left = 0
        elif isinstance(part, slice):
            if part != _EVERYTHING:
                view = _sliced(view, dim, part)
            indices.append(None)
            dim += 1
            real_dim += 1
        elif isinstance(part, bool):
            view = view.unsqueeze(dim)
            indices.append(wrap(np.zeros(int(part), np.int64)))
            dim += 1
        elif isinstance(part, int):
            view = _selected(view, dim, part, real_dim)
            real_dim += 1
        else:
            indices.append(part)
            width = _consumed(part)
            dim += width
            real_dim += width
    return view, indices


def _parts(index: Any) -> tuple[Any, ...]:
    """The parts of an index. A list that holds more than numbers is read as a tuple."""
    if isinstance(index, tuple):
        return index
    if _is_sequence(index) and len(index) < _MOST_ITEMS:
        for item in index:
            if item is None or item is Ellipsis or isinstance(item, (Tensor, slice, np.ndarray)) or _is_sequence(item):
                return tuple(index)
    return (index,)


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _as_index(part: Any) -> Any:
    """None, Ellipsis, a slice, a bool, an int, or a Tensor of indices."""
    if part is None or part is Ellipsis or isinstance(part, (bool, int, slice)):
        return part
    if isinstance(part, np.ndarray):
        part = _tensor_of(part)
    elif _is_sequence(part):
        return _tensor_of(_array_of_indices(_as_lists(part)))
    if isinstance(part, Tensor):
        return _of_scalar(part) if part._array.ndim == 0 else part
    if isinstance(part, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(part).__name__}'")
    try:
        return operator.index(part)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{_type_name(part)})"
        ) from None


def _array_of_indices(items: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(items)
    if array.dtype == np.uint64 or (array.dtype == object and all(isinstance(item, int) for item in array.flat)):
        for item in array.flat:
            _check_int64(int(item))
    return array


def _check_int64(index: int) -> None:
    """Raise ValueError, as PyTorch, where an index is more than an int64 holds."""
    if not -(2**63) <= index < 2**63:
        raise ValueError("Overflow when unpacking long long")


def _of_scalar(index: Tensor) -> Any:
    """A 0-dim Tensor as the number it holds: an int, or a bool for a mask."""
    if index._opaque:
        return index
    kind = index._array.dtype
    if kind in (np.bool_, np.uint8):
        return bool(index._array)
    return int(index._array) if kind.kind in "iu" else index


def _tensor_of(array: np.ndarray[Any, Any]) -> Tensor:
    """An array, or a list made one, as a mask or as indices; fractions are cut off, as PyTorch does."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an index can not be made of {array!r}")
    return wrap(array if array.dtype in (np.bool_, np.uint8) else array.astype(np.int64))


def _as_lists(items: Any) -> Any:
    if isinstance(items, Tensor):
        return items.tolist()
    return [_as_lists(item) for item in items] if _is_sequence(items) else items


def _consumed(part: Any) -> int:
    """How many dimensions of the Tensor a part of an index covers."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, Tensor) and part._array.dtype in (np.bool_, np.uint8):
        return part._array.ndim
    return 1


# -- the parts that make views


def _selected(view: Tensor, dim: int, index: int, real_dim: int) -> Tensor:
    array = view._array
    if array.ndim == 0:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    size = array.shape[dim]
    if not -size <= index < size:
        _check_int64(index)
        raise IndexError(f"index {index} is out of bounds for dimension {real_dim} with size {size}")
    return ops.select(view, dim, index)


def _sliced(view: Tensor, dim: int, part: slice) -> Tensor:
    start, stop, step = part.start, part.stop, part.step
    if view._array.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step is None:
        step = 1
    elif (step := _slice_index(step)) <= 0:
        raise ValueError("slice step cannot be zero" if step == 0 else "step must be greater than zero")
    return ops.slice(
        view, dim, None if start is None else _slice_index(start), None if stop is None else _slice_index(stop), step
    )


def _slice_index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None
