"""New Tensors as leaves."""

from __future__ import annotations

from typing import TypeVar

from runtime.base.tensor import Tensor

T = TypeVar("T", bound=Tensor)


def leaf(made: T, requires_grad: bool | None) -> T:
    """A new Tensor, which requires grad if that is asked for; None does not ask.

    Raises:
        TypeError: `requires_grad` is no bool.
        RuntimeError: no Tensor of its dtype can require grad.
    """
    if requires_grad is not False and requires_grad is not None:
        made.requires_grad_(requires_grad)
    return made
