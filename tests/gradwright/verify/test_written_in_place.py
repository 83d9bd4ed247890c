"""Operators that write and have an entry of their own, to lists too: what is proven of them, and what refutes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from generated.registry import OPERATORS
from gradwright import Tensor, ops
from gradwright.verify import batching, points, variants
from gradwright.verify.points import functional_of, gives_nothing
from gradwright.verify.results import Refuted

LISTS = [name for name, info in OPERATORS.items() if gives_nothing(info)]


def point_of(name: str, dtype: str = "float64") -> points.Point:
    return next(points.points(OPERATORS[name], dtype))


def test_each_has_an_operator_that_gives_what_it_writes() -> None:
    assert [name for name in LISTS if functional_of(OPERATORS[name]) is None] == ["_foreach_zero_"]


def too_few(targets: Sequence[Tensor], *rest: Any) -> None:
    ops._foreach_exp_(targets[:1])
    targets[1].add_(0)


def another(targets: Sequence[Tensor], *rest: Any) -> None:
    ops._foreach_expm1_(targets)


def uncounted(targets: Sequence[Tensor], *rest: Any) -> None:
    for each in targets:
        each._array[...] = each.detach().exp().numpy()


def detached(targets: Sequence[Tensor], *rest: Any) -> None:
    for each in targets:
        each.copy_(each.detach().exp())


def giving_them(targets: Sequence[Tensor], *rest: Any) -> Sequence[Tensor]:
    ops._foreach_exp_(targets)
    return targets


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (too_few, "element 1 in place"),
        (another, "element 0 in place"),
        (uncounted, "a write to element 0 is not counted"),
        (detached, "gradient of 'self' in place"),
        (giving_them, "in place gives something"),
    ],
)
def test_wrong_writes_are_refuted(wrong: Callable[..., Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    info, right = OPERATORS["_foreach_exp_"], variants.operator_function
    variants.inplace(point_of("_foreach_exp_"))
    monkeypatch.setattr(variants, "operator_function", lambda each: wrong if each is info else right(each))
    with pytest.raises(Refuted, match=message):
        variants.inplace(point_of("_foreach_exp_"))


def test_tangents_that_are_not_written_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_tangents(first: Sequence[Tensor]) -> list[Tensor]:
        return [each.detach().exp() for each in first]

    monkeypatch.setattr(variants, "on_copies", lambda info: without_tangents)
    with pytest.raises(Refuted, match="tangent of element 0 in place"):
        variants.inplace(point_of("_foreach_exp_"))


def test_a_real_result_does_not_go_into_complex_numbers() -> None:
    variants.inplace(point_of("_foreach_abs_", "complex128"))


def test_batches_of_writes_are_compared_with_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    point = point_of("_foreach_add_.List")
    batching.batching(point)
    seen: list[int] = []

    def only_at_first(first: Sequence[Tensor], *rest: Any, **more: Any) -> list[Tensor]:
        seen.append(len(seen))
        return [each + len(seen) for each in first]

    monkeypatch.setattr(batching, "on_copies", lambda info: only_at_first)
    with pytest.raises(Refuted):
        batching.batching(point)


ALONE = ["float_power_.Tensor", "float_power_.Scalar", "polygamma_", "bernoulli_.float"]


@pytest.mark.parametrize("name", ALONE)
def test_one_with_an_entry_of_its_own_is_proven_by_what_gives_the_same(name: str) -> None:
    assert OPERATORS[name].inplace is None
    variants.inplace(point_of(name))


def without_history(self: Tensor, n: int) -> Tensor:
    return self.copy_(ops.polygamma(n, self.detach()))


def of_the_next_order(self: Tensor, n: int) -> Tensor:
    return self.copy_(ops.polygamma(n + 1, self))


@pytest.mark.parametrize(
    ("wrong", "message"), [(without_history, "gradient of 'self' in place"), (of_the_next_order, "^in place")]
)
def test_one_that_writes_something_else_is_refuted(
    wrong: Callable[..., Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    info, right = OPERATORS["polygamma_"], variants.operator_function
    monkeypatch.setattr(variants, "operator_function", lambda each: wrong if each is info else right(each))
    with pytest.raises(Refuted, match=message):
        variants.inplace(point_of("polygamma_"))
