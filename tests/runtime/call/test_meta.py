"""Tensors without data: every operator gives what it gives in main memory, by shape, strides, dtype and history."""

from __future__ import annotations

import copy
import pickle
import resource
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gradwright
from generated.registry import OPERATORS
from gradwright import nn, optim
from gradwright.nn import functional as F
from gradwright.testing import operator_function, sample_inputs
from runtime.base.meta_array import MetaArray, strided
from runtime.base.tensor import Tensor, wrap
from runtime.load.operator_info import OperatorInfo
from runtime.operators import meta_sizes
from support.properties import Properties

properties = Properties()

DTYPES = ("float32", "complex128", "int64", "float16")

# Operators whose results, or the errors of whose arguments, are in the values.
VALUES = frozenset((
    "_ctc_loss.Tensor", "_ctc_loss_backward.Tensor", "_foreach_addcdiv.Tensor", "_foreach_addcdiv_.Tensor",
    "_foreach_addcmul.Tensor", "_foreach_addcmul_.Tensor", "_pack_padded_sequence", "_pack_padded_sequence_backward",
    "_local_scalar_dense", "_pad_packed_sequence", "_reshape_from_tensor", "_unique", "_unique2", "allclose",
    "argwhere", "bincount",
    "combinations", "ctc_loss.Tensor", "equal", "gru.data", "index.Tensor", "is_nonzero", "linalg_lstsq",
    "linspace.Scalar_Tensor", "linspace.Tensor_Scalar", "linspace.Tensor_Tensor", "logspace.Scalar_Tensor",
    "logspace.Tensor_Scalar", "logspace.Tensor_Tensor", "lstm.data", "masked_select", "narrow.Tensor", "nonzero",
    "nonzero_numpy", "one_hot", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor", "rnn_relu.data",
    "rnn_tanh.data", "tensor_split.tensor_indices_or_sections", "unique_consecutive", "unique_dim",
    "unique_dim_consecutive", "where",
))  # fmt: skip
# It goes to main memory.
ELSEWHERE = frozenset(("to.device",))
# The gradient is one of those above, or refuses singular vectors by their values.
BACKWARD_BY_VALUES = frozenset((
    "_linalg_eigh", "_linalg_svd", "embedding_dense_backward", "index_put", "linalg_eig", "linalg_eigh", "linalg_svd",
    "masked_scatter", "svd",
))  # fmt: skip
# Where many sizes are renamed, a result that was cut out of a larger one comes without the gap.
OWN_STRIDES = frozenset(("linalg_lstsq",))


def on_meta(value: Any) -> Any:
    if isinstance(value, Tensor):
        array = value._array
        out = gradwright.empty(0, device="meta")
        made = type(out)._make_subclass(type(out), out)
        made._array = strided(array.shape, array.dtype, array.strides)
        return made.requires_grad_() if value.requires_grad else made
    return type(value)(map(on_meta, value)) if isinstance(value, (list, tuple)) else value


def turned(value: Any) -> Any:
    """Tensors that lie in another order."""
    if isinstance(value, Tensor) and value.dim() > 1:
        if value.dim() == 4:
            made = value.detach().contiguous(memory_format=gradwright.channels_last)
        else:
            made = value.detach().transpose(0, -1).contiguous().transpose(0, -1)
        return wrap(made._array).requires_grad_(value.requires_grad)
    return type(value)(map(turned, value)) if isinstance(value, (list, tuple)) else value


def flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in flat(item)]
    return [] if value is None else [value]


def tensors(value: Any) -> list[Tensor]:
    return [each for each in flat(value) if isinstance(each, Tensor)]


def calls(info: OperatorInfo, change: Callable[[Any], Any]) -> list[tuple[Any, Any, Any, Any]]:
    """Arguments in main memory and without data, where either are there."""
    found = []
    for dtype in DTYPES:
        for sample in sample_inputs(info, dtype):
            args = [change(each) for each in sample.args]
            kwargs = {name: change(each) for name, each in sample.kwargs.items()}
            meta_args, meta_kwargs = list(map(on_meta, args)), {name: on_meta(each) for name, each in kwargs.items()}
            if not tensors([args, list(kwargs.values())]):
                if "Device? device" not in info.schema:
                    continue
                meta_kwargs["device"] = "meta"
            found.append((args, kwargs, meta_args, meta_kwargs))
    return found


