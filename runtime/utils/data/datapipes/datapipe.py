"""The base classes of pipes: streams, and sequences by index."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, ClassVar, TypeVar

from runtime.utils.data.datapipes.iterating import one_at_a_time
from runtime.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class DataChunk(list[T]):
    """A batch: a list that knows what it was made of."""

    def __init__(self, items: Iterable[T]) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """Its elements as text, after an indentation."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def __iter__(self) -> Iterator[T]:
        yield from super().__iter__()

    def raw_iterator(self) -> Iterator[T]:
        """The elements as they were given."""
        yield from self.items


class _Composed:
    """What pipes of both kinds have: other pipes as methods."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        function = type(self).functions.get(name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        bound = functools.partial(function, self)
        bound.__doc__ = function.__doc__
        return bound

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Let pipes have a function as a method; it gets the pipe first."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Callable[..., Any]) -> None:
        """Let pipes have a class of pipes as a method that makes one of this pipe.

        Raises:
            Exception: the name is taken.
        """
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        def make(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)

        make.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = make

    def __repr__(self) -> str:
        return type(self).__qualname__

    __str__ = __repr__


class IterDataPipe(_Composed, IterableDataset[T_co]):
    """A stream. A subclass defines `__iter__`; there is one iterator at a time, and a new one ends that before it.

    It has other pipes as methods: `pipe.map(function)` is `datapipes.iter.Mapper(pipe, function)`.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    _valid_iterator_id: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        function = vars(cls).get("__iter__")
        if function is not None:
            cls.__iter__ = one_at_a_time(function)  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[T_co]:
        return self

    __iter__ = one_at_a_time(__iter__)

    def reset(self) -> None:
        """Go back to the beginning: called when an iterator begins."""

    def _begin_round(self) -> int:
        """Take note that an iterator begins; its number."""
        self._valid_iterator_id = 0 if self._valid_iterator_id is None else self._valid_iterator_id + 1
        self.reset()
        return self._valid_iterator_id

    def _is_in_round(self, number: int) -> bool:
        return self._valid_iterator_id == number


class DFIterDataPipe(IterDataPipe[Any]):
    """The base of streams of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Composed, Dataset[T_co]):
    """A sequence by index, or a mapping. A subclass defines `__getitem__`, and mostly `__len__`.

    It has other pipes as methods: `pipe.map(function)` is `datapipes.map.Mapper(pipe, function)`.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


def length_of(pipe: Any, owner: Any) -> int:
    """The length of a pipe that another one is made of.

    Raises:
        TypeError: it has none.
    """
    if isinstance(pipe, Sized):
        return len(pipe)
    raise TypeError(f"{type(owner).__name__} instance doesn't have valid length")
