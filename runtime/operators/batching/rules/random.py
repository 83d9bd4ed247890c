"""Random operators under vmap: one draw for all elements of the batch, or one for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.modes import Variant
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import is_batched, whole_batch, with_rank
from runtime.operators.batching.levels import VmapLevel

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

Proceed = Callable[[list[Any]], Any]


Draw = Callable[["VmapLevel", "Operator", list[Any], Proceed], Tensor]


# -- the rules; by these parameters they are known, to the generator, too (`codegen.rules.batching.rule_names`)


def random(level: VmapLevel, operator: Operator, values: list[Any], variant: Variant, proceed: Proceed) -> Any:
    """Draw as the level's `randomness` says.

    Raises:
        RuntimeError: it says "error"; or one draw for all can not be had, because what is drawn from differs.
    """
    return _draw(level, operator, values, variant, proceed, _same, _different)


def random_like(level: VmapLevel, operator: Operator, values: list[Any], variant: Variant, proceed: Proceed) -> Any:
    """As `random`, of operators that take nothing of their Tensor but the shape and the dtype."""
    return _draw(level, operator, values, variant, proceed, _like_one, _different)


def random_rows(level: VmapLevel, operator: Operator, values: list[Any], variant: Variant, proceed: Proceed) -> Any:
    """As `random`, of operators that draw from a vector, or from each row of a matrix."""
    return _draw(level, operator, values, variant, proceed, _same, _different_rows)


def _draw(
    level: VmapLevel, operator: Operator, values: list[Any], variant: Variant, proceed: Proceed,
    one_for_all: Callable[[VmapLevel, list[Any]], list[Any]], one_for_each: Draw,
) -> Any:  # fmt: skip
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )
    if variant == "inplace":
        return _in_place(level, operator, values, proceed)
    if operator.signature.name.endswith("_"):  # declared on its own, and made of the functional one
        return proceed(values)
    if level.randomness == "same":
        return proceed(one_for_all(level, values))
    return batch(one_for_each(level, operator, values, proceed), level)


def _in_place(level: VmapLevel, operator: Operator, values: list[Any], proceed: Proceed) -> Any:
    target = values[0]
    if not is_batched(target, level):
        if level.randomness == "different":
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness."
            )
        return proceed(values)
    if level.randomness == "different":
        proceed([target.value, *values[1:]])
        return target
    # A call would come here again, so the draw is made on one element, written to by itself.
    one = ops.clone(ops.select(target.value.detach(), 0, 0))
    return ops.copy_(target, proceed([one, *values[1:]]))


def _same(level: VmapLevel, values: list[Any]) -> list[Any]:
    """The arguments of the one draw for all, which have to be the same for all."""
    if any(is_batched(value, level) for value in values):
        raise RuntimeError("Vmap does not currently support same randomness with a batched tensor input.")
    return values


def _like_one(level: VmapLevel, values: list[Any]) -> list[Any]:
    """The arguments of the one draw for all, like one of the elements."""
    if not any(is_batched(value, level) for value in values):
        return values
    first = ops.select(values[0].value, 0, 0) if level.size else ops.new_empty(values[0].value, values[0]._array.shape)
    return [first, *values[1:]]


def _different(level: VmapLevel, operator: Operator, values: list[Any], proceed: Proceed) -> Tensor:
    """A draw for each element, as a batch."""
    assert operator.batching is not None
    names = [parameter.name for parameter in operator.signature.parameters]
    changed = list(values)
    if "size" in names:
        place = names.index("size")
        changed[place] = (level.size, *values[place])
        return _tensor(proceed(changed))
    positions = operator.batching[1]
    if not positions:  # a permutation
        return ops.stack([proceed(values) for _ in range(level.size)])
    rank = max(values[position].dim() for position in positions)
    for position in positions:
        changed[position] = with_rank(whole_batch(values[position], level), rank)
    return _tensor(proceed(changed))


def _different_rows(level: VmapLevel, operator: Operator, values: list[Any], proceed: Proceed) -> Tensor:
    if values[0].dim() != 2:
        return _different(level, operator, values, proceed)
    rows = ops.unbind(whole_batch(values[0], level), 0)
    return ops.stack([proceed([row, *values[1:]]) for row in rows])


def _tensor(out: Any) -> Tensor:
    assert isinstance(out, Tensor)
    return out
