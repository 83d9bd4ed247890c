"""Transforms by backward: grad, vjp and the Jacobian by rows.

The function is called at new Tensors of the same values, and its graph is the one that everybody's operators record.
What a transform returns is cut off from it, unless the outside has a part in it: an input or a captured Tensor that
requires a gradient there. Then the backward is recorded too, and the results can be differentiated again.

Inputs and outputs that are batched by an open vmap are differentiated as whole batches. That gives each element its own
gradient, because its input has a part in its own output only; an input that is the same for all elements is repeated
for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Self

import numpy as np

from gradwright.func.arguments import ArgNums, check_real, check_tensors, chosen_positions, split_aux, with_chosen
from gradwright.func.captured import unchanged
from gradwright.func.grad_level import GradLevel, without_history
from runtime import ops
from runtime.base.array_proxies import on_device
from runtime.base.modes import grad_mode
from runtime.base.pytree import Tree, flatten, tree_map
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor, wrap
from runtime.graph import engine, forward
from runtime.operators.batching.batched import batch, dress, peel
from runtime.operators.batching.calls import whole_batch
from runtime.operators.batching.levels import open_vmaps
from runtime.operators.batching.vmap_calls import vmap_level


class _Recording:
    """A function under differentiation: its inputs and what may leave it; the block in which the function runs."""

    def __init__(self) -> None:
        self.level = GradLevel()
        self.vmaps = open_vmaps()
        self.inputs: list[Tensor] = []  # whole batches

    def __enter__(self) -> Self:
        grad_mode.enabled = True
        return self

    def __exit__(self, *error: object) -> None:
        grad_mode.enabled = self.level.outer
        self.level.open = False

    def input(self, tensor: Any) -> Tensor:
        """A new Tensor of the same values, to differentiate with respect to."""
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        if tensor._array.dtype.kind not in "fcV":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        new = ops.alias(self.peeled(tensor))
        if new._edge is None:
            new._edge = LEAF
            new.extra.level = self.level
        self.inputs.append(new)
        return self.dressed(new)

    def peeled(self, tensor: Tensor) -> Tensor:
        """The whole batch of all open vmaps, each of which has a dimension in front."""
        for level in reversed(self.vmaps):
            tensor = peel(tensor, level)
        return tensor

    def dressed(self, tensor: Tensor) -> Tensor:
        """The element of a whole batch."""
        for level in self.vmaps:
            tensor = dress(tensor, level)
        return tensor

    def connects(self, roots: Sequence[Tensor]) -> bool:
        """Whether a backward from `roots` has to be recorded."""
        # A tangent may have a history that no graph of the primal values shows.
        return self.level.outer and (forward.active() or self.level.depends_outside(roots))

    def released(self, value: Any) -> Any:
        """A result as it leaves: without history, unless something outside has a part in it."""
        if not isinstance(value, Tensor):
            return value
        if value._edge is None:
            return without_history(value, self.cut) if forward.active() else value
        return value if self.cut(value) is value else without_history(value, self.cut)

    def cut(self, tensor: Tensor) -> Tensor:
        """A Tensor, without its history unless something outside has a part in it."""
        kept = tensor._edge is None or (self.level.outer and self.level.depends_outside([tensor]))
        return tensor if kept else tensor.detach()

    def gradients(
        self, roots: Sequence[Tensor], grads: Sequence[Tensor], keep_graph: bool, create_graph: bool
    ) -> list[Tensor]:
        """The gradients of the inputs, from those of whole batches; zeros for an input that has no part in them."""
        pairs = [(root, grad) for root, grad in zip(roots, grads, strict=True) if root._edge is not None]
        gradients: list[Tensor | None] = [None] * len(self.inputs)
        if pairs and self.inputs:
            starts, ends = zip(*pairs, strict=True)
            gradients = engine.run(
                starts, ends, self.inputs, keep_graph, create_graph, accumulate=False, allow_unused=True
            )
        results = []
        for grad, input in zip(gradients, self.inputs, strict=True):
            zeros = wrap(np.zeros(input._array.shape, input._array.dtype)) if grad is None else grad
            results.append(self.dressed(zeros))
        return [self.released(grad) for grad in results] if create_graph else results


# -- gradients of functions with one number as their result


def grad_and_value(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns the gradient of `func` and its value.

    Args:
        func: returns a Tensor with one element and no dimensions; with `has_aux` a tuple of that and anything else.
        argnums: the positional arguments to differentiate with respect to, which may be nested collections of Tensors.
        has_aux: whether `func` returns something beside its value, which is then returned in a tuple with the value.

    Returns:
        The function; its gradients are nested as the arguments are, in a tuple if `argnums` is one.

    Raises:
        RuntimeError: `func` does not return such a Tensor, or there is no such argument.
        ValueError: an argument to differentiate with respect to is no Tensor.
    """

    @wraps(func)
    def of_arguments(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        positions = chosen_positions(argnums, len(args))
        with _Recording() as recording:
            leaves, tree = flatten(tuple([args[position] for position in positions]))
            chosen = tree.join([recording.input(leaf) for leaf in leaves])
            with unchanged(func):
                out = with_chosen(func, args, kwargs, positions)(*chosen)
            value, aux = split_aux(out, has_aux, "grad_and_value(f)(*args)")
            _check_scalar(value)
            root = recording.peeled(value)
            create_graph = recording.connects([root])
            start = (
                ops.ones_like(root.detach()) if on_device(root) else wrap(np.ones(root._array.shape, root._array.dtype))
            )
            grads = tree.join(recording.gradients([root], [start], create_graph, create_graph))
            value = recording.released(value)
            aux = tree_map(recording.released, aux) if has_aux else None
        grads = grads[0] if isinstance(argnums, int) else grads
        return (grads, (value, aux)) if has_aux else (grads, value)

    return of_arguments


def _ones_as(tensor: Tensor) -> Tensor:
    return wrap(np.ones(tensor._array.shape, tensor._array.dtype))


def _check_scalar(value: Any) -> None:
    name = "grad_and_value(f)(*args)"
    if not isinstance(value, Tensor):
        raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(value)}")
    if value.dim():
        raise RuntimeError(
            f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {value.dim()} dims. Maybe you "
            "wanted to use the vjp or jacrev APIs instead?"
        )
    if value.is_complex():
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {value.dtype}")


