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

import runtime
from generated.registry import OPERATORS
from runtime import Tensor
from runtime.base import dtypes
from runtime.load.operator_info import OperatorInfo
from runtime.testing import make_sample, operator_function

H = runtime.complex32
NUMBERS = [1 + 2j, -3.5 + 0.25j, 0j, 2049.5 - 1e-7j, complex(math.inf, -1), complex(math.nan, 2)]


def bits(tensor: Tensor) -> list[list[int]]:
    return runtime.view_as_real(tensor).view(runtime.int16).tolist()


def halves(numbers: list[complex]) -> list[list[int]]:
    with np.errstate(all="ignore"):
        parts = np.array([[each.real, each.imag] for each in numbers], np.float32).astype(np.float16)
    return parts.view(np.int16).tolist()


def test_the_dtype() -> None:
    assert runtime.chalf is H
    assert repr(H) == "runtime.complex32"
    assert (H.itemsize, H.is_complex, H.is_floating_point, H.is_signed) == (4, True, False, True)
    assert H.to_real() is runtime.float16
    assert runtime.float16.to_complex() is H.to_complex() is H
    assert runtime.finfo(H) == runtime.finfo(runtime.float16)
    assert pickle.loads(pickle.dumps(H)) is copy.deepcopy(H) is H
    with pytest.raises(TypeError):
        runtime.iinfo(H)
    with pytest.raises(TypeError, match="only floating-point types"):
        runtime.set_default_dtype(H)


@pytest.mark.parametrize("source", [runtime.complex64, runtime.complex128], ids=str)
def test_numbers_are_rounded_once(source: dtypes.dtype) -> None:
    wide = runtime.tensor(NUMBERS, dtype=source)
    written, item_by_item = runtime.zeros(6, dtype=H), runtime.zeros(6, dtype=H)
    written[:] = wide
    for place, number in enumerate(NUMBERS):
        item_by_item[place] = number
    made = [wide.to(H), wide.chalf(), runtime.tensor(NUMBERS, dtype=H), runtime.zeros(6, dtype=H).copy_(wide), written]
    assert all(bits(each) == halves(NUMBERS) for each in [*made, item_by_item, wide.type(H)])


@pytest.mark.parametrize(
    "kind", [runtime.float64, runtime.float16, runtime.bfloat16, runtime.int32, runtime.bool], ids=str
)
def test_real_numbers_become_complex_ones_and_back(kind: dtypes.dtype) -> None:
    real = runtime.tensor([0, 1, 2]).to(kind)
    x = real.to(H)
    assert x.tolist() == [complex(each) for each in real.tolist()]
    assert x.to(kind).tolist() == real.tolist()
    assert (x + 3j).to(kind).tolist() == ([True] * 3 if kind is runtime.bool else real.tolist())


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (runtime.bool, H), (runtime.int64, H), (runtime.float16, H), (H, H), (runtime.bfloat16, runtime.complex64),
        (runtime.float32, runtime.complex64), (runtime.float64, runtime.complex128),
        (runtime.complex64, runtime.complex64), (runtime.complex128, runtime.complex128),
    ],
    ids=str,
)  # fmt: skip
def test_promotion(other: dtypes.dtype, expected: dtypes.dtype) -> None:
    x, y = runtime.tensor([1 + 1j]).to(H), runtime.ones(1).to(other)
    assert runtime.promote_types(H, other) is runtime.promote_types(other, H) is expected
    assert runtime.result_type(x, y) is (x + y).dtype is (y * x).dtype is runtime.cat([x, y]).dtype is expected
    assert runtime.stack([y, x]).tolist() == [[1], [1 + 1j]]
    assert runtime.can_cast(other, H)
    assert runtime.can_cast(H, other) is other.is_complex


