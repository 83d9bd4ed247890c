"""Distributions that are given by chances or by their logits."""

from __future__ import annotations

from gradwright.distributions.distribution import Distribution, Value
from gradwright.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size


class ByChances(Distribution):
    """A distribution with `probs` or `logits`, each of which follows from the other.

    Attributes:
        _is_binary: whether a chance is one of an event, not one of several along the last dimension.
    """

    _is_binary = True

    def _take(self, probs: Value | None, logits: Value | None) -> tuple[str, Value]:
        """The name of what is given, and its value.

        Raises:
            ValueError: not exactly one of the two is given.
        """
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given = "logits" if probs is None else "probs"
        return self._given, logits if probs is None else probs  # type: ignore[return-value]

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the odds, or those of the chances where there are several."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The chances."""
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self) -> Tensor:
        return self.__dict__[self._given]  # type: ignore[no-any-return]

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.size()


def cross_entropy(logits: Tensor, value: Tensor) -> Tensor:
    """Of events with chances of these logits, against `value`: `-value * log(p) - (1 - value) * log(1 - p)`."""
    logits, value = ops.broadcast_tensors([logits, value])
    return ops.binary_cross_entropy_with_logits(logits, value, reduction=0)
