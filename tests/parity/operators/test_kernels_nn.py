"""Indexing, neural-network functions, losses, factories and conversion beside PyTorch.

A case is a Python expression that both libraries evaluate: the results agree in value, dtype and shape, the gradients
in value, and where PyTorch raises, so does Gradwright, an error of the same class.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
import gradwright.nn.functional
from runtime.methods import conversion

_RANDOM = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "x": _RANDOM.standard_normal((3, 4)),
    "y": _RANDOM.standard_normal((3, 4)),
    "p": _RANDOM.random((3, 4)),
    "q": _RANDOM.random((3, 4)),
    "v": _RANDOM.standard_normal(4),
    "w": _RANDOM.random(4) + 0.5,
    "s": np.array(1.5),
    "z": np.zeros((0, 4)),
    "big": _RANDOM.standard_normal((2, 3, 2, 4)),
    "inf": np.array([-np.inf, -np.inf]),
    "i": np.array([0, 2, 1, 0]),
    "j": np.array([[0, 1, 2, 1], [2, 2, 0, 1]]),
    "k": np.array([0, 3, 1]),
    "far": np.array([0, 5]),
    "neg": np.array([0, -1]),
    "m": _RANDOM.random((3, 4)) < 0.5,
    "b": np.array([True, False, True, True]),
    "n": np.arange(12).reshape(3, 4),
    "t2": _RANDOM.integers(0, 3, (2, 2, 4)),
}
GRADS = ("x", "y", "v", "s", "big")

INDEXING = """
x.index_select(0, i) | x.index_select(-1, i) | x.index_select(0, far) | x.index_select(0, neg) | x.index_select(0, j)
x.index_select(2, i) | x.index_select(0, v) | s.index_select(0, i) | s.index_select(0, neg.abs().clamp(0, 0)[:1])
x.gather(0, j) | x.gather(1, j) | x.gather(0, i) | x.gather(0, far.unsqueeze(1)) | x.gather(0, neg.unsqueeze(1))
x.gather(0, x)
x.gather(0, j.int()) | s.gather(0, i.clamp(0, 0)) | v.gather(0, i) | z.gather(0, j)
x.gather(0, j, sparse_grad=False)
x.detach().scatter(1, k.unsqueeze(1), y.detach()) | x.scatter(1, k.unsqueeze(1), 7.5)
n.scatter(1, k.unsqueeze(1), 7.5) | x.scatter(0, j, y.double())
x.scatter(0, far.unsqueeze(1), y) | x.scatter(0, i, y) | x.scatter(0, n, y) | x.detach().scatter(0, i[:0], y.detach())
x.scatter_add(0, j, y[:2]) | x.scatter_add(1, n % 4, y) | s.scatter_add(0, i[:1], s) | n.scatter_add(0, j, n)
x.index_add(0, i, T.cat([y, y[:1]])) | x.index_add(1, i, y, alpha=2) | x.index_add(0, k, y) | x.index_add(0, i, y)
n.index_add(1, i, n)
x.index_add(0, i[1:], y.double()) | x.index_add(0, neg, y[:2]) | x.index_add(0, i[1:], y[:, :2])
s.index_add(0, i[:1], s)
x.index_copy(0, i[:2], y[:2]) | x.index_copy(1, i[:3], y) | x.index_copy(0, far, y[:2])
x.index_copy(0, i[:2], y[:2].double()) | s.index_copy(0, i[:1], s)
x.index_fill(0, i, 2.5) | x.index_fill(1, neg, 2.5) | x.index_fill(0, far, 1) | x.index_fill(0, i, s)
x.index_fill(0, i, v) | x.index_fill(0, i, 1j) | n.index_fill(0, i, 2.5)
x.take(n.flip(0)) | x.take(neg) | x.take(n + 5) | x.take(x) | z.take(i) | s.take(i[:1]) | x.put(i[:3], v[:3])
x.put(i, v, accumulate=True) | x.put(i, x)
x.put(n + 5, x) | x.put(i, v.double())
x.index_put((i, i), v, True) | x.index_put((i[:2],), y[:2]) | x.index_put((m,), s) | x.index_put((i,), v.double())
x.index_put((i,), x)
n.index_put((i,), n[0], True) | x.index_put((i, k), v)
x.masked_fill(m, 2) | x.masked_fill(b, s) | n.masked_fill(m, 2.5) | x.masked_fill(i, 1) | x.masked_fill(m, v)
x.masked_fill(m, 1j) | s.masked_fill(m, 1.) | x.masked_fill(m[:, :2], 1)
x.masked_select(m) | x.masked_select(b) | x.masked_select(x) | s.masked_select(b) | x.masked_select(m[:, :2])
x.masked_scatter(m, y) | x.masked_scatter(b, y) | x.masked_scatter(m, s) | x.masked_scatter(m, y.double())
v.masked_scatter(m, y)
n.nonzero() | s.nonzero() | m.nonzero() | z.nonzero() | n.argwhere() | T.where(n) | T.where(s)
x.take_along_dim(j, 0) | x.take_along_dim(i) | x.take_along_dim(i, 1) | x.take_along_dim(j, 5)
x.take_along_dim(x, 1) | x.take_along_dim(x.argsort(1), 1)
T.bincount(i) | T.bincount(i, w) | T.bincount(i, minlength=7) | T.bincount(neg) | T.bincount(j) | T.bincount(i[:0])
x.clone().copy_(v) | x.clone().copy_(n) | n.clone().copy_(x) | x.clone().copy_(i[:3]) | v.clone().copy_(x)
x.clone().fill_(2) | n.clone().fill_(2.5)
x.clone().fill_(s) | x.clone().fill_(v) | x.clone().zero_() | n.byte().fill_(300) | x.clone().fill_(1j)
n.clone().fill_(1j)
"""

NN = """
x.softmax(1) | x.softmax(0) | x.softmax(2) | n.softmax(1) | n.softmax(1, dtype=T.float32)
x.softmax(1, dtype=T.float64) | x.half().softmax(1) | s.softmax(0) | z.softmax(0)
z.softmax(1) | inf.softmax(0) | (x * 1j).softmax(1) | (x * 100).softmax(1) | big.softmax(1)
x.log_softmax(1) | x.log_softmax(0) | n.log_softmax(1) | x.log_softmax(1, dtype=T.float64) | s.log_softmax(0)
z.log_softmax(1) | (x * 1000).log_softmax(1) | x.half().log_softmax(1)
F.softmin(x, 1) | F.layer_norm(x, [4]) | F.layer_norm(x, [4], w, v) | F.layer_norm(x, [3, 4]) | F.layer_norm(x, [5])
F.layer_norm(x, []) | F.layer_norm(x, [4], v[:3])
F.layer_norm(x, [4], None, v[:3]) | F.layer_norm(n, [4]) | F.layer_norm(x, [4], w.double()) | F.layer_norm(z, [4])
F.layer_norm(big, [2, 4], eps=0.1) | F.layer_norm(x.half(), [4])
F.layer_norm(x.reshape(3, 1, 4), (4,), w, v) | T.native_layer_norm(x, [4], None, None, 1e-5)
T.native_layer_norm(big, [2, 4], None, None, 1e-5)
F.rms_norm(x, [4]) | F.rms_norm(x, [4], v, 0.1) | F.rms_norm(x, [3]) | F.group_norm(big, 3)
F.group_norm(big, 1, w[:3], v[:3]) | F.group_norm(big, 2) | F.group_norm(v, 2)
F.dropout(x, 0.5, False) | F.dropout(x, 0.) | F.dropout(x, 1.) | F.dropout(x, 1.5) | F.dropout(x, 1.0, True, True)
T.native_dropout(x, 0.5, False) | T.native_dropout(x, 1., True)
F.embedding(j, x) | F.embedding(i, x, padding_idx=0) | F.embedding(i, x, padding_idx=-1)
F.embedding(i, x, padding_idx=9) | F.embedding(far, x) | F.embedding(neg, x) | F.embedding(x, x)
F.embedding(i, v) | F.embedding(i, x, scale_grad_by_freq=True) | F.embedding(i[:0], x)
F.embedding(i, x.detach(), max_norm=0.5) | F.embedding(i.int(), x)
F.one_hot(i) | F.one_hot(i, 5) | F.one_hot(i, 2) | F.one_hot(neg) | F.one_hot(x) | F.one_hot(i[:0])
F.one_hot(i[:0], 3) | F.one_hot(j)
F.glu(x) | F.glu(x, 0) | F.glu(v) | F.normalize(x) | F.normalize(x, p=1., dim=0) | F.normalize(x * 0)
F.cosine_similarity(x, y) | F.cosine_similarity(x, v, 0) | F.cosine_similarity(x * 0, y)
F.scaled_dot_product_attention(x, y, y) | F.scaled_dot_product_attention(big, big, big, is_causal=True)
F.scaled_dot_product_attention(x, y[:2], y[:2], m[:, :2])
F.scaled_dot_product_attention(x, y, y, x[:, :3], scale=0.3)
F.scaled_dot_product_attention(x, y, y, m[:, :3], is_causal=True)
F.pad(x, [1, 2]) | F.pad(x, [1, 2], value=3.) | F.pad(x, [-1, 1]) | F.pad(x, [1, 2, 3])
F.pad(x, [1, 1], mode='reflect') | F.pad(x, [1, 2], mode='replicate') | F.pad(x, [1, 2], mode='circular')
F.pad(big, [1, 1, 1, 1], mode='reflect') | F.pad(x, [5, 1], mode='reflect') | F.pad(x, [1, 1], mode='other')
F.pad(v, [1, 1, 1, 1])
F.relu(x) | F.relu6(x) | F.leaky_relu(x) | F.elu(x, 0.5) | F.celu(x) | F.selu(x) | F.gelu(x)
F.gelu(x, approximate='tanh') | F.silu(x) | F.mish(x) | F.softplus(x) | F.softplus(x, 2, 1)
F.sigmoid(x) | F.logsigmoid(x) | F.tanh(x) | F.tanhshrink(x) | F.softsign(x) | F.hardtanh(x) | F.hardtanh(x, 1., -1.)
F.hardsigmoid(x) | F.hardswish(x) | F.softshrink(x) | F.hardshrink(x)
F.threshold(x, 0.1, 7.) | F.prelu(x, v) | F.prelu(x, s.reshape(1)) | F.linear(x, y) | F.linear(x, y, v[:3])
F.relu(x.clone(), inplace=True) | F.silu(x.clone(), inplace=True)
"""

LOSSES = """
F.nll_loss(x, k) | F.nll_loss(x, k, w) | F.nll_loss(x, k, w, reduction='none')
F.nll_loss(x, k, reduction='sum', ignore_index=3) | F.nll_loss(x, k, v[:3]) | F.nll_loss(x, i)
F.nll_loss(x, k + 3) | F.nll_loss(x, k - 1) | F.nll_loss(x, k.int()) | F.nll_loss(x, x) | F.nll_loss(v, k[0])
F.nll_loss(v, k[0], w, reduction='none') | F.nll_loss(s, k[0]) | F.nll_loss(n, k)
F.nll_loss(big, t2) | F.nll_loss(big, t2, w[:3], reduction='none', ignore_index=1)
F.nll_loss(big.reshape(2, 3, 8), t2.reshape(2, 8)) | F.nll_loss(big, t2[:, :1])
F.nll_loss(big.reshape(2, 3, 8), t2.reshape(2, 8)[:, :3])
F.nll_loss(big.reshape(2, 3, 2, 2, 2), t2.reshape(2, 2, 2, 2), reduction='sum') | F.nll_loss(z, k[:0])
F.nll_loss(x, k * 0 - 100) | F.nll_loss(x, k, reduction='other')
T.ops.aten.nll_loss_forward(x, k, w, 0, -100) | T.ops.aten.nll_loss_forward(x, k, w, 1, 3)
T.ops.aten.nll_loss_forward(v, k[0], w, 2, -100)
F.cross_entropy(x, k) | F.cross_entropy(x, k, w) | F.cross_entropy(x, k, w, label_smoothing=0.1)
F.cross_entropy(x, k, label_smoothing=0.1, reduction='none', ignore_index=1)
F.cross_entropy(x, k, w, label_smoothing=0.1, ignore_index=3)
F.cross_entropy(x, k, w, label_smoothing=0.1, reduction='sum') | F.cross_entropy(x, p)
F.cross_entropy(x, p, w, label_smoothing=0.2)
F.cross_entropy(x, p, reduction='none') | F.cross_entropy(x, p, w, reduction='sum') | F.cross_entropy(x, n)
F.cross_entropy(x, p, ignore_index=1) | F.cross_entropy(x, p, v[:3]) | F.cross_entropy(x, k, label_smoothing=2.)
F.cross_entropy(v, k[1]) | F.cross_entropy(v, p[0]) | F.cross_entropy(big, t2, w[:3], label_smoothing=0.1)
F.cross_entropy(big, t2) | F.cross_entropy(x, k + 1) | F.cross_entropy(x, i) | F.cross_entropy(big, big.softmax(1))
F.mse_loss(x, y) | F.mse_loss(x, y, reduction='none') | F.mse_loss(x, y, reduction='sum') | F.mse_loss(x, v)
F.mse_loss(x, y.double()) | F.mse_loss(n, n) | F.mse_loss(x * 1j, y) | F.mse_loss(x, p, weight=q)
F.mse_loss(x, y, size_average=False)
F.mse_loss(x, y, reduce=False) | F.mse_loss(x, n) | F.mse_loss(z, z) | F.mse_loss(x, v[:3])
F.mse_loss(x, p, weight=w)
F.l1_loss(x, y) | F.l1_loss(x, v, reduction='sum') | F.l1_loss(x * 1j, y) | F.l1_loss(x, y, reduction='none')
F.l1_loss(n, n + 1, reduction='sum') | F.l1_loss(x, y, weight=q)
F.smooth_l1_loss(x, y) | F.smooth_l1_loss(x, y, beta=0.5, reduction='sum') | F.smooth_l1_loss(x, y, beta=0.)
F.smooth_l1_loss(x, y, beta=-1.) | F.smooth_l1_loss(n, n) | F.smooth_l1_loss(x, v, reduction='none')
F.huber_loss(x, y) | F.huber_loss(x, y, delta=0.5, reduction='sum') | F.huber_loss(x, y, delta=0.)
F.huber_loss(x, v, reduction='none') | F.huber_loss(x, y, weight=q)
F.binary_cross_entropy(p, q) | F.binary_cross_entropy(p, q, w) | F.binary_cross_entropy(p, q, reduction='none')
F.binary_cross_entropy(x, q) | F.binary_cross_entropy(p, q[:1]) | F.binary_cross_entropy(p, q.double())
F.binary_cross_entropy(T.sigmoid(x), q, w, reduction='sum') | F.binary_cross_entropy(p, x)
F.binary_cross_entropy((p > 0.5).float(), (q > 0.5).float()) | F.binary_cross_entropy(n, q)
F.binary_cross_entropy_with_logits(x, q) | F.binary_cross_entropy_with_logits(x, q, w)
F.binary_cross_entropy_with_logits(x, q, pos_weight=w)
F.binary_cross_entropy_with_logits(x * 100, q, reduction='none')
F.binary_cross_entropy_with_logits(x, q, p, reduction='sum', pos_weight=w)
F.binary_cross_entropy_with_logits(x, q[:1]) | F.binary_cross_entropy_with_logits(x, y)
F.kl_div(x, p) | F.kl_div(x, p, reduction='batchmean') | F.kl_div(x, y, log_target=True, reduction='sum')
F.kl_div(x, p, reduction='none') | F.kl_div(x, n) | F.kl_div(x, (p > 0.5).float())
"""

FACTORIES = """
T.zeros(2, 3) | T.zeros([2]) | T.zeros(2, dtype=T.int32) | T.zeros([-1]) | T.ones(2, 3) | T.ones([], dtype=T.bool)
T.full([2], 1.5) | T.full([2], 3) | T.full([2], True) | T.full([2], 1j)
T.full([2], 300, dtype=T.uint8) | T.full([2], 1.5, dtype=T.int64) | T.full([-2], 1) | T.full([2], 1j, dtype=T.float32)
T.full([2], -1, dtype=T.uint8) | T.empty(0, 3)
T.zeros_like(x) | T.zeros_like(x, dtype=T.int32) | T.ones_like(n) | T.full_like(n, 1.5) | T.full_like(x, 1j)
T.full_like(x, 3, dtype=T.bool) | T.empty_like(z) | x.new_zeros([2]) | n.new_ones([2, 3])
n.new_full([2], 3.5) | x.new_full([2], 3) | x.new_empty([0, 2]) | x.new_zeros([2], dtype=T.int64)
T.arange(5) | T.arange(5.) | T.arange(1, 5, 2.) | T.arange(5, 1) | T.arange(1, 5, 0) | T.arange(5, 1, -2)
T.arange(0, 1, 0.1) | T.arange(5, dtype=T.float32) | T.arange(True) | T.arange(1.5, 4, dtype=T.int64)
T.arange(0, float('inf')) | T.arange(1j) | T.arange(0) | T.arange(1, 2.5, 0.5) | T.arange(2.5) | T.arange(10, 0, -3)
T.linspace(0, 10, 5) | T.linspace(0, 10, 5, dtype=T.int64) | T.linspace(0, 1, 0) | T.linspace(0, 1, 1)
T.linspace(0, 1, -1) | T.linspace(0, 1j, 3) | T.linspace(3, -7, 6, dtype=T.int32) | T.linspace(0.1, 0.9, 8)
T.linspace(-5, 5, 10, dtype=T.int64)
T.logspace(0, 2, 3) | T.logspace(0, 2, 3, 2) | T.logspace(0, 1, 4, dtype=T.float64) | T.eye(2, 3) | T.eye(3)
T.eye(-1) | T.eye(2, dtype=T.int64) | T.scalar_tensor(3) | T.scalar_tensor(1j) | T.scalar_tensor(True)
T.tril_indices(3, 3) | T.triu_indices(3, 4, 1) | T.tril_indices(2, 4, -1) | T.tril_indices(-1, 2)
T.triu_indices(3, 3, dtype=T.int32)
x.type_as(n) | n.type_as(x) | T.ops.aten._to_copy(x * 1j, dtype=T.float32) | T.ops.aten._to_copy(x, dtype=T.bool)
"""

CONVERSIONS = """
n, T.float32 | n, 'cpu' | n, x | n, 'cpu', T.float64 | n, dtype=T.float64, copy=True | n, T.float64, T.float32 | n
x, T.float32 | x, T.float32, copy=True | x * 1j, T.float32 | x, device='cpu'
x, x | x, T.float64, False, True | x, 'nowhere' | x, dtype=3 | x, T.float64, wrong=1 | x, dtype=None | x, float
x, device='cpu', dtype=T.int64
"""


def cases(text: str) -> list[str]:
    return [case.strip() for line in text.strip().splitlines() for case in line.split("|")]


class Namespace(dict[str, Any]):
    """The names that a case may use, for one of the libraries; Tensors are made when they are first used."""

    def __init__(self, library: Any, functional: Any) -> None:
        super().__init__(T=library, F=functional, float=float)
        self.library = library

    def __missing__(self, name: str) -> Any:
        if name not in ARRAYS:
            raise KeyError(name)
        array = ARRAYS[name]
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        made = self.library.from_numpy(array.copy())
        if name in GRADS:
            made.requires_grad_()
        self[name] = made
        return made


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`T.ops.aten` for Gradwright, so that a case can name operators that only PyTorch's dispatcher shows."""
    monkeypatch.setattr(gradwright.ops, "aten", gradwright.ops, raising=False)