def test_halves_beside_complex_numbers() -> None:
    x = runtime.tensor([1.0, 2.0], dtype=runtime.float16)
    assert (x * 1j).dtype is (x + 1j).dtype is runtime.result_type(x, 1j) is H
    assert runtime.complex(x, x).tolist() == [1 + 1j, 2 + 2j]
    assert runtime.complex(x, x).dtype is H
    pairs = runtime.ones(3, 2, dtype=runtime.float16)
    runtime.view_as_complex(pairs)[1] = 5j
    assert pairs.tolist() == [[1, 1], [0, 5], [1, 1]]
    for function in (lambda y: runtime.complex(y, y), lambda y: runtime.view_as_complex(y.view(1, 2))):
        with pytest.raises(RuntimeError, match="BFloat16"):
            function(runtime.ones(2, dtype=runtime.bfloat16))


def test_the_default_dtype() -> None:
    runtime.set_default_dtype(runtime.float16)
    try:
        assert runtime.tensor(1j).dtype is (runtime.ones(1, dtype=runtime.int64) * 1j).dtype is H
        assert runtime.full((2,), 1j).dtype is runtime.complex64
        assert repr(runtime.tensor([1j])) == "tensor([0.+1.j], dtype=runtime.complex32)"
    finally:
        runtime.set_default_dtype(runtime.float32)


def test_real_results_are_float16() -> None:
    x = runtime.tensor([3 + 4j, -6 + 8j]).to(H)
    for result in (x.abs(), x.real, x.imag, runtime.view_as_real(x), x.norm(), x.var(), x.std(), runtime.dist(x, x)):
        assert result.dtype is runtime.float16
    assert x.abs().tolist() == [5, 10]
    assert (x == x).dtype is x.isnan().dtype is runtime.bool
    assert x.count_nonzero().dtype is x.nonzero().dtype is runtime.int64


def test_views_share_memory() -> None:
    x = runtime.arange(12).to(H).view(3, 4)
    x.t()[1:, ::2].imag.fill_(1)
    assert x[0].tolist() == [0, 1 + 1j, 2 + 1j, 3 + 1j]
    x.real.mul_(2)
    assert x[1].tolist() == [8, 10, 12, 14]
    assert x.view(runtime.int32).dtype is runtime.int32
    assert x[0].view(runtime.float16).tolist() == [0, 0, 2, 1, 4, 1, 6, 1]
    assert x.stride() == (4, 1)
    assert x.untyped_storage().nbytes() == 48
    assert x[2, 1:].storage_offset() == 9


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages() -> None:
    x = runtime.tensor([1 + 2j, 3.5], dtype=H)
    storage = x.storage()
    assert (storage.dtype, storage.nbytes(), storage[0], storage.tolist()) == (H, 8, 1 + 2j, [1 + 2j, 3.5])
    storage[1] = 5
    assert x.tolist() == [1 + 2j, 5]


def test_writes() -> None:
    x = runtime.zeros(4, dtype=H)
    version = x._version
    x.add_(1.5).mul_(runtime.tensor(2j)).sub_(runtime.ones(4))
    assert x.tolist() == [-1 + 3j] * 4
    assert x._version > version
    x[1] = 7
    x[x == 7] = 8j
    x.index_put_((runtime.tensor([2]),), runtime.tensor([9.0]).to(H))
    assert x.tolist() == [-1 + 3j, 8j, 9, -1 + 3j]
    out = runtime.empty(4, dtype=H)
    assert runtime.add(x, x, out=out) is out
    assert out.tolist() == (2 * x).tolist()
    assert x.fill_(1e6).tolist() == [complex(math.inf)] * 4
    with pytest.raises(RuntimeError, match="result type ComplexHalf can't be cast"):
        runtime.ones(4, dtype=runtime.float16).add_(x)


