"""The parts of a sparse gradient, and those of other Tensors at the same places: what a step computes with."""

from __future__ import annotations

from runtime import sparse
from runtime.base.tensor import Tensor


class PartsOfGradient:
    """A sparse gradient with one part for each place.

    Args:
        grad: the gradient.
    """

    def __init__(self, grad: Tensor) -> None:
        self._grad = grad.coalesce()  # type: ignore[attr-defined]
        self.values: Tensor = self._grad.values()

    def at_same_places(self, values: Tensor) -> Tensor:
        """The sparse Tensor of other parts."""
        grad = self._grad
        return sparse.construct.sparse_coo_tensor(grad.indices(), values, grad.shape, is_coalesced=True)

    def of(self, tensor: Tensor) -> Tensor:
        """The parts of a Tensor at these places."""
        return sparse.construct.sparse_mask(tensor, self._grad)._values()  # type: ignore[attr-defined, no-any-return]
