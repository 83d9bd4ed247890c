"""Tensors at random: of sizes, strides and orders of memory that parameters are drawn for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from runtime import ops
from runtime.base.dtypes import float32
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.random import manual_seed

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

T = TypeVar("T")

_DISTRIBUTIONS = ("loguniform", "uniform")
# How often a set of parameters is drawn before there seems to be none that is right.
_TRIES = 1000
_Parameters = dict[str, Any]


class FuzzedParameter:
    """A number, or one of several choices, that is drawn.

    Args:
        name: by which Tensors ask for it.
        minval: the least number.
        maxval: the largest number.
        distribution: `"uniform"`, over integers where both limits are; `"loguniform"`, over integers, whose logarithm
            is uniform; or the choices, each with its probability, without limits.
        strict: drawn once for a set of parameters, also if others of it must be drawn again.

    Raises:
        AssertionError: there is no such distribution, or its probabilities are none.
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | Mapping[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        self.name = name
        self.strict = strict
        self._minval = minval
        self._maxval = maxval
        self._distribution = distribution
        if not isinstance(distribution, Mapping):
            _require(distribution in _DISTRIBUTIONS, f"Unknown distribution: {distribution}")
            return
        _require(all(chance >= 0 for chance in distribution.values()), "Probabilities cannot be negative")
        _require(abs(sum(distribution.values()) - 1) <= 1e-5, "Distribution is not normalized")
        for word, limit in (("minval", minval), ("maxval", maxval)):
            _require(limit is None, f"When passing a custom distribution, '{word}' must be None")

    def sample(self, state: np.random.RandomState) -> Any:
        """Draw a value."""
        if isinstance(self._distribution, Mapping):
            chances = tuple(self._distribution.values())
            return list(self._distribution)[state.choice(len(chances), p=chances)]
        low, high = self._minval, self._maxval
        if low is None or high is None:
            raise TypeError(f"parameter '{self.name}' needs minval and maxval")
        if self._distribution == "loguniform":
            return min(max(int(2 ** state.uniform(np.log2(low), np.log2(high))), low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low, high + 1))
        return state.uniform(low, high)


class ParameterAlias:
    """A choice of a parameter: the value of another parameter, which may be an alias itself."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """A Tensor whose shape and memory are drawn.

    Args:
        name: what it is called in the results.
        size: the sizes: numbers, or names of parameters.
        steps: for each dimension, of how many elements of a larger Tensor one is taken.
        probability_contiguous: how likely memory is in the order of the dimensions.
        min_elements: the fewest elements that it may have.
        max_elements: the most elements that it may have.
        max_allocation_bytes: the most bytes that the larger Tensor may have.
        dim_parameter: the name of the parameter that says how many dimensions there are.
        dtype: of what type the elements are.
        cuda: put it on a GPU.
        tensor_constructor: makes the larger Tensor, of `size`, `dtype` and all parameters by their names.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: DType = float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:
        self.name = name
        self._size = size
        self._steps = steps or ()
        self._probability_contiguous = probability_contiguous
        self._min_elements = 0 if min_elements is None else min_elements
        self._max_elements = math.inf if max_elements is None else max_elements
        self._max_bytes = math.inf if max_allocation_bytes is None else max_allocation_bytes
        self._dim_parameter = dim_parameter
        self._dtype = dtype
        self._cuda = cuda
        self._constructor = tensor_constructor or self.default_tensor_constructor

    @staticmethod
    def default_tensor_constructor(size: Sequence[int], dtype: DType, **kwargs: Any) -> Tensor:
        """Numbers below one; integers from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return ops.rand(size, dtype=dtype)
        return ops.randint(1, 127, size, dtype=dtype)

    def satisfies_constraints(self, params: _Parameters) -> bool:
        """Whether with these parameters it is neither too small nor too large."""
        size, steps = self._shape(params)
        elements = math.prod(size)
        needed = elements * math.prod(steps) * self._dtype.itemsize
        return self._min_elements <= elements <= self._max_elements and needed <= self._max_bytes

    def make(self, params: _Parameters, state: np.random.RandomState) -> tuple[Tensor, dict[str, Any]]:
        """The Tensor for a set of parameters, and what is particular about it."""
        size, steps = self._shape(params)
        whole = [length * step for length, step in zip(size, steps, strict=True)]
        tensor = self._constructor(size=tuple(whole), dtype=self._dtype, **params)
        if self._cuda:
            tensor = tensor.to("cuda")
        order = np.arange(len(size))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and bool(np.all(order == np.arange(len(size)))):
                order = state.permutation(tensor.dim())
            tensor = tensor.permute(tuple(order.tolist())).contiguous().permute(tuple(np.argsort(order).tolist()))
        tensor = tensor[tuple(slice(0, end, step) for end, step in zip(whole, steps, strict=True))]
        return tensor, {
            "numel": tensor.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }

    def _shape(self, params: _Parameters) -> tuple[tuple[int, ...], tuple[int, ...]]:
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def of_parameters(values: Iterable[str | int]) -> tuple[int, ...]:
            found = [params.get(value, value) if isinstance(value, str) else value for value in values][:dim]
            return (*found, *(1 for _ in range(dim - len(found))))

        return of_parameters(self._size), of_parameters(self._steps)


class Fuzzer:
    """Draws parameters, and Tensors by them.

    Args:
        parameters: what is drawn; lists of several are taken apart.
        tensors: what is made of it; likewise.
        constraints: called with the parameters, each says whether they may be so.
        seed: of the draws, for the Tensors' elements as well; None for another one each time.

    Raises:
        ValueError: a name is used twice.
    """

    def __init__(
        self,
        parameters: Sequence[FuzzedParameter | Iterable[FuzzedParameter]],
        tensors: Sequence[FuzzedTensor | Iterable[FuzzedTensor]],
        constraints: Sequence[Callable[[_Parameters], bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters = _flat(parameters, FuzzedParameter)
        self._tensors = _flat(tensors, FuzzedTensor)
        self._constraints = tuple(constraints or ())
        both = {each.name for each in self._parameters} & {each.name for each in self._tensors}
        if both:
            raise ValueError(f"Duplicate names in parameters and tensors: {both}")
        self._drawn = 0
        self._rejected = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, dict[str, Any]], _Parameters]]:
        """Draw `n` times: the Tensors by their names, what is particular about each, and the parameters.

        Raises:
            ValueError: in many tries there were no parameters that all constraints allow, or aliases go in a circle.
        """
        state = np.random.RandomState(self._seed)
        manual_seed(int(state.randint(0, 2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._draw(state)
            made = {tensor.name: tensor.make(params, state) for tensor in self._tensors}
            tensors = {name: tensor for name, (tensor, _) in made.items()}
            yield tensors, {name: properties for name, (_, properties) in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The part of the sets of parameters that something did not allow."""
        return self._rejected / self._drawn if self._drawn else 0.0

    def _draw(self, state: np.random.RandomState) -> _Parameters:
        kept: _Parameters = {}
        for _ in range(_TRIES):
            drawn = {
                each.name: kept[each.name] if each.name in kept else each.sample(state) for each in self._parameters
            }
            kept = {each.name: drawn[each.name] for each in self._parameters if each.strict}
            params = _without_aliases(drawn)
            self._drawn += 1
            if all(allows(params) for allows in self._constraints) and all(
                tensor.satisfies_constraints(params) for tensor in self._tensors
            ):
                return params
            self._rejected += 1
        raise ValueError("Failed to generate a set of valid parameters.")


def _flat(values: Iterable[Any], kind: type[T]) -> tuple[T, ...]:
    return tuple(each for value in values for each in ((value,) if isinstance(value, kind) else value))


def _without_aliases(params: _Parameters) -> _Parameters:
    found = {}
    for name, value in params.items():
        seen = set()
        while isinstance(value, ParameterAlias):
            if value.alias_to in seen:
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            seen.add(value.alias_to)
            value = params[value.alias_to]
        found[name] = value
    return found


def _require(right: bool, message: str) -> None:
    if not right:
        raise AssertionError(message)
