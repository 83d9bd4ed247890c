"""Products and losses: the native core against the Python kernels, and rules of both."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from generated import operators
from runtime.base.tensor import Tensor, wrap
from support.native_core import needs_core

random = np.random.default_rng(7)

# How an operand of a given shape may lie in memory.
LAYOUTS: list[Callable[[tuple[int, ...]], np.ndarray]] = [
    lambda shape: random.normal(size=shape),
    lambda shape: random.normal(size=(*shape[:-2], shape[-1], shape[-2])).swapaxes(-1, -2),
    lambda shape: random.normal(size=(*shape[:-1], 2 * shape[-1]))[..., ::2],
    lambda shape: random.normal(size=shape)[..., ::-1],
    lambda shape: np.broadcast_to(random.normal(size=(*shape[:-1], 1)), shape),
]


def compare(name: str, *args: Any, **factors: Any) -> Any:
    """The result of an entry, which is that of the Python function to the last bits."""
    function: Any = getattr(operators, name)
    found, wanted = function(*args, **factors), function.__wrapped__(*args, **factors)
    results = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
    for have, want in results:
        assert (have.shape, have.dtype, have.stride()) == (want.shape, want.dtype, want.stride())
        limit = 8 * np.finfo(want.numpy().dtype).eps if want.is_floating_point() or want.is_complex() else 0
        np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=limit, atol=limit * 64)
    return found


SIZES = [(1, 1, 1), (2, 3, 4), (1, 5, 3), (4, 1, 5), (3, 4, 1), (8, 8, 8), (17, 33, 9), (0, 3, 2), (2, 0, 3), (2, 3, 0)]


@needs_core
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize(("rows", "inner", "columns"), SIZES)
def test_products_of_all_layouts(rows: int, inner: int, columns: int, dtype: str) -> None:
    for left, right in itertools.product(LAYOUTS, repeat=2):
        a, b = (
            wrap(array) for array in (_laid_out(left, (rows, inner), dtype), _laid_out(right, (inner, columns), dtype))
        )
        batches = [wrap(_laid_out(f, s, dtype)) for f, s in ((left, (3, rows, inner)), (right, (3, inner, columns)))]
        compare("mm_default", a, b)
        compare("bmm_default", *batches)
        compare("mv_default", a, b[:, 0] if columns else wrap(np.ones(inner, dtype)))
        for shape in ((columns,), (rows, columns), (rows, 1), (), (1, columns)):
            compare("addmm_default", wrap(np.ones(shape, dtype)), a, b)
        compare("addmm_default", wrap(np.ones(columns, dtype)), a, b, beta=2, alpha=3)
        compare("baddbmm_default", wrap(np.ones((rows, columns), dtype)), *batches)
        compare(
            "addmv_default",
            wrap(np.ones(rows, dtype)),
            a,
            wrap(np.ones(inner, dtype)),
        )
    if inner:
        compare(
            "dot_default",
            a[0] if rows else wrap(np.ones(inner, dtype)),
            wrap(np.ones(inner, dtype)),
        )


def _laid_out(layout: Callable[[tuple[int, ...]], np.ndarray], shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array of a layout and a dtype: the strides are those of the layout, in elements."""
    array = layout(shape)
    steps = [stride // array.itemsize for stride in array.strides]
    low = sum(min(step * (size - 1), 0) for step, size in zip(steps, shape, strict=True) if size)
    high = sum(max(step * (size - 1), 0) for step, size in zip(steps, shape, strict=True) if size)
    memory = (random.normal(size=high - low + 1) * 3).astype(dtype)
    item = memory.itemsize
    return np.ndarray(shape, dtype, memory, -low * item, [step * item for step in steps])


def test_products_refuse_what_does_not_fit() -> None:
    a, b = gradwright.ones(2, 3), gradwright.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"):
        gradwright.mm(a, b)
    with pytest.raises(RuntimeError, match="self must be a matrix"):
        gradwright.mm(gradwright.ones(3), b)
    with pytest.raises(RuntimeError, match="same dtype"):
        gradwright.mm(a, gradwright.ones(3, 2, dtype=gradwright.float64))
    with pytest.raises(RuntimeError, match="expand"):
        gradwright.addmm(gradwright.ones(5), a, b.t())
    with pytest.raises(RuntimeError):
        gradwright.dot(gradwright.ones(3), gradwright.ones(4))


def test_special_values_in_products() -> None:
    nan, inf = float("nan"), float("inf")
    a = gradwright.tensor([[nan, 1.0], [inf, 0.0], [0.0, 2.0]])
    b = gradwright.tensor([[1.0, 0.0], [2.0, 1.0]])
    np.testing.assert_array_equal((a @ b).numpy(), [[nan, nan], [inf, nan], [4, 2]])
    np.testing.assert_array_equal(
        gradwright.addmm(gradwright.tensor([nan, -inf]), a, b).numpy(), [[nan] * 2, [nan] * 2, [nan, -inf]]
    )
    assert gradwright.mm(gradwright.zeros(2, 0), gradwright.zeros(0, 2)).tolist() == [[0, 0], [0, 0]]


def test_gradients_of_products() -> None:
    a, b, c = (wrap(random.normal(size=s)).requires_grad_() for s in ((3, 4), (4, 2), (2,)))
    assert gradwright.autograd.gradcheck(lambda a, b, c: gradwright.addmm(c, a, b), (a, b, c))
    assert gradwright.autograd.gradcheck(lambda a, b: a @ a.t() @ a @ b, (a, b))


# -- losses


@needs_core
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 7, 300])
def test_nll_loss(rows: int, weighted: bool, reduction: int, dtype: str) -> None:
    for ignored, transposed in itertools.product((-100, 2, -1), (False, True)):
        scores = random.normal(size=(5, rows) if transposed else (rows, 5)).astype(dtype)
        x = wrap(scores.T if transposed else scores)
        target = wrap(random.integers(0, 5, rows))
        if ignored < 0:
            target[::3] = ignored
        weight = wrap(random.random(5).astype(dtype)) if weighted else None
        loss, total = compare("nll_loss_forward_default", x, target, weight, reduction, ignored)
        grad = wrap(random.normal(size=loss.shape).astype(dtype))
        compare("nll_loss_backward_default", grad, x, target, weight, reduction, ignored, total)


