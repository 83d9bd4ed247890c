"""Which element types an operator takes is what PyTorch takes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from generated.registry import OPERATORS
from gradwright.testing import make_sample, operator_function
from runtime.base import dtypes
from runtime.load.operator_info import OperatorInfo

DTYPES = (dtypes.bool, dtypes.uint8, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.complex64)
CONVOLUTIONS = (
    "convolution", "convolution_backward", "_convolution_double_backward", "_convolution_mode", "conv1d", "conv2d",
    "conv3d", "conv1d.padding", "conv2d.padding", "conv3d.padding", "conv_transpose1d", "conv_transpose2d.input",
    "conv_transpose3d.input",
)  # fmt: skip
# Each of which takes other integers there, and other halves of floats.
POOLING = (
    "max_pool1d", "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "max_unpool2d",
    "max_unpool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool3d_backward",
)  # fmt: skip
# Taken here and not there, and right: nothing else follows from the arguments.
MORE = frozenset((
    "_pad_enum-bool",
    "_foreach_sub.Scalar-bool", "_foreach_sub.ScalarList-bool",
    "sub.Scalar-bool", "rsub.Scalar-bool", "subtract.Scalar-bool", "clamp.Tensor-bool", "dropout-complex64",
    *(f"{n}dropout-{kind}" for n in ("feature_", "alpha_", "feature_alpha_") for kind in ("bool", "uint8", "int64")),
    *(f"{n}dropout-complex64" for n in ("feature_", "alpha_", "feature_alpha_")),
    "dropout-bool", "dropout-uint8", "dropout-int64", "native_dropout-bool", "native_dropout-uint8",
    "native_dropout-int64", "native_dropout-complex64", "bernoulli.Tensor-bool", "bernoulli.Tensor-int64",
    # In one group and without dilation, there as well; complex numbers under the names of nn.functional.
    *(f"{name}-{kind}" for name in CONVOLUTIONS for kind in ("uint8", "int64", "complex64")),
    *(f"max_pool2d_backward-{kind}" for kind in ("uint8", "int64", "float16", "float32")),
    # PyTorch's rows are of multiples of 16 bytes; its gradients of fake quantization are of float32 alone.
    "_grouped_mm-float16", "_grouped_mm-float32",
    "_fake_quantize_learnable_per_tensor_affine_backward-float16",
    *(f"_fake_quantize_learnable_per_channel_affine{end}-float16" for end in ("", "_backward")),
    "affine_grid_generator-float16", "binomial-float16", "rrelu_with_noise-float16",
    "_scaled_dot_product_flash_attention_for_cpu_backward-float16",  # its logarithm has to be of float32 there
    *(f"{name}{dims}d-int64" for name in ("upsample_nearest", "_upsample_nearest_exact") for dims in (1, 2, 3)),
    *(f"{name}-{kind}" for name in POOLING for kind in ("uint8", "int64", "float16")),
))  # fmt: skip
# Taken there and not here: complex numbers of two float16, sums of squares of which only the real part is kept, and
# samples so small that PyTorch does not come to look at them.
LESS = frozenset((
    "_foreach_abs_-complex64",
    "complex-float16", "view_as_complex-float16", "view_as_complex_copy-float16", "bincount-complex64",
    "smooth_l1_loss_backward-uint8",
    "smooth_l1_loss_backward-int64", "threshold-uint8", "einsum-uint8", "hardtanh-uint8",
    "cummax-complex64", "cummin-complex64", "mv-bool", "avg_pool2d_backward-int64", "avg_pool3d_backward-int64",
    "adaptive_avg_pool1d-complex64", "affine_grid_generator-uint8",
    "affine_grid_generator-int64", "affine_grid_generator_backward-uint8", "affine_grid_generator_backward-int64",
    "affine_grid_generator-complex64", "affine_grid_generator_backward-complex64", "upsample_bilinear2d-uint8",
    "upsample_bicubic2d-uint8",
    *(f"_upsample_{name}2d_aa{end}-uint8" for name in ("bilinear", "bicubic", "lanczos") for end in ("", ".vec")),
    *(f"histogram.{name}-float16" for name in ("bin_ct", "bins_tensor")),
    *(f"_histogramdd_{name}-{kind}" for name in ("bin_edges", "from_bin_cts", "from_bin_tensors")
      for kind in ("bool", "uint8", "int64", "float16", "complex64")),
    "rrelu_with_noise_backward-bool", "rrelu_with_noise_backward-uint8", "rrelu_with_noise_backward-int64",
    "rrelu_with_noise_backward-complex64", "soft_margin_loss-complex64", "soft_margin_loss_backward-complex64",
))  # fmt: skip


def to_torch(value: Any) -> Any:
    if isinstance(value, gradwright.Tensor):
        return torch.from_numpy(np.array(value.numpy()))
    if isinstance(value, list | tuple):
        return [to_torch(item) for item in value]
    return getattr(torch, value.name) if isinstance(value, gradwright.dtype) else value


def error_of(function: Any, args: Any, kwargs: Any) -> type[Exception] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("info", [i for i in OPERATORS.values() if i.samples], ids=lambda info: info.name)
def test_an_operator_takes_what_pytorch_takes(info: OperatorInfo) -> None:
    base, _, overload = info.name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    theirs = getattr(packet, overload or "default", None)
    if theirs is None:
        pytest.skip("PyTorch has no such operator")
    for dtype in DTYPES:
        if f"{info.name}-{dtype.name}" in MORE | LESS:
            continue
        for text in info.samples[:2]:
            sample = make_sample(info, text, dtype, requires_grad=False)
            kwargs = {name: to_torch(value) for name, value in sample.kwargs.items()}
            expected = error_of(theirs, [to_torch(value) for value in sample.args], kwargs)
            found = error_of(operator_function(info), sample.args, sample.kwargs)
            if expected is None:
                assert found is None, (dtype, text)
            else:
                assert found is not None, (dtype, text, expected)
                assert issubclass(found, expected) or found is RuntimeError, (dtype, text, expected, found)
