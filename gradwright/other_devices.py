"""Operators of devices that are not there: as on PyTorch's CPU they have a schema, and refuse every Tensor."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from runtime import ops

_CONVOLUTION = "SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic"
_TRANSPOSED = _CONVOLUTION.replace("padding,", "padding, SymInt[] output_padding,")
_FUSED = "SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups"
_ADDED = f"Tensor self, Tensor weight, Tensor z, Scalar? alpha, Tensor? bias, {_FUSED}"
_STATISTICS = "Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float momentum"
_BATCH_NORM = (
    "Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float exponential_average_factor, float epsilon"
)
_GRADIENT = "Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight"
# By name the arguments and the number of results.
_SCHEMAS = {
    "batch_norm_backward_elemt": (f"{_GRADIENT}, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count", 1),
    "batch_norm_backward_reduce": (f"{_GRADIENT}, bool input_g, bool weight_g, bool bias_g", 4),
    "batch_norm_elemt": ("Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps", 1),
    "batch_norm_gather_stats": (f"{_STATISTICS}, float eps, int count", 2),
    "batch_norm_gather_stats_with_counts": (f"{_STATISTICS}, float eps, Tensor counts", 2),
    "batch_norm_stats": ("Tensor input, float eps", 2),
    "cudnn_affine_grid_generator": ("Tensor theta, int N, int C, int H, int W", 1),
    "cudnn_batch_norm": (_BATCH_NORM, 4),
    "cudnn_convolution": (f"Tensor self, Tensor weight, {_CONVOLUTION}, bool allow_tf32", 1),
    "cudnn_convolution_add_relu": (_ADDED, 1),
    "cudnn_convolution_relu": (f"Tensor self, Tensor weight, Tensor? bias, {_FUSED}", 1),
    "cudnn_convolution_transpose": (f"Tensor self, Tensor weight, {_TRANSPOSED}, bool allow_tf32", 1),
    "cudnn_grid_sampler": ("Tensor self, Tensor grid", 1),
    "miopen_batch_norm": (_BATCH_NORM, 3),
    "miopen_convolution": (f"Tensor self, Tensor weight, Tensor? bias, {_CONVOLUTION}", 1),
    "miopen_convolution_add_relu": (_ADDED, 1),
    "miopen_convolution_relu": (f"Tensor self, Tensor weight, Tensor? bias, {_FUSED}", 1),
    "miopen_convolution_transpose": (f"Tensor self, Tensor weight, Tensor? bias, {_TRANSPOSED}", 1),
    "miopen_ctc_loss": (
        "Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool deterministic, "
        "bool zero_infinity",
        2,
    ),
    "miopen_depthwise_convolution": (f"Tensor self, Tensor weight, Tensor? bias, {_CONVOLUTION}", 1),
    "miopen_rnn": (
        "Tensor input, Tensor[] weight, int weight_stride0, Tensor hx, Tensor? cx, int mode, int hidden_size, "
        "int num_layers, bool batch_first, float dropout, bool train, bool bidirectional, int[] batch_sizes, "
        "Tensor? dropout_state",
        5,
    ),
}

__all__ = [*_SCHEMAS]

_libraries: list[Any] = []  # what they define goes with them


@cache
def _overload(name: str) -> Any:
    """The operator, which is defined when it is asked for first, unless the YAML that runs declares it."""
    packet = getattr(ops.aten, name, None)
    if packet is None:
        from gradwright.library import Library

        arguments, results = _SCHEMAS[name]
        returned = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
        _libraries.append(Library("aten", "FRAGMENT"))
        _libraries[-1].define(f"{name}({arguments}) -> {returned}")
        packet = getattr(ops.aten, name)
    return packet.default


def _refusing(name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        overload = _overload(name)
        overload.operator.signature.bind(args, kwargs)  # a TypeError of a wrong call comes first
        return overload(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Of another device: raises NotImplementedError."
    return function


globals().update({name: _refusing(name) for name in _SCHEMAS})
