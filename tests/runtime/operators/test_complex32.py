"""complex32: complex numbers of two float16, computed in complex64 and rounded once."""

from __future__ import annotations

import copy
import io
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import gradwright
from generated.registry import OPERATORS
from gradwright import Tensor
from gradwright.testing import make_sample, operator_function
from runtime.base import dtypes
from runtime.load.operator_info import OperatorInfo

H = gradwright.complex32
NUMBERS = [1 + 2j, -3.5 + 0.25j, 0j, 2049.5 - 1e-7j, complex(math.inf, -1), complex(math.nan, 2)]


def bits(tensor: Tensor) -> list[list[int]]:
    return gradwright.view_as_real(tensor).view(gradwright.int16).tolist()


def halves(numbers: list[complex]) -> list[list[int]]:
    with np.errstate(all="ignore"):
        parts = np.array([[each.real, each.imag] for each in numbers], np.float32).astype(np.float16)
    return parts.view(np.int16).tolist()


def test_the_dtype() -> None:
    assert gradwright.chalf is H
    assert repr(H) == "gradwright.complex32"
    assert (H.itemsize, H.is_complex, H.is_floating_point, H.is_signed) == (4, True, False, True)
    assert H.to_real() is gradwright.float16
    assert gradwright.float16.to_complex() is H.to_complex() is H
    assert gradwright.finfo(H) == gradwright.finfo(gradwright.float16)
    assert pickle.loads(pickle.dumps(H)) is copy.deepcopy(H) is H
    with pytest.raises(TypeError):
        gradwright.iinfo(H)
    with pytest.raises(TypeError, match="only floating-point types"):
        gradwright.set_default_dtype(H)


@pytest.mark.parametrize("source", [gradwright.complex64, gradwright.complex128], ids=str)
def test_numbers_are_rounded_once(source: dtypes.dtype) -> None:
    wide = gradwright.tensor(NUMBERS, dtype=source)
    written, item_by_item = gradwright.zeros(6, dtype=H), gradwright.zeros(6, dtype=H)
    written[:] = wide
    for place, number in enumerate(NUMBERS):
        item_by_item[place] = number
    made = [
        wide.to(H),
        wide.chalf(),
        gradwright.tensor(NUMBERS, dtype=H),
        gradwright.zeros(6, dtype=H).copy_(wide),
        written,
    ]
    assert all(bits(each) == halves(NUMBERS) for each in [*made, item_by_item, wide.type(H)])


@pytest.mark.parametrize(
    "kind", [gradwright.float64, gradwright.float16, gradwright.bfloat16, gradwright.int32, gradwright.bool], ids=str
)
def test_real_numbers_become_complex_ones_and_back(kind: dtypes.dtype) -> None:
    real = gradwright.tensor([0, 1, 2]).to(kind)
    x = real.to(H)
    assert x.tolist() == [complex(each) for each in real.tolist()]
    assert x.to(kind).tolist() == real.tolist()
    assert (x + 3j).to(kind).tolist() == ([True] * 3 if kind is gradwright.bool else real.tolist())


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (gradwright.bool, H), (gradwright.int64, H), (gradwright.float16, H), (H, H),
        (gradwright.bfloat16, gradwright.complex64),
        (gradwright.float32, gradwright.complex64), (gradwright.float64, gradwright.complex128),
        (gradwright.complex64, gradwright.complex64), (gradwright.complex128, gradwright.complex128),
    ],
    ids=str,
)  # fmt: skip
def test_promotion(other: dtypes.dtype, expected: dtypes.dtype) -> None:
    x, y = gradwright.tensor([1 + 1j]).to(H), gradwright.ones(1).to(other)
    assert gradwright.promote_types(H, other) is gradwright.promote_types(other, H) is expected
    assert gradwright.result_type(x, y) is (x + y).dtype is (y * x).dtype is gradwright.cat([x, y]).dtype is expected
    assert gradwright.stack([y, x]).tolist() == [[1], [1 + 1j]]
    assert gradwright.can_cast(other, H)
    assert gradwright.can_cast(H, other) is other.is_complex


def test_halves_beside_complex_numbers() -> None:
    x = gradwright.tensor([1.0, 2.0], dtype=gradwright.float16)
    assert (x * 1j).dtype is (x + 1j).dtype is gradwright.result_type(x, 1j) is H
    assert gradwright.complex(x, x).tolist() == [1 + 1j, 2 + 2j]
    assert gradwright.complex(x, x).dtype is H
    pairs = gradwright.ones(3, 2, dtype=gradwright.float16)
    gradwright.view_as_complex(pairs)[1] = 5j
    assert pairs.tolist() == [[1, 1], [0, 5], [1, 1]]
    for function in (lambda y: gradwright.complex(y, y), lambda y: gradwright.view_as_complex(y.view(1, 2))):
        with pytest.raises(RuntimeError, match="BFloat16"):
            function(gradwright.ones(2, dtype=gradwright.bfloat16))