def test_arguments_of_other_dtypes() -> None:
    x, mask, first = runtime.tensor([1 + 2j, 3]).to(H), runtime.tensor([True, False]), runtime.tensor([0])
    for other in (runtime.tensor(2.0), runtime.tensor(2, dtype=runtime.complex64), runtime.tensor(2)):
        assert x.masked_fill(mask, other).tolist() == x.index_fill(0, first, other).tolist() == [2, 3]
        assert runtime.select_scatter(x, other, 0, 0).tolist() == [2, 3]
        assert runtime.slice_scatter(x, other.view(1), 0, 0, 1).tolist() == [2, 3]
        assert x.clone().fill_(other).tolist() == [2, 2]
        assert runtime.where(mask, other, x).tolist() == [2, 3]
        copied = other.clone().copy_(x[0])
        assert copied.item() == (1 + 2j if other.is_complex() else 1)
    assert x.masked_fill(mask, runtime.tensor(2.0)).dtype is H
    for other in (runtime.ones(1), runtime.ones(1, dtype=runtime.complex64)):
        for function in (
            lambda y: x.index_add(0, first, y),
            lambda y: x.index_copy(0, first, y),
            lambda y: x.index_put((first,), y),
        ):
            with pytest.raises(RuntimeError):
                function(other)


def test_numbers_and_text() -> None:
    x = runtime.tensor([[1 + 2j, 0.5], [0, -1j]], dtype=H)
    assert x[0, 0].item() == complex(x[0, 0]) == 1 + 2j
    assert x.tolist() == [[1 + 2j, 0.5], [0, -1j]]
    assert bool(x[0, 0])
    assert not bool(x[1, 0])
    assert int(x[1, 0]) == 0
    with pytest.raises(RuntimeError, match="without overflow"):
        float(x[0, 0])
    assert repr(x[1]) == "tensor([0.+0.j, -0.-1.j], dtype=runtime.complex32)"
    assert x.type() == "runtime.ComplexHalfTensor"
    assert x.is_complex()
    assert runtime.is_complex(x)
    with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
        x.numpy()
    structure = np.zeros(2, [("real", "f2"), ("imag", "f2")])
    for function in (runtime.from_numpy, runtime.tensor, runtime.as_tensor):
        with pytest.raises(TypeError, match=r"can.t convert np\.ndarray"):
            function(structure)
    runtime.testing.assert_close(x, x * (1 + 1e-4))
    with pytest.raises(AssertionError):
        runtime.testing.assert_close(x, x + 1)


def test_new_ones() -> None:
    made = [
        runtime.zeros(3, dtype=H), runtime.ones(3, dtype=H), runtime.full((3,), 1 + 1j, dtype=H),
        runtime.scalar_tensor(1j, dtype=H), runtime.rand(3, dtype=H), runtime.randn(3, dtype=H),
        runtime.empty(3, dtype=H).normal_(), runtime.empty(3, dtype=H).uniform_(), runtime.rand(3).to(H).new_zeros(2),
    ]  # fmt: skip
    for each in made:
        assert each.dtype is H
        for like in (runtime.zeros_like, runtime.ones_like, runtime.rand_like, runtime.randn_like, runtime.empty_like):
            assert like(each).dtype is H
    assert made[2].tolist() == [1 + 1j] * 3
    runtime.manual_seed(0)
    drawn = runtime.randn(20, dtype=H)
    runtime.manual_seed(0)
    expected = runtime.empty(40, dtype=runtime.float16).normal_(0, 1 / math.sqrt(2))
    assert runtime.view_as_real(drawn).view(-1).tolist() == expected.tolist()
    for name, args in [("arange", (3,)), ("linspace", (0, 1, 3)), ("logspace", (0, 1, 3)), ("eye", (2,))]:
        with pytest.raises(NotImplementedError, match="'ComplexHalf'"):
            getattr(runtime, name)(*args, dtype=H)
    with pytest.raises(RuntimeError, match="check_random_bounds"):
        runtime.randint(3, (2,), dtype=H)


