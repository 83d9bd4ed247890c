"""autograd.graph: Nodes, edges, hooks on saved Tensors and on several gradients, the same in both libraries."""

from __future__ import annotations

from typing import Any

import pytest

from support.both import assert_same


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_names_of_the_module() -> None:
    import torch

    import gradwright

    ours = set(gradwright.autograd.graph.__all__)
    # Those that are about CUDA streams have nothing to do here.
    theirs = set(torch.autograd.graph.__all__) - {
        "set_warn_on_accumulate_grad_stream_mismatch",
        "region_activation_memory_budget",
        "set_override_stale_capture_stream",
    }
    assert theirs <= ours


def test_nodes() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        y = x * x
        z = y.exp()
        node = z.grad_fn
        node.metadata["note"] = 3
        return (
            node,
            node.next_functions[0][0] is y.grad_fn,
            [n for n, _ in y.grad_fn.next_functions],
            node.metadata,
            node._sequence_nr() > y.grad_fn._sequence_nr(),
            tuple(node._input_metadata[0].shape),
            isinstance(node, torch.autograd.graph.Node),
            y.grad_fn._saved_self is x,
        )

    assert_same(body)


def test_hooks_see_every_tensor_that_is_saved() -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []

        def pack(tensor: Any) -> Any:
            seen.append(("pack", tensor, tensor.grad_fn, torch.is_grad_enabled()))
            return tensor

        def unpack(tensor: Any) -> Any:
            seen.append(("unpack", tensor, torch.is_grad_enabled()))
            return tensor

        x = leaf(torch)
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = (x * x).exp()
            z = (x / 3).tanh_() + y.sigmoid() + torch.where(x > 1, x, y)
        z.sum().backward()
        return len(seen), [entry for entry in seen if entry[0] == "pack"][:4], x.grad

    assert_same(body)


def test_what_hooks_give_is_what_the_gradient_is_computed_with() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 2, lambda t: t + 1):
            y = x * x
            z = x.exp()
        return y.grad_fn._saved_self, torch.autograd.grad(y.sum(), x), torch.autograd.grad(z.sum(), x)

    assert_same(body)


def test_double_backward_with_hooks() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda t: torch.tensor(t)):
            y = ((x * x).exp() * x).tanh()
        first = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        return first, torch.autograd.grad(first.sum(), x)

    assert_same(body)


def test_the_innermost_pair_counts_and_a_function_uses_it() -> None:
    def body(torch: Any) -> Any:
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2 * ctx.saved_tensors[0]

        seen: list[str] = []
        hooks = torch.autograd.graph.saved_tensors_hooks

        def named(name: str) -> Any:
            return hooks(lambda t: seen.append(name) or t, lambda t: t * 10)

        x = leaf(torch)
        with named("outer"):
            x * x
            with named("inner"):
                y = Square.apply(x)
            x.exp()
        y.sum().backward()
        return seen, x.grad

    assert_same(body)


def test_wrong_hooks() -> None:
    def writes(torch: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            return (leaf(torch) * 1).exp()

    def no_tensor(torch: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: 3, lambda t: t):
            y = leaf(torch).exp()
        y.sum().backward()

    def raises(torch: Any) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: {}["key"], lambda t: t):
            return leaf(torch).exp()

    assert_same(writes, "modifying its input in place")
    assert_same(no_tensor, "unpack_hook expected to be a Tensor but got result of type int")
    assert_same(raises)


def test_raw_saved_tensors() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        y = x * x
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t + 1, lambda t: t * 10)
        y.sum().backward()
        z = x.exp()
        z.grad_fn._raw_saved_result.register_hooks(lambda t: t + 1, lambda t: t * 10)
        return x.grad, torch.autograd.grad(z.sum(), x, retain_graph=True), torch.autograd.grad(z.sum(), x)

    def twice(torch: Any) -> Any:
        y = leaf(torch) * leaf(torch)
        raw = y.grad_fn._raw_saved_self
        raw.register_hooks(lambda t: t, lambda t: t)
        raw.register_hooks(lambda t: t, lambda t: t)

    def freed(torch: Any) -> Any:
        y = leaf(torch).exp()
        raw = y.grad_fn._raw_saved_result
        y.sum().backward()
        raw.register_hooks(lambda t: t, lambda t: t)

    def not_callable(torch: Any) -> Any:
        y = leaf(torch).exp()
        y.grad_fn._raw_saved_result.register_hooks(1, 2)

    assert_same(body)
    assert_same(twice, "only one pair of hooks")
    assert_same(freed, "after it has been freed")
    assert_same(not_callable)


def test_disabled_hooks() -> None:
    def inside(torch: Any) -> Any:
        graph = torch.autograd.graph
        with graph.disable_saved_tensors_hooks("not here"), graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return leaf(torch).exp()

    def around(torch: Any) -> Any:
        graph = torch.autograd.graph
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t), graph.disable_saved_tensors_hooks("not here"):
            return leaf(torch).exp()

    def after(torch: Any) -> Any:
        graph = torch.autograd.graph
        with graph.disable_saved_tensors_hooks("not here"):
            pass
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return leaf(torch).exp()

    assert_same(inside, "not here")
    assert_same(around, "not here")
    assert_same(after)


@pytest.mark.parametrize("pin_memory", [False, True])
def test_save_on_cpu(pin_memory: bool) -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        with torch.autograd.graph.save_on_cpu(pin_memory=pin_memory):
            y = (x * x).exp() * x
        y.sum().backward()
        return x.grad

    assert_same(body)


