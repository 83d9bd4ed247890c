"""Where properties are looked at: a sample in one dtype, as a function of its differentiable Tensors."""

from __future__ import annotations

import ast
import importlib
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradwright.autograd import grad as autograd_grad
from gradwright.testing import Sample, as_function, make_sample, on_copies, operator_of, sample_inputs
from gradwright.verify.results import Inapplicable, Refuted
from runtime.base import dtypes
from runtime.base.tensor import Tensor, wrap
from runtime.load.operator_info import OperatorInfo
from runtime.random import manual_seed

Array = np.ndarray[Any, Any]
Function = Callable[..., tuple[Tensor, ...]]
_NUMBER = "0.7 - 1.3j"
HALVES = ("float16", "bfloat16")


class Point:
    """A sample of an operator in one dtype.

    Attributes:
        info: the operator.
        sample: the call; `number` is its place among the samples, from 1.
        dtype: the name of the dtype that it is in.
        function: the call as a function of `inputs`, which gives the results that require grad.
        inputs: the Tensors that a gradient is for.
        random: numbers that are the same each time.
    """

    def __init__(self, info: OperatorInfo, sample: Sample, number: int, dtype: str) -> None:
        self.info = info
        self.sample = sample
        self.number = number
        self.dtype = dtype
        function, self.inputs = as_function(info, sample)
        self.function: Function = seeded(function) if info.random else function
        self.random = np.random.default_rng(zlib.crc32(f"{info.name} {sample.text} {dtype}".encode()))

    def results(self) -> tuple[Tensor, ...]:
        """The results that require grad.

        Raises:
            Inapplicable: there are none.
        """
        outs = self.function(*self.inputs) if self.inputs else ()
        if not outs:
            raise Inapplicable("nothing to differentiate")
        return outs

    def like(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Random values in the shapes and dtypes of some Tensors."""
        return [wrap(random_like(self.random, tensor)) for tensor in tensors]

    def gradients(self, cotangents: Sequence[Tensor], create_graph: bool = False) -> list[Tensor]:
        """The gradient of each input; zeros where there is none."""
        return gradients(self.results(), self.inputs, cotangents, create_graph)

    def called(self, **changed: Any) -> Any:
        """What the call gives, as it is."""
        return call(self.info, self.sample, **changed)

    def names(self) -> list[str]:
        """The arguments that the inputs are, by their names."""
        return [name for name, tensor in named_tensors(self.info, self.sample) if tensor.requires_grad]


def points(info: OperatorInfo, dtype: str, requires_grad: bool = True, values: str = "usual") -> Iterator[Point]:
    """The samples of an operator in one dtype."""
    for number, sample in enumerate(sample_inputs(info, dtype, requires_grad, values), 1):
        yield Point(info, sample, info.samples.index(sample.text) + 1 if sample.text in info.samples else number, dtype)
    if getattr(dtypes, dtype).is_complex and values == "usual":
        yield from _beside_complex_numbers(info, dtype, requires_grad)


def _beside_complex_numbers(info: OperatorInfo, dtype: str, requires_grad: bool) -> Iterator[Point]:
    """Samples with a complex number for a real one: what multiplies is conjugated on the way back, and not forth."""
    parameters = operator_of(info).signature.parameters
    places = [place for place, each in enumerate(parameters) if each.type.removesuffix("?") == "Scalar"]
    for sample in sample_inputs(info, dtype, requires_grad)[:2] if places else ():
        for place in places:
            text = _with_number(sample.text, place, parameters[place].name)
            made = make_sample(info, text, getattr(dtypes, dtype), requires_grad)
            try:
                call(info, made)
            except (RuntimeError, TypeError):  # a number that has to be real
                continue
            yield Point(info, made, info.samples.index(sample.text) + 1, dtype)


def _with_number(text: str, place: int, name: str) -> str:
    tree = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(tree, ast.Call)
    number = ast.parse(_NUMBER, mode="eval").body
    if place < len(tree.args):
        tree.args[place] = number
    else:
        tree.keywords = [*(each for each in tree.keywords if each.arg != name), ast.keyword(name, number)]
    return ast.unparse(tree)[2:-1]


def call(info: OperatorInfo, sample: Sample, **changed: Any) -> Any:
    """What a sample gives; random numbers are the same each time."""
    manual_seed(0)
    return on_copies(info)(*sample.args, **{**sample.kwargs, **changed})


def seeded(function: Any) -> Function:
    def same(*tensors: Tensor) -> Any:
        manual_seed(0)
        return function(*tensors)

    return same


def variant_of(info: OperatorInfo, name: str) -> Any:
    """The callable of an in-place variant, by its name."""
    base, _, overload = name.partition(".")
    return getattr(importlib.import_module(f"{info.package}.operators"), f"{base}_{overload or 'default'}")


def gives_nothing(info: OperatorInfo) -> bool:
    """Whether an operator only writes."""
    return info.schema.endswith("-> ()")


def functional_of(info: OperatorInfo) -> OperatorInfo | None:
    """The operator that gives what another one writes: `_foreach_add.List` for `_foreach_add_.List`.

    It has the same name but for the underscore, and arguments of the same names and types, in any order.
    """
    base = info.name.partition(".")[0]
    if not base.endswith("_") or base.endswith("__"):
        return None
    for name, found in importlib.import_module(f"{info.package}.registry").OPERATORS.items():
        if name.partition(".")[0] == base[:-1] and isinstance(found, OperatorInfo) and _takes(found) == _takes(info):
            return found
    return None


def _takes(info: OperatorInfo) -> dict[str, str]:
    return {each.name: _WRITTEN.sub("", each.type) for each in operator_of(info).signature.parameters}


_WRITTEN = re.compile(r"\(\w+!\)")


def named_tensors(info: OperatorInfo, sample: Sample) -> list[tuple[str, Tensor]]:
    """The Tensors of a call, with the names of their arguments."""
    names = [parameter.name for parameter in operator_of(info).signature.parameters]
    given = [*zip(names, sample.args, strict=False), *sample.kwargs.items()]
    return [(name, tensor) for name, value in given for tensor in tensors_in(value)]


def tensors_in(value: Any) -> list[Tensor]:
    """The Tensors in a value, and in lists in it."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def all_tensors(sample: Sample) -> list[Tensor]:
    """The Tensors of a call, those that are not differentiated included."""
    return tensors_in([*sample.args, *sample.kwargs.values()])


def random_like(random: np.random.Generator, tensor: Tensor) -> Array:
    """Values of a normal distribution in the shape and dtype of a Tensor."""
    array = tensor.detach().numpy()
    values = random.standard_normal(array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * random.standard_normal(array.shape)
    return np.asarray(values, dtype=array.dtype)


def gradients(
    outs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Sequence[Tensor],
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> list[Tensor]:
    """The gradient of each input; zeros where nothing depends on it."""
    found = autograd_grad(outs, inputs, cotangents, retain_graph, create_graph, allow_unused=True)
    return [wrap(np.zeros_like(x._array)) if g is None else g for g, x in zip(found, inputs, strict=True)]


def array(value: Tensor | None) -> Any:
    """The numbers of a Tensor; 0 for None."""
    return 0.0 if value is None else value.detach().resolve_conj().numpy()


def inner(given: Sequence[Tensor], found: Sequence[Tensor | None]) -> float:
    """The inner product of real and imaginary parts; None counts as zeros."""
    return float(sum(np.vdot(array(g), array(f)).real for g, f in zip(given, found, strict=True) if f is not None))


def assert_close(
    found: Any, wanted: Any, what: str, rtol: float = 1e-9, argument: str | None = None, atol: float | None = None
) -> None:
    """Raise where arrays differ by more than `rtol` of the largest number.

    Raises:
        Refuted: they do.
    """
    one, other = np.asarray(found), np.asarray(wanted)
    if one.shape != other.shape and one.size and other.size and 1 not in (one.size, other.size):
        raise Refuted(f"{what}: shape {one.shape} instead of {other.shape}", argument)
    finite = np.isfinite(other)
    scale = float(np.max(np.abs(other[finite]), initial=0.0)) if other.size else 0.0
    if not np.allclose(one, other, rtol=rtol, atol=rtol * (1 + scale) if atol is None else atol, equal_nan=True):
        with np.errstate(all="ignore"):
            difference = np.abs(one - other)
        worst = np.nanmax(difference) if not np.isnan(difference).all() else np.nan
        raise Refuted(f"{what}: off by {worst:.3g}, of {scale:.3g}", argument)


def assert_number(found: float, wanted: float, what: str, scale: float, argument: str | None = None) -> None:
    """Raise where two numbers differ by more than rounding of a sum whose parts are as large as `scale`.

    Raises:
        Refuted: they do.
    """
    if not abs(found - wanted) <= 1e-7 * abs(wanted) + 1e-9 * (1 + scale):
        raise Refuted(f"{what}: {found:.9g} instead of {wanted:.9g}", argument)
