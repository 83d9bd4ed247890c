"""What products of groups of matrices do where PyTorch leaves memory as it is, or refuses how it lies."""

from __future__ import annotations

import pytest

import runtime

F = runtime.nn.functional


def offsets(*ends: int, device: str = "cpu") -> runtime.Tensor:
    return runtime.tensor(ends, dtype=runtime.int32, device=device)


def test_what_no_group_has_is_zero() -> None:
    a = runtime.randn(6, 3, dtype=runtime.float64, requires_grad=True)
    b = runtime.randn(2, 3, 5, dtype=runtime.float64, requires_grad=True)
    out = F.grouped_mm(a, b, offs=offsets(1, 4))
    assert runtime.equal(out[1:4], a[1:4] @ b[1])
    assert not out[4:].any()
    out.sum().backward()
    assert not a.grad[4:].any()
    assert a.grad[:4].all()
    columns = F.grouped_mm(b.mT, a.detach().T, offs=offsets(2, 5))
    assert columns.shape == (5, 6)
    assert not columns[:, 5:].any()


def test_an_empty_group_of_an_inner_dimension_is_zero() -> None:
    a, b = runtime.randn(3, 4), runtime.randn(4, 5)
    out = F.grouped_mm(a, b, offs=offsets(2, 2, 4))
    assert not out[1].any()
    runtime.testing.assert_close(out.sum(0), a @ b)


def test_the_inner_dimensions_have_to_be_the_same() -> None:
    with pytest.raises(RuntimeError, match="contraction dimension"):
        runtime._grouped_mm(runtime.randn(3, 5), runtime.randn(6, 2), offsets(2, 5))


def test_half_precision_is_rounded_once() -> None:
    a, b = (runtime.randn(2, 64, 64).bfloat16() for _ in range(2))
    assert runtime.equal(F.grouped_mm(a, b), (a.float() @ b.float()).bfloat16())


def test_shapes_without_data() -> None:
    a, b = runtime.empty(6, 3, device="meta", requires_grad=True), runtime.empty(2, 3, 5, device="meta")
    out = F.grouped_mm(a, b, offs=offsets(1, 4, device="meta"))
    assert out.shape == (6, 5)
    out.sum().backward()
    assert a.grad.shape == (6, 3)
