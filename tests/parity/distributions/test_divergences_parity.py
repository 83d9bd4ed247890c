"""Divergences, transforms, constraints, samples and errors of distributions against PyTorch."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from test_distributions_parity import outcome, value_of

import gradwright
from support.distribution_cases import CASES, build
from support.two_modules import attempt, compare

Library = Any
LIBRARIES = (torch, gradwright)

# A pair of parameters for each family, the second of which is for the other side.
PARAMETERS: dict[str, tuple[str, str]] = {
    "Bernoulli": ("P", "1 - P"),
    "Beta": ("A, B", "B, A"),
    "Binomial": ("4, P", "4, 1 - P"),
    "Categorical": ("M", "M.flip(-1)"),
    "Cauchy": ("L, A", "A, B"),
    "ContinuousBernoulli": ("P", "1 - P"),
    "Dirichlet": ("M", "M.flip(-1)"),
    "Exponential": ("A", "B"),
    "Gamma": ("A, B", "B, A"),
    "Geometric": ("P", "1 - P"),
    "Gumbel": ("L, A", "A, B"),
    "HalfNormal": ("A", "B"),
    "Laplace": ("L, A", "A, B"),
    "LowRankMultivariateNormal": ("L, W, A", "A, 2 * W, B"),
    "MultivariateNormal": ("L, C", "A, C + torch.eye(3, dtype=torch.float64)"),
    "Normal": ("L, A", "A, B"),
    "OneHotCategorical": ("M", "M.flip(-1)"),
    "Pareto": ("A, B + 2", "A / 2, B"),
    "Poisson": ("A", "B"),
    "Uniform": ("P / 2, P", "P / 4, P + 1"),
}
PAIRS = [
    (p.__name__, q.__name__)
    for p, q in torch.distributions.kl._KL_REGISTRY
    if p.__name__ in PARAMETERS and q.__name__ in PARAMETERS
]


def sides(library: Library, p: str, q: str) -> tuple[Any, Any, dict[str, Any]]:
    def made(value: Any) -> Any:
        return library.tensor(value, dtype=library.float64, requires_grad=True)

    given = {
        "P": made([0.2, 0.4, 0.7]),
        "A": made([0.5, 1.2, 3.0]),
        "B": made([0.7, 2.5, 1.1]),
        "L": made([-0.5, 0.3, 1.0]),
        "M": made([[0.2, 0.5, 0.3], [1.0, 3.0, 2.0]]),
        "W": made([[0.3], [1.0], [-0.5]]),
        "C": made([[2.0, 0.3, -0.1], [0.3, 1.5, 0.2], [-0.1, 0.2, 1.1]]),
    }
    scope = {"torch": library, "d": library.distributions, **given}
    first = eval(f"d.{p}({PARAMETERS[p][0]})", scope)
    second = eval(f"d.{q}({PARAMETERS[q][1]})", scope)
    return first, second, given


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergences_of_all_pairs(p: str, q: str) -> None:
    def body(library: Library) -> Any:
        first, second, given = sides(library, p, q)
        return outcome(library, lambda: library.distributions.kl_divergence(first, second), given)

    # Those that are infinite are of the default dtype here or there.
    if all(_is_infinite(library, p, q) for library in LIBRARIES):
        return
    compare(body, rtol=1e-6, atol=1e-6)


def _is_infinite(library: Library, p: str, q: str) -> bool:
    first, second, _ = sides(library, p, q)
    return bool(library.distributions.kl_divergence(first, second).isinf().all())


def test_the_same_pairs_are_registered() -> None:
    def names(library: Library) -> set[Any]:
        return {(p.__name__, q.__name__) for p, q in library.distributions.kl._KL_REGISTRY}

    assert names(gradwright) == names(torch)


@pytest.mark.parametrize(
    "pair",
    [
        ("d.Chi2(A)", "d.Gamma(A, B)"),
        ("d.LogNormal(L, A)", "d.LogNormal(A, B)"),
        ("d.Independent(d.Normal(L, A), 1)", "d.Independent(d.Normal(A, B), 1)"),
        ("d.LogNormal(L, A)", "d.Normal(A, B)"),
        ("d.LogNormal(L, A)", "d.HalfNormal(A)"),
        ("d.Independent(d.Normal(L, A), 1)", "d.Independent(d.Normal(A, B), 0)"),
        ("d.Binomial(3, A / 4)", "d.Binomial(4, A / 4)"),
        ("d.Binomial(4, A / 4)", "d.Binomial(3, A / 4)"),
        ("d.Wishart(A[2] + 3, torch.eye(3).double())", "d.Wishart(A[2] + 4, 2 * torch.eye(3).double())"),
        ("d.Bernoulli(torch.tensor([0., 1., 1.]))", "d.Bernoulli(torch.tensor([0., 0.5, 0.]))"),
        ("d.Categorical(torch.tensor([0., 1.]))", "d.Categorical(torch.tensor([1., 0.]))"),
    ],
)
def test_divergences_of_subclasses_and_of_edges(pair: tuple[str, str]) -> None:
    def body(library: Library) -> Any:
        _, _, given = sides(library, "Normal", "Normal")
        scope = {"torch": library, "d": library.distributions, **given}
        p, q = (eval(text, scope) for text in pair)
        made = attempt(lambda: library.distributions.kl_divergence(p, q), message=False)
        return made.detach() if isinstance(made, library.Tensor) else made

    compare(body)


def test_functions_that_are_registered_count_for_subclasses() -> None:
    def body(library: Library) -> Any:
        d = library.distributions

        class Mine(d.Normal):
            pass

        @d.register_kl(Mine, d.Normal)
        def kl(p: Any, q: Any) -> Any:
            return library.tensor(3.0)

        try:
            return [
                d.kl_divergence(Mine(0.0, 1.0), d.Normal(0.0, 2.0)),
                d.kl_divergence(d.Normal(0.0, 1.0), Mine(0.0, 2.0)),
                attempt(lambda: d.register_kl(3, d.Normal), message=False),
            ]
        finally:
            del d.kl._KL_REGISTRY[Mine, d.Normal]

    compare(body)


# -- transforms

TRANSFORMS = """
t.ExpTransform() | x
t.ExpTransform().inv | u
t.AbsTransform() | u
t.AffineTransform(1.0, -2.0) | x
t.AffineTransform(v(0.1, 0.2, 0.3), v(1.0, -2.0, 3.0)) | x
t.AffineTransform(0.5, 2.0, event_dim=1) | x
t.PowerTransform(v(2.0)) | u
t.PowerTransform(v(-1.5)) | u
t.SigmoidTransform() | x
t.SoftplusTransform() | x
t.TanhTransform() | x
t.SoftmaxTransform() | x
t.StickBreakingTransform() | x
t.StickBreakingTransform().inv | x.softmax(-1)
t.CorrCholeskyTransform() | x
t.LowerCholeskyTransform() | x[:, :2].reshape(2, 2)
t.PositiveDefiniteTransform() | x[:, :2].reshape(2, 2)
t.CumulativeDistributionTransform(d.Normal(0.0, 1.0)) | x
t.ReshapeTransform((3,), (1, 3)) | x
t.IndependentTransform(t.ExpTransform(), 1) | x
t.ComposeTransform([t.AffineTransform(0.0, 0.5), t.SigmoidTransform()]) | x
t.ComposeTransform([t.ExpTransform(), t.StickBreakingTransform()]) | x
t.ComposeTransform([]) | x
t.identity_transform.inv | x
t.CatTransform([t.ExpTransform(), t.TanhTransform()], dim=-1, lengths=[1, 2]) | x
t.CatTransform([t.ExpTransform(), t.SigmoidTransform()], dim=0) | x
t.StackTransform([t.ExpTransform(), t.SigmoidTransform(), t.TanhTransform()], dim=-1) | x
""".strip().splitlines()


@pytest.mark.parametrize("line", TRANSFORMS)
def test_transforms(line: str) -> None:
    made, given = line.split(" | ")

    def body(library: Library) -> Any:
        def v(*values: float) -> Any:
            return library.tensor(values if len(values) > 1 else values[0], dtype=library.float64)

        x = library.tensor([[0.3, -0.7, 1.5], [0.1, 2.0, -1.0]], dtype=library.float64, requires_grad=True)
        d = library.distributions
        scope = {"t": d.transforms, "d": d, "v": v, "x": x, "u": x.abs() + 0.1}
        transform, value = eval(made, scope), eval(given, scope)
        y = transform(value)
        back = transform.inv(y)
        slope = attempt(lambda: transform.log_abs_det_jacobian(value, y), message=False)
        grads = [
            library.autograd.grad(one.sum(), x, retain_graph=True)[0]
            for one in (y, slope)
            if hasattr(one, "sum") and one.requires_grad
        ]
        return [
            y, back, slope, grads, transform.bijective, attempt(lambda: transform.sign, message=False),
            transform.domain.event_dim, transform.codomain.event_dim, repr(transform), repr(transform.inv),
            list(transform.forward_shape(value.shape)), list(transform.inverse_shape(y.shape)),
            transform == eval(made, scope) if "v(" not in made else None, transform.inv.inv is transform,
            attempt(lambda: transform.with_cache(1)._cache_size, message=False),
            bool(transform.codomain.check(y).all()),
        ]  # fmt: skip

    compare(body)


def test_a_cache_gives_back_what_was_given() -> None:
    for library in LIBRARIES:
        d = library.distributions
        transform = d.ExpTransform(cache_size=1)
        x = library.randn(3)
        assert transform.inv(transform(x)) is x
        assert d.ExpTransform().inv(d.ExpTransform()(x)) is not x


# -- constraints

CONSTRAINTS = """
c.boolean
c.corr_cholesky
c.greater_than(0.5)
c.greater_than_eq(0.5)
c.half_open_interval(0.0, 1.0)
c.independent(c.positive, 1)
c.independent(c.positive, 0)
c.integer_interval(0, 2)
c.interval(-1.0, 1.0)
c.less_than(0.5)
c.lower_cholesky
c.lower_triangular
c.multinomial(2)
c.nonnegative
c.nonnegative_integer
c.one_hot
c.positive
c.positive_definite
c.positive_integer
c.positive_semidefinite
c.real
c.real_vector
c.simplex
c.square
c.symmetric
c.unit_interval
c.cat([c.positive, c.real], dim=-1, lengths=[1, 1])
c.stack([c.positive, c.real], dim=-1)
c.MixtureSameFamilyConstraint(c.positive)
""".strip().splitlines()
VALUES = [
    [[1.0, 0.0], [0.0, 1.0]],
    [[1.0, 0.0], [0.6, 0.8]],
    [[0.5, -0.5], [2.0, 0.5]],
    [[float("nan"), 1.0], [0.3, 0.7]],
    [[2.0, 1.0], [1.0, 3.0]],
]


@pytest.mark.parametrize("made", CONSTRAINTS)
def test_constraints(made: str) -> None:
    def body(library: Library) -> Any:
        constraint = eval(made, {"c": library.distributions.constraints})
        found = [constraint.check(library.tensor(value, dtype=library.float64)) for value in VALUES]
        return [found, constraint.is_discrete, constraint.event_dim, repr(constraint)]

    compare(body)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("made", CONSTRAINTS)
def test_transforms_to_constraints(registry: str, made: str) -> None:
    def body(library: Library) -> Any:
        c = library.distributions.constraints
        constraint = eval(made, {"c": c})
        transform = attempt(lambda: getattr(library.distributions, registry)(constraint), message=False)
        if not hasattr(transform, "inv"):
            return transform
        x = library.tensor([[0.3], [-0.5]] if "corr" in made else [[0.3, -0.7], [0.5, 1.2]], dtype=library.float64)
        return [repr(transform), transform(x), bool(constraint.check(transform(x)).all())]

    compare(body)


def test_dependent_constraints() -> None:
    def body(library: Library) -> Any:
        d = library.distributions
        c = d.constraints
        return [
            c.is_dependent(d.Uniform.support), c.is_dependent(c.real), c.is_dependent(c.dependent),
            d.Uniform.support.event_dim, d.Uniform.support.is_discrete, repr(c.dependent),
            repr(d.Uniform(0.0, 1.0).support), attempt(lambda: c.dependent.event_dim, message=False),
            c.dependent(is_discrete=True, event_dim=2).event_dim,
            attempt(lambda: c.dependent.check(library.ones(1)), message=False),
            attempt(lambda: d.biject_to(3), message=False), attempt(lambda: d.biject_to.register(3, 4), message=False),
        ]  # fmt: skip

    compare(body)


# -- shapes, samples


@pytest.mark.parametrize("name", CASES)
def test_shapes_and_texts(name: str) -> None:
    def body(library: Library) -> Any:
        made = without_history(library, name)
        wider = made.expand((2, *made.batch_shape))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample = wider.sample((3,))
        found: list[Any] = [
            list(made.batch_shape), list(made.event_shape), made.has_rsample, made.has_enumerate_support,
            None if "Mixture" in name else repr(made),
            list(wider.batch_shape), list(wider.event_shape), type(wider).__name__, list(sample.shape), sample.dtype,
            bool(made.support.check(sample.double() if name.startswith("General") else sample).all()),
            [type(made).__name__, sorted(made.arg_constraints)], repr(made.support),
            wider.log_prob(value_of(library, CASES[name])),
            attempt(lambda: made.enumerate_support(), message=False),
            attempt(lambda: made.enumerate_support(expand=False), message=False),
            attempt(lambda: list(made.rsample((2,)).shape), message=False) if "Wishart" not in name else None,
        ]  # fmt: skip
        return found

    compare(body, rtol=1e-5, atol=1e-6)


# Samples of LKJCholesky are those of its density here and not there:
# tests/gradwright/distributions/test_distributions.py
@pytest.mark.parametrize("name", [name for name in CASES if name != "LKJCholesky"])
def test_samples_have_the_moments_of_pytorch(name: str) -> None:
    case = CASES[name]
    means = []
    for library in LIBRARIES:
        made, _ = build(library, case)
        library.manual_seed(3)
        # Of what has no moments the middle is compared: by a function that is bounded.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's of Wishart's distribution
            means.append(np.tanh(made.sample((20000,)).double().numpy()).mean(axis=0))
    np.testing.assert_allclose(means[1], means[0], atol=0.03)


# PyTorch's samples of Wishart's distribution have no gradient that can be computed.
@pytest.mark.parametrize("name", [name for name in CASES if "Wishart" not in name])
def test_gradients_of_samples_move_the_moments(name: str) -> None:
    case = CASES[name]
    found = []
    for library in LIBRARIES:
        made, parameters = build(library, case)
        if not made.has_rsample:
            return
        library.manual_seed(3)
        used = list(parameters.values())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = made.rsample((20000,))
            slopes = library.autograd.grad(value.tanh().mean(0).sum(), used, allow_unused=True)
        found.append([np.zeros(0) if slope is None else slope.numpy() for slope in slopes])
    for ours, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.06)


# -- errors

ERRORS = """
d.Normal(0.0, -1.0)
d.Normal(torch.zeros(2), torch.tensor([1.0, -1.0]))
d.Normal(0.0, 1.0).log_prob("a")
d.Normal(0.0, 1.0).log_prob(1.0)
d.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(3))
d.Normal(torch.zeros(2), 1.0).expand((3,))
d.Normal(0.0, 1.0).enumerate_support()
d.Normal("a", 1.0)
d.Normal(0.0, 1.0).sample(3)
d.Normal(0.0, float("nan"))
d.Normal(0.0, -1.0, validate_args=False).log_prob(torch.tensor(1.0))
d.Bernoulli(0.5).log_prob(torch.tensor(2.0))
d.Bernoulli()
d.Bernoulli(0.5, 0.5)
d.Bernoulli(1.5)
d.Categorical(torch.tensor(1.0))
d.Categorical(torch.ones(3)).log_prob(torch.tensor(4))
d.Categorical(torch.ones(3), torch.ones(3))
d.Dirichlet(torch.tensor(1.0))
d.Gamma(1.0, 1.0).cdf(torch.tensor(-1.0))
d.Geometric(0.0)
d.Multinomial(2, torch.ones(2)).log_prob(torch.tensor([1.0, 2.0]))
d.Multinomial(torch.tensor(2), torch.ones(2))
d.MultivariateNormal(torch.zeros(2))
d.MultivariateNormal(torch.tensor(0.0), torch.eye(1))
d.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2))
d.MultivariateNormal(torch.zeros(2), -torch.eye(2))
d.MultivariateNormal(torch.zeros(2), torch.zeros(2))
d.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2))
d.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(3))
d.Uniform(1.0, 0.0)
d.Uniform(0.0, 1.0).log_prob(torch.tensor(2.0))
d.Wishart(torch.tensor(0.5), torch.eye(2))
d.LKJCholesky(1)
d.MixtureSameFamily(1, 2)
d.MixtureSameFamily(d.Categorical(torch.ones(3)), d.Normal(torch.zeros(2), 1.0))
d.TransformedDistribution(d.Normal(0.0, 1.0), 3)
d.TransformedDistribution(d.Normal(0.0, 1.0), [d.StickBreakingTransform()])
d.Independent(d.Normal(0.0, 1.0), 1)
d.Independent(d.Bernoulli(torch.ones(2) / 2), 1).enumerate_support()
d.Poisson(1.0).rsample()
d.Poisson(1.0).entropy()
d.Poisson(1.0).cdf(torch.tensor(1.0))
d.VonMises(torch.tensor(0.0), torch.tensor(1.0)).rsample()
d.Binomial(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.5])).enumerate_support()
d.Distribution.set_default_validate_args(3)
d.Distribution().mean
d.Distribution().sample()
d.kl_divergence(d.Normal(0.0, 1.0), d.Poisson(1.0))
d.AffineTransform(0.0, 1.0, cache_size=2)
d.ReshapeTransform((2,), (3,))
d.utils.tril_matrix_to_vec(torch.ones(2, 2), 2)
""".strip().splitlines()


@pytest.mark.parametrize("line", ERRORS)
def test_errors(line: str) -> None:
    def body(library: Library) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = attempt(lambda: eval(line, {"d": library.distributions, "torch": library}), message=False)
        return type(made).__name__ if not hasattr(made, "kind") else made

    compare(body)


def test_what_is_refused_is_named() -> None:
    def body(library: Library) -> Any:
        d = library.distributions
        return [
            attempt(lambda: d.Normal(library.zeros(2), library.tensor([1.0, -1.0]))),
            attempt(lambda: d.Bernoulli(0.5).log_prob(library.tensor(2.0))),
            attempt(lambda: d.Normal(library.zeros(2), 1.0).log_prob(library.zeros(3))),
        ]

    compare(body)


# -- utilities, copies


def test_numbers_take_the_dtype_of_tensors() -> None:
    def body(library: Library) -> Any:
        d = library.distributions
        half = library.tensor([1.0, 2.0], dtype=library.float64)
        return [
            list(d.utils.broadcast_all(1, 2.5)), list(d.utils.broadcast_all(half, 3)),
            d.Normal(1, 2).loc, d.Bernoulli(1).probs, d.Gamma(1, half).concentration,
            d.utils.clamp_probs(library.tensor([0.0, 0.5, 1.0])), d.utils.probs_to_logits(half / 3),
            d.utils.logits_to_probs(half), d.utils.probs_to_logits(half / 3, True), d.utils.logits_to_probs(half, True),
            *[d.utils.vec_to_tril_matrix(library.arange(n).float(), k) for n, k in ((6, 0), (3, -1), (8, 1), (1, -2))],
            *[d.utils.tril_matrix_to_vec(library.arange(9).reshape(3, 3), k) for k in (-2, -1, 0, 1, 2)],
        ]  # fmt: skip

    compare(body)


@pytest.mark.parametrize("name", CASES)
def test_distributions_are_copied_and_pickled(name: str) -> None:
    made, _ = build(gradwright, CASES[name])
    value = value_of(gradwright, CASES[name])
    expected = made.log_prob(value).detach()
    plain = pickle.loads(pickle.dumps(without_history(gradwright, name)))
    np.testing.assert_array_equal(plain.log_prob(value).numpy(), expected.numpy())
    copied = copy.deepcopy(without_history(gradwright, name))
    np.testing.assert_array_equal(copied.log_prob(value).numpy(), expected.numpy())


def without_history(library: Library, name: str) -> Any:
    """The distribution of a case, with parameters that require no gradient."""
    with library.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = CASES[name]
        given = {key: library.tensor(v, dtype=getattr(library, case.dtype)) for key, v in case.parameters.items()}
        return eval(case.made, {"d": library.distributions, "torch": library, **given})
