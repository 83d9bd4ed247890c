"""Which hooks a backward calls, with what and in which order; what becomes of leaves that no longer require grad."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support.both import assert_same, assert_same_results


def numbers(grads: Sequence[Any]) -> list[Any]:
    """What is there now: gradients become those of leaves, and are written."""
    return [None if grad is None else grad.tolist() for grad in grads]


class Hooked:
    """Leaves `x` and `w`, results `m`, `k` and `o`, with hooks of every kind on each, which keep a log."""

    def __init__(self, torch: Any, changing: Sequence[str]) -> None:
        self.log: list[Any] = []
        self.changing = changing
        x, w = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
        m = x * w
        k = m.exp()
        o = (k * w).sum()
        self.tensors = {"x": x, "w": w, "m": m, "k": k, "o": o}
        self.nodes = [torch.autograd.graph.get_gradient_edge(tensor).node for tensor in self.tensors.values()]
        for (name, tensor), node in zip(self.tensors.items(), self.nodes, strict=True):
            tensor.register_hook(self.tensor_hook(f"tensor {name}"))
            node.register_prehook(self.prehook(f"before {name}"))
            node.register_hook(self.node_hook(f"after {name}"))
            tensor.register_hook(self.tensor_hook(f"tensor {name} again"))
            if tensor.is_leaf:
                tensor.register_post_accumulate_grad_hook(self.accumulated(name))
            if f"retain {name}" in changing:
                tensor.retain_grad()

    def tensor_hook(self, name: str) -> Callable[[Any], Any]:
        def hook(grad: Any) -> Any:
            self.log.append((name, grad.tolist()))
            return grad * 10 if name in self.changing else None

        return hook

    def prehook(self, name: str) -> Callable[[Any], Any]:
        def hook(grads: Any) -> Any:
            self.log.append((name, numbers(grads)))
            return self.tenfold(name, grads)

        return hook

    def node_hook(self, name: str) -> Callable[[Any, Any], Any]:
        def hook(inputs: Any, outputs: Any) -> Any:
            self.log.append((name, numbers(inputs), numbers(outputs)))
            return self.tenfold(name, inputs) if inputs else None

        return hook

    def tenfold(self, name: str, grads: Any) -> Any:
        return tuple(None if g is None else g * 10 for g in grads) if name in self.changing else None

    def accumulated(self, name: str) -> Callable[[Any], None]:
        return lambda leaf: self.log.append((f"accumulated {name}", leaf.grad.tolist()))

    def after(self, found: Any = None) -> Any:
        shown = [(tensor.grad, tensor.retains_grad) for tensor in self.tensors.values()]
        return found, shown, self.log


CHANGING = [
    (),
    ("tensor m", "before m"),
    ("tensor x", "before x", "after x"),
    ("after m",),
    ("before k", "after k", "retain k"),
    ("retain m", "before m"),
    ("before w",),
]
RUNS: dict[str, Callable[[Any, Any, Sequence[Any]], Any]] = {
    "backward": lambda t, o, inputs: o.backward(inputs=inputs),
    "backward twice": lambda t, o, inputs: (o.backward(inputs=inputs, retain_graph=True), o.backward(inputs=inputs)),
    "backward towards edges": lambda t, o, inputs: o.backward(
        inputs=[t.autograd.graph.get_gradient_edge(tensor) for tensor in inputs]
    ),
    "grad": lambda t, o, inputs: t.autograd.grad(o, inputs),
    "grad towards edges": lambda t, o, inputs: t.autograd.grad(
        o, [t.autograd.graph.get_gradient_edge(tensor) for tensor in inputs]
    ),
}


@pytest.mark.parametrize("names", ["x", "w", "m", "k", "o", "xw", "mx", "xm", "km", "mk", "mw", "oxm", "xwmko"])
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("changing", CHANGING)
def test_hooks_towards_inputs(names: str, run: str, changing: Sequence[str]) -> None:
    def body(torch: Any) -> Any:
        graph = Hooked(torch, changing)
        inputs = [graph.tensors[name] for name in names]
        return graph.after(RUNS[run](torch, graph.tensors["o"], inputs))

    assert_same(body)


@pytest.mark.parametrize("changing", CHANGING)
def test_hooks_towards_everything(changing: Sequence[str]) -> None:
    def body(torch: Any) -> Any:
        graph = Hooked(torch, changing)
        graph.tensors["o"].backward()
        return graph.after()

    assert_same(body)


def test_the_node_of_an_input_drops_what_it_saved() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        m = x * x
        (m * 2).sum().backward(inputs=[m])
        m.sum().backward()

    assert_same(body, "a second time")


# -- leaves that no longer require grad

OFF: dict[str, Callable[[Any, Any], Any]] = {
    "requires_grad_": lambda x, w: x.requires_grad_(False),
    "requires_grad": lambda x, w: setattr(x, "requires_grad", False),
    "detach_": lambda x, w: x.detach_(),
    "both": lambda x, w: (x.requires_grad_(False), w.requires_grad_(False)),
    "off and on": lambda x, w: x.requires_grad_(False).requires_grad_(True),
}
BACKWARDS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "backward": lambda t, x, w, y: y.backward(),
    "twice": lambda t, x, w, y: (y.backward(retain_graph=True), y.backward()),
    "create_graph": lambda t, x, w, y: y.backward(create_graph=True),
    "inputs=x": lambda t, x, w, y: y.backward(inputs=[x]),
    "inputs=w": lambda t, x, w, y: y.backward(inputs=[w]),
    "inputs=xw": lambda t, x, w, y: y.backward(inputs=[x, w]),
    "grad of x": lambda t, x, w, y: t.autograd.grad(y, [x]),
    "grad of w": lambda t, x, w, y: t.autograd.grad(y, [w]),
    "grad of both": lambda t, x, w, y: t.autograd.grad(y, [x, w]),
}


@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("run", BACKWARDS)
@pytest.mark.parametrize("hooked", [False, True])
def test_leaf_that_no_longer_requires_grad(off: str, run: str, hooked: bool) -> None:
    def body(torch: Any) -> Any:
        x, w = torch.ones(2, requires_grad=True), torch.full((2,), 3.0, requires_grad=True)
        y = (x * w).sum()
        log: list[Any] = []
        node = torch.autograd.graph.get_gradient_edge(x).node
        if hooked:
            x.register_hook(lambda grad: log.append(("tensor", grad)))
            node.register_prehook(lambda grads: log.append(("before", grads)))
            node.register_hook(lambda inputs, outputs: log.append(("after", inputs, outputs)))
            x.register_post_accumulate_grad_hook(lambda leaf: log.append(("accumulated", leaf.grad)))
        OFF[off](x, w)
        found = BACKWARDS[run](torch, x, w, y)
        grads = [None if leaf.grad is None else leaf.grad.detach() for leaf in (x, w)]
        return found, grads, x.requires_grad, log

    assert_same(body)


def test_it_keeps_the_gradient_that_it_has() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        (x * 3).sum().backward()
        y = (x * 5).sum()
        x.requires_grad_(False)
        y.backward()
        return x.grad

    assert_same(body)


@pytest.mark.parametrize("accumulate", [False, True])
def test_an_edge_to_it_stays_one(accumulate: bool) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = (x * 3).sum()
        edge = torch.autograd.graph.get_gradient_edge(x)
        x.requires_grad_(False)
        return (y.backward(inputs=[edge]) if accumulate else torch.autograd.grad(y, [edge])), x.grad

    assert_same(body)


def test_a_hook_and_a_node_that_is_called() -> None:
    def hook(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda grad: x.requires_grad_(False) and None)
        (x * 3).sum().backward()
        return x.grad

    def called(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        node = torch.autograd.graph.get_gradient_edge(x).node
        x.requires_grad_(False)
        node(torch.ones(2))
        return x.grad

    def base_of_a_view(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        y = (x.view(2) * 3).sum()
        x.requires_grad_(False)
        y.backward()
        return x.grad

    for body in (hook, called, base_of_a_view):
        assert_same(body)


# -- what hooks must not return

RETURNED: dict[str, Callable[[Any], Any]] = {
    "None": lambda t: None,
    "a number": lambda t: 1,
    "False": lambda t: False,
    "a list": lambda t: [],
    "a Tensor": lambda t: t.ones(2),
    "a tuple of None": lambda t: (None,),
    "a tuple of a Tensor": lambda t: (t.ones(2),),
    "an empty tuple": lambda t: (),
    "a shape": lambda t: t.ones(3),
}
PLACES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "tensor of a leaf": lambda t, x, y, hook: x.register_hook(hook),
    "tensor of a result": lambda t, x, y, hook: y.register_hook(hook),
    "accumulated": lambda t, x, y, hook: x.register_post_accumulate_grad_hook(hook),
    "before a Node": lambda t, x, y, hook: y.grad_fn.register_prehook(hook),
    "after a Node": lambda t, x, y, hook: y.grad_fn.register_hook(hook),
    "before a leaf": lambda t, x, y, hook: t.autograd.graph.get_gradient_edge(x).node.register_prehook(hook),
    "after a leaf": lambda t, x, y, hook: t.autograd.graph.get_gradient_edge(x).node.register_hook(hook),
    "several": lambda t, x, y, hook: t.autograd.graph.register_multi_grad_hook((x,), hook),
}


@pytest.mark.parametrize("returned", RETURNED)
@pytest.mark.parametrize("place", PLACES)
def test_what_a_hook_returns(returned: str, place: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        edge = torch.autograd.graph.get_gradient_edge(x)
        PLACES[place](torch, x, y, lambda *grads: RETURNED[returned](torch))
        y.sum().backward()
        return x.grad, edge is None

    assert_same(body)


def test_all_hooks_run_before_one_is_refused() -> None:
    def body(torch: Any) -> Any:
        log: list[str] = []
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda leaf: torch.ones(2))
        x.register_post_accumulate_grad_hook(lambda leaf: log.append("second"))
        try:
            (x * 2).sum().backward()
        except RuntimeError as error:
            log.append(str(error))
        return log, x.grad

    assert_same(body)


# -- detach_

DETACHED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a saved input": lambda t, a, x: (a * a, a),
    "an input saved alone": lambda t, a, x: (a.sin(), a),
    "an input that is a number for the other": lambda t, a, x: (t.mul(a, t.ones(2)), a),
    "a saved output": lambda t, a, x: (lambda y: (y + 0, y))(a.exp()),
    "an output saved by another": lambda t, a, x: (lambda y: (y * y, y))(a.exp()),
    "a leaf": lambda t, a, x: (x * x, x),
    "a constant": lambda t, a, x: (lambda c: (a * c, c))(t.ones(2)),
    "nothing saved": lambda t, a, x: (a + a, a),
    "the base of a saved view": lambda t, a, x: (lambda b: (b.view(2) * b.view(2), b))(a.clone()),
    "a bias": lambda t, a, x: (t.addmm(a, t.ones(2, 2), t.ones(2, 2)), a),
    "a condition": lambda t, a, x: (lambda c: (t.where(c, a, x), c))(a > 3),
    "an input of layer_norm": lambda t, a, x: (t.nn.functional.layer_norm(a, (2,)), a),
}


@pytest.mark.parametrize("name", DETACHED)
@pytest.mark.parametrize("when", ["backward", "create_graph", "hooks"])
def test_detaching_what_was_saved(name: str, when: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
        with hooks if when == "hooks" else contextlib.nullcontext():
            y, detached = DETACHED[name](torch, x * 2, x)
        detached.detach_()
        found = torch.autograd.grad(y.sum(), x, create_graph=when == "create_graph") if x.requires_grad else None
        return None if found is None else found[0].detach(), detached.requires_grad, detached.is_leaf, detached._version

    assert_same(body)


def test_looking_at_what_was_detached() -> None:
    def body(torch: Any) -> Any:
        a = torch.tensor([1.0, 2.0], requires_grad=True) * 2
        y = a * a
        a.detach_()
        return y.grad_fn._saved_self.tolist()

    assert_same(body)


@pytest.mark.parametrize("reads", [False, True])
def test_detaching_what_a_function_saved(reads: bool) -> None:
    def body(torch: Any) -> Any:
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Any) -> Any:
                ctx.save_for_backward(a)
                return a * 2

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * len(ctx.saved_tensors) if reads else grad

        x = torch.tensor([1.0, 2.0], requires_grad=True)
        a = x * 2
        y = Double.apply(a)
        a.detach_()
        y.sum().backward()
        return x.grad

    assert_same(body)


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "view": lambda t, a: a.view(2),
    "slice": lambda t, a: a[:1],
    "one of several": lambda t, a: a.unbind()[0],
    "view of a detached": lambda t, a: a.detach()[:1],
    "detached": lambda t, a: a.detach(),
    "detached view": lambda t, a: a.view(2).detach(),
    "view of ints": lambda t, a: t.arange(4)[:2],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("grad", [False, True])
def test_detaching_a_view(name: str, grad: bool) -> None:
    def body(torch: Any) -> Any:
        a = torch.tensor([1.0, 2.0], requires_grad=True) * 2
        with torch.set_grad_enabled(grad):
            view = VIEWS[name](torch, a)
        return view.detach_() is view, view.requires_grad

    assert_same(body)


RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "unbind": lambda torch, x: x.unbind(),
    "chunk": lambda torch, x: x.chunk(3),
    "split": lambda torch, x: x.split(1),
    "std_mean": lambda torch, x: torch.std_mean(x),
    "svd": lambda torch, x: torch.linalg.svd(torch.outer(x, x) + torch.diag(x * torch.tensor([1.0, 2.0, 3.0]))),
}


@pytest.mark.parametrize("results", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("ask", ["backward", "grad"])
def test_hooks_on_results_that_nobody_uses_see_none(results: Callable[[Any, Any], Any], ask: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(3, requires_grad=True)
        log: list[Any] = []
        outs = list(results(torch, x * 1))
        for number, out in enumerate(outs):
            out.register_hook(lambda grad, number=number: log.append((number, *numbers([grad]))))
        outs[0].grad_fn.register_prehook(lambda grads: log.append(numbers(grads)))
        outs[-1].retain_grad()
        if ask == "backward":
            outs[0].sum().backward()
        else:
            log.append(numbers(torch.autograd.grad(outs[0].sum(), [x, outs[-1]], allow_unused=True)))
        return log, outs[-1].grad

    assert_same_results(body)


def test_what_a_hook_gives_for_no_gradient_is_refused() -> None:
    def body(torch: Any) -> Any:
        first, second = (torch.ones(2, requires_grad=True) * 1).unbind()
        second.register_hook(lambda grad: torch.tensor(5.0))
        first.backward()

    assert_same(body, "can't replace a None gradient with a non-None value")


# -- views whose base is written


@pytest.mark.parametrize("write", ["x.mul_(3)", "v.mul_(3)", "x[1].mul_(3)", "x.detach().mul_(3)", "x.data.mul_(3)"])
@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_write_leaves_the_hooks_of_a_view_behind(write: str, leaf: bool, recorded: bool) -> None:
    def body(torch: Any) -> Any:
        start = torch.ones(2, 2, requires_grad=True)
        x = start if leaf else start * 2
        v, w, log = x[0], x.view(4), []
        v.register_hook(lambda grad: log.append("v") or grad * 10)
        v.retain_grad()
        w.register_hook(lambda grad: log.append("w") or grad * 10)
        before = v.sum()
        with torch.set_grad_enabled(recorded):
            eval(write, {"x": x, "v": v})
        # PyTorch gives a view its new history when somebody looks at it.
        assert v.grad_fn is not None
        v.register_hook(lambda grad: log.append("later") or grad * 2)
        (before + v.sum() + w.sum()).backward()
        return log, start.grad, v.grad

    assert_same(body)