def test_gradient_edges() -> None:
    def body(torch: Any) -> Any:
        edge = torch.autograd.graph.get_gradient_edge
        x = leaf(torch)
        y = x * 2
        parts = y.unbind()
        z = parts[1].sin()
        return (
            edge(x).node,
            edge(x).output_nr,
            edge(parts[1]).output_nr,
            torch.autograd.grad(z, [edge(parts[1]), edge(y), edge(x)], retain_graph=True),
            torch.autograd.grad(edge(z), x, torch.tensor(3.0), retain_graph=True),
            torch.autograd.grad(edge(z), x),
        )

    def backward(torch: Any) -> Any:
        edge = torch.autograd.graph.get_gradient_edge
        x, other = leaf(torch), leaf(torch)
        torch.autograd.backward(edge(x * 2 * other), torch.ones(2), inputs=[edge(x)])
        return x.grad, other.grad

    def several_elements(torch: Any) -> Any:
        x = leaf(torch)
        return torch.autograd.grad(torch.autograd.graph.get_gradient_edge(x * 2), x)

    assert_same(body)
    assert_same(backward)
    assert_same(several_elements, "grad can be implicitly created only for scalar outputs")
    assert_same(lambda torch: torch.autograd.graph.get_gradient_edge(torch.ones(2)), "does not require gradients")


@pytest.mark.parametrize("mode", ["all", "any"])
def test_hooks_on_several_gradients(mode: str) -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []
        a, b = leaf(torch), leaf(torch)
        c, d = a * 2, b * 3
        handle = torch.autograd.graph.register_multi_grad_hook((a, b, c, d), seen.append, mode=mode)
        (c.sum() + d.sum()).backward(retain_graph=True)
        count = len(seen)
        c.sum().backward(retain_graph=True)
        handle.remove()
        c.sum().backward()
        return count, len(seen), sorted(map(str, seen)) if mode == "all" else None

    assert_same(body)


def test_wrong_hooks_on_several_gradients() -> None:
    def hook(torch: Any, *args: Any, **kwargs: Any) -> Any:
        torch.autograd.graph.register_multi_grad_hook(*args, print, **kwargs)

    assert_same(lambda torch: hook(torch, (leaf(torch),), mode="some"), "Expects mode to be one of")
    assert_same(lambda torch: hook(torch, (torch.ones(1),)))


def test_writing_saved_tensors() -> None:
    def body(torch: Any) -> Any:
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            x = leaf(torch)
            y = x.clone()
            part = y[:1]
            z = y**2
            w = y.exp() * z
            y.sin_()
            part.mul_(5)
            torch.exp(z.detach(), out=z.detach())
            (z + w).sum().backward()
            return y, x.grad

    def outside(torch: Any) -> Any:
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            y = leaf(torch).clone()
            z = y**2
            y.sin_()
        z.sum().backward()

    def nested(torch: Any) -> Any:
        allow = torch.autograd.graph.allow_mutation_on_saved_tensors
        with allow(), allow():
            pass

    assert_same(body)
    assert_same(outside, "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context")
    assert_same(nested, "cannot be nested")


def test_increment_version() -> None:
    def body(torch: Any) -> Any:
        x, y = torch.ones(2), torch.ones(2)
        torch.autograd.graph.increment_version(x)
        torch.autograd.graph.increment_version([x, y])
        return x._version, y._version, x[0]._version

    def breaks_backward(torch: Any) -> Any:
        x = leaf(torch) * 1
        y = x * x
        torch.autograd.graph.increment_version(x)
        y.sum().backward()

    assert_same(body)
    assert_same(breaks_backward, "modified by an inplace operation")
    assert_same(lambda torch: torch.autograd.graph.increment_version([1]), "to be a tensor")


HOOKED = {
    "_saved_self": lambda t, x: x * x,
    "_saved_other": lambda t, x: x * x,
    "_saved_result": lambda t, x: x.exp(),
    "_saved_condition": lambda t, x: t.where(x > 1, x, -x),
    "_saved_exponent": lambda t, x: t.tensor([2.0, 3.0]) ** x,
    "_saved_mat1": lambda t, x: t.addmm(x, t.ones(2, 2), x.view(2, 1) * x),
    "_saved_indices": lambda t, x: x[t.tensor([0, 1])],
    "_saved_input": lambda t, x: t.nn.functional.layer_norm(x, (2,)),
}


@pytest.mark.parametrize("name", HOOKED)
@pytest.mark.parametrize("halved", [False, True])
def test_what_is_saved_is_shown_beside_hooks(name: str, halved: bool) -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        y = HOOKED[name](torch, x)
        packed: list[Any] = []

        def pack(tensor: Any) -> int:
            packed.append(tensor.clone() * 2 if halved and tensor.is_floating_point() else tensor.clone())
            return len(packed) - 1

        def unpack(number: int) -> Any:
            kept = packed[number]
            return kept / 2 if halved and kept.is_floating_point() else kept

        raw = getattr(y.grad_fn, f"_raw{name}")
        for saved in raw if isinstance(raw, list | tuple) else (raw,):
            saved.register_hooks(pack, unpack)
        before = getattr(y.grad_fn, name)
        y.sum().backward(retain_graph=True)
        return before, getattr(y.grad_fn, name), x.grad

    assert_same(body)


def test_looking_at_raw_saved_tensors_changes_nothing() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        y = x * x
        raws = [y.grad_fn._raw_saved_self, y.grad_fn._raw_saved_other]
        shown = y.grad_fn._saved_self is x, y.grad_fn._saved_other is x
        (y * y).sum().backward()
        return len(raws), shown, x.grad

    assert_same(body)
