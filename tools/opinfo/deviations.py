"""Entries of OpInfo on whose samples PyTorch is wrong, by mode: a row of docs/deviations.md, which has the evidence."""

from __future__ import annotations

PYTORCH_IS_WRONG: dict[str, dict[str, str]] = {
    "as_strided_scatter": dict.fromkeys(("backward", "gradgrad"), "`as_strided_scatter`, gradients"),
    "cholesky_inverse": {"jvp": "`cholesky_inverse`, forward mode"},
    "linalg_norm_subgradients_at_zero": {
        "gradgrad": "`linalg.vector_norm` and `norm` of order 2 at zero, second derivatives"
    },
    "logcumsumexp": {"jvp": "`logcumsumexp` of complex numbers whose exponential is infinite, forward mode"},
    "masked_logaddexp": {"gradgrad": "`logaddexp` and `masked.logaddexp` of -inf, second derivatives"},
    "nn_functional_linear_cross_entropy_chunked": {
        "gradgrad": "`nn.functional.linear_cross_entropy` with `options`, second derivatives and forward mode"
    },
}
