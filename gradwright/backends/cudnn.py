"""Flags of a library for CUDA devices: programs may set them, and nothing looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether the library is there: no."""
    return False


def version() -> int | None:
    """The version of the library: None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether the library could compute with a Tensor: no."""
    return False


_FLAGS = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


def set_flags(**values: Any) -> tuple[Any, ...]:
    """Set flags that are not None, and give all as they were."""
    before = tuple(globals()[name] for name in _FLAGS)
    globals().update({name: value for name, value in values.items() if name in _FLAGS and value is not None})
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Other flags in a `with` block."""
    before = set_flags(
        enabled=enabled,
        benchmark=benchmark,
        benchmark_limit=benchmark_limit,
        deterministic=deterministic,
        allow_tf32=allow_tf32,
    )
    try:
        yield
    finally:
        globals().update(zip(_FLAGS, before, strict=True))
