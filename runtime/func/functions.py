"""Custom Functions under vmap: by their own `vmap` method, or by a rule made of their own methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from runtime import ops
from runtime.autograd.function import Function, FunctionNode, backward_of
from runtime.func.batched import BatchedTensor, batch
from runtime.func.calls import is_batched, value_of, whole_batch
from runtime.func.levels import VmapLevel, vmap_level
from runtime.tensor import Tensor


class VmapInfo(NamedTuple):
    """What a `vmap` method is told about the vmap."""

    batch_size: int
    randomness: str


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
    level = max((value.level for value in args if isinstance(value, BatchedTensor)), key=lambda level: level.number)
    values = [value_of(value, level) if isinstance(value, Tensor) else value for value in args]
    in_dims = tuple([0 if is_batched(value, level) else None for value in args])
    if function.generate_vmap_rule:
        batched: list[bool] = []
        call = _Call(function, level.size, level.randomness, in_dims, batched)
        out = _Generated.apply(call, *values)
        return _all_dressed(out, tuple([0 if flag else None for flag in batched]), level)
    if own:
        return by_rule(function.vmap, level, args)
    raise RuntimeError(
        f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
        "staticmethod or set generate_vmap_rule=True."
    )


def by_rule(rule: Callable[..., Any], level: VmapLevel, args: Sequence[Any]) -> Any:
    """What a user's rule makes of arguments that are batched at `level`.

    Args:
        rule: takes a VmapInfo, the batch dimensions of the arguments, and the arguments; gives outputs and theirs.
        level: the vmap.
        args: the arguments as the function under vmap gave them.
    """
    values = [value_of(value, level) if isinstance(value, Tensor) else value for value in args]
    in_dims = tuple([0 if is_batched(value, level) else None for value in args])
    out, dims = rule(VmapInfo(level.size, level.randomness), in_dims, *values)
    return _all_dressed(out, dims, level)


def _all_dressed(out: Any, dims: Any, level: VmapLevel) -> Any:
    if not isinstance(out, tuple):
        return _dressed(out, dims[0] if isinstance(dims, tuple) else dims, level)
    all_dims = dims if isinstance(dims, tuple) else (dims,) * len(out)
    return tuple([_dressed(one, dim, level) for one, dim in zip(out, all_dims, strict=True)])


def _dressed(out: Any, dim: int | None, level: VmapLevel) -> Any:
    if dim is None or not isinstance(out, Tensor):
        return out
    return batch(ops.movedim(out, dim, 0) if dim else out, level)


class _Call(NamedTuple):
    """A call of a Function for a batch; `batched` receives which outputs are."""

    function: type[Function]
    size: int
    randomness: str
    in_dims: tuple[int | None, ...]
    batched: list[bool]


class _Generated(Function):
    """A Function for batches: runs the methods of another one under a vmap of their own."""

    generate_vmap_rule = True  # of a batch of batches the same can be said

    @staticmethod
    def forward(ctx: Any, call: _Call, *values: Any) -> Any:
        """The outputs of the other Function for the whole batch."""
        ctx.call = call
        with vmap_level(call.size, call.randomness) as level:
            elements = tuple(
                [batch(value, level) if dim == 0 else value for value, dim in zip(values, call.in_dims, strict=True)]
            )
            inner = call.function._backward_cls(elements)
            out = call.function.forward_with(inner, elements, {})
            if inner._dirty:
                raise RuntimeError("generate_vmap_rule=True cannot be used with mark_dirty: please override vmap")
            outputs = out if isinstance(out, tuple) else (out,)
            ctx.batched = tuple([is_batched(one, level) for one in outputs])
            call.batched[:] = ctx.batched
            plain = tuple([value_of(one, level) if isinstance(one, Tensor) else one for one in outputs])
            constant = {id(tensor) for tensor in inner._non_differentiable}
            ctx.mark_non_differentiable(
                *[mine for mine, theirs in zip(plain, outputs, strict=True) if id(theirs) in constant]
            )
            ctx.set_materialize_grads(inner.materialize_grads)
            ctx.saved_batched = _save(ctx.save_for_backward, inner._to_save, level)
            ctx.forward_batched = _save(ctx.save_for_forward, inner._saved_for_forward or (), level)
        inner._to_save = ()
        ctx.inner = inner
        return plain if isinstance(out, tuple) else plain[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients for the whole batch; those of an argument that all elements share are summed."""
        call: _Call = ctx.call
        inner: FunctionNode = ctx.inner
        inner.needs_input_grad = ctx.needs_input_grad[1:]
        with vmap_level(call.size, call.randomness) as level:
            inner._to_save = _redressed(ctx.saved_tensors, ctx.saved_batched, level)
            results = backward_of(call.function)(inner, *_redressed(grads, ctx.batched, level))
            inner._to_save = ()
            listed = results if isinstance(results, tuple) else (results,)
            found: list[Any] = [None]
            for result, dim in zip(listed, (*call.in_dims, *(None,) * len(listed)), strict=False):
                if not isinstance(result, Tensor):
                    found.append(result)
                elif dim == 0:
                    found.append(whole_batch(result, level))
                else:
                    found.append(ops.sum(whole_batch(result, level), [0]))
        return tuple(found)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
        """The tangents of the outputs for the whole batch."""
        call: _Call = ctx.call
        inner: FunctionNode = ctx.inner
        with vmap_level(call.size, call.randomness) as level:
            saved = _redressed(ctx.saved_tensors, ctx.forward_batched or ctx.saved_batched, level)
            if ctx.forward_batched:
                inner._saved_for_forward, inner._in_jvp = saved, True
            else:
                inner._to_save = saved
            given = _redressed(tangents, [dim == 0 for dim in call.in_dims], level)
            results = call.function.jvp(inner, *given)
            inner._saved_for_forward, inner._to_save, inner._in_jvp = None, (), False
            listed = results if isinstance(results, tuple) else (results,)
            whole = tuple(
                [
                    whole_batch(one, level) if flag and isinstance(one, Tensor) else one
                    for one, flag in zip(listed, ctx.batched, strict=True)
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
