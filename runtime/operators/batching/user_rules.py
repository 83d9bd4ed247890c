"""Rules for batches that users write: a `vmap` method of a custom Function, or a rule for a registered operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from runtime import ops
from runtime.base.pytree import flatten, spread, tree_map
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import is_batched, value_of
from runtime.operators.batching.levels import VmapLevel


class VmapInfo(NamedTuple):
    """What a `vmap` method gets to know of the vmap."""

    batch_size: int
    randomness: str


def by_rule(rule: Callable[..., Any], level: VmapLevel, args: Sequence[Any]) -> Any:
    """What a user's rule makes of arguments that are batched at `level`.

    Args:
        rule: takes a VmapInfo, the batch dimensions of the arguments, and the arguments; gives outputs and theirs.
        level: the vmap.
        args: the arguments as the function under vmap gave them.
    """
    out, out_dims = rule(
        VmapInfo(level.size, level.randomness), batch_dims(tuple(args), level), *batch_values(tuple(args), level)
    )
    return dressed(out, out_dims, level)


def batch_values(tree: Any, level: VmapLevel) -> Any:
    """A tree with the batches behind its Tensors."""
    return tree_map(lambda leaf: value_of(leaf, level) if isinstance(leaf, Tensor) else leaf, tree)


def batch_dims(tree: Any, level: VmapLevel) -> Any:
    """Where in each leaf of a tree the batch is."""
    return tree_map(lambda leaf: 0 if is_batched(leaf, level) else None, tree)


def dressed(out: Any, dims: Any, level: VmapLevel) -> Any:
    """The outputs for a batch, as the caller under vmap gets them.

    Raises:
        RuntimeError: the dimensions do not have the structure of the outputs.
    """
    leaves, tree = flatten(out)
    spread_dims = spread(dims, tree, lambda value: value is None or isinstance(value, int))
    if spread_dims is None:
        raise RuntimeError(
            f"The vmap rule returned an incompatible (output, out_dims) tuple. Expected out_dims={dims} to be "
            f"compatible with the structure of `output`, which is {tree}."
        )
    return tree.join([_batched(leaf, dim, level) for leaf, dim in zip(leaves, spread_dims, strict=True)])


def _batched(out: Any, dim: int | None, level: VmapLevel) -> Any:
    if dim is None or not isinstance(out, Tensor):
        return out
    return batch(ops.movedim(out, dim, 0) if dim else out, level)
