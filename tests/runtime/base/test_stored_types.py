"""Element types that are stored and hardly computed with: float8, and types whose bits nothing reads."""

from __future__ import annotations

import io
import math
import pickle

import numpy as np
import pytest

import gradwright
from runtime.base.dtypes import FLOAT8_DTYPES, OPAQUE_DTYPES, dtype, from_numpy

E4M3FN, E5M2, E8M0FNU = gradwright.float8_e4m3fn, gradwright.float8_e5m2, gradwright.float8_e8m0fnu
COMPUTED = (gradwright.float8_e4m3fn, gradwright.float8_e4m3fnuz, gradwright.float8_e5m2, gradwright.float8_e5m2fnuz)


def bits(tensor: gradwright.Tensor) -> list[int]:
    return tensor.view(gradwright.uint8).tolist()


@pytest.mark.parametrize(
    ("kind", "numbers", "expected"),
    [
        (E4M3FN, [1.0, -3.3, 0.001, 448.0, 464.0, 1e9, -math.inf], [0x38, 0xC5, 0x01, 0x7E, 0x7E, 0x7E, 0xFE]),
        (E4M3FN, [1.0625, 1.1875, math.nan], [0x38, 0x3A, 0x7F]),  # ties go to even
        (E5M2, [1.0, 57344.0, 61440.0, math.inf, math.nan], [0x3C, 0x7B, 0x7C, 0x7C, 0x7F]),
        (gradwright.float8_e4m3fnuz, [1.0, 240.0, 256.0, -0.0, math.nan], [0x40, 0x7F, 0x80, 0x00, 0x80]),
        (gradwright.float8_e5m2fnuz, [1.0, 57344.0, math.inf, -0.0], [0x40, 0x7F, 0x80, 0x00]),
        (E8M0FNU, [1.0, -3.0, 0.0, 6.0, 5.0, math.inf, math.nan], [0x7F, 0x81, 0x00, 0x82, 0x81, 0xFF, 0xFF]),
    ],
    ids=str,
)
@pytest.mark.parametrize("source", [gradwright.float32, gradwright.float64], ids=str)
def test_numbers_are_rounded_once(kind: dtype, numbers: list[float], expected: list[int], source: dtype) -> None:
    assert bits(gradwright.tensor(numbers, dtype=source).to(kind)) == expected
    assert bits(gradwright.tensor(numbers, dtype=kind)) == expected
    assert bits(gradwright.zeros(len(numbers), dtype=kind).copy_(gradwright.tensor(numbers, dtype=source))) == expected
    written = gradwright.zeros(len(numbers), dtype=kind)
    written[:] = gradwright.tensor(numbers, dtype=source)
    assert bits(written) == expected


@pytest.mark.parametrize("kind", COMPUTED, ids=str)
def test_what_is_computed_is_rounded_once(kind: dtype) -> None:
    x = gradwright.tensor([1.5, -2.0, 3.0]).to(kind)
    assert (x * x).tolist() == [2.25, 4.0, 9.0] if "e4m3" in kind.name else [2.0, 4.0, 8.0]  # ties go to even
    assert x.abs().tolist() == [1.5, 2.0, 3.0]
    m = gradwright.ones(2, 2).to(kind)
    assert (m @ m).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert (x * x).dtype is (m @ m).dtype is kind


@pytest.mark.parametrize("kind", FLOAT8_DTYPES, ids=str)
def test_elements_are_moved_and_compared(kind: dtype) -> None:
    x = gradwright.tensor([1.0, 2.0, 4.0, 8.0]).to(kind)
    moved = [
        x.clone(), x.view(2, 2).t().t().reshape(4), gradwright.cat([x[:2], x[2:]]), gradwright.stack([x])[0], x[x == x],
        x[gradwright.tensor([0, 1, 2, 3])], x.index_select(0, gradwright.arange(4)), gradwright.where(x == x, x, x),
        pickle.loads(pickle.dumps(x)), gradwright.as_strided(x, (4,), (1,)),
    ]  # fmt: skip
    for each in moved:
        assert each.dtype is kind
        assert each.tolist() == [1.0, 2.0, 4.0, 8.0]
    assert (x == 2).tolist() == [False, True, False, False]
    assert (x != x).tolist() == [False] * 4
    assert (
        gradwright.full((2,), 2, dtype=kind).tolist() == gradwright.ones(2, dtype=kind).fill_(2).tolist() == [2.0, 2.0]
    )
    assert repr(x) == f"tensor([1., 2., 4., 8.], dtype=gradwright.{kind.name})"
    assert x.type() == f"gradwright.{kind.scalar_name}Tensor"


