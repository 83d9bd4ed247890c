"""Tensors whose values lie on a device: every operator against the CPU, gradients, training, and what is refused."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from generated.registry import OPERATORS
from gradwright import nn, optim
from gradwright.testing import operator_function, sample_inputs
from runtime.load.operator_info import OperatorInfo
from support.devices import array_api_kernels, device, strict_arrays, toy_arrays
from support.properties import Properties

properties = Properties()


@pytest.fixture(scope="module", autouse=True)
def npu() -> Iterator[str]:
    with device("NPU", strict_arrays()) as name:
        yield name


def mapped(value: Any, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Arguments of a call, with other Tensors."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)([mapped(item, function) for item in value])
    return {name: mapped(item, function) for name, item in value.items()} if isinstance(value, dict) else value


def tensors_of(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return tensors_of(list(value.values()))
    return [each for item in value for each in tensors_of(item)] if isinstance(value, (list, tuple)) else []


def differentiable(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_(differentiable(tensor))


def on_device(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to("npu").requires_grad_(differentiable(tensor))


def assert_same(found: Any, wanted: Any) -> None:
    """Results on the device are those of the CPU, and lie there."""
    if isinstance(wanted, torch.Tensor):
        assert found.device.type == "npu"
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        assert found.requires_grad == wanted.requires_grad
        np.testing.assert_allclose(found.numpy(force=True), wanted.numpy(force=True), rtol=1e-6, atol=1e-9)
    elif isinstance(wanted, (list, tuple)):
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        assert found == wanted or found != found


def assert_same_gradients(found: Any, wanted: Any, inputs: Any, others: Any, order: int) -> int:
    """Gradients up to an order agree; how many orders there were."""
    pairs = [(f, w) for f, w in zip(found, wanted, strict=True) if w is not None and w.requires_grad]
    if not pairs or not others or not order:
        return 0
    random = np.random.default_rng(order)
    starts = [torch.tensor(random.normal(size=w.shape)).to(w.dtype) for _, w in pairs]
    options: dict[str, Any] = {"create_graph": order > 1, "allow_unused": True}
    of_cpu = torch.autograd.grad([w for _, w in pairs], others, starts, **options)
    there = [start.to("npu") for start in starts]
    of_device = torch.autograd.grad([f for f, _ in pairs], inputs, there, **options)
    for one, other in zip(of_device, of_cpu, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert_same(one, other)
    return 1 + assert_same_gradients(of_device, of_cpu, inputs, others, order - 1)


def check_says_what_is_missing(error: NotImplementedError) -> None:
    texts = ("has no kernel for NPU", "standard has no", "not implemented for", "is not implemented (")
    assert any(text in str(error) for text in texts)


# Those that write to a leaf, and the one whose samples say on which device.
APART = ("float_power_.Tensor", "float_power_.Scalar", "to.device")
SAMPLED = [info for info in OPERATORS.values() if not info.random and info.name not in APART]


@properties.hold_for((info, dtype) for info in SAMPLED for dtype in ("float64", "complex128", "int64", "bool"))
def every_operator_is_that_of_the_cpu_or_says_what_is_missing(info: OperatorInfo, dtype: str) -> None:
    function = operator_function(info)
    for sample in sample_inputs(info, dtype):
        if not sample.tensors():
            continue
        given, named = mapped(sample.args, on_device), mapped(sample.kwargs, on_device)
        try:
            found = function(*given, **named)
        except NotImplementedError as error:
            check_says_what_is_missing(error)
            continue
        except (RuntimeError, TypeError, IndexError, ValueError):
            # Mistakes are mistakes in both places; the standard is strict with integers and bools.
            if dtype in ("float64", "complex128"):
                with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)):
                    function(*sample.args, **sample.kwargs)
            continue
        args, kwargs = mapped(sample.args, on_cpu), mapped(sample.kwargs, on_cpu)
        try:
            wanted = function(*args, **kwargs)
        except RuntimeError:
            assert dtype in ("int64", "bool")
            continue
        if info.name == "_conj_physical" and dtype == "bool":
            continue  # NumPy makes an int8 of it
        assert_same(found, wanted)
        inputs = [each for each in tensors_of([given, named]) if each.requires_grad]
        others = [each for each in tensors_of([args, kwargs]) if each.requires_grad]
        try:
            assert_same_gradients(tensors_of(found), tensors_of(wanted), inputs, others, 2)
        except NotImplementedError as error:
            check_says_what_is_missing(error)


def test_how_many_operators_the_array_api_gives() -> None:
    assert len(array_api_kernels()) > 200


def test_factories() -> None:
    assert_same(torch.zeros(2, 3, device="npu"), torch.zeros(2, 3))
    assert_same(torch.arange(1, 7, 2, device=torch.device("npu")), torch.arange(1, 7, 2))
    assert_same(torch.full((2,), 3.5, device="npu", dtype=torch.float64), torch.full((2,), 3.5, dtype=torch.float64))
    assert_same(torch.tensor([[1, 2]], device="npu"), torch.tensor([[1, 2]]))
    assert_same(torch.zeros_like(torch.ones(2), device="npu"), torch.zeros(2))
    assert torch.ones(2, device="npu").new_zeros(3).device == torch.device("npu")
    assert torch.zeros_like(torch.ones(2, device="npu"), device="cpu").device == torch.device("cpu")


def test_several_devices_of_a_kind() -> None:
    arrays = strict_arrays()
    current = [1]
    arrays.index_of = lambda array: current[0] if array is None else 1  # type: ignore[attr-defined]
    with device("MANY", arrays) as name:
        x = torch.ones(2).to("many:1")
        assert (str(x.device), x.get_device(), str(torch.zeros(2, device=name).device)) == ("many:1", 1, "many:1")
        current[0] = 0
        calls = (lambda: torch.ones(2).to("many:1"), lambda: torch.zeros(2, device="many:1"))
        for call in (*calls, lambda: torch.tensor([1.0], device="many:1")):
            with pytest.raises(RuntimeError, match="made on the current device, many:0, and not on many:1"):
                call()


def test_seeds_reach_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    monkeypatch.setattr("runtime.random.on_seed", [seeds.append])
    torch.manual_seed(5)
    assert seeds == [5]
    assert torch.seed() == seeds[1]


def test_there_and_back() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    there = x.to("npu", torch.float64)
    assert there.device.type == "npu"
    assert there.to("npu") is there
    (there * there).sum().cpu().backward()
    assert x.grad is not None
    assert x.grad.device.type == "cpu"
    assert x.grad.tolist() == [2.0, 4.0]
    assert there.to(x).dtype is torch.float32


def test_leaves_accumulate_in_place() -> None:
    x = torch.ones(3, device="npu").requires_grad_()
    (x * 2).sum().backward()
    first = x.grad
    (x * x + x).sum().backward()
    assert x.grad is first
    assert first is not None
    assert first.tolist() == [5.0, 5.0, 5.0]


def test_in_place_writes() -> None:
    x = torch.ones(2, device="npu")
    other = x.detach()
    x.add_(torch.tensor([1.0, 2.0], device="npu")).mul_(2)
    assert other.tolist() == [4.0, 6.0]
    assert other._version == 2
    x.copy_(torch.zeros(2))
    assert other.tolist() == [0.0, 0.0]
    y = torch.ones(2, device="npu").requires_grad_()
    z = y * 1
    z.mul_(y).exp_()
    z.sum().backward()
    np.testing.assert_allclose(y.grad.cpu().numpy(), [2 * np.e] * 2, rtol=1e-6)  # type: ignore[union-attr]
    saved = y.exp()
    with torch.no_grad():
        saved.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


def test_views_follow_their_base_and_are_not_written() -> None:
    base = torch.zeros(2, 3, device="npu")
    view = base.t()[1:]
    base.add_(torch.arange(3, device="npu"))
    assert view.tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert view._is_view()
    assert view._base is base
    with pytest.raises(RuntimeError, match="a view of a Tensor on npu is being modified inplace"):
        view.zero_()
    parts = base.unbind(1)
    base.zero_()
    assert parts[2].tolist() == [0.0, 0.0]
    recorded = torch.ones(2, device="npu").requires_grad_() * 1
    kept = recorded[0]
    with pytest.raises(RuntimeError, match="of which there are views"):
        recorded.mul_(2)
    assert kept.item() == 1.0


def test_outputs_that_nothing_depends_on_have_zeros_on_the_device() -> None:
    x = torch.tensor([[1.0, 2.0, 4.0]], device="npu").requires_grad_()
    variance, mean = torch.var_mean(x, dim=1)
    assert torch.autograd.grad(mean.sum(), x)[0].device.type == "npu"
    first, _ = x.split([1, 2], dim=1)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [[1.0, 0.0, 0.0]]
    assert variance.requires_grad


def test_values_in_python() -> None:
    x = torch.tensor([[1.5, -2.0]], device="npu")
    assert x.tolist() == [[1.5, -2.0]]
    assert x[0, 1].item() == -2.0
    assert float(x[0, 0]) == 1.5
    assert bool((x < 5).all())
    assert -2.0 in x
    assert repr(x) == "tensor([[ 1.5000, -2.0000]], device='npu')"
    assert f"{x.sum():.1f}" == "-0.5"
    assert x.type() == "gradwright.npu.FloatTensor"
    assert torch.equal(pickle.loads(pickle.dumps(x)), x)
    assert copy.deepcopy(x).device == x.device
    with pytest.warns(UserWarning, match="To copy construct"):
        assert torch.tensor(x).device == x.device


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: x + torch.ones(2),
            RuntimeError,
            "Expected all tensors to be on the same device, but found at least",
        ),
        (lambda x: torch.ones(2) @ x, RuntimeError, "npu and cpu! .*argument self in aten::dot"),
        (lambda x: torch.add(x, x, out=torch.empty(2)), RuntimeError, "out is on cpu"),
        (lambda x: x.numpy(), TypeError, r"can't convert npu device type tensor to numpy. Use Tensor.cpu\(\)"),
        (lambda x: np.asarray(x), TypeError, "can't convert npu"),
        (lambda x: np.sin(x._array), RuntimeError, "no operator of NPU on this way"),
        (lambda x: x._array[0], RuntimeError, "no operator of NPU on this way"),
        (lambda x: x._array.item(), RuntimeError, "no operator of NPU on this way"),
        (lambda x: torch.erf(x), NotImplementedError, r"'erf' has no kernel for NPU\n  schema: erf\(Tensor self\) -> "),
        (
            lambda x: torch.erf(x),
            NotImplementedError,
            r"'supported' in npu.yaml, and write a function erf\(self\)",
        ),
        (lambda x: torch.randn(2, device="npu"), NotImplementedError, "'randn' has no kernel for NPU"),
        (lambda x: x.half(), TypeError, "NPU has no elements of type float16"),
        (lambda x: x.to("gpu"), RuntimeError, "Expected one of cpu, .*npu.* device type"),
        (lambda x: torch.func.jvp(torch.sin, (x,), (x,)), NotImplementedError, "forward mode on npu"),
        (lambda x: torch.vmap(torch.sin)(x), RuntimeError, "no operator of NPU"),
        (lambda x: setattr(torch.ones(2), "data", x), RuntimeError, "incompatible tensor type"),
    ],
)
def test_what_is_refused(call: Callable[[torch.Tensor], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(torch.ones(2, device="npu"))


def test_numbers_and_indices_of_main_memory_may_stand_beside_tensors_of_a_device() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], device="npu")
    assert (x * torch.tensor(2.0)).tolist() == [2.0, 4.0, 6.0]
    assert x[torch.tensor([2, 0])].tolist() == [3.0, 1.0]
    assert x[[1]].tolist() == [2.0]
    assert (2 - x).tolist() == [1.0, 0.0, -1.0]


OPTIMIZERS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01, dampening=0),
    "maximize": lambda p: optim.SGD(p, lr=0.01, maximize=True, momentum=0.5, dampening=0.1),
    "adam": lambda p: optim.Adam(p, lr=0.05, amsgrad=True, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.05),
    "asgd": lambda p: optim.ASGD(p, lr=0.1, t0=1),
    "adadelta": optim.Adadelta,
    "adafactor": lambda p: optim.Adafactor(p, lr=0.1, weight_decay=0.1),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.1, initial_accumulator_value=0.1),
    "adamax": optim.Adamax,
    "nadam": lambda p: optim.NAdam(p, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: optim.RAdam(p, lr=0.1),
    "rmsprop": lambda p: optim.RMSprop(p, centered=True, momentum=0.9),
    "rprop": optim.Rprop,
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_that_of_the_cpu(name: str) -> None:
    torch.manual_seed(0)
    layers = (nn.Linear(3, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
    net = nn.Sequential(*layers).double()
    there = copy.deepcopy(net).to("npu")
    x, classes = torch.randn(16, 3, dtype=torch.float64), torch.randint(4, (16,))
    data = ((net, x, classes), (there, x.to("npu"), classes.to("npu")))
    steps = [OPTIMIZERS[name](net.parameters()), OPTIMIZERS[name](there.parameters())]
    for step in range(6):
        for (model, inputs, target), optimizer in zip(data, steps, strict=True):
            optimizer.zero_grad(set_to_none=step % 2 == 0)
            nn.functional.cross_entropy(model(inputs), target).backward()
            optimizer.step()
    for one, other in zip(there.parameters(), net.parameters(), strict=True):
        assert isinstance(one, nn.Parameter)
        assert_same(one, other)
    back = copy.deepcopy(there).cpu()
    assert type(next(back.parameters())) is nn.Parameter
    there.load_state_dict(net.state_dict())


def test_attention_goes_by_products_of_matrices() -> None:
    x = torch.linspace(-1, 1, 48, dtype=torch.float64).reshape(1, 2, 6, 4)
    for causal in (False, True):
        one, other = x.clone().requires_grad_(), x.to("npu").requires_grad_()
        for tensor in (one, other):
            nn.functional.scaled_dot_product_attention(tensor, tensor, tensor, is_causal=causal).sum().backward()
        assert_same(other.grad, one.grad)


MLP = ("mm", "addmm", "t", "tanh", "relu", "threshold_backward", "tanh_backward", "mse_loss", "mse_loss_backward")
MLP += ("ones_like", "sum.dim_IntList", "view", "add.Tensor", "mul.Tensor", "mul.Scalar", "expand")


def test_a_training_step_touches_no_memory_of_numpy() -> None:
    toy = toy_arrays()
    kernels = {name: function for name, function in array_api_kernels().items() if name in MLP}
    with device("TOY", toy, kernels) as name:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 2))
        there = copy.deepcopy(net).to(name)
        x, y = torch.randn(7, 3), torch.randn(7, 2)
        far = x.to(name), y.to(name)
        toy.copies.clear()
        toy.launches.clear()
        for model, inputs, target in ((there, *far), (net, x, y)):
            optimizer = optim.SGD(model.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(model(inputs), target)
                loss.backward()
                optimizer.step()
        assert not toy.copies, "values have left the device, or come there"
        assert toy.launches["matmul"] == 3 * (3 + 5)
        for one, other in zip(there.parameters(), net.parameters(), strict=True):
            np.testing.assert_allclose(one.numpy(force=True), other.numpy(force=True), rtol=1e-5)
        with pytest.raises(NotImplementedError, match="'exp' has no kernel for TOY"):
            far[0].exp()
        with pytest.raises(RuntimeError, match="on the same device, but found at least two devices, npu and toy"):
            torch.ones(2, device="npu") + torch.ones_like(far[0])


def test_arrays_of_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.runtime.getDeviceCount():
        pytest.skip("no GPU")
    from types import SimpleNamespace

    arrays: Any = SimpleNamespace(
        __name__="cupy_arrays",
        Array=cupy.ndarray,
        namespace=cupy,
        from_numpy=cupy.asarray,
        to_numpy=cupy.asnumpy,
    )
    with device("CUDAARRAY", arrays) as name:
        x = torch.linspace(0, 1, 12).reshape(3, 4)
        one, other = x.clone().requires_grad_(), x.to(name).requires_grad_()
        for tensor in (one, other):
            (tensor.tanh() @ tensor.t()).softmax(-1).log().sum().backward()
        np.testing.assert_allclose(other.grad.cpu().numpy(), one.grad.numpy(), rtol=1e-4)  # type: ignore[union-attr]


test_operator, test_properties_are_checked = properties.tests(least=4_500)
