"""Inputs and checks for operators, made from the samples of their YAML entries; and PyTorch's `testing`."""

from __future__ import annotations

import ast
import importlib
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from gradwright.autograd import gradcheck, gradgradcheck, is_grad_enabled
from gradwright.comparing import assert_allclose as assert_allclose
from gradwright.comparing import assert_close as assert_close
from gradwright.comparing import make_tensor as make_tensor
from runtime.base import dtypes
from runtime.base.errors import MissingDerivativeError
from runtime.base.tensor import Tensor, wrap
from runtime.call.dispatch import Operator
from runtime.load.operator_info import OperatorInfo


@dataclass(frozen=True, slots=True)
class Sample:
    """One call of an operator.  `text` is where it comes from.

    Operators on Hermitian matrices may read one triangle: with respect to those in `hermitian`, derivatives are of
    the operator on (A + A^H) / 2.
    """

    text: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    hermitian: tuple[Tensor, ...] = ()

    def tensors(self) -> list[Tensor]:
        """The Tensors among the arguments that require grad."""
        return [t for t in _flat((*self.args, *self.kwargs.values())) if isinstance(t, Tensor) and t.requires_grad]


@dataclass(slots=True)
class CheckResult:
    """What `gradcheck_operator` ran, and what failed."""

    name: str
    first: int = 0
    second: int = 0
    forward: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.failures and self.first > 0


_OF_DTYPE = re.compile(r"\b[TDP]\(|\bdtype\(\)")  # what in a sample is of the dtype that is asked for


_SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 2.0, 0.5, -2.5)