def test_it_is_handed_on() -> None:
    x = runtime.tensor([1 + 2j, 3.5]).to(H)
    file = io.BytesIO()
    runtime.save(x, file)
    file.seek(0)
    others = [
        runtime.load(file), pickle.loads(pickle.dumps(x)), copy.deepcopy(x), runtime.from_dlpack(x), x.detach(),
        runtime.frombuffer(bytearray(runtime.view_as_real(x).numpy().tobytes()), dtype=H), runtime.as_tensor(x),
    ]  # fmt: skip
    for each in others:
        assert each.dtype is H
        assert each.tolist() == [1 + 2j, 3.5]
    runtime.from_dlpack(x)[0] = 9
    assert x[0].item() == 9
    meta = x.to("meta")
    assert (meta * 2).dtype is meta.abs().to(H).dtype is H
    assert meta.real.dtype is meta.abs().dtype is runtime.float16
    assert meta.view(2, 1).expand(2, 5).clone().shape == (2, 5)


class TestGradients:
    def test_of_what_it_is_computed_with(self) -> None:
        x = runtime.tensor([1 + 2j, 3 - 1j]).to(H).requires_grad_()
        (x * x.conj()).backward(runtime.tensor([1, 1j]).to(H))
        assert x.grad.dtype is H
        assert x.grad.tolist() == [2 + 4j, 0]
        x.grad = None
        (x.real.sum() + x.cfloat().abs().square().sum()).backward()
        assert x.grad.tolist() == [3 + 4j, 7 - 2j]

    def test_they_add_up(self) -> None:
        x = runtime.tensor([1j, 2.0]).to(H).requires_grad_()
        for _ in range(2):
            (x + x * 2 + x[[0, 1]] + x.clone()).backward(runtime.ones(2, dtype=H))
        assert x.grad.tolist() == [10, 10]
        (first,) = runtime.autograd.grad((x * 1j).abs().sum(), x, create_graph=True)
        assert first.tolist() == [1j, 1]

    def test_through_casts(self) -> None:
        x = runtime.tensor([1.0, 2.0], requires_grad=True)
        (x.to(H) * 1j).imag.sum().backward()
        assert x.grad.dtype is runtime.float32
        assert x.grad.tolist() == [1, 1]

    def test_a_sum_over_what_was_broadcast_is_refused_as_sum_is(self) -> None:
        x = runtime.ones(2, dtype=H).requires_grad_()
        with pytest.raises(NotImplementedError, match="'ComplexHalf'"):
            x.expand(3, 2).clone().backward(runtime.ones(3, 2, dtype=H))

    def test_forward_mode(self) -> None:
        with runtime.autograd.forward_ad.dual_level():
            x = runtime.autograd.forward_ad.make_dual(runtime.ones(2).to(H), runtime.tensor([1j, 2]).to(H))
            tangent = runtime.autograd.forward_ad.unpack_dual(x * x).tangent
            assert tangent.tolist() == [2j, 4]

    def test_an_optimizer_steps(self) -> None:
        x = runtime.tensor([1 + 1j, 2.0]).to(H).requires_grad_()
        optimizer = runtime.optim.SGD([x], lr=0.5)
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
            sample = make_sample(info, text, runtime.complex64, requires_grad=False)
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
            if other.dtype in (runtime.complex64, runtime.float32):
                other = other.to(H if other.is_complex() else runtime.float16)
            assert mine.dtype is other.dtype
            if info.name.split(".")[0] in SEVERAL:
                runtime.testing.assert_close(mine, other, rtol=5e-3, atol=5e-3, equal_nan=True)
            else:
                runtime.testing.assert_close(mine, other, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", REFUSES)
def test_other_operators_refuse_it(name: str) -> None:
    info = REFUSES[name]
    for args, kwargs in list(samples(info))[:1]:
        with pytest.raises(RuntimeError):  # NotImplementedError is one
            operator_function(info)(*args, **kwargs)


def test_it_is_said_once_that_it_is_experimental() -> None:
    program = (
        "import warnings, runtime\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    runtime.promote_types(runtime.chalf, runtime.float16), runtime.finfo(runtime.chalf)\n"
        "    assert not seen\n"
        "    runtime.ones(2).half() * 1j\n"
        "    runtime.zeros(2, dtype=runtime.complex32) + 1\n"
        "text, = [str(each.message) for each in seen]\n"
        'assert text == "ComplexHalf support is experimental and many operators don\'t support it yet.", text\n'
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