def grad(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `func`; with `has_aux` a tuple of it and what `func` returns beside.

    See `grad_and_value` for arguments and errors.
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def of_arguments(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return of_arguments


# -- products of a vector with the Jacobian


class _Pullback:
    """From gradients of the outputs to those of the inputs, as often as one likes."""

    def __init__(self, recording: _Recording, inputs: Tree, outputs: Sequence[Tensor], tree: Tree) -> None:
        self.recording = recording
        self.inputs = inputs
        self.tree = tree
        self.shapes = [tensor._array.shape for tensor in outputs]
        self.roots = [recording.peeled(tensor) for tensor in outputs]
        self.connects = recording.connects(self.roots)

    def __call__(self, cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        leaves, tree = flatten(cotangents)
        if tree != self.tree:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {tree}, primal output: {self.tree}"
            )
        for place, (leaf, shape) in enumerate(zip(leaves, self.shapes, strict=True)):
            if leaf._array.shape != shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{place}] has a shape of {leaf.shape} and output[{place}] has a "
                    f"shape of {list(shape)}."
                )
        return self.inputs.join(self.pull(leaves, retain_graph, create_graph))

    def pull(
        self, cotangents: Sequence[Tensor], keep_graph: bool = True, create_graph: bool | None = None
    ) -> list[Tensor]:
        """The gradients of all inputs."""
        if create_graph is None:
            outside = self.connects or forward.active() or any(tensor._edge is not None for tensor in cotangents)
            create_graph = grad_mode.enabled and outside
        grads = [self.recording.peeled(tensor) for tensor in cotangents]
        return self.recording.gradients(self.roots, grads, keep_graph, create_graph)


