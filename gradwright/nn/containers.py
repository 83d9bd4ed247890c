"""Modules that hold other Modules, or parameters, as a list or a dictionary."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Self, overload

from gradwright.nn.module import Module, bracketed, indented
from gradwright.nn.naming import typename
from gradwright.nn.parameter import Parameter
from runtime.base.tensor import Tensor


def _position(index: Any, size: int) -> int:
    """An index as one from the start.

    Raises:
        IndexError: there is no such position.
    """
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return int(index % size)


class _Row(Module):
    """Base of containers whose Modules have an order."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def _name_of(self, index: Any) -> str:
        return list(self._modules)[_position(index, len(self))]

    def _renumber(self, modules: Iterable[Module]) -> None:
        numbered = {str(position): module for position, module in enumerate(list(modules))}
        self._modules.clear()
        self._modules.update(numbered)

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_of(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        chosen = names[index] if isinstance(index, slice) else [self._name_of(index)]
        for name in chosen:
            delattr(self, name)
        self._renumber(self)

    def pop(self, key: int | slice) -> Any:
        """Take out the Module at a position, and return it."""
        member = self[key]  # type: ignore[index]
        del self[key]
        return member

    def append(self, module: Module) -> Self:
        """Add a Module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a Module before the one at a position."""
        row = list(self)
        row.insert(index, module)
        self._renumber(row)


class Container(Module):
    """Modules under the names that they are given by; deprecated, as any Module can hold others."""

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        warnings.warn(
            "nn.Container is deprecated: nn.Module does all that it did. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(_Row):
    """Modules, each of which is called with what the one before returned.

    `Sequential(a, b)` numbers them; an OrderedDict gives them names.
    """

    def __init__(self, *args: Module | OrderedDict[str, Module]) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            members: Iterable[tuple[str, Any]] = args[0].items()
        else:
            members = ((str(position), module) for position, module in enumerate(args))
        for name, module in members:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """The result of the last Module."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_of(index)]

    def insert(self, index: int, module: Module) -> Self:
        """Add a Module before the one at a position.

        Raises:
            AssertionError: it is no Module.
            IndexError: there is no such position.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add Modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Sequential) -> Sequential:
        self._check_other(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        self._check_other(other)
        return self.extend(list(other))

    def _check_other(self, other: object) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, other: object) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")


class ModuleList(_Row):
    """Modules in a list."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._name_of(index)]

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add Modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Neighbours that look the same are one line, with their number."""
        runs: list[tuple[int, int, str]] = []
        for position, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], position, text)
            else:
                runs.append((position, position, text))
        lines = [
            f"({first}): {indented(text)}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {indented(text)}"
            for first, last, text in runs
        ]
        return bracketed(self._get_name(), [], lines)


def _pairs(name: str, source: Any, sort: bool = False) -> Iterator[tuple[str, Any]]:
    """Keys and values of a mapping, a container of this kind, or a sequence of pairs."""
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got {type(source).__name__}"
        )
    if hasattr(source, "items"):
        items = list(source.items())
        yield from sorted(items) if sort else items
        return
    for position, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{position} should be Iterable; is {type(pair).__name__}")
        pair = list(pair)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{position} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]


class ModuleDict(Module):
    """Modules by name, in the order in which they were added."""

    _modules: dict[str, Module]  # type: ignore[assignment]

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Module]:
        """The Modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Names and Modules."""
        return self._modules.items()

    def clear(self) -> None:
        """Take out all Modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take out a Module, and return it."""
        return self._modules.pop(key)

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add Modules of a mapping or of a sequence of pairs."""
        for name, module in _pairs("ModuleDict", modules):
            self[name] = module


class _Parameters(Module):
    """Base of containers of parameters, which may hold other values too. Tensors become parameters."""

    def _parameter_of(self, value: Any) -> Any:
        return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value

    def _described(self, key: object, value: Any, kind: str) -> str:
        if not isinstance(value, Tensor):
            return f"  ({key}): Object of type: {type(value).__name__}"
        what = "Parameter" if isinstance(value, Parameter) else "Tensor"
        return f"  ({key}): {what} containing: [{kind} of size {'x'.join(map(str, value.shape))}]"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: there is nothing to compute."""
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_Parameters):
    """Parameters in a list."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> ParameterList: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[position] for position in range(*index.indices(len(self)))])
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(_position(index, len(self))), self._parameter_of(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[position] for position in range(len(self))])

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def extra_repr(self) -> str:
        """A line for each value."""
        return "\n".join(
            self._described(position, value, str(getattr(value, "dtype", ""))) for position, value in enumerate(self)
        )


class ParameterDict(_Parameters):
    """Parameters by name, in the order in which they were added; those of a plain mapping are added in sorted order."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}')."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._attribute(key), self._parameter_of(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and values."""
        return ((key, self[key]) for key in self._keys)

    def copy(self) -> ParameterDict:
        """Another ParameterDict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name, which is set to `default` if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take out all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out a value, and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out the last value, and return it with its name."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, `default` if there is none."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A ParameterDict with one value under several names."""
        return ParameterDict((key, default) for key in keys)

    def update(self, parameters: Any) -> None:
        """Add values of a mapping, another ParameterDict or a sequence of pairs."""
        ordered = isinstance(parameters, (OrderedDict, ParameterDict)) or not isinstance(parameters, Mapping)
        for key, value in list(_pairs("ParameterDict", parameters, sort=not ordered)):
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        copied = self.copy()
        copied.update(other)
        return copied

    def __ror__(self, other: Any) -> Any:
        # A mapping on the left keeps its class.
        copied = other.copy()
        copied.update(self)
        return copied

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        """A line for each value."""
        return "\n".join(self._described(key, value, typename(value)) for key, value in self.items())
