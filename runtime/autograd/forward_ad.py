"""Forward-mode differentiation: dual Tensors, a primal value with a tangent that travels along."""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple

from runtime import forward
from runtime.tensor import Tensor


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
    """Open the level.

    Raises:
        RuntimeError: it is open already.
    """
    return forward.enter()


def exit_dual_level() -> None:
    """Close the level."""
    forward.leave()


def make_dual(tensor: Tensor, tangent: Tensor) -> Tensor:
    """A view of `tensor` that carries `tangent`, a Tensor of the same shape and dtype.

    Raises:
        RuntimeError: no level is open, or shape or dtype differ.
        ValueError: the Tensor can not have a tangent.
    """
    if not forward.is_open():
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(f"Expected the tangent to be {tensor.dtype}, as the primal is, but got: {tangent.dtype}")
    dual = tensor.view_as(tensor)
    forward.set_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor) -> UnpackedDualTensor:
    """The primal value and the tangent; outside a level there is no tangent."""
    tangent = forward.tangent_of(tensor) if forward.is_open() else None
    return UnpackedDualTensor(tensor, tangent)
