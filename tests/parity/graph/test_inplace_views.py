"""View operators in place, `t_` and its like: the Tensor becomes the view, as in PyTorch."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest

import gradwright
from support.both import assert_same, assert_same_results
from support.two_modules import attempt, compare

CALLS: dict[str, Callable[[Any], Any]] = {
    "t_": lambda y: y.t_(),
    "transpose_": lambda y: y.transpose_(0, -1),
    "transpose_ of one": lambda y: y.transpose_(1, 1),
    "swapaxes_": lambda y: y.swapaxes_(0, 1),
    "swapdims_": lambda y: y.swapdims_(dim0=0, dim1=1),
    "unsqueeze_": lambda y: y.unsqueeze_(1),
    "squeeze_ of nothing": lambda y: y.squeeze_(),
    "squeeze_ of one": lambda y: y.unsqueeze_(0).squeeze_(0),
    "squeeze_ of several": lambda y: y.unsqueeze_(0).unsqueeze_(-1).squeeze_((0, -1)),
    "as_strided_": lambda y: y.as_strided_((2, 2), (1, 2)),
    "as_strided_ twice": lambda y: y.as_strided_((2, 2), (1, 2)).as_strided_((3,), (1,), 2),
    "all": lambda y: y.t_().unsqueeze_(0).transpose_(0, 2).squeeze_(),
}


@pytest.fixture(params=CALLS)
def call(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return CALLS[request.param]


Call = Callable[[Any], Any]


def result(torch: Any) -> tuple[Any, Any]:
    """A leaf and a result of two rows and three columns."""
    x = torch.arange(6.0).reshape(2, 3).clone().requires_grad_()
    return x, x * 2


def weighted(torch: Any, y: Any) -> Any:
    return (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum()


def test_the_tensor_itself_changes(call: Call) -> None:
    def body(torch: Any) -> Any:
        y = torch.arange(6.0).reshape(2, 3)
        other, version = y.detach(), y._version
        assert call(y) is y
        return [y, y.stride(), y.is_contiguous(), y._version - version, other._version, other, y.requires_grad]

    compare(body)


def test_gradients(call: Call) -> None:
    def body(torch: Any) -> Any:
        x, y = result(torch)
        call(y)
        weighted(torch, y**3).backward()
        return [y, y.is_leaf, y._is_view(), x.grad]

    compare(body)


def test_second_derivatives(call: Call) -> None:
    def body(torch: Any) -> Any:
        x, y = result(torch)
        call(y)
        (grad,) = torch.autograd.grad(weighted(torch, y**3), x, create_graph=True)
        return torch.autograd.grad(grad.sum(), x)

    compare(body)


def test_views_of_it_keep_their_place(call: Call) -> None:
    def body(torch: Any) -> Any:
        x, y = result(torch)
        view = y[:1, :2]
        y.t_()
        y.mul_(3)
        before = torch.autograd.grad(weighted(torch, view), x, retain_graph=True)
        return [view, view._version, before, torch.autograd.grad(y.sum() + weighted(torch, view), x)]

    compare(body)


def test_it_stays_a_view_of_its_base(call: Call) -> None:
    def body(torch: Any) -> Any:
        x, y = result(torch)
        view = y.view(2, 3)
        call(view)
        grads = torch.autograd.grad(weighted(torch, view), x, retain_graph=True)
        found = [view, view._is_view(), view._base is y, y._version, *grads]
        view.mul_(3)
        return [*found, y, *torch.autograd.grad(weighted(torch, y), x)]

    compare(body)


def test_a_part_of_its_base() -> None:
    def body(torch: Any) -> Any:
        x, y = result(torch)
        part = y[:1]
        part.squeeze_()
        part.exp_()
        return [part, y, *torch.autograd.grad(weighted(torch, y), x)]

    compare(body)


def test_a_leaf_is_refused_unless_grad_mode_is_off(call: Call) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3).clone().requires_grad_()
        refused = attempt(lambda: call(x))
        with torch.no_grad():
            call(x)
        weighted(torch, x * x).backward()
        return [refused, x, x.is_leaf, x.grad]

    compare(body)


def test_what_was_saved_is_missed(call: Call) -> None:
    def body(torch: Any) -> Any:
        _, y = result(torch)
        z = y * y
        call(y)
        return attempt(lambda: z.sum().backward(), message=False)

    compare(body)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_views_that_must_not_change(mode: str) -> None:
    def body(torch: Any) -> Any:
        _, y = result(torch)
        with getattr(torch, mode)():
            view = y[0]
        return attempt(lambda: view.unsqueeze_(0))

    compare(body)


def test_one_of_several_views() -> None:
    def body(torch: Any) -> Any:
        _, y = result(torch)
        return attempt(lambda: y.unbind(0)[0].unsqueeze_(0), message=False)

    compare(body)


def test_inference_tensors() -> None:
    def body(torch: Any) -> Any:
        with torch.inference_mode():
            made = torch.ones(2, 3)
            inside = made.t_().shape
        return [inside, attempt(lambda: made.t_(), message=False)]

    compare(body)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda torch: torch.ones(2, 2, 2).t_(),
        lambda torch: torch.ones(2, 3).unsqueeze_(4),
        lambda torch: torch.ones(2, 3).transpose_(0, 2),
        lambda torch: torch.ones(2).as_strided_((3,), (1,)),
        lambda torch: torch.ones(2).squeeze_("x"),
    ],
)
def test_errors(wrong: Callable[[Any], Any]) -> None:
    compare(lambda torch: attempt(lambda: wrong(torch), message=False))


def test_retained_gradients() -> None:
    def body(torch: Any) -> Any:
        _, y = result(torch)
        y.retain_grad()
        y.t_()
        y.sum().backward()
        return y.grad

    compare(body)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "as_strided_ twice"])
def test_tangents(name: str) -> None:
    call = CALLS[name]

    def body(torch: Any) -> Any:
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3)) * 1
            call(dual)
            unpacked = forward_ad.unpack_dual(dual)
            return [unpacked.primal, unpacked.tangent]

    compare(body)


@pytest.mark.parametrize("name", ["t_", "transpose_", "unsqueeze_", "squeeze_ of one", "all"])
def test_in_transforms(name: str) -> None:
    call = CALLS[name]

    def body(torch: Any) -> Any:
        def function(a: Any) -> Any:
            b = a * a
            call(b)
            return weighted(torch, b)

        batch = torch.arange(12.0).reshape(2, 2, 3)
        return [
            torch.func.grad(function)(batch[0]),
            torch.vmap(function)(batch),
            torch.vmap(torch.func.grad(function))(batch),
            torch.vmap(lambda a: call(a * 1))(batch),
        ]

    compare(body)


# -- operators that make a Tensor the view of itself, on views of every origin

BECOMES = {
    "t_": lambda view: view.t_(),
    "transpose_": lambda view: view.transpose_(0, 1),
    "swapaxes_": lambda view: view.swapaxes_(0, 1),
    "swapdims_": lambda view: view.swapdims_(0, 1),
    "unsqueeze_": lambda view: view.unsqueeze_(0),
    "squeeze_": lambda view: view.squeeze_(),
    "squeeze_.dim": lambda view: view.squeeze_(0),
    "squeeze_.dims": lambda view: view.squeeze_((0, 1)),
    "as_strided_": lambda view: view.as_strided_((2,), (1,)),
}
ORIGINS = {
    "leaf": lambda t: t.arange(6.0),
    "leaf that requires grad": lambda t: t.arange(6.0).requires_grad_(),
    "result": lambda t: t.arange(6.0).requires_grad_() * 1,
    "detached result": lambda t: (t.arange(6.0).requires_grad_() * 1).detach(),
    "ints": lambda t: t.arange(6),
}
VIEWS = {
    "view": lambda x: x.view(2, 3),
    "view of a view": lambda x: x.view(3, 2).view(2, 3),
    "one of several": lambda x: x.view(1, 2, 3).unbind()[0],
    "detached view": lambda x: x.view(2, 3).detach(),
}
MODES = {
    "grad": lambda t: contextlib.nullcontext(),
    "no_grad": lambda t: t.no_grad(),
    "inference": lambda t: t.inference_mode(),
}


def ended(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except RuntimeError:
        return "raised"


@pytest.mark.parametrize("operator", BECOMES)
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("how", VIEWS)
def test_views_of_every_origin_become_views(operator: str, origin: str, how: str) -> None:
    def body(torch: Any, made_in: str, written_in: str) -> Any:
        base = ORIGINS[origin](torch)
        with MODES[made_in](torch):
            view = VIEWS[how](base)
        with MODES[written_in](torch):
            if ended(lambda: BECOMES[operator](view) is view) is not True:
                return "refused"
        shown = (tuple(view.shape), view.requires_grad, view._version, view.tolist())
        node = ended(lambda: view.grad_fn is None)

        def gradient() -> Any:
            weights = torch.arange(float(view.numel())).view(view.shape)
            return torch.autograd.grad((base * 1).sum() + (view * weights).sum(), base)

        before = ended(gradient) if base.requires_grad else None
        written = ended(lambda: view.add_(1) is view)
        return shown, node, before, written, ended(gradient) if base.requires_grad else None

    for made_in in MODES:
        for written_in in MODES:
            assert_same(lambda torch, m=made_in, w=written_in: body(torch, m, w))  # type: ignore[misc]


def test_a_view_that_lost_its_meaning_is_named_by_what_made_it() -> None:
    x = gradwright.ones(2, 3, requires_grad=True) * 1
    row = x.unbind()[0]
    with gradwright.no_grad():
        row.unsqueeze_(0)
    with pytest.raises(RuntimeError, match="Output 0 of UnbindBackward0 is a view and is being modified inplace"):
        row.add_(1)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("again", [False, True])
def test_all_views_keep_retaining_their_gradients(which: int, again: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(6.0).requires_grad_()
        y = x * 1
        views = [y, y[:3], y[1:5], y[:3][1:]]
        for view in views:
            view.retain_grad()
        views[which].mul_(2)
        if again:
            views[2].add_(views[2].detach())
        sum((view * 3.0**number).sum() for number, view in enumerate(views)).backward()
        return [view.grad for view in (x, *views)]

    assert_same(body)


def test_a_view_that_becomes_a_view_unrecorded_keeps_retaining_its_gradient() -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(6.0).requires_grad_()
        view = (x * 1).view(2, 3)
        view.retain_grad()
        with torch.no_grad():
            view.t_()
        (view * torch.arange(6.0).view(3, 2)).sum().backward()
        return view.grad, x.grad

    assert_same(body)


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1), (2, 1, 3), (1, 2, 1), (1, 1, 4)])
@pytest.mark.parametrize("recorded", [False, True])
def test_steps_along_a_single_element_say_nothing_of_places(shape: tuple[int, ...], recorded: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(1.0, 1 + math.prod(shape)).reshape(shape).requires_grad_(recorded)
        found = []
        for layout in (lambda y: y, lambda y: y.transpose(0, -1), lambda y: y.expand_as(y), lambda y: y.unsqueeze(0)):
            for dim in range(len(shape)):
                y = layout(x * 1)
                for index in (0, slice(0, 1), slice(None), None, [0]):
                    part = (slice(None),) * dim + (index,)
                    y[part] += 1
                    y[part] *= y[part]
                y.select(dim, 0).add_(y.select(dim, 0)).sub_(y.select(dim, 0).detach())
                found.append(y)
        return found

    assert_same_results(body)


def test_shared_places_are_known_by_the_elements_that_share_them() -> None:
    def body(torch: Any) -> Any:
        x = torch.zeros(1, 6)
        refused = [attempt(lambda: x.add_(x[0])), attempt(lambda: torch.zeros(1, 2).expand(3, 2).add_(1))]
        y = torch.zeros(1, 6).expand(1, 6).add_(1)
        orders = [torch.zeros(4, 1, 3).transpose(0, 2).dim_order(), torch.zeros(3, 1, 4)[:, :, 0:1].dim_order()]
        return [*refused, y, x[:, 0].is_set_to(x[0:1, 0]), x[:, 1].is_set_to(x[0:1, 0]), *orders]

    compare(body)
