"""Options of Modules: those of functions, stored in attributes, and those of the functions that make Parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from gradwright.nn.module import Module
from runtime.base.tensor import Tensor

Class = TypeVar("Class", bound="type[FunctionModule]")


class FunctionModule(Module):
    """Calls `function(*inputs, *options)`.

    A subclass is decorated with `options`, and declares its options as annotated class attributes, in the order in
    which the function takes them.
    """

    function: ClassVar[Callable[..., Tensor]]
    _options: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        super().__init__()

    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor:
        """The function, applied to the inputs."""
        if named:
            inputs = self.signature_of_inputs().bind(*inputs, **named).args
        return self.function(*inputs, *[getattr(self, name) for name in self._options])

    @classmethod
    def signature_of_inputs(cls) -> inspect.Signature:
        """How the inputs are called: they are the arguments of the function that have no default and are no options."""
        parameters = inspect.signature(cls.function).parameters.values()
        inputs = [each for each in parameters if each.default is each.empty and each.name not in cls._options]
        return inspect.Signature(inputs)

    def extra_repr(self) -> str:
        """The options by name; `inplace` only where it is chosen."""
        shown = [name for name in self._options if name != "inplace" or getattr(self, name)]
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)


@dataclass_transform(eq_default=False)
def options(cls: Class) -> Class:
    """Give a FunctionModule the constructor that its annotations describe."""
    made: Any = dataclass(eq=False, repr=False, match_args=False)(cls)
    made._options = tuple(field.name for field in fields(made))
    return made  # type: ignore[no-any-return]


def factory_kwargs(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The keywords of a Module's constructor that are meant for the functions which make its Parameters.

    Args:
        kwargs: `device`, `dtype` and `memory_format`, as such or in a dictionary `factory_kwargs`.

    Raises:
        TypeError: there is another keyword, or one is given twice.
    """
    given = dict(kwargs or {})
    found = dict(given.pop("factory_kwargs", {}))
    for name, value in given.items():
        if name not in ("device", "dtype", "memory_format"):
            raise TypeError(f"unexpected kwargs {name}")
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = value
    return found
