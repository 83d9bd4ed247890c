"""Devices, compilers and settings that are not there: queries answer no, and what has no effect says so once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradwright as torch
from gradwright import absent

NO: list[Callable[[], object]] = [
    lambda: torch.cuda.is_available(),
    lambda: torch.cuda.device_count(),
    lambda: torch.cuda.is_bf16_supported(),
    lambda: torch.cuda.memory_allocated(),
    lambda: torch.xpu.is_available(),
    lambda: torch.mps.is_available(),
    lambda: torch.mtia.is_available(),
    lambda: torch.accelerator.is_available(),
    lambda: torch.accelerator.current_accelerator(),
    lambda: torch.distributed.is_available(),
    lambda: torch.distributed.is_initialized(),
    lambda: torch.backends.cuda.is_built(),
    lambda: torch.backends.cudnn.is_available(),
    lambda: torch.backends.cudnn.version(),
    lambda: torch.backends.mps.is_available(),
    lambda: torch.backends.mkl.is_available(),
    lambda: torch.backends.openmp.is_available(),
    lambda: torch.compiler.is_compiling(),
    lambda: torch.jit.is_scripting(),
    lambda: torch.jit.is_tracing(),
    lambda: torch.version.cuda,
    lambda: torch.is_autocast_enabled(),
    lambda: torch.ones(1).is_cuda,
    lambda: torch.ones(1).is_quantized,
    lambda: torch.ones(1).is_xla,
    lambda: torch.ones(1).is_pinned(),
    lambda: torch.ones(1).name,
    lambda: torch.set_flush_denormal(True),
]


@pytest.mark.parametrize("query", NO)
def test_the_answer_is_no(query: Callable[[], object]) -> None:
    assert not query()


REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: torch.cuda.current_device(), AssertionError, "no CUDA"),
    (lambda: torch.cuda.synchronize(), AssertionError, "no CUDA"),
    (lambda: torch.cuda.Stream(), AssertionError, "no CUDA"),
    (lambda: torch.cuda.set_rng_state_all([1]), AssertionError, "no CUDA"),
    (lambda: torch.ones(1).cuda(), AssertionError, "no CUDA"),
    (lambda: torch.ones(1).pin_memory(), RuntimeError, "accelerator"),
    (lambda: torch.xpu.synchronize(), AssertionError, "no XPU"),
    (lambda: torch.mps.synchronize(), RuntimeError, "no MPS"),
    (lambda: torch.mtia.synchronize(), RuntimeError, "no MTIA"),
    (lambda: torch.accelerator.synchronize(), RuntimeError, "accelerator"),
    (lambda: torch.distributed.get_rank(), ValueError, "process group"),
    (lambda: torch.jit.load("model.pt"), NotImplementedError, "no TorchScript"),
    (lambda: torch.get_device_module("vulkan"), RuntimeError, "vulkan"),
    (lambda: torch.compile(len, mode="a", options={}), RuntimeError, "both"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_needs_a_device_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_what_frees_or_seeds_does_nothing() -> None:
    torch.cuda.empty_cache()
    torch.cuda.manual_seed_all(0)
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    with torch.cuda.device(0), torch.cuda.stream(None), torch.cpu.stream(torch.cpu.current_stream()):
        torch.cpu.synchronize()
    assert (torch.cpu.device_count(), torch.cpu.is_available()) == (1, True)
    assert torch.get_device_module("cuda:0") is torch.cuda


NO_OPS: list[Callable[[Any], Any]] = [
    lambda f: torch.compile(f),
    lambda f: torch.compile(mode="reduce-overhead")(f),
    lambda f: torch.compiler.disable(f),
    lambda f: torch.compiler.disable(reason="none")(f),
    lambda f: torch.compiler.set_stance("force_eager")(f),
    lambda f: torch.jit.script(f),
    lambda f: torch.jit.trace(f, torch.ones(1)),
    lambda f: torch.jit.ignore(f),
    lambda f: torch.jit.ignore(drop=True)(f),
    lambda f: torch.jit.export(f),
    lambda f: torch.jit.script_if_tracing(f),
]


@pytest.mark.parametrize("decorate", NO_OPS)
def test_functions_come_back_as_they_are(decorate: Callable[[Any], Any]) -> None:
    def function() -> None: ...

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert decorate(function) is function


def test_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent, "_said", set())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.compile(len)
        torch.compile(len)
    assert [str(each.message) for each in found] == ["compile() compiles nothing here: what it gets runs as it is"]
    with pytest.warns(UserWarning, match=r"jit.script compiles nothing"):
        torch.jit.script(len)


def test_types_of_containers() -> None:
    assert torch.jit.isinstance([1, 2], list[int])
    assert not torch.jit.isinstance([1, "a"], list[int])
    assert torch.jit.isinstance({"a": (1, 2.0)}, dict[str, tuple[int, float]])
    assert not torch.jit.isinstance((1,), tuple[int, int])
    assert torch.jit.isinstance(None, int | None)
    assert torch.jit.annotate(list[int], []) == []


def test_flags_can_be_set() -> None:
    cudnn = torch.backends.cudnn
    cudnn.benchmark = True
    try:
        with cudnn.flags(enabled=False, benchmark=False):
            assert (cudnn.enabled, cudnn.benchmark) == (False, False)
        assert (cudnn.enabled, cudnn.benchmark) == (True, True)
    finally:
        cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.enable_flash_sdp(False)
    assert not torch.backends.cuda.flash_sdp_enabled()
    torch.backends.cuda.enable_flash_sdp(True)


def test_deterministic_switches() -> None:
    try:
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.get_deterministic_debug_mode() == 1
        torch.set_deterministic_debug_mode("error")
        assert torch.get_deterministic_debug_mode() == 2
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
        for wrong, error in (("x", RuntimeError), (3, RuntimeError), (None, TypeError)):
            with pytest.raises(error, match="debug_mode"):
                torch.set_deterministic_debug_mode(wrong)  # type: ignore[arg-type]
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.get_deterministic_debug_mode() == 0
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")


def test_constants_and_symbols() -> None:
    assert (torch.inf, torch.pi, torch.e, torch.newaxis) == (math.inf, math.pi, math.e, None)
    assert math.isnan(torch.nan)
    assert torch.ones(2)[torch.newaxis].shape == (1, 2)
    assert (torch.sym_int(-2.5), torch.sym_max(1, 0.5), torch.sym_min(1, 2), torch.sym_sum([1, 2])) == (-2, 1.0, 1, 3)
    assert type(torch.sym_max(1, 0.5)) is float
    assert (torch.sym_not(True), torch.sym_ite(False, 1, 2), torch.sym_sqrt(4)) == (False, 2, 2.0)
    assert not isinstance(1, torch.SymInt)


# -- names of old programs


def test_classes_by_dtype() -> None:
    x = torch.LongTensor([1.5, 2])
    assert (x.tolist(), x.dtype) == ([1, 2], torch.int64)
    assert torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.FloatTensor(torch.Size([2])).shape == (2,)
    assert torch.ByteTensor().shape == (0,)
    assert isinstance(x, torch.LongTensor)
    assert not isinstance(x, torch.FloatTensor)
    assert torch.ones(2).type(torch.LongTensor).dtype is torch.int64
    assert repr(torch.HalfTensor) == "<class 'gradwright.HalfTensor'>"
    y = torch.ones(2)
    assert torch.FloatTensor(y).data_ptr() == y.data_ptr()
    with pytest.raises(TypeError, match="LongTensor"):
        torch.LongTensor(torch.ones(2))
    with pytest.raises(TypeError, match="data must be a sequence"):
        torch.FloatTensor(5.0)


def test_new_is_of_the_dtype() -> None:
    x = torch.ones(1, dtype=torch.float64)
    assert x.new([1, 2]).dtype is torch.float64
    assert x.new(2, 3).shape == (2, 3)
    assert x.new().shape == (0,)


def test_default_tensor_type() -> None:
    try:
        torch.set_default_tensor_type(torch.DoubleTensor)
        assert torch.ones(1).dtype is torch.float64
        torch.set_default_tensor_type("torch.FloatTensor")
        assert torch.ones(1).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
    for wrong in ("torch.LongTensor", torch.IntTensor, "Tensor", float):
        with pytest.raises(TypeError):
            torch.set_default_tensor_type(wrong)


def test_shapes_and_indices() -> None:
    assert torch.broadcast_shapes((2, 1), 3, (1, 3)) == (2, 3)
    assert torch.broadcast_shapes((0,), (1,)) == (0,)
    assert torch.broadcast_shapes() == ()
    with pytest.raises(RuntimeError, match="cannot be broadcast"):
        torch.broadcast_shapes((2,), (3,))
    with pytest.raises(ValueError, match="negative"):
        torch.broadcast_shapes((-1,))
    x = torch.arange(24)
    assert [each.tolist() for each in torch.unravel_index(x[[5, 23]], (2, 3, 4))] == [[0, 1], [1, 2], [1, 3]]
    with pytest.raises(TypeError):
        torch.unravel_index(torch.ones(1), (2,))


def test_python_functions_on_elements() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.apply_(lambda a: a * 10).tolist() == [[10.0, 20.0], [30.0, 40.0]]
    assert x.map_(torch.ones(2), lambda a, b: a + b).tolist() == [[11.0, 21.0], [31.0, 41.0]]
    assert x.map2_(x, torch.zeros(2, 2), lambda a, b, c: c).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match="requires grad"):
        torch.ones(1, requires_grad=True).apply_(abs)


def test_orders_and_places() -> None:
    x = torch.ones(1, 2, 3, 4)
    assert x.dim_order() == (0, 1, 2, 3)
    assert x.to(memory_format=torch.channels_last).dim_order() == (0, 2, 3, 1)
    assert x.is_set_to(x.view(1, 2, 3, 4))
    assert not x.is_set_to(x.clone())
    assert torch.typename(torch.ones(1)) == "gradwright.FloatTensor"
    assert torch.typename(1) == "int"


def test_variables() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    v = torch.autograd.Variable(x, requires_grad=True)
    assert isinstance(v, torch.autograd.Variable)
    assert v.is_leaf
    assert v.requires_grad
    assert v.data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="has to be a tensor"):
        torch.autograd.Variable(1.0)


def test_old_names_of_initialisations() -> None:
    with pytest.warns(FutureWarning, match=r"nn.init.constant"):
        assert torch.nn.init.constant(torch.ones(1), 3.0).tolist() == [3.0]
