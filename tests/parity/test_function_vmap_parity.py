"""autograd.Function under the transforms of func, the same in both libraries."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

from tests.parity.both import assert_same

pytestmark = pytest.mark.parity


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
