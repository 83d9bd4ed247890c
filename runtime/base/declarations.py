"""What functions of Python declare to the generator, which reads their source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def linear_in(*arguments: str) -> Callable[[Function], Function]:
    """Declare that a helper is linear in some of its arguments, together; several declarations stand for themselves.

    The generator follows a helper through its source to see that a formula is linear in the gradient. A helper for
    which that takes an argument from mathematics, as a block of a function of a block matrix is linear in another
    block, says so:

        @linear_in("grad")
        def exp_backward(grad: Tensor, self: Tensor) -> Tensor: ...

    Formulas that call it are held to it by the properties `linear` and `forward` of `verify`.
    """

    def declared(function: Function) -> Function:
        return function

    return declared
