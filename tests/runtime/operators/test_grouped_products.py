"""What products of groups of matrices do where PyTorch leaves memory as it is, or refuses how it lies."""

from __future__ import annotations

import pytest

import gradwright

F = gradwright.nn.functional


def offsets(*ends: int, device: str = "cpu") -> gradwright.Tensor:
    return gradwright.tensor(ends, dtype=gradwright.int32, device=device)


def test_what_no_group_has_is_zero() -> None:
    a = gradwright.randn(6, 3, dtype=gradwright.float64, requires_grad=True)
    b = gradwright.randn(2, 3, 5, dtype=gradwright.float64, requires_grad=True)
    out = F.grouped_mm(a, b, offs=offsets(1, 4))
    assert gradwright.equal(out[1:4], a[1:4] @ b[1])
    assert not out[4:].any()
    out.sum().backward()
    assert not a.grad[4:].any()
    assert a.grad[:4].all()
    columns = F.grouped_mm(b.mT, a.detach().T, offs=offsets(2, 5))
    assert columns.shape == (5, 6)
    assert not columns[:, 5:].any()


def test_an_empty_group_of_an_inner_dimension_is_zero() -> None:
    a, b = gradwright.randn(3, 4), gradwright.randn(4, 5)
    out = F.grouped_mm(a, b, offs=offsets(2, 2, 4))
    assert not out[1].any()
    gradwright.testing.assert_close(out.sum(0), a @ b)


def test_the_inner_dimensions_have_to_be_the_same() -> None:
    with pytest.raises(RuntimeError, match="contraction dimension"):
        gradwright._grouped_mm(gradwright.randn(3, 5), gradwright.randn(6, 2), offsets(2, 5))


def test_half_precision_is_rounded_once() -> None:
    a, b = (gradwright.randn(2, 64, 64).bfloat16() for _ in range(2))
    assert gradwright.equal(F.grouped_mm(a, b), (a.float() @ b.float()).bfloat16())


def test_shapes_without_data() -> None:
    a, b = gradwright.empty(6, 3, device="meta", requires_grad=True), gradwright.empty(2, 3, 5, device="meta")
    out = F.grouped_mm(a, b, offs=offsets(1, 4, device="meta"))
    assert out.shape == (6, 5)
    out.sum().backward()
    assert a.grad.shape == (6, 3)
