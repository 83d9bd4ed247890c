"""Settings of PyTorch that change nothing here, and can be set and asked for all the same.

Every operator is deterministic: one algorithm in one order. Products of matrices have the precision of their dtype.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import e, inf, nan, pi
from typing import Any

from gradwright.absent import say_once
from runtime.base.tensor import Tensor

__all__ = [
    "are_deterministic_algorithms_enabled",
    "compile",
    "compiled_with_cxx11_abi",
    "cudnn_is_acceptable",
    "e",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "inf",
    "init_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_vulkan_available",
    "is_warn_always_enabled",
    "nan",
    "newaxis",
    "pi",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

newaxis = None
has_lapack = has_spectral = True
has_mkl = has_openmp = False
_DEVICES = ("cpu", "cuda", "mps", "mtia", "xpu")
_MODES = ("default", "warn", "error")


class _State:
    deterministic = 0
    precision = "highest"
    warn_always = False
    interop_threads = 1


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
) -> Any:
    """A function or Module, as it is; without one, a decorator that gives what it decorates.

    Raises:
        RuntimeError: both a mode and options are given.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not disable:
        say_once("compile() compiles nothing here: what it gets runs as it is")
    return _as_it_is if model is None else model


def _as_it_is(model: Any) -> Any:
    return model


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic operators, which all of them are."""
    _State.deterministic = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic operators were asked for."""
    return _State.deterministic != 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether they were asked for with `warn_only`."""
    return _State.deterministic == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask for deterministic operators: "default" (0), "warn" (1) or "error" (2).

    Raises:
        RuntimeError: the mode is none of these.
        TypeError: it is neither a text nor a number.
    """
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    number = _MODES.index(debug_mode) if debug_mode in _MODES else debug_mode
    if isinstance(number, str):
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    if number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _State.deterministic = number


def get_deterministic_debug_mode() -> int:
    """What was asked for: 0, 1 or 2."""
    return _State.deterministic


def set_float32_matmul_precision(precision: str) -> None:
    """How exact products of float32 matrices must be at least; they are as exact as float32 is.

    A precision that there is not changes nothing, and warns.
    """
    if precision in ("highest", "high", "medium"):
        _State.precision = precision
    else:
        say_once(
            f"{precision} is not one of 'highest', 'high', or 'medium'; set_float32_matmul_precision has no effect"
        )


def get_float32_matmul_precision() -> str:
    """What was set last."""
    return _State.precision


def set_warn_always(b: bool) -> None:
    """Whether what warns once should warn each time; it goes on warning once."""
    _State.warn_always = b


def is_warn_always_enabled() -> bool:
    """What was set last."""
    return _State.warn_always


def set_flush_denormal(mode: bool) -> bool:
    """Ask for zero in the place of denormal numbers; False, since NumPy keeps them."""
    return False


def get_num_interop_threads() -> int:
    """The number of threads that run operators beside each other."""
    return _State.interop_threads


def set_num_interop_threads(threads: int) -> None:
    """Ask for threads that run operators beside each other; none do unless the program starts them.

    Raises:
        RuntimeError: the number is not positive.
    """
    if threads <= 0:
        raise RuntimeError("Expected a positive number of threads")
    _State.interop_threads = threads


def init_num_threads() -> None:
    """Set the number of threads anew in a thread: it is that of the process."""


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device, such as `cuda`; without one, that of the CPU.

    Raises:
        RuntimeError: there is no such module.
    """
    name = "cpu" if device is None else str(getattr(device, "type", device)).partition(":")[0]
    module = getattr(sys.modules["gradwright"], name, None) if name in _DEVICES else None
    if module is None:
        raise RuntimeError(f"Invalid device_type: {name}. Only {', '.join(_DEVICES)} have modules")
    return module


def compiled_with_cxx11_abi() -> bool:
    """Whether C++ was compiled for the current interface of its library: yes."""
    return True


def is_vulkan_available() -> bool:
    """Whether there are Vulkan devices: none."""
    return False


def cudnn_is_acceptable(input: Tensor) -> bool:
    """Whether cuDNN takes a Tensor, which it does on CUDA devices alone.

    Raises:
        TypeError: it is no Tensor.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"cudnn_is_acceptable(): argument 'input' must be Tensor, not {type(input).__name__}")
    return False