def evaluate(text: str, names: Namespace) -> tuple[Any, type[Exception] | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(text, names), None
        except Exception as error:
            return None, type(error)


def results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def compare(text: str) -> None:
    ours, theirs = Namespace(gradwright, gradwright.nn.functional), Namespace(torch, torch.nn.functional)
    found, error = evaluate(text, ours)
    wanted, their_error = evaluate(text, theirs)
    assert error == their_error
    if error is not None:
        return
    assert len(results(found)) == len(results(wanted))
    for mine, other in zip(results(found), results(wanted), strict=True):
        assert str(mine.dtype).removeprefix("gradwright.") == str(other.dtype).removeprefix("torch.")
        assert tuple(mine.shape) == tuple(other.shape)
        tolerance = 2e-3 if "16" in str(mine.dtype) else 2e-5
        np.testing.assert_allclose(
            mine.detach().numpy(), other.detach().numpy(), rtol=tolerance, atol=tolerance / 10, equal_nan=True
        )
    mine, other = results(found)[0], results(wanted)[0]
    assert mine.requires_grad == other.requires_grad
    if not other.requires_grad:
        return
    weights = np.linspace(0.5, 1.5, other.numel(), dtype=np.float32).reshape(tuple(other.shape))
    for names, out in ((ours, mine), (theirs, other)):
        out.backward(names.library.from_numpy(weights).type_as(out))
    for name in GRADS:
        if name in theirs and theirs[name].is_leaf:
            grad, want = ours[name].grad, theirs[name].grad
            have = 0.0 if grad is None else grad.numpy()
            want = 0.0 if want is None else want.numpy()
            np.testing.assert_allclose(have, want, rtol=10 * tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("text", [case for text in (INDEXING, NN, LOSSES, FACTORIES) for case in cases(text)])
def test_kernel(text: str) -> None:
    compare(text)


@pytest.mark.parametrize("text", cases(CONVERSIONS))
def test_conversion(text: str) -> None:
    ours, theirs = Namespace(gradwright, None), Namespace(torch, None)
    ours["to"] = conversion.to
    theirs["to"] = torch.Tensor.to
    found, error = evaluate(f"to({text})", ours)
    wanted, their_error = evaluate(f"to({text})", theirs)
    assert error == their_error
    if error is None:
        assert str(found.dtype).removeprefix("gradwright.") == str(wanted.dtype).removeprefix("torch.")
        np.testing.assert_array_equal(found.detach().numpy(), wanted.detach().numpy())
        for names, result in ((ours, found), (theirs, wanted)):
            names["same"] = result is names[text[0]]
        assert ours["same"] == theirs["same"]


RANDOM = """
T.rand(1000) | T.rand(1000, dtype=T.float16) | T.rand(1000, dtype=T.complex64) | T.rand(3, dtype=T.int64)
T.randn(1000) | T.randn(3, dtype=T.int64) | T.randn(1000, dtype=T.complex64) | T.rand_like(x) | T.rand_like(n)
T.randn_like(x) | T.randint(5, [1000]) | T.randint(-5, 5, [1000]) | T.randint(0, [2]) | T.randint(5, 3, [2])
T.randint(3, [1000], dtype=T.float32) | T.randint(300, [2], dtype=T.uint8) | T.randint_like(x, 5)
T.randint_like(x, 2, 5) | T.randperm(50) | T.randperm(-1) | T.randperm(5, dtype=T.float32) | T.bernoulli(p)
T.bernoulli(x * 9) | T.bernoulli(n) | T.bernoulli(x, 0.5) | T.bernoulli(x, 1.5) | n.bernoulli(0.5)
x.clone().bernoulli_(0.3) | x.clone().bernoulli_() | x.clone().bernoulli_(w.clamp(0, 1)) | T.normal(x, p)
T.normal(x, -p) | T.normal(0., -1., [2]) | T.normal(x, 2.) | T.normal(0., p) | T.normal(x, w)
T.normal(2., 3., [1000])
n.clone().normal_() | x.clone().normal_() | x.clone().normal_(0, -1) | x.clone().normal_(3, 2) | x.clone().uniform_()
x.clone().uniform_(2, 1) | x.clone().uniform_(-1, 3) | n.clone().uniform_() | x.clone().exponential_()
x.clone().exponential_(-1) | n.clone().exponential_() | T.multinomial(p, 2) | T.multinomial(w, 1000, True)
T.multinomial(p, 5) | T.multinomial(-p, 2) | T.multinomial(w * 0, 2) | T.multinomial(w, 0) | T.multinomial(n, 1)
T.multinomial(big, 1)
x.clone().random_() | x.clone().random_(5) | x.clone().random_(2, 7) | x.clone().random_(7, 2) | n.clone().random_(100)
T.zeros(1000).random_(10) | T.zeros(1000, dtype=T.int64).random_(-5, 5) | T.zeros(1000, dtype=T.bool).random_()
T.zeros(1000).random_() | T.zeros(1000, dtype=T.float16).random_() | T.zeros(1000, dtype=T.int32).random_()
T.zeros(5, dtype=T.uint8).random_(300) | T.zeros(5, dtype=T.uint8).random_(-1, 3)
T.zeros(5, dtype=T.complex64).random_()
x.clone().cauchy_() | x.clone().cauchy_(1, 2) | x.clone().cauchy_(0, -1) | n.clone().cauchy_()
T.zeros(1000).log_normal_(0, 0.5) | x.clone().log_normal_(0, -1) | n.clone().log_normal_()
T.zeros(1000).geometric_(0.3) | T.zeros(1000, dtype=T.int64).geometric_(0.3) | x.clone().geometric_(1.5)
T.zeros(5, dtype=T.bool).geometric_(0.5)
T.poisson(T.full([1000], 3.)) | T.poisson(T.full([1000], 0.25, dtype=T.float64)) | T.poisson(-p) | T.poisson(n)
T.poisson(T.full([9], 1e17))
T.binomial(T.full([1000], 10.), T.full([1000], 0.3)) | T.binomial(T.full([1000], 10.), T.tensor(0.7)) | T.binomial(n, p)
T.binomial(n, n)
T.binomial(p * 9, p) | T.binomial(T.full([3], -1.), T.full([3], 0.3)) | T.binomial(T.full([3], 5.), T.full([3], 1.5))
F.dropout(x) | T.native_dropout(x, 0.5, True) | T.native_dropout(x, 0.5, None)
"""


@pytest.mark.parametrize("text", cases(RANDOM))
def test_random(text: str) -> None:
    """Not the numbers, but their dtype, shape and range, and the errors."""
    ours, theirs = Namespace(gradwright, gradwright.nn.functional), Namespace(torch, torch.nn.functional)
    found, error = evaluate(text, ours)
    wanted, their_error = evaluate(text, theirs)
    assert error == their_error
    if error is not None:
        return
    for mine, other in zip(results(found), results(wanted), strict=True):
        assert str(mine.dtype).removeprefix("gradwright.") == str(other.dtype).removeprefix("torch.")
        assert tuple(mine.shape) == tuple(other.shape)
        if mine.numel() >= 1000:
            array, reference = mine.detach().numpy().astype(complex), other.detach().numpy().astype(complex)
            assert abs(array.mean() - reference.mean()) < 0.35 * max(reference.std(), 0.1)
            assert abs(array.std() - reference.std()) < 0.2 * reference.std()
