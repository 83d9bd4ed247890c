"""Indexing operators that are made of others."""

from __future__ import annotations

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor


def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather`, with both brought to one shape in the other dimensions; without `dim`, of flat tensors.

    Indices along `dim` are counted round: -1 is the last element, the size is the first.
    """
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_name}"
        )
    if dim is None:
        return self.reshape([-1]).gather(0, indices.reshape([-1]))
    if self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    if not -self.dim() <= dim < self.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-self.dim()}, {self.dim() - 1}], but got {dim})"
        )
    place = dim % self.dim()
    common = [max(a, b) if 0 not in (a, b) else 0 for a, b in zip(self.shape, indices.shape, strict=True)]
    source, index = list(common), list(common)
    source[place], index[place] = self.shape[place], indices.shape[place]
    size = self.shape[place]
    if size == 0 and indices.numel():
        raise RuntimeError(f"torch.take_along_dim(): dimension {place} of input has no elements to take")
    return self.expand(source).gather(place, indices.expand(index).remainder(max(size, 1)))


def nonzero_numpy(self: Tensor) -> list[Tensor]:
    """The places of the elements that are not 0, one vector for each dimension."""
    if self.dim() == 0:
        return list(ops.unbind(self.unsqueeze(0).nonzero(), 1))
    return list(ops.unbind(self.nonzero(), 1))


def where(condition: Tensor) -> list[Tensor]:
    return list(ops.nonzero_numpy(condition))


def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """For each number a row with a 1 at its place and zeros elsewhere."""
    if self.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return self.new_zeros([*self.shape, num_classes])
    if self._opaque and num_classes != -1:  # under vmap, where the values cannot be read
        return (self.unsqueeze(-1) == ops.arange(num_classes, device=self.device)).to(dtypes.int64)
    if int(self.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    most = int(self.max())
    if num_classes == -1:
        num_classes = most + 1
    elif num_classes <= most:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return self.new_zeros([*self.shape, num_classes]).scatter(-1, self.unsqueeze(-1), 1)
