"""autograd.Function: the same classes in both libraries."""

from __future__ import annotations

from typing import Any

import pytest

from support.both import assert_same, assert_same_results


def scaled(torch: Any, **members: Any) -> Any:
    """`x * n` with n no Tensor; `members` replace its methods."""

    def forward(ctx: Any, x: Any, n: Any) -> Any:
        ctx.n = n
        return x * n

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.n, None

    given = {"forward": forward, "backward": backward, **members}
    methods = {name: staticmethod(member) if callable(member) else member for name, member in given.items()}
    return type("Scaled", (torch.autograd.Function,), methods)


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def test_the_ctx_is_the_node() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        y = scaled(torch).apply(x, 3)
        y.sum().backward()
        return y, y.grad_fn, y.grad_fn.n, y.grad_fn.next_functions[0][0], len(y.grad_fn.next_functions), x.grad

    assert_same(body)


RETURNS: dict[str, Any] = {
    "too few": lambda ctx, g: g,
    "too many": lambda ctx, g: (g, g, g),
    "for a number": lambda ctx, g: (g, g),
    "more, but None": lambda ctx, g: (g, None, None, None),
    "all None": lambda ctx, g: (None, None),
    "no Tensor": lambda ctx, g: (3, None),
    "broadcast up": lambda ctx, g: (g.sum(), None),
    "broadcast down": lambda ctx, g: (g.expand(4, 2), None),
    "wrong shape": lambda ctx, g: (g.new_zeros(3), None),
    "wrong dtype": lambda ctx, g: (g.double(), None),
    "raises": lambda ctx, g: [][1],
}


@pytest.mark.parametrize("what", RETURNS)
def test_what_backward_returns(what: str) -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        scaled(torch, backward=RETURNS[what]).apply(x, 3).sum().backward()
        return x.grad

    assert_same(body)


MESSAGES = {
    "too few": "returned an incorrect number of gradients (expected 2, got 1)",
    "for a number": "returned a gradient different than None at position 2",
    "wrong shape": "invalid gradient",
}


@pytest.mark.parametrize("what", MESSAGES)
def test_messages(what: str) -> None:
    def body(torch: Any) -> Any:
        scaled(torch, backward=RETURNS[what]).apply(leaf(torch), 3).sum().backward()

    assert_same(body, MESSAGES[what])


def test_wrong_uses() -> None:
    def save_number(torch: Any) -> Any:
        return scaled(torch, forward=lambda ctx, x, n: ctx.save_for_backward(n)).apply(leaf(torch), 3)

    def dirty_number(torch: Any) -> Any:
        return scaled(torch, forward=lambda ctx, x, n: ctx.mark_dirty(n)).apply(leaf(torch), 3)

    def constant_number(torch: Any) -> Any:
        return scaled(torch, forward=lambda ctx, x, n: ctx.mark_non_differentiable(n)).apply(leaf(torch), 3)

    def no_forward(torch: Any) -> Any:
        return type("Empty", (torch.autograd.Function,), {}).apply(leaf(torch))

    def no_backward(torch: Any) -> Any:
        members = {"forward": staticmethod(lambda ctx, x: x * 2)}
        return type("Half", (torch.autograd.Function,), members).apply(leaf(torch)).sum().backward()

    def both_names(torch: Any) -> Any:
        return scaled(torch, vjp=lambda ctx, g: (g, None)).apply(leaf(torch), 2).sum().backward()

    def as_an_object(torch: Any) -> Any:
        return scaled(torch)()(leaf(torch), 3)

    def no_jvp(torch: Any) -> Any:
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            return scaled(torch).apply(forward_ad.make_dual(leaf(torch), torch.ones(2)), 3)

    assert_same(save_number, "save_for_backward can only save variables, but argument 0 is of type int")
    assert_same(dirty_number)
    assert_same(constant_number)
    assert_same(no_forward, "You must implement the forward function")
    assert_same(no_backward, "You must implement either the backward or vjp method")
    assert_same(both_names, "Implementing both 'backward' and 'vjp'")
    assert_same(as_an_object, "Legacy autograd function")
    assert_same(no_jvp, "You must implement the jvp function")