@pytest.mark.parametrize("kind", [*FLOAT8_DTYPES, *OPAQUE_DTYPES], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + x, lambda x: x.exp(), lambda x: x.sum(), lambda x: x < x, lambda x: x.sort(), lambda x: x.relu(),
        lambda x: x.flip(0), lambda x: x.cumsum(0), lambda x: x.nonzero(), lambda x: x.max(), lambda x: x.add_(x),
        lambda x: x.gather(0, gradwright.tensor([0])), lambda x: x.masked_fill(gradwright.tensor([True] * 4), 1),
        lambda x: gradwright.rand(2, dtype=x.dtype), lambda x: gradwright.arange(2, dtype=x.dtype),
        lambda x: x.uniform_(),
        lambda x: gradwright.randint(2, (2,), dtype=x.dtype), lambda x: gradwright.linspace(0, 1, 2, dtype=x.dtype),
    ],
)  # fmt: skip
def test_what_computes_refuses_them(kind: dtype, function) -> None:
    with pytest.raises(NotImplementedError, match=f"not implemented for '{kind.scalar_name}'"):
        function(gradwright.zeros(4, dtype=kind))


@pytest.mark.parametrize(
    "other", [gradwright.float32, gradwright.int32, gradwright.bool, gradwright.complex64, E5M2], ids=str
)
def test_float8_is_promoted_with_nothing(other: dtype) -> None:
    message = f"attempted to promote Float8_e4m3fn and {other.scalar_name}"
    x, y = gradwright.ones(2).to(E4M3FN), gradwright.ones(2).to(other)
    for function in (
        gradwright.eq,
        gradwright.mul,
        lambda a, b: gradwright.cat([a, b]),
        lambda a, b: gradwright.stack([a, b]),
    ):
        with pytest.raises(RuntimeError, match=message):
            function(x, y)
    with pytest.raises(RuntimeError, match=message):
        gradwright.promote_types(E4M3FN, other)
    assert gradwright.result_type(x, 1.5) is E4M3FN
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Float8_e4m3fn"):
        gradwright.result_type(x, 1j)


def test_a_number_that_is_filled_in_has_to_fit() -> None:
    with pytest.raises(RuntimeError, match="cannot be converted to type c10::Float8_e4m3fn without overflow"):
        gradwright.zeros(2, dtype=E4M3FN).fill_(500)
    assert gradwright.zeros(2, dtype=E5M2).fill_(1e9).tolist() == [math.inf, math.inf]


