"""Which operators choose their precision, and the one switch that turns that on.

What casts is a handler of operator calls that is there only while casting is on, so it costs nothing while it is off.
Which operators it casts on the CPU is what PyTorch documents of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from gradwright.amp.state import get_autocast_dtype, known_device, state
from runtime.base import dtypes
from runtime.base.dtypes import dtype as DType
from runtime.base.modes import Variant, cast_by, uncast
from runtime.base.tensor import Tensor

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

__all__ = ["set_autocast_enabled"]

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


def enable(device_type: str, enabled: bool) -> None:
    """Turn casting on or off for a kind of device, in this thread."""
    state.enabled[device_type] = enabled
    if device_type == "cpu":
        cast_by(_handler if enabled else None)


@overload
def set_autocast_enabled(enabled: bool, /) -> None: ...
@overload
def set_autocast_enabled(device_type: str, enabled: bool) -> None: ...
@overload
def set_autocast_enabled(*, enabled: bool) -> None: ...
def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """Turn casting on or off, for a kind of device; without one, for CUDA devices.

    Raises:
        RuntimeError: there is no casting for such devices.
        TypeError: an argument is of another type, or missing.
    """
    given, enabled = _bound(*args, **kwargs) if len(args) + len(kwargs) > 1 else ("cuda", _one(*args, **kwargs))
    device_type = known_device(given)
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): 'enabled' must be bool, not {type(enabled).__name__}")
    enable(device_type, enabled)


def _bound(device_type: Any, enabled: Any) -> tuple[Any, Any]:
    return device_type, enabled


def _one(enabled: Any) -> Any:
    return enabled


def _handler(operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]) -> Any:
    if variant != "call":
        return proceed(values)
    name = operator.signature.name
    if name in _LOWER:
        values = cast(values, get_autocast_dtype("cpu"))
    elif name in _FLOAT32:
        values = cast(values, dtypes.float32)
    elif name in _WIDEST:
        values = cast(values, _widest(values))
    else:
        return proceed(values)
    with uncast():
        return proceed(values)


def cast(values: list[Any], dtype: DType) -> list[Any]:
    """Arguments whose Tensors are cast."""
    return [cast_value(value, dtype) for value in values]


def cast_value(value: Any, dtype: DType) -> Any:
    """A value, or a list of them, whose Tensors of floating-point numbers of at most 32 bits are cast."""
    if isinstance(value, (list, tuple)):
        return type(value)(cast_value(each, dtype) for each in value)
    return value.to(dtype) if _is_cast(value) and value.dtype is not dtype else value


def _is_cast(value: Any) -> bool:
    """Whether a value is a Tensor that is cast: one of floating-point numbers of at most 32 bits."""
    return isinstance(value, Tensor) and value.dtype.is_floating_point and value.dtype is not dtypes.float64


def _widest(values: list[Any]) -> DType:
    """float32 where a Tensor is of it, else the dtype that they are cast to."""
    found = [each for value in values for each in (value if isinstance(value, (list, tuple)) else (value,))]
    wide = any(_is_cast(value) and value.dtype is dtypes.float32 for value in found)
    return dtypes.float32 if wide else get_autocast_dtype("cpu")