def test_needs_input_grad_and_modes_inside() -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, y: Any, n: Any) -> Any:
            seen.append((ctx.needs_input_grad, torch.is_grad_enabled(), x.requires_grad))
            return x * y

        def backward(ctx: Any, grad: Any) -> Any:
            seen.append((ctx.needs_input_grad, torch.is_grad_enabled()))
            return grad * 2, None, None

        x = leaf(torch)
        function = scaled(torch, forward=forward, backward=backward)
        out = function.apply(x, torch.ones(2), None)
        out.sum().backward()
        with torch.no_grad():
            silent = function.apply(x, torch.ones(2), None)
        torch.autograd.grad(function.apply(x, torch.ones(2), None).sum(), x, create_graph=True)
        return seen, out, silent, x.grad

    assert_same(body)


def test_several_outputs_of_several_kinds() -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, n: Any) -> Any:
            constant, positive = x * 2, x > 0
            ctx.mark_non_differentiable(constant)
            return constant, positive, x * 3, "text", None, x * 4

        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return grads[2] + grads[5], None

        x = leaf(torch)
        out = scaled(torch, forward=forward, backward=backward).apply(x, 1)
        out[2].sum().backward()
        return out, [t.output_nr for t in (out[2], out[5])], seen, x.grad

    assert_same(body)


