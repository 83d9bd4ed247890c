"""Operators against PyTorch's of the same name: results, gradients, their gradients, tangents; and where they differ.

Of whatever was generated: this project's formulas or, by `make upstream`, PyTorch's own.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from generated import operators
from generated.registry import OPERATORS
from gradwright.testing import Sample, determined, sample_inputs
from runtime.base.tensor import Tensor
from runtime.load.operator_info import OperatorInfo

DTYPES = ("float64", "complex128")
ON_PYTORCHS_FORMULAS = bool(os.environ.get("GRADWRIGHT_GENERATED"))
OF_OUR_FORMULAS = pytest.mark.skipif(ON_PYTORCHS_FORMULAS, reason="about this project's formulas")

# Where results are not PyTorch's: operator -> stages, and why.  docs/upstream.md tells of each.  What is no longer true
# fails, so the tables say all that there is.
Deviations = dict[str, tuple[set[str], str]]
_LOGIC = {f"{stage}{dtype}" for stage in ("gradient", "second", "forward") for dtype in ("", " complex128")}
_CONSTANT = "PyTorch lets gradients pass as if nothing had been written; the result is constant"
_GRADIENTS_TOGETHER = "the gradients that one operator gives require grad together here"
_CONSTANT_SLOPE = "PyTorch refuses the derivative only when it is asked for; here a constant slope has none"
_SIXTH = "PyTorch's kernel has 1/6 in single precision"
_ROUNDED = "PyTorch rounds each step in single precision, so that the ends are not 0"
_PROBABILITIES = "PyTorch's gradient is larger by the probabilities, which a softmax before it takes away again"
_HALF_OF_THE_DIGITS = "PyTorch's kernel has 6 to 9 digits"
_APPROXIMATE = "PyTorch's kernel has 2 to 5 digits"
_OF_ELEMENTS = "each element of a list has a history of its own here; PyTorch gives one to all that a call makes"
_OF_NUMBERS = "PyTorch's tangent has the number itself in it"
BOTH: Deviations = {
    **{
        name: ({"requires_grad"}, _OF_ELEMENTS)
        for name, info in OPERATORS.items()
        if name.startswith("_foreach_") and "-> Tensor[]" in info.schema and info.node is None and info.samples
    },
    "as_strided_scatter": (
        _LOGIC - {"forward", "forward complex128"},
        "PyTorch keeps the gradient of what was overwritten",
    ),
    "special_airy_ai": ({"result"}, _HALF_OF_THE_DIGITS),
    "special_bessel_j0": ({"result"}, _HALF_OF_THE_DIGITS),
    "special_bessel_j1": ({"result"}, _HALF_OF_THE_DIGITS),
    "special_bessel_y0": ({"result"}, _HALF_OF_THE_DIGITS),
    "special_bessel_y1": ({"result"}, _HALF_OF_THE_DIGITS),
    "_standard_gamma_grad": ({"result"}, _APPROXIMATE),
    "_dirichlet_grad": ({"result"}, _APPROXIMATE),
    "hardsigmoid": ({"gradient", "forward"}, _SIXTH),
    "hardsigmoid_": ({"gradient", "forward"}, _SIXTH),
    "hardsigmoid_backward": ({"result"}, _SIXTH),
    "blackman_window": ({"result"}, _ROUNDED),
    "blackman_window.periodic": ({"result"}, _ROUNDED),
    "logical_and_": (_LOGIC | {"requires_grad"}, _CONSTANT),
    "logical_or_": (_LOGIC | {"requires_grad"}, _CONSTANT),
    "logical_xor_": (_LOGIC | {"requires_grad"}, _CONSTANT),
    "multi_margin_loss_backward": ({"requires_grad"}, _CONSTANT_SLOPE),
    "multilabel_margin_loss_backward": ({"requires_grad"}, _CONSTANT_SLOPE),
    "logical_not_": (_LOGIC, _CONSTANT),
    "cholesky_solve": (
        {f"{stage}{dtype}" for stage in ("gradient", "second", "forward") for dtype in ("", " complex128")},
        "PyTorch multiplies by the whole of a factor of which one triangle was read",
    ),
    "cholesky_inverse": (
        {f"{stage}{dtype}" for stage in ("gradient", "second", "forward") for dtype in ("", " complex128")}
        | {"result complex128"},
        "PyTorch multiplies by the whole of a factor of which one triangle was read; its inverse has no real diagonal",
    ),
    "triangular_solve": (
        {"forward", "forward complex128"},
        "PyTorch's tangent takes the whole of a matrix of which one triangle was read",
    ),
    "scatter_reduce.two": ({"forward"}, "PyTorch's tangent of a product is wrong where `include_self` is not"),
    "scatter_reduce_.two": ({"forward"}, "PyTorch's tangent of a product is wrong where `include_self` is not"),
    "logsumexp": (
        {"forward", "forward complex128"},
        "PyTorch's tangent over no elements is NaN; here it is 0, as the gradient is in both",
    ),
    "conv_tbc_backward": (
        {f"{stage} complex128" for stage in ("result", "gradient", "second", "forward")},
        "PyTorch's gradients of complex numbers lack the conjugation",
    ),
    "silu_": (
        {"gradient complex128", "second complex128", "forward complex128"},
        "PyTorch refuses silu for complex numbers; silu_ is let through, with a gradient that lacks a conjugation",
    ),
    "native_layer_norm_backward": ({"second"}, "PyTorch's third derivatives take mean and deviation for constants"),
    "_native_batch_norm_legit.no_stats": (
        {"second"},
        "PyTorch has no second derivative through the gradient of a bias that comes without a weight",
    ),
    "_ctc_loss_backward": ({"result"}, _PROBABILITIES),
    "_ctc_loss_backward.Tensor": ({"result"}, _PROBABILITIES),
    "ctc_loss.IntList": ({"gradient"}, _PROBABILITIES),
    "ctc_loss.Tensor": ({"gradient"}, _PROBABILITIES),
    "_scaled_dot_product_flash_attention_for_cpu_backward": (
        {"result"},
        "PyTorch trusts the logarithm of the sum, which it is given",
    ),
    "native_group_norm_backward": ({"requires_grad"}, "the gradient of a bias does not depend on the input"),
    "_convolution_double_backward": ({"requires_grad"}, _GRADIENTS_TOGETHER),
    "pow.Tensor_Tensor": (
        {"second", "second complex128"},
        "PyTorch's second derivative takes the gradient by the base, which is zero at the exponent 0, for a constant",
    ),
    "pow_.Tensor": (
        {"second", "second complex128"},
        "PyTorch's second derivative takes the gradient by the base, which is zero at the exponent 0, for a constant",
    ),
    "_linalg_det": (
        {"second", "second complex128"},
        "PyTorch's second derivative at a singular matrix divides by its singular values",
    ),
    "pow.Scalar": (
        {"second", "gradient complex128", "second complex128", "forward complex128"},
        "PyTorch's second derivative of 0 ** exponent is NaN; it is 0 where the exponent is above 0",
    ),
}
ON_OWN_FORMULAS: Deviations = {
    **{
        f"_foreach_{name}.{kind}": ({"requires_grad", "forward"}, f"{_OF_ELEMENTS}; {_OF_NUMBERS}")
        for name in ("maximum", "minimum")
        for kind in ("Scalar", "ScalarList")
    },
    "_linalg_svd": (
        {f"{stage}{dtype}" for stage in ("gradient", "second", "forward") for dtype in ("", " complex128")},
        "PyTorch drops the gradients of columns beyond the singular values",
    ),
    "polar": ({"gradient", "second"}, "PyTorch's gradient has the wrong sign where the length is negative"),
    "embedding_dense_backward": ({"gradient", "second"}, "PyTorch's derivative leaves out the scaling by frequency"),
    "native_layer_norm": (
        {"requires_grad", "forward", "second"},
        "mean and deviation are differentiable here; PyTorch has no second derivative through a bias without weight",
    ),
}
ON_THEIR_FORMULAS: Deviations = {
    "_segment_reduce_backward": ({"requires_grad"}, _CONSTANT_SLOPE),
    "_linalg_svd": (
        {"forward", "forward complex128"},
        "of columns beyond the singular values there is no tangent there",
    ),
    "native_layer_norm": ({"second"}, "PyTorch has no second derivative through the gradient of a bias without weight"),
}
DEVIATIONS = {**BOTH, **(ON_THEIR_FORMULAS if ON_PYTORCHS_FORMULAS else ON_OWN_FORMULAS)}

NONE: tuple[set[str], str] = (set(), "")

# What PyTorch refuses for at least one sample, so that there is nothing to compare with.  Strict, too.
_NO_DERIVATIVE = {"gradient", "forward"}
_NO_DERIVATIVES = _NO_DERIVATIVE | {"gradient complex128", "forward complex128"}
_REFUSALS = (
    ("no complex numbers", {"call complex128"}, "abs_ absolute_ silu nan_to_num select_scatter slice_scatter dropout"),
    ("no complex numbers", {"call complex128"}, "dropout_ native_dropout"),
    ("no complex numbers", {"call complex128"}, "embedding_backward embedding_dense_backward"),
    ("no complex numbers", {"call complex128"}, "select_copy.int slice_copy.Tensor"),
    ("no float64", {"call"}, "_grouped_mm"),
    ("no scales of float64", {"call"}, "_fake_quantize_learnable_per_channel_affine"),
    ("no scales of float64", {"call"}, "_fake_quantize_learnable_per_channel_affine_backward"),
    ("no gradients of float64", {"call"}, "_fake_quantize_learnable_per_tensor_affine_backward"),
    ("no gradients of float64", _NO_DERIVATIVE, "_fake_quantize_learnable_per_tensor_affine"),
    ("no forward mode", {"forward"}, "fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine.tensor_qparams"),
    ("no forward mode", {"forward"}, "fake_quantize_per_tensor_affine_cachemask fake_quantize_per_channel_affine"),
    ("no forward mode", {"forward"}, "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"),
    ("no forward mode", {"forward"}, "fake_quantize_per_channel_affine_cachemask"),
    ("no derivative", _NO_DERIVATIVE, "batch_norm_update_stats"),
    ("no forward mode, and no complex numbers", {"forward", "call complex128"}, "conv_tbc slice_inverse"),
    ("no derivative where the result is complex", {"call"}, "view_as_complex_copy"),
    ("no complex numbers", {"call complex128"}, "upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec"),
    ("no complex numbers", {"call complex128"}, "_upsample_nearest_exact1d.vec _upsample_nearest_exact2d.vec"),
    ("no complex numbers", {"call complex128"}, "_upsample_nearest_exact3d.vec upsample_linear1d.vec"),
    (
        "no complex numbers",
        {"call complex128"},
        "upsample_bilinear2d.vec upsample_bicubic2d.vec upsample_trilinear3d.vec",
    ),
    ("no derivative of complex numbers", {"call complex128"}, "normal.Tensor_float"),
    (
        "complex numbers in the functions of nn.functional alone",
        {"call complex128"},
        "convolution _convolution_mode _convolution_double_backward",
    ),
    ("no second derivative where the bias is no input", {"second", "call complex128"}, "convolution_backward"),
    ("no derivative", _NO_DERIVATIVE, "floor_divide floor_divide.Scalar floor_divide_.Tensor floor_divide_.Scalar"),
    ("no derivative", _NO_DERIVATIVE, "heaviside heaviside_ remainder.Scalar_Tensor"),
    ("no derivative", _NO_DERIVATIVE, "mish_backward hardsigmoid_backward logit_backward glu_jvp glu_backward_jvp"),
    ("no derivative", _NO_DERIVATIVE, "bernoulli.p"),
    ("no derivative", _NO_DERIVATIVES, "copy normal_functional silu_backward"),
    ("no derivative in place", _NO_DERIVATIVES, "asinh_ acosh_ atanh_ arcsinh_ arccosh_ arctanh_"),
    ("no second derivative", {"second"}, "hardsigmoid hardsigmoid_"),
    ("no second derivative if only the bias has a gradient", {"second"}, "native_layer_norm"),
    ("no second derivative if only the bias has a gradient", {"second"}, "_native_batch_norm_legit.no_stats"),
    ("no second derivative of an empty table", {"second", "call complex128"}, "embedding"),
    ("no forward mode", {"forward"}, "huber_loss_backward grid_sampler"),
    ("no forward mode", {"forward"}, "igamma igamma_ special_gammainc igammac igammac_ special_gammaincc"),
    ("no forward mode", {"forward"}, "special_zeta special_zeta.self_scalar"),
    ("no forward mode", {"forward", "call complex128"}, "native_dropout_backward _pack_padded_sequence"),
    ("writes a leaf in forward mode", {"forward", "call complex128"}, "uniform zero"),
    ("writes a leaf in forward mode", {"forward"}, "bernoulli.Tensor cauchy exponential geometric log_normal"),
    ("writes a leaf in forward mode", {"forward"}, "random random.from random.to"),
    ("writes a constant zero in forward mode", {"forward"}, "mse_loss_backward"),
    ("a tangent of the wrong shape", {"forward", "forward complex128"}, "norm.Scalar masked_scatter_backward"),
    ("a tangent of the wrong shape", {"forward"}, "norm.ScalarOpt_dtype"),
    ("a source larger than the index", {"gradient", "gradient complex128"}, "scatter.src scatter_.src"),
    ("a source larger than the index", {"gradient", "gradient complex128"}, "scatter_add scatter_add_"),
    ("no forward mode", {"forward", "forward complex128"}, "cholesky ormqr"),
    ("no complex numbers", {"call complex128"}, "_trilinear bilinear"),
    ("no complex numbers; a source larger than the index", {"call complex128", "gradient"}, "scatter_reduce.two"),
    (
        "no complex numbers, no forward mode and no second derivative of products with zeros",
        {"call complex128", "forward", "second"},
        "index_reduce",
    ),
    ("writes a leaf, a source larger than the index", _NO_DERIVATIVES, "scatter_reduce_.two"),
    ("no forward mode, no second derivative with zeros", _NO_DERIVATIVES - {"gradient"} | {"second"}, "index_reduce_"),
    ("no second derivative and no forward mode", {"second", "forward"}, "cdist _cdist_forward pdist _pdist_forward"),
    ("no forward mode", {"forward"}, "_euclidean_dist"),
    ("no derivative", _NO_DERIVATIVE, "_cdist_backward _pdist_backward"),
    ("an expanded tangent", {"forward", "forward complex128"}, "triangular_solve norm_except_dim"),
    ("no derivative", _NO_DERIVATIVES, "_linalg_eigvals linalg_ldl_factor_ex"),
    ("no derivative, and none of complex numbers", _NO_DERIVATIVE | {"call complex128"}, "geqrf"),
    ("writes what its derivative needs", {"gradient", "gradient complex128"}, "linalg_cond linalg_cond.p_str vander"),
    ("on other devices only", {"call"}, "max_pool2d_backward"),
    ("no derivative of the target", {"call"}, "soft_margin_loss"),
    ("no derivative of the target, and no forward mode", {"call", "forward"}, "soft_margin_loss_backward"),
    ("no second derivative and no forward mode", {"second", "forward"}, "multi_margin_loss multilabel_margin_loss"),
    ("no second derivative and no forward mode", {"second", "forward"}, "multilabel_margin_loss_forward"),
    ("no derivative", _NO_DERIVATIVE, "multi_margin_loss_backward multilabel_margin_loss_backward"),
    ("no second derivative and no forward mode", {"second", "forward"}, "_embedding_bag embedding_bag"),
    ("no second derivative and no forward mode", {"second", "forward"}, "embedding_bag.padding_idx"),
    ("no complex numbers", {"call complex128"}, "feature_dropout alpha_dropout feature_alpha_dropout"),
    ("no complex numbers", {"call complex128"}, "feature_dropout_ alpha_dropout_ feature_alpha_dropout_"),
    ("without gradients only", {"call"}, "_embedding_bag_forward_only"),
    ("no derivative", _NO_DERIVATIVE, "_embedding_bag_backward _embedding_bag_dense_backward"),
    ("no derivative", _NO_DERIVATIVE, "_embedding_bag_per_sample_weights_backward"),
    ("no second derivative and no forward mode", {"second", "forward"}, "ctc_loss.IntList ctc_loss.Tensor"),
    ("no second derivative and no forward mode", {"second", "forward"}, "_ctc_loss _ctc_loss.Tensor"),
    ("no derivative", _NO_DERIVATIVE, "_ctc_loss_backward _ctc_loss_backward.Tensor"),
    (
        "no derivative",
        _NO_DERIVATIVE,
        "native_group_norm_backward _scaled_dot_product_flash_attention_for_cpu_backward",
    ),
    ("no second derivative and no forward mode", {"second", "forward"}, "_scaled_dot_product_flash_attention_for_cpu"),
    ("no derivative, and none of complex numbers", _NO_DERIVATIVE | {"call complex128"}, "embedding_renorm"),
    ("no derivative", _NO_DERIVATIVES, "embedding_renorm_"),
    ("no derivative", _NO_DERIVATIVES, "native_channel_shuffle"),
    ("no forward mode in place", {"forward"}, "rrelu_ rrelu_with_noise_"),
    ("no derivative of mean and deviation", {"gradient"}, "native_group_norm"),
    ("no derivative", _NO_DERIVATIVE, "_aminmax _aminmax.dim"),
    ("no derivative", _NO_DERIVATIVES, "scatter.reduce scatter_.reduce scatter.value_reduce scatter_.value_reduce"),
    ("no second derivative and no forward mode", {"second", "forward"}, "segment_reduce"),
    ("no second derivative and no forward mode", {"second", "forward"}, "_standard_gamma"),
    ("no derivative", _NO_DERIVATIVE, "_sample_dirichlet"),
    ("no forward mode", {"forward"}, "grid_sampler_2d grid_sampler_3d"),
    ("no forward mode", {"forward"}, "grid_sampler_2d_backward grid_sampler_3d_backward"),
    ("no derivative and no complex numbers", _NO_DERIVATIVE | {"call complex128"}, "_segment_reduce_backward"),
    ("no complex numbers", {"call complex128"}, "batch_norm_backward"),
    ("no kernel for the CPU", {"call", "call complex128"}, "_fused_rms_norm_backward"),
    ("no derivative without a weight", {"gradient"}, "_batch_norm_with_update"),
    ("no derivative", _NO_DERIVATIVES, "_logcumsumexp _stack _chunk_cat"),
    ("no forward mode", {"forward", "forward complex128"}, "nonzero_static"),
    ("no derivative", _NO_DERIVATIVES, "_foreach_addcmul.Tensor _foreach_addcdiv.Tensor _foreach_copy"),
    (
        "no derivative of the number",
        {"gradient", "gradient complex128"},
        "_foreach_add.Tensor _foreach_mul.Tensor _foreach_div.Tensor",
    ),
    (
        "no forward mode",
        {"forward", "forward complex128"},
        "_foreach_mm _foreach_norm.Scalar _foreach_pow.ScalarAndTensor",
    ),
    ("nested Tensors only", {"call", "call complex128"}, "linear_backward matmul_backward"),
)
REFUSED = {name: stages for _, stages, names in _REFUSALS for name in names.split()}

# Their values are whatever is in memory.
UNINITIALIZED = frozenset(("empty.memory_format", "empty_like", "new_empty", "_ctc_loss", "_ctc_loss.Tensor"))
# Random only for arguments that no sample gives.
DETERMINISTIC = frozenset((
    "scaled_dot_product_attention", "rnn_tanh.input", "rnn_tanh.data", "rnn_relu.input", "rnn_relu.data", "lstm.input",
    "lstm.data", "gru.input", "gru.data",
))  # fmt: skip

# Samples of operators that are in PyTorch's YAML only, and that `runtime/operators/upstream/` implements for its
# formulas.
SAMPLES: dict[str, tuple[str, ...]] = {
    "upsample_nearest1d.vec": ("T(1, 2, 5), [3], None", "T(1, 2, 5), None, [2.0]"),
    "_upsample_nearest_exact1d.vec": ("T(1, 2, 5), [3], None", "T(1, 2, 5), None, [2.0]"),
    "upsample_nearest2d.vec": ("T(1, 1, 3, 4), [3, 5], None", "T(1, 1, 3, 4), None, [2.0, 1.5]"),
    "_upsample_nearest_exact2d.vec": ("T(1, 1, 3, 4), [3, 5], None", "T(1, 1, 3, 4), None, [2.0, 1.5]"),
    "upsample_nearest3d.vec": ("T(1, 1, 2, 3, 2), [3, 5, 4], None", "T(1, 1, 2, 3, 2), None, [2.0, 1.5, 2.0]"),
    "_upsample_nearest_exact3d.vec": ("T(1, 1, 2, 3, 2), [3, 5, 4], None", "T(1, 1, 2, 3, 2), None, [2.0, 1.5, 2.0]"),
    "upsample_linear1d.vec": ("T(1, 2, 5), [3], True, None", "T(1, 2, 5), None, False, [2.0]"),
    "upsample_bilinear2d.vec": ("T(1, 1, 3, 4), [3, 5], True, None", "T(1, 1, 3, 4), None, False, [2.0, 1.5]"),
    "upsample_bicubic2d.vec": ("T(1, 1, 3, 4), [3, 5], True, None", "T(1, 1, 3, 4), None, False, [2.0, 1.5]"),
    "upsample_trilinear3d.vec": (
        "T(1, 1, 2, 3, 2), [3, 5, 4], True, None",
        "T(1, 1, 2, 3, 2), None, False, [2.0, 1.5, 2.0]",
    ),
    "mH": ("T(2, 3, 4)",),
    "mT": ("T(2, 3, 4)",),
    "trace_backward": ("T(), [3, 4]",),
    "cummaxmin_backward": ("T(3, 4), D(3, 4), I(3, 4), 0",),
    "cumprod_backward": ("T(3, 4), T(3, 4), 1, D(3, 4)",),
    "value_selecting_reduction_backward": ("T(4), 0, I(4), [3, 4], False", "T(3, 1), 1, I(3, 1), [3, 4], True"),
    "index_select_backward": ("T(2, 4), [3, 4], 0, I(2)",),
    "gather_backward": ("T(2, 3), T(3, 4), 0, I(2, 3), False",),
    "masked_select_backward": ("T(4), D(4), B(4)",),
    "masked_scatter_backward": ("T(3, 4), B(3, 4), [12]",),
    "embedding_backward": ("T(5, 2), I(5), 3, -1, False, False", "T(5, 2), I(5), 3, 1, False, False"),
    "_prelu_kernel_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), T(3, 4, complex=False)",),
    "linear_backward": ("T(2, 3), T(2, 4), T(4, 3), [True, True, True]",),
    "matmul_backward": ("T(2, 4), T(2, 3), T(3, 4), [True, True]",),
    "elu_backward": ("T(3, 4, complex=False), 1.5, 1.0, 0.5, False, T(3, 4, complex=False)",),
    "silu_backward": ("T(3, 4, complex=False), T(3, 4, complex=False)",),
    "mish_backward": ("T(3, 4, complex=False), T(3, 4, complex=False)",),
    "logit_backward": ("T(3, 4, complex=False), T(3, 4, low=0.1, high=0.9, complex=False), 0.2",),
    "glu_backward": ("T(3, 2, complex=False), T(3, 4, complex=False), 1",),
    "glu_jvp": ("T(3, 2, complex=False), T(3, 4, complex=False), T(3, 4, complex=False), 1",),
    "glu_backward_jvp": (
        "T(3, 4, complex=False), T(3, 2, complex=False), T(3, 4, complex=False), T(3, 2, complex=False), "
        "T(3, 4, complex=False), 1",
    ),
    "hardshrink_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), 0.5",),
    "softshrink_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), 0.5",),
    "hardsigmoid_backward": ("T(3, 4, complex=False), T(3, 4, low=-4.0, high=4.0, complex=False)",),
    "hardswish_backward": ("T(3, 4, complex=False), T(3, 4, low=-4.0, high=4.0, complex=False)",),
    "hardtanh_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), -1, 1",),
    "leaky_relu_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), 0.1, False",),
    "softplus_backward": ("T(3, 4, complex=False), T(3, 4, complex=False), 2.0, 1.0",),
    "_segment_reduce_backward": (
        'T(4, 2), D(4, 2), T(8, 2), "sum", lengths=I(4, high=3)',
        'T(2, 3, 2), D(2, 3, 2), T(2, 6, 2), "mean", lengths=I(2, 3, high=3), axis=1, initial=0.5',
        'T(3), D(3), T(6), "max", lengths=I(3, high=3), initial=0.5',
        'T(4), D(4), T(8), "prod", lengths=I(4, high=3)',
    ),
    "batch_norm_backward": (
        "T(3, 2, 2), T(3, 2, 2), T(2), D(2), D(2, low=0.5, high=2), None, None, False, 0.1, [True, True, True], D(0)",
    ),
    "_fused_rms_norm_backward": ("T(3, 4), T(3, 4), [4], D(3, 1, low=0.5, high=2), T(4), [True, True]",),
    "_unique": ("D(6, complex=False)",),
}


def flat(value: Any) -> Iterator[Any]:
    """The Tensors in a result or in arguments, of either library."""
    if isinstance(value, Tensor | torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """An argument with all that is in it changed."""
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, change) for item in value)
    return change(value)


def to_torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.tensor(value.detach().numpy(), requires_grad=value.requires_grad)
    if isinstance(value, gradwright.dtype):
        return getattr(torch, str(value).rpartition(".")[2])
    return value


def to_numpy(tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    return tensor.numpy() if isinstance(tensor, Tensor) else tensor.numpy(force=True)


def numbers(random: np.random.Generator, like: np.ndarray) -> np.ndarray:
    values = random.standard_normal(like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * random.standard_normal(like.shape)
    return np.asarray(values, like.dtype)


class Side:
    """One library's part in a comparison: a call, its inputs, and what comes of it."""

    def __init__(self, library: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]):
        self.library, self.function, self.args, self.kwargs = library, function, args, kwargs
        self.info: OperatorInfo | None = None  # which says what of the results is determined
        self.inputs = [t for t in flat([*args, *kwargs.values()]) if t.requires_grad]
        self.hermitian: set[int] = set()  # of which operators may read one triangle

    def call(self, tensors: Sequence[Any]) -> list[Any]:
        """The results for other Tensors in the places of the inputs."""
        replacement = {
            id(old): (new + new.mH) / 2 if id(old) in self.hermitian else new
            for old, new in zip(self.inputs, tensors, strict=True)
        }

        def replaced(value: Any) -> Any:
            return mapped(value, lambda item: replacement.get(id(item), item))

        kwargs = {name: replaced(value) for name, value in self.kwargs.items()}
        out = self.function(*replaced(list(self.args)), **kwargs)
        return list(flat([out if self.info is None else determined(self.info, out)]))

    def tensor(self, array: np.ndarray) -> Any:
        return self.library.tensor(array, requires_grad=True)

    def gradients(self, outs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """None where nothing flows."""
        known = [i for i, out in enumerate(outs) if out is not None and out.requires_grad]
        if not known:
            return [None] * len(inputs)
        outs, cotangents = [outs[i] for i in known], [cotangents[i] for i in known]
        return list(self.library.autograd.grad(outs, inputs, cotangents, allow_unused=True, create_graph=True))

    def tangents(self, tangents: Sequence[Any]) -> list[Any]:
        forward_ad = self.library.autograd.forward_ad
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x.detach(), t) for x, t in zip(self.inputs, tangents, strict=True)]
            return [forward_ad.unpack_dual(out).tangent for out in self.call(duals)]


