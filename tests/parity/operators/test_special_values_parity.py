"""NaN, infinities, zeros, and Tensors without elements or dimensions: every operator gives what PyTorch gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

import gradwright
from generated.registry import OPERATORS
from gradwright.testing import Sample, operator_function, sample_inputs
from runtime.load.operator_info import OperatorInfo
from support.properties import Properties

properties = Properties()

# Which of equal elements comes first, memory that nobody wrote, and matrices that are inverted by other programs.
UNSPECIFIC = frozenset((
    "topk", "empty_like", "new_empty", "linalg_inv", "linalg_inv_ex", "inverse", "linalg_solve", "_linalg_solve_ex",
    "linalg_solve_triangular", "_linalg_svd", "linalg_svd", "linalg_svdvals", "linalg_solve_ex", "triangular_solve",
    "_linalg_det", "linalg_det", "det", "_linalg_slogdet", "linalg_slogdet", "slogdet", "logdet", "cholesky_solve",
    "cholesky_inverse", "linalg_lu_factor_ex", "linalg_lu_factor", "_lu_with_info", "linalg_lu", "linalg_lu_solve",
    "lu_solve", "linalg_qr", "qr", "geqrf", "linalg_householder_product", "orgqr", "ormqr", "_linalg_eigvals",
    "linalg_eigvals", "linalg_eig", "linalg_lstsq", "linalg_cond", "linalg_cond.p_str", "linalg_matrix_power",
    "matrix_power", "linalg_tensorinv", "linalg_tensorsolve", "nuclear_norm", "nuclear_norm.dim", "svd",
    "linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float", "linalg_pinv", "linalg_pinv.rcond_tensor",
    "kthvalue", "_trilinear", "bilinear", "pinverse", "linalg_matrix_exp", "matrix_exp", "matrix_exp_backward",
))  # fmt: skip
# Where PyTorch is not right, or mathematics leaves it open: powers with the exponent 0 are 1, the sign of a number with
# an infinite part is the part's; means of infinite numbers are infinite; poles; and the largest part of a norm decides.
# In sums of a Fourier transform, which infinities meet follows from the algorithm. The exponential in the gradient of
# soft_margin_loss may be infinite; which labels multilabel_margin_loss found, its backward looks at there.
# PyTorch's maxima of bags pass over NaN, but for the first.
# Which of the weights of an antialiased image are 0, rounding decides.
# A variance of infinities is NaN; what PyTorch casts to integers that do not hold it, such as infinities that are
# quantized, is any of them; it takes no float64 in groups of matrices, nor for scales that are learned.
# A query with NaN gives zeros in PyTorch, and its gradients trust the logarithm that they are given.
# What comes through a shrinkage at NaN depends in PyTorch on the place in the array.
# Where a point of a grid is NaN and is moved into the image, PyTorch's gradient of the image is written beyond it,
# which may end the process; in volumes it looks at another place than in images.
OTHERWISE = frozenset((
    "pow.Tensor_Tensor-complex128", "float_power.Tensor_Tensor-complex128", "sgn-complex128", "polygamma-float64",
    "var_mean.correction-float64", "std_mean.correction-float64", "std_mean.dim-float64", "native_layer_norm-float64",
    *(f"_scaled_dot_product_flash_attention_for_cpu{end}-float64" for end in ("", "_backward")),
    "native_group_norm-float64", "_ctc_loss-float64", "_ctc_loss_backward-float64", "_ctc_loss_backward.Tensor-float64",
    "var_mean.dim-float64", "var_mean-float64", "std_mean-float64", "group_norm-float64", "l1_loss-complex128",
    "linalg_vector_norm-complex128", "norm.ScalarOpt_dim-complex128", "norm.Scalar-complex128",
    "linalg_norm.ord_str-complex128", "convolution-complex128", "convolution_backward-complex128",
    "native_batch_norm-float64", "_convolution_mode-complex128", "_convolution_double_backward-complex128",
    "linalg_matrix_norm.str_ord-complex128", "frobenius_norm.dim-complex128", "norm_except_dim-complex128",
    "upsample_bilinear2d-float64", "upsample_trilinear3d-float64", "grid_sampler-float64",
    "max_pool2d_backward-float64", "pairwise_distance-complex128", "_pdist_backward-float64", "_fft_c2r-complex128",
    "fft_hfft-complex128", "fft_hfft-float64", "fft_hfft2-complex128", "fft_hfft2-float64", "fft_hfftn-complex128",
    "fft_hfftn-float64", "fft_irfft-complex128", "fft_irfft-float64", "fft_irfft2-complex128", "fft_irfft2-float64",
    "fft_irfftn-complex128", "fft_irfftn-float64", "soft_margin_loss_backward-float64",
    "multilabel_margin_loss_backward-float64", "_embedding_bag_forward_only-float64", "_embedding_bag-float64",
    "embedding_bag.padding_idx-float64",
    "hardshrink_backward-float64", "softshrink_backward-float64", "_native_batch_norm_legit-float64",
    "grid_sampler_3d-float64", "grid_sampler_2d_backward-float64", "grid_sampler_3d_backward-float64",
    "_upsample_bicubic2d_aa-float64", "_upsample_bicubic2d_aa.vec-float64", "_upsample_bicubic2d_aa_backward-float64",
    "_grouped_mm-float64", "batch_norm_update_stats-float64",
    "fake_quantize_per_channel_affine_cachemask-float64", "fake_quantize_per_channel_affine-float64",
    *(
        f"_fake_quantize_learnable_per_{of}_affine{end}-float64"
        for of in ("tensor", "channel")
        for end in ("", "_backward")
    ),
))  # fmt: skip
# The incomplete gamma functions of PyTorch know of NaN in one argument only, its zeta(x, q) has no limit as q grows,
# and polygamma has no poles.
GAMMA = frozenset(
    f"{name}-float64"
    for name in (
        "igamma", "igammac", "special_gammainc", "special_gammaincc", "special_polygamma", "special_zeta",
        "special_zeta.self_scalar", "special_zeta.other_scalar",
    )
)  # fmt: skip
# Bessel functions, Airy's and the 1/6 of a hard sigmoid have half of the digits in PyTorch; of NaN its recurrences give
# what is left in memory.
INEXACT = frozenset((
    "special_airy_ai", "special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1",
    "hardsigmoid_backward",
))  # fmt: skip
OF_NAN = frozenset(
    f"special_{name}{overload}"
    for name in (
        "chebyshev_polynomial_u", "chebyshev_polynomial_w", "laguerre_polynomial_l", "legendre_polynomial_p",
        "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_w",
    )
    for overload in ("", ".n_scalar")
)  # fmt: skip


def to_torch(value: Any) -> Any:
    if isinstance(value, gradwright.Tensor):
        return torch.from_numpy(np.array(value.detach().numpy()))
    if isinstance(value, list | tuple):
        return [to_torch(item) for item in value]
    return getattr(torch, value.name) if isinstance(value, gradwright.dtype) else value


def flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [each for item in value for each in flat(item)]
    return [] if value is None else [value]


def outcome(function: Any, args: Any, kwargs: Any) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return flat(function(*args, **kwargs))
    except Exception as error:
        return error


def pairs(info: OperatorInfo, dtype: str, values: str) -> list[tuple[Sample, Any, Any]]:
    """What both give for each sample."""
    base, _, overload = info.name.partition(".")
    theirs = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
    found = []
    for sample in sample_inputs(info, dtype, False, values) if theirs is not None else ():
        kwargs = {name: to_torch(value) for name, value in sample.kwargs.items()}
        expected = outcome(theirs, [to_torch(value) for value in sample.args], kwargs)
        found.append((sample, outcome(operator_function(info), sample.args, sample.kwargs), expected))
    return found


def as_array(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = value.resolve_conj().resolve_neg()
    array = value.numpy() if isinstance(value, torch.Tensor | gradwright.Tensor) else np.asarray(value)
    if array.dtype.kind == "c":  # which parts of an infinity are NaN depends on the order of additions
        array = np.where(np.isfinite(array), array, np.nan)
    return array


COMPARED = [
    info
    for info in OPERATORS.values()
    if any("T(" in text for text in info.samples) and not info.random and info.name not in UNSPECIFIC
]


@properties.hold_for(
    (info, dtype)
    for info in COMPARED
    if info.name not in INEXACT | OF_NAN
    for dtype in ("float64", "complex128")
    if f"{info.name}-{dtype}" not in OTHERWISE | GAMMA
)
def special_values(info: OperatorInfo, dtype: str) -> None:
    for sample, found, expected in pairs(info, dtype, "special"):
        if isinstance(expected, Exception):
            assert isinstance(found, Exception), sample.text
            continue
        assert not isinstance(found, Exception), (sample.text, found)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(as_array(one), as_array(other), rtol=1e-8, atol=1e-9, err_msg=sample.text)


# Nonsense that only one of the two looks at (PyTorch's `_pdist_backward` reads memory that is not its own), or that
# both refuse by other classes of errors; a mean of nothing that is NaN here, and not written there; attention to no
# keys, which ends PyTorch's process. On Intel's
# library PyTorch's transforms take no batch without elements.
BAGS = (
    "_embedding_bag", "_embedding_bag_forward_only", "embedding_bag", "embedding_bag.padding_idx",
    "_embedding_bag_backward", "_embedding_bag_dense_backward", "_embedding_bag_per_sample_weights_backward",
)  # fmt: skip
LENIENT = frozenset((
    *(f"{name}-{values}" for name in BAGS for values in ("empty", "0-dim")),
    "_fft_c2c-empty", "_fft_c2r-empty", "_fft_r2c-empty", "fft_fft-empty", "fft_fftn-empty", "fft_hfft-empty",
    "fft_hfftn-empty", "fft_ifft-empty", "fft_ifftn-empty", "fft_ihfft-empty", "fft_ihfftn-empty", "fft_irfft-empty",
    "fft_irfftn-empty", "fft_rfft-empty", "fft_rfftn-empty",
    *(
        f"_scaled_dot_product_flash_attention_for_cpu{end}-{values}"
        for end in ("", "_backward")
        for values in ("empty", "0-dim")
    ),
    *(f"_ctc_loss_backward{kind}-{values}" for kind in ("", ".Tensor") for values in ("empty", "0-dim")),
    "_adaptive_avg_pool3d_backward-0-dim", "_cdist_backward-0-dim", "_convolution_double_backward-0-dim",
    "_native_batch_norm_legit.no_stats-0-dim", "_native_batch_norm_legit_no_training-0-dim",
    "_native_batch_norm_legit_no_training-empty", "_pack_padded_sequence-0-dim",
    "_pack_padded_sequence_backward-0-dim", "_pack_padded_sequence_backward-empty",
    "_pad_packed_sequence-0-dim", "_pdist_backward-0-dim", "_pdist_backward-empty",
    "_upsample_nearest_exact1d_backward-0-dim", "addbmm-0-dim", "addmv-empty", "avg_pool2d-0-dim",
    "avg_pool2d_backward-0-dim", "baddbmm-0-dim", "bincount-empty", "embedding-empty",
    "fractional_max_pool2d_backward-0-dim", "fractional_max_pool3d_backward-0-dim", "grid_sampler-0-dim",
    "group_norm-0-dim", "im2col-0-dim", "index_add-0-dim", "index_add-empty", "index_reduce-0-dim",
    "instance_norm-0-dim", "linalg_norm-0-dim", "linalg_norm-empty", "max_pool2d_backward-0-dim",
    "max_pool2d_backward-empty", "moveaxis.intlist-0-dim", "movedim.intlist-0-dim", "mv-0-dim",
    "multi_margin_loss-empty", "multilabel_margin_loss-empty", "multilabel_margin_loss_forward-empty",
    "native_batch_norm-0-dim", "native_batch_norm-empty", "native_batch_norm_backward-0-dim",
    "native_batch_norm_backward-empty", "native_layer_norm_backward-empty", "pad_sequence-0-dim",
    *(f"reflection_pad{dims}d_backward-0-dim" for dims in (1, 2)),
    *(f"replication_pad{dims}d_backward-0-dim" for dims in (1, 2, 3)),
    "pad-empty", "_pad_enum-empty", "_chunk_cat-0-dim", "replication_pad3d_backward-empty",
    "pixel_unshuffle-empty", "rms_norm-0-dim", "unfold_backward-0-dim", "upsample_linear1d_backward-0-dim",
    "upsample_nearest1d_backward-0-dim", "view_as_complex-empty", "view_as_complex_copy-empty",
    "_native_batch_norm_legit-0-dim", "_native_batch_norm_legit-empty", "_batch_norm_with_update-0-dim",
    "_fused_rms_norm-0-dim", "grid_sampler_2d-0-dim", "grid_sampler_3d-0-dim",
    "grid_sampler_2d_backward-0-dim", "grid_sampler_3d_backward-0-dim",
    "_grouped_mm-empty", "_fake_quantize_learnable_per_channel_affine-empty",
    *(f"_fake_quantize_learnable_per_{of}_affine_backward-{kind}" for of in ("tensor", "channel")
      for kind in ("empty", "0-dim")),
    "_fake_quantize_learnable_per_channel_affine-0-dim", "conv_tbc_backward-0-dim",
))  # fmt: skip


@properties.hold_for(
    (info, values)
    for info in COMPARED
    if info.name not in INEXACT
    for values in ("empty", "0-dim")
    if f"{info.name}-{values}" not in LENIENT
)
def without_elements_and_without_dimensions(info: OperatorInfo, values: str) -> None:
    for dtype in ("float64", "complex128"):
        for sample, found, expected in pairs(info, dtype, values):
            if isinstance(expected, Exception):
                assert isinstance(found, type(expected)), (sample.text, expected)
                continue
            assert not isinstance(found, Exception), (sample.text, found)
            for one, other in zip(found, expected, strict=True):
                one, other = as_array(one), as_array(other)
                assert one.dtype == other.dtype, sample.text
                np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9, err_msg=sample.text)


test_operator, test_properties_are_checked = properties.tests(least=3_300)
