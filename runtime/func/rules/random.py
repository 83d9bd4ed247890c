"""Random operators under vmap: one draw for all elements of the batch, or one for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.modes import Variant
from runtime.base.tensor import Tensor
from runtime.func.batched import batch
from runtime.func.calls import is_batched, whole_batch, with_rank
from runtime.func.levels import VmapLevel

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

# These take nothing of their Tensor but the shape and the dtype.
_SHAPE_ONLY = frozenset((
    "rand_like", "rand_like.generator", "randn_like", "randn_like.generator", "randint_like", "randint_like.generator",
    "randint_like.low_dtype", "randint_like.low_generator_dtype", "bernoulli.p", "uniform", "exponential",
    "normal_functional",
))  # fmt: skip

Proceed = Callable[[list[Any]], Any]


def random_call(level: VmapLevel, operator: Operator, variant: Variant, values: list[Any], proceed: Proceed) -> Any:
    """Draw as the level's `randomness` says.

    Raises:
        RuntimeError: it says "error"; or one draw for all can not be had, because what is drawn from differs.
    """
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )
    if variant == "inplace":
        return _in_place(level, operator, values, proceed)
    if operator.signature.name.endswith(
        "_"
    ):  # declared on its own, as in PyTorch's YAML, and made of the functional one
        return proceed(values)
    if operator.name == "native_dropout":
        return _dropout(level, operator, values, proceed)
    if level.randomness == "same":
        return proceed(_of_one(level, operator, values))
    return batch(_different(level, operator, values, proceed), level)


def _dropout(level: VmapLevel, operator: Operator, values: list[Any], proceed: Proceed) -> Any:
    """Dropout that also gives its mask: one mask for all, or one for each."""
    x, *options = values
    if level.randomness == "different":
        return operator.results([batch(out, level) for out in proceed([whole_batch(x, level), *options])])
    scaled, mask = proceed([ops.ones(x._array.shape, dtype=x.dtype), *options])
    return operator.results([x * scaled, mask])


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


def _of_one(level: VmapLevel, operator: Operator, values: list[Any]) -> list[Any]:
    """The arguments of the one draw for all."""
    assert operator.batching is not None
    if not any(is_batched(value, level) for value in values):
        return values
    if operator.name not in _SHAPE_ONLY:
        raise RuntimeError("Vmap does not currently support same randomness with a batched tensor input.")
    first = ops.select(values[0].value, 0, 0) if level.size else ops.new_empty(values[0].value, values[0]._array.shape)
    return [first, *values[1:]]


def _different(level: VmapLevel, operator: Operator, values: list[Any], proceed: Proceed) -> Tensor:
    """A draw for each element, as a batch."""
    assert operator.batching is not None
    names = [parameter.name for parameter in operator.signature.parameters]
    given = list(values)
    if "size" in names:
        place = names.index("size")
        given[place] = (level.size, *values[place])
        return _tensor(proceed(given))
    positions = operator.batching[1]
    if not positions:  # a permutation
        return ops.stack([proceed(values) for _ in range(level.size)])
    if operator.signature.name == "multinomial" and values[0].dim() == 2:
        rows = ops.unbind(whole_batch(values[0], level), 0)
        return ops.stack([proceed([row, *values[1:]]) for row in rows])
    rank = max(values[position].dim() for position in positions)
    for position in positions:
        given[position] = with_rank(whole_batch(values[position], level), rank)
    return _tensor(proceed(given))


def _tensor(out: Any) -> Tensor:
    assert isinstance(out, Tensor)
    return out
