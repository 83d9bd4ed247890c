"""One representative of each family of operators, on small and on large inputs, forward and backward.

Small inputs show what a call costs, large ones what the work costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bench.inputs import Maker, below, between, flags, normal, numbers, recurrent, spread, with_states
from bench.measure import Round, seconds_of


@dataclass(frozen=True)
class Case:
    """One call with its inputs of both sizes; `call` is given the library and a Tensor for each input."""

    family: str  # the large inputs of a family share a budget
    name: str
    call: Callable[..., Any]
    small: Sequence[Maker]
    large: Sequence[Maker]
    dtype: str = ""  # of floating-point inputs, where it is not float32


# -- calls that take more than a line --------------------------------------------------------------------------------


def batch_norm(library: Any, x: Any, weight: Any, bias: Any) -> Any:
    return library.nn.functional.batch_norm(x, None, None, weight, bias, training=True)


def lstm(library: Any, x: Any, h: Any, c: Any, *parameters: Any) -> Any:
    return library.lstm(x, (h, c), parameters, True, 1, 0.0, False, False, False)


def gru(library: Any, x: Any, h: Any, *parameters: Any) -> Any:
    return library.gru(x, h, parameters, True, 1, 0.0, False, False, False)


def stft(library: Any, x: Any, window: Any) -> Any:
    return library.stft(x, window.shape[0], window=window, return_complex=True)


# -- the cases -------------------------------------------------------------------------------------------------------

CASES = [
    Case(
        "convolution",
        "conv1d",
        lambda library, x, w, b: library.nn.functional.conv1d(x, w, b, padding=1),
        (normal(1, 4, 16), normal(4, 4, 3), normal(4)),
        (normal(16, 64, 1024), normal(64, 64, 3), normal(64)),
    ),
    Case(
        "convolution",
        "conv2d",
        lambda library, x, w, b: library.nn.functional.conv2d(x, w, b, padding=1),
        (normal(1, 4, 8, 8), normal(4, 4, 3, 3), normal(4)),
        (normal(16, 32, 32, 32), normal(64, 32, 3, 3), normal(64)),
    ),
    Case(
        "convolution",
        "conv2d, depthwise",
        lambda library, x, w, b: library.nn.functional.conv2d(x, w, b, padding=1, groups=w.shape[0]),
        (normal(1, 4, 8, 8), normal(4, 1, 3, 3), normal(4)),
        (normal(16, 64, 32, 32), normal(64, 1, 3, 3), normal(64)),
    ),
    Case(
        "convolution",
        "conv3d",
        lambda library, x, w, b: library.nn.functional.conv3d(x, w, b, padding=1),
        (normal(1, 2, 4, 4, 4), normal(2, 2, 3, 3, 3), normal(2)),
        (normal(4, 16, 16, 16, 16), normal(16, 16, 3, 3, 3), normal(16)),
    ),
    Case(
        "convolution",
        "conv_transpose2d",
        lambda library, x, w, b: library.nn.functional.conv_transpose2d(x, w, b, stride=2, padding=1),
        (normal(1, 4, 4, 4), normal(4, 4, 4, 4), normal(4)),
        (normal(16, 32, 16, 16), normal(32, 32, 4, 4), normal(32)),
    ),
    Case(
        "pooling",
        "max_pool2d",
        lambda library, x: library.nn.functional.max_pool2d(x, 2),
        (normal(1, 2, 8, 8),),
        (normal(16, 32, 64, 64),),
    ),
    Case(
        "pooling",
        "avg_pool2d",
        lambda library, x: library.nn.functional.avg_pool2d(x, 2),
        (normal(1, 2, 8, 8),),
        (normal(16, 32, 64, 64),),
    ),
    Case(
        "pooling",
        "adaptive_avg_pool2d",
        lambda library, x: library.nn.functional.adaptive_avg_pool2d(x, (4, 4)),
        (normal(1, 2, 8, 8),),
        (normal(16, 32, 64, 64),),
    ),
    Case(
        "upsampling",
        "interpolate, nearest",
        lambda library, x: library.nn.functional.interpolate(x, scale_factor=2, mode="nearest"),
        (normal(1, 2, 4, 4),),
        (normal(8, 16, 64, 64),),
    ),
    Case(
        "upsampling",
        "interpolate, bilinear",
        lambda library, x: library.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
        (normal(1, 2, 4, 4),),
        (normal(8, 16, 64, 64),),
    ),
    Case(
        "upsampling",
        "grid_sample",
        lambda library, x, grid: library.nn.functional.grid_sample(x, grid, align_corners=False),
        (normal(1, 2, 4, 4), between(-1, 1, 1, 4, 4, 2)),
        (normal(8, 16, 64, 64), between(-1, 1, 8, 64, 64, 2)),
    ),
    Case(
        "matrix products",
        "mm",
        lambda library, x, y: library.mm(x, y),
        (normal(8, 8), normal(8, 8)),
        (normal(512, 512), normal(512, 512)),
    ),
    Case(
        "matrix products",
        "bmm",
        lambda library, x, y: library.bmm(x, y),
        (normal(2, 4, 4), normal(2, 4, 4)),
        (normal(64, 64, 64), normal(64, 64, 64)),
    ),
    Case(
        "matrix products",
        "mm, int64",
        lambda library, x, y: library.mm(x, y),
        (below(9, 8, 8), below(9, 8, 8)),
        (below(9, 256, 256), below(9, 256, 256)),
    ),
    Case(
        "matrix products",
        "mm, bfloat16",
        lambda library, x, y: library.mm(x, y),
        (normal(8, 8), normal(8, 8)),
        (normal(512, 512), normal(512, 512)),
        dtype="bfloat16",
    ),
    Case(
        "matrix products",
        "cdist",
        lambda library, x, y: library.cdist(x, y),
        (normal(4, 3), normal(4, 3)),
        (normal(512, 32), normal(512, 32)),
    ),
    Case("linear algebra", "det", lambda library, a: library.linalg.det(a), (spread(4),), (spread(20),)),
    Case("linear algebra", "inv", lambda library, a: library.linalg.inv(a), (spread(4),), (spread(256),)),
    Case(
        "linear algebra",
        "solve",
        lambda library, a, b: library.linalg.solve(a, b),
        (spread(4), normal(4, 4)),
        (spread(256), normal(256, 256)),
    ),
    Case("linear algebra", "cholesky", lambda library, a: library.linalg.cholesky(a), (spread(4),), (spread(256),)),
    Case("linear algebra", "qr", lambda library, a: library.linalg.qr(a), (spread(4),), (spread(256),)),
    Case("linear algebra", "eigh", lambda library, a: library.linalg.eigh(a)[0], (spread(4),), (spread(256),)),
    Case("linear algebra", "svd", lambda library, a: library.linalg.svdvals(a), (spread(4),), (spread(256),)),
    Case("linear algebra", "matrix_exp", lambda library, a: library.matrix_exp(a), (spread(4),), (spread(256),)),
    Case("reductions", "sum of a dimension", lambda library, x: x.sum(0), (normal(4, 8),), (normal(1024, 1024),)),
    Case("reductions", "var", lambda library, x: x.var(-1), (normal(4, 8),), (normal(1024, 1024),)),
    Case("reductions", "amax", lambda library, x: x.amax(-1), (normal(4, 8),), (normal(1024, 1024),)),
    Case("reductions", "logsumexp", lambda library, x: x.logsumexp(-1), (normal(4, 8),), (normal(1024, 1024),)),
    Case(
        "reductions",
        "vector_norm",
        lambda library, x: library.linalg.vector_norm(x, dim=-1),
        (normal(4, 8),),
        (normal(1024, 1024),),
    ),
    Case("reductions", "prod", lambda library, x: x.prod(-1), (normal(4, 8),), (normal(1024, 256),)),
    Case("reductions", "cumsum", lambda library, x: x.cumsum(-1), (normal(4, 8),), (normal(1024, 1024),)),
    Case("reductions", "softmax", lambda library, x: x.softmax(-1), (normal(4, 8),), (normal(1024, 1024),)),
    Case("selection", "sort", lambda library, x: x.sort(-1)[0], (normal(4, 8),), (normal(256, 1024),)),
    Case("selection", "topk", lambda library, x: x.topk(4)[0], (normal(4, 8),), (normal(256, 1024),)),
    Case("selection", "kthvalue", lambda library, x: x.kthvalue(3)[0], (normal(4, 8),), (normal(256, 1024),)),
    Case("selection", "median", lambda library, x: x.median(-1)[0], (normal(4, 8),), (normal(256, 1024),)),
    Case("selection", "unique", lambda library, x: library.unique(x), (below(9, 32),), (below(1000, 100_000),)),
    Case(
        "selection",
        "searchsorted",
        lambda library, x, y: library.searchsorted(x.detach().cumsum(0), y.detach()),
        (between(0, 1, 8), between(0, 4, 8)),
        (between(0, 1, 1000), between(0, 500, 100_000)),
    ),
    Case(
        "selection",
        "where",
        lambda library, c, x, y: library.where(c, x, y),
        (flags(4, 8), normal(4, 8), normal(4, 8)),
        (flags(1024, 1024), normal(1024, 1024), normal(1024, 1024)),
    ),
    Case(
        "selection",
        "masked_select",
        lambda library, c, x: x.masked_select(c),
        (flags(4, 8), normal(4, 8)),
        (flags(1024, 512), normal(1024, 512)),
    ),
    Case(
        "selection",
        "gather",
        lambda library, x, index: x.gather(1, index),
        (normal(4, 8), below(8, 4, 8)),
        (normal(1024, 512), below(512, 1024, 512)),
    ),
    Case(
        "selection",
        "index_select",
        lambda library, x, index: x.index_select(0, index),
        (normal(4, 8), below(4, 8)),
        (normal(1024, 512), below(1024, 2048)),
    ),
    Case(
        "scatter",
        "scatter",
        lambda library, x, index, y: x.scatter(1, index, y),
        (normal(4, 8), below(8, 4, 8), normal(4, 8)),
        (normal(1024, 512), below(512, 1024, 512), normal(1024, 512)),
    ),
    Case(
        "scatter",
        "scatter_add",
        lambda library, x, index, y: x.scatter_add(1, index, y),
        (normal(4, 8), below(8, 4, 8), normal(4, 8)),
        (normal(1024, 512), below(512, 1024, 512), normal(1024, 512)),
    ),
    Case(
        "scatter",
        "index_add",
        lambda library, x, index, y: x.index_add(0, index, y),
        (normal(4, 8), below(4, 8), normal(8, 8)),
        (normal(1024, 512), below(1024, 2048), normal(2048, 512)),
    ),
    Case(
        "scatter",
        "index_put",
        lambda library, x, index, y: x.index_put((index,), y, accumulate=True),
        (normal(4, 8), below(4, 8), normal(8, 8)),
        (normal(1024, 512), below(1024, 2048), normal(2048, 512)),
    ),
    Case(
        "normalization",
        "batch_norm",
        batch_norm,
        (normal(2, 3, 4, 4), normal(3), normal(3)),
        (normal(16, 32, 32, 32), normal(32), normal(32)),
    ),
    Case(
        "normalization",
        "group_norm",
        lambda library, x, w, b: library.nn.functional.group_norm(x, 2, w, b),
        (normal(2, 4, 4, 4), normal(4), normal(4)),
        (normal(16, 32, 32, 32), normal(32), normal(32)),
    ),
    Case(
        "normalization",
        "instance_norm",
        lambda library, x, w, b: library.nn.functional.instance_norm(x, None, None, w, b),
        (normal(2, 3, 4, 4), normal(3), normal(3)),
        (normal(16, 32, 32, 32), normal(32), normal(32)),
    ),
    Case(
        "normalization",
        "layer_norm",
        lambda library, x, w, b: library.nn.functional.layer_norm(x, w.shape, w, b),
        (normal(4, 8), normal(8), normal(8)),
        (normal(1024, 512), normal(512), normal(512)),
    ),
    Case(
        "normalization",
        "rms_norm",
        lambda library, x, w: library.nn.functional.rms_norm(x, w.shape, w),
        (normal(4, 8), normal(8)),
        (normal(1024, 512), normal(512)),
    ),
    Case(
        "attention",
        "scaled_dot_product_attention",
        lambda library, q, k, v: library.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        (normal(1, 2, 4, 4), normal(1, 2, 4, 4), normal(1, 2, 4, 4)),
        (normal(4, 8, 256, 64), normal(4, 8, 256, 64), normal(4, 8, 256, 64)),
    ),
    Case(
        "recurrent",
        "lstm",
        lstm,
        with_states(2, recurrent(4, 3, 2, 4, 4), 2, 4),
        with_states(2, recurrent(4, 32, 32, 128, 128), 32, 128),
    ),
    Case(
        "recurrent",
        "gru",
        gru,
        with_states(1, recurrent(3, 3, 2, 4, 4), 2, 4),
        with_states(1, recurrent(3, 32, 32, 128, 128), 32, 128),
    ),
    Case(
        "embedding",
        "embedding",
        lambda library, w, index: library.nn.functional.embedding(index, w),
        (normal(8, 4), below(8, 2, 4)),
        (normal(10_000, 128), below(10_000, 64, 64)),
    ),
    Case(
        "embedding",
        "embedding_bag",
        lambda library, w, index: library.nn.functional.embedding_bag(index, w, mode="sum"),
        (normal(8, 4), below(8, 2, 4)),
        (normal(10_000, 128), below(10_000, 256, 32)),
    ),
    Case(
        "losses",
        "cross_entropy",
        lambda library, x, y: library.nn.functional.cross_entropy(x, y),
        (normal(4, 8), below(8, 4)),
        (normal(1024, 1000), below(1000, 1024)),
    ),
    Case(
        "losses",
        "binary_cross_entropy_with_logits",
        lambda library, x, y: library.nn.functional.binary_cross_entropy_with_logits(x, y.detach()),
        (normal(4, 8), between(0, 1, 4, 8)),
        (normal(1024, 512), between(0, 1, 1024, 512)),
    ),
    Case(
        "losses",
        "smooth_l1_loss",
        lambda library, x, y: library.nn.functional.smooth_l1_loss(x, y),
        (normal(4, 8), normal(4, 8)),
        (normal(1024, 512), normal(1024, 512)),
    ),
    Case(
        "losses",
        "ctc_loss",
        lambda library, x, targets, given, asked: library.nn.functional.ctc_loss(
            x.log_softmax(-1), targets + 1, given, asked
        ),
        (normal(6, 2, 5), below(4, 2, 2), numbers(6, 6), numbers(2, 2)),
        (normal(100, 16, 40), below(39, 16, 20), numbers(*[100] * 16), numbers(*[20] * 16)),
    ),
    Case(
        "special functions", "lgamma", lambda library, x: x.lgamma(), (between(1, 3, 4, 8),), (between(1, 3, 500_000),)
    ),
    Case(
        "special functions",
        "erfinv",
        lambda library, x: x.erfinv(),
        (between(-0.9, 0.9, 4, 8),),
        (between(-0.99, 0.99, 500_000),),
    ),
    Case("special functions", "i0", lambda library, x: x.i0(), (normal(4, 8),), (normal(500_000),)),
    Case(
        "special functions",
        "log_ndtr",
        lambda library, x: library.special.log_ndtr(x),
        (normal(4, 8),),
        (normal(500_000),),
    ),
    Case(
        "special functions",
        "xlogy",
        lambda library, x, y: library.xlogy(x, y),
        (normal(4, 8), between(1, 2, 4, 8)),
        (normal(500_000), between(1, 2, 500_000)),
    ),
    Case("fourier", "rfft", lambda library, x: library.fft.rfft(x), (normal(4, 8),), (normal(256, 2048),)),
    Case("fourier", "fft2", lambda library, x: library.fft.fft2(x), (normal(4, 8),), (normal(16, 128, 128),)),
    Case("fourier", "stft", stft, (normal(64), between(0, 1, 16)), (normal(8, 16_384), between(0, 1, 512))),
    Case("random", "rand", lambda library, x: library.rand(x.shape), (normal(4, 8),), (normal(1024, 1024),)),
    Case("random", "randn", lambda library, x: library.randn(x.shape), (normal(4, 8),), (normal(1024, 1024),)),
    Case(
        "random",
        "bernoulli",
        lambda library, x: library.bernoulli(x),
        (between(0, 1, 4, 8),),
        (between(0, 1, 1024, 1024),),
    ),
    Case(
        "random",
        "dropout",
        lambda library, x: library.nn.functional.dropout(x, 0.5),
        (normal(4, 8),),
        (normal(1024, 1024),),
    ),
    Case(
        "random",
        "multinomial",
        lambda library, x: library.multinomial(x.detach(), 4),
        (between(0, 1, 4, 8),),
        (between(0, 1, 256, 1024),),
    ),
    Case("random", "randperm", lambda library, x: library.randperm(x.shape[0]), (normal(8),), (normal(100_000),)),
    Case(
        "shape",
        "cat",
        lambda library, x, y: library.cat([x, y], 1),
        (normal(4, 8), normal(4, 8)),
        (normal(1024, 512), normal(1024, 512)),
    ),
    Case(
        "shape",
        "transpose, contiguous",
        lambda library, x: x.transpose(0, 1).contiguous(),
        (normal(4, 8),),
        (normal(1024, 1024),),
    ),
    Case(
        "shape",
        "pad",
        lambda library, x: library.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
        (normal(1, 2, 4, 4),),
        (normal(8, 16, 64, 64),),
    ),
    Case("shape", "roll", lambda library, x: x.roll(3, 1), (normal(4, 8),), (normal(1024, 1024),)),
    Case("shape", "flip", lambda library, x: x.flip(1), (normal(4, 8),), (normal(1024, 1024),)),
    Case("shape", "repeat", lambda library, x: x.repeat(2, 3), (normal(4, 8),), (normal(512, 512),)),
]

# In the order of the report.
FAMILIES = tuple(dict.fromkeys(case.family for case in CASES))


# -- measuring -------------------------------------------------------------------------------------------------------


def results_with_gradients(result: Any) -> list[Any]:
    """Of what a call returned, the Tensors that a gradient can go through."""
    if isinstance(result, (tuple, list)):
        return [one for part in result for one in results_with_gradients(part)]
    return [result] if result.requires_grad else []


def operator(case: Case, library: Any, size: Literal["small", "large"], seconds: float) -> Round:
    """One call that records, and the gradient through it where it has one."""
    generator = np.random.default_rng(0)
    makers = case.small if size == "small" else case.large
    inputs = [library.tensor(maker(generator)) for maker in makers]
    if case.dtype:
        inputs = [x.to(getattr(library, case.dtype)) if x.is_floating_point() else x for x in inputs]
    leaves = [x.requires_grad_() for x in inputs if x.is_floating_point()]

    def call() -> Any:
        return case.call(library, *inputs)

    timers = {f"{case.name}, {size}: forward": seconds_of(call, seconds)}
    results = results_with_gradients(call())
    if results:
        seeds = [library.ones_like(result) for result in results]

        def gradients() -> Any:
            return library.autograd.grad(results, leaves, seeds, retain_graph=True, allow_unused=True)

        timers[f"{case.name}, {size}: backward"] = seconds_of(gradients, seconds)
    return lambda: {row: timer() for row, timer in timers.items()}
