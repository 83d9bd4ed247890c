"""The Kullback-Leibler divergence of two distributions, by functions that are registered for their classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from gradwright.distributions.distribution import Distribution
from gradwright.distributions.independent import Independent
from gradwright.distributions.kl_of_one_family import of_one_family
from gradwright.distributions.kl_of_two_families import of_two_families
from gradwright.distributions.transformed_distribution import TransformedDistribution
from gradwright.distributions.utils import sum_rightmost
from runtime.base.tensor import Tensor


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """Decorate a function of two distributions as the divergence of those of the two classes and of their subclasses.

    Of several functions that fit, the one for the nearest classes counts; where the two arguments do not agree which
    this is, there is a warning, and registering one for the very classes decides.

    Raises:
        TypeError: one of them is no class of distributions.
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise TypeError(f"register_kl() expects classes of distributions, but got {kind!r}")
        if not issubclass(kind, Distribution):
            raise TypeError(f"Expected a Distribution subclass but got {kind}")

    def decorate(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        return function

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """How far `q` is from `p`: the mean of `log p(x) - log q(x)` over values of `p`.

    Raises:
        NotImplementedError: no function is registered for the classes of the two.
    """
    return _function_for(type(p), type(q))(p, q)


def _function_for(type_p: type, type_q: type) -> Divergence:
    """The function for the nearest of the classes that the two are subclasses of."""
    near_p, near_q = type_p.__mro__, type_q.__mro__
    fitting = [(near_p.index(p), near_q.index(q)) for p, q in _KL_REGISTRY if p in near_p and q in near_q]
    if not fitting:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type_p.__name__} and q type {type_q.__name__}"
        )
    first, second = min(fitting), min(fitting, key=lambda places: places[::-1])
    chosen = _KL_REGISTRY[near_p[first[0]], near_q[first[1]]]
    if chosen is not _KL_REGISTRY[near_p[second[0]], near_q[second[1]]]:
        names = near_p[first[0]].__name__, near_q[second[1]].__name__
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({', '.join(names)})",
            RuntimeWarning,
            stacklevel=3,
        )
    return chosen


def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """The divergence does not change under a common transform."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(f"the divergence of {p!r} and {q!r}, whose transforms or events differ, is not known")
    divergence = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(divergence, len(p.event_shape) - len(p.base_dist.event_shape))


def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            f"the divergence of {p!r} and {q!r}, of which other numbers of dimensions are independent, is not known"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


Divergence = Callable[[Any, Any], Tensor]

_KL_REGISTRY: dict[tuple[type, type], Divergence] = {
    **of_one_family,
    **of_two_families,
    (TransformedDistribution, TransformedDistribution): _transformed,
    (Independent, Independent): _independent,
}
