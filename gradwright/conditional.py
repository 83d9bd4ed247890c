"""`cond`: one of two functions, by a condition that may be a Tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import ops
from runtime.base.dtypes import bool as bool_
from runtime.base.pytree import flatten
from runtime.base.tensor import Tensor

__all__ = ["cond"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """What one of two functions makes of the operands.

    Only the function that is chosen runs, so nothing is asked of the other. Gradients flow through it as always. Under
    `vmap`, where each element of a batch may choose another one, both run, and each takes the values of its own.

    Args:
        pred: a bool, a number, or a Tensor with one element.
        true_fn: what is called with the operands where that is true.
        false_fn: what is called where it is not.
        operands: the arguments; where `pred` is a Tensor, Tensors or collections of them.

    Raises:
        RuntimeError: `pred` is none of these, or an operand is no Tensor where it is one; or both functions run and
            give results of different structures.
    """
    if not isinstance(pred, Tensor):
        if not isinstance(pred, (bool, int, float)):
            raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
        return true_fn(*operands) if pred else false_fn(*operands)
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(_is_operand(leaf) for leaf in flatten(operands)[0]):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )
    if pred._batched:
        return _each_its_own(pred, true_fn(*operands), false_fn(*operands))
    return true_fn(*operands) if pred.item() else false_fn(*operands)


def _each_its_own(pred: Tensor, true: Any, false: Any) -> Any:
    """For each element of a batch one of two results."""
    (left, tree), (right, other) = flatten(true), flatten(false)
    if tree != other or not all(isinstance(leaf, Tensor) for leaf in (*left, *right)):
        raise RuntimeError(f"Expect the branches to give Tensors in the same structure, but got {tree} and {other}.")
    chosen = pred.reshape([]).to(bool_)
    return tree.join([ops.where(chosen, one, two) for one, two in zip(left, right, strict=True)])


def _is_operand(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) or type(leaf) is int
