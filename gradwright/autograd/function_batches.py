"""Custom Functions under vmap: by their own `vmap` method, or by a rule made of their own methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradwright.autograd.function import Function, FunctionNode
from runtime import ops
from runtime.base.pytree import flatten
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import BatchedTensor, batch
from runtime.operators.batching.calls import is_batched, value_of, whole_batch
from runtime.operators.batching.levels import VmapLevel
from runtime.operators.batching.user_rules import batch_dims, batch_values, by_rule, dressed


def apply_batched(function: type[Function], args: tuple[Any, ...]) -> Any:
    """`function.apply(*args)`, where some Tensor is batched: one level less deep, for the whole batch.

    Raises:
        RuntimeError: the Function says neither how, or both ways.
    """
    name = function.__name__
    own = function.vmap is not Function.vmap
    if own and function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overriden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod to avoid "
            "ambiguity."
        )
    level = max(
        (leaf.level for leaf in flatten(args)[0] if isinstance(leaf, BatchedTensor)), key=lambda level: level.number
    )
    if function.generate_vmap_rule:
        call = _Call(function, level, batch_dims(args, level))
        out = _Generated.apply(call, *batch_values(args, level))
        return dressed(out, call.out_dims, level)
    if own:
        return by_rule(function.vmap, level, args)
    raise RuntimeError(
        f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
        "staticmethod or set generate_vmap_rule=True."
    )


@dataclass(eq=False, slots=True)
class _Call:
    """A call of a Function for a batch; `out_dims` receives which outputs are batches."""

    function: type[Function]
    level: VmapLevel
    in_dims: tuple[Any, ...]
    out_dims: Any = None


class _Generated(Function):
    """A Function for batches: runs the methods of another one under a vmap of their own."""

    generate_vmap_rule = True  # of a batch of batches the same can be said

    @staticmethod
    def forward(ctx: Any, call: _Call, *values: Any) -> Any:
        """The outputs of the other Function for the whole batch."""
        ctx.call = call
        with call.level.another() as level:
            elements = dressed(values, call.in_dims, level)
            inner = call.function._backward_cls(elements)
            out = call.function.forward_with(inner, elements)
            if inner._dirty:
                raise RuntimeError("generate_vmap_rule=True cannot be used with mark_dirty: please override vmap")
            call.out_dims, plain = batch_dims(out, level), batch_values(out, level)
            pairs = zip(flatten(plain)[0], flatten(out)[0], strict=True)
            constant = {id(tensor) for tensor in inner._non_differentiable}
            ctx.mark_non_differentiable(*[mine for mine, theirs in pairs if id(theirs) in constant])
            ctx.batched = call.out_dims if isinstance(out, tuple) else (call.out_dims,)
            ctx.set_materialize_grads(inner.materialize_grads)
            ctx.saved_batched = _save(ctx.save_for_backward, inner._to_save, level)
            ctx.forward_batched = _save(ctx.save_for_forward, inner._saved_for_forward or (), level)
        inner._to_save = ()
        ctx.inner = inner
        return plain

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients for the whole batch; those of an argument that all elements share are summed."""
        call: _Call = ctx.call
        inner: FunctionNode = ctx.inner
        inner.needs_input_grad = ctx.needs_input_grad[1:]
        with call.level.another() as level:
            inner._to_save = _redressed(ctx.saved_tensors, ctx.saved_batched, level)
            cotangents = _redressed(grads, [dim == 0 for dim in ctx.batched], level)
            results = call.function._backward_method()(inner, *cotangents)
            inner._to_save = ()
            listed = results if isinstance(results, tuple) else (results,)
            gradients: list[Any] = [None]
            for result, dim in zip(listed, (*call.in_dims, *(None,) * len(listed)), strict=False):
                if not isinstance(result, Tensor):
                    gradients.append(result)
                elif dim == 0:
                    gradients.append(whole_batch(result, level))
                else:
                    gradients.append(ops.sum(whole_batch(result, level), [0]))
        return tuple(gradients)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        """The tangents of the outputs for the whole batch."""
        call: _Call = ctx.call
        inner: FunctionNode = ctx.inner
        with call.level.another() as level:
            saved = _redressed(ctx.saved_tensors, ctx.forward_batched or ctx.saved_batched, level)
            if ctx.forward_batched:
                inner._saved_for_forward, inner._in_jvp = saved, True
            else:
                inner._to_save = saved
            elements = _redressed(tangents, [dim == 0 for dim in call.in_dims], level)
            results = call.function.jvp(inner, *elements)
            inner._saved_for_forward, inner._to_save, inner._in_jvp = None, (), False
            listed = results if isinstance(results, tuple) else (results,)
            whole = tuple(
                [
                    whole_batch(one, level) if dim == 0 and isinstance(one, Tensor) else one
                    for one, dim in zip(listed, ctx.batched, strict=True)
                ]
            )
        return whole if isinstance(results, tuple) else whole[0]


def _save(save: Any, tensors: Sequence[Tensor | None], level: VmapLevel) -> list[bool]:
    """Save Tensors of the inner Function for the outer one; which of them are batched."""
    if tensors:
        save(*[None if tensor is None else value_of(tensor, level) for tensor in tensors])
    return [tensor is not None and is_batched(tensor, level) for tensor in tensors]


def _redressed(values: Sequence[Any], batched: Sequence[bool], level: VmapLevel) -> tuple[Any, ...]:
    return tuple(
        [
            batch(value, level) if flag and isinstance(value, Tensor) else value
            for value, flag in zip(values, batched, strict=True)
        ]
    )
