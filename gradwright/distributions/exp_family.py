"""Exponential families: densities `exp(<t(x), theta> - F(theta) + k(x))`."""

from __future__ import annotations

from typing import Any

from gradwright.autograd import grad
from gradwright.distributions.distribution import Distribution
from runtime.base.tensor import Tensor


class ExponentialFamily(Distribution):
    """A family whose entropy follows from its natural parameters `theta` and its log-normalizer `F`.

    The entropy is `F(theta) - <theta, grad F(theta)> - E[k(x)]` (Nielsen and Nock, "Entropies and cross-entropies of
    exponential families", 2010).
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        carrier = self._mean_carrier_measure
        params, normalizer, slopes = self._moments()
        result = normalizer - carrier
        for param, slope in zip(params, slopes, strict=True):
            result = result - (param * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result

    def _moments(self) -> tuple[list[Tensor], Tensor, tuple[Any, ...]]:
        """The natural parameters, the log-normalizer, and its gradient, which is the mean of `t(x)`."""
        params = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        return params, normalizer, grad(normalizer.sum(), params, create_graph=True)
