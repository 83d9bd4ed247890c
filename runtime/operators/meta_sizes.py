"""What a kernel on arrays gives, told without its arguments' values: shapes, strides and dtypes of results.

A kernel is run on arrays of the same shapes that hold simple values. Where these would be large, it is run on small
ones instead: sizes are renamed, each to another small one, in the same order and everywhere alike, among the integers
of the call as well. Operators look at sizes in few ways: they compare them, pass them on, and add them up. A size that
comes out under its new name, with three namings, is that size; so are multiples, sums and products found. What is none
of these is a quotient, as a rule: then it is tried again with a size or two that keep their names, those of windows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.base.memory import bounds
from runtime.base.meta_array import MetaArray, made, order_of, plain, strided

# Up to this size all keep their names, and calls with fewer elements are run as they are.
KEPT = 4
LARGE = 1 << 12
# Renamed calls with more elements are not tried, nor those with the right sizes with more than the second.
_MOST = 1 << 21
_MOST_ZEROS = 1 << 26
# By how much names grow from row to row is no simple multiple of how much others do.
_NAMES = (
    (5, 7, 9, 12, 14, 16, 19, 21, 25, 28),
    (8, 18, 38, 82, 174, 386, 800, 1700, 3500, 7100),
    (11, 13, 49, 62, 104, 166, 619, 1000, 2100, 3900),
)

Function = Callable[..., Any]


class NeedsValues(Exception):
    """What comes out depends on the values of the arguments."""


class TooLarge(Exception):
    """What comes out would have to be computed of arrays that are too large for it."""


UNKNOWN = object()


def results_of(function: Function, args: Sequence[Any]) -> Any:
    """The results of a kernel, as arrays without data.

    Args:
        function: the kernel.
        args: its arguments; arrays among them are without data.

    Raises:
        NeedsValues: shapes depend on values, or a result is no array.
        TooLarge: it can not be told with little work.
    """
    if _is_small(args):
        return _mapped(_same_shapes(function, args, Naming()), lambda array: strided_as(array, array.shape))
    taken = False  # whether the arguments fit each other, but for their sizes
    for namings in _namings(args):
        found = _renamed(function, args, namings)
        if found is not None and found is not UNKNOWN:
            return found
        taken |= found is UNKNOWN
    try:
        return _mapped(function(*args), _without_data)
    except Exception:  # it does more than to move what it gets
        if taken and _elements(args, Naming()) > _MOST_ZEROS:
            raise TooLarge from None
        with_zeros = _replaced(args, plain, Naming())
        return _mapped(function(*with_zeros), lambda array: strided_as(array, array.shape))


def strided_as(array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> MetaArray:
    """An array of `shape` that lies as `array` does."""
    if shape == array.shape and not any(stride < 0 for stride in array.strides):
        return strided(shape, array.dtype, array.strides)
    return made(shape, array.dtype, None if array.flags.c_contiguous else order_of(array))


def contiguous(result: Any) -> Any:
    """Arrays without data in place of those that a kernel for Meta gave."""
    return _mapped(result, lambda array: made(array.shape, array.dtype))


def _without_data(array: np.ndarray[Any, Any]) -> MetaArray:
    return array if isinstance(array, MetaArray) else strided_as(array, array.shape)


# -- which sizes there are


def _walk(args: Sequence[Any]) -> Iterator[Any]:
    for value in args:
        if isinstance(value, (list, tuple)):
            yield from _walk(value)
        else:
            yield value


def _sizes(args: Sequence[Any]) -> Iterator[list[int]]:
    """The sizes that can be renamed, from the smallest: those of arrays and of large numbers, then all numbers.

    An integer that is no size of an array may be the stride of a window, and is left as it is if that does.
    """
    found = {size for value in _walk(args) if isinstance(value, np.ndarray) for size in value.shape}
    numbers: set[int] = set()
    for value in args:
        here = [each for each in _walk([value]) if type(each) is int and each > 0]
        (found if math.prod(here) > LARGE else numbers).update(here)
    for sizes in (found, found | numbers) if numbers - found else (found,):
        yield sorted(size for size in sizes if size > KEPT)


def _is_small(args: Sequence[Any]) -> bool:
    for value in args:
        if isinstance(value, (list, tuple)):
            if not _is_small(value):
                return False
            numbers = [abs(item) for item in value if type(item) is int and item]
            if math.prod(numbers) > LARGE:
                return False
        elif isinstance(value, np.ndarray):
            if value.size > LARGE or sum(map(abs, bounds(value))) > 64 * LARGE:
                return False
        elif type(value) is int and abs(value) > LARGE:
            return False
    return True


class Naming(dict[int, int]):
    """Other names for sizes.  With `axis`, those of this dimension keep theirs, and numbers that are no shapes do."""

    axis: int | None = None
    rank = 0  # the most dimensions of an array, if there is an axis

    def sizes(self, sizes: Sequence[Any]) -> list[Any]:
        """The sizes of an array."""
        axis = self.axis
        return [self.get(each, each) if type(each) is int and i != axis else each for i, each in enumerate(sizes)]

    def numbers(self, numbers: Sequence[Any]) -> list[Any]:
        """A list of numbers."""
        return self.sizes(numbers) if self.axis is None or len(numbers) == self.rank else list(numbers)

    def number(self, number: int) -> int:
        """A number that stands alone."""
        return number if self.axis is not None else self.get(number, number)


def _namings(args: Sequence[Any]) -> Iterator[list[Naming]]:
    """Ways of renaming, each with three kinds of names: of all sizes, of all but one, of all but two; then by axes."""
    counted, every = _counted(args), _numbers(args)
    for sizes in _sizes(args):
        for left_out in itertools.chain.from_iterable(itertools.combinations(sizes, kept) for kept in range(3)):
            renamed = [size for size in sizes if size not in left_out]
            yield from _named(renamed, every.difference(renamed), counted)
    shapes = [value.shape for value in _walk(args) if isinstance(value, np.ndarray)]
    rank = max(map(len, shapes), default=0)
    lists = [value for value in args if isinstance(value, (list, tuple)) and len(value) != rank]
    windows = _numbers([each for value in lists for each in value if type(each) is int])
    for axis in range(rank):  # for sizes that stand at several: along one dimension all are kept
        renamed = sorted({size for shape in shapes for i, size in enumerate(shape) if i != axis and size > KEPT})
        yield from _named(renamed, windows.difference(renamed), counted, axis, rank)


def _named(
    renamed: Sequence[int], kept: set[int], counted: set[int], axis: int | None = None, rank: int = 0
) -> Iterator[list[Naming]]:
    """Names for some sizes, in the same order, also among those that are kept; nothing where there is no room.

    What is larger than a number that is kept is made larger by other multiples of it: a quotient is no constant then.
    """
    if not renamed or len(renamed) > len(_NAMES[0]):
        return
    namings = []
    for column, names in enumerate(_NAMES, 1):
        found = Naming()
        found.axis, found.rank = axis, rank
        for size, name in zip(renamed, names, strict=False):
            if size not in counted:
                name += column * max((other for other in kept if KEPT < other < size), default=0)
                if any(size < other <= name for other in kept):
                    return
            found[size] = name
        namings.append(found)
    yield namings


def _numbers(args: Sequence[Any]) -> set[int]:
    """All sizes and numbers of a call."""
    found: set[int] = set()
    for value in _walk(args):
        if isinstance(value, np.ndarray):
            found.update(value.shape)
        elif type(value) is int:
            found.add(value)
    return found


def _counted(args: Sequence[Any]) -> set[int]:
    """The sizes that only count images or channels, and are not compared with lengths in images."""
    outer: set[int] = set()
    others: set[int] = set()
    for value in _walk(args):
        if isinstance(value, np.ndarray):
            first = 2 if value.ndim > 2 else 0
            outer.update(value.shape[:first])
            others.update(value.shape[first:] if value.ndim > 1 else ())
        elif type(value) is int:
            others.add(value)
    return outer - others


# -- running


def _renamed(function: Function, args: Sequence[Any], namings: list[Naming]) -> Any:
    """The results under three namings, with their right sizes; None where there are none, UNKNOWN where they tell none.

    Raises:
        NeedsValues: shapes are others for other values.
    """
    if any(_elements(args, naming) > _MOST for naming in namings):
        return None
    first, second = (_first_values, _second_values), (_second_values, _first_values)
    try:
        results = [
            _run(function, args, naming, fills) for naming, fills in zip(namings, (first, second, first), strict=True)
        ]
    except Exception:
        return None  # what is wrong with the arguments is said of the right sizes
    sizes = [(size, tuple([naming[size] for naming in namings])) for size in namings[0]]

    def with_sizes(arrays: Sequence[Any]) -> Any:
        if len({(array.ndim, array.dtype) for array in arrays}) > 1:
            raise _Unknown
        shape = [_meant(found, sizes) for found in zip(*(array.shape for array in arrays), strict=True)]
        return strided_as(arrays[0], tuple(shape))

    try:
        return _together(results, with_sizes)
    except _Unknown:
        _same_shapes(function, args, namings[0])
        return UNKNOWN


def _meant(found: tuple[int, ...], sizes: Sequence[tuple[int, tuple[int, ...]]]) -> int:
    """The size of a result that came out as `found` under three namings.

    Raises:
        _Unknown: it is neither a constant nor a multiple of a size plus a constant, nor a sum or product of two sizes.
    """
    if len(set(found)) == 1:
        return found[0]
    meant = set()
    for size, names in sizes:
        if names == found:
            return size
        factor, rest = divmod(found[1] - found[0], names[1] - names[0])
        offset = found[0] - factor * names[0]
        if not rest and factor > 0 and found[2] == factor * names[2] + offset:
            meant.add(factor * size + offset)
    for (size, names), (other, others) in itertools.combinations_with_replacement(sizes, 2):
        pairs = list(zip(names, others, strict=True))
        if found == tuple([one + two for one, two in pairs]):
            meant.add(size + other)
        if found == tuple([one * two for one, two in pairs]):
            meant.add(size * other)
    if len(meant) != 1:
        raise _Unknown
    return meant.pop()


class _Unknown(Exception):
    """A size came out that is none of the names."""


def _elements(args: Sequence[Any], names: Naming) -> int:
    """About how many elements a call has to do with."""
    most = 0
    for value in args:
        if isinstance(value, (list, tuple)):
            numbers = [each for each in names.numbers(value) if type(each) is int and each > 0]
            most = max(most, math.prod(numbers), _elements([each for each in value if type(each) is not int], names))
        elif isinstance(value, np.ndarray):
            most = max(most, math.prod(names.sizes(value.shape)))
        elif type(value) is int and value < 1 << 62:
            most = max(most, names.number(value))
    return most


def _run(function: Function, args: Sequence[Any], names: Naming, fills: Sequence[Function]) -> Any:
    """What the kernel gives for the first kind of values that it takes.

    Raises:
        Exception: it takes none.
    """
    refused: Exception | None = None
    for fill in fills:
        try:
            return function(*_replaced(args, fill, names))
        except Exception as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _same_shapes(function: Function, args: Sequence[Any], names: Naming) -> Any:
    """What the kernel gives for one kind of values, if it gives no other shapes for another.

    Raises:
        NeedsValues: it does.
        Exception: it takes neither.
    """
    one = _run(function, args, names, (_first_values, _second_values))
    other = _run(function, args, names, (_second_values, _first_values))

    def first(arrays: Sequence[Any]) -> Any:
        if arrays[0].shape != arrays[1].shape:
            raise NeedsValues
        return arrays[0]

    return _together([one, other], first)


def _together(results: Sequence[Any], function: Callable[[Sequence[Any]], Any]) -> Any:
    """`function` of the arrays at each place of results that are built alike."""
    one = results[0]
    if isinstance(one, (tuple, list)):
        if len({len(each) for each in results}) > 1:
            raise NeedsValues
        return type(one)([_together(each, function) for each in zip(*results, strict=True)])
    if all(each is None for each in results):
        return None
    if not isinstance(one, (np.ndarray, np.generic)):
        raise NeedsValues
    return function([np.asanyarray(each) for each in results])


def _mapped(result: Any, function: Callable[[Any], Any]) -> Any:
    return _together([result], lambda arrays: function(arrays[0]))


def _replaced(args: Sequence[Any], fill: Function, names: Naming) -> list[Any]:
    """The arguments, with arrays that `fill` makes in place of those without data."""
    replaced: list[Any] = []
    for value in args:
        if isinstance(value, MetaArray):
            replaced.append(fill(_shaped(value, names)) if fill is not plain else plain(value))
        elif isinstance(value, (list, tuple)):
            numbers = all(type(each) is int for each in value)
            replaced.append(type(value)(names.numbers(value) if numbers else _replaced(value, fill, names)))
        elif type(value) is int:
            replaced.append(names.number(value))
        else:
            replaced.append(value)
    return replaced


def _shaped(array: MetaArray, names: Naming) -> np.ndarray[Any, Any]:
    """Zeros in the place of an array without data, which lie as it does."""
    shape = tuple(names.sizes(array.shape))
    if shape == array.shape and not any(stride < 0 for stride in array.strides):
        low, high = bounds(array)
        if high - low <= 256 * LARGE:
            return np.ndarray(shape, array.dtype, np.zeros(high - low, np.uint8), -low, array.strides)
    outermost = order_of(array)[::-1]
    dense = np.zeros([shape[dim] for dim in outermost], array.dtype)
    return dense.transpose(np.argsort(outermost)) if outermost else dense


def _first_values(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values that most functions take: unit matrices and ones; zeros of integers, which are indices.

    A matrix that is not square has a one in each row and each column.
    """
    if array.dtype.kind not in "fc" or not array.size:
        return array
    if array.ndim < 2:
        array[...] = 1
        return array
    rows, columns = array.shape[-2:]
    places = np.arange(max(rows, columns))
    array[..., places % rows, places % columns] = 1
    return array


def _second_values(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Others: ones of integers and True, zeros of all else."""
    if array.dtype.kind in "biu":
        array[...] = 1
    return array
