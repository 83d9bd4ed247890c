"""Views that require grad because their base does, while their gradient goes nowhere: the same as PyTorch's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from support.two_modules import attempt, compare


def made_without_grad_mode(torch: Any) -> tuple[Any, Any]:
    base = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        return base, base[0]


def made_in_inference_mode(torch: Any) -> tuple[Any, Any]:
    base = torch.ones(2, 3, requires_grad=True)
    with torch.inference_mode():
        return base, base[0]


def made_before_its_base_required_grad(torch: Any) -> tuple[Any, Any]:
    base = torch.ones(2, 3)
    view = base[0]
    base.requires_grad_()
    return base, view


def made_of_a_result(torch: Any) -> tuple[Any, Any]:
    base = torch.ones(2, 3, requires_grad=True) * 2
    with torch.no_grad():
        return base, base[0]


def view_of_a_view(torch: Any) -> tuple[Any, Any]:
    base = torch.ones(2, 3, requires_grad=True)
    with torch.no_grad():
        return base, base.t().unbind(1)[0]


MAKERS = [
    made_without_grad_mode,
    made_in_inference_mode,
    made_before_its_base_required_grad,
    made_of_a_result,
    view_of_a_view,
]


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def make(request: pytest.FixtureRequest) -> Callable[[Any], tuple[Any, Any]]:
    return request.param  # type: ignore[no-any-return]


Make = Callable[[Any], tuple[Any, Any]]


def test_it_is_a_leaf_that_requires_grad(make: Make) -> None:
    def body(torch: Any) -> Any:
        _, view = make(torch)
        return [
            *(view.requires_grad, view.is_leaf, view.grad_fn, view.grad, view._is_view(), view.retain_grad()),
            *(view.detach().requires_grad, view.clone().requires_grad, copy.deepcopy(view).requires_grad),
            attempt(lambda: view.numpy()),
            repr(view),
        ]

    compare(body)


def test_operators_on_it_are_recorded_and_lead_nowhere(make: Make) -> None:
    def body(torch: Any) -> Any:
        base, view = make(torch)
        out = view.exp()
        assert out.grad_fn is not None
        out.sum().backward()
        grads = torch.autograd.grad((view * 2).sum(), [view], allow_unused=True)
        return [out, out.grad_fn.next_functions, view.grad, base.is_leaf and base.grad, grads]

    compare(body)


def test_other_arguments_get_their_gradients(make: Make) -> None:
    def body(torch: Any) -> Any:
        base, view = make(torch)
        other = torch.full((3,), 3.0, requires_grad=True)
        (base.sum() + (view * other).sum()).backward()
        return [other.grad, base.is_leaf and base.grad, view.grad]

    compare(body)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, view: torch.autograd.grad((view * 2).sum(), view),
        lambda torch, view: torch.autograd.grad(view.sum(), view),
        lambda torch, view: view.backward(torch.ones(3)),
        lambda torch, view: torch.autograd.backward((view * 2).sum(), inputs=[view]),
        lambda torch, view: torch.autograd.graph.get_gradient_edge(view) and None,
        lambda torch, view: view.mul_(2),
        lambda torch, view: view.detach_(),
        lambda torch, view: torch.add(torch.ones(3), 1, out=view),
    ],
)
def test_what_is_refused(make: Make, call: Callable[[Any, Any], Any]) -> None:
    def body(torch: Any) -> Any:
        out = attempt(lambda: call(torch, make(torch)[1]))
        if "detach views" in str(getattr(out, "message", "")):
            out.message = out.message[:31]  # PyTorch goes on to speak of DistributedDataParallel
        return out

    compare(body)


def test_it_can_become_a_leaf_of_its_own(make: Make) -> None:
    def body(torch: Any) -> Any:
        base, view = make(torch)
        view.requires_grad_()
        (view * 2).sum().backward()
        first = [view.grad, base.is_leaf and base.grad]
        view.requires_grad_(False)
        return [*first, view.requires_grad, view.is_leaf]

    compare(body)


def test_it_follows_its_base() -> None:
    def body(torch: Any) -> Any:
        base = torch.ones(2, 3)
        view, other = base[0], base.t()[1:]
        states = []
        for value in (True, False, True):
            base.requires_grad_(value)
            states += [view.requires_grad, other.requires_grad, base[1].requires_grad]
        return states

    compare(body)


def test_a_write_to_its_base_gives_a_history_or_takes_the_meaning() -> None:
    def body(torch: Any) -> Any:
        weight = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
        base = torch.ones(2, 3)
        view = base[0]
        base.mul_(weight)
        view.sum().backward()
        with torch.no_grad():
            lost = base[1]
        base.mul_(2)
        return [weight.grad, view.is_leaf, lost.requires_grad, attempt(lambda: lost.grad_fn)]

    compare(body)


def test_integers_never_require_grad() -> None:
    def body(torch: Any) -> Any:
        base = torch.ones(2, dtype=torch.float32, requires_grad=True)
        with torch.no_grad():
            return base.view(torch.int32).requires_grad

    compare(body)
