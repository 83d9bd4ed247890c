"""`autocast`: blocks in which products run in half precision, and what needs more of it in float32.

It is a handler around operator calls, so it costs nothing outside of such blocks. Which operators it casts on the CPU
is what PyTorch documents of them.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

from runtime.amp import state as states
from runtime.amp.state import get_autocast_dtype, is_autocast_enabled, state
from runtime.base import dtypes
from runtime.base.dtypes import dtype as DType
from runtime.base.modes import Variant, around
from runtime.base.tensor import Tensor
from runtime.base.types import Device

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_LOWER = frozenset((
    "addbmm", "addmm", "baddbmm", "bmm", "chain_matmul", "conv1d", "conv2d", "conv3d", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "linalg_matmul", "linalg_multi_dot",
    "linalg_vecdot", "linear", "matmul", "mm", "scaled_dot_product_attention",
))  # fmt: skip
_FLOAT32 = frozenset((
    "adaptive_avg_pool3d", "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist",
    "cholesky", "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy_loss", "ctc_loss",
    "geqrf", "grid_sampler", "hinge_embedding_loss", "huber_loss", "inverse", "kl_div", "l1_loss",
    "linalg_cholesky", "linalg_cholesky_ex", "linalg_cond", "linalg_eig", "linalg_eigh", "linalg_eigvals",
    "linalg_eigvalsh", "linalg_householder_product", "linalg_inv", "linalg_inv_ex", "linalg_lstsq",
    "linalg_matrix_rank", "linalg_qr", "linalg_solve", "linalg_svd", "linalg_svdvals", "linalg_tensorinv",
    "linalg_tensorsolve", "lu_solve", "margin_ranking_loss", "max_pool3d", "max_unpool2d", "max_unpool3d",
    "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nanquantile", "nll_loss", "nll_loss2d", "orgqr",
    "ormqr", "pinverse", "poisson_nll_loss", "polar", "prod", "quantile", "reflection_pad1d", "reflection_pad2d",
    "replication_pad1d", "replication_pad2d", "replication_pad3d", "smooth_l1_loss", "soft_margin_loss", "stft",
    "trace", "triangular_solve", "triplet_margin_loss", "view_as_complex",
))  # fmt: skip
_WIDEST = frozenset(("cat", "index_copy", "stack"))
_ACCELERATORS = ("cuda", "hpu", "ipu", "maia", "mps", "mtia", "privateuseone", "xla", "xpu")


def is_autocast_available(device_type: str) -> bool:
    """Whether there is automatic casting for a kind of device: for the CPU."""
    return Device(device_type).type == "cpu"


def _handler(operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]) -> Any:
    if variant != "call" or not is_autocast_enabled("cpu"):
        return proceed(values)
    name = operator.signature.name
    if name in _LOWER:
        values = _cast(values, get_autocast_dtype("cpu"))
    elif name in _FLOAT32:
        values = _cast(values, dtypes.float32)
    elif name in _WIDEST:
        values = _cast(values, _widest(values))
    else:
        return proceed(values)
    state.enabled["cpu"] = False  # what the operator calls is not cast once more
    try:
        return proceed(values)
    finally:
        state.enabled["cpu"] = True


def _cast(values: list[Any], dtype: DType) -> list[Any]:
    return [_cast_value(value, dtype) for value in values]


def _cast_value(value: Any, dtype: DType) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_cast_value(each, dtype) for each in value)
    return value.to(dtype) if _is_cast(value) and value.dtype is not dtype else value


def _is_cast(value: Any) -> bool:
    """Whether a value is a Tensor that is cast: one of floating-point numbers of at most 32 bits."""
    return isinstance(value, Tensor) and value.dtype.is_floating_point and value.dtype is not dtypes.float64


def _widest(values: list[Any]) -> DType:
    """float32 where a Tensor is of it, else the dtype that they are cast to."""
    found = [each for value in values for each in (value if isinstance(value, (list, tuple)) else (value,))]
    wide = any(_is_cast(value) and value.dtype is dtypes.float32 for value in found)
    return dtypes.float32 if wide else get_autocast_dtype("cpu")


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
        if device_type not in _ACCELERATORS:
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
        self._blocks: list[tuple[bool, DType, bool, ExitStack]] = []

    def __enter__(self) -> autocast:
        known = is_autocast_enabled(self.device), get_autocast_dtype(self.device), state.cache
        stack = ExitStack()
        if self._enabled and self.device == "cpu" and not known[0]:
            stack.enter_context(around(_handler))
        self._blocks.append((*known, stack))
        state.enabled[self.device], state.dtypes[self.device] = self._enabled, self.fast_dtype
        state.cache = self._cache
        states.autocast_increment_nesting()
        return self

    def __exit__(self, *error: object) -> None:
        states.autocast_decrement_nesting()
        state.enabled[self.device], state.dtypes[self.device], state.cache, stack = self._blocks.pop()
        stack.close()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def cast(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return cast


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
            named = {name: _cast_value(value, cast_inputs) for name, value in kwargs.items()}
            return forward(ctx, *_cast(list(args), cast_inputs), **named)

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