@pytest.mark.parametrize("kind", OPAQUE_DTYPES, ids=str)
def test_bits_are_stored_and_viewed(kind: dtype) -> None:
    x = gradwright.arange(8, dtype=gradwright.uint8).view(kind)
    assert x.shape == (8 // kind.itemsize,)
    assert bits(x) == list(range(8))
    assert bits(x[1:]) == list(range(kind.itemsize, 8))
    assert bits(gradwright.zeros(2, dtype=kind)) == [0] * 2 * kind.itemsize
    for function in (repr, lambda x: x[0].item(), lambda x: x.fill_(1), lambda x: x.to(gradwright.float32), bool):
        with pytest.raises(NotImplementedError, match=f"'{kind.scalar_name}'"):
            function(x[:1])
    with pytest.raises(TypeError, match="Got unsupported ScalarType"):
        x.numpy()
    with pytest.raises(NotImplementedError, match="fill_cpu"):
        gradwright.ones(2, dtype=kind)
    if kind.kind_name == "bits":
        assert bits(x.clone()) == list(range(8))
        assert bits(gradwright.zeros_like(x).copy_(x)) == list(range(8))
    else:
        with pytest.raises(NotImplementedError, match="clone"):
            x.clone()


def test_bits_have_no_sign_and_no_limits() -> None:
    with pytest.raises(RuntimeError, match="Bits types are undefined"):
        _ = gradwright.bits8.is_signed
    with pytest.raises(AttributeError):
        _ = gradwright.bits8.nothing
    with pytest.raises(TypeError):
        gradwright.finfo(gradwright.float4_e2m1fn_x2)
    with pytest.raises(TypeError):
        gradwright.iinfo(gradwright.int4)
    with pytest.raises(RuntimeError, match="Promotion from Bits8 and Float is unsupported"):
        gradwright.promote_types(gradwright.bits8, gradwright.float32)
    assert gradwright.bit is gradwright.uint1


@pytest.mark.parametrize("kind", [*FLOAT8_DTYPES, *OPAQUE_DTYPES], ids=str)
def test_they_are_saved(kind: dtype) -> None:
    file = io.BytesIO()
    gradwright.save(gradwright.arange(4, dtype=gradwright.uint8).view(kind), file)
    file.seek(0)
    loaded = gradwright.load(file)
    assert loaded.dtype is kind
    assert bits(loaded) == [0, 1, 2, 3]
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_gradients_go_through_casts() -> None:
    x = gradwright.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(E4M3FN)
    y.float().sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    leaf = gradwright.tensor([1.0, 2.0]).to(E4M3FN).requires_grad_()
    (leaf.float() * 3.3).sum().backward()
    assert leaf.grad.dtype is E4M3FN
    assert leaf.grad.tolist() == [3.25, 3.25]
    with pytest.raises(NotImplementedError, match="'Float8_e4m3fn'"):
        (leaf.float() * 3).sum().backward()


class Doubled(gradwright.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.double()

    @staticmethod
    def backward(ctx, grad):
        return grad


class TestGradDtype:
    def test_it_is_that_of_the_tensor(self) -> None:
        x = gradwright.ones(2)
        assert x.grad_dtype is gradwright.float32
        assert gradwright.ones(2, dtype=gradwright.int32).grad_dtype is gradwright.int32
        x.data = x.data.double()
        assert x.grad_dtype is gradwright.float64

    @pytest.mark.parametrize("wanted", [gradwright.float64, gradwright.bfloat16, gradwright.complex64], ids=str)
    @pytest.mark.parametrize("function", [Doubled.apply, lambda x: x * 2, lambda x: x * x + x], ids=range(3))
    def test_gradients_are_cast(self, wanted: dtype, function) -> None:
        x = gradwright.ones(2, requires_grad=True)
        x.grad_dtype = wanted
        function(x).sum().backward()
        first = x.grad
        assert first.dtype is wanted
        function(x).sum().backward()
        assert x.grad.dtype is wanted
        again = gradwright.ones(2, requires_grad=True)
        function(again).sum().backward()
        function(again).sum().backward()
        assert x.grad.tolist() == again.grad.to(wanted).tolist()
        assert gradwright.autograd.grad(function(x).sum(), x)[0].dtype is wanted
        assert x.grad_dtype is wanted
        assert x.detach().grad_dtype is gradwright.float32

    def test_none_lets_any_be(self) -> None:
        x = gradwright.ones(2, requires_grad=True)
        x.grad_dtype = None
        assert x.grad_dtype is None
        Doubled.apply(x).sum().backward()
        assert x.grad.dtype is gradwright.float64
        x.grad = gradwright.ones(2, dtype=gradwright.bfloat16)
        x.grad = None
        (x * 2).sum().backward()
        assert x.grad.dtype is gradwright.float32

    def test_hooks_see_it(self) -> None:
        x = gradwright.ones(2, requires_grad=True)
        x.grad_dtype = gradwright.float64
        seen = []
        x.register_hook(lambda grad: seen.append(grad.dtype))
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.dtype))
        (x * 2).sum().backward()
        assert seen == [gradwright.float64, gradwright.float64]

    def test_it_is_of_leaves(self) -> None:
        y = gradwright.ones(2, requires_grad=True) * 2
        with pytest.raises(RuntimeError, match="can only be accessed on leaf"):
            _ = y.grad_dtype
        with pytest.raises(RuntimeError, match="can only be set on leaf"):
            y.grad_dtype = None

    def test_what_does_not_fit_is_refused(self) -> None:
        x = gradwright.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"must be a gradwright.dtype or None, but got int"):
            x.grad_dtype = 3
        with pytest.raises(RuntimeError, match=r"grad_dtype 'gradwright.float32'"):
            x.grad = gradwright.ones(2, dtype=gradwright.float64)
        x.grad_dtype = gradwright.float64
        x.grad = gradwright.ones(2, dtype=gradwright.float64)
        with pytest.raises(RuntimeError, match=r"there is already a gradient with dtype 'gradwright.float64'"):
            x.grad_dtype = gradwright.float32
        x.grad_dtype = gradwright.float64
        x.grad = None
        x.grad_dtype = gradwright.int64
        with pytest.raises(RuntimeError, match=r"grad_dtype of a leaf is gradwright.int64"):
            (x * 2).sum().backward()


def test_each_has_an_array_type_of_its_own() -> None:
    kinds = (*FLOAT8_DTYPES, *OPAQUE_DTYPES)
    assert len({np.dtype(kind.numpy) for kind in kinds}) == len(kinds)
    assert [from_numpy(kind.numpy) for kind in kinds] == list(kinds)
