"""What all distributions have: shapes of batches and events, samples, checks of parameters and of values."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.utils import lazy_property
from runtime.base.tensor import Tensor
from runtime.base.types import Size
from runtime.graph.grad_mode import no_grad

Value = Tensor | float
Shape = Iterable[int]


class Distribution:
    """A distribution of numbers, vectors or matrices, or a batch of them, each with parameters of its own.

    Args:
        batch_shape: the shape of the batch.
        event_shape: that of one value.
        validate_args: whether parameters and values are checked against their constraints; None as
            `set_default_validate_args` says.

    Attributes:
        has_rsample: whether samples have gradients in the parameters.
        has_enumerate_support: whether all values can be listed.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__
    # The attributes that `expand` brings to another shape of the batch; who names them has an `__init__`.
    _parameters: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Say whether distributions check arguments that do not say it themselves."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args() expects a bool, but got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        for name, constraint in wanted.items():
            lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or (lazy and name not in self.__dict__):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        """The same distributions as a batch of a larger shape, to which the parameters are expanded.

        Raises:
            NotImplementedError: a subclass with an `__init__` of its own has to have a method `expand` as well.
        """
        owner = next((cls for cls in type(self).__mro__ if "_parameters" in cls.__dict__), None)
        if owner is None or owner is Distribution:
            raise NotImplementedError(f"{type(self).__name__} has no expand()")
        new = self._get_checked_instance(owner, _instance)
        batch = Size(batch_shape)
        ours = len(self._batch_shape)
        for name, value in self.__dict__.items():
            if name in self._parameters:
                new.__dict__[name] = self._expanded(value, batch, ours)
            elif not isinstance(getattr(type(self), name, None), lazy_property):
                new.__dict__[name] = value
        new._batch_shape = batch
        return new  # type: ignore[no-any-return]

    @staticmethod
    def _expanded(value: Any, batch: Size, ours: int) -> Any:
        """A parameter for another shape of the batch."""
        if isinstance(value, Distribution):
            inner = value.batch_shape[ours:]  # batch dimensions of a part that are dimensions of an event of the whole
            return value.expand(batch + inner)
        return value.expand(batch + value.shape[ours:])

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    if TYPE_CHECKING:  # a table and a constraint of the class, or properties where they depend on parameters
        arg_constraints: ClassVar[Any]
        support: ClassVar[Any]
    else:

        @property
        def arg_constraints(self) -> dict[str, Constraint]:
            """The constraint of each parameter, by its name."""
            raise NotImplementedError

        @property
        def support(self) -> Constraint:
            """The constraint that values satisfy."""
            raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean of the values."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value at which the density is largest."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of the values."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of the values."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Values, `sample_shape` times the batch, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Values, `sample_shape` times the batch, that have gradients in the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`n` values of the batch."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the chance, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The chance of values that are at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The number below which values lie with the chance `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along a first dimension; with `expand`, for each of the batch."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in natural units."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _listed(self, values: Tensor, expand: bool) -> Tensor:
        """Values along the first dimension, for each of the batch or with dimensions of size 1 in its place."""
        count, *event = values.shape
        listed = values.reshape((count, *(1,) * len(self._batch_shape), *event))
        return listed.expand((count, *self._batch_shape, *event)) if expand else listed

    def _extended_shape(self, sample_shape: Shape = ()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _check(self, value: Tensor) -> None:
        """Check a value, where that is asked for."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = len(self._event_shape)
        if value.shape[value.dim() - events :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for size, own in zip(reversed(value.shape), reversed(expected), strict=False):
            if size not in (1, own) and own != 1:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = [name for name in self.arg_constraints if name in self.__dict__]
        values = (self.__dict__[name] for name in shown)
        texts = (f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in zip(shown, values, strict=True))
        return f"{type(self).__name__}({', '.join(texts)})"
