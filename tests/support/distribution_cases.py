"""Distributions for comparison with PyTorch: an expression over parameters `a`, `b`, `c`, and a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_MATRIX = [[2.0, 0.3, -0.1], [0.3, 1.5, 0.2], [-0.1, 0.2, 1.1]]
_TRIL = [[1.2, 0.0, 0.0], [0.3, 0.9, 0.0], [-0.4, 0.2, 1.1]]
_CORRELATION = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.48, 0.6, 0.64]]


@dataclass(frozen=True)
class Case:
    """A distribution.

    Attributes:
        made: the call, in which `d` is the module of distributions and `torch` the library.
        parameters: Tensors with gradients, by name.
        value: where densities are compared.
        tolerance: that of numbers for which PyTorch has an approximation.
        dtype: that of the parameters and the value.
    """

    made: str
    parameters: dict[str, Any]
    value: Any
    tolerance: float = 1e-7
    dtype: str = "float64"


def _two(made: str, a: Any, b: Any, value: Any) -> Case:
    return Case(made, {"a": a, "b": b}, value)


CASES = {
    "Bernoulli": Case("d.Bernoulli(a)", {"a": [0.2, 0.5, 0.9]}, [0.0, 1.0, 1.0]),
    "Bernoulli-logits": Case("d.Bernoulli(logits=a)", {"a": [-2.0, 0.3, 3.0]}, [0.0, 1.0, 1.0]),
    "Beta": _two("d.Beta(a, b)", [0.5, 2.0, 3.0], [1.5, 0.7, 2.5], [0.2, 0.5, 0.8]),
    "Binomial": Case("d.Binomial(5, a)", {"a": [0.2, 0.5, 0.9]}, [0.0, 3.0, 5.0]),
    "Binomial-counts": Case(
        "d.Binomial(torch.tensor([2.0, 3.0, 7.0]), logits=a)", {"a": [-1.0, 0.5, 2.0]}, [0.0, 3.0, 5.0]
    ),
    "Categorical": Case("d.Categorical(a)", {"a": [[0.2, 0.5, 0.3], [1.0, 3.0, 2.0]]}, [2, 1]),
    "Categorical-logits": Case("d.Categorical(logits=a)", {"a": [[0.2, -0.5, 0.3], [1.0, 3.0, 2.0]]}, [2, 1]),
    "Cauchy": _two("d.Cauchy(a, b)", [0.5, -1.0], [1.2, 0.7], [0.3, 2.0]),
    "Chi2": Case("d.Chi2(a)", {"a": [0.5, 2.0, 7.0]}, [0.3, 2.0, 5.0]),
    "ContinuousBernoulli": Case("d.ContinuousBernoulli(a)", {"a": [0.2, 0.5, 0.4995, 0.9]}, [0.3, 0.6, 0.7, 0.1]),
    "ContinuousBernoulli-logits": Case("d.ContinuousBernoulli(logits=a)", {"a": [-1.0, 1e-4, 2.0]}, [0.3, 0.6, 0.1]),
    "Dirichlet": Case("d.Dirichlet(a)", {"a": [[0.5, 2.0, 1.5], [3.0, 0.7, 2.0]]}, [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]),
    "Exponential": Case("d.Exponential(a)", {"a": [0.5, 2.0]}, [0.3, 2.0]),
    "FisherSnedecor": _two("d.FisherSnedecor(a, b)", [1.5, 3.0, 5.0], [1.0, 3.0, 6.0], [0.3, 2.0, 1.0]),
    "Gamma": _two("d.Gamma(a, b)", [0.5, 2.0, 7.0], [1.5, 0.7, 2.5], [0.3, 2.0, 5.0]),
    "GeneralizedPareto": Case(
        "d.GeneralizedPareto(a, b, c)",
        {"a": [0.5, -1.0, 0.0, 0.2], "b": [1.2, 0.7, 1.0, 2.0], "c": [0.3, -0.4, 1.5, 0.7]},
        [0.9, -0.5, 2.0, 1.0],
        1e-5,
        "float32",  # of float64 PyTorch refuses its own constants
    ),
    "Geometric": Case("d.Geometric(a)", {"a": [0.2, 0.5, 0.9]}, [0.0, 3.0, 1.0]),
    "Geometric-logits": Case("d.Geometric(logits=a)", {"a": [-2.0, 0.3]}, [0.0, 3.0]),
    "Gumbel": _two("d.Gumbel(a, b)", [0.5, -1.0], [1.2, 0.7], [0.3, 2.0]),
    "HalfCauchy": Case("d.HalfCauchy(a)", {"a": [0.5, 2.0]}, [0.3, 2.0]),
    "HalfNormal": Case("d.HalfNormal(a)", {"a": [0.5, 2.0]}, [0.3, 2.0]),
    "Independent": _two("d.Independent(d.Normal(a, b), 1)", [[0.5, -1.0]] * 2, [[1.2, 0.7]] * 2, [[0.3, 2.0]] * 2),
    "InverseGamma": _two("d.InverseGamma(a, b)", [0.5, 2.5, 7.0], [1.5, 0.7, 2.5], [0.3, 2.0, 5.0]),
    "Kumaraswamy": _two("d.Kumaraswamy(a, b)", [0.5, 2.0], [1.5, 0.7], [0.2, 0.5]),
    "LKJCholesky": Case("d.LKJCholesky(3, a)", {"a": [0.5, 2.0]}, [_CORRELATION] * 2),
    "Laplace": _two("d.Laplace(a, b)", [0.5, -1.0], [1.2, 0.7], [0.3, 2.0]),
    "LogNormal": _two("d.LogNormal(a, b)", [0.5, -1.0], [1.2, 0.7], [0.3, 2.0]),
    "LogisticNormal": _two("d.LogisticNormal(a, b)", [0.5, -1.0], [1.2, 0.7], [0.3, 0.5, 0.2]),
    "LowRankMultivariateNormal": Case(
        "d.LowRankMultivariateNormal(a, b, c)",
        {"a": [0.5, -1.0, 0.2], "b": [[0.3], [1.0], [-0.5]], "c": [1.2, 0.7, 0.4]},
        [[0.3, 2.0, 1.0], [0.0, 0.1, 0.2]],
    ),
    "MixtureSameFamily": Case(
        "d.MixtureSameFamily(d.Categorical(a), d.Normal(b, c))",
        {"a": [[0.3, 0.7]] * 2, "b": [[0.5, -1.0]] * 2, "c": [[1.2, 0.7]] * 2},
        [0.3, 2.0],
    ),
    "MixtureSameFamily-vectors": Case(
        "d.MixtureSameFamily(d.Categorical(logits=a), d.Independent(d.Normal(b, c), 1))",
        {"a": [0.3, 0.7], "b": [[0.5, -1.0, 0.0]] * 2, "c": [[1.2, 0.7, 2.0]] * 2},
        [0.3, 2.0, 0.1],
    ),
    "Multinomial": Case("d.Multinomial(4, a)", {"a": [[0.2, 0.5, 0.3], [1.0, 3.0, 2.0]]}, [[1.0, 2, 1], [0, 4, 0]]),
    "MultivariateNormal": _two("d.MultivariateNormal(a, b)", [0.5, -1.0, 0.2], _MATRIX, [0.3, 2.0, 1.0]),
    "MultivariateNormal-precision": _two(
        "d.MultivariateNormal(a, precision_matrix=b)", [[0.5, -1.0, 0.2]] * 2, _MATRIX, [0.3, 2.0, 1.0]
    ),
    "MultivariateNormal-tril": _two(
        "d.MultivariateNormal(a, scale_tril=b.tril())", [0.5, -1.0, 0.2], _TRIL, [0.3, 2.0, 1.0]
    ),
    "NegativeBinomial": _two("d.NegativeBinomial(a, b)", [1.0, 2.5, 4.0], [0.2, 0.5, 0.9], [0.0, 3.0, 5.0]),
    "Normal": _two("d.Normal(a, b)", [0.5, -1.0], [1.2, 0.7], [0.3, 2.0]),
    "OneHotCategorical": Case(
        "d.OneHotCategorical(a)", {"a": [[0.2, 0.5, 0.3], [1.0, 3.0, 2.0]]}, [[0.0, 0, 1], [1, 0, 0]]
    ),
    "OneHotCategoricalStraightThrough": Case(
        "d.OneHotCategoricalStraightThrough(logits=a)", {"a": [0.2, 0.5, 0.3]}, [0.0, 0, 1]
    ),
    "Pareto": _two("d.Pareto(a, b)", [0.5, 1.0, 2.0], [0.8, 1.7, 3.0], [0.7, 2.0, 5.0]),
    "Poisson": Case("d.Poisson(a)", {"a": [0.5, 2.7]}, [0.0, 3.0]),
    "RelaxedBernoulli": _two("d.RelaxedBernoulli(a, b)", 0.7, [0.2, 0.6], [0.3, 0.9]),
    "RelaxedBernoulli-logits": _two("d.RelaxedBernoulli(a, logits=b)", 0.7, [0.2, 0.6], [0.3, 0.9]),
    "RelaxedOneHotCategorical": _two(
        "d.RelaxedOneHotCategorical(a, b)", 0.7, [[0.2, 0.5, 0.3]], [[0.3, 0.5, 0.2]]
    ),
    "StudentT": Case(
        "d.StudentT(a, b, c)", {"a": [0.5, 1.5, 4.0], "b": [0.5, -1, 0], "c": [1.2, 0.7, 2]}, [0.3, 2.0, 1]
    ),
    "TransformedDistribution": _two(
        "d.TransformedDistribution(d.Normal(a, b), [d.ExpTransform(), d.AffineTransform(1, -2)])",
        [0.5, -1.0], [1.2, 0.7], [0.3, -2.0],
    ),
    "Uniform": _two("d.Uniform(a, b)", [0.5, -1.0], [1.2, 0.7], [0.7, 0.0]),
    "VonMises": Case("d.VonMises(a, b)", {"a": [0.5, -1.0, 0.0], "b": [1.2, 0.7, 30.0]}, [0.7, 0.0, 0.1], 1e-6),
    "Weibull": _two("d.Weibull(a, b)", [0.5, 1.0], [1.5, 2.7], [0.3, 2.0]),
    "Wishart": _two("d.Wishart(a, b)", 4.5, _MATRIX, [_MATRIX]),
    "Wishart-tril": _two("d.Wishart(a, scale_tril=b.tril())", [3.5, 7.0], _TRIL, _MATRIX),
}  # fmt: skip


def build(torch: Any, case: Case) -> tuple[Any, dict[str, Any]]:
    """The distribution of a case, and its parameters."""
    parameters = {
        name: torch.tensor(value, dtype=getattr(torch, case.dtype), requires_grad=True)
        for name, value in case.parameters.items()
    }
    return eval(case.made, {"d": torch.distributions, "torch": torch, **parameters}), parameters
