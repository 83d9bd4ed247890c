"""View operators in place, `t_` and its like: the Tensor becomes the view, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from two_modules import attempt, compare

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

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
