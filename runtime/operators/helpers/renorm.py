"""Derivatives of parts that are made as long as a limit."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar
from runtime.operators.helpers.reduction import vector_norm_backward, vector_norm_jvp

_LEAST = 1e-7  # which the operator adds to each norm


def _scales(self: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> tuple[list[int], Tensor, Tensor, Tensor, Tensor]:
    """The dims of a part, the parts, their norms, what each is multiplied by, and how that changes with the norm.

    Parts that are no longer than the limit stay as they are: they are of ones here, as norms of zeros have no slope.
    """
    p, maxnorm = p.real, maxnorm.real
    others = [place for place in range(self.dim()) if place != dim % self.dim()]
    longer = ops.linalg_vector_norm(self.detach(), p, others, True) > maxnorm
    parts = self.masked_fill(~longer, 1)
    norm: Tensor = ops.linalg_vector_norm(parts, p, others, True)
    scale = (maxnorm / (norm + _LEAST)).masked_fill(~longer, 1)
    slope = (-maxnorm / (norm + _LEAST).square()).masked_fill(~longer, 0)
    return others, parts, norm, scale, slope


def renorm_backward(grad: Tensor, self: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> Tensor:
    """Through the factor, and through the norm that it is made of."""
    others, parts, norm, scale, slope = _scales(self, p, dim, maxnorm)
    of_scale = ops.real(grad.conj() * self).sum(others, True)
    of_norm = vector_norm_backward(of_scale * slope, parts, norm, p, others, True)
    assert of_norm is not None  # as of a norm that only counts
    return grad * scale + of_norm


def renorm_jvp(self_p: Tensor, self_t: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> Tensor:
    """As `renorm_backward`, in forward mode."""
    others, parts, norm, scale, slope = _scales(self_p, p, dim, maxnorm)
    return self_t * scale + self_p * (slope * vector_norm_jvp(parts, self_t, norm, p, others, True))
