"""Tensors from data."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.base import dtypes
from runtime.base.creation import (
    as_tensor,
    asarray,
    from_numpy,
    frombuffer,
    is_complex,
    is_floating_point,
    is_tensor,
    numel,
)
from runtime.base.creation import tensor as make


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, "int64", ()),
        (1.5, "float32", ()),
        (True, "bool", ()),
        (1j, "complex64", ()),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        ([True, 2], "int64", (2,)),
        ([1.0, True, 2], "float32", (3,)),
        ([[1, 2], [3, 4]], "int64", (2, 2)),
        (((1, 2j), (3, 4)), "complex64", (2, 2)),
        (range(3), "int64", (3,)),
        (np.float64(3), "float64", ()),
        ([np.float64(3), 2], "float64", (2,)),
        ([np.float16(3)], "float16", (1,)),
        ([np.int8(3)], "int8", (1,)),
        ([np.bool_(True)], "bool", (1,)),
        (np.arange(3, dtype=np.int16), "int16", (3,)),
        ([make(1), 2.5], "float32", (2,)),
        ([make([1]), make([[2]])], "int64", (2,)),
    ],
)
def test_dtype_and_shape_follow_from_the_data(data, dtype, shape):
    result = make(data)
    assert result.dtype is getattr(dtypes, dtype)
    assert result.shape == shape


def test_values():
    assert make([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert make([1.5, 2.5], dtype=dtypes.int32).tolist() == [1, 2]
    assert make([0, 2, -0.0], dtype=dtypes.bool).tolist() == [False, True, False]
    assert make([-1], dtype=dtypes.uint8).tolist() == [255]
    assert make([1e300], dtype=dtypes.float32).tolist() == [float("inf")]
    assert make([2**64 - 1], dtype=dtypes.uint64).tolist() == [2**64 - 1]
    assert make([1.5], dtype=dtypes.bfloat16).tolist() == [1.5]
    assert make([1, 2], dtype=float).dtype is dtypes.float64


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1, 2], [3]], ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)"),
        ([[1, 2], [3, 4, 5]], ValueError, r"expected sequence of length 2 at dim 1 \(got 3\)"),
        ([1, [2, 3]], TypeError, "expected a number, but got list"),
        ([[1, 2], 3], TypeError, "expected a sequence of length 2 at dim 1, but got int"),
        ("a", TypeError, "invalid data type 'str'"),
        (["a"], ValueError, "too many dimensions 'str'"),
        (None, RuntimeError, "Could not infer dtype of NoneType"),
        ([None], RuntimeError, "Could not infer dtype of NoneType"),
        ({1: 2}, RuntimeError, "Could not infer dtype of dict"),
        ([2**63], ValueError, "Overflow when unpacking long long"),
        ([make([1, 2])], ValueError, "only one element tensors"),
        (np.array(["a"]), TypeError, "only supported types"),
        (np.ones(3, dtype=np.dtype("f4").newbyteorder()), ValueError, "byte order"),
    ],
)
def test_data_that_makes_no_tensor(data, error, message):
    with pytest.raises(error, match=message):
        make(data)


@pytest.mark.parametrize(
    ("data", "dtype", "error"),
    [
        ([300], dtypes.uint8, RuntimeError),
        ([-129], dtypes.int8, RuntimeError),
        ([1j], dtypes.float32, TypeError),
        ([1j], dtypes.int64, TypeError),
        ([float("nan")], dtypes.int32, RuntimeError),
        ([1e30], dtypes.int64, RuntimeError),
        ([2**70], dtypes.int8, ValueError),
        ([-1], dtypes.uint64, OverflowError),
        ([1], "float32", TypeError),
    ],
)
def test_values_that_a_dtype_does_not_hold(data, dtype, error):
    with pytest.raises(error):
        make(data, dtype=dtype)


def test_imaginary_parts_do_not_go_unnoticed():
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert make(np.array([1 + 2j]), dtype=dtypes.float32).tolist() == [1]


def test_options():
    assert make([1.0], requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="floating point and complex dtype can require gradients"):
        make([1], requires_grad=True)
    assert make([1], device="cpu").device.type == "cpu"
    with pytest.raises(AssertionError, match="CUDA"):
        make([1], device="cuda")


def test_copying_a_tensor_warns():
    source = make([1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="copy construct"):
        result = make(source)
    assert not result.requires_grad
    assert result.data_ptr() != source.data_ptr()


def test_tensor_copies_and_from_numpy_shares():
    array = np.zeros(2)
    copied, shared, same = make(array), from_numpy(array), as_tensor(array)
    array[0] = 1
    assert copied.tolist() == [0, 0]
    assert shared.tolist() == same.tolist() == [1, 0]
    assert as_tensor(array, dtype=dtypes.float32).dtype is dtypes.float32


def test_reshaping_the_array_leaves_the_tensor_alone():
    array = np.zeros(4)
    shared = from_numpy(array)
    array.resize((2, 2), refcheck=False)
    assert shared.shape == (4,)


@pytest.mark.parametrize(
    ("array", "error"),
    [([1], TypeError), (np.array(["a"]), TypeError), (np.ones(3)[::-1], ValueError), (np.ones(3, ">f4"), ValueError)],
)
def test_arrays_that_can_not_be_shared(array, error):
    with pytest.raises(error):
        from_numpy(array)


def test_dtype_objects_are_the_ones_operators_compare_with():
    assert from_numpy(np.zeros(2, np.longlong))._array.dtype is np.dtype("int64")


def test_as_tensor_keeps_a_tensor():
    source = make([1.0], requires_grad=True)
    assert as_tensor(source) is source
    assert asarray(source) is source


def test_asarray():
    array = np.zeros(2)
    assert asarray(array).data_ptr() == array.ctypes.data
    assert asarray(array, copy=True).data_ptr() != array.ctypes.data
    assert asarray(array, copy=True, dtype=dtypes.float32).dtype is dtypes.float32
    assert asarray(b"1234", dtype=dtypes.uint8).tolist() == [49, 50, 51, 52]
    assert asarray([1.0], requires_grad=True).requires_grad
    source = make([1.0], requires_grad=True)
    assert not asarray(source, requires_grad=False).requires_grad
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        asarray([1], copy=False)
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Double' into dtype 'Float'"):
        asarray(array, copy=False, dtype=dtypes.float32)


def test_frombuffer():
    memory = bytearray(b"\x01\x00\x02\x00")
    result = frombuffer(memory, dtype=dtypes.int16)
    assert result.tolist() == [1, 2]
    memory[0] = 5
    assert result.tolist() == [5, 2]
    assert frombuffer(memory, dtype=dtypes.uint8, count=1, offset=2).tolist() == [2]


def test_questions():
    assert is_tensor(make(1))
    assert not is_tensor(1)
    assert is_floating_point(make(1.0))
    assert not is_floating_point(make(1))
    assert is_complex(make(1j))
    assert numel(make([[1, 2]])) == 2
