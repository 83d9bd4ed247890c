"""Streams of the elements of something, of what a function makes of them, and of those that it lets pass."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from runtime.utils.data.collate import default_collate
from runtime.utils.data.datapipes.datapipe import IterDataPipe, length_of
from runtime.utils.data.datapipes.decorators import functional_datapipe
from runtime.utils.data.datapipes.functions import check_columns, check_function, values_of

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class IterableWrapperIterDataPipe(IterDataPipe[T_co]):
    """The elements of an iterable; of a copy of it, for each iterator, unless `deepcopy` is off."""

    def __init__(self, iterable: Iterable[T_co], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[T_co]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied: what is changed in its elements is changed in it",
                    UserWarning,
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        return length_of(self.iterable, self)


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[T_co]):
    """What a function makes of each element.

    Args:
        datapipe: the elements.
        fn: the function.
        input_col: the index or key of what it gets of an element, or a list of them, one for each argument.
        output_col: where in the element its result goes: in the place of the first input if left out; -1 for the end.

    Raises:
        ValueError: the columns are not such, or the function does not take as many arguments.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], fn: Callable[..., Any], input_col: Any = None, output_col: Any = None
    ) -> None:
        self.datapipe = datapipe
        check_function(fn)
        self.fn = fn
        self.input_col = input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col
        if input_col is not None:
            check_columns(fn, input_col)

    def _applied(self, data: Any) -> Any:
        result = self.fn(*values_of(data, self.input_col))
        if self.input_col is None:
            return result
        row = list(data) if isinstance(data, tuple) else data
        if self.output_col == -1:
            row.append(result)
        elif self.output_col is not None:
            row[self.output_col] = result
        elif isinstance(self.input_col, (list, tuple)):
            first, *others = self.input_col
            row[first] = result
            for column in sorted(others, reverse=True):
                del row[column]
        else:
            row[self.input_col] = result
        return tuple(row) if isinstance(data, tuple) else row

    def __iter__(self) -> Iterator[T_co]:
        for data in self.datapipe:
            yield self._applied(data)

    def __len__(self) -> int:
        return length_of(self.datapipe, self)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe[Any]):
    """Batches of lists of samples, by `default_collate` or another function.

    Raises:
        TypeError: `conversion` is no function: there are no data frames.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        conversion: Callable[..., Any] | None = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        function: Any = conversion if collate_fn is None else collate_fn
        super().__init__(datapipe, function)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[T_co]):
    """The elements that a function says True of.

    Args:
        datapipe: the elements.
        filter_fn: the function.
        input_col: the index or key of what it gets of an element, or a list of them, one for each argument.

    Raises:
        ValueError: the function does not take as many arguments; later, it says something else.
    """

    def __init__(self, datapipe: IterDataPipe[T_co], filter_fn: Callable[..., bool], input_col: Any = None) -> None:
        self.datapipe = datapipe
        check_function(filter_fn)
        self.filter_fn = filter_fn
        self.input_col = input_col
        if input_col is not None:
            check_columns(filter_fn, input_col)

    def __iter__(self) -> Iterator[T_co]:
        for data in self.datapipe:
            passes = self.filter_fn(*values_of(data, self.input_col))
            if not isinstance(passes, bool):
                raise ValueError(f"Boolean output is required for `filter_fn`, got {type(passes)}")
            if passes:
                yield data
