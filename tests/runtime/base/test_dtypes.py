"""Element types: objects, promotion, limits, the default dtype."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

from runtime.base import dtypes, modes
from runtime.base.creation import tensor
from runtime.base.dtypes import ALL_DTYPES, can_cast, common_dtype, finfo, iinfo, promote_types, result_type
from runtime.base.types import Size, device, named_result, strided


@pytest.fixture
def default_float64():
    dtypes.set_default_dtype(dtypes.float64)
    yield
    dtypes.set_default_dtype(dtypes.float32)


def test_a_dtype_knows_its_kind():
    assert dtypes.float32.is_floating_point
    assert not dtypes.float32.is_complex
    assert dtypes.complex64.is_complex
    assert not dtypes.uint8.is_signed
    assert dtypes.float64.itemsize == 8
    assert repr(dtypes.int64) == "gradwright.int64"
    assert dtypes.half is dtypes.float16
    assert dtypes.float is dtypes.float32
    assert dtypes.int is dtypes.int32


@pytest.mark.parametrize("d", ALL_DTYPES, ids=str)
def test_a_dtype_is_one_object(d):
    assert dtypes.from_numpy(d.numpy) is d
    assert pickle.loads(pickle.dumps(d)) is d
    assert copy.deepcopy(d) is d
    assert copy.copy(d) is d


def test_a_numpy_dtype_without_counterpart_is_refused():
    with pytest.raises(TypeError, match="only supported types"):
        dtypes.from_numpy(np.dtype("datetime64[s]"))


def test_real_and_complex_counterparts():
    assert dtypes.complex128.to_real() is dtypes.float64
    assert dtypes.float32.to_real() is dtypes.float32
    assert dtypes.float64.to_complex() is dtypes.complex128
    assert dtypes.bfloat16.to_complex() is dtypes.complex64
    assert dtypes.float16.to_complex() is dtypes.complex32
    assert dtypes.complex32.to_real() is dtypes.float16
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Long"):
        dtypes.int64.to_complex()


def test_python_types_name_dtypes():
    assert dtypes.as_dtype(float) is dtypes.float64
    assert dtypes.as_dtype(bool) is dtypes.bool
    with pytest.raises(TypeError, match=r"f\(\): argument 'dtype' must be gradwright.dtype, not str"):
        dtypes.as_dtype("float32", "f(): argument 'dtype'")


@pytest.mark.parametrize("pair", list(itertools.product(ALL_DTYPES, repeat=2)), ids=str)
def test_promotion_is_symmetric(pair):
    a, b = pair
    try:
        expected = promote_types(a, b)
    except RuntimeError:
        with pytest.raises(RuntimeError, match="uint16, uint32, uint64"):
            promote_types(b, a)
    else:
        assert promote_types(b, a) is expected
        assert can_cast(a, expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("uint8", "int8", "int16"),
        ("bool", "uint8", "uint8"),
        ("int64", "float16", "float16"),
        ("float16", "bfloat16", "float32"),
        ("float64", "complex64", "complex128"),
        ("uint16", "float32", "float32"),
    ],
)
def test_promotion(a, b, expected):
    assert promote_types(getattr(dtypes, a), getattr(dtypes, b)) is getattr(dtypes, expected)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (tensor([1]), 2.5, "float32"),
        (tensor([1.0], dtype=dtypes.float16), 2.5, "float16"),
        (tensor([1.0], dtype=dtypes.float32), tensor(1.0, dtype=dtypes.float64), "float32"),
        (tensor([1], dtype=dtypes.int8), tensor(1, dtype=dtypes.int64), "int8"),
        (tensor([1], dtype=dtypes.int8), tensor(1.0, dtype=dtypes.float64), "float64"),
        (tensor([True]), 3, "int64"),
        (tensor([1.0], dtype=dtypes.float64), 1j, "complex128"),
        (tensor([1], dtype=dtypes.uint16), 7, "uint16"),
        (1, 2.0, "float32"),
        (True, False, "bool"),
    ],
)
def test_weak_operands(a, b, expected):
    assert result_type(a, b) is getattr(dtypes, expected)
    assert common_dtype([b, a]) == getattr(dtypes, expected).numpy


def test_result_type_refuses_other_things():
    with pytest.raises(TypeError, match="expected a number or a tensor, but got str"):
        result_type(tensor([1.0]), "1")


def test_casting_never_goes_to_a_smaller_kind():
    assert can_cast(dtypes.float64, dtypes.float16)
    assert can_cast(dtypes.int64, dtypes.uint8)
    assert not can_cast(dtypes.float32, dtypes.int64)
    assert not can_cast(dtypes.complex64, dtypes.float64)
    assert not can_cast(dtypes.uint8, dtypes.bool)


def test_the_default_dtype(default_float64):
    assert tensor(1.5).dtype is dtypes.float64
    assert tensor(1j).dtype is dtypes.complex128
    assert result_type(tensor([1]), 2.5) is dtypes.float64


@pytest.mark.parametrize("wrong", [dtypes.int64, "float32", dtypes.complex64])
def test_the_default_dtype_is_floating(wrong):
    with pytest.raises(TypeError, match="only floating-point types"):
        dtypes.set_default_dtype(wrong)


def test_finfo():
    info = finfo(dtypes.float32)
    assert info.eps == np.finfo(np.float32).eps
    assert info.bits == 32
    assert info.tiny == info.smallest_normal
    assert finfo() == finfo(dtypes.complex64)
    assert finfo(dtypes.bfloat16).eps == 0.0078125
    assert repr(finfo(dtypes.bfloat16)).startswith("finfo(resolution=0.01, min=-3.38953e+38,")
    with pytest.raises(TypeError, match="finfo"):
        finfo(dtypes.int32)


def test_iinfo():
    info = iinfo(dtypes.int8)
    assert (info.min, info.max, info.bits, info.dtype) == (-128, 127, 8, "int8")
    assert repr(iinfo(dtypes.int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    with pytest.raises(TypeError, match="iinfo"):
        iinfo(dtypes.float32)
    with pytest.raises(TypeError, match="not supported"):
        iinfo(dtypes.bool)


def test_ml_dtypes_is_imported_on_first_use_only():
    code = (
        "import sys, gradwright as g; assert 'ml_dtypes' not in sys.modules; g.bfloat16.numpy; sys.modules['ml_dtypes']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class TestSize:
    def test_is_a_tuple_of_ints(self):
        size = Size([2, np.int64(3)])
        assert size == (2, 3)
        assert repr(size) == "gradwright.Size([2, 3])"
        assert size.numel() == 6
        assert Size().numel() == 1
        with pytest.raises(TypeError, match="item 1 is 'float'"):
            Size([2, 3.0])

    def test_stays_a_size(self):
        size = Size([2, 3])
        for result in (size + (1,), (1,) + size, size * 2, size[:1]):  # noqa: RUF005
            assert type(result) is Size
        assert size[1] == 3
        assert type(pickle.loads(pickle.dumps(size))) is Size


class TestDevice:
    def test_names(self):
        assert repr(device("cpu")) == "device(type='cpu')"
        assert str(device("cpu:0")) == "cpu:0"
        assert device("cpu", 0) == device("cpu:0")
        assert device("cpu") != device("cpu:0")
        assert device(device("meta")).type == "meta"
        assert hash(device("cpu")) == hash(device("cpu"))
        assert pickle.loads(pickle.dumps(device("cpu:1"))) == device("cpu:1")

    @pytest.mark.parametrize("wrong", ["gpu", "cpu:", "cpu:x", "cpu:01"])
    def test_unknown_names(self, wrong):
        with pytest.raises(RuntimeError):
            device(wrong)

    def test_wrong_types(self):
        with pytest.raises(TypeError, match="must be str, not float"):
            device(1.5)
        with pytest.raises(RuntimeError, match="must not include an index"):
            device("cpu:0", 1)


def test_named_values_are_one_object():
    assert repr(strided) == "gradwright.strided"
    assert pickle.loads(pickle.dumps(strided)) is strided
    assert copy.deepcopy(strided) is strided


def test_named_results():
    result = named_result("max", ("values", "indices"))([1, 2])
    assert (result.values, result.indices) == result == (1, 2)
    assert repr(result) == "gradwright.return_types.max(\nvalues=1,\nindices=2)"
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is type(result)
    assert again == result


def test_unusual_modes_nest():
    before = set(modes.plain)
    assert before
    with modes.unusual():
        with modes.unusual():
            assert not modes.plain
        assert not modes.plain
    assert modes.plain == before


def test_leaving_more_often_than_entering_is_an_error():
    with pytest.raises(RuntimeError, match="more often"):
        modes.leave_unusual()


def test_a_class_registered_in_a_mode_is_plain_after_it():
    class Other:
        pass

    with modes.unusual():
        modes.register_plain(Other)
        assert not modes.plain
    assert Other in modes.plain
    modes.plain.discard(Other)
    modes.plain_types.discard(Other)
