"""Losses of sequences and of many classes, random slopes, groups, against PyTorch: one expression a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from gradwright.autograd import gradcheck, gradgradcheck
from support.both import assert_same, with_weights
from support.operator_comparison import OF_OUR_FORMULAS

LEAVES = ("s", "t", "x", "y", "w", "v", "b", "q", "c")


def names(library: Any) -> dict[str, Any]:
    numbers = np.random.default_rng(5)

    def floats(*shape: int) -> Any:
        return library.tensor(numbers.uniform(-2, 2, shape).tolist(), dtype=library.float64).requires_grad_()

    return {
        "s": floats(6, 3, 4),
        "t": floats(6, 4),
        "x": floats(5, 8),
        "y": floats(3, 4, 2, 2),
        "w": floats(7, 8),
        "v": floats(7, 2, 8),
        "b": floats(7),
        "q": floats(4),
        "c": floats(7, 2),
        "rows": library.tensor([[1, 2, 2], [3, 1, 0], [2, 1, 3]]),
        "flat": library.tensor([1, 2, 2, 3, 1, 2]),
        "times": library.tensor([6, 5, 4]),
        "lengths": library.tensor([3, 2, 1]),
        "k": library.tensor([0, 6, 2, 2, 5]),
        "many": library.tensor([0, 3, 5, 15, 19]),
        "inf": float("inf"),
        "lib": library,
        "torch": library,
        "nn": library.nn,
        "F": library.nn.functional,
        "options": lambda **given: library.nn.LinearCrossEntropyOptions(**given),
    }


CALLS = """
F.ctc_loss(s.log_softmax(2), rows, (6, 5, 4), (3, 2, 1){R})
F.ctc_loss(s.log_softmax(2), rows, times, lengths{R})
F.ctc_loss(s.log_softmax(2), flat, times, lengths{R})
F.ctc_loss(s.log_softmax(2), flat.int(), times.int(), lengths{R})
F.ctc_loss(s.log_softmax(2), rows.double(), times, lengths{R})
F.ctc_loss(s.log_softmax(2), rows - 1, (6, 6, 6), (2, 2, 2), 3{R})
F.ctc_loss(s.log_softmax(2), rows, (6, 3, 4), (3, 0, 1){R})
F.ctc_loss(s.log_softmax(2), rows, (2, 3, 4), (3, 2, 1), zero_infinity=True{R})
F.ctc_loss(s.log_softmax(2), rows, (3, 2, 4), (3, 2, 1), zero_infinity=True{R})
F.ctc_loss(s.log_softmax(2), rows, (6, 0, 0), (3, 0, 2), zero_infinity=True{R})
F.ctc_loss(t.log_softmax(1), rows[0], (6,), (3,){R})
F.ctc_loss(t.log_softmax(1), rows[0], torch.tensor(6), torch.tensor(3){R})
F.ctc_loss(s.float().log_softmax(2), rows, times, lengths{R}).double()
nn.CTCLoss(1{R})(s.log_softmax(2), rows * 0 + 2, times, lengths - 1)
F.linear_cross_entropy(x, w, k{R})
F.linear_cross_entropy(x, w, k, linear_bias=b, weight=b.detach().abs(), ignore_index=2{R})
F.linear_cross_entropy(x, w, k, label_smoothing=0.2{R})
F.linear_cross_entropy(x[0], w, k[0]{R})
F.linear_cross_entropy(x, v, torch.stack([k, k], 1), linear_bias=c{R})
F.linear_cross_entropy(x, w, x[:, :7].softmax(1).detach(){R})
F.linear_cross_entropy(x, w, k, options=options(){R})
F.linear_cross_entropy(x, w, k, linear_bias=b, options=options(batch_chunk_size=2){R})
F.linear_cross_entropy(x, w, k, weight=b.detach().abs(), ignore_index=2, options=options(batch_chunk_size=3){R})
F.linear_cross_entropy(x, w, k, options=options(chunking_method="aspect_ratio:4"){R})
F.linear_cross_entropy(x[0], w, k[0], options=options(){R})
F.linear_cross_entropy(x, w, k, label_smoothing=0.1, options=options(){R})
"""


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_values_and_gradients(call: str, reduction: str) -> None:
    text = call.replace("{R}", f", reduction={reduction!r}")

    def body(library: Any) -> Any:
        found = names(library)
        loss = eval(text, found)
        inputs = [found[name] for name in LEAVES]
        weights = library.linspace(0.5, 1.5, loss.numel(), dtype=library.float64).reshape(loss.shape)
        return loss, library.autograd.grad((loss * weights).sum(), inputs, allow_unused=True)

    assert_same(body)


ERRORS = """
F.ctc_loss(s, rows, (6,), (3, 2, 1))
F.ctc_loss(s, rows, (7, 5, 4), (3, 2, 1))
F.ctc_loss(s, rows, (6, 5, 4), (4, 2, 1))
F.ctc_loss(s, rows, (-1, 5, 4), (3, 2, 1))
F.ctc_loss(s, rows, (6, 5, 4), (3, 2, -1))
F.ctc_loss(s, flat, (6, 5, 4), (3, 2, 2))
F.ctc_loss(s, rows[:2], (6, 5, 4), (3, 2, 1))
F.ctc_loss(s, rows[None], (6, 5, 4), (3, 2, 1))
F.ctc_loss(s, rows, (6, 5, 4), (3, 2, 1), blank=4)
F.ctc_loss(s, rows, (6, 5, 4), (3, 2, 1), blank=-1)
F.ctc_loss(s, rows, times.double(), lengths)
F.ctc_loss(s, rows, times, (3, 2, 1))
F.ctc_loss(s, rows, (6, 5, 4), (3, 2, 1), reduction="all")
F.ctc_loss(s[:0], rows, (0, 0, 0), (3, 2, 1))
F.ctc_loss(s[0, 0], rows, (6, 5, 4), (3, 2, 1))
F.ctc_loss(s[None], rows, (6, 5, 4), (3, 2, 1))
F.ctc_loss(s.half(), rows, (6, 5, 4), (3, 2, 1))
torch.autograd.grad(F.hardtanh_(x * 1, -0.5, 0.7).sum(), x), torch.autograd.grad(F.leaky_relu_(x * 1, 0.3).sum(), x)
F.ctc_loss(s, rows, times, lengths, reduction="none").grad_fn
[n for n in dir(F.ctc_loss(s, rows, times, lengths, reduction="none").grad_fn) if n.startswith("_saved")]
F.linear_cross_entropy(x[None], w, k)
F.linear_cross_entropy(x, w[0], k)
F.linear_cross_entropy(x[:, :7], w, k)
F.linear_cross_entropy(x, w, k, linear_bias=b[:2])
F.linear_cross_entropy(x[0], v, k[0])
F.linear_cross_entropy(x, w, x[:, :7], ignore_index=2)
F.linear_cross_entropy(x, w, k, reduction="all")
F.linear_cross_entropy(x, w, k + 3)
options(acc_policy="fast")
options(chunking_method="rows")
options(chunking_method="aspect_ratio:0")
options(batch_chunk_size=0)
options(acc_dtype=torch.int64)
repr(options()), options(batch_chunk_size=2) == options(batch_chunk_size=2)
F.linear_cross_entropy(x, w, k, options=options(batch_chunk_size=4, chunking_method="aspect_ratio:4"))
nn.LinearCrossEntropyLoss(4, 6, weight=b)
nn.LinearCrossEntropyLoss(4, 6, label_smoothing=2)
repr(nn.LinearCrossEntropyLoss(4, 6)), repr(nn.LinearCrossEntropyLoss(4, 6, bias=True, out_features=(2, 3)))
list(nn.LinearCrossEntropyLoss(4, 7, bias=True, weight=b, out_features=(2,)).state_dict())
repr(nn.CTCLoss(2)), repr(nn.NLLLoss2d()), nn.NLLLoss2d(reduction="sum")(x.log_softmax(1), k)
repr(nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10])), repr(nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4], 2.0, True))
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 4])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [0])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [20])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [3, 3])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [3.5])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4]).double()(x, many[:2])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4]).double()(x, many + 1)
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4]).double()(x, many - 1)
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4]).double()(x[None], many[None])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4]).double()(x[0], many[:1])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4]).double()(x, many[0])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4]).double().log_prob(x[0])
repr(nn.RReLU()), repr(nn.RReLU(0.1, 0.2, True))
F.rrelu(x, 0.5, 0.2)
F.rrelu(x, 0.5, 0.2, True)
F.rrelu(x, -inf, 0.2, True)
F.rrelu(x, 0.1, inf)
F.rrelu(k)
F.rrelu(k, training=True)
F.rrelu(x).grad_fn, F.rrelu(x, training=True).grad_fn
[n for n in dir(F.rrelu(x, training=True).grad_fn) if n.startswith("_saved")]
torch.autograd.grad(F.rrelu(x, training=True).sum(), x, create_graph=True)[0].grad_fn
repr(nn.CrossMapLRN2d(3)), nn.CrossMapLRN2d(3)(x)
repr(nn.Container(a=nn.ReLU()))
repr(nn.SyncBatchNorm(3)), list(nn.SyncBatchNorm(3).state_dict())
repr(nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3, bias=False), nn.ReLU())))
nn.SyncBatchNorm(3)(b)
F.gumbel_softmax(k[None])
torch._safe_softmax(k, 0)
torch._safe_softmax(x, 2)
torch._safe_softmax(x, 1).grad_fn
[n for n in dir(torch._safe_softmax(x, 1).grad_fn) if n.startswith("_saved")]
torch.embedding_renorm_(x.detach(), many, 1.0, 2.0)
torch.embedding_renorm_(x.detach(), k.double(), 1.0, 2.0)
torch.embedding_renorm_(x[0].detach(), k, 1.0, 2.0)
torch.embedding_renorm_(x, k - 2, 1.0, 2.0)
torch.native_group_norm(y, None, None, 3, 4, 5, 2, 0.1)
torch.native_group_norm(y, None, None, 3, 4, 4, 3, 0.1)
torch.native_group_norm(y, b, None, 3, 4, 4, 2, 0.1)
[n for n in dir(F.group_norm(y, 2, q).grad_fn) if n.startswith("_saved") and n != "_saved_eps"]
F.group_norm(y, 2, q, q).grad_fn
"""


@pytest.mark.parametrize("text", ERRORS.strip().splitlines())
def test_errors_and_surroundings(text: str) -> None:
    assert_same(lambda library: eval(text, names(library)))


TWICE = """
F.group_norm(y, 2) | F.group_norm(y, 2, q) | F.group_norm(y, 4, q, q * q)
F.group_norm(x, 2) | F.group_norm(y[:0], 2) | F.group_norm(y.transpose(2, 3), 2, q)
F.group_norm(y[:, :2], 1) | F.group_norm(y, 2, q, eps=0.1) | torch.native_group_norm(y, q, q, 3, 4, 4, 2, 0.1)[0]
F.rrelu(x) | F.rrelu(x, -0.2, 0.4) | F.rrelu_(x * 1) | F.rrelu(x, 0.2, 0.2, True) | nn.RReLU(0.1, 0.3).eval()(x)
F.relu_(x * 1) | F.elu_(x * 1, 0.5) | F.celu_(x * 1, 0.5) | F.selu_(x * 1)
F.threshold_(x * 1, 0.2, 3.0) | F.rrelu(x, 0.1, 0.3, inplace=False)
torch._safe_softmax(x, 1) | torch._safe_softmax(x.masked_fill(x > -1, -inf), 1) | torch._safe_softmax(x, 0)
torch._safe_softmax(x.float(), 1, dtype=torch.float64)
torch.sum(F.embedding(k, torch.ones_like(w), max_norm=1.0) * x)
F.linear_cross_entropy(x, w, k) | nn.SyncBatchNorm(8).double()(x) | torch.channel_shuffle(y, 2)
F.embedding(k, w * 1, max_norm=2.0) | F.embedding_bag(torch.stack([k, k]), w * 1, max_norm=2.0, norm_type=1)
"""


@pytest.mark.parametrize("text", [part.strip() for line in TWICE.strip().splitlines() for part in line.split("|")])
def test_first_and_second_gradients(text: str) -> None:
    def body(library: Any) -> Any:
        found = names(library)
        out = eval(text, found)
        inputs = [found[name] for name in LEAVES]
        weights = library.linspace(0.5, 1.5, out.numel(), dtype=library.float64).reshape(out.shape)
        first = library.autograd.grad((out * weights).sum(), inputs, create_graph=True, allow_unused=True)
        total = sum((grad * grad).sum() for grad in first if grad is not None)
        if not isinstance(total, int) and total.requires_grad:
            second = library.autograd.grad(total, inputs, allow_unused=True)
            second = [library.zeros_like(x) if grad is None else grad for grad, x in zip(second, inputs, strict=True)]
        else:
            second = []
        return out, first, second

    assert_same(body)


NUMBERS = np.random.default_rng(1).uniform(-1, 1, 400)


@pytest.mark.parametrize("made", ["8, 20, [4, 10], 2.0", "8, 20, [4], 2.0, True", "8, 20, [1, 2, 19], 1.5"])
def test_adaptive_softmax(made: str) -> None:
    def body(library: Any) -> Any:
        found = names(library)
        x, many = found["x"], found["many"]
        module = eval(f"nn.AdaptiveLogSoftmaxWithLoss({made})", found).double()
        module = with_weights(library, module, NUMBERS)
        out = module(x, many)
        single = module(x[0], many[3])
        grads = library.autograd.grad(out.loss, [x, *module.parameters()], allow_unused=True)
        rest = module(x, many * 0)
        return (
            list(module.state_dict()), out.output, out.loss, single.output, single.loss, grads, rest.output,
            module.log_prob(x), module.predict(x), module.predict(x * -3),
        )  # fmt: skip

    assert_same(body)


def _gradient(library: Any, after_softmax: bool) -> Any:
    found = names(library)
    scores = found["s"] if after_softmax else found["s"].log_softmax(2).detach().requires_grad_()
    values = scores.log_softmax(2) if after_softmax else scores
    loss = library.nn.functional.ctc_loss(values, found["rows"], (6, 5, 4), (3, 2, 1), reduction="sum")
    return library.autograd.grad(loss, scores)[0].detach().numpy(), values.detach().numpy()


@OF_OUR_FORMULAS
def test_gradients_of_log_probabilities_are_those_of_the_loss() -> None:
    """PyTorch's are larger by the probabilities, which a softmax before them takes away again."""
    ours, _ = _gradient(gradwright, False)
    theirs, values = _gradient(torch, False)
    inside = np.arange(6)[:, None, None] < np.array([6, 5, 4])[None, :, None]
    np.testing.assert_allclose(ours + np.exp(values) * inside, theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(_gradient(gradwright, True)[0], _gradient(torch, True)[0], rtol=1e-9, atol=1e-12)

    def loss(library: Any) -> Any:
        found = names(library)
        values = found["s"].log_softmax(2).detach().requires_grad_()
        return lambda x: library.nn.functional.ctc_loss(x, found["rows"], (6, 5, 4), (3, 2, 1), reduction="sum"), values

    function, values = loss(gradwright)
    assert gradcheck(function, (values,), check_forward_ad=True, check_batched_grad=True)
    their_function, their_values = loss(torch)
    assert not torch.autograd.gradcheck(their_function, (their_values,), raise_exception=False)


def test_random_slopes() -> None:
    """In training each negative element has a slope of its own between the bounds, which is its gradient as well."""
    x = gradwright.randn(50, 40, dtype=gradwright.float64, requires_grad=True)
    out = gradwright.nn.functional.rrelu(x, 0.1, 0.3, training=True)
    (grad,) = gradwright.autograd.grad(out.sum(), x)
    values, slopes = x.detach().numpy(), grad.numpy()
    assert (slopes[values > 0] == 1).all()
    below = slopes[values < 0]
    assert below.min() >= 0.1
    assert below.max() <= 0.3
    assert abs(below.mean() - 0.2) < 0.01
    np.testing.assert_array_equal(out.detach().numpy(), values * slopes)
    module = gradwright.nn.RReLU(0.1, 0.3)
    assert not np.array_equal(module(x).detach().numpy(), module(x).detach().numpy())
    written = x.detach().clone()
    assert gradwright.nn.functional.rrelu_(written, 0.1, 0.3, True) is written
    noise = gradwright.full([50, 40], 7.0, dtype=gradwright.float64)
    result = gradwright.ops.rrelu_with_noise(x, noise, 0.1, 0.3, True)
    np.testing.assert_array_equal(result.detach().numpy(), values * noise.numpy())
    noise = gradwright.full([50, 40], 7.0, dtype=gradwright.float64)
    gradwright.ops.rrelu_with_noise(x, noise, 0.1, 0.3, False)
    assert (noise == 7).all()


def test_gumbel_softmax() -> None:
    """Hard samples are one-hot, as often as softmax says; the gradient is that of the soft ones."""
    functional = gradwright.nn.functional
    logits = gradwright.tensor([0.0, 1.0, 2.0], dtype=gradwright.float64).expand(20000, 3).clone().requires_grad_()
    hard = functional.gumbel_softmax(logits, hard=True)
    assert set(np.unique(hard.detach().numpy().round(9))) == {0.0, 1.0}
    np.testing.assert_allclose(hard.detach().numpy().sum(1), 1)
    expected = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    np.testing.assert_allclose(hard.detach().numpy().mean(0), expected, atol=0.02)
    soft = functional.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.detach().numpy().sum(1), 1)
    assert soft.grad_fn.name() == "SoftmaxBackward0"
    gradwright.manual_seed(0)
    (of_hard,) = gradwright.autograd.grad(functional.gumbel_softmax(logits, 0.7, True)[:, 0].sum(), logits)
    gradwright.manual_seed(0)
    (of_soft,) = gradwright.autograd.grad(functional.gumbel_softmax(logits, 0.7)[:, 0].sum(), logits)
    np.testing.assert_array_equal(of_hard.numpy(), of_soft.numpy())