@pytest.mark.parametrize("materialize", [True, False])
def test_gradients_that_are_missing(materialize: bool) -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []

        def forward(ctx: Any, x: Any, n: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        def backward(ctx: Any, first: Any, second: Any) -> Any:
            seen.append((first, second))
            return second * 3, None

        x = leaf(torch)
        scaled(torch, forward=forward, backward=backward).apply(x, 0)[1].sum().backward()
        return seen, x.grad

    assert_same(body)


def test_single_outputs_that_are_no_tensors() -> None:
    assert_same(lambda torch: scaled(torch, forward=lambda ctx, x, n: n).apply(leaf(torch), 5))
    assert_same(lambda torch: scaled(torch, forward=lambda ctx, x, n: None).apply(leaf(torch), 5))
    assert_same(lambda torch: scaled(torch, forward=lambda ctx, x, n: (x * 1,)).apply(leaf(torch), 5))


def test_setup_context() -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []

        def forward(x: Any, n: Any = 4) -> Any:
            return x * n

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append((inputs[1], output, torch.is_grad_enabled()))
            ctx.save_for_backward(inputs[0], output)
            ctx.n = inputs[1]

        def backward(ctx: Any, grad: Any) -> Any:
            x, out = ctx.saved_tensors
            seen.append((x, out))
            return grad * ctx.n, None

        function = scaled(torch, forward=forward, setup_context=setup_context, backward=backward)
        x = leaf(torch)
        function.apply(x, 2).sum().backward()
        function.apply(x).sum().backward()
        function.apply(x, n=3).sum().backward()
        return seen, x.grad

    assert_same(body)


def cube(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x**3
            ctx.save_for_backward(x, out)
            return out

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, out = ctx.saved_tensors
            return grad * 3 * x * x + 0 * out

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return None if tangent is None else tangent * 5

    return Cube


def test_higher_derivatives_through_backward() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        first = torch.autograd.grad(cube(torch).apply(x).sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
        return first, second, torch.autograd.grad(second.sum(), x)

    assert_same(body)


def test_saved_tensors_are_checked_and_freed() -> None:
    def overwritten(torch: Any) -> Any:
        x = leaf(torch) * 1
        y = cube(torch).apply(x)
        x.add_(1)
        y.sum().backward()

    def twice(torch: Any) -> Any:
        y = cube(torch).apply(leaf(torch))
        y.sum().backward()
        y.sum().backward()

    def freed(torch: Any) -> Any:
        y = cube(torch).apply(leaf(torch))
        y.sum().backward()
        return y.grad_fn.saved_tensors

    def read(torch: Any) -> Any:
        y = cube(torch).apply(leaf(torch))
        return y.grad_fn.saved_tensors, y.grad_fn.saved_tensors[1].grad_fn

    assert_same(overwritten, "has been modified by an inplace operation")
    assert_same(twice, "a second time")
    assert_same(freed, "a second time")
    assert_same(read)


def test_inputs_returned_as_they_are() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        function = scaled(torch, forward=lambda ctx, x, n: x, backward=lambda ctx, g: (g * 2, None))
        y = function.apply(x, 1)
        y.sum().backward()
        return y is x, y._is_view(), y, x.grad

    def written(torch: Any) -> Any:
        function = scaled(torch, forward=lambda ctx, x, n: x, backward=lambda ctx, g: (g * 2, None))
        return function.apply(leaf(torch) * 1, 1).add_(1)

    def view_written(torch: Any) -> Any:
        function = scaled(torch, forward=lambda ctx, x, n: x.view(-1), backward=lambda ctx, g: (g * 2, None))
        return function.apply(leaf(torch) * 1, 1).add_(1)

    assert_same(body)
    assert_same(written, "created inside a custom Function")
    assert_same(view_written, "created inside a custom Function")


def in_place(torch: Any, outputs: int = 1) -> Any:
    def forward(ctx: Any, x: Any, n: Any) -> Any:
        x.mul_(n)
        ctx.n = n
        ctx.mark_dirty(x)
        return x if outputs == 1 else (x, x * 2)

    def backward(ctx: Any, grad: Any, *more: Any) -> Any:
        return grad * ctx.n, None

    return scaled(torch, forward=forward, backward=backward)


def test_writing_an_input() -> None:
    def body(torch: Any) -> Any:
        x = leaf(torch)
        z = x * 1
        early_view = z[:1]
        y = in_place(torch).apply(z, 3)
        late = y * 2
        (late.sum() + early_view.sum()).backward()
        return y is z, z.grad_fn, z._version, x.grad

    def through_a_view(torch: Any) -> Any:
        x = leaf(torch)
        z = x * 1
        part = z[1:]
        y = in_place(torch).apply(part, 5)
        (z.sum() + y.sum()).backward()
        return y is part, z.grad_fn, part.grad_fn, z._version, x.grad

    def two_outputs(torch: Any) -> Any:
        z = leaf(torch) * 1
        y, doubled = in_place(torch, outputs=2).apply(z, 3)
        return y is z, y.output_nr, doubled.output_nr, torch.autograd.grad((y + doubled).sum(), z)

    assert_same(body)
    assert_same(through_a_view)
    assert_same(two_outputs)


def test_writing_an_input_that_must_not_be() -> None:
    def not_returned(torch: Any) -> Any:
        def forward(ctx: Any, x: Any, n: Any) -> Any:
            x.add_(1)
            ctx.mark_dirty(x)
            return x * 2

        return scaled(torch, forward=forward).apply(leaf(torch) * 1, 1)

    assert_same(lambda torch: in_place(torch).apply(leaf(torch), 3), "a leaf Variable that requires grad")
    assert_same(not_returned, "Some elements marked as dirty")
    assert_same(lambda torch: in_place(torch, 2).apply((leaf(torch) * 1)[1:], 3), "cannot return more than one Tensor")


def test_once_differentiable() -> None:
    def function(torch: Any) -> Any:
        once = torch.autograd.function.once_differentiable
        return scaled(torch, backward=once(lambda ctx, g: (g * ctx.n, None)))

    def first(torch: Any) -> Any:
        x = leaf(torch)
        return torch.autograd.grad(function(torch).apply(x, 2).sum(), x, create_graph=True)

    def second(torch: Any) -> Any:
        x, start = leaf(torch), torch.ones(2, requires_grad=True)
        grad = torch.autograd.grad(function(torch).apply(x, 2), x, start, create_graph=True)[0]
        grad.sum().backward()

    assert_same(first)
    assert_same(second, "trying to differentiate twice a function that was marked with @once_differentiable")


def test_forward_mode() -> None:
    def body(torch: Any) -> Any:
        forward_ad = torch.autograd.forward_ad
        x = leaf(torch)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, torch.tensor([1.0, 10.0]))
            return forward_ad.unpack_dual(cube(torch).apply(dual)).tangent

    def saved_for_forward(torch: Any) -> Any:
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                ctx.save_for_forward(x, y)
                return x * y

            @staticmethod
            def jvp(ctx: Any, x_t: Any, y_t: Any) -> Any:
                x, y = ctx.saved_tensors
                return x_t * y + x * y_t

        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
            out = Product.apply(x, torch.tensor([5.0, 7.0]))
            return forward_ad.unpack_dual(out).tangent

    assert_same(body)
    assert_same(saved_for_forward)


def test_hooks_on_its_node() -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []
        x = leaf(torch)
        y = scaled(torch).apply(x, 3)
        y.register_hook(lambda g: seen.append(("tensor", g)))
        y.grad_fn.register_prehook(lambda grads: seen.append(("before", grads)))
        y.grad_fn.register_hook(lambda given, grads: seen.append(("after", given, grads)))
        y.sum().backward()
        return seen

    assert_same(body)


def test_the_linear_layer_of_the_tutorials() -> None:
    def body(torch: Any) -> Any:
        class Linear(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, input: Any, weight: Any, bias: Any = None) -> Any:
                ctx.save_for_backward(input, weight, bias)
                out = input.mm(weight.t())
                return out if bias is None else out + bias.unsqueeze(0).expand_as(out)

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                input, weight, bias = ctx.saved_tensors
                return (
                    grad.mm(weight) if ctx.needs_input_grad[0] else None,
                    grad.t().mm(input) if ctx.needs_input_grad[1] else None,
                    grad.sum(0) if bias is not None and ctx.needs_input_grad[2] else None,
                )

        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        weight = torch.arange(12.0).reshape(4, 3).requires_grad_()
        bias = torch.ones(4, requires_grad=True)
        Linear.apply(x, weight, bias).pow(2).sum().backward()
        without = Linear.apply(x, weight)
        return x.grad, weight.grad, bias.grad, without, torch.autograd.grad(without.sum(), weight)

    assert_same(body)


# -- arguments by name


def product(torch: Any, setup: bool) -> Any:
    class Product(torch.autograd.Function):
        if setup:

            @staticmethod
            def forward(x: Any, y: Any, n: Any = 2) -> Any:
                return x * y * n

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_backward(*inputs[:2])
                ctx.n = inputs[2]

        else:

            @staticmethod
            def forward(ctx: Any, x: Any, y: Any, n: Any = 2) -> Any:
                ctx.save_for_backward(x, y)
                ctx.n = n
                return x * y * n

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return (grad * y * ctx.n, grad * x * ctx.n, None)[: len(ctx.needs_input_grad)]

    return Product


@pytest.mark.parametrize("setup", [False, True])
@pytest.mark.parametrize(
    "call",
    [
        lambda f, x, y: f.apply(x, y=y),
        lambda f, x, y: f.apply(y=y, x=x),
        lambda f, x, y: f.apply(x, n=3, y=y),
        lambda f, x, y: f.apply(x, y, n=3),
    ],
)
def test_tensors_given_by_name_have_gradients(setup: bool, call: Any) -> None:
    def body(torch: Any) -> Any:
        x, y = leaf(torch), torch.tensor([3.0, 4.0], requires_grad=True)
        out = call(product(torch, setup), x, y)
        needed = out.grad_fn.needs_input_grad
        return out, needed, len(out.grad_fn.next_functions), torch.autograd.grad(out.sum(), [x, y])

    assert_same_results(body)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, x: f.apply(x, x, m=3), "unexpected keyword argument 'm'"),
        (lambda f, x: f.apply(x, x, y=3), "multiple values for argument 'y'"),
        (lambda f, x: f.apply(x, n=3), "argument: 'y'"),
        (lambda f, x: f.apply(x, x, ctx=3), "unexpected keyword argument 'ctx'"),
    ],
)
def test_names_that_forward_does_not_take(call: Any, message: str) -> None:
    assert_same(lambda torch: call(product(torch, False), leaf(torch)), message)


