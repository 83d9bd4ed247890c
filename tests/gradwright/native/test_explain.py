"""gradwright.native.explain: which calls took the fast path, and why the others did not."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import threading
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import gradwright
from codegen.plan.steps import GuardKind
from generated import operators
from generated.guards import GUARDS
from gradwright import native
from gradwright.native import explaining
from gradwright.native.explaining import Call, Explanation
from gradwright.native.guards import WORDS, failed
from runtime.base.handles import watch
from support.native_core import needs_core


def explained(function: Any, *args: Any) -> list[Call]:
    records: list[Call] = native.explain(function, *args).records
    return records


@pytest.fixture
def x() -> Any:
    return gradwright.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


def test_without_the_core_it_says_so(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "core", None)
    monkeypatch.setattr(explaining, "_in_use", lambda: False)
    explanation = native.explain(lambda: gradwright.atleast_2d(x).sum())
    assert not explanation.available
    assert str(explanation).startswith("the native core is not built, or switched off: all of it ran in Python\n")
    assert "atleast_2d" in [call.name for call in explanation.records]


def test_the_result_is_that_of_the_function(x: Any) -> None:
    explanation: Explanation = native.explain(lambda y, *, by: y * by, x, by=3)
    assert explanation.result.tolist() == [[3.0, 6.0], [9.0, 12.0]]
    assert explanation.result.grad_fn._name == "MulBackward0"


@needs_core
def test_kernels_of_the_fast_path(x: Any) -> None:
    calls = explained(lambda: (x * x, x.tanh(), gradwright.special.ndtri(x)))
    assert [(call.name, call.fast, call.kernel) for call in calls] == [
        ("mul.Tensor", True, "native loop"),
        ("tanh", True, "NumPy's loop"),
        ("special_ndtri", True, "Python kernel"),
    ]
    assert all(call.reason is None for call in calls)


# A call, and words of the reason why it is not all native.
DECLINED = {
    "promotion": (
        lambda x: x * gradwright.tensor([1, 2]).to(gradwright.uint16),
        "self is float32 and other uint16: promotion",
    ),
    "dtype": (lambda x: gradwright.tensor([1, 2]).to(gradwright.uint16).sin(), "self is uint16, which has no loops"),
    "kind": (lambda x: gradwright.tensor([1, 2]).mean(dtype=None), "self is int64, which is refused or computed"),
    "class": (
        lambda x: gradwright.exp(type("Mine", (gradwright.Tensor,), {})(x.detach())),
        "self is .*, not a plain Tensor",
    ),
    "number": (lambda x: gradwright.add(x, x, alpha=2j), "alpha is complex, neither int nor float"),
    "composite": (lambda x: gradwright.atleast_2d(x), "traced through"),
    "failing": (lambda x: x.view(3), "its kernel fails on these arguments"),
    "out": (lambda x: gradwright.exp(x.detach(), out=x.detach().double()), "an out= variant|out= is given"),
}  # fmt: skip


@needs_core
@pytest.mark.parametrize("case", DECLINED)
def test_why_a_call_declines(case: str, x: Any) -> None:
    function, words = DECLINED[case]

    def attempt() -> None:
        with contextlib.suppress(RuntimeError, TypeError):
            function(x)

    declined = [call for call in explained(attempt) if not call.fast]
    assert declined
    assert re.search(words, declined[0].reason or ""), declined


@needs_core
def test_why_a_native_kernel_is_not_used(x: Any) -> None:
    """Whatever the core has loops for: a call that NumPy's kernel computes in place of a loop says why."""
    calls = explained(lambda: (x.t() * x, x + x.detach()[:1], gradwright.add(x, x, alpha=2), x * (1 << 60)))
    assert {call.name for call in calls} >= {"mul.Tensor", "add.Tensor", "mul.Scalar"}
    for call in calls:
        if call.name.startswith(("mul", "add")):
            assert call.fast
            assert (call.kernel == "Python kernel") == (call.reason is not None), call


@needs_core
def test_modes(x: Any) -> None:
    def work() -> None:
        with gradwright.autograd.set_detect_anomaly(True):
            x.exp()

    (call,) = explained(work)
    assert (call.fast, call.reason) == (False, "a mode or a handler is open")


@needs_core
def test_nodes_and_engines(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "hooks", False)  # of other tests

    def work() -> None:
        gradwright.cat([x * x, x.split(1)[0]]).sum().backward()

    calls = explained(work)
    backward = next(call for call in calls if call.kind == "backward")
    nodes = {call.name: call for call in calls if call.kind == "node"}
    assert backward.fast
    assert nodes["MulBackward0"].fast
    assert not nodes["SplitBackward0"].fast
    assert nodes["SplitBackward0"].reason == "its results are a list"
    within = calls[calls.index(nodes["MulBackward0"]) + 1]
    assert (within.name, within.depth) == ("mul.Tensor", nodes["MulBackward0"].depth + 1)


