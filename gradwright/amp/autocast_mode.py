"""`autocast`: blocks in which products run in half precision, and what needs more of it in float32."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from gradwright.amp import state as states
from gradwright.amp.casting import cast, cast_value, enable
from gradwright.amp.state import ACCELERATORS, get_autocast_dtype, is_autocast_enabled, state
from runtime.base import dtypes
from runtime.base.dtypes import dtype as DType
from runtime.base.types import Device

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type: str) -> bool:
    """Whether there is automatic casting for a kind of device: for the CPU."""
    return Device(device_type).type == "cpu"


class autocast(AbstractContextManager["autocast"]):
    """A block, or a decorator of functions, in which operators choose their precision.

    On the CPU products run in bfloat16 (or float16), losses and decompositions in float32. For a device that is not
    there it changes nothing, and warns.

    Raises:
        RuntimeError: there is no kind of device of that name.
    """

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in ACCELERATORS:
            device_type = Device(device_type).type
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache = states.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type != "cpu":
            warnings.warn(f"{device_type.upper()} is not available. Disabling autocast.", UserWarning, stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in (dtypes.bfloat16, dtypes.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast. CPU autocast has "
                f"bfloat16 and float16, not {self.fast_dtype}",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._blocks: list[tuple[bool, DType, bool]] = []

    def __enter__(self) -> autocast:
        self._blocks.append((is_autocast_enabled(self.device), get_autocast_dtype(self.device), state.cache))
        enable(self.device, self._enabled)
        state.dtypes[self.device], state.cache = self.fast_dtype, self._cache
        states.autocast_increment_nesting()
        return self

    def __exit__(self, *error: object) -> None:
        states.autocast_decrement_nesting()
        enabled, state.dtypes[self.device], state.cache = self._blocks.pop()
        enable(self.device, enabled)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def in_block(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return in_block


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """Decorate the forward of an `autograd.Function` for blocks of `autocast`.

    With `cast_inputs` its Tensors are cast to that dtype, and it runs without casting; else it runs as the block says,
    and its backward (`custom_bwd`) with it.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return forward(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            named = {name: cast_value(value, cast_inputs) for name, value in kwargs.items()}
            return forward(ctx, *cast(list(args), cast_inputs), **named)

    return run


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the backward of an `autograd.Function` whose forward has `custom_fwd`: it casts as that did."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def run(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return backward(ctx, *args, **kwargs)

    return run