@pytest.mark.parametrize("setup", [False, True])
def test_arguments_that_have_no_position_are_refused(setup: bool) -> None:
    def body(torch: Any) -> Any:
        def forward(*args: Any, scale: Any) -> Any:
            return args[-1] * scale

        members = {"setup_context": lambda ctx, inputs, output: None} if setup else {}
        return scaled(torch, forward=forward, **members).apply(leaf(torch), scale=leaf(torch))

    assert_same(body, "unexpected keyword argument 'scale'")


# -- forward mode: the tangents that `jvp` returns


def function(torch: Any, forward: Any, jvp: Any) -> Any:
    return type("Given", (torch.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})


def doubled(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def multiplied(ctx: Any, x: Any, y: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(y)


def both_dirty(ctx: Any, x: Any, y: Any) -> Any:
    ctx.mark_dirty(x, y)
    return x.mul_(2), y.mul_(3)


def constant(ctx: Any, x: Any) -> Any:
    first, second = x * 2, x * 3
    ctx.mark_non_differentiable(first)
    return first, second


def through_a_part(torch: Any, f: Any, d: Any) -> Any:
    whole = d * 1
    f.apply(whole[:1])
    return whole


def through_a_part_of_zeros(torch: Any, f: Any, d: Any) -> Any:
    whole = torch.ones(2)
    f.apply(whole[:1], d[:1])
    return whole


def simply(torch: Any, f: Any, d: Any) -> Any:
    return f.apply(d)


def into_another(torch: Any, f: Any, d: Any) -> Any:
    return f.apply(torch.tensor([5.0, 6.0]), d)


TANGENTS: dict[str, tuple[Any, Any, Any, str | None]] = {
    # in place
    "written": (doubled, lambda ctx, g: g.mul_(2), simply, None),
    "written part": (doubled, lambda ctx, g: g.mul_(2), through_a_part, None),
    "written copy": (doubled, lambda ctx, g: g.mul_(2), lambda torch, f, d: (f.apply(d.clone()), d), None),
    "not written": (doubled, lambda ctx, g: g * 2, simply, "not modifying the forward mode gradients inplace"),
    "not touched": (doubled, lambda ctx, g: g, simply, "not modifying the forward mode gradients inplace"),
    "nothing written": (doubled, lambda ctx, g: None, simply, "not modifying the forward mode gradients inplace"),
    "a view of what was written": (
        doubled,
        lambda ctx, g: g.mul_(2).view_as(g),
        simply,
        "not returning the forward mode gradients as-is",
    ),
    "two swapped": (
        both_dirty,
        lambda ctx, g, h: (h.mul_(2), g.mul_(3)),
        lambda torch, f, d: f.apply(d * 1, d * 2),
        "not returning the forward mode gradients as-is",
    ),
    "two written": (both_dirty, lambda ctx, g, h: (g.mul_(2), h.mul_(3)), lambda t, f, d: f.apply(d * 1, d * 2), None),
    "written without a tangent": (multiplied, lambda ctx, g, h: g.mul_(2).add_(h), into_another, None),
    "written without a tangent, new": (multiplied, lambda ctx, g, h: h * 2, into_another, None),
    "written part without a tangent": (multiplied, lambda ctx, g, h: g.add_(h), through_a_part_of_zeros, None),
    # views
    "view": (lambda ctx, x: x.view(2, 1), lambda ctx, g: g.view(2, 1), simply, None),
    "view of a part": (
        lambda ctx, x: x[1:].view(1, 1),
        lambda ctx, g: g[1:].view(1, 1),
        lambda torch, f, d: f.apply((d * 1)[:]),
        None,
    ),
    "view, tangent copied": (
        lambda ctx, x: x.view(2, 1),
        lambda ctx, g: g.clone().view(2, 1),
        simply,
        "the jvp is not returning a view of the given grad input",
    ),
    "view, tangent as it is": (lambda ctx, x: x.view_as(x), lambda ctx, g: g, simply, "jvp is not returning a view"),
    "view, other part": (lambda ctx, x: x[:1], lambda ctx, g: g[1:], simply, ""),
    "input as it is, tangent as it is": (lambda ctx, x: x, lambda ctx, g: g, simply, "jvp is not returning a view"),
    "input as it is, new tangent": (lambda ctx, x: x, lambda ctx, g: g * 1, simply, "jvp is not returning a view"),
    "input as it is": (lambda ctx, x: x, lambda ctx, g: g.view_as(g), simply, None),
    "view of what has no tangent": (
        lambda ctx, x, y: x.view(2, 1),
        lambda ctx, g, h: h.clone().view(2, 1),
        into_another,
        None,
    ),
    "new, tangent as it is": (lambda ctx, x: x * 1, lambda ctx, g: g, simply, None),
    "new, tangent a view": (lambda ctx, x: x * 1, lambda ctx, g: g.view_as(g), simply, None),
    # outputs that have none
    "non-differentiable": (
        constant,
        lambda ctx, g: (g * 2, g * 3),
        simply,
        "Function's jvp returned a gradient at position 0, but ",
    ),
    "non-differentiable, none": (constant, lambda ctx, g: (None, g * 3), simply, None),
    "integers": (
        lambda ctx, x: (x * 2, x.long()),
        lambda ctx, g: (g * 2, g),
        simply,
        "Function's jvp returned a gradient at position 1, but ",
    ),
    "integers, none": (lambda ctx, x: (x * 2, x.long()), lambda ctx, g: (g * 2, None), simply, None),
    # what is no tangent
    "other shape": (lambda ctx, x: x * 2, lambda ctx, g: g.sum(), simply, "Tensor is of size [2] while the given"),
    "number": (lambda ctx, x: x * 2, lambda ctx, g: 3, simply, "expected Variable or None (got int) for grad output 0"),
    "tangent of integers": (
        lambda ctx, x: x * 2,
        lambda ctx, g: g.long(),
        simply,
        "Expected both tensor and its forward grad to be floating point or complex",
    ),
    "too many": (
        lambda ctx, x: x * 2,
        lambda ctx, g: (g, g),
        simply,
        "Function's jvp returned an invalid number of forward gradients (expected 1 but got 2)",
    ),
    "too few": (
        lambda ctx, x: (x * 2, x * 3),
        lambda ctx, g: g,
        simply,
        "Function's jvp returned an invalid number of forward gradients (expected 2 but got 1)",
    ),
}


@pytest.mark.parametrize("name", TANGENTS)
def test_tangents_of_a_function(name: str) -> None:
    forward, jvp, call, message = TANGENTS[name]

    def body(torch: Any) -> Any:
        ad = torch.autograd.forward_ad
        with ad.dual_level():
            tangent = torch.tensor([3.0, 4.0])
            dual = ad.make_dual(torch.tensor([1.0, 2.0]), tangent)
            outs = call(torch, function(torch, forward, jvp), dual)
            found = [ad.unpack_dual(out) for out in (outs if isinstance(outs, tuple) else (outs,))]
            return [(out.primal, out.tangent) for out in found], tangent, ad.unpack_dual(dual).tangent

    if message is None:
        assert_same_results(body)
    else:
        assert_same(body, message)


def test_forward_of_a_function_carries_no_tangents() -> None:
    """What `forward` computes is the business of `jvp`."""

    def body(torch: Any) -> Any:
        ad, seen = torch.autograd.forward_ad, []

        def forward(ctx: Any, x: Any) -> Any:
            seen.append((ad.unpack_dual(x).tangent is None, ad.unpack_dual(x * 2).tangent is None))
            return x * 2

        with ad.dual_level():
            dual = ad.make_dual(torch.ones(1), torch.ones(1))
            out = function(torch, forward, lambda ctx, g: g * 5).apply(dual)
            return seen, ad.unpack_dual(out).tangent

    assert_same_results(body)


def _nested(torch: Any, seen: list[Any]) -> Any:
    """A Function whose backward runs another one, as often as it is told, and notes what holds there."""

    class Nested(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, count: int) -> Any:
            ctx.count = count
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if ctx.count == 0:
                raise_or_note(seen)
                return grad * 2, None
            leaf = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad():
                out = Nested.apply(leaf, ctx.count - 1).sum()
            out.backward()
            return leaf.grad + grad, None

    def raise_or_note(seen: list[Any]) -> None:
        if seen:
            raise KeyError("far inside")
        seen.append((torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")))

    return Nested


# From 60 on PyTorch takes threads of its own, and a process that has these can fork no child that runs backward.
@pytest.mark.parametrize("count", [1, 50])
def test_backwards_lie_in_each_other(count: int) -> None:
    def body(torch: Any) -> Any:
        x, seen = torch.ones(2, requires_grad=True), []
        with torch.autocast("cpu"):
            _nested(torch, seen).apply(x, count).sum().backward()
        return x.grad, seen

    assert_same_results(body)


def test_an_error_comes_out_of_backwards_that_lie_in_each_other() -> None:
    def body(torch: Any) -> Any:
        _nested(torch, [True]).apply(torch.ones(2, requires_grad=True), 50).sum().backward()

    assert_same(body, "far inside")
