"""Arguments of kernels on arrays: dtypes that are refused, brought together or asked for, half precision, numbers."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base.arrays import COMPLEX32, converted, element, is_complex32, is_half, is_narrow
from runtime.base.dtypes import as_dtype, can_cast, complex32, from_numpy, get_default_dtype, promoted_dtype
from runtime.base.half import COMPLEX64, COMPLEX128, asks_dtype, computable, computed_in, rounded, shared_half
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import DType
from runtime.call.facts import COMPUTED_KINDS, tensors_at
from runtime.call.failures import explained
from runtime.call.returned import check_arrays

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def run_kernel(operator: Operator, kernel: Callable[..., Any], values: list[Any]) -> Any:
    """Unwrap, promote, run a kernel on arrays.  Gives what the kernel gives."""
    values = with_dtype(operator, values)
    wanted = wanted_dtype(operator, values)
    half = half_of_results(operator, values, wanted) if operator.in_float32 else _complex32(operator, values, wanted)
    if half is not None:
        rounds = not asks_dtype(values) or any(value is complex32 for value in values)
        # Where a kernel compares dtypes, these stay different ones.
        apart = wanted is None and is_complex32(half) and _has_complex64(operator, values)
        wide = COMPLEX128 if apart else COMPLEX64
        values = [computable(value, wide) for value in values]
        wanted = computed_in(half) if wanted is not None else None
    with np.errstate(all="ignore"):
        if wanted is not None:
            values = _promoted(operator, values, wanted)
        arrays = [to_array(values[i]) for i in operator.kernel_positions]
        try:
            result = kernel(*arrays)
        except Exception as error:
            raise explained(operator, error, values) from None
        check_arrays(operator, result)
        return rounded(result, half) if half is not None and rounds else result


def check_dtypes(operator: Operator, values: Sequence[Any]) -> None:
    """Refuse Tensors of element types that the operator does not take.

    Raises:
        NotImplementedError: there is one; or what the operator names instead.
    """
    at = operator.dtype_position
    if at is not None and values[at] is not None:
        try:
            asked_for = as_dtype(values[at])
        except TypeError as error:  # of a traced operator, whose arguments nothing has bound
            raise operator.explained(error, values) from None
        _check_dtype(operator, asked_for)
        return
    for tensor in tensors_at(values, operator.limited_positions):
        try:
            dtype = from_numpy(tensor._array.dtype)
        except TypeError:  # an array of NumPy's that no dtype stands for: the kernel knows whether it takes it
            continue
        _check_dtype(operator, dtype)


def _check_dtype(operator: Operator, dtype: DType) -> None:
    assert operator.dtypes is not None
    kinds, _, error = operator.dtypes
    if dtype.kind_name not in kinds:
        usual = "complex" if dtype.is_complex else "float"
        if dtype.kind_name not in COMPUTED_KINDS and usual in kinds:
            error = "NotImplementedError"
        raise getattr(builtins, error)(
            f"\"{operator.name}\" not implemented for '{dtype.scalar_name}'\n  schema: {operator.schema}"
        )


def check_castable(operator: Operator, result: DType, target: Tensor) -> None:
    """Refuse to write a result of a dtype that cannot be cast to that of the Tensor."""
    wanted = target.dtype
    if result is not wanted and not can_cast(result, wanted):
        raise RuntimeError(
            f"result type {result.scalar_name} can't be cast to the desired output type {wanted.scalar_name}"
            f"\n  schema: {operator.schema}"
        )


def wanted_dtype(operator: Operator, values: Sequence[Any]) -> np.dtype[Any] | None:
    """The dtype that the arguments are brought to, if the operator takes it; None where they stay as they are."""
    if operator.promotion is None or operator.factory_positions != (None, None):
        if operator.dtypes is not None:
            check_dtypes(operator, values)
        return None
    promoted = promoted_dtype_of(operator, values)
    if operator.dtypes is not None:
        at = operator.dtype_position
        _check_dtype(operator, promoted if at is None or values[at] is None else values[at])
    return promoted.numpy


def promoted_dtype_of(operator: Operator, values: Sequence[Any]) -> DType:
    """The dtype that the arguments are brought to."""
    assert operator.promotion is not None
    operands = [each for i in operator.promoted_positions for each in _elements(values[i]) if each is not None]
    return promoted_dtype(operator.promotion[0], operands)


def _elements(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def half_of_results(operator: Operator, values: Sequence[Any], wanted: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """The half precision that results are rounded to after they were computed in float32."""
    if wanted is None:
        arrays = [tensor._array for tensor in tensors_at(values, operator.tensor_positions)]
        shared = shared_half(arrays)
        return _of_first(operator, values) if shared is None else shared
    return wanted if is_narrow(wanted) else None


def _complex32(operator: Operator, values: Sequence[Any], wanted: np.dtype[Any] | None) -> np.dtype[Any] | None:
    """The type of complex numbers of two float16, where a kernel that gets half precision as it is gets them wider."""
    if wanted is not None:
        return wanted if is_complex32(wanted) else None
    if not operator.widens:
        return None
    tensors = tensors_at(values, operator.tensor_positions)
    if not any(tensor._array.dtype.names for tensor in tensors):
        return None
    shared = shared_half([tensor._array for tensor in tensors])
    return _of_first(operator, values) if shared is None else shared


def _of_first(operator: Operator, values: Sequence[Any]) -> np.dtype[Any] | None:
    """The type of complex numbers of two float16, where the first Tensor is of it and others are not."""
    first = values[operator.tensor_positions[0]] if operator.tensor_positions else None
    return COMPLEX32 if isinstance(first, Tensor) and is_complex32(first._array.dtype) else None


def _has_complex64(operator: Operator, values: Sequence[Any]) -> bool:
    return any(tensor._array.dtype == COMPLEX64 for tensor in tensors_at(values, operator.tensor_positions))


def with_dtype(operator: Operator, values: list[Any]) -> list[Any]:
    """The values, with the dtype that a factory takes where none is asked for."""
    dtype_at, like_at = operator.factory_positions
    if dtype_at is None or values[dtype_at] is not None:
        return values
    values = list(values)
    if like_at is not None:
        values[dtype_at] = from_numpy(values[like_at]._array.dtype)
    elif operator.promotion is not None:
        values[dtype_at] = promoted_dtype(operator.promotion[0], [values[i] for i in operator.promoted_positions])
    else:
        values[dtype_at] = operator.signature.parameters[dtype_at].default or get_default_dtype()
    return values


def _promoted(operator: Operator, values: list[Any], wanted: np.dtype[Any]) -> list[Any]:
    numbers = converted_numbers(operator, values, wanted)
    for i in operator.promoted_positions:
        value = values[i]
        if isinstance(value, list | tuple):
            numbers[i] = type(value)([_in_dtype(each, wanted) for each in value])
        else:
            numbers[i] = _in_dtype(value, wanted) if isinstance(value, Tensor) else numbers[i]
    return numbers


def _in_dtype(value: Any, wanted: np.dtype[Any]) -> Any:
    if isinstance(value, Tensor) and value._array.dtype is not wanted:
        return wrap(converted(value._array, wanted))
    return value


def converted_numbers(operator: Operator, values: list[Any], wanted: np.dtype[Any]) -> list[Any]:
    """The values, with Python numbers as elements of the dtype that the arguments are brought to."""
    numbers = list(values)
    for i in operator.promoted_positions:
        value = values[i]
        if not isinstance(value, Tensor | list | tuple) and value is not None and is_half(wanted):
            numbers[i] = element(value, wanted, wraps=True)
    for i, kind in operator.number_positions:
        cut = kind == "cut" and (wanted.kind in "iu" or (type(values[i]) is complex and wanted.kind != "c"))
        if cut or (wanted.kind in "iu" and type(values[i]) is int):
            numbers[i] = element(values[i], wanted, kind == "wrap")
    return numbers


def to_array(value: Any) -> Any:
    """An argument as kernels on arrays take it."""
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, list):
        return [to_array(item) for item in value]
    return getattr(value, "numpy", value)  # dtypes and generators carry what NumPy takes
