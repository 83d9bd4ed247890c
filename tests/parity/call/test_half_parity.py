"""float16 and bfloat16, operator by operator: the dtypes that PyTorch gives, and float32's numbers rounded once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright.testing import sample_inputs
from runtime.base.tensor import Tensor
from runtime.load.operator_info import OperatorInfo
from support.properties import Properties

properties = Properties()

HALVES = ("float16", "bfloat16")
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
# Of Tensors in memory that nobody has written.
_UNDEFINED = ("empty_like", "new_empty")

INFOS = [info for info in OPERATORS.values() if not info.random and info.name not in _UNDEFINED]


def flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    elif isinstance(value, Tensor | torch.Tensor):
        yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, change) for item in value)
    return change(value)


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def numbers(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.detach().tolist())


def to_torch(value: Any, half: str, wanted: str | None = None) -> Any:
    """An argument of PyTorch's call; `wanted`: with another dtype in the place of half precision."""
    if isinstance(value, Tensor):
        name = dtype_name(value)
        made = torch.tensor(value.detach().tolist(), dtype=getattr(torch, name)).reshape(value.shape)
        made = made.to(getattr(torch, wanted)) if wanted is not None and name == half else made
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, gradwright.dtype):
        name = str(value).rpartition(".")[2]
        return getattr(torch, wanted if wanted is not None and name == half else name)
    return value


class Call:
    """What came of a call: results and gradients by dtype and numbers, or the error."""

    def __init__(self, library: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Any) -> None:
        self.error: Exception | None = None
        self.results: list[Any] = []
        self.gradients: list[Any] = []
        inputs = [tensor for tensor in flat([*args, *kwargs.values()]) if tensor.requires_grad]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of NumPy, which speaks where numbers overflow
                self._run(library, function, args, kwargs, inputs)
        except Exception as error:
            self.error = error

    def _run(self, library: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Any, inputs: Any) -> None:
        self.results = list(flat([function(*args, **kwargs)]))
        known = [out for out in self.results if out.requires_grad]
        if inputs and known:
            cotangents = [library.ones_like(out) for out in known]
            self.gradients = list(library.autograd.grad(known, inputs, cotangents, allow_unused=True))


def torch_operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base, None), overload or "default", None)


def problems(info: OperatorInfo, half: str, scale: float = 1.0) -> Iterator[str]:
    """Everything in which the samples of an operator differ from PyTorch; `scale`: with larger numbers."""
    ours_function, theirs_function = getattr(operators, info.function), torch_operator(info.name)

    def scaled(value: Any) -> Any:
        if scale != 1 and isinstance(value, Tensor) and dtype_name(value) == half:
            return (value.detach() * scale).requires_grad_(value.requires_grad)
        return value

    for sample in sample_inputs(info, getattr(gradwright, half)):
        args = mapped(list(sample.args), scaled)
        kwargs = {name: mapped(value, scaled) for name, value in sample.kwargs.items()}

        def theirs(wanted: str | None, args: Any = args, kwargs: Any = kwargs) -> Call:
            given = {name: mapped(value, lambda v: to_torch(v, half, wanted)) for name, value in kwargs.items()}
            return Call(torch, theirs_function, mapped(args, lambda v: to_torch(v, half, wanted)), given)

        expected, exact, actual = theirs(None), theirs("float32"), Call(gradwright, ours_function, args, kwargs)
        where = f"{info.name}({sample.text})" + (f" * {scale}" if scale != 1 else "")
        if expected.error is not None and (actual.error is not None or exact.error is not None):
            continue
        if actual.error is not None:
            yield f"{where}: raises {type(actual.error).__name__}: {actual.error}"
            continue
        lacks = expected.error is not None  # the kernel; then its float32 tells the numbers
        for part, steps in (("results", 1), ("gradients", 3)):
            ours, others, exactly = (getattr(call, part) for call in (actual, exact if lacks else expected, exact))
            if len(ours) != len(others):
                yield f"{where}: {len(ours)} {part} and not {len(others)}"
                continue
            for one, other, precise in zip(ours, others, exactly, strict=True):
                problem = difference(half, one, other, precise, lacks, steps)
                if problem is not None:
                    yield f"{where}: {part}: {problem}"


def difference(half: str, one: Any, other: Any, precise: Any, lacks: bool, steps: float) -> str | None:
    """What is wrong with one result or gradient: `other` is PyTorch's, `precise` that in float32."""
    if one is None or other is None:
        known = other if one is None else one
        return None if known is None or np.all(numbers(known) == 0) else "missing"
    if dtype_name(one) != dtype_name(other) and not lacks:
        return f"{dtype_name(one)} and not {dtype_name(other)}"
    a, b, c = numbers(one), numbers(other), numbers(precise)
    if a.shape != c.shape:
        return f"shape {a.shape} and not {c.shape}"
    if dtype_name(one) not in HALVES:
        return None
    finite = np.isfinite(numbers(precise.detach().to(getattr(torch, half)))) & (lacks | np.isfinite(b))
    a, b, c = a[finite], b[finite], c[finite]
    if not np.isfinite(a).all():
        return f"not finite: {a[:3]} for {c[:3]}, PyTorch has {b[:3]}"
    smallest = 2.0**-14 if half == "float16" else 0.0
    room = 1.1 * EPS[half] * np.maximum(np.abs(c), smallest) * steps
    if not lacks and b.size:
        room = np.maximum(room, 2 * np.abs(b - c).max())
    bad = np.abs(a - c) > room
    return f"{a[bad][:3]} for {c[bad][:3]}, PyTorch has {b[bad][:3]}" if bad.any() else None


# Where results are not PyTorch's, and why.
DEVIATIONS = {
    "sgn": "PyTorch's gradient has no memory",
    "complex": "there is no complex number of two float16",
    "view_as_complex": "there is no complex number of two float16",
    "view.dtype": "the float32 has other bytes",
    "view_copy.dtype": "the float32 has other bytes",
    "view_as_complex_copy": "there is no complex number of two float16",
    "embedding_dense_backward": "PyTorch's derivative leaves out the scaling by frequency",
    "_embedding_bag": "PyTorch leaves out the bag of each index in sums",
    "embedding_bag": "PyTorch leaves out the bag of each index in sums",
    "native_layer_norm": "mean and deviation are differentiable here",
    "native_group_norm": "the same",
    "as_strided_scatter": "PyTorch keeps the gradient of what was overwritten",
    "_softmax_backward_data": "the samples ask for float64, which PyTorch does not look at",
    "_log_softmax_backward_data": "the samples ask for float64, which PyTorch does not look at",
}
CASES = [
    (info, half)
    for info in INFOS
    if torch_operator(info.name) is not None and info.name not in DEVIATIONS
    for half in HALVES
]


@properties.hold_for(CASES)
def samples_in_half_precision(info: OperatorInfo, half: str) -> None:
    assert list(problems(info, half)) == []


# Defined for probabilities.
IN_UNIT_INTERVAL = ("binary_cross_entropy_backward",)


@properties.hold_for(
    (info, half, scale)
    for info, half in CASES
    if half == "float16" and info.name not in IN_UNIT_INTERVAL
    for scale in (200.0, 10000.0)
)
def samples_with_large_numbers(info: OperatorInfo, half: str, scale: float) -> None:
    assert list(problems(info, half, scale)) == []


test_operator, test_properties_are_checked = properties.tests(least=4_500)
