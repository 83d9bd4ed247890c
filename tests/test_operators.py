"""Every operator, driven by the registry: an operator is tested by being declared."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import runtime
from generated import operators, packets
from generated.registry import OPERATORS
from runtime import native
from runtime.autograd import forward_ad, gradcheck, gradgradcheck
from runtime.base.tensor import Tensor, wrap
from runtime.call.dispatch import Operator
from runtime.graph import forward
from runtime.load.operator_info import OperatorInfo
from runtime.testing import Sample, as_function, make_sample, operator_function, sample_inputs
from tests.results import MAY_ALIAS, edge_samples, share_memory

DIFFERENTIABLE = [info for info in OPERATORS.values() if info.differentiable or info.composite]
DTYPES = ("float32", "float64", "complex64", "complex128")
HALVES = ("float16", "bfloat16")
RECORDED = [o for o in vars(operators).values() if isinstance(o, Operator) and o.record is not None]


def cases(infos: Iterable[OperatorInfo], dtypes: tuple[str, ...]) -> list[Any]:
    return [
        pytest.param(info, dtype, id=f"{info.name}-{dtype}")
        for info in infos
        for dtype in dtypes
        if sample_inputs(info, dtype)
    ]


def tensors_of(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []


def supported(info: OperatorInfo, dtype: str) -> list[tuple[Sample, Any, tuple[Tensor, ...]]]:
    """Samples whose call has a differentiable result, as functions of their inputs."""
    found = []
    for sample in sample_inputs(info, dtype):
        runtime.manual_seed(0)
        function, inputs = as_function(info, sample)
        try:
            taken = bool(inputs) and bool(function(*inputs))
        except RuntimeError as error:  # of a part that has no half precision, such as singular values
            if dtype not in HALVES or "not implemented for" not in str(error):
                raise
            continue
        if taken:
            found.append((sample, seeded(function) if info.random else function, inputs))
    return found


def seeded(function: Any) -> Any:
    def call(*tensors: Tensor) -> Any:
        runtime.manual_seed(0)
        return function(*tensors)

    return call


def test_every_operator_has_samples() -> None:
    untested = [info.name for info in OPERATORS.values() if not info.samples]
    assert not untested, f"give these 'samples:' in native_functions.yaml: {untested}"


def test_every_differentiable_operator_is_checked() -> None:
    """A sample that never reaches gradcheck would look like a pass."""
    unchecked = [
        info.name
        for info in OPERATORS.values()
        if info.differentiable and not supported(info, "float64") and not supported(info, "complex128")
    ]
    assert not unchecked


# The same seed gives numbers that move with the parameters; the gradient of random numbers is zero all the same.
DRAWN = frozenset(("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor"))


@pytest.mark.parametrize(
    ("info", "dtype"), cases([i for i in DIFFERENTIABLE if i.name not in DRAWN], ("float64", "complex128"))
)
def test_gradcheck(info: OperatorInfo, dtype: str) -> None:
    for _, function, inputs in supported(info, dtype):
        assert gradcheck(function, inputs)


@pytest.mark.parametrize(("info", "dtype"), cases(DIFFERENTIABLE, ("float64", "complex128")))
def test_gradgradcheck(info: OperatorInfo, dtype: str) -> None:
    for _, function, inputs in supported(info, dtype):
        assert gradgradcheck(function, inputs)


@pytest.mark.parametrize(("info", "dtype"), cases(DIFFERENTIABLE, ("float64", "complex128")))
def test_forward_mode_agrees_with_backward_mode(info: OperatorInfo, dtype: str) -> None:
    """<c, J t> computed both ways, for one random tangent and cotangent."""
    for jvp in compare_both_modes(info, dtype):
        assert any(tangent is not None for tangent in jvp)


def compare_both_modes(info: OperatorInfo, dtype: str) -> Iterator[list[Tensor | None]]:
    """Compares <c, J t> with <J' c, t> on each sample, and gives the tangents of the results."""
    random = np.random.default_rng(0)
    for _, function, inputs in supported(info, dtype):
        tangents = [runtime.tensor(_random_like(random, t)) for t in inputs]
        outs = function(*inputs)
        cotangents = [runtime.tensor(_random_like(random, out)) for out in outs]
        vjp = runtime.autograd.grad(outs, inputs, cotangents, allow_unused=True)
        jvp = tangents_of(function, inputs, tangents)
        np.testing.assert_allclose(inner(cotangents, jvp), inner(tangents, vjp), rtol=1e-6, atol=1e-8)
        yield jvp