Pair = tuple[Any, Any]  # an operator of the runtime and the one of PyTorch


class Comparison:
    """One sample of an operator in both libraries; `only`: the number of the one input that has a gradient."""

    def __init__(self, name: str, pair: Pair, sample: Sample, dtype: str, values: bool, only: int | None = None):
        self.name, self.values = name, values
        self.where = f"{name}({sample.text})" if only is None else f"{name}({sample.text}) for input {only}"
        self.random = np.random.default_rng(zlib.crc32(self.where.encode()))
        self.ours = Side(gradwright, pair[0], sample.args, sample.kwargs)
        kwargs = {key: mapped(value, to_torch) for key, value in sample.kwargs.items()}
        self.theirs = Side(torch, pair[1], mapped(sample.args, to_torch), kwargs)
        hermitian = {id(tensor) for tensor in sample.hermitian}
        places = [place for place, tensor in enumerate(self.ours.inputs) if id(tensor) in hermitian]
        for side in (self.ours, self.theirs):
            side.hermitian = {id(side.inputs[place]) for place in places}
            side.info = TESTED.get(name)
            for number, tensor in enumerate(side.inputs):
                tensor.requires_grad_(only is None or number == only)
            side.inputs = [tensor for tensor in side.inputs if tensor.requires_grad]
        self.suffix = "" if dtype == "float64" else f" {dtype}"
        self.refused: set[str] = set()
        self.deviated: set[str] = set()

    def run(self) -> None:
        theirs = self.ask("call", lambda: self.theirs.call(self.theirs.inputs))
        if theirs is None:
            return
        ours = self.ours.call(self.ours.inputs)
        if self.name in OF_ROUNDING and "rank=" in self.where:
            ours, theirs = ours[: OF_ROUNDING[self.name]], theirs[: OF_ROUNDING[self.name]]
        self.compare("result", ours, theirs)
        self.backward(ours, theirs)
        if self.theirs.inputs:
            tangents = self.random_like(self.theirs.inputs)
            found = self.ask("forward", lambda: self.theirs.tangents(tangents[1]))
            if found is not None:
                self.compare("forward", self.ours.tangents(tangents[0]), found)

    def backward(self, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        requires_grad = [[out.requires_grad for out in outs] for outs in (ours, theirs)]
        self.check("requires_grad", lambda: self.equal(*requires_grad))
        chosen = [i for i, pair in enumerate(zip(*requires_grad, strict=True)) if all(pair)]
        if not chosen:
            return
        outs = [[side[i] for i in chosen] for side in (ours, theirs)]
        cotangents = self.random_like(outs[1])
        inputs = [self.ours.inputs, self.theirs.inputs]
        first = self.gradients("gradient", outs, inputs, cotangents)
        if first is not None:
            both = [[*i, *c] for i, c in zip(inputs, cotangents, strict=True)]
            self.gradients("second", first, both, self.random_like(inputs[1]))

    def gradients(
        self, stage: str, outs: list[list[Any]], inputs: list[list[Any]], cotangents: list[list[Any]]
    ) -> list[list[Any]] | None:
        """Of both sides; None where PyTorch refuses."""
        theirs = self.ask(stage, lambda: self.theirs.gradients(outs[1], inputs[1], cotangents[1]))
        if theirs is None:
            return None
        ours = self.ours.gradients(outs[0], inputs[0], cotangents[0])
        self.compare(stage, ours, theirs)
        return [ours, theirs]

    def ask(self, stage: str, call: Callable[[], Any]) -> Any:
        """What PyTorch says; None where it refuses."""
        try:
            return call()
        except (RuntimeError, ValueError, IndexError):  # NotImplementedError is a RuntimeError
            self.refused.add(stage + self.suffix)
            return None

    def random_like(self, tensors: Sequence[Any]) -> list[list[Any]]:
        arrays = [numbers(self.random, to_numpy(tensor)) for tensor in tensors]
        return [[side.tensor(array) for array in arrays] for side in (self.ours, self.theirs)]

    def check(self, stage: str, call: Callable[[], None]) -> None:
        try:
            call()
        except AssertionError:
            if stage + self.suffix not in DEVIATIONS.get(self.name, NONE)[0]:
                raise
            self.deviated.add(stage + self.suffix)

    def equal(self, ours: Any, theirs: Any) -> None:
        assert ours == theirs, self.where

    def compare(self, stage: str, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        self.check(stage, lambda: self.compare_tensors(f"{stage} of {self.where}", ours, theirs))

    def compare_tensors(self, where: str, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        """Shapes, dtypes and values; no gradient is as good as one of zeros."""
        assert len(ours) == len(theirs), where
        for a, b in zip(ours, theirs, strict=True):
            if a is None and b is None:
                continue
            a = np.zeros_like(to_numpy(b)) if a is None else to_numpy(a)
            b = np.zeros_like(a) if b is None else to_numpy(b)
            assert (a.shape, a.dtype) == (b.shape, b.dtype), where
            if self.values:
                rtol = 1e-6 if a.dtype in ("float32", "complex64") else 1e-8
                np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-10, err_msg=where)


def runtime_operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    info = OPERATORS.get(name)
    function = f"{base}_{overload or 'default'}" if info is None else info.function  # none is a variant
    return consistent(name, getattr(operators, function), gradwright.ops)


def torch_operator(name: str) -> Any:
    """`torch.ops.aten.add.Tensor`; None if PyTorch has no such operator."""
    base, _, overload = name.partition(".")
    return consistent(name, getattr(getattr(torch.ops.aten, base, None), overload or "default", None), torch.ops.aten)


def consistent(name: str, function: Any, ops: Any) -> Any:
    """The operator, with those arguments that are results of another operator made by that, as formulas may assume."""

    def native_layer_norm_backward(grad_out: Any, input: Any, shape: Any, mean: Any, rstd: Any, *rest: Any) -> Any:
        _, mean, rstd = ops.native_layer_norm(input, shape, None, None, 0.1)
        found = function(grad_out, input, shape, mean, rstd, *rest)
        # In forward mode PyTorch gives 0-dim zeros for what the mask leaves out.
        return [result for result, wanted in zip(found, rest[-1], strict=True) if wanted]

    def glu_backward_jvp(grad_x: Any, grad_glu: Any, x: Any, dgrad_glu: Any, dx: Any, dim: int) -> Any:
        return function(ops.glu_backward(grad_glu, x, dim), grad_glu, x, dgrad_glu, dx, dim)

    def _segment_reduce_backward(grad: Any, output: Any, data: Any, reduce: str, **options: Any) -> Any:
        return function(grad, ops.segment_reduce(data, reduce, unsafe=True, **options), data, reduce, **options)

    made = {
        "native_layer_norm_backward": native_layer_norm_backward,
        "glu_backward_jvp": glu_backward_jvp,
        "_segment_reduce_backward": _segment_reduce_backward,
    }
    return made.get(name, function)


def inplace(function: Any) -> Any:
    """An in-place operator on a copy: inputs that require grad must not be written."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self.clone(), *args, **kwargs)

    return call


def with_samples() -> dict[str, OperatorInfo]:
    found = {name: replace(info, samples=info.samples or SAMPLES.get(name, ())) for name, info in OPERATORS.items()}
    return {name: info for name, info in found.items() if info.samples}


TESTED = with_samples()
# Of singular matrices the last rows of LU factors are what rounding leaves: only so many results are compared.
OF_ROUNDING = {"_linalg_det": 1}


def compare(name: str, info: OperatorInfo, pair: Pair, keep: Callable[[Sample], bool] = lambda sample: True) -> None:
    """All samples of an operator that `keep` keeps, with all inputs differentiable and with one at a time."""
    refused, deviated = set(), set()
    values = (not info.random or name in DETERMINISTIC) and name not in UNINITIALIZED
    for dtype in DTYPES:
        for number, sample in enumerate(sample_inputs(info, dtype)):
            count = len(sample.tensors())
            if (dtype == "complex128" and not count) or not keep(sample):
                continue  # without inputs there is no complex variant
            for only in (None, *(range(count) if count > 1 and dtype == "float64" else ())):
                comparison = Comparison(name, pair, sample_inputs(info, dtype)[number], dtype, values, only)
                comparison.run()
                refused |= comparison.refused
                deviated |= comparison.deviated
    assert refused == REFUSED.get(name, NONE[0])
    assert deviated == DEVIATIONS.get(name, NONE)[0]
