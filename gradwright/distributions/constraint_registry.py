"""Transforms of all real numbers to those that satisfy a constraint.

`biject_to(constraint)` is a bijection, whose Jacobian is known; `transform_to(constraint)` need not be one, and is
easier to optimize over. Both know the constraints that are registered with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.transforms.elements import AffineTransform, ExpTransform, SigmoidTransform
from gradwright.distributions.transforms.transform import (
    ComposeTransform,
    IndependentTransform,
    Transform,
    identity_transform,
)
from gradwright.distributions.transforms.vectors import (
    CatTransform,
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)


class ConstraintRegistry:
    """Functions that make a transform for a constraint, by the constraint's class."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Transform]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Transform] | None = None) -> Any:
        """Let `factory` make the transforms for constraints of a class; without it, a decorator.

        Raises:
            TypeError: `constraint` is neither a class of constraints nor one of its objects.
        """
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Transform:
        """The transform for a constraint.

        Raises:
            NotImplementedError: none is registered for its class.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _from_bound(bound: Any, sign: int) -> Transform:
    """To the numbers above a bound, or with the sign -1 to those below it."""
    return ComposeTransform([ExpTransform(), AffineTransform(bound, sign)])


def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    unit = all(isinstance(bound, (int, float)) for bound in (low, high)) and (low, high) == (0, 1)
    return SigmoidTransform() if unit else ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


def _register_for(registry: ConstraintRegistry) -> None:
    """What both registries know."""
    registry.register(constraints.real, lambda constraint: identity_transform)
    registry.register(
        constraints.independent,
        lambda constraint: IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        ),
    )
    for above in (constraints.greater_than, constraints.greater_than_eq):
        registry.register(above, lambda constraint: _from_bound(constraint.lower_bound, 1))
    registry.register(constraints.less_than, lambda constraint: _from_bound(constraint.upper_bound, -1))
    for between in (constraints.interval, constraints.half_open_interval):
        registry.register(between, _to_interval)
    registry.register(constraints.corr_cholesky, lambda constraint: CorrCholeskyTransform())
    registry.register(
        constraints.cat,
        lambda constraint: CatTransform(
            [registry(part) for part in constraint.cseq], constraint.dim, constraint.lengths
        ),
    )
    registry.register(
        constraints.stack,
        lambda constraint: StackTransform([registry(part) for part in constraint.cseq], constraint.dim),
    )


_register_for(biject_to)
_register_for(transform_to)
biject_to.register(constraints.simplex, lambda constraint: StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: LowerCholeskyTransform())
for _definite in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_definite, lambda constraint: PositiveDefiniteTransform())
