"""Forward-mode differentiation: dual Tensors, a primal value with a tangent that travels along."""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple

from runtime.base.tensor import Tensor
from runtime.graph import forward

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual Tensor; `tangent` is None for one that has none."""

    primal: Tensor
    tangent: Tensor | None


class dual_level:
    """A block in which Tensors can carry tangents.  They lose them at its end."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        exit_dual_level()


def enter_dual_level() -> int:
    """Open the level, and return its number.

    Raises:
        RuntimeError: a level is open already.  For derivatives of derivatives use `func.jvp`.
    """
    if forward.innermost() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    return forward.enter()


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; tangents made in it are gone.

    Args:
        level: its number; by default that of the level that is open.

    Raises:
        RuntimeError: this is not the level that is open.
    """
    forward.leave(level)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`.

    Args:
        tensor: the primal value, of floating point or complex dtype.  The result is differentiable in it.
        tangent: of the same shape; used as it is, or copied if it lies in memory in another way than `tensor`.
        level: the number of the level; by default that of the level that is open.

    Raises:
        RuntimeError: the level is not open, the shapes differ, or one of the two has a tangent already.
        ValueError: one of the two has a dtype that can have no derivative.
    """
    number = forward.innermost() if level is None else level
    if number is None or number < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    _check_level(number, "make_dual")
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    forward.check_size(tensor, tangent)
    if forward.tangent_of(tensor, number) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
            f"{number} is not supported."
        )
    if forward.tangent_of(tangent, number) is not None:
        raise RuntimeError(
            f"Setting a forward grad that itself has a forward gradient at the same level {number} is not supported."
        )
    dual = tensor.view_as(tensor)
    forward.set_tangent(dual, tangent, number)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal value, as a view that carries no tangent, and the tangent.

    Args:
        tensor: any Tensor; one without a tangent is its own primal value.
        level: the number of the level; by default that of the level that is open.  Outside of every level there are no
            tangents.

    Raises:
        RuntimeError: the level is not open.
    """
    number = forward.innermost() if level is None else level
    if number is None or number < 0 or forward.innermost() is None:
        return UnpackedDualTensor(tensor, None)
    _check_level(number, "unpack_dual")
    tangent = forward.tangent_of(tensor, number)
    primal = tensor.view_as(tensor)
    if tangent is not None:
        forward.set_tangent(primal, None, number)
    return UnpackedDualTensor(primal, tangent)


def _check_level(level: int, function: str) -> None:
    innermost = forward.innermost()
    if innermost is None or level > innermost:
        raise RuntimeError(f"Invalid level given to {function}: {level}")
