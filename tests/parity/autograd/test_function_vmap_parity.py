"""autograd.Function under the transforms of func, the same in both libraries."""

from __future__ import annotations

from typing import Any

import pytest

from support.both import assert_same, assert_same_results


def scaled_cube(torch: Any, generate: bool = True, **members: Any) -> Any:
    """`x**3 * scale`, a Function of two Tensors with all methods."""

    class Cube(torch.autograd.Function):
        generate_vmap_rule = generate

        @staticmethod
        def forward(x: Any, scale: Any) -> Any:
            return x * x * x * scale

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, scale = ctx.saved_tensors
            return grad * 3 * x * x * scale, (grad * x * x * x).sum()

        @staticmethod
        def jvp(ctx: Any, x_t: Any, scale_t: Any) -> Any:
            x, scale = ctx.saved_tensors
            return 3 * x * x * scale * x_t + x * x * x * scale_t

    for name, member in members.items():
        setattr(Cube, name, staticmethod(member))
    return Cube


def inputs(torch: Any) -> Any:
    return torch.tensor([[1.0, 2.0], [3.0, 0.5], [-1.0, 4.0]]), torch.tensor([1.0, 2.0, 3.0])


def test_generated_rule() -> None:
    def body(torch: Any) -> Any:
        x, scale = inputs(torch)
        cube = scaled_cube(torch).apply
        vmap = torch.func.vmap
        return (
            vmap(cube)(x, scale),
            vmap(cube, in_dims=(0, None))(x, scale[1]),
            vmap(cube, in_dims=(1, None))(x, scale[1]),
            vmap(vmap(cube, in_dims=(0, None)))(x, scale),
        )

    assert_same(body)


def test_gradients_of_a_generated_rule() -> None:
    def body(torch: Any) -> Any:
        x, scale = inputs(torch)
        cube = scaled_cube(torch).apply
        func = torch.func

        def loss(x: Any, scale: Any) -> Any:
            return cube(x, scale).sum()

        shared = func.grad(lambda s: func.vmap(cube, in_dims=(0, None))(x, s).sum())(scale[1])
        return (
            func.vmap(func.grad(loss, argnums=(0, 1)))(x, scale),
            func.vmap(func.grad(loss), in_dims=(0, None))(x, scale[2]),
            shared,
            func.grad(lambda x: func.vmap(cube)(x, scale).sum())(x),
            func.jacrev(cube)(x[0], scale[0]),
            func.vmap(func.jacrev(cube))(x, scale),
            func.hessian(loss)(x[0], scale[0]),
        )

    assert_same(body)


def test_tangents_of_a_generated_rule() -> None:
    def body(torch: Any) -> Any:
        x, scale = inputs(torch)
        cube = scaled_cube(torch).apply
        func = torch.func
        return (
            func.jvp(cube, (x, scale[:, None]), (x + 1, scale[:, None])),
            func.vmap(lambda x, s: func.jvp(cube, (x, s), (x + 1, s * 2)))(x, scale),
            func.jvp(func.vmap(cube), (x, scale), (x + 1, scale * 2)),
            func.jacfwd(cube)(x[0], scale[0]),
        )

    assert_same(body)


def test_a_rule_of_its_own() -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []

        def vmap(info: Any, in_dims: Any, x: Any, scale: Any) -> Any:
            seen.append((info.batch_size, info.randomness, in_dims))
            x = x.movedim(in_dims[0], 0)
            scale = scale[:, None] if in_dims[1] is not None else scale
            return x**3 * scale, 0

        x, scale = inputs(torch)
        cube = scaled_cube(torch, generate=False, vmap=vmap).apply
        results = [
            torch.func.vmap(cube)(x, scale),
            torch.func.vmap(cube, in_dims=(0, None))(x, scale[1]),
            torch.func.grad(lambda x: torch.func.vmap(cube)(x, scale).sum())(x),
        ]
        return results, seen

    assert_same(body)


