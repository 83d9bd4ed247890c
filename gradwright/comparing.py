"""What tests of programs use: `testing.assert_close` and `testing.make_tensor`, as PyTorch has them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import is_complex32, is_half
from runtime.base.creation import as_tensor
from runtime.base.tensor import Tensor

# How far apart numbers of these types may be: relatively and absolutely.
_TOLERANCES: dict[dtypes.dtype, tuple[float, float]] = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex32: (1e-3, 1e-5),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}

Message = str | Callable[[str], str] | None


@dataclass(frozen=True)
class _Options:
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    msg: Message

    def fail(self, text: str, path: tuple[Any, ...]) -> AssertionError:
        """The error of a difference, with the place in the containers where it is."""
        if path:
            text += f"\n\nThe failure occurred for item {''.join(f'[{item!r}]' for item in path)}"
        if self.msg is not None:
            text = self.msg(text) if callable(self.msg) else self.msg
        return AssertionError(text)

    def tolerances(self, *types: dtypes.dtype) -> tuple[float, float]:
        """The relative and the absolute one: the larger ones of these types, where none are given."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        if self.rtol is not self.atol:
            missing = "rtol" if self.rtol is None else "atol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        found = [_TOLERANCES.get(each, (0.0, 0.0)) for each in types]
        return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Fail where |actual - expected| > atol + rtol |expected| somewhere, or where something else differs.

    Args:
        actual: a Tensor, an array, a number, or sequences and mappings of them.
        expected: what it should be.
        allow_subclasses: whether objects of a subclass may be compared with ones of their base.
        rtol: how far apart numbers may be relatively; goes by the dtype if left out.
        atol: how far apart they may be absolutely; is given together with `rtol`.
        equal_nan: whether NaN are equal.
        check_device: whether devices have to be the same.
        check_dtype: whether dtypes have to be the same.
        check_layout: whether layouts have to be the same.
        check_stride: whether strides have to be the same.
        msg: what the error says in place of its own text, or a function of that.

    Raises:
        AssertionError: they are not close.
        TypeError: such objects can not be compared.
        ValueError: one tolerance is given without the other.
    """
    options = _Options(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride, msg
    )
    _compare(actual, expected, options, ())


def _compare(actual: Any, expected: Any, options: _Options, path: tuple[Any, ...]) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, more = set(expected) - set(actual), set(actual) - set(expected)
        if missing or more:
            parts = ["The keys of the mappings do not match:"]
            if missing:
                parts.append(f"Missing keys in the actual mapping: {sorted(missing, key=str)}")
            if more:
                parts.append(f"Additional keys in the actual mapping: {sorted(more, key=str)}")
            raise options.fail("\n".join(parts), path)
        for key in actual:
            _compare(actual[key], expected[key], options, (*path, key))
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise options.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for place, (mine, other) in enumerate(zip(actual, expected, strict=True)):
            _compare(mine, other, options, (*path, place))
    elif actual is None or expected is None:
        if actual is not expected:
            raise options.fail(f"None mismatch: {actual} is not {expected}", path)
    elif _is_bool(actual) and _is_bool(expected):
        if bool(actual) is not bool(expected):
            raise options.fail(f"Booleans mismatch: {actual} is not {expected}", path)
    elif _is_number(actual) and _is_number(expected):
        _compare_numbers(actual, expected, options, path)
    else:
        _check_related(actual, expected, options)
        _compare_tensors(_tensor(actual, expected), _tensor(expected, actual), options, path)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


def _check_related(actual: Any, expected: Any, options: _Options) -> None:
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not (related if options.allow_subclasses else type(actual) is type(expected)):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _tensor(value: Any, other: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach()
    try:
        return as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(value)} and {type(other)}."
        ) from None


def _compare_numbers(actual: Any, expected: Any, options: _Options, path: tuple[Any, ...]) -> None:
    rtol, atol = options.tolerances(_kind(actual), _kind(expected))
    if options.check_dtype and type(actual) is not type(expected):
        raise options.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    with np.errstate(all="ignore"):
        difference = abs(actual - expected)
        allowed = atol + rtol * abs(expected)
    both_nan = options.equal_nan and actual != actual and expected != expected
    if actual == expected or both_nan or (math.isfinite(difference) and difference <= allowed):
        return
    raise options.fail(_difference(actual, expected, rtol, atol), path)


def _kind(value: Any) -> dtypes.dtype:
    if isinstance(value, (complex, np.complexfloating)):
        return dtypes.complex128
    return dtypes.float64 if isinstance(value, (float, np.floating)) else dtypes.int64


def _compare_parts(actual: Any, expected: Any, options: _Options, path: tuple[Any, ...]) -> None:
    """Sparse Tensors, by their parts as they are, which need not be in order."""
    if actual._nnz() != expected._nnz():
        raise options.fail(
            "The number of specified values in sparse COO tensors does not match: "
            f"{actual._nnz()} != {expected._nnz()}",
            path,
        )
    if not np.array_equal(actual._indices()._array, expected._indices()._array):
        raise options.fail("Sparse COO indices are not equal!", path)
    _compare_tensors(actual._values(), expected._values(), options, path)


def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options, path: tuple[Any, ...]) -> None:
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    checks = [
        (True, "shape", actual.shape, expected.shape),
        (options.check_layout, "layout", actual.layout, expected.layout),
        (options.check_device, "device", actual.device, expected.device),
        (options.check_dtype, "dtype", actual.dtype, expected.dtype),
        (options.check_stride, "stride()", actual.stride(), expected.stride()),
    ]
    for wanted, name, mine, other in checks:
        if wanted and mine != other:
            raise options.fail(f"The values for attribute '{name}' do not match: {mine} != {other}.", path)
    if actual.is_sparse and expected.is_sparse:
        _compare_parts(actual, expected, options, path)
        return
    a, b = (_widest(each.to_dense() if each.is_sparse else each) for each in (actual, expected))
    with np.errstate(all="ignore"):
        close = a == b
        if rtol or atol or a.dtype.kind in "fc":
            close |= np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b))
        if options.equal_nan:
            close |= np.isnan(a) & np.isnan(b)
    if not close.all():
        raise options.fail(_differences(a, b, close, rtol, atol), path)


def _widest(tensor: Tensor) -> np.ndarray:
    """The numbers in a type that NumPy computes in; half precision in float32, complex numbers of it in complex64."""
    if is_half(tensor._array.dtype):
        return tensor.cpu().float().numpy()
    if is_complex32(tensor._array.dtype):
        return tensor.cpu().cfloat().numpy()
    array = tensor.cpu().numpy()
    return array.astype(np.int64) if array.dtype.kind in "bi" else array


def _differences(a: np.ndarray, b: np.ndarray, close: np.ndarray, rtol: float, atol: float) -> str:
    if not close.ndim:
        return _difference(a[()], b[()], rtol, atol)
    count, size = int((~close).sum()), close.size
    with np.errstate(all="ignore"):
        absolute = np.where(close, 0, np.abs(a - b)).astype(np.abs(a - b).dtype)
        relative = np.where(close, 0, absolute / np.abs(b)).astype((absolute / np.abs(b)).dtype)

    def line(what: str, differences: np.ndarray, allowed: float) -> str:
        place = np.unravel_index(int(np.argmax(differences)), differences.shape)
        at = f" at index {tuple(int(each) for each in place)}"
        return f"Greatest {what} difference: {differences[place].item()}{at}{_limit(allowed, rtol, atol)}"

    return "\n".join(
        [
            f"Tensor-likes are not {_word(rtol, atol)}!",
            "",
            f"Mismatched elements: {count} / {size} ({count / size:.1%})",
            line("absolute", absolute, atol),
            line("relative", relative, rtol),
        ]
    )


def _difference(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    actual, expected = (value.item() if isinstance(value, np.generic) else value for value in (actual, expected))
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else math.inf
    return "\n".join(
        [
            f"Scalars are not {_word(rtol, atol)}!",
            "",
            f"Expected {expected} but got {actual}.",
            f"Absolute difference: {difference}{_limit(atol, rtol, atol)}",
            f"Relative difference: {relative}{_limit(rtol, rtol, atol)}",
        ]
    )


def _word(rtol: float, atol: float) -> str:
    return "equal" if rtol == atol == 0 else "close"


def _limit(allowed: float, rtol: float, atol: float) -> str:
    return "" if rtol == atol == 0 else f" (up to {allowed} allowed)"


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of `assert_close`: NaN are equal, and dtypes may differ."""
    warnings.warn(
        "`gradwright.testing.assert_allclose()` is deprecated. Please use `gradwright.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        actual = as_tensor(actual)
    if not isinstance(expected, Tensor):
        expected = as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        found = [_TOLERANCES.get(each.dtype, (0.0, 0.0)) for each in (actual, expected)]
        rtol, atol = (max(each[place] for each in found) for place in (0, 1))
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
        check_stride=False, msg=msg or None,
    )  # fmt: skip


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A Tensor of random numbers in [low, high): by default -9 to 9, of uint8 0 to 9, of bool 0 and 1.

    Args:
        shape: the sizes.
        dtype: of any kind.
        device: where it lies.
        low: the least number.
        high: the end of the range; of integers not among them.
        requires_grad: whether it does.
        noncontiguous: whether there are gaps between its elements.
        exclude_zero: no element is zero: the smallest normal number or 1 stands for it.
        memory_format: how it lies in memory.

    Raises:
        ValueError: the options contradict each other, or the range is empty.
    """
    sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else list(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(f"The parameters `noncontiguous` and `memory_format` are mutually exclusive: {memory_format}")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype}")
    doubled = noncontiguous and bool(sizes) and math.prod(sizes) > 1
    if doubled:
        sizes[-1] *= 2
    made = _random(sizes, dtype, low, high)
    if doubled:
        made = made[..., ::2]
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = dtypes.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        made[made == 0] = smallest
    return made.to(device).requires_grad_(requires_grad)


def _random(sizes: list[int], dtype: dtypes.dtype, low: float | None, high: float | None) -> Tensor:
    if dtype == dtypes.bool:
        least, end = 0.0, 2.0
    elif dtype == dtypes.uint8:
        least, end = 0.0, 10.0
    else:
        least, end = -9.0, 9.0 if dtype.is_floating_point or dtype.is_complex else 10.0
    least, end = least if low is None else low, end if high is None else high
    if not least <= end or any(map(math.isnan, (least, end))):
        raise ValueError(f"make_tensor: low must be less than high, but got {least} and {end}")
    if dtype.is_complex:
        parts = ops.empty([*sizes, 2], dtype=dtype.to_real()).uniform_(least, end)
        return ops.view_as_complex(parts)
    if dtype.is_floating_point:
        return ops.empty(sizes, dtype=dtype).uniform_(least, end)
    return ops.randint(math.floor(least), math.ceil(end), sizes, dtype=dtype)
