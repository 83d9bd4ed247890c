"""Every operator, driven by the registry: an operator is tested by being declared.

What is proven of derivatives and variants is in tests/gradwright/verify.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators, packets
from generated.registry import OPERATORS
from gradwright.autograd import gradcheck
from gradwright.testing import Sample, as_function, make_sample, operator_function, sample_inputs
from gradwright.utils._python_dispatch import TorchDispatchMode
from runtime.base.tensor import Tensor, wrap
from runtime.call.dispatch import Operator
from runtime.load.operator_info import OperatorInfo
from support.properties import Properties
from support.results import MAY_ALIAS, edge_samples, share_memory

properties = Properties()

DIFFERENTIABLE = [info for info in OPERATORS.values() if info.differentiable or info.composite]
HALVES = ("float16", "bfloat16")


def cases(infos: Iterable[OperatorInfo], dtypes: tuple[str, ...]) -> list[tuple[OperatorInfo, str]]:
    return [(info, dtype) for info in infos for dtype in dtypes if sample_inputs(info, dtype)]


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
        gradwright.manual_seed(0)
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
        gradwright.manual_seed(0)
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


@properties.hold_for((info,) for info in [i for i in OPERATORS.values() if "(a" not in i.schema])
def results_have_memory_of_their_own(info: OperatorInfo) -> None:
    """A write to one shows neither in the other nor twice in itself, whatever sizes and numbers were given."""
    shared, calls = False, 0
    for dtype in ("float64", "complex128", "int64"):
        for sample in edge_samples(info, dtype):
            given = tensors_of([*sample.args, *sample.kwargs.values()])
            try:
                out = tensors_of(operator_function(info)(*sample.args, **sample.kwargs))
            except (ValueError, IndexError, RuntimeError, TypeError):
                continue  # not every sample makes sense with all sizes 1, or in every dtype
            calls += 1
            shares = any(share_memory(one, other) for one in given for other in out)
            assert not shares or info.name in MAY_ALIAS, sample.text
            shared |= shares
            if not shares:
                for array in [tensor._array for tensor in out]:
                    assert array.flags.writeable, sample.text
                    assert all(array.strides[i] for i in range(array.ndim) if array.size and array.shape[i] > 1)
    assert calls
    assert shared == (info.name in MAY_ALIAS)


# -- special values, Tensors without elements and without dimensions

# Ranges of numbers come in other amounts, and memory that nobody wrote holds anything.
UNSPECIFIC = frozenset(("empty_like", "empty_permuted", "new_empty", "new_empty_strided", "empty_strided"))
# Where a number is NaN, the largest of a column is the first that a comparison comes to.
PIVOTS = frozenset(("_linalg_slogdet", "linalg_lu"))
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
# An infinity becomes the largest number of the dtype; the next number is another one.
OTHER_LIMITS = frozenset(("nan_to_num", "nextafter"))


@properties.hold_for(cases(EVERY, ("float64", "complex128")))
def special_values_give_the_same_in_narrow_dtypes(info: OperatorInfo, dtype: str) -> None:
    narrow = NARROW[dtype]
    wide_samples, samples = (sample_inputs(info, each, False, "special") for each in (dtype, narrow))
    for wide, sample in zip(wide_samples, samples, strict=True):
        if info.name not in BY_ROUNDING | OTHER_LIMITS | PIVOTS and "dtype" not in sample.text:
            assert_alike(outcome(info, sample), outcome(info, wide), 1e-4, sample.text)


@properties.hold_for(cases([i for i in EVERY if i.pointwise], ("float64", "complex128")))
def special_values_are_taken_one_by_one(info: OperatorInfo, dtype: str) -> None:
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


@properties.hold_for((info, values) for info in EVERY if info.samples for values in ("empty", "0-dim"))
def without_elements_and_without_dimensions(info: OperatorInfo, values: str) -> None:
    """All dtypes behave alike; where nothing is wrong there are gradients."""
    for text in info.samples:
        found = {}
        for dtype in ("float64", "float32", "complex128"):
            if info.dtypes and getattr(gradwright, dtype).kind_name in info.dtypes and "dtype" not in text:
                sample = make_sample(info, text, getattr(gradwright, dtype), True, values)
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
            sample = make_sample(info, text, getattr(gradwright, dtype), True, values)
            function, inputs = as_function(info, sample)
            for out in function(*inputs):
                grads = gradwright.autograd.grad(out, inputs, gradwright.ones_like(out), allow_unused=True)
                for grad, tensor in zip(grads, inputs, strict=True):
                    assert grad is None or (grad.shape, grad.dtype) == (tensor.shape, tensor.dtype)


# -- complex numbers where others are real


def scalars_of(info: OperatorInfo) -> list[int]:
    """The places of numbers among the arguments."""
    parameters = getattr(operators, f"{info.function}_op").signature.parameters
    return [i for i, parameter in enumerate(parameters) if parameter.type.removesuffix("?") == "Scalar"]


TAKING_COMPLEX = [info for info in DIFFERENTIABLE if "complex" in info.dtypes and info.name not in DRAWN]


@properties.hold_for((info,) for info in [i for i in TAKING_COMPLEX if scalars_of(i)])
def gradients_beside_complex_numbers(info: OperatorInfo) -> None:
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


@properties.hold_for((info,) for info in [i for i in TAKING_COMPLEX if i.pointwise])
def gradients_of_real_and_complex_arguments_together(info: OperatorInfo) -> None:
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
ABOUT_DTYPES = frozenset((
    "nan_to_num", "bincount", "view.dtype", "view_copy.dtype", "complex", "view_as_complex", "nextafter", "_cast_Float",
    *(f"linspace.{ends}" for ends in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")),
    *(f"logspace.{ends}" for ends in ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")),
))  # fmt: skip


def in_float32(sample: Sample, half: gradwright.dtype) -> Sample:
    def converted(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)([converted(item) for item in value])
        if isinstance(value, Tensor) and value.dtype is half:
            return value.detach().float().requires_grad_(value.requires_grad)
        return gradwright.float32 if value is half else value

    args = tuple(converted(value) for value in sample.args)
    return Sample(sample.text, args, {name: converted(value) for name, value in sample.kwargs.items()})


def assert_rounded(found: Tensor, wanted: Tensor, half: gradwright.dtype, ulps: float, what: Any) -> None:
    """`wanted` is of float32, `found` what is nearest to it in half precision, but for some units in the last place."""
    if found.dtype is half:
        wanted = wanted.detach().to(half)
    assert found.dtype is wanted.dtype, what
    close = 0.0 if found.dtype is not half else ulps * gradwright.finfo(half).eps
    one, other = found.detach().double().numpy(), wanted.detach().double().numpy()
    np.testing.assert_allclose(one, other, rtol=close, atol=close if ulps > 1 else 0.0, err_msg=str(what))


# One of the results is what was computed in float32 on the way, as in PyTorch.
UNROUNDED = frozenset(("_fused_rms_norm", "_scaled_dot_product_flash_attention_for_cpu"))


def takes_half(sample: Sample, half: gradwright.dtype) -> bool:
    return any(tensor.dtype is half for tensor in tensors_of([*sample.args, *sample.kwargs.values()]))


IN_HALF = [
    case
    for case in cases([i for i in EVERY if i.name not in ABOUT_DTYPES], HALVES)
    if any(takes_half(sample, getattr(gradwright, case[1])) for sample in sample_inputs(*case, False))
]


@properties.hold_for(IN_HALF)
def half_precision_is_float32_rounded(info: OperatorInfo, dtype: str) -> None:
    """Once, where an operator is one kernel; what is made of several operators may round after each."""
    half = getattr(gradwright, dtype)
    ulps, compared = 16 if info.composite else 1, 0
    for values in ("usual", "special"):
        for sample in sample_inputs(info, dtype, False, values):
            what = (values, sample.text)
            if not takes_half(sample, half):
                continue
            found, wanted = outcome(info, sample), outcome(info, in_float32(sample, half))
            if isinstance(wanted, type):
                assert found is wanted, what
                continue
            assert not isinstance(found, type), what
            if values == "special" and info.composite and any(t.isinf().any() or t.isnan().any() for t in wanted):
                continue  # at which step an infinity comes in depends on the steps
            for one, other in zip(found, wanted, strict=True):
                rounded = (
                    one.dtype is half or other.dtype is not gradwright.float32 or not tensors_of(list(sample.args))
                )
                assert rounded or info.name in UNROUNDED, what
                if one.dtype is not half and info.name in UNROUNDED:
                    np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5)
                    continue
                assert_rounded(one, other, half, ulps, what)
            compared += 1
    assert compared


@properties.hold_for(cases([i for i in DIFFERENTIABLE if i.name not in ABOUT_DTYPES | DRAWN], HALVES))
def gradients_in_half_precision_are_those_of_float32(info: OperatorInfo, dtype: str) -> None:
    half = getattr(gradwright, dtype)
    for sample, function, inputs in supported(info, dtype):
        wide_function, wide_inputs = as_function(info, in_float32(sample, half))
        wide_function = seeded(wide_function) if info.random else wide_function
        found, wanted = (
            gradwright.autograd.grad(outs, given, [gradwright.ones_like(out) for out in outs], allow_unused=True)
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
            forms = [np.int64(value), gradwright.tensor(value)]
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


# Of each packet the first overload.
PACKETS = {info.name.partition(".")[0]: info for info in reversed(OPERATORS.values())}


@properties.hold_for((info, base) for base, info in PACKETS.items())
def calls_again_and_again_through_the_packet(info: OperatorInfo, base: str) -> None:
    """Packets remember which overload took arguments of such types; that one gets them as they were given."""
    calls = []
    for each in OPERATORS.values():
        if each.name.partition(".")[0] != base:
            continue
        operator, overload = (getattr(operators, f"{each.function}{suffix}") for suffix in ("_op", ""))
        for sample in sample_inputs(each, "float64", requires_grad=False)[:4]:
            gradwright.manual_seed(0)
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
            gradwright.manual_seed(0)
            found = called(*args, **kwargs)
            assert len(tensors_of(found)) == len(tensors_of(wanted))
            for one, other in zip(tensors_of(found), tensors_of(wanted), strict=True):
                assert one.dtype == other.dtype
                if base not in UNINITIALIZED:
                    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


# Their values are whatever is in memory.
UNINITIALIZED = frozenset(("empty", "empty_like", "new_empty"))


@properties.hold_for(cases(OPERATORS.values(), ("float32",)))
def inference_mode_gives_the_same(info: OperatorInfo, dtype: str) -> None:
    """There operators take a way of their own; what it makes is marked, and arguments are not."""
    function = operator_function(info)
    for sample, same in zip(sample_inputs(info, dtype), sample_inputs(info, dtype), strict=True):
        gradwright.manual_seed(0)
        expected = tensors_of(function(*sample.args, **sample.kwargs))
        gradwright.manual_seed(0)
        given = tensors_of([*same.args, *same.kwargs.values()])
        with gradwright.inference_mode():
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
    x = gradwright.ones(2)
    with gradwright.inference_mode():
        assert gradwright.exp(x).sum() > 5
    with gradwright.library._scoped_library("aten", "IMPL") as aten:
        with pytest.warns(UserWarning, match="previously registered kernel"):
            aten.impl("exp", lambda self: self * 0, "CPU")
        with gradwright.inference_mode():
            assert gradwright.exp(x).sum() == 0
    with gradwright.inference_mode():
        assert gradwright.exp(x).sum() > 5


def test_samples_have_the_rank_and_the_zeros_that_they_say() -> None:
    info = OPERATORS["_linalg_det"]
    for dtype in ("float64", "complex128"):
        (matrices,) = make_sample(info, "T(3, 3, 3, rank=[1, 3, 0])", getattr(gradwright, dtype)).args
        assert np.linalg.matrix_rank(matrices.detach().numpy()).tolist() == [1, 3, 0]
        (numbers,) = make_sample(info, "T(3, 4, zeros=5)", getattr(gradwright, dtype)).args
        assert np.count_nonzero(numbers.detach().numpy() == 0) == 5


class PassingOn(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def seen_of(function: Any, sample: Sample, mode: Any) -> Any:
    """What a call gives, in all that can be seen of it, and its gradients; the class of an error."""
    gradwright.manual_seed(0)
    try:
        with mode:
            outputs = tensors_of(function(*sample.args, **sample.kwargs))
            inputs = [tensor for tensor in tensors_of(list(sample.args)) if tensor.requires_grad]
            roots = [out for out in outputs if out.requires_grad and out.dtype.is_floating_point]
            starts = [gradwright.ones_like(out) for out in roots]
            grads = gradwright.autograd.grad(roots, inputs, starts, allow_unused=True) if roots and inputs else ()
    except (RuntimeError, NotImplementedError) as error:
        return type(error)
    looks = [
        (out.dtype, out.shape, out.stride(), out._version, out._base is None, out.grad_fn and out.grad_fn.name())
        for out in outputs
    ]
    return looks, [None if grad is None else grad.numpy() for grad in grads], [out.detach().numpy() for out in outputs]


@properties.hold_for((info,) for info in OPERATORS.values())
def a_dispatch_mode_that_passes_calls_on_changes_nothing(info: OperatorInfo) -> None:
    functions = [getattr(operators, info.function)]
    if info.inplace is not None:
        written = getattr(gradwright.ops.aten, info.inplace.partition(".")[0])
        functions.append(lambda self, *args, **kwargs: written(self * 1, *args, **kwargs))
    for function in functions:
        pairs = zip(sample_inputs(info, "float64")[:1], sample_inputs(info, "float64")[:1], strict=True)
        for one, other in pairs:
            expected, found = seen_of(function, one, contextlib.nullcontext()), seen_of(function, other, PassingOn())
            if not isinstance(expected, tuple):
                assert found is expected
                continue
            assert found[0] == expected[0]
            assert [grad is None for grad in found[1]] == [grad is None for grad in expected[1]]
            for actual, wanted in zip((*found[1], *found[2]), (*expected[1], *expected[2]), strict=True):
                if wanted is not None and info.name.partition(".")[0] not in UNINITIALIZED:
                    np.testing.assert_allclose(actual, wanted, rtol=1e-9, atol=1e-12)


test_operator, test_properties_are_checked = properties.tests(least=12_600)