def test_the_default_dtype() -> None:
    gradwright.set_default_dtype(gradwright.float16)
    try:
        assert gradwright.tensor(1j).dtype is (gradwright.ones(1, dtype=gradwright.int64) * 1j).dtype is H
        assert gradwright.full((2,), 1j).dtype is gradwright.complex64
        assert repr(gradwright.tensor([1j])) == "tensor([0.+1.j], dtype=gradwright.complex32)"
    finally:
        gradwright.set_default_dtype(gradwright.float32)


def test_real_results_are_float16() -> None:
    x = gradwright.tensor([3 + 4j, -6 + 8j]).to(H)
    for result in (
        x.abs(),
        x.real,
        x.imag,
        gradwright.view_as_real(x),
        x.norm(),
        x.var(),
        x.std(),
        gradwright.dist(x, x),
    ):
        assert result.dtype is gradwright.float16
    assert x.abs().tolist() == [5, 10]
    assert (x == x).dtype is x.isnan().dtype is gradwright.bool
    assert x.count_nonzero().dtype is x.nonzero().dtype is gradwright.int64


def test_views_share_memory() -> None:
    x = gradwright.arange(12).to(H).view(3, 4)
    x.t()[1:, ::2].imag.fill_(1)
    assert x[0].tolist() == [0, 1 + 1j, 2 + 1j, 3 + 1j]
    x.real.mul_(2)
    assert x[1].tolist() == [8, 10, 12, 14]
    assert x.view(gradwright.int32).dtype is gradwright.int32
    assert x[0].view(gradwright.float16).tolist() == [0, 0, 2, 1, 4, 1, 6, 1]
    assert x.stride() == (4, 1)
    assert x.untyped_storage().nbytes() == 48
    assert x[2, 1:].storage_offset() == 9


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages() -> None:
    x = gradwright.tensor([1 + 2j, 3.5], dtype=H)
    storage = x.storage()
    assert (storage.dtype, storage.nbytes(), storage[0], storage.tolist()) == (H, 8, 1 + 2j, [1 + 2j, 3.5])
    storage[1] = 5
    assert x.tolist() == [1 + 2j, 5]


def test_writes() -> None:
    x = gradwright.zeros(4, dtype=H)
    version = x._version
    x.add_(1.5).mul_(gradwright.tensor(2j)).sub_(gradwright.ones(4))
    assert x.tolist() == [-1 + 3j] * 4
    assert x._version > version
    x[1] = 7
    x[x == 7] = 8j
    x.index_put_((gradwright.tensor([2]),), gradwright.tensor([9.0]).to(H))
    assert x.tolist() == [-1 + 3j, 8j, 9, -1 + 3j]
    out = gradwright.empty(4, dtype=H)
    assert gradwright.add(x, x, out=out) is out
    assert out.tolist() == (2 * x).tolist()
    assert x.fill_(1e6).tolist() == [complex(math.inf)] * 4
    with pytest.raises(RuntimeError, match="result type ComplexHalf can't be cast"):
        gradwright.ones(4, dtype=gradwright.float16).add_(x)


def test_arguments_of_other_dtypes() -> None:
    x, mask, first = gradwright.tensor([1 + 2j, 3]).to(H), gradwright.tensor([True, False]), gradwright.tensor([0])
    for other in (gradwright.tensor(2.0), gradwright.tensor(2, dtype=gradwright.complex64), gradwright.tensor(2)):
        assert x.masked_fill(mask, other).tolist() == x.index_fill(0, first, other).tolist() == [2, 3]
        assert gradwright.select_scatter(x, other, 0, 0).tolist() == [2, 3]
        assert gradwright.slice_scatter(x, other.view(1), 0, 0, 1).tolist() == [2, 3]
        assert x.clone().fill_(other).tolist() == [2, 2]
        assert gradwright.where(mask, other, x).tolist() == [2, 3]
        copied = other.clone().copy_(x[0])
        assert copied.item() == (1 + 2j if other.is_complex() else 1)
    assert x.masked_fill(mask, gradwright.tensor(2.0)).dtype is H
    for other in (gradwright.ones(1), gradwright.ones(1, dtype=gradwright.complex64)):
        for function in (
            lambda y: x.index_add(0, first, y),
            lambda y: x.index_copy(0, first, y),
            lambda y: x.index_put((first,), y),
        ):
            with pytest.raises(RuntimeError):
                function(other)


