"""The device `cuda` in PyTorch's words: Tensors and Modules on it, streams, memory, random numbers."""

from __future__ import annotations

import copy
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import support_cupy

import gradwright as torch
import gradwright_cupy
from gradwright import nn, optim

PACKAGE = Path(__file__).parents[1]


def test_tensors_on_the_device() -> None:
    x = torch.tensor([1.0, 4.0]).to("cuda")
    assert (str(x.device), x.is_cuda, x.get_device()) == ("cuda:0", True, 0)
    assert repr(x.sqrt()) == "tensor([1., 2.], device='cuda:0')"
    assert x.cuda() is x
    assert x.to("cuda:0") is x
    assert x.cpu().tolist() == [1.0, 4.0]
    assert torch.ones(2, device="cuda").to(x.device).type() == "gradwright.cuda.FloatTensor"
    with pytest.raises(RuntimeError, match="made on the current device, cuda:0, and not on cuda:1"):
        torch.ones(2).to("cuda:1")
    with pytest.raises(TypeError, match="to copy the tensor to host memory"):
        x.numpy()
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(x._array.read())


def test_training_is_that_of_the_cpu_and_copies_nothing() -> None:
    torch.manual_seed(0)
    layers = (nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3))
    net = nn.Sequential(*layers).double()
    there = copy.deepcopy(net).to("cuda")
    x, classes = torch.randn(5, 2, 4, 4, dtype=torch.float64), torch.randint(3, (5,))
    data = ((net, x, classes), (there, x.cuda(), classes.cuda()))
    losses = []
    for model, inputs, target in data:
        optimizer = optim.Adam(model.parameters(), lr=0.01)
        support_cupy.calls().clear()
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), target)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
        assert "asnumpy" not in support_cupy.calls()
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
    for one, other in zip(there.parameters(), net.parameters(), strict=True):
        np.testing.assert_allclose(one.cpu().detach(), other.detach(), rtol=1e-9)


def test_what_the_module_says() -> None:
    cuda = torch.cuda
    assert gradwright_cupy.why_unavailable() is None
    assert cuda.is_available()
    assert cuda.is_initialized()
    assert (cuda.device_count(), cuda.current_device()) == (1, 0)
    assert (cuda.get_device_name(), cuda.get_device_capability("cuda:0")) == ("Stand-in", (9, 0))
    assert cuda.get_device_properties(0).total_memory == 1 << 30
    assert (cuda.memory_allocated(), cuda.memory_reserved(), cuda.mem_get_info()) == (512, 1024, (1 << 29, 1 << 30))
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.is_available()
    assert not torch.mps.is_available()
    cuda.synchronize()
    assert support_cupy.calls()[-1] == "synchronize"
    cuda.empty_cache()
    with cuda.device(0), cuda.device_of(torch.ones(1)):
        assert cuda.current_device() == 0
    with pytest.raises(ValueError, match="Expected a cuda device"):
        cuda.synchronize("cpu")
    with pytest.raises(NotImplementedError, match=r"cuda\.max_memory_allocated: CuPy's memory pool"):
        cuda.max_memory_allocated()
    with pytest.raises(AssertionError, match="no CUDA"):
        cuda.CUDAGraph()


def test_streams_and_events() -> None:
    cuda = torch.cuda
    stream = cuda.Stream()
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    assert cuda.current_stream() == cuda.default_stream()
    with cuda.stream(stream), cuda.stream(None):
        assert cuda.current_stream() == stream
        start.record()
        stream.wait_stream(cuda.default_stream())
        end.record(stream)
    assert cuda.current_stream() == cuda.default_stream() != stream
    end.synchronize()
    stream.synchronize()
    assert stream.query()
    assert end.query()
    assert start.elapsed_time(end) >= 0
    assert stream.device == torch.device("cuda", 0)
    assert "wait_event" in support_cupy.calls()


def test_pinned_memory() -> None:
    x = torch.arange(6.0).reshape(2, 3).t()
    pinned = x.pin_memory()
    assert pinned.tolist() == x.tolist()
    assert pinned.is_pinned()
    assert pinned.pin_memory() is pinned
    assert not x.is_pinned()
    assert pinned.cuda(non_blocking=True).cpu().tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        pinned.cuda().pin_memory()


