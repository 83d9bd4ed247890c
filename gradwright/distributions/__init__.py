"""Distributions of random numbers: densities, moments, samples with gradients, divergences."""

from __future__ import annotations

from gradwright.distributions import constraint_registry as constraint_registry
from gradwright.distributions import constraints as constraints
from gradwright.distributions import kl as kl
from gradwright.distributions import transforms as transforms
from gradwright.distributions import utils as utils
from gradwright.distributions.bernoulli import Bernoulli
from gradwright.distributions.beta import Beta
from gradwright.distributions.binomial import Binomial
from gradwright.distributions.categorical import Categorical
from gradwright.distributions.cauchy import Cauchy
from gradwright.distributions.chi2 import Chi2
from gradwright.distributions.constraint_registry import biject_to, transform_to
from gradwright.distributions.continuous_bernoulli import ContinuousBernoulli
from gradwright.distributions.dirichlet import Dirichlet
from gradwright.distributions.distribution import Distribution
from gradwright.distributions.exp_family import ExponentialFamily
from gradwright.distributions.exponential import Exponential
from gradwright.distributions.fishersnedecor import FisherSnedecor
from gradwright.distributions.gamma import Gamma
from gradwright.distributions.generalized_pareto import GeneralizedPareto
from gradwright.distributions.geometric import Geometric
from gradwright.distributions.gumbel import Gumbel
from gradwright.distributions.half_cauchy import HalfCauchy
from gradwright.distributions.half_normal import HalfNormal
from gradwright.distributions.independent import Independent
from gradwright.distributions.inverse_gamma import InverseGamma
from gradwright.distributions.kl import kl_divergence, register_kl
from gradwright.distributions.kumaraswamy import Kumaraswamy
from gradwright.distributions.laplace import Laplace
from gradwright.distributions.lkj_cholesky import LKJCholesky
from gradwright.distributions.log_normal import LogNormal
from gradwright.distributions.logistic_normal import LogisticNormal
from gradwright.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from gradwright.distributions.mixture_same_family import MixtureSameFamily
from gradwright.distributions.multinomial import Multinomial
from gradwright.distributions.multivariate_normal import MultivariateNormal
from gradwright.distributions.negative_binomial import NegativeBinomial
from gradwright.distributions.normal import Normal
from gradwright.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from gradwright.distributions.pareto import Pareto
from gradwright.distributions.poisson import Poisson
from gradwright.distributions.relaxed_bernoulli import RelaxedBernoulli
from gradwright.distributions.relaxed_categorical import RelaxedOneHotCategorical
from gradwright.distributions.studentT import StudentT
from gradwright.distributions.transformed_distribution import TransformedDistribution
from gradwright.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from gradwright.distributions.uniform import Uniform
from gradwright.distributions.von_mises import VonMises
from gradwright.distributions.weibull import Weibull
from gradwright.distributions.wishart import Wishart

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
