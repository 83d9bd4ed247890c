"""Calls with `out=` that the native core serves: what Python gives, written into the memory of the given Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradwright
from runtime.call import out as out_in_python
from runtime.call import packets
from support.native_core import needs_core

pytestmark = needs_core

X = gradwright.tensor([[0.5, 0.25, 0.75], [0.125, 0.625, 0.375]])
Y = gradwright.tensor([[1.5, 2.0, -1.0], [3.0, 0.5, 2.5]])
WHOLE = gradwright.arange(6).reshape(2, 3)

Case = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
CASES: dict[str, Case] = {
    "one Tensor": (gradwright.exp, (X,), {}),
    "two Tensors": (gradwright.add, (X, Y), {}),
    "a number": (gradwright.mul, (X, 3), {}),
    "an int beside integers": (gradwright.add, (WHOLE, 3), {}),
    "a keyword": (gradwright.sub, (X, Y), {"alpha": 2}),
    "broadcast": (gradwright.maximum, (X, Y[0]), {}),
    "a layout that is kept": (gradwright.neg, (X.t(),), {}),
    "three Tensors": (gradwright.where, (X > Y, X, Y), {}),
    "a list": (gradwright.cat, ([X, Y],), {"dim": 1}),
    "a reduction": (gradwright.sum, (X, 1), {}),
    "a reduction by name": (gradwright.mean, (X,), {"dim": 0, "keepdim": True}),
    "a product": (gradwright.mm, (X, Y.t()), {}),
    "a kernel in Python": (gradwright.special.ndtri, (X,), {}),
    "comparison": (gradwright.lt, (X, Y), {}),
    "composite": (gradwright.absolute, (Y,), {}),
    "scan": (gradwright.cumsum, (X, 1), {}),
    "optional numbers": (gradwright.clamp, (Y,), {"min": 0.0}),
}


@pytest.fixture
def only_in_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError("the call went through Python")

    monkeypatch.setattr(out_in_python, "_write", refuse)
    monkeypatch.setattr(packets, "describe", refuse)


def known_to_its_packet(case: Case) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any]:
    """The case and its result; packets learn from a call which overload takes such arguments."""
    function, args, kwargs = case
    return function, args, kwargs, function(*args, **kwargs)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_results_are_written_where_they_belong(case: Case, request: pytest.FixtureRequest) -> None:
    function, args, kwargs, expected = known_to_its_packet(case)
    request.getfixturevalue("only_in_the_core")
    forms = [gradwright.zeros_like(expected), gradwright.zeros((*expected.shape, 2), dtype=expected.dtype)[..., 0]]
    if expected.ndim > 1:
        forms.append(gradwright.zeros(expected.shape[::-1], dtype=expected.dtype).permute(*range(expected.ndim)[::-1]))
    for out in forms:
        address, strides, version = out.data_ptr(), out.stride(), out._version
        assert function(*args, **kwargs, out=out) is out
        assert gradwright.equal(out, expected)
        assert (out.data_ptr(), out.stride(), out._version) == (address, strides, version + 1)


def test_what_is_written_may_be_an_argument(only_in_the_core: None) -> None:
    x = X.clone()
    assert gradwright.add(x, x, out=x) is x
    assert gradwright.equal(x, X * 2)
    square = gradwright.tensor([[1.0, 2.0], [3.0, 4.0]])
    gradwright.exp(square, out=square)
    assert gradwright.equal(square, gradwright.tensor([[1.0, 2.0], [3.0, 4.0]]).exp())
    gradwright.cumsum(square, 0, out=square)
    assert gradwright.equal(square, gradwright.tensor([[1.0, 2.0], [3.0, 4.0]]).exp().cumsum(0))


def test_a_result_of_another_form_is_left_to_python() -> None:
    wide = gradwright.zeros(2, 3, dtype=gradwright.float64)
    assert gradwright.equal(gradwright.exp(X, out=wide), X.exp().double())
    empty = gradwright.zeros(0)
    assert gradwright.equal(gradwright.exp(X, out=empty), X.exp())
    assert empty.shape == (2, 3)
    values, indices = gradwright.zeros(2), gradwright.zeros(2, dtype=gradwright.int64)
    gradwright.max(X, 1, out=(values, indices))
    assert gradwright.equal(values, X.amax(1))


def test_nothing_is_written_where_a_call_is_refused() -> None:
    x = X.clone().requires_grad_()
    out = gradwright.zeros(2, 3)
    with pytest.raises(RuntimeError, match=r"functions with out=... arguments don't support automatic differentiation"):
        gradwright.exp(x, out=out)
    with pytest.raises(RuntimeError, match="can't be cast"):
        gradwright.exp(X, out=gradwright.zeros(2, 3, dtype=gradwright.int64))
    shared = gradwright.zeros(7)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        gradwright.exp(shared[1:], out=shared[:-1])
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to"):
        gradwright.exp(X, out=gradwright.zeros(1, 3).expand(2, 3))
    with pytest.raises(TypeError, match="argument 'out' must be Tensor, not float"):
        gradwright.exp(X, out=[1.0])
    assert not out.any()
    assert not shared.any()
    with gradwright.no_grad():
        assert gradwright.equal(gradwright.exp(x, out=out), X.exp())


def test_no_other_result_takes_the_memory() -> None:
    """A call that fails leaves the given Tensor as it was, and later results have memory of their own."""
    out = gradwright.zeros(2, 3)
    with pytest.raises(RuntimeError, match="must match the size"):
        gradwright.exp(X, out=out) + gradwright.add(X, Y[:, :2], out=out)
    assert gradwright.equal(out, X.exp())
    assert X.exp().data_ptr() != out.data_ptr()


def test_random_numbers_are_drawn_once() -> None:
    out = gradwright.zeros(4)
    gradwright.manual_seed(0)
    first = gradwright.bernoulli(gradwright.full((4,), 0.5)).tolist(), gradwright.rand(1).item()
    gradwright.manual_seed(0)
    assert (gradwright.bernoulli(gradwright.full((4,), 0.5), out=out).tolist(), gradwright.rand(1).item()) == first


def test_a_kernel_of_ones_own_is_called() -> None:
    library = gradwright.library.Library("aten", "IMPL")
    try:
        with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
            library.impl("sinh", lambda x: x * 0 + 7, "CPU")
        assert gradwright.sinh(X, out=gradwright.zeros(2, 3)).tolist() == [[7.0] * 3] * 2
    finally:
        library._destroy()
    assert gradwright.equal(gradwright.sinh(X, out=gradwright.zeros(2, 3)), X.sinh())