DRAWN: dict[str, Callable[[], torch.Tensor]] = {
    "rand": lambda: torch.rand(4000, device="cuda"),
    "randn": lambda: torch.randn(4000, device="cuda") + 0.5,
    "randint": lambda: torch.randint(2, (4000,), device="cuda"),
    "randperm": lambda: torch.randperm(4000, device="cuda") / 4000.0,
    "rand_like": lambda: torch.rand_like(torch.ones(4000, dtype=torch.float64, device="cuda")),
    "bernoulli": lambda: torch.full((4000,), 0.5, device="cuda").bernoulli(),
    "bernoulli_": lambda: torch.zeros(4000, device="cuda").bernoulli_(0.5),
    "uniform_": lambda: torch.zeros(4000, device="cuda").uniform_(-1, 2),
    "normal_": lambda: torch.zeros(4000, device="cuda").normal_(0.5, 1),
    "normal": lambda: torch.normal(torch.full((4000,), 0.5, device="cuda"), 1.0),
    "exponential_": lambda: torch.zeros(4000, device="cuda").exponential_(2),
    "geometric_": lambda: torch.zeros(4000, device="cuda").geometric_(0.5) / 4,
    "log_normal_": lambda: torch.zeros(4000, device="cuda").log_normal_(-0.7, 0.1),
    "poisson": lambda: torch.poisson(torch.full((4000,), 0.5, device="cuda")),
    "dropout": lambda: nn.functional.dropout(torch.full((4000,), 0.5, device="cuda"), 0.3),
    "multinomial": lambda: torch.multinomial(torch.tensor([1.0, 1.0], device="cuda"), 4000, replacement=True),
}


@pytest.mark.parametrize("name", DRAWN)
def test_random_numbers(name: str) -> None:
    draw = DRAWN[name]
    torch.manual_seed(3)
    first = draw()
    assert first.is_cuda
    assert first.double().mean().item() == pytest.approx(0.5, abs=0.08)
    assert not torch.equal(draw(), first)
    torch.cuda.manual_seed(3)
    assert torch.equal(draw(), first)
    assert torch.cuda.initial_seed() == 3


def test_samples_without_replacement() -> None:
    drawn = torch.multinomial(torch.tensor([[0.0, 1.0, 3.0, 0.0, 2.0]] * 50, device="cuda"), 3)
    assert {tuple(sorted(row)) for row in drawn.tolist()} == {(1, 2, 4)}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: torch.rand(2, device="cuda", generator=torch.Generator()), RuntimeError, "Expected a 'cuda' device"),
        (lambda: torch.ones(2, device="cuda").bernoulli_(2), RuntimeError, "p to be in"),
        (lambda: torch.zeros(2, dtype=torch.int64, device="cuda").uniform_(), NotImplementedError, "not implemented"),
        (lambda: torch.ones(2, 2, device="cuda").median(), NotImplementedError, "'median' has no kernel for CUDA"),
        (lambda: torch.ones(2).to("cuda", torch.bfloat16), TypeError, "CUDA has no elements of type bfloat16"),
        (lambda: torch.ones(2, device="cuda") + torch.ones(2), RuntimeError, "found at least two devices, cuda and"),
        (lambda: torch.cuda.Stream("cuda:1"), RuntimeError, "of the current device, cuda:0, and not of cuda:1"),
        (lambda: torch.multinomial(torch.ones(2, device="cuda"), 3), RuntimeError, "without replacement"),
    ],
)
def test_what_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


PROGRAM = """
    import sys
    sys.path.insert(0, {package!r})
    {before}
    import gradwright as torch, gradwright_cupy
    print(torch.cuda.is_available(), torch.cuda.device_count(), gradwright_cupy.why_unavailable())
    try:
        torch.ones(1).cuda()
    except AssertionError as error:
        print(error)
"""
WITHOUT = "sys.modules['cupy'] = None"
NO_DRIVER = """import types
    class CUDARuntimeError(RuntimeError): pass
    def count(): raise CUDARuntimeError("cudaErrorInsufficientDriver: too old")
    cupy = sys.modules["cupy"] = types.ModuleType("cupy")
    cupy.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=count))"""


@pytest.mark.parametrize(
    ("before", "why"), [(WITHOUT, "CuPy can not be imported:"), (NO_DRIVER, "CuPy finds no driver: cudaErrorIns")]
)
def test_without_cupy_or_a_driver_there_is_no_device(before: str, why: str) -> None:
    program = textwrap.dedent(PROGRAM.format(package=str(PACKAGE), before=before))
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    first, second = ended.stdout.splitlines()
    assert first.startswith(f"False 0 {why}")
    assert second == "Gradwright has no CUDA: Torch not compiled with CUDA enabled"
