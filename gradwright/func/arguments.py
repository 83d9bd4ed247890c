"""What transforms share: the arguments they differentiate, and the outputs of the functions they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from runtime.base.pytree import flatten
from runtime.base.tensor import Tensor

ArgNums: TypeAlias = "int | tuple[int, ...]"


def chosen_positions(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions that `argnums` names among `count` positional arguments, counted from the front.

    Raises:
        RuntimeError: it is no int or tuple of them, or names an argument twice, none, or one that there is not.
    """
    if isinstance(argnums, int):
        return (_position(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    positions = tuple([_position(argnum, count) for argnum in argnums])
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {positions}")
    return positions


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def with_chosen(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], positions: Sequence[int]
) -> Callable[..., Any]:
    """`func` as a function of the arguments at `positions` only."""

    def of_chosen(*chosen: Any) -> Any:
        replaced = list(args)
        for position, value in zip(positions, chosen, strict=True):
            replaced[position] = value
        return func(*replaced, **kwargs)

    return of_chosen


def split_aux(out: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """The output that is differentiated, and what the function returned beside it."""
    if not has_aux:
        return out, None
    if not isinstance(out, tuple) or len(out) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for leaf in flatten(out[1])[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return out


def check_tensors(leaves: Sequence[Any], name: str) -> None:
    """Refuse outputs that are no Tensors."""
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )


def check_real(values: Any, name: str, what: str) -> None:
    """Refuse complex Tensors, for which a Jacobian would need a convention."""
    for place, leaf in enumerate(flatten(values)[0]):
        if isinstance(leaf, Tensor) and leaf.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what}s to be real but received complex tensor at flattened {what} idx: {place}"
            )
