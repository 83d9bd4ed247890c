"""Comparison of what one body gives with PyTorch and with the runtime."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradwright


def text(value: object) -> str:
    """A text without the name of the module that it comes from."""
    return re.sub(r"\b(torch|runtime|gradwright)\.(nn\.|optim\.)?(modules\.)?(\w+\.)*", "", str(value))


@dataclass
class Failure:
    """What a call raised; the message is compared where it is kept."""

    kind: str
    message: str | None


def attempt(call: Callable[[], Any], message: bool = True) -> Any:
    """What a call returns, or how it fails."""
    try:
        return call()
    except Exception as error:
        return Failure(type(error).__name__, text(error) if message else None)


def warned(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call returns, and the classes of the warnings it gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        out = attempt(call)
    return out, [warning.category.__name__ for warning in found]


def assert_same(ours: Any, theirs: Any, where: str = "result", rtol: float = 1e-5, atol: float = 1e-7) -> None:
    """Same structure, classes by name, dtypes, shapes, texts; numbers to rounding."""

    def below(name: object) -> str:
        return f"{where}[{name!r}]"

    if isinstance(ours, gradwright.Tensor):
        assert text(ours.dtype) == text(theirs.dtype), where
        assert tuple(ours.shape) == tuple(theirs.shape), where
        assert ours.requires_grad == theirs.requires_grad, where
        wanted = theirs.detach().numpy() if hasattr(theirs, "detach") else theirs
        np.testing.assert_allclose(ours.detach().numpy(), wanted, rtol=rtol, atol=atol, err_msg=where)
    elif isinstance(ours, Mapping):
        assert [text(key) for key in ours] == [text(key) for key in theirs], where
        for (name, mine), yours in zip(ours.items(), theirs.values(), strict=True):
            assert_same(mine, yours, below(name), rtol, atol)
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs), (where, ours, theirs)
        for position, (mine, yours) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(mine, yours, below(position), rtol, atol)
    elif isinstance(ours, float) and not isinstance(theirs, Failure):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=where)
    elif isinstance(ours, str):
        assert text(ours) == text(theirs), where
    elif ours is None or isinstance(ours, bool | int | Failure):
        assert ours == theirs, where
    else:
        assert type(ours).__name__ == type(theirs).__name__, where
        assert text(ours) == text(theirs), where


def compare(body: Callable[[Any], Any], rtol: float = 1e-5, atol: float = 1e-7) -> None:
    """Run a body with both modules."""
    import torch

    assert_same(body(gradwright), body(torch), rtol=rtol, atol=atol)
