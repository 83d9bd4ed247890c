"""The parts of a sparse gradient, and those of other Tensors at the same places: what a step computes with."""

from __future__ import annotations

from runtime.base.tensor import Tensor
from runtime.graph.views import bump_version, check_inplace
from runtime.operators import sparse


class PartsOfGradient:
    """A sparse gradient with one part for each place.

    Args:
        grad: the gradient.
    """

    def __init__(self, grad: Tensor) -> None:
        self._grad = grad.coalesce()
        self.values: Tensor = self._grad.values()

    def at_same_places(self, values: Tensor) -> Tensor:
        """The sparse Tensor of other parts."""
        grad = self._grad
        return sparse.construct.sparse_coo_tensor(grad.indices(), values, grad.shape, is_coalesced=True)

    def of(self, tensor: Tensor) -> Tensor:
        """The parts of a Tensor at these places."""
        return sparse.construct.sparse_mask(tensor, self._grad)._values()  # type: ignore[attr-defined, no-any-return]


def add_parts(target: Tensor, parts: Tensor, alpha: float = 1) -> None:
    """Add a sparse Tensor to another one, of which only the rows that it has are touched."""
    if target._opaque or parts.sparse_dim() != 1 or target.dtype is not parts.dtype or not parts._nnz():  # type: ignore[attr-defined]
        target.add_(parts, alpha=alpha)
        return
    check_inplace(target, False)
    scaled = parts if alpha == 1 else parts * alpha
    rows, values = scaled._indices()._array[0], scaled._values()._array  # type: ignore[attr-defined]
    sparse.coordinates.add_in_order(target._array, rows, values)
    bump_version(target)