def tangents_of(function: Any, inputs: Iterable[Tensor], tangents: Iterable[Tensor]) -> list[Tensor | None]:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x.detach(), t) for x, t in zip(inputs, tangents, strict=True)]
        return [forward_ad.unpack_dual(out).tangent for out in function(*[dual.requires_grad_() for dual in duals])]


def inner(given: Iterable[Tensor], found: Iterable[Tensor | None]) -> float:
    """The inner product of real and imaginary parts; None counts as zeros."""
    pairs = [(g.detach().numpy(), f.detach().numpy()) for g, f in zip(given, found, strict=True) if f is not None]
    return float(sum(np.vdot(g, f).real for g, f in pairs))


@pytest.fixture
def no_forward_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    for operator in RECORDED:
        monkeypatch.setattr(operator, "jvp", None)


@pytest.mark.usefixtures("no_forward_formulas")
@pytest.mark.parametrize(("info", "dtype"), cases(DIFFERENTIABLE, ("float64", "complex128")))
def test_forward_mode_from_the_backward_formula(info: OperatorInfo, dtype: str) -> None:
    """Without a forward formula the jvp is the vjp of the vjp; this holds for every operator."""
    for _ in compare_both_modes(info, dtype):
        pass


@pytest.mark.parametrize(("info", "dtype"), cases(DIFFERENTIABLE, ("float64", "complex128")))
def test_second_derivatives_by_every_mode(info: OperatorInfo, dtype: str) -> None:
    """<H t, u> by each mode over each: H is of <c, f>, a real function of the inputs."""
    random = np.random.default_rng(0)
    for _, function, inputs in supported(info, dtype):
        tangents, others = ([runtime.tensor(_random_like(random, x)) for x in inputs] for _ in range(2))
        cotangents = [runtime.tensor(_random_like(random, out)) for out in function(*inputs)]
        found = {
            "backward over backward": _backward_over_backward(function, inputs, tangents, cotangents),
            "forward over backward": _forward_over_backward(function, inputs, tangents, cotangents),
            "backward over forward": _backward_over_forward(function, inputs, tangents, cotangents),
        }
        values = {name: inner(others, gradients) for name, gradients in found.items()}
        values["forward over forward"] = _forward_over_forward(function, inputs, tangents, others, cotangents)
        for name, value in values.items():
            np.testing.assert_allclose(value, values["backward over backward"], rtol=1e-6, atol=1e-8, err_msg=name)


def _total(pairs: Iterable[tuple[Tensor | None, Tensor]]) -> Any:
    """The inner product as a Tensor; None where nothing in it depends on anything."""
    products = [(a * b.conj()).real.sum() for a, b in pairs if a is not None and a.requires_grad]
    return sum(products[1:], start=products[0]) if products else None


def _gradients(total: Any, inputs: Any) -> Any:
    if total is None:
        return [None] * len(inputs)
    return runtime.autograd.grad(total, inputs, allow_unused=True)


def _backward_over_backward(function: Any, inputs: Any, tangents: Any, cotangents: Any) -> Any:
    grads = runtime.autograd.grad(function(*inputs), inputs, cotangents, create_graph=True, allow_unused=True)
    return _gradients(_total(zip(grads, tangents, strict=True)), inputs)


def _forward_over_backward(function: Any, inputs: Any, tangents: Any, cotangents: Any) -> Any:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, tangents, strict=True)]
        grads = runtime.autograd.grad(function(*duals), duals, cotangents, allow_unused=True)
        return [None if g is None else forward_ad.unpack_dual(g).tangent for g in grads]


def _backward_over_forward(function: Any, inputs: Any, tangents: Any, cotangents: Any) -> Any:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, tangents, strict=True)]
        found = [forward_ad.unpack_dual(out).tangent for out in function(*duals)]
    return _gradients(_total(zip(found, cotangents, strict=True)), inputs)


def _forward_over_forward(function: Any, inputs: Any, tangents: Any, others: Any, cotangents: Any) -> float:
    outer, deeper = forward.enter(), forward.enter()
    try:
        duals = []
        for x, t, u in zip(inputs, tangents, others, strict=True):
            dual = x.view_as(x)
            forward.set_tangent(dual, t, outer)
            forward.set_tangent(dual, u, deeper)
            duals.append(dual)
        found = [forward.tangent_of(out, deeper) for out in function(*duals)]
        return inner(cotangents, [None if t is None else forward.tangent_of(t, outer) for t in found])
    finally:
        forward.leave(deeper)
        forward.leave(outer)


