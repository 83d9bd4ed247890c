"""Calls under vmap: how an open level performs operators for a whole batch.

A level of vmap stands around the operator calls of its thread. It is not an unusual mode: calls on plain Tensors have
nothing to do with it and stay on their fast path, and BatchedTensor is not plain, so its calls come here anyway; so do
those of random operators, which have no fast path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.base.modes import Variant
from runtime.operators.batching.batched import BatchedTensor
from runtime.operators.batching.levels import VmapLevel
from runtime.operators.batching.rules import RANDOM_RULES, perform

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


class _PerformingLevel(VmapLevel):
    """A level that performs calls by the batching rules."""

    __slots__ = ()

    def __call__(
        self, operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        """Perform an operator call that has a batch of this level among its arguments; let others pass."""
        for value in values:
            kind = type(value)
            if kind is BatchedTensor:
                if value.level is self:
                    return perform(self, operator, variant, values, proceed)
            elif kind is list and self._holds(value):
                return perform(self, operator, variant, values, proceed)
        batching = operator.batching
        if batching is not None and batching[0] in RANDOM_RULES:
            return perform(self, operator, variant, values, proceed)
        return proceed(values)

    def _holds(self, values: Sequence[Any]) -> bool:
        return any(type(value) is BatchedTensor and value.level is self for value in values)


def vmap_level(size: int, randomness: str, of_tangents: bool = False) -> VmapLevel:
    """A level of vmap, open for the length of a `with` block; Tensors batched at it are void after that."""
    return _PerformingLevel(size, randomness, of_tangents)