@needs_core
def test_nodes_of_the_general_path(x: Any) -> None:
    out = (x * gradwright.tensor([1, 2]).to(gradwright.uint16)).sum()
    nodes = {call.name: call for call in explained(out.backward) if call.kind == "node"}
    assert nodes["MulBackward0"].reason == "the general path recorded it"


@needs_core
def test_nested_calls_of_one_operator_are_all_told(x: Any) -> None:
    """What declines calls the same entry again with arguments that fit, or the kernel in Python does."""
    names = [call.name for call in explained(lambda: gradwright.stack([x * 1, x * x]).mul(x).mul(2))]
    assert names.count("mul.Scalar") == 2
    assert names.count("mul.Tensor") == 2


@needs_core
def test_nothing_is_watched_afterwards(x: Any) -> None:
    profile = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        native.explain(lambda: (x * x).sum().backward() or 1 / 0)
    assert sys.getprofile() is profile
    before = [call.name for call in explained(lambda: x * x)]
    assert before == ["mul.Tensor"]
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_what_python_wraps_is_not_native(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers wrap operators; what explain() knew of these was kept, and without a core it failed from then on."""
    function = operators.mul_Scalar
    was_native = not isinstance(function, FunctionType)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    monkeypatch.setattr(operators, "mul_Scalar", wrapper)
    explaining._known.cache_clear()
    known = {each.name: each.is_native for each in explaining._functions().values()}
    explaining._known.cache_clear()
    assert known["mul.Scalar"] == was_native == native.is_available()
    assert native.explain(lambda: operators.mul_Scalar(x, 3)).result.tolist() == [[3.0, 6.0], [9.0, 12.0]]


def test_it_does_not_nest(x: Any) -> None:
    with pytest.raises(RuntimeError, match="running already"):
        native.explain(native.explain, lambda: x * x)


def test_results_are_the_same_when_watched(x: Any) -> None:
    def work() -> list[Any]:
        y = (x * x.t() + x.exp()).softmax(0)
        gradwright.cat([y, y.tanh()]).var(0).sum().backward()
        found = [y.detach().numpy(), x.grad.numpy().copy(), type(y.grad_fn)]
        x.grad = None
        return found

    for plain, watched in zip(work(), native.explain(work).result, strict=True):
        assert np.array_equal(plain, watched)


@needs_core
def test_other_threads_are_not_told(x: Any) -> None:
    def work() -> None:
        thread = threading.Thread(target=lambda: (x * x).sum().backward())
        thread.start()
        thread.join()
        x.exp()

    assert [call.name for call in explained(work)] == ["exp"]
    assert x.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]


@needs_core
def test_a_kernel_registered_at_run_time(x: Any) -> None:
    library = gradwright.library.Library("aten", "IMPL")
    with pytest.warns(UserWarning, match="Overriding"):
        library.impl("ceil", lambda array: array, "CPU")
    try:
        call = explained(lambda: x.detach().ceil())[0]
        assert (call.name, call.fast, call.reason) == ("ceil", False, "a kernel was registered for it")
    finally:
        library._destroy()
    assert explained(lambda: x.detach().ceil())[0].fast  # what was replaced is back


@needs_core
def test_the_table(x: Any) -> None:
    text = str(native.explain(lambda: (x * x).exp().sum().backward()))
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["call", "path", "kernel", "why"]
    assert lines[1] == ["mul.Tensor", "fast", "native", "loop"]
    assert "  ExpBackward0" in text
    assert "Nodes took the fast path" in text


@needs_core
def test_half_precision_is_computed_in_float32() -> None:
    half = gradwright.ones(2, dtype=gradwright.float16)
    (call,) = explained(lambda: half * half)
    assert (call.fast, call.kernel) == (True, "native loop in float32")
    single = gradwright.ones(2)
    assert explained(lambda: half * single)[0].kernel == "native loop on converted arguments"


def test_long_tables_are_counted(x: Any) -> None:
    def work() -> None:
        for _ in range(500):
            x.detach() * 2

    text = str(native.explain(work))
    assert len(text.splitlines()) < 12
    assert re.search(r"^500 +mul\.Scalar", text, re.MULTILINE)


def test_totals(x: Any) -> None:
    explanation = native.explain(lambda: (x * x).sum().backward())
    totals = explanation.totals
    assert sum((total.fast + total.python for total in totals.values()), 0) == len(explanation.records)
    assert totals["node"].fast + totals["node"].python == 2


def test_all_kinds_of_guards_have_words() -> None:
    assert set(WORDS) == {kind.value for kind in GuardKind}
    told = {function: [failed(i, guards, {}) for i in range(len(guards))] for function, guards in GUARDS.items()}
    assert all(words for words in told.values())
