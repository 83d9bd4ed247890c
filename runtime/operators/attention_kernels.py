"""Which kernels of attention a program allows.

On the CPU there are two: one that computes all at once (`FLASH_ATTENTION`), and what is made of other operators
(`MATH`). The first is taken where it is allowed and takes the arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

enabled = {"cudnn": True, "flash": True, "math": True, "mem_efficient": True, "overrideable": True}


class SDPBackend(IntEnum):
    """The kernels of attention, by PyTorch's names."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


_NAMES = {
    SDPBackend.MATH: "math",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.CUDNN_ATTENTION: "cudnn",
    SDPBackend.OVERRIDEABLE: "overrideable",
}


@contextmanager
def sdpa_kernel(backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Allow these kernels of attention alone in a `with` block.

    Args:
        backends: one or several.
        set_priority: as in PyTorch on the CPU, their order says nothing.

    Raises:
        AssertionError: a backend that is no SDPBackend.
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, (list, tuple, set)) or not all(isinstance(each, SDPBackend) for each in chosen):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    before = dict(enabled)
    enabled.update({name: backend in chosen for backend, name in _NAMES.items()})
    try:
        yield
    finally:
        enabled.update(before)


def factor_of(size: int, scale: float | None) -> float:
    """By what the scores of queries of a size are multiplied: 1 / sqrt(size), where nothing else is asked for."""
    if scale is not None:
        return scale
    return 1 / math.sqrt(size) if size else math.inf


def refuse() -> None:
    """Raise the error of a call that no allowed kernel takes."""
    if enabled["flash"]:
        raise RuntimeError("No available kernel. Aborting execution.")
    raise RuntimeError(
        "No viable backend for scaled_dot_product_attention was found. "
        "This is likely due to turning off both the math kernel and the fused kernels."
    )