def check(info: OperatorInfo, change: Callable[[Any], Any], backward: bool) -> None:
    function = operator_function(info)
    for args, kwargs, meta_args, meta_kwargs in calls(info, change):
        try:
            wanted = function(*args, **kwargs)
        except Exception as error:
            with pytest.raises(type(error)):
                function(*meta_args, **meta_kwargs)
            continue
        state = gradwright.get_rng_state()
        try:
            found = function(*meta_args, **meta_kwargs)
        except RuntimeError:
            assert info.name in VALUES | ELSEWHERE
            continue
        assert gradwright.equal(gradwright.get_rng_state(), state)
        one, other = flat(wanted), flat(found)
        assert len(one) == len(other)
        for want, have in zip(one, other, strict=True):
            if isinstance(want, Tensor):
                assert type(have._array) is MetaArray
                assert have.shape == want.shape
                assert have.stride() == want.stride() or (info.name in OWN_STRIDES and meta_sizes.LARGE == 0)
                assert (have.dtype, have.requires_grad) == (want.dtype, want.requires_grad)
                assert (have._base is None) == (want._base is None)
                assert (have.grad_fn and have.grad_fn.name()) == (want.grad_fn and want.grad_fn.name())
            else:
                assert have == want
        if backward:
            check_gradients(
                info, (one, [args, list(kwargs.values())]), (other, [meta_args, list(meta_kwargs.values())])
            )


def check_gradients(info: OperatorInfo, main: tuple[Any, Any], meta: tuple[Any, Any]) -> None:
    def gradients(outputs: Any, inputs: Any) -> Any:
        outputs, inputs = ([each for each in tensors(of) if each.requires_grad] for of in (outputs, inputs))
        if not outputs:
            return []
        ones = [gradwright.ones_like(each) for each in outputs]
        return gradwright.autograd.grad(outputs, inputs, ones, allow_unused=True)

    try:
        wanted = gradients(*main)
    except RuntimeError:
        assert info.name in BACKWARD_BY_VALUES
        return
    try:
        found = gradients(*meta)
    except RuntimeError:
        assert info.name in BACKWARD_BY_VALUES
        return
    for want, have in zip(wanted, found, strict=True):
        assert (want is None) == (have is None)
        if want is not None:
            assert have.is_meta
            assert (have.shape, have.dtype) == (want.shape, want.dtype)


@properties.hold_for((info,) for info in OPERATORS.values())
def results_look_as_in_main_memory(info: OperatorInfo) -> None:
    check(info, lambda value: value, backward=True)
    check(info, turned, backward=False)


@properties.hold_for((info,) for info in OPERATORS.values())
def results_look_so_where_sizes_are_renamed(info: OperatorInfo) -> None:
    with patch.multiple(meta_sizes, KEPT=1, LARGE=0):
        check(info, lambda value: value, backward=False)


def test_operators_that_need_values_are_few_and_do() -> None:
    for name in VALUES | ELSEWHERE:
        refused = 0
        for _, _, args, kwargs in calls(OPERATORS[name], lambda value: value):
            try:
                operator_function(OPERATORS[name])(*args, **kwargs)
            except RuntimeError:
                refused += 1
        assert refused, name


def test_large_calls_take_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    x = gradwright.ones(100000, 100000, device="meta")
    w = gradwright.ones(100000, 70000, device="meta", requires_grad=True)
    out = F.layer_norm(F.gelu(x @ w), [70000]).softmax(-1)
    out.sum().backward()
    assert w.grad is not None
    assert (w.grad.shape, w.grad.stride(), w.grad.device.type) == (w.shape, w.stride(), "meta")
    assert gradwright.cat([x, x], 1).shape == (100000, 200000)
    assert x.t().reshape(-1).shape == (10**10,)
    assert x.topk(50)[0].stride() == (50, 1)
    assert gradwright.linalg.svd(x, full_matrices=False)[1].shape == (100000,)
    assert gradwright.randn(10**6, 10**6, device="meta").numel() == 10**12
    part = gradwright.ones(100000, 100000, device="meta", requires_grad=True)
    part[10:50000].sum().backward()
    assert part.grad is not None
    assert part.grad.shape == part.shape
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 17  # KiB


def test_models_of_any_size() -> None:
    model = nn.TransformerEncoderLayer(4096, 32, 16384, batch_first=True, device="meta")
    out = model(gradwright.empty(16, 2048, 4096, device="meta"))
    out.sum().backward()
    assert out.shape == (16, 2048, 4096)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    optimizer.step()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.is_meta
        assert parameter.grad.shape == parameter.shape
    net = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Conv2d(64, 96, 3),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 1000),
    ).to("meta")  # fmt: skip
    loss = F.cross_entropy(
        net(gradwright.ones(256, 3, 224, 224, device="meta")), gradwright.ones(256, device="meta").long()
    )
    loss.backward()
    assert loss.shape == ()
    assert all(each.grad is not None and each.grad.shape == each.shape for each in net.parameters())