def test_numbers_and_text() -> None:
    x = gradwright.tensor([[1 + 2j, 0.5], [0, -1j]], dtype=H)
    assert x[0, 0].item() == complex(x[0, 0]) == 1 + 2j
    assert x.tolist() == [[1 + 2j, 0.5], [0, -1j]]
    assert bool(x[0, 0])
    assert not bool(x[1, 0])
    assert int(x[1, 0]) == 0
    with pytest.raises(RuntimeError, match="without overflow"):
        float(x[0, 0])
    assert repr(x[1]) == "tensor([0.+0.j, -0.-1.j], dtype=gradwright.complex32)"
    assert x.type() == "gradwright.ComplexHalfTensor"
    assert x.is_complex()
    assert gradwright.is_complex(x)
    with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
        x.numpy()
    structure = np.zeros(2, [("real", "f2"), ("imag", "f2")])
    for function in (gradwright.from_numpy, gradwright.tensor, gradwright.as_tensor):
        with pytest.raises(TypeError, match=r"can.t convert np\.ndarray"):
            function(structure)
    gradwright.testing.assert_close(x, x * (1 + 1e-4))
    with pytest.raises(AssertionError):
        gradwright.testing.assert_close(x, x + 1)


def test_new_ones() -> None:
    made = [
        gradwright.zeros(3, dtype=H), gradwright.ones(3, dtype=H), gradwright.full((3,), 1 + 1j, dtype=H),
        gradwright.scalar_tensor(1j, dtype=H), gradwright.rand(3, dtype=H), gradwright.randn(3, dtype=H),
        gradwright.empty(3, dtype=H).normal_(), gradwright.empty(3, dtype=H).uniform_(),
        gradwright.rand(3).to(H).new_zeros(2),
    ]  # fmt: skip
    for each in made:
        assert each.dtype is H
        for like in (
            gradwright.zeros_like,
            gradwright.ones_like,
            gradwright.rand_like,
            gradwright.randn_like,
            gradwright.empty_like,
        ):
            assert like(each).dtype is H
    assert made[2].tolist() == [1 + 1j] * 3
    gradwright.manual_seed(0)
    drawn = gradwright.randn(20, dtype=H)
    gradwright.manual_seed(0)
    expected = gradwright.empty(40, dtype=gradwright.float16).normal_(0, 1 / math.sqrt(2))
    assert gradwright.view_as_real(drawn).view(-1).tolist() == expected.tolist()
    for name, args in [("arange", (3,)), ("linspace", (0, 1, 3)), ("logspace", (0, 1, 3)), ("eye", (2,))]:
        with pytest.raises(NotImplementedError, match="'ComplexHalf'"):
            getattr(gradwright, name)(*args, dtype=H)
    with pytest.raises(RuntimeError, match="check_random_bounds"):
        gradwright.randint(3, (2,), dtype=H)


def test_it_is_handed_on() -> None:
    x = gradwright.tensor([1 + 2j, 3.5]).to(H)
    file = io.BytesIO()
    gradwright.save(x, file)
    file.seek(0)
    others = [
        gradwright.load(file), pickle.loads(pickle.dumps(x)), copy.deepcopy(x), gradwright.from_dlpack(x), x.detach(),
        gradwright.frombuffer(bytearray(gradwright.view_as_real(x).numpy().tobytes()), dtype=H),
        gradwright.as_tensor(x),
    ]  # fmt: skip
    for each in others:
        assert each.dtype is H
        assert each.tolist() == [1 + 2j, 3.5]
    gradwright.from_dlpack(x)[0] = 9
    assert x[0].item() == 9
    meta = x.to("meta")
    assert (meta * 2).dtype is meta.abs().to(H).dtype is H
    assert meta.real.dtype is meta.abs().dtype is gradwright.float16
    assert meta.view(2, 1).expand(2, 5).clone().shape == (2, 5)


class TestGradients:
    def test_of_what_it_is_computed_with(self) -> None:
        x = gradwright.tensor([1 + 2j, 3 - 1j]).to(H).requires_grad_()
        (x * x.conj()).backward(gradwright.tensor([1, 1j]).to(H))
        assert x.grad.dtype is H
        assert x.grad.tolist() == [2 + 4j, 0]
        x.grad = None
        (x.real.sum() + x.cfloat().abs().square().sum()).backward()
        assert x.grad.tolist() == [3 + 4j, 7 - 2j]

    def test_they_add_up(self) -> None:
        x = gradwright.tensor([1j, 2.0]).to(H).requires_grad_()
        for _ in range(2):
            (x + x * 2 + x[[0, 1]] + x.clone()).backward(gradwright.ones(2, dtype=H))
        assert x.grad.tolist() == [10, 10]
        (first,) = gradwright.autograd.grad((x * 1j).abs().sum(), x, create_graph=True)
        assert first.tolist() == [1j, 1]

    def test_through_casts(self) -> None:
        x = gradwright.tensor([1.0, 2.0], requires_grad=True)
        (x.to(H) * 1j).imag.sum().backward()
        assert x.grad.dtype is gradwright.float32
        assert x.grad.tolist() == [1, 1]

    def test_a_sum_over_what_was_broadcast_is_refused_as_sum_is(self) -> None:
        x = gradwright.ones(2, dtype=H).requires_grad_()
        with pytest.raises(NotImplementedError, match="'ComplexHalf'"):
            x.expand(3, 2).clone().backward(gradwright.ones(3, 2, dtype=H))

    def test_forward_mode(self) -> None:
        with gradwright.autograd.forward_ad.dual_level():
            x = gradwright.autograd.forward_ad.make_dual(gradwright.ones(2).to(H), gradwright.tensor([1j, 2]).to(H))
            tangent = gradwright.autograd.forward_ad.unpack_dual(x * x).tangent
            assert tangent.tolist() == [2j, 4]

    def test_an_optimizer_steps(self) -> None:
        x = gradwright.tensor([1 + 1j, 2.0]).to(H).requires_grad_()
        optimizer = gradwright.optim.SGD([x], lr=0.5)
        (x * (1 + 2j)).real.sum().backward()
        optimizer.step()
        assert x.tolist() == [0.5 + 2j, 1.5 + 1j]


