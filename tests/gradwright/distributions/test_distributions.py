"""Distributions: what can be said of them without another library."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special, stats

import gradwright as torch
from gradwright import distributions as d


def test_correlations_of_lkj_have_their_distribution() -> None:
    """Each is `2 * Beta(a, a) - 1` with `a = concentration - 1 + dim / 2`, of variance `1 / (2 * a + 1)`."""
    torch.manual_seed(0)
    for dim, concentration in ((3, 0.5), (3, 2.0), (5, 1.0)):
        factor = d.LKJCholesky(dim, concentration).sample((20000,))
        assert bool(d.constraints.corr_cholesky.check(factor).all())
        matrix = (factor @ factor.mT).numpy()
        expected = 1 / (2 * (concentration - 1 + dim / 2) + 1)
        below = matrix[:, *np.tril_indices(dim, -1)]
        np.testing.assert_allclose(below.var(axis=0), expected, rtol=0.05)


@pytest.mark.parametrize("shape", [0.01, 0.3, 1.0, 3.0, 50.0, 1e4])
def test_gamma_numbers_move_with_their_ranks_held(shape: float) -> None:
    ranks = np.array([0.01, 0.2, 0.5, 0.8, 0.99])
    numbers = special.gammaincinv(shape, ranks)
    step = 1e-5 * shape
    expected = (special.gammaincinv(shape + step, ranks) - special.gammaincinv(shape - step, ranks)) / (2 * step)
    slope = torch._standard_gamma_grad(torch.full((5,), shape, dtype=torch.float64), torch.from_numpy(numbers))
    kept = numbers > 1e-290
    np.testing.assert_allclose(slope.numpy()[kept], expected[kept], rtol=1e-4)


@pytest.mark.parametrize("own", [0.1, 1.0, 4.0, 100.0])
@pytest.mark.parametrize("rest", [0.1, 1.0, 4.0, 100.0])
def test_parts_move_with_their_ranks_held(own: float, rest: float) -> None:
    ranks = np.array([0.05, 0.5, 0.9])
    x = special.betaincinv(own, rest, ranks)
    step = 1e-5 * own
    moved = special.betaincinv(own + step, rest, ranks) - special.betaincinv(own - step, rest, ranks)
    slope = torch._dirichlet_grad(
        torch.from_numpy(x),
        torch.full((3,), own, dtype=torch.float64),
        torch.full((3,), own + rest, dtype=torch.float64),
    )
    kept = x < 1 - 1e-9
    np.testing.assert_allclose((slope.numpy() * (1 - x))[kept], (moved / (2 * step))[kept], rtol=1e-4)


def rank_series(term: Any, gap: Any, advance: Any) -> Any:
    """The sum of all terms times gaps, in as many digits as mpmath has."""
    total, n = term * gap, 0
    while n < 50 or abs(term * gap) > mpmath.mpf(10) ** -90 * abs(total):
        term, gap = advance(n, term, gap)
        total, n = total + term * gap, n + 1
    return total


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 1e-6)])
def test_gamma_numbers_move_to_the_last_digits(dtype: Any, tolerance: float) -> None:
    random = np.random.default_rng(0)
    shape = 10 ** random.uniform(-2, 2.5, 60)
    number = np.maximum(random.gamma(shape), 1e-30)
    number[40:] = shape[40:] * 10 ** random.uniform(-1, 0.5, 20)  # both tails
    shapes, numbers = torch.from_numpy(shape).to(dtype), torch.from_numpy(number).to(dtype)
    slopes = torch._standard_gamma_grad(shapes, numbers)
    with mpmath.workdps(500):
        for each, drawn, slope in zip(shapes.tolist(), numbers.tolist(), slopes.tolist(), strict=True):
            a, x = mpmath.mpf(each), mpmath.mpf(drawn)
            start = mpmath.digamma(a + 1) - mpmath.log(x)
            total = rank_series(1 / a, start, lambda n, t, g, a=a, x=x: (t * x / (a + n + 1), g + 1 / (a + n + 1)))
            assert float(x * total) == pytest.approx(slope, rel=tolerance), (each, drawn)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-6)])
def test_parts_move_to_the_last_digits(dtype: Any, tolerance: float) -> None:
    random = np.random.default_rng(0)
    own, rest = 10 ** random.uniform(-1, 2, (2, 60))
    part = np.clip(random.beta(own, rest), 1e-20, 0.9)
    part[40:] = random.uniform(0.05, 0.9, 20)
    parts, owns, sums = (torch.from_numpy(each).to(dtype) for each in (part, own, own + rest))
    slopes = torch._dirichlet_grad(parts, owns, sums)
    with mpmath.workdps(300):
        for *given, slope in zip(parts.tolist(), owns.tolist(), sums.tolist(), slopes.tolist(), strict=True):
            x, a, s = map(mpmath.mpf, given)

            def advance(n: int, term: Any, gap: Any, x: Any = x, a: Any = a, s: Any = s) -> tuple[Any, Any]:
                return term * x * (s + n) / (a + n + 1), gap + 1 / (a + n + 1) - 1 / (s + n)

            total = rank_series(1 / a, mpmath.digamma(a + 1) - mpmath.digamma(s) - mpmath.log(x), advance)
            assert float(x * total) == pytest.approx(slope, rel=tolerance), given


def test_small_shapes_give_numbers_that_are_not_zero() -> None:
    torch.manual_seed(0)
    assert bool((torch._standard_gamma(torch.full((1000,), 1e-3)) > 0).all())
    parts = torch._sample_dirichlet(torch.full((1000, 3), 1e-3))
    np.testing.assert_allclose(parts.sum(-1).numpy(), 1, rtol=1e-6)


def test_parts_are_repeated_as_their_concentrations_are() -> None:
    part = torch.tensor([0.2, 0.6], dtype=torch.float64)
    own = torch.tensor([[0.5, 1.0, 2.0], [3.0, 0.7, 1.5]], dtype=torch.float64).T
    slope = torch._dirichlet_grad(part, own, own + 1)
    assert slope.is_contiguous()
    assert torch.equal(slope, torch._dirichlet_grad(part.expand(3, 2), own, own + 1))


def test_gamma_numbers_have_their_distribution() -> None:
    torch.manual_seed(0)
    for shape in (0.3, 1.0, 20.0):
        drawn = torch._standard_gamma(torch.full((5000,), shape, dtype=torch.float64)).numpy()
        assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > 1e-3
        parts = torch._sample_dirichlet(torch.tensor([shape, 2.0], dtype=torch.float64).expand(5000, 2)).numpy()
        assert stats.kstest(parts[:, 0], stats.beta(shape, 2).cdf).pvalue > 1e-3


def test_the_gradient_of_a_mean_goes_through_samples() -> None:
    torch.manual_seed(0)
    shape = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64, requires_grad=True)
    d.Gamma(shape, 2.0).rsample((50000,)).mean(0).sum().backward()
    np.testing.assert_allclose(shape.grad.numpy(), 0.5, rtol=0.03)
    parts = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    d.Dirichlet(parts).rsample((50000,))[:, 0].mean().backward()
    np.testing.assert_allclose(parts.grad.numpy(), [2.0 / 2.5**2, -0.5 / 2.5**2], rtol=0.05)


def test_gradients_go_through_matrices_of_wishart() -> None:
    torch.manual_seed(0)
    df = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    scale = torch.tensor([[1.2, 0.0], [0.3, 0.9]], dtype=torch.float64, requires_grad=True)
    d.Wishart(df, scale_tril=scale).rsample((50000,)).mean(0).sum().backward()
    total = scale.detach().sum(0)  # the sum of the elements of the mean is df * |1 L|^2
    np.testing.assert_allclose(df.grad.item(), total.pow(2).sum().item(), rtol=0.05)
    np.testing.assert_allclose(scale.grad.tril().numpy(), (10 * total).expand(2, 2).tril().numpy(), rtol=0.05)


CONTINUOUS: list[tuple[Any, Any]] = [
    (d.Normal(0.3, 1.2), stats.norm(0.3, 1.2)),
    (d.Laplace(0.3, 1.2), stats.laplace(0.3, 1.2)),
    (d.Cauchy(0.3, 1.2), stats.cauchy(0.3, 1.2)),
    (d.Gumbel(0.3, 1.2), stats.gumbel_r(0.3, 1.2)),
    (d.Gamma(2.5, 0.7), stats.gamma(2.5, scale=1 / 0.7)),
    (d.Chi2(3.0), stats.chi2(3)),
    (d.HalfNormal(1.2), stats.halfnorm(scale=1.2)),
    (d.HalfCauchy(1.2), stats.halfcauchy(scale=1.2)),
    (d.LogNormal(0.3, 0.5), stats.lognorm(0.5, scale=np.exp(0.3))),
    (d.Pareto(1.2, 2.5), stats.pareto(2.5, scale=1.2)),
    (d.Weibull(1.2, 2.5), stats.weibull_min(2.5, scale=1.2)),
    (d.Uniform(0.3, 1.2), stats.uniform(0.3, 0.9)),
    (d.Exponential(0.7), stats.expon(scale=1 / 0.7)),
    (d.InverseGamma(2.5, 0.7), stats.invgamma(2.5, scale=0.7)),
    (d.GeneralizedPareto(0.3, 1.2, 0.2), stats.genpareto(0.2, 0.3, 1.2)),
    (d.StudentT(5.0, 0.3, 1.2), stats.t(5, 0.3, 1.2)),
    (d.FisherSnedecor(3.0, 6.0), stats.f(3, 6)),
    (d.Beta(2.0, 0.7), stats.beta(2, 0.7)),
    (d.VonMises(torch.tensor(0.3), torch.tensor(1.2)), stats.vonmises(1.2, 0.3)),
]


@pytest.mark.parametrize(("ours", "known"), CONTINUOUS, ids=lambda one: type(one).__name__)
def test_densities_and_samples_are_those_of_scipy(ours: Any, known: Any) -> None:
    torch.manual_seed(0)
    drawn = ours.sample((4000,))
    assert stats.kstest(drawn.double().numpy(), known.cdf).pvalue > 1e-3
    np.testing.assert_allclose(ours.log_prob(drawn).numpy(), known.logpdf(drawn.double().numpy()), rtol=2e-3, atol=2e-3)


def test_densities_are_largest_at_the_mode_of_kumaraswamy() -> None:
    one = d.Kumaraswamy(torch.tensor([2.0, 5.0]), torch.tensor([3.0, 1.5]))
    near = one.log_prob(one.mode + torch.tensor([[-1e-2], [0.0], [1e-2]]))
    assert near.argmax(0).tolist() == [1, 1]


def test_generalized_pareto_is_of_the_dtype_of_its_parameters() -> None:
    one = d.GeneralizedPareto(*torch.tensor([0.3, 1.2, 0.2], dtype=torch.float64))
    np.testing.assert_allclose(
        one.log_prob(torch.tensor(2.0, dtype=torch.float64)).item(), stats.genpareto(0.2, 0.3, 1.2).logpdf(2.0)
    )


def test_the_chances_of_a_mixture_may_be_those_of_all_of_a_batch() -> None:
    torch.manual_seed(0)
    mixture = d.MixtureSameFamily(
        d.Categorical(torch.tensor([0.3, 0.7])), d.Normal(torch.tensor([[0.0, 5.0], [1.0, 2.0]]), 0.1)
    )
    assert mixture.sample((1000,)).mean(0).sub(torch.tensor([3.5, 1.7])).abs().max() < 0.3


def test_what_is_listed_wrongly_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be expressed as the lower triangular part"):
        d.utils.vec_to_tril_matrix(torch.ones(4))
    with pytest.raises(ValueError, match="1 transforms, but 2 lengths"):
        d.CatTransform([d.ExpTransform()], lengths=[1, 2])
    with pytest.raises(TypeError, match="Expected a Distribution subclass"):
        d.register_kl(int, d.Normal)


def test_a_subclass_with_its_own_init_has_to_say_how_it_expands() -> None:
    class Mine(d.Normal):
        def __init__(self) -> None:
            super().__init__(0.0, 1.0)

    with pytest.raises(NotImplementedError, match=r"must also define a custom .expand\(\) method"):
        Mine().expand((2,))
    with pytest.raises(NotImplementedError):
        d.Distribution(validate_args=False).expand((2,))


def test_checks_can_be_turned_off() -> None:
    d.Distribution.set_default_validate_args(False)
    try:
        assert d.Normal(0.0, -1.0).scale.item() == -1
    finally:
        d.Distribution.set_default_validate_args(True)
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        d.Distribution()


def test_entropies_of_families_follow_from_their_normalizers() -> None:
    one = d.Gamma(torch.tensor([0.7, 3.0], dtype=torch.float64), 2.0)
    by_family = d.ExponentialFamily.entropy(one)
    np.testing.assert_allclose(by_family.detach().numpy(), one.entropy().numpy())


def test_several_places_of_a_wishart_are_apart() -> None:
    many = d.Wishart(torch.tensor([4.0, 6.0]), torch.eye(3))
    other = d.Wishart(torch.tensor([5.0, 5.0]), 2 * torch.eye(3))
    both = d.kl_divergence(many, other)
    one = d.kl_divergence(d.Wishart(torch.tensor(6.0), torch.eye(3)), d.Wishart(torch.tensor(5.0), 2 * torch.eye(3)))
    np.testing.assert_allclose(both[1].item(), one.item(), rtol=1e-5)
