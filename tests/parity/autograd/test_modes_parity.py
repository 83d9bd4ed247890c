"""Grad modes, inference mode and anomaly mode, the same in both libraries."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from support.both import assert_same, doubled, outcome


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def inference_tensor(torch: Any) -> Any:
    with torch.inference_mode():
        return torch.ones(2)


def state(torch: Any) -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def test_modes_inside_each_other() -> None:
    def body(torch: Any) -> Any:
        seen = [state(torch)]
        with torch.inference_mode():
            seen.append(state(torch))
            with torch.enable_grad():
                seen.append(state(torch))
                with torch.inference_mode(False):
                    seen.append(state(torch))
            with torch.inference_mode(mode=False):
                seen.append(state(torch))
                with torch.no_grad():
                    seen.append(state(torch))
        with torch.no_grad(), torch.inference_mode(False):
            seen.append(state(torch))
        seen.append(state(torch))
        return seen

    assert_same(body)


def test_decorated_functions() -> None:
    def body(torch: Any) -> Any:
        bare = torch.inference_mode(lambda: state(torch))
        called = torch.inference_mode()(lambda: state(torch))
        off = torch.inference_mode(False)(lambda: state(torch))
        with torch.no_grad():
            return bare(), called(), off(), torch.enable_grad()(lambda: state(torch))(), state(torch)

    def decorated_class(torch: Any) -> Any:
        @torch.no_grad()
        class Holder:
            def __init__(self) -> None:
                self.enabled = torch.is_grad_enabled()

        return Holder().enabled, state(torch)

    assert_same(body)
    assert_same(decorated_class)


def test_what_is_made_in_inference_mode() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        with torch.inference_mode():
            made = torch.ones(2)
            with torch.inference_mode(False):
                ordinary = torch.ones(2)
            tensors = [
                made,
                made.view(2),
                made[0],
                torch.tensor([1.0]),
                torch.zeros(2, requires_grad=True),
                x * 2,
                made + 1,
                made.clone(),
                made.detach(),
                ordinary,
                ordinary.view(2),
                ordinary * 2,
            ]
            made.add_(1)
        late = [made.view(2), made.clone(), made.detach(), made + 1, copy.deepcopy(made)]
        return [(t.is_inference(), torch.is_inference(t)) for t in (*tensors, *late)], made, made.requires_grad

    assert_same(body)


REFUSED: dict[str, tuple[Callable[[Any, Any], Any], str | None]] = {
    "saved": (lambda torch, t: leaf(torch) * t, "Inference tensors cannot be saved for backward"),
    "saved by a general call": (lambda torch, t: torch.where(t > 0, leaf(torch).double(), t) * t, None),
    "saved by a Function": (lambda torch, t: saver(torch).apply(leaf(torch), t), "Inference tensors cannot be saved"),
    "not saved": (lambda torch, t: leaf(torch) + t, None),
    "written": (lambda torch, t: t.add_(1), "Inplace update to inference tensor outside InferenceMode"),
    "written without gradients": (lambda torch, t: torch.no_grad()(t.add_)(1), "Inplace update to inference tensor"),
    "written through a view": (lambda torch, t: t[0].add_(1), "Inplace update to inference tensor"),
    "written as out": (lambda torch, t: torch.exp(torch.ones(2), out=t), "Inplace update to inference tensor"),
    "requires grad": (lambda torch, t: t.requires_grad_(), "Setting requires_grad=True on inference tensor"),
    "does not": (lambda torch, t: t.requires_grad_(False), None),
    "version": (lambda torch, t: t._version, "Inference tensors do not track version counter."),
    "as a gradient": (lambda torch, t: (leaf(torch) * 2).backward(t), None),
    "read": (lambda torch, t: torch.ones(2).add_(t), None),
    "a clone": (lambda torch, t: leaf(torch) * t.clone(), None),
}


def saver(torch: Any) -> Any:
    class Saver(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(y)
            return x * 2

    return Saver


@pytest.mark.parametrize("what", REFUSED)
def test_inference_tensors_outside(what: str) -> None:
    call, message = REFUSED[what]
    assert_same(lambda torch: call(torch, inference_tensor(torch)), message)


def test_ordinary_tensors_inside() -> None:
    def written(torch: Any) -> Any:
        y = leaf(torch) * torch.ones(2)
        with torch.inference_mode():
            y.add_(1)
            version = y._version
            part = y.view(2)
            part.mul_(2)
        return version, y._version, y.grad_fn, y

    def old_view_written(torch: Any) -> Any:
        y = leaf(torch) * 1
        with torch.inference_mode():
            part = y.view(2)
        part.add_(1)

    assert_same(written)
    assert_same(old_view_written, "A view was created in inference mode and is being modified inplace in normal mode")


def test_anomaly_mode_switches() -> None:
    def body(torch: Any) -> Any:
        def flags() -> Any:
            return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()

        seen = [flags()]
        with torch.autograd.detect_anomaly():
            seen.append(flags())
            with torch.autograd.set_detect_anomaly(True, check_nan=False):
                seen.append(flags())
            with torch.autograd.set_detect_anomaly(False):
                seen.append(flags())
            seen.append(flags())
        torch.autograd.set_detect_anomaly(True)
        seen.append(flags())
        torch.autograd.set_detect_anomaly(False)
        return [*seen, flags()]

    assert_same(body)


def nan_gradient(torch: Any) -> Any:
    return (torch.zeros(2, requires_grad=True) * 0).sqrt().mul(0).sum()


def test_nan() -> None:
    def found(torch: Any) -> Any:
        with torch.autograd.detect_anomaly():
            nan_gradient(torch).backward()

    def recorded_before(torch: Any) -> Any:
        loss = nan_gradient(torch)
        with torch.autograd.detect_anomaly():
            loss.backward()

    def not_looked_for(torch: Any) -> Any:
        with torch.autograd.detect_anomaly(check_nan=False):
            nan_gradient(torch).backward()

    assert_same(found, "Function 'SqrtBackward0' returned nan values in its 0th output.")
    assert_same(recorded_before, "Function 'SqrtBackward0' returned nan values in its 0th output.")
    assert_same(not_looked_for)


def failing(torch: Any) -> Any:
    def fail(grad: Any) -> Any:
        raise RuntimeError("no way back")

    return doubled(torch, fail, "Failing")


def warned(body: Callable[[Any], Any], torch: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError), torch.autograd.detect_anomaly():
            body(torch)
    return "\n".join(str(warning.message) for warning in caught)


def test_the_warning_shows_the_forward_call() -> None:
    import torch

    import gradwright

    def call_that_fails_later(library: Any) -> Any:
        return failing(library).apply(leaf(library))

    for library in (torch, gradwright):
        text = warned(lambda torch: call_that_fails_later(torch).sum().backward(), library)
        assert "Error detected in FailingBackward. Traceback of forward call that caused the error:" in text
        assert "in call_that_fails_later" in text


def test_the_warning_shows_calls_that_led_to_a_second_derivative() -> None:
    import torch

    import gradwright

    def first(library: Any) -> Any:
        return doubled(library, failing(library).apply, "Outer").apply(leaf(library))

    def body(library: Any) -> Any:
        y = first(library)
        start = library.ones(2, requires_grad=True)
        grad = library.autograd.grad(y, y.grad_fn.next_functions[0][0].variable, start, create_graph=True)[0]
        grad.sum().backward()

    for library in (torch, gradwright):
        text = warned(body, library)
        assert "Error detected in FailingBackward." in text
        assert "Previous calculation was induced by OuterBackward." in text
        assert "in first" in text


def test_errors_stay_what_they_are() -> None:
    def body(torch: Any) -> Any:
        with torch.autograd.detect_anomaly():
            failing(torch).apply(leaf(torch)).sum().backward()

    import torch

    assert outcome(body, torch)[1] == "RuntimeError"
    assert_same(body, "no way back")


def test_a_gradient_of_inference_mode_is_an_inference_tensor() -> None:
    def once(torch: Any) -> Any:
        x = leaf(torch)
        y = x * 2
        with torch.inference_mode():
            y.backward(torch.ones_like(y), retain_graph=True)
        return x, y

    assert_same(lambda torch: once(torch)[0].grad.is_inference())

    def twice(torch: Any) -> Any:
        y = once(torch)[1]
        y.backward(torch.ones_like(y))

    assert_same(twice, "Inplace update to inference tensor outside InferenceMode is not allowed")


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1])
def test_gradients_of_softmax_are_contiguous(name: str, dim: int) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, 4, requires_grad=True)
        (grad,) = torch.autograd.grad(getattr(torch, name)(x, dim), x, torch.arange(12.0).reshape(4, 3).t())
        return tuple(grad.stride()), grad

    assert_same(body)