def _record(
    func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool, name: str
) -> tuple[list[Tensor], Tree, _Pullback, Any]:
    """Call a function at `primals`: its outputs as they leave, their structure, the vjp, and the auxiliary output."""
    with _Recording() as recording:
        leaves, inputs = flatten(primals)
        with unchanged(func):
            result = func(*inputs.join([recording.input(leaf) for leaf in leaves]))
        out, aux = split_aux(result, has_aux, name)
        outputs, tree = flatten(out)
        if not outputs:
            raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {out})")
        check_tensors(outputs, name)
        pullback = _Pullback(recording, inputs, outputs, tree)
        released = [recording.released(tensor) for tensor in outputs]
        return released, tree, pullback, tree_map(recording.released, aux) if has_aux else None


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The output of `func` at `primals`, and the function from gradients of the output to those of the inputs.

    Args:
        func: takes and returns Tensors, or nested collections of them.
        primals: the arguments to differentiate with respect to.
        has_aux: whether `func` returns a tuple of its output and anything else.

    Returns:
        The output, and a function that takes gradients nested as the output and returns a tuple of gradients, one for
        each of `primals` and nested like it. With `has_aux` also what came beside the output.

    Raises:
        RuntimeError: `func` returns something else than Tensors.
        ValueError: an argument is no Tensor.
    """
    outputs, tree, pullback, aux = _record(func, primals, has_aux, "vjp(f, *primals)")

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        return pullback(cotangents, retain_graph, create_graph)

    out = tree.join(outputs)
    return (out, vjp_fn, aux) if has_aux else (out, vjp_fn)


# -- Jacobians


def jacrev(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, by one backward for all rows at once.

    Args:
        func: takes and returns Tensors, or nested collections of them.
        argnums: the positional arguments to differentiate with respect to.
        has_aux: whether `func` returns a tuple of its output and anything else, which is then returned beside.
        chunk_size: do no more rows than this at a time.

    Returns:
        The function. For each output it gives, nested as the arguments are, a Tensor of the shape of the output
        followed by that of the argument.

    Raises:
        ValueError: `chunk_size` is not positive.
        RuntimeError: an output is no real floating-point Tensor, or there is no such argument.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def of_arguments(*args: Any, **kwargs: Any) -> Any:
        positions = chosen_positions(argnums, len(args))
        chosen = tuple([args[position] for position in positions])
        check_real(chosen, "jacrev", "input")
        name = "vjp(f, *primals)"
        outputs, tree, pullback, aux = _record(with_chosen(func, args, kwargs, positions), chosen, has_aux, name)
        check_real(outputs, "jacrev", "output")
        _check_floating(outputs)
        rows = _rows(pullback, outputs, chunk_size)
        result = tree.join([_nested(blocks, pullback.inputs, argnums) for blocks in _by_output(rows, outputs)])
        return (result, aux) if has_aux else result

    return of_arguments


def _check_floating(outputs: Sequence[Tensor]) -> None:
    for tensor in outputs:
        if not tensor.is_floating_point():
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{tensor.dtype}"
            )


def _rows(pullback: _Pullback, outputs: Sequence[Tensor], chunk_size: int | None) -> list[Tensor]:
    """For each input the gradients of all elements of all outputs: the rows of the Jacobian."""
    count = sum(tensor.numel() for tensor in outputs)
    step = count if chunk_size is None else chunk_size
    parts = []
    for start in range(0, max(count, 1), max(step, 1)):
        stop = min(start + step, count)
        with vmap_level(stop - start, "error") as level:
            starts = [batch(tensor, level) for tensor in one_hot(outputs, start, stop)]
            gradients = pullback.pull(starts)
            parts.append([whole_batch(tensor, level) for tensor in gradients])
    return parts[0] if len(parts) == 1 else [ops.cat(list(column), 0) for column in zip(*parts, strict=True)]


def one_hot(tensors: Sequence[Tensor], start: int, stop: int) -> list[Tensor]:
    """A batch of Tensors in the shapes of the given ones, in which one element of all is 1 and the others are 0.

    Args:
        tensors: what to take shapes and dtypes of.
        start: the first element, counted over all Tensors, that has its turn.
        stop: the one after the last.
    """
    starts, offset = [], 0
    for tensor in tensors:
        array = tensor._array
        basis = np.eye(stop - start, array.size, start - offset, dtype=array.dtype)
        starts.append(wrap(basis.reshape((stop - start, *array.shape))))
        offset += array.size
    return starts


def _by_output(rows: Sequence[Tensor], outputs: Sequence[Tensor]) -> list[list[Tensor]]:
    """For each output the blocks of the Jacobian, one for each input."""
    blocks: list[list[Tensor]] = []
    start = 0
    for out in outputs:
        size, shape = out.numel(), out._array.shape
        parts = [row if len(outputs) == 1 else ops.narrow(row, 0, start, size) for row in rows]
        blocks.append([ops.reshape(part, shape + part._array.shape[1:]) for part in parts])
        start += size
    return blocks


def _nested(blocks: Sequence[Tensor], inputs: Tree, argnums: ArgNums) -> Any:
    joined = inputs.join(blocks)
    return joined[0] if isinstance(argnums, int) else joined