def test_several_outputs() -> None:
    def body(torch: Any) -> Any:
        class Both(torch.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x: Any) -> Any:
                return x.sin(), x > 0, x.cos()

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.mark_non_differentiable(output[1])
                ctx.save_for_backward(output[0], output[2])

            @staticmethod
            def backward(ctx: Any, grad_sin: Any, _: Any, grad_cos: Any) -> Any:
                sin, cos = ctx.saved_tensors
                return grad_sin * cos - grad_cos * sin

        x, _ = inputs(torch)
        first = torch.func.vmap(Both.apply)(x)
        grads = torch.func.vmap(torch.func.grad(lambda x: (lambda o: (o[0] + 2 * o[2]).sum())(Both.apply(x))))(x)
        return first, grads

    assert_same(body)


def test_no_rule_or_two() -> None:
    def call(torch: Any, **members: Any) -> Any:
        return torch.func.vmap(scaled_cube(torch, **members).apply)(*inputs(torch))

    assert_same(lambda torch: call(torch, generate=False), "does not have vmap support")
    assert_same(lambda torch: call(torch, vmap=lambda *args: None), "to avoid ambiguity")


# -- collections of Tensors


def of_a_list(torch: Any, rule: Any = None, seen: Any = None) -> Any:
    """`xs[0] * xs[1] * n` of a list (or another collection), with NumPy where the arguments are plain."""

    class Product(torch.autograd.Function):
        generate_vmap_rule = rule is None

        @staticmethod
        def forward(xs: Any, n: Any) -> Any:
            if seen is not None:
                seen.append([tuple(x.shape) for x in xs])
            return xs[0] * xs[1] * n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs[0])

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, None

        if rule is not None:
            vmap = staticmethod(rule)

    return Product


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("own", [False, True])
def test_a_list_of_tensors(kind: Any, own: bool) -> None:
    def body(torch: Any) -> Any:
        told: list[Any] = []

        def rule(info: Any, in_dims: Any, xs: Any, n: Any) -> Any:
            told.append((info.batch_size, list(in_dims[0]), in_dims[1], [tuple(x.shape) for x in xs]))
            return xs[0].detach() * xs[1] * n, 0

        function = of_a_list(torch, rule if own else None)
        a, b, c = torch.arange(6.0).reshape(3, 2), torch.ones(3, 2) * 2, torch.tensor([1.0, 2.0])
        return (
            torch.vmap(lambda x, y: function.apply(kind([x, y]), 2))(a, b),
            torch.vmap(lambda x: function.apply(kind([x, c]), x))(a),
            torch.vmap(lambda x: torch.vmap(lambda y: function.apply(kind([x, y]), 2))(b))(a),
            torch.vmap(lambda x: torch.vmap(lambda y: function.apply(kind([y, c]), 2))(b) * x)(a),
            told,
        )

    assert_same_results(body)


def test_results_in_collections() -> None:
    def body(torch: Any) -> Any:
        class Several(torch.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(xs: Any, given: Any) -> Any:
                return [xs[0] * 2, given["a"]], given["a"] * 2

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

        a, b = torch.arange(6.0).reshape(3, 2), torch.ones(3, 2)
        return torch.vmap(lambda x, y: Several.apply([x, y], {"a": y}))(a, b)

    assert_same_results(body)


@pytest.mark.parametrize("dims", [(0,), [0, 0], (0, 0, 0), 0, (0, None)])
def test_dimensions_that_a_rule_returns(dims: Any) -> None:
    def body(torch: Any) -> Any:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(x: Any) -> Any:
                return x * 2, x.sum()

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any) -> Any:
                return (x * 2, x.sum(1) if dims == 0 else x.sum()), dims

        return torch.vmap(Twice.apply)(torch.ones(2, 2))

    if dims in (0, (0, None)):
        assert_same_results(body)
    else:
        assert_same(body, "returned an incompatible (output, out_dims) tuple")


def test_no_batch_is_left_after_the_vmap() -> None:
    """A Function of a list runs on whole batches: what it keeps is no Tensor of a vmap that is over."""

    def body(torch: Any) -> Any:
        kept: list[Any] = []

        def rule(info: Any, in_dims: Any, xs: Any, n: Any) -> Any:
            kept.extend(xs)
            return xs[0] * n, in_dims[0][0]

        function = of_a_list(torch, rule)
        torch.vmap(lambda x: function.apply([x], 2))(torch.ones(3, 2))
        return [(x + 1).shape for x in kept]

    assert_same_results(body)