def test_parts_of_a_batch_have_second_derivatives() -> None:
    """PyTorch's parts refuse them."""
    found = names(gradwright)
    options = gradwright.nn.LinearCrossEntropyOptions(batch_chunk_size=2)

    def loss(x: Any, w: Any) -> Any:
        return gradwright.nn.functional.linear_cross_entropy(x, w, found["k"], options=options)

    assert gradgradcheck(loss, (found["x"], found["w"]))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_windows_over_channels(size: int) -> None:
    """Each element sees as many channels at one side as at the other.

    PyTorch's windows never lose channel 0, which its own local_response_norm shows, and gradcheck.
    """
    x = gradwright.randn(2, 6, 2, 2, dtype=gradwright.float64, requires_grad=True)
    module = gradwright.nn.CrossMapLRN2d(size, alpha=0.5)
    squares = x.detach().numpy() ** 2
    side = (size - 1) // 2
    sums = [squares[:, max(c - side, 0) : c + side + 1].sum(1) for c in range(6)]
    wanted = x.detach().numpy() / (1 + 0.5 / size * np.stack(sums, 1)) ** 0.75
    np.testing.assert_allclose(module(x).detach().numpy(), wanted, rtol=1e-12)
    assert gradcheck(module, (x,))
    assert gradgradcheck(module, (x,))
    if size == 3:
        theirs = torch.tensor(x.tolist(), dtype=torch.float64, requires_grad=True)
        their_module = torch.nn.CrossMapLRN2d(size, alpha=0.5)
        assert not torch.autograd.gradcheck(their_module, (theirs,), raise_exception=False)
        assert not np.allclose(their_module(theirs).detach().numpy(), wanted)
        rows = torch.nn.functional.local_response_norm(theirs, size, 0.5).detach().numpy()
        np.testing.assert_allclose(rows, wanted, rtol=1e-12)


def test_statistics_of_groups_are_differentiable() -> None:
    x = gradwright.randn(2, 4, 3, dtype=gradwright.float64, requires_grad=True)
    w = gradwright.randn(4, dtype=gradwright.float64, requires_grad=True)

    def normalized(x: Any, w: Any) -> Any:
        return gradwright.native_group_norm(x, w, w * 2, 2, 4, 3, 2, 0.1)

    assert gradcheck(normalized, (x, w), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(normalized, (x, w))
    assert gradgradcheck(lambda x, w: gradwright.nn.functional.group_norm(x, 2, None, w), (x, w))
    theirs = torch.randn(2, 4, 3, requires_grad=True)
    mean = torch.native_group_norm(theirs, None, None, 2, 4, 3, 2, 0.1)[1]
    assert torch.autograd.grad(mean.sum(), theirs, allow_unused=True) == (None,)
    shift = torch.zeros(4, requires_grad=True)
    out = torch.nn.functional.group_norm(theirs, 2, None, shift)
    with pytest.raises(RuntimeError, match="is invalid for input of size"):
        torch.autograd.grad(out.sum(), [theirs, shift], create_graph=True)