class _Maker:
    """Makes the values that a sample names; the same text gives the same values each time."""

    def __init__(self, text: str, dtype: dtypes.dtype, requires_grad: bool, values: str = "usual") -> None:
        self.random = np.random.default_rng(zlib.crc32(text.encode()))
        # Apart from the others, so that the same places are chosen in every dtype.
        self.places = self.random if values == "usual" else np.random.default_rng(zlib.crc32(text.encode()))
        self.values = values
        self.dtype = dtype
        self.requires_grad = requires_grad
        self.hermitian: list[Tensor] = []

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            keywords = {keyword.arg: self.value(keyword.value) for keyword in node.keywords if keyword.arg}
            args = [self.value(arg) for arg in node.args]
            return getattr(self, f"make_{node.func.id}")(*args, **keywords)
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.Name):
            return {"inf": float("inf"), "nan": float("nan")}[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Name):
            return -self.value(node.operand)
        return ast.literal_eval(node)

    def make_T(self, *shape: int, **options: Any) -> Tensor:
        tensor = self.make_D(*shape, **options)
        if self.requires_grad and tensor.dtype.is_floating_point | tensor.dtype.is_complex:
            tensor.requires_grad_()
        return tensor

    def make_D(
        self,
        *shape: int,
        low: float = -2.0,
        high: float = 2.0,
        complex: bool = True,
        half: bool = True,
        dtype: str | None = None,
        rank: int | list[int] | None = None,
        zeros: int = 0,
    ) -> Tensor:
        """Random values without ties: evenly spread over the range, jittered and shuffled; or special ones.

        `rank` makes matrices of them that have this rank, or one each of a list, and `zeros` so many of them zero.
        """
        wanted = self.dtype if dtype is None else getattr(dtypes, dtype)
        shape = self._shape(shape)
        made = np.empty(shape, np.complex128 if wanted.is_complex else np.float64)
        made.real = self._numbers(shape, low, high)
        if wanted.is_complex:
            made.imag = self._numbers(shape, low, high)
        if self.values == "usual":
            if rank is not None:
                made = _of_rank(made, rank)
            if zeros:
                made.flat[self.random.permutation(made.size)[:zeros]] = 0
        with np.errstate(all="ignore"):  # integers hold no special values
            return wrap(made.astype(wanted.numpy))

    def make_P(self, *shape: int, **options: Any) -> Tensor:
        """A Hermitian positive-definite matrix, or several; special values do not make one."""
        tensor = self.make_T(*shape, **options)
        if self.values != "usual":
            return tensor
        detached = tensor.detach()
        free = (detached.float() if detached.dtype is dtypes.bfloat16 else detached).numpy()
        made = free @ free.conj().swapaxes(-1, -2) / shape[-1] + np.eye(shape[-1], dtype=free.dtype)
        matrix = wrap(np.asarray(made, detached.dtype.numpy)).requires_grad_(tensor.requires_grad)
        self.hermitian.append(matrix)
        return matrix

    def make_V(self, *shape: int) -> Tensor:
        """Exchanges of rows, as LU factors have them: each row with one that is not above it, counted from 1."""
        shape = self._shape(shape)
        size = shape[-1] if shape else 0
        lowest = np.arange(1, size + 1)
        return wrap(np.asarray(self.places.integers(lowest, size + 1, shape), np.int32))

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return {"empty": (0, *shape[1:]), "0-dim": ()}.get(self.values, shape) if shape else shape

    def _numbers(self, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
        return self.random.choice(_SPECIAL, shape) if self.values == "special" else self._spread(shape, low, high)

    def _spread(self, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
        count = int(np.prod(shape))
        places = (np.arange(count) + 0.1 + 0.8 * self.random.random(count)) / max(count, 1)
        return self.random.permutation(low + (high - low) * places).reshape(shape)

    def make_I(self, *shape: int, high: int = 3, low: int = 0) -> Tensor:
        return wrap(np.asarray(self.places.integers(low, high, self._shape(shape))))

    def make_B(self, *shape: int) -> Tensor:
        return wrap(np.asarray(self.places.random(self._shape(shape)) < 0.5))

    def make_C(self, elements: Any, dtype: str | None = None) -> Tensor:
        """The very elements that are given, of the dtype that they have by themselves unless one is named."""
        return wrap(np.asarray(elements, None if dtype is None else getattr(dtypes, dtype).numpy))

    def make_float(self, text: str) -> float:
        return float(text)

    def make_dtype(self, name: str | None = None) -> Any:
        """A dtype by name; without one, that of the sample."""
        return self.dtype if name is None else getattr(dtypes, name)


def _of_rank(matrices: np.ndarray, rank: int | list[int]) -> np.ndarray:
    """Matrices with all but some of their singular values 0."""
    left, values, right = np.linalg.svd(matrices, full_matrices=False)
    ranks = np.resize(rank, values.shape[:-1])[..., None]
    return np.asarray((left * np.where(np.arange(values.shape[-1]) < ranks, values, 0)[..., None, :]) @ right)


def sample_inputs(
    info: OperatorInfo, dtype: Any = "float64", requires_grad: bool = True, values: str = "usual"
) -> list[Sample]:
    """The samples of an operator in one dtype; none of that dtype where the operator does not take it.

    `values` are "usual" ones, "special" ones such as NaN, infinities and zeros of both signs, or the same calls with
    Tensors that are "empty" or "0-dim".
    """
    samples = []
    wanted = dtype if isinstance(dtype, dtypes.dtype) else getattr(dtypes, dtype)
    for text in info.samples:
        if _OF_DTYPE.search(text) and wanted.kind_name not in info.dtypes:
            continue
        if any(f"{kind}=False" in text for kind in ("complex", "half") if wanted.kind_name == kind):
            continue
        samples.append(make_sample(info, text, wanted, requires_grad, values))
    return samples


def make_sample(
    info: OperatorInfo, text: str, dtype: dtypes.dtype, requires_grad: bool = True, values: str = "usual"
) -> Sample:
    """The call that `text` is, in one dtype, whether or not the operator takes it."""
    maker = _Maker(f"{info.name}({text})", dtype, requires_grad, values)
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    args = tuple(maker.value(arg) for arg in call.args)
    kwargs = {keyword.arg: maker.value(keyword.value) for keyword in call.keywords if keyword.arg}
    if requires_grad and writes_others(info):
        _want_no_gradient(info, args, kwargs)
    return Sample(text, args, kwargs, tuple(maker.hermitian))


def _want_no_gradient(info: OperatorInfo, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Arguments that a kernel writes and does not give back can not require grad: see to it that none does."""
    operator = operator_of(info)
    given = {**dict(zip(operator.names, args, strict=False)), **kwargs}
    for place in operator.targets:
        if place != operator.given_back:
            for tensor in _flat((given.get(operator.names[place]),)):
                if isinstance(tensor, Tensor):
                    tensor.requires_grad_(False)


def operator_of(info: OperatorInfo) -> Operator:
    """The Operator of an overload, which is its general path."""
    found = getattr(importlib.import_module(f"{info.package}.operators"), f"{info.function}_op")
    assert isinstance(found, Operator)
    return found


def writes_others(info: OperatorInfo) -> bool:
    """Whether an operator has a kernel that writes to arguments which are no result."""
    if "!)" not in info.schema or info.composite:
        return False
    operator = operator_of(info)
    return operator.is_writing and operator.targets not in ([], [operator.given_back])


def operator_function(info: OperatorInfo) -> Any:
    """The callable of an overload."""
    return getattr(importlib.import_module(f"{info.package}.operators"), info.function)


def on_copies(info: OperatorInfo, function: Any = None) -> Any:
    """The callable of an overload, which writes to copies of what it is given where it writes at all.

    One that gives nothing gives these copies. In the place of the callable may stand another function.
    """
    function = operator_function(info) if function is None else function
    if "!)" not in info.schema:
        return function
    operator = operator_of(info)
    written = {operator.names[place] for place in operator.targets}

    def on_copies(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(operator.names, args, strict=False)), **kwargs}
        given |= {name: _copied(given[name]) for name in written & given.keys()}
        out = function(*list(given.values())[: len(args)], **{name: given[name] for name in kwargs})
        return [*_flat(given[name] for name in operator.names if name in written)] if out is None else out

    return on_copies


def _copied(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_copied(item) for item in value]
    return value.clone() if isinstance(value, Tensor) else value


def determined(info: OperatorInfo, out: Any) -> Any:
    """What of the results the arguments determine; of Tensors of PyTorch, too."""
    if info.determined is None:
        return out
    names, expressions = info.determined
    values = dict(zip(names, out, strict=True))
    return eval(_compiled(f"({expressions},)"), {}, values)


@cache
def _compiled(expression: str) -> CodeType:
    return compile(expression, "<determined>", "eval")


def differentiable_outputs(out: Any) -> tuple[Tensor, ...]:
    """The results of a call that a gradient can come back from."""
    return tuple(t for t in _flat((out,)) if isinstance(t, Tensor) and t.requires_grad)


def as_function(info: OperatorInfo, sample: Sample) -> tuple[Any, tuple[Tensor, ...]]:
    """A sample as a function of its differentiable Tensors only, and these: what gradcheck takes.

    Of results that are only known up to a phase, or as any basis of a space, it is what is determined of them.
    """
    function = on_copies(info)
    inputs = tuple(sample.tensors())
    hermitian = {id(tensor) for tensor in sample.hermitian}

    def call(*tensors: Tensor) -> tuple[Tensor, ...]:
        replacement = {
            id(old): (new + new.mH) / 2 if id(old) in hermitian else new
            for old, new in zip(inputs, tensors, strict=True)
        }
        args = [_replaced(arg, replacement) for arg in sample.args]
        kwargs = {name: _replaced(value, replacement) for name, value in sample.kwargs.items()}
        out = determined(info, function(*args, **kwargs))
        results = [t for t in _flat((out,)) if isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())]
        return tuple(t for t in results if t.requires_grad) if is_grad_enabled() else tuple(results)

    return call, inputs


def gradcheck_operator(info: OperatorInfo | str, dtypes: tuple[str, ...] = ("float64", "complex128")) -> CheckResult:
    """First and second derivatives of an operator against finite differences, on all of its samples.

    Second ones that a formula declares as not implemented are not counted.
    """
    if isinstance(info, str):
        from generated.registry import OPERATORS

        info = OPERATORS[info]
    result = CheckResult(info.name)
    for dtype in dtypes:
        for sample in sample_inputs(info, dtype):
            function, inputs = as_function(info, sample)
            if not inputs:
                continue
            try:
                if not function(*inputs):
                    continue
                gradcheck(function, inputs)
                result.first += 1
                with suppress(MissingDerivativeError):  # that there is none is declared
                    gradgradcheck(function, inputs)
                    result.second += 1
            except Exception as error:
                result.failures.append(f"{info.name}({sample.text}) in {dtype}: {type(error).__name__}: {error}")
    return result


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _replaced(value: Any, replacement: Mapping[int, Tensor]) -> Any:
    if isinstance(value, list):
        return [_replaced(item, replacement) for item in value]
    return replacement.get(id(value), value)