def test_targets_that_are_no_classes() -> None:
    x = gradwright.zeros(2, 3)
    with pytest.raises(IndexError, match=r"Target 3 is out of bounds\."):
        gradwright.nn.functional.nll_loss(x, gradwright.tensor([0, 3]))
    with pytest.raises(RuntimeError, match="expected target dtype to be Long or Byte"):
        gradwright.ops.nll_loss(x, gradwright.tensor([0, 1], dtype=gradwright.int32))
    with pytest.raises(RuntimeError, match="size mismatch"):
        gradwright.ops.nll_loss(x, gradwright.tensor([0]))


def test_the_gradient_of_a_transposed_weight_lies_as_the_weight_does() -> None:
    x = wrap(random.normal(size=(5, 3)))
    weight, bias, plain = (wrap(random.normal(size=s)).requires_grad_() for s in ((4, 3), (4,), (3, 4)))
    for _ in range(2):  # the second time it is added to what there is
        out = gradwright.nn.functional.linear(x, weight, bias) + x.mm(plain)
        out.backward(gradwright.ones_like(out))
        for parameter in (weight, bias, plain):
            assert parameter.grad is not None
            assert parameter.grad.stride() == parameter.stride()
            assert not parameter.grad._is_view()
            assert parameter.grad._version in (0, 1)
    assert weight.grad is not None
    np.testing.assert_allclose(weight.grad.numpy(), 2 * np.ones((5, 4)).T @ x.numpy(), rtol=1e-12)
    np.testing.assert_allclose(plain.grad.numpy(), 2 * x.numpy().T @ np.ones((5, 4)), rtol=1e-12)  # type: ignore[union-attr]
    weight.grad.add_(1)
    kept: list[Tensor] = []
    weight.t().register_hook(kept.append)
    seen = weight.t() * 1
    seen.register_hook(kept.append)
    weight.grad = None
    x.mm(seen).sum().backward()
    assert kept[0].tolist() == weight.grad.t().tolist()  # type: ignore[attr-defined]
    assert gradwright.autograd.gradgradcheck(lambda w: gradwright.nn.functional.linear(x, w, bias.detach()), (weight,))


def test_a_gradient_that_somebody_holds_is_not_taken() -> None:
    x = wrap(random.normal(size=(3, 4))).requires_grad_()
    held: list[Tensor] = []
    y = x.t()
    y.register_hook(lambda grad: held.append(grad))
    (y * 2).sum().backward()
    assert x.grad is not None
    x.grad.zero_()
    assert held[0].tolist() == [[2.0] * 3] * 4
