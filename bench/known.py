"""Rows that are known to take more than their budget, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """A reason, and the beginnings of the names of the rows that it holds for."""

    reason: str
    rows: tuple[str, ...]

    def covers(self, row: str) -> bool:
        """Whether the row is one of these."""
        return row.startswith(self.rows)


def _rows(ending: str, *names: str) -> tuple[str, ...]:
    """The rows of operators whose names go on in the same way."""
    return tuple(f"{name}, {ending}" for name in names)


UNKNOWN = "no reason is known"

# Of rows that are covered twice the first reason is said.
KNOWN = (
    Known(
        "both operands are converted, and the result is rounded: three arrays and loops more than in float32",
        _rows("small:", "mm, bfloat16"),
    ),
    Known(
        "a function in Python reads the arguments, and NumPy converts or divides",
        ("8x8: long", "8x8: int % number"),
    ),
    Known(
        "a row is read four times in the cache, and PyTorch's loops take its exponentials and their sum in one",
        _rows("large:", "softmax"),
    ),
    Known(
        "memory gives no more: both libraries take as long as it does, and two threads hardly less than one",
        (
            *_rows("4,000,000 elements:", "sigmoid", "silu", "gelu", "softplus", "elu", "hardswish", "exp"),
            "tanh(x*w+b)*sigmoid(x)",
        ),
    ),
    Known(
        "the gradient is composed of operators, and each is a call of its own",
        _rows(
            "small: backward", "amax", "logsumexp", "vector_norm", "prod", "masked_select", "lgamma", "i0", "det",
            "solve", "cholesky", "qr", "eigh", "svd",
        ),
    ),
    Known(
        "the kernel is several calls of NumPy, which cost about a microsecond each",
        _rows(
            "small:", "layer_norm", "cdist",
            "ctc_loss", "cat", "repeat", "binary_cross_entropy_with_logits",
            "cross_entropy", "var", "logsumexp",
        ),
    ),
    Known(
        "the function of nn.functional reads its arguments in Python before the operator is called",
        _rows(
            "small:", "conv2d", "conv3d", "embedding_bag", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d",
            "interpolate, nearest", "interpolate, bilinear",
        ),
    ),
    Known(
        "the operator is composed of others, and each is a call of its own",
        (
            *_rows(
                "small:", "pad", "batch_norm", "group_norm", "instance_norm", "rms_norm",
                "scaled_dot_product_attention", "lstm", "gru", "stft", "dropout",
            ),
            "8x8: normal_",
        ),
    ),
    Known(
        "NumPy's and SciPy's functions of linear algebra check and copy what they are given, which costs 10 to 30 us",
        _rows("small: forward", "det", "inv", "solve", "cholesky", "eigh", "svd"),
    ),
    Known("results are laid out and named by functions in Python", _rows("small: forward", "qr")),
    Known(
        "SciPy's transforms are called from Python, and what they get of several dimensions is converted first",
        _rows("small:", "rfft", "fft2"),
    ),
    Known(
        "NaN has its place, ties have PyTorch's order: some passes of NumPy more than one",
        _rows("small: forward", "kthvalue", "median", "unique", "searchsorted"),
    ),
    Known(
        "PyTorch's own numbers are made of the bits of its generator in several passes of NumPy",
        _rows("small: forward", "rand", "randn", "bernoulli", "multinomial", "randperm"),
    ),
    Known(
        "PyTorch's library has a processor's own instructions for bfloat16; here they are those of float32",
        _rows("large:", "mm, bfloat16"),
    ),
    Known(
        "BLAS has no such elements: they are converted and rounded back by NumPy",
        _rows("small:", "mm, int64"),
    ),
    Known(
        "windows are copied before one call of BLAS; PyTorch's library reads them in place",
        _rows("large:", "conv2d, depthwise", "conv3d", "conv_transpose2d"),
    ),
    Known(
        "PyTorch has a vectorised loop over windows or places, here are some passes of NumPy over all",
        _rows(
            "large:", "embedding_bag", "ctc_loss", "pad", "prod", "cdist",
        ),
    ),
    Known(
        "the gates of each step are some passes of NumPy; PyTorch's library takes them in one",
        ("lstm, large: forward",),
    ),
    Known(
        "LAPACK of NumPy's OpenBLAS on one thread; PyTorch's is MKL",
        _rows("large:", "inv", "solve", "cholesky", "qr", "eigh", "svd"),
    ),
    Known("SciPy's pocketfft; PyTorch's is MKL", _rows("large:", "rfft", "fft2", "stft")),
)  # fmt: skip


def reason_of(row: str) -> str | None:
    """Why a row takes more than its budget; None where nobody knows."""
    return next((known.reason for known in KNOWN if known.covers(row)), None)


def by_reason(rows: Iterable[str]) -> dict[str, list[str]]:
    """Rows over budget by the reason, those without one last."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(reason_of(row) or UNKNOWN, []).append(row)
    order = [*(known.reason for known in KNOWN), UNKNOWN]
    return {reason: found[reason] for reason in order if reason in found}