def _random_like(random: np.random.Generator, tensor: Tensor) -> np.ndarray:
    array = tensor.detach().numpy()
    values = random.standard_normal(array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * random.standard_normal(array.shape)
    return np.asarray(values, dtype=array.dtype)


@pytest.mark.parametrize(("info", "dtype"), cases(DIFFERENTIABLE, (*HALVES, *DTYPES)))
def test_gradients_have_the_dtype_and_shape_of_their_inputs(info: OperatorInfo, dtype: str) -> None:
    for _, function, inputs in supported(info, dtype):
        outs = function(*inputs)
        cotangents = [runtime.ones_like(out) for out in outs]
        grads = runtime.autograd.grad(outs, inputs, cotangents, allow_unused=True)
        for grad, tensor in zip(grads, inputs, strict=True):
            if grad is not None:
                assert grad.dtype == tensor.dtype
                assert grad.shape == tensor.shape


# Their result depends on how the input lies in memory, and that is what they are for.
ABOUT_MEMORY = frozenset(("as_strided",))


@pytest.mark.parametrize(
    ("info", "dtype"), cases([i for i in DIFFERENTIABLE if i.name not in ABOUT_MEMORY], ("float64",))
)
def test_non_contiguous_inputs_give_the_same(info: OperatorInfo, dtype: str) -> None:
    for _, function, inputs in supported(info, dtype):
        strided = tuple(_strided(t) for t in inputs)
        try:
            function(*strided)
        except RuntimeError as error:
            if "stride" not in str(error):  # only an operator whose contract is about strides may refuse them
                raise
            continue
        for plain_out, strided_out in zip(function(*inputs), function(*strided), strict=True):
            np.testing.assert_allclose(strided_out.detach().numpy(), plain_out.detach().numpy(), rtol=1e-12, atol=1e-12)
        outs, strided_outs = function(*inputs), function(*strided)
        grads = runtime.autograd.grad(outs, inputs, [runtime.ones_like(o) for o in outs], allow_unused=True)
        strided_grads = runtime.autograd.grad(
            strided_outs, strided, [runtime.ones_like(o) for o in strided_outs], allow_unused=True
        )
        for grad, other in zip(grads, strided_grads, strict=True):
            assert (grad is None) == (other is None)
            if grad is not None:
                np.testing.assert_allclose(other.numpy(), grad.numpy(), rtol=1e-10, atol=1e-12)


def _strided(tensor: Tensor) -> Tensor:
    """The same values at every second place of a larger array, last axis first in memory."""
    array = tensor.detach().numpy()
    if array.ndim == 0:
        return tensor
    room = np.zeros((2 * array.shape[-1], *array.shape[:-1]), array.dtype)
    view = np.moveaxis(room[::2], 0, -1)
    view[...] = array
    return runtime.from_numpy(view).requires_grad_()


@pytest.mark.parametrize(("info", "dtype"), cases([i for i in DIFFERENTIABLE if i.differentiable], ("float64",)))
def test_undefined_output_gradients_are_zeros(info: OperatorInfo, dtype: str) -> None:
    """A Node with several outputs takes None for any of them, as if it were zeros."""
    for _, function, inputs in supported(info, dtype):
        outs = function(*inputs)
        if len(outs) < 2:
            continue
        for used in range(len(outs)):
            fresh = function(*inputs)
            ones = runtime.ones_like(fresh[used])
            grads = runtime.autograd.grad(fresh[used], inputs, ones, allow_unused=True)
            fresh = function(*inputs)
            given = [runtime.ones_like(o) if i == used else runtime.zeros_like(o) for i, o in enumerate(fresh)]
            wanted = runtime.autograd.grad(fresh, inputs, given, allow_unused=True)
            for grad, want in zip(grads, wanted, strict=True):
                have = 0.0 if grad is None else grad.numpy()
                np.testing.assert_allclose(have, 0.0 if want is None else want.numpy(), atol=1e-12)


def assert_equal(written: Any, wanted: Any) -> None:
    """To the last bit; to rounding where the native core has a loop for one and Python's kernel writes the other."""
    if native.is_available() and wanted.dtype.kind in "fc":
        np.testing.assert_allclose(written, wanted, rtol=1e-14, atol=1e-15)
    else:
        np.testing.assert_array_equal(written, wanted)


@pytest.mark.parametrize(("info", "dtype"), cases([i for i in OPERATORS.values() if i.out], ("float64",)))
def test_out_variant_equals_the_functional_one(info: OperatorInfo, dtype: str) -> None:
    function = operator_function(info)
    for sample in sample_inputs(info, dtype, requires_grad=False):
        runtime.manual_seed(0)
        wanted = function(*sample.args, **sample.kwargs)
        several = isinstance(wanted, tuple | list)
        if several and any(out is None for out in wanted):
            continue  # a mask left it out
        room = [runtime.empty_like(t) for t in tensors_of(wanted)]
        runtime.manual_seed(0)
        given = function(*sample.args, **sample.kwargs, out=room if several else room[0])
        assert given is room or given is room[0]
        for out, want in zip(room, tensors_of(wanted), strict=True):
            assert_equal(out.numpy(), want.numpy())
            assert out._version > 0


@pytest.mark.parametrize(("info", "dtype"), cases([i for i in OPERATORS.values() if i.inplace], ("float64",)))
def test_inplace_variant_equals_the_functional_one(info: OperatorInfo, dtype: str) -> None:
    function = operator_function(info)
    assert info.inplace is not None
    base, _, overload = info.inplace.partition(".")
    inplace = getattr(operators, f"{base}_{overload or 'default'}")
    written = 0
    for sample in sample_inputs(info, dtype):
        runtime.manual_seed(0)
        wanted = function(*sample.args, **sample.kwargs)
        first = sample.args[0]
        becomes_view = info.schema.endswith("Tensor(a)")  # such as `t_`: the Tensor takes the shape of the result
        if not becomes_view and (wanted.shape != first.shape or not runtime.can_cast(wanted.dtype, first.dtype)):
            with pytest.raises(RuntimeError):
                inplace(first.detach().clone(), *sample.args[1:], **sample.kwargs)
            continue
        target = first.clone()
        runtime.manual_seed(0)
        result = inplace(target, *sample.args[1:], **sample.kwargs)
        assert result is target
        assert target._version == 1
        array = target.detach().numpy()
        assert_equal(array, wanted.detach().numpy().astype(array.dtype))
        written += 1
        inputs = sample.tensors()
        if wanted.requires_grad and wanted.dtype == target.dtype:
            cotangent = runtime.ones_like(wanted)
            grads = runtime.autograd.grad(target, inputs, cotangent, allow_unused=True)
            expected = runtime.autograd.grad(wanted, inputs, cotangent, allow_unused=True)
            for grad, want in zip(grads, expected, strict=True):
                have = 0.0 if grad is None else grad.numpy()
                np.testing.assert_allclose(have, 0.0 if want is None else want.numpy(), rtol=1e-12, atol=1e-12)
    assert written


@pytest.mark.parametrize(("info", "dtype"), cases([i for i in DIFFERENTIABLE if i.inplace], ("float64",)))
@pytest.mark.parametrize("recorded", [False, True])
def test_inplace_variant_has_the_same_tangents(info: OperatorInfo, dtype: str, recorded: bool) -> None:
    function = operator_function(info)
    assert info.inplace is not None
    base, _, overload = info.inplace.partition(".")
    inplace = getattr(operators, f"{base}_{overload or 'default'}")
    random = np.random.default_rng(0)
    for sample in sample_inputs(info, dtype, requires_grad=recorded):
        first = sample.args[0]
        runtime.manual_seed(0)
        if not first.is_floating_point() or function(*sample.args, **sample.kwargs).shape != first.shape:
            continue
        with forward_ad.dual_level():
            args = [
                forward_ad.make_dual(a, runtime.tensor(_random_like(random, a)))
                if isinstance(a, Tensor) and a.is_floating_point()
                else a
                for a in sample.args
            ]
            runtime.manual_seed(0)
            wanted = forward_ad.unpack_dual(function(*args, **sample.kwargs))
            expected = np.zeros(first.shape) if wanted.tangent is None else wanted.tangent.detach().numpy()
            room = runtime.stack([args[0], args[0]])  # so that a view is written, too
            becomes_view = info.schema.endswith("Tensor(a)")
            for target, whole in ((args[0].clone(), None), *(() if becomes_view else ((room[1], room),))):
                runtime.manual_seed(0)
                inplace(target, *args[1:], **sample.kwargs)
                for written in (target,) if whole is None else (target, whole[1]):
                    found = forward_ad.unpack_dual(written).tangent
                    assert found is not None
                    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("info", [i for i in OPERATORS.values() if "(a" not in i.schema], ids=lambda info: info.name)
def test_results_have_memory_of_their_own(info: OperatorInfo) -> None:
    """A write to one shows neither in the other nor twice in itself, whatever sizes and numbers were given."""
    shared = False
    for dtype in ("float64", "complex128", "int64"):
        for sample in edge_samples(info, dtype):
            given = tensors_of([*sample.args, *sample.kwargs.values()])
            try:
                out = tensors_of(operator_function(info)(*sample.args, **sample.kwargs))
            except (ValueError, IndexError, RuntimeError, TypeError):
                continue  # not every sample makes sense with all sizes 1, or in every dtype
            shares = any(share_memory(one, other) for one in given for other in out)
            assert not shares or info.name in MAY_ALIAS, sample.text
            shared |= shares
            if not shares:
                for array in [tensor._array for tensor in out]:
                    assert array.flags.writeable, sample.text
                    assert all(array.strides[i] for i in range(array.ndim) if array.size and array.shape[i] > 1)
    assert shared == (info.name in MAY_ALIAS)


@pytest.mark.parametrize(("info", "dtype"), cases([i for i in OPERATORS.values() if "!)" not in i.schema], DTYPES))
def test_inputs_are_left_alone(info: OperatorInfo, dtype: str) -> None:
    for sample in sample_inputs(info, dtype, requires_grad=False):
        before = copy.deepcopy([t.numpy() for t in tensors_of([*sample.args, *sample.kwargs.values()])])
        operator_function(info)(*sample.args, **sample.kwargs)
        for array, tensor in zip(before, tensors_of([*sample.args, *sample.kwargs.values()]), strict=True):
            np.testing.assert_array_equal(array, tensor.numpy())


# -- special values, Tensors without elements and without dimensions

# Ranges of numbers come in other amounts, and memory that nobody wrote holds anything.
UNSPECIFIC = frozenset(("empty_like", "empty_permuted", "new_empty", "new_empty_strided", "empty_strided"))
EVERY = [info for info in OPERATORS.values() if not info.random and info.name not in UNSPECIFIC]
NARROW = {"float64": "float32", "complex128": "complex64"}


OF_OUR_OWN = ("tuple index", "reshape array", "array is 0-dimensional", "operands could not")  # what users never see


def outcome(info: OperatorInfo, sample: Sample) -> Any:
    """What a call gives, or the class of its error, which has to be one for a user to see."""
    result: Any = None
    try:
        result = tensors_of(operator_function(info)(*sample.args, **sample.kwargs))
    except (RuntimeError, IndexError, ValueError) as error:
        result = error
    if isinstance(result, Exception):
        assert not any(text in str(result) for text in OF_OUR_OWN), result
        return type(result)
    return result


def assert_alike(found: Any, wanted: Any, close: float, what: Any) -> None:
    """The same but for rounding: NaN and infinities at the same places."""
    if isinstance(wanted, type):
        assert found is wanted, what
        return
    assert len(found) == len(wanted), what
    for one, other in zip(found, wanted, strict=True):
        one, other = one.detach().numpy(), other.detach().numpy()
        assert one.shape == other.shape, what
        if one.dtype.kind == "c":  # which parts of an infinity are NaN depends on the order of additions
            one, other = (np.where(np.isfinite(each), each, math.nan) for each in (one, other))
        np.testing.assert_allclose(one, other, rtol=close, atol=close, err_msg=str(what))


# Factors are chosen by size, and what is divided by a number that should be 0 is nothing but rounding.
BY_ROUNDING = frozenset(
    (
        "linalg_inv",
        "linalg_inv_ex",
        "inverse",
        "_linalg_solve_ex",
        "linalg_solve",
        "linalg_solve_triangular",
        "_linalg_svd",
        "linalg_svd",
        "linalg_svdvals",
    )
)
OTHER_LIMITS = frozenset(("nan_to_num",))  # an infinity becomes the largest number of the dtype


@pytest.mark.parametrize(("info", "dtype"), cases(EVERY, ("float64", "complex128")))
def test_special_values_give_the_same_in_narrow_dtypes(info: OperatorInfo, dtype: str) -> None:
    narrow = NARROW[dtype]
    wide_samples, samples = (sample_inputs(info, each, False, "special") for each in (dtype, narrow))
    for wide, sample in zip(wide_samples, samples, strict=True):
        if info.name not in BY_ROUNDING | OTHER_LIMITS and "dtype" not in sample.text:
            assert_alike(outcome(info, sample), outcome(info, wide), 1e-4, sample.text)


@pytest.mark.parametrize(("info", "dtype"), cases([i for i in EVERY if i.pointwise], ("float64", "complex128")))
def test_special_values_are_taken_one_by_one(info: OperatorInfo, dtype: str) -> None:
    """An array gives what its elements give alone."""
    function = operator_function(info)
    for sample in sample_inputs(info, dtype, False, "special"):
        whole = function(*sample.args, **sample.kwargs)
        if not isinstance(whole, Tensor) or whole.dim() == 0 or whole.shape[0] == 0:
            continue
        args = [
            arg.expand(whole.shape) if isinstance(arg, Tensor) and arg.dim() and arg.dim() <= whole.dim() else arg
            for arg in sample.args
        ]
        for place in np.ndindex(*whole.shape[:1]):
            row = [arg[place] if isinstance(arg, Tensor) and arg.shape == whole.shape else arg for arg in args]
            assert_alike([function(*row, **sample.kwargs)], [whole[place]], 1e-12, (sample.text, row))


@pytest.mark.parametrize("values", ["empty", "0-dim"])
@pytest.mark.parametrize("info", [i for i in EVERY if i.samples], ids=lambda info: info.name)
def test_without_elements_and_without_dimensions(info: OperatorInfo, values: str) -> None:
    """All dtypes behave alike; where nothing is wrong there are gradients."""
    for text in info.samples:
        found = {}
        for dtype in ("float64", "float32", "complex128"):
            if info.dtypes and getattr(runtime, dtype).kind_name in info.dtypes and "dtype" not in text:
                sample = make_sample(info, text, getattr(runtime, dtype), True, values)
                found[dtype] = outcome(info, sample)
        shapes = {
            dtype: each if isinstance(each, type) else [tensor.shape for tensor in each]
            for dtype, each in found.items()
        }
        if "complex=False" not in text:
            assert all(shape == next(iter(shapes.values())) for shape in shapes.values()), (text, shapes)
        if not info.pointwise or not info.differentiable:
            continue
        for dtype in [dtype for dtype, each in found.items() if not isinstance(each, type)]:
            sample = make_sample(info, text, getattr(runtime, dtype), True, values)
            function, inputs = as_function(info, sample)
            for out in function(*inputs):
                grads = runtime.autograd.grad(out, inputs, runtime.ones_like(out), allow_unused=True)
                for grad, tensor in zip(grads, inputs, strict=True):
                    assert grad is None or (grad.shape, grad.dtype) == (tensor.shape, tensor.dtype)


# -- complex numbers where others are real


def scalars_of(info: OperatorInfo) -> list[int]:
    """The places of numbers among the arguments."""
    parameters = getattr(operators, f"{info.function}_op").signature.parameters
    return [i for i, parameter in enumerate(parameters) if parameter.type.removesuffix("?") == "Scalar"]


TAKING_COMPLEX = [info for info in DIFFERENTIABLE if "complex" in info.dtypes and info.name not in DRAWN]


@pytest.mark.parametrize("info", [i for i in TAKING_COMPLEX if scalars_of(i)], ids=lambda info: info.name)
def test_gradients_beside_complex_numbers(info: OperatorInfo) -> None:
    """A number that multiplies is conjugated on the way back, and not on the way forth."""
    names = [parameter.name for parameter in getattr(operators, f"{info.function}_op").signature.parameters]
    for given in sample_inputs(info, "complex128")[:2]:
        for place in scalars_of(info):
            args, kwargs = list(given.args), dict(given.kwargs)
            if place < len(args):
                args[place] = 0.7 - 1.3j
            else:
                kwargs[names[place]] = 0.7 - 1.3j
            function, inputs = as_function(info, Sample(given.text, tuple(args), kwargs))
            try:
                taken = bool(inputs) and bool(function(*inputs))
            except (RuntimeError, TypeError):  # a number that has to be real
                continue
            assert not taken or gradcheck(function, inputs, check_forward_ad=True)


@pytest.mark.parametrize("info", [i for i in TAKING_COMPLEX if i.pointwise], ids=lambda info: info.name)
def test_gradients_of_real_and_complex_arguments_together(info: OperatorInfo) -> None:
    """Each gets a gradient of its own kind."""
    for given in sample_inputs(info, "complex128")[:1]:
        if len(given.tensors()) < 2:
            continue
        for real in given.tensors():
            args = [
                wrap(arg.detach().numpy().real.copy()).requires_grad_() if arg is real else arg for arg in given.args
            ]
            function, inputs = as_function(info, Sample(given.text, tuple(args), given.kwargs))
            try:
                taken = bool(function(*inputs))
            except RuntimeError:  # an operator that wants one dtype
                continue
            assert not taken or gradcheck(function, inputs)


# -- half precision

# What a result is depends on the dtype itself, or its dtype is always the same.
ABOUT_DTYPES = frozenset(("nan_to_num", "bincount", "view.dtype", "complex", "view_as_complex"))


def in_float32(sample: Sample, half: runtime.dtype) -> Sample:
    def converted(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([converted(item) for item in value])
        if isinstance(value, Tensor) and value.dtype is half:
            return value.detach().float().requires_grad_(value.requires_grad)
        return runtime.float32 if value is half else value

    args = tuple(converted(value) for value in sample.args)
    return Sample(sample.text, args, {name: converted(value) for name, value in sample.kwargs.items()})


def assert_rounded(found: Tensor, wanted: Tensor, half: runtime.dtype, ulps: float, what: Any) -> None:
    """`wanted` is of float32, `found` what is nearest to it in half precision, but for some units in the last place."""
    if found.dtype is half:
        wanted = wanted.detach().to(half)
    assert found.dtype is wanted.dtype, what
    close = 0.0 if found.dtype is not half else ulps * runtime.finfo(half).eps
    one, other = found.detach().double().numpy(), wanted.detach().double().numpy()
    np.testing.assert_allclose(one, other, rtol=close, atol=close if ulps > 1 else 0.0, err_msg=str(what))


@pytest.mark.parametrize(("info", "dtype"), cases([i for i in EVERY if i.name not in ABOUT_DTYPES], HALVES))
def test_half_precision_is_float32_rounded(info: OperatorInfo, dtype: str) -> None:
    """Once, where an operator is one kernel; what is made of several operators may round after each."""
    half = getattr(runtime, dtype)
    ulps = 16 if info.composite else 1
    for values in ("usual", "special"):
        for sample in sample_inputs(info, dtype, False, values):
            what = (values, sample.text)
            if not any(tensor.dtype is half for tensor in tensors_of([*sample.args, *sample.kwargs.values()])):
                continue
            found, wanted = outcome(info, sample), outcome(info, in_float32(sample, half))
            if isinstance(wanted, type):
                assert found is wanted, what
                continue
            if info.composite and found in (RuntimeError, NotImplementedError):  # of a part that has no half precision
                continue
            if values == "special" and info.composite and any(t.isinf().any() or t.isnan().any() for t in wanted):
                continue  # at which step an infinity comes in depends on the steps
            for one, other in zip(found, wanted, strict=True):
                assert one.dtype is half or other.dtype is not runtime.float32 or not tensors_of(list(sample.args)), (
                    what
                )
                assert_rounded(one, other, half, ulps, what)


@pytest.mark.parametrize(
    ("info", "dtype"), cases([i for i in DIFFERENTIABLE if i.name not in ABOUT_DTYPES | DRAWN], HALVES)
)
def test_gradients_in_half_precision_are_those_of_float32(info: OperatorInfo, dtype: str) -> None:
    half = getattr(runtime, dtype)
    for sample, function, inputs in supported(info, dtype):
        wide_function, wide_inputs = as_function(info, in_float32(sample, half))
        wide_function = seeded(wide_function) if info.random else wide_function
        found, wanted = (
            runtime.autograd.grad(outs, given, [runtime.ones_like(out) for out in outs], allow_unused=True)
            for outs, given in ((function(*inputs), inputs), (wide_function(*wide_inputs), wide_inputs))
        )
        for one, other in zip(found, wanted, strict=True):
            assert (one is None) == (other is None), sample.text
            if one is not None and other is not None:
                assert one.dtype is half
                assert_rounded(one, other, half, 32, sample.text)


def test_about_a_third_is_composite() -> None:
    composite = sum(info.composite for info in OPERATORS.values())
    assert composite >= len(OPERATORS) / 5
    assert sum(info.differentiable for info in OPERATORS.values()) >= 90


def in_other_forms(operator: Operator, args: tuple[Any, ...]) -> Iterable[tuple[Any, ...]]:
    """The same arguments as binding takes them too: an int for a list, NumPy's numbers, Tensors for ints."""
    for position, (parameter, value) in enumerate(zip(operator.signature.parameters, args, strict=False)):
        kind = parameter.type.rstrip("?").replace("SymInt", "int")
        forms: list[Any] = []
        if type(value) is int and kind == "int":
            forms = [np.int64(value), runtime.tensor(value)]
        elif type(value) in (int, float) and kind in ("Scalar", "float"):
            forms = [np.asarray(value)[()]]
        elif type(value) is bool:
            forms = [np.bool_(value)]
        elif kind.startswith("int[") and isinstance(value, list | tuple) and value:
            forms = [list(value), tuple(value), [np.int64(item) for item in value]]
            if kind == f"int[{len(value)}]" and len(set(value)) == 1:
                forms.append(value[0])
        for form in forms:
            yield (*args[:position], form, *args[position + 1 :])


PACKETS = sorted({name.partition(".")[0] for name in OPERATORS})


@pytest.mark.parametrize("base", PACKETS)
def test_calls_again_and_again_through_the_packet(base: str) -> None:
    """Packets remember which overload took arguments of such types; that one gets them as they were given."""
    calls = []
    for info in OPERATORS.values():
        if info.name.partition(".")[0] != base:
            continue
        operator, overload = (getattr(operators, f"{info.function}{suffix}") for suffix in ("_op", ""))
        for sample in sample_inputs(info, "float64", requires_grad=False)[:4]:
            runtime.manual_seed(0)
            wanted = operator(*sample.args, **sample.kwargs)
            calls.append((packets.PACKETS[base], sample.args, sample.kwargs, wanted))
            for args in in_other_forms(operator, sample.args):
                # Among several overloads a Tensor is one before it is a number.
                pairs = zip(args, sample.args, strict=True)
                numbers = not any(isinstance(given, Tensor) and type(given) is not type(was) for given, was in pairs)
                called = packets.PACKETS[base] if numbers else overload
                calls.append((called, args, sample.kwargs, wanted))
    for _ in range(3):
        for called, args, kwargs, wanted in calls:
            runtime.manual_seed(0)
            found = called(*args, **kwargs)
            assert len(tensors_of(found)) == len(tensors_of(wanted))
            for one, other in zip(tensors_of(found), tensors_of(wanted), strict=True):
                assert one.dtype == other.dtype
                if base not in UNINITIALIZED:
                    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


# Their values are whatever is in memory.
UNINITIALIZED = frozenset(("empty", "empty_like", "new_empty"))


@pytest.mark.parametrize(("info", "dtype"), cases(OPERATORS.values(), ("float32",)))
def test_inference_mode_gives_the_same(info: OperatorInfo, dtype: str) -> None:
    """There operators take a way of their own; what it makes is marked, and arguments are not."""
    function = operator_function(info)
    for sample, same in zip(sample_inputs(info, dtype), sample_inputs(info, dtype), strict=True):
        runtime.manual_seed(0)
        expected = tensors_of(function(*sample.args, **sample.kwargs))
        runtime.manual_seed(0)
        given = tensors_of([*same.args, *same.kwargs.values()])
        with runtime.inference_mode():
            found = tensors_of(function(*same.args, **same.kwargs))
        assert not any(tensor.is_inference() for tensor in given)
        for tensor, other in zip(found, expected, strict=True):
            assert tensor.grad_fn is None
            assert tensor.dtype is other.dtype
            # The native core adds up in another order than NumPy.
            one, two = tensor.detach().numpy(), other.detach().numpy()
            close = 16 * np.finfo(one.dtype).eps if one.dtype.kind in "fc" else 0
            np.testing.assert_allclose(one, two, rtol=close, atol=close)
            if not any(np.may_share_memory(tensor._array, one._array) for one in given) and tensor._array.size:
                assert tensor.is_inference()
            assert not tensor.is_inference() or not any(tensor is one or tensor._base is one for one in given)


def test_inference_mode_calls_kernels_that_are_put_in_later() -> None:
    x = runtime.ones(2)
    with runtime.inference_mode():
        assert runtime.exp(x).sum() > 5
    with runtime.library._scoped_library("aten", "IMPL") as aten:
        with pytest.warns(UserWarning, match="previously registered kernel"):
            aten.impl("exp", lambda self: self * 0, "CPU")
        with runtime.inference_mode():
            assert runtime.exp(x).sum() == 0
    with runtime.inference_mode():
        assert runtime.exp(x).sum() > 5