def test_views_and_writes() -> None:
    x = gradwright.ones(4, 6, device="meta")
    part = x[1:, ::2].t()
    assert part._base is x
    assert (part.shape, part.stride(), part.storage_offset()) == ((3, 3), (2, 6), 6)
    part.add_(1)
    assert x._version == part._version == 1
    leaf = gradwright.ones(4, 6, device="meta", requires_grad=True)
    y = leaf * 2
    y[0].mul_(3)
    assert y.grad_fn is not None
    assert y.grad_fn.name() == "CopySlices"
    y.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.is_meta
    with pytest.raises(RuntimeError, match="single memory location"):
        x[0].expand(3, 6).add_(1)
    x.t_()
    assert x.shape == (6, 4)
    out = gradwright.empty(0, device="meta")
    gradwright.add(x, x, out=out)
    assert out.shape == (6, 4)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x[0].add_(x)
    with pytest.raises(RuntimeError, match="same device"):
        gradwright.add(x, x, out=gradwright.empty(0))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.sum().item(), RuntimeError, r"Tensor.item\(\) cannot be called on meta tensors"),
        (lambda x: x.item(), RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar"),
        (lambda x: bool(x.sum()), RuntimeError, "cannot be called on meta"),
        (lambda x: float(x.sum()), RuntimeError, "cannot be called on meta"),
        (lambda x: x.tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda x: x.cpu(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda x: gradwright.ones(2, 3).copy_(x), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda x: x.numpy(), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda x: np.asarray(x), TypeError, "can't convert meta device type tensor to numpy"),
        (lambda x: x.nonzero(), NotImplementedError, "depends on the values"),
        (lambda x: x[x > 0], NotImplementedError, "depends on the values"),
        (lambda x: x + gradwright.ones(2, 3), RuntimeError, "Expected all tensors to be on the same device"),
        (lambda x: gradwright.ones(3, 2) @ x, RuntimeError, "meta and cpu"),
        (lambda x: x @ x, RuntimeError, r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
        (lambda x: gradwright.empty(2**60, device="meta"), RuntimeError, "addresses"),
        (lambda x: nn.Linear(2, 2, device="meta").to("cpu"), NotImplementedError, r"Module.to_empty\(\)"),
    ],
)
def test_what_is_refused(call: Callable[[Tensor], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(gradwright.ones(2, 3, device="meta"))


def test_what_belongs_to_a_device() -> None:
    x = gradwright.ones(2, 3, device="meta")
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr((x.long() + 1).int()) == "tensor(..., device='meta', size=(2, 3), dtype=gradwright.int32)"
    assert (x.is_meta, x.device.type, x.get_device(), x.data_ptr()) == (True, "meta", -1, 0)
    assert (x + gradwright.tensor(1.0)).is_meta
    assert x[gradwright.tensor([0, 1])].is_meta
    assert x.copy_(gradwright.zeros(2, 3)).is_meta
    assert gradwright.zeros(2, 3).to("meta").is_meta
    assert gradwright.zeros_like(x, device="cpu").tolist() == [[0.0] * 3] * 2
    assert gradwright.tensor([1, 2], device="meta").dtype is gradwright.int64
    for other in (copy.deepcopy(x.t()), pickle.loads(pickle.dumps(x.t()))):
        assert (other.is_meta, other.shape, other.stride()) == (True, (3, 2), (1, 3))
    with gradwright.inference_mode():
        assert (x + 1).is_inference()


def test_modules_come_and_go() -> None:
    layer = nn.Linear(2, 3, device="meta")
    assert repr(layer.weight).startswith("Parameter containing:\ntensor(..., device='meta', size=(3, 2)")
    layer.load_state_dict(nn.Linear(2, 3).state_dict())
    assert layer.weight.is_meta
    assert layer.to_empty(device="cpu").weight.device.type == "cpu"
    assert list(layer(gradwright.ones(1, 2)).shape) == [1, 3]
    other = nn.Linear(2, 3, device="meta")
    other.load_state_dict(nn.Linear(2, 3).state_dict(), assign=True)
    assert other.weight.device.type == "cpu"


def test_the_default_device() -> None:
    with gradwright.device("meta"):
        assert gradwright.ones(2).is_meta
        assert gradwright.tensor([1]).is_meta
        assert gradwright.arange(3).is_meta
        assert nn.Linear(2, 3).weight.is_meta
        assert not gradwright.from_numpy(np.ones(2)).is_meta
        assert not gradwright.zeros(2, device="cpu").new_zeros(3).is_meta
        with gradwright.device("cpu"):
            assert not gradwright.ones(2).is_meta
    assert not gradwright.ones(2).is_meta
    gradwright.set_default_device("meta")
    try:
        assert gradwright.ones(2).is_meta
    finally:
        gradwright.set_default_device(None)
    assert not gradwright.ones(2).is_meta


def test_tangents_have_no_data_either() -> None:
    x = gradwright.ones(3, 4, device="meta")
    out, tangent = gradwright.func.jvp(lambda each: (each @ each.t()).exp().sum(1), (x,), (x,))
    assert (out.shape, tangent.shape, tangent.device.type) == ((3,), (3,), "meta")


def test_a_custom_operator_says_how_results_look() -> None:
    @gradwright.library.custom_op("test_meta::doubled", mutates_args=())
    def doubled(x: Tensor) -> Tensor:
        return x * 2

    doubled.register_fake(lambda x: x.new_empty(7))
    assert doubled(gradwright.ones(3, device="meta")).shape == (7,)


test_operator, test_properties_are_checked = properties.tests(least=2_420)
