"""Casting that is turned on and off by calls, in both libraries."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest

from support.both import assert_same, assert_same_results

DEVICES = ("cpu", "cuda", "hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu")
CALLS = [
    "set_autocast_enabled(1)",
    "set_autocast_enabled('cpu', 1)",
    "set_autocast_enabled()",
    "set_autocast_enabled(True, 'cpu')",
    "set_autocast_enabled('cpu')",
    "set_autocast_enabled('nope', True)",
    "set_autocast_enabled('meta', True)",
    "set_autocast_cpu_enabled(0)",
    "set_autocast_cpu_enabled()",
    "set_autocast_cpu_enabled(enabled=False)",
    "set_autocast_cpu_dtype(1)",
    "set_autocast_dtype('cpu', 1)",
    "set_autocast_cache_enabled(1)",
    "set_autocast_ipu_enabled(1)",
    "set_autocast_xla_dtype(1)",
    "is_autocast_enabled('nope')",
    "is_autocast_enabled('meta')",
    "is_autocast_enabled(1)",
    "is_autocast_enabled('cuda:0')",
    "is_autocast_cpu_enabled(1)",
    "get_autocast_dtype('nope')",
    "get_autocast_dtype('meta')",
    "get_autocast_dtype(1)",
    "is_vulkan_available()",
    "cudnn_is_acceptable(torch.ones(2))",
    "cudnn_is_acceptable(1)",
]


@pytest.mark.parametrize("call", CALLS)
def test_calls_that_change_nothing(call: str) -> None:
    assert_same(lambda torch: eval(f"torch.{call}", {"torch": torch}))


def _product(torch: Any) -> str:
    return str((torch.ones(2, 2) @ torch.ones(2, 2)).dtype).rpartition(".")[2]


def test_by_calls() -> None:
    def body(torch: Any) -> Any:
        found = []
        try:
            for args, kwargs in (
                (("cpu", True), {}), (("cpu", True), {}), (("cpu",), {"enabled": False}), ((True,), {}),
                ((), {"device_type": "cpu", "enabled": True}), ((), {"enabled": False}), (("cpu", False), {}),
            ):  # fmt: skip
                torch.set_autocast_enabled(*args, **kwargs)
                found.append((torch.is_autocast_enabled(), torch.is_autocast_enabled("cpu"), _product(torch)))
        finally:
            torch.set_autocast_enabled("cpu", False)
            torch.set_autocast_enabled(False)
        return found, _product(torch)

    assert_same_results(body)


def test_by_calls_within_blocks() -> None:
    def body(torch: Any) -> Any:
        found = []
        with torch.autocast("cpu"):
            torch.set_autocast_enabled("cpu", False)
            found.append(_product(torch))
            with torch.autocast("cpu", dtype=torch.float16):
                found.append(_product(torch))
            found.append(_product(torch))
        found.append(_product(torch))
        torch.set_autocast_enabled("cpu", True)
        with torch.autocast("cpu", enabled=False):
            found.append(_product(torch))
        found.append((_product(torch), torch.is_autocast_enabled("cpu")))
        torch.set_autocast_enabled("cpu", False)
        return found

    assert_same_results(body)


def test_a_call_within_other_handlers_outlasts_them() -> None:
    def body(torch: Any) -> Any:
        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append([str(arg.dtype).rpartition(".")[2] for arg in args if isinstance(arg, torch.Tensor)])
                return func(*args, **(kwargs or {}))

        seen: list[Any] = []
        x = torch.ones(2, 2)
        with Mode():
            torch.set_autocast_enabled("cpu", True)
            inside = torch.mm(x, x)
        after = torch.mm(x, x)
        torch.set_autocast_enabled("cpu", False)
        return inside, after, torch.mm(x, x), seen[-1]

    assert_same_results(body)


def test_within_vmap_and_with_gradients() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, 2, 2, requires_grad=True)
        torch.set_autocast_enabled("cpu", True)
        try:
            batched = torch.func.vmap(lambda each: each @ each)(x)
        finally:
            torch.set_autocast_enabled("cpu", False)
        batched.sum().backward()
        return batched, x.grad

    assert_same_results(body)


def test_each_thread_has_its_own() -> None:
    def body(torch: Any) -> Any:
        found = []

        def run() -> None:
            torch.set_autocast_enabled("cpu", True)
            found.append(_product(torch))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return found, _product(torch)

    assert_same_results(body)


def test_dtypes() -> None:
    def body(torch: Any) -> Any:
        known = [str(torch.get_autocast_dtype(name)).rpartition(".")[2] for name in DEVICES]
        torch.set_autocast_dtype("cpu", torch.float16)
        torch.set_autocast_enabled("cpu", True)
        found = _product(torch)
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
        return known, found

    assert_same_results(body)


@pytest.mark.parametrize("name", ["cpu", "gpu", "ipu", "xla"])
def test_deprecated_names(name: str) -> None:
    def body(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            dtype = getattr(torch, f"get_autocast_{name}_dtype")()
            getattr(torch, f"set_autocast_{name}_dtype")(dtype)
            found = [str(dtype).rpartition(".")[2]]
            if name != "gpu":
                asked, switch = (getattr(torch, f"{verb}_autocast_{name}_enabled") for verb in ("is", "set"))
                found.append(asked())
                switch(True)
                found += [asked(), _product(torch)]
                switch(False)
                found.append(asked())
        return found, [(str(each.message).partition(" (Trig")[0], each.category.__name__) for each in caught]

    assert_same_results(body)
