"""The distribution of correlation matrices of Lewandowski, Kurowicka and Joe."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.beta import Beta
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape, Value
from gradwright.distributions.normal import standard_normal
from gradwright.distributions.utils import broadcast_all
from runtime import ops
from runtime.base.dtypes import finfo
from runtime.base.tensor import Tensor
from runtime.base.types import Size
from runtime.graph.grad_mode import no_grad


class LKJCholesky(Distribution):
    """The distribution of Cholesky factors of correlation matrices with a density of `det(C) ** (concentration - 1)`.

    Samples are drawn row by row, as the onion is grown in "Generating random correlation matrices based on vines and
    extended onion method" (Lewandowski, Kurowicka and Joe, 2009), section 3.2.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parameters = ("concentration", "_beta")

    def __init__(self, dim: int, concentration: Value = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # How much of the length of row i = 1, 2, ... lies left of the diagonal.
        row = ops.arange(1, dim, dtype=self.concentration.dtype, device=self.concentration.device)
        rest = self.concentration.unsqueeze(-1) + (dim - 1 - row) / 2
        self._beta = Beta(row / 2, rest)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            length = ops.constant_pad_nd(self._beta.sample(sample_shape), (1, 0)).unsqueeze(-1)
            normal = standard_normal(self.concentration, shape).tril(-1)
            norm = ops.linalg_vector_norm(normal, 2, -1, True)
            direction = normal / ops.where(norm == 0, 1, norm)
            left = length.sqrt() * direction
            tiny = finfo(left.dtype).tiny
            return left + (1 - left.pow(2).sum(-1)).clamp(min=tiny).sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        """The factor's density is that of the matrix times the Jacobian, the product of `L[i, i] ** (dim - i - 1)`.

        The constant is that of theorem 5 of the paper, as gamma functions.
        """
        self._check(value)
        concentration, below = self.concentration, self.dim - 1
        row = ops.arange(1, self.dim, dtype=concentration.dtype, device=concentration.device)
        power = 2 * (concentration.unsqueeze(-1) - 1) + (below - row)
        density = (power * value.diagonal(0, -2, -1)[..., 1:].log()).sum(-1)
        alpha = concentration + 0.5 * below
        constant = 0.5 * below * math.log(math.pi) + ops.mvlgamma(alpha - 0.5, below) - below * alpha.lgamma()
        return density - constant