def test_a_library_rule_gets_whole_lists() -> None:
    def body(torch: Any) -> Any:
        told: list[Any] = []

        def scale(xs: Any, k: Any) -> Any:
            return [x * k for x in xs]

        scale.__annotations__ = {"xs": list[torch.Tensor], "k": int, "return": list[torch.Tensor]}
        weighted = torch.library.custom_op(f"listrule{id(told)}::weighted", scale, mutates_args=())

        def rule(info: Any, in_dims: Any, xs: Any, k: Any) -> Any:
            told.append((info.batch_size, list(in_dims[0]), [tuple(x.shape) for x in xs]))
            return [x * k for x in xs], list(in_dims[0])

        torch.library.register_vmap(weighted, rule)
        return torch.vmap(lambda x: weighted([x, torch.ones(2)], 3), out_dims=[0, None])(torch.ones(5, 2)), told

    assert_same_results(body)


@pytest.mark.parametrize("chunk", [1, 2, 3, None])
def test_the_same_numbers_in_all_chunks(chunk: int | None) -> None:
    def body(torch: Any) -> Any:
        def f(x: Any) -> Any:
            return torch.rand(2) + 0 * x, torch.randn(3)

        def distinct(randomness: str) -> Any:
            found = torch.vmap(f, randomness=randomness, chunk_size=chunk)(torch.ones(5, 2))
            return [len({tuple(row) for row in out.tolist()}) for out in found]

        return distinct("same"), distinct("different")

    assert_same_results(body)


# -- tangents of views and writes under the transforms


def column(torch: Any) -> Any:
    class Column(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.view(-1, 1)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.view(-1)

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent.view(-1, 1)

    return Column


def as_it_is_and_twice(torch: Any) -> Any:
    class Both(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x, x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent.view_as(tangent), tangent * 2

    return Both


@pytest.mark.parametrize("make", [column, as_it_is_and_twice])
def test_tangents_of_views_under_transforms(make: Any) -> None:
    def body(torch: Any) -> Any:
        function = make(torch).apply
        x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
        xs, ts = torch.stack([x, x * 2]), torch.stack([t, t * 3])
        jvp, vmap, jacfwd = torch.func.jvp, torch.vmap, torch.func.jacfwd
        return (
            jvp(function, (x,), (t,)),
            jacfwd(function)(x),
            vmap(lambda x: jvp(function, (x,), (t,)))(xs),
            vmap(lambda x, t: jvp(function, (x,), (t,)), in_dims=(0, 1))(xs, ts),
            jvp(vmap(function), (xs,), (ts,)),
            # PyTorch loses the outer tangent of the second output where the first is an input.
            jvp(lambda x: jvp(function, (x * x,), (x * t,)), (x,), (t,)) if make is column else None,
        )

    assert_same_results(body)


def test_mixed_derivatives_of_a_view() -> None:
    def body(torch: Any) -> Any:
        cubes = lambda x: (column(torch).apply(x) ** 3).sum()  # noqa: E731
        x = torch.tensor([1.0, 2.0])
        func = torch.func
        return func.jacfwd(func.jacrev(cubes))(x), func.jacrev(func.jacfwd(cubes))(x), func.hessian(cubes)(x)

    assert_same_results(body)


def test_a_write_in_nested_levels_is_applied_once() -> None:
    """2 x**2 has the second derivative 4."""
    import gradwright

    class Doubled(gradwright.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent.mul_(2)

    def push(f: Any, x: Any) -> Any:
        return gradwright.func.jvp(f, (x,), (gradwright.ones_like(x),))[1]

    x = gradwright.tensor([1.0, 2.0, -3.0])
    assert push(lambda x: Doubled.apply(x * x), x).tolist() == [4.0, 8.0, -12.0]
    assert push(lambda x: push(lambda x: Doubled.apply(x * x), x), x).tolist() == [4.0] * 3