def kinds_of(info: OperatorInfo) -> tuple[str, ...]:
    operator = getattr(__import__("generated.operators", fromlist=["operators"]), f"{info.function}_op")
    return operator.dtypes[0] if operator.dtypes is not None else ()


def narrow(value):
    """The Tensors among arguments whose elements are complex, in complex32."""
    if isinstance(value, Tensor):
        return value.detach().to(H) if value.is_complex() else value.detach()
    return [narrow(item) for item in value] if isinstance(value, (list, tuple)) else value


def widen(value):
    if isinstance(value, Tensor):
        return value.cfloat() if value.is_complex() else value
    return [widen(item) for item in value] if isinstance(value, (list, tuple)) else value


def samples(info: OperatorInfo):
    for text in info.samples:
        if "linalg" in info.name and any(word in text for word in (", 2", "-2", "nuc")):
            continue  # norms of singular values, which are refused
        if "T(" in text and "dtype=" not in text and "complex=False" not in text:
            sample = make_sample(info, text, gradwright.complex64, requires_grad=False)
            args, kwargs = narrow(list(sample.args)), {name: narrow(each) for name, each in sample.kwargs.items()}
            if any(isinstance(each, Tensor) and each.dtype is H for each in args):
                yield args, kwargs


TAKES = {name: info for name, info in OPERATORS.items() if "chalf" in kinds_of(info) and not info.random}
REFUSES = {
    name: info
    for name, info in OPERATORS.items()
    if "complex" in kinds_of(info) and "chalf" not in kinds_of(info) and not info.composite
}
# Made of several operators, each of which rounds.
SEVERAL = {
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "var", "std", "var_mean",
    "std_mean", "norm", "linalg_norm", "linalg_matrix_norm", "frobenius_norm", "dist", "embedding_renorm",
}  # fmt: skip


@pytest.mark.parametrize("name", TAKES)
def test_operators_compute_in_complex64(name: str) -> None:
    info = TAKES[name]
    function = operator_function(info)
    for args, kwargs in samples(info):
        found = function(*args, **kwargs)
        expected = function(*[widen(each) for each in args], **{key: widen(each) for key, each in kwargs.items()})
        pairs = zip(*[each if isinstance(each, (tuple, list)) else (each,) for each in (found, expected)], strict=True)
        for mine, other in pairs:
            if not isinstance(mine, Tensor):
                assert mine == other
                continue
            if other.dtype in (gradwright.complex64, gradwright.float32):
                other = other.to(H if other.is_complex() else gradwright.float16)
            assert mine.dtype is other.dtype
            if info.name.split(".")[0] in SEVERAL:
                gradwright.testing.assert_close(mine, other, rtol=5e-3, atol=5e-3, equal_nan=True)
            else:
                gradwright.testing.assert_close(mine, other, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", REFUSES)
def test_other_operators_refuse_it(name: str) -> None:
    info = REFUSES[name]
    for args, kwargs in list(samples(info))[:1]:
        with pytest.raises(RuntimeError):  # NotImplementedError is one
            operator_function(info)(*args, **kwargs)


def test_it_is_said_once_that_it_is_experimental() -> None:
    program = (
        "import warnings, gradwright\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    gradwright.promote_types(gradwright.chalf, gradwright.float16), gradwright.finfo(gradwright.chalf)\n"
        "    assert not seen\n"
        "    gradwright.ones(2).half() * 1j\n"
        "    gradwright.zeros(2, dtype=gradwright.complex32) + 1\n"
        "text, = [str(each.message) for each in seen]\n"
        'assert text == "ComplexHalf support is experimental and many operators don\'t support it yet.", text\n'
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
