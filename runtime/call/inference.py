"""The fast path of operators in inference mode.

While a thread is in inference mode `modes.plain` is empty, because fresh results have to be marked, which generated
code does not do. So calls come to the general path. That need not bind and promote: with nothing else unusual it runs
a copy of the generated function, to which every plain class of Tensor is plain, and marks what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from runtime.base.modes import plain_types
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor
from runtime.call.facts import INFERENCE_NAMES

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


class General:
    """Stands for an Operator where a copied function declines: goes on to the general path, not back to the copy."""

    __slots__ = ("_operator",)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._operator.call_bound(self._operator.signature.bind(args, kwargs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operator, name)


def fast_path_copy(operator: Operator) -> Callable[..., Any] | None:
    """The generated function of an operator as it runs in inference mode; None where it has no fast path."""
    function = operator.function
    # By the symbol: a function that is a method has the method's name.
    if not isinstance(function, FunctionType) or f"{operator.symbol}_kernel" not in function.__globals__:
        return None
    function = function.__globals__.get(f"{operator.symbol}_fast_path", function)
    names = function.__globals__.get(INFERENCE_NAMES)
    if names is None:
        names = function.__globals__[INFERENCE_NAMES] = _names(function.__globals__, type(operator))
    return _with_names(function, names)


def _with_names(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """The same code, which sees other names of its module."""
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _names(names: dict[str, Any], kind: type[Operator]) -> dict[str, Any]:
    seen = {name: General(value) if isinstance(value, kind) else value for name, value in names.items()}
    seen["plain"] = plain_types
    for name in ("all_plain", "all_plain_or_none"):
        seen[name] = _with_names(names[name], {**names[name].__globals__, "plain": plain_types})
    return seen


def untrack(out: Any) -> None:
    """Make fresh results inference tensors."""
    if type(out) is Tensor:
        out._writes = UNTRACKED
        return
    for tensor in out if isinstance(out, (list, tuple)) else (out,):
        if isinstance(tensor, Tensor):
            tensor._writes = UNTRACKED
