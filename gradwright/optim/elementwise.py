"""Optimizers whose step is a rule on elements: on arrays in memory, on devices, or recorded to be differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gradwright.optim import arrays, by_operators
from gradwright.optim.optimizer import Group, GroupOptimizer, number_kept
from runtime import ops
from runtime.base import class_dispatch
from runtime.base.array_proxies import on_device
from runtime.base.tensor import Tensor, wrap
from runtime.graph.views import bump_version, check_inplace
from runtime.operators.update_rules import Rule


class ElementwiseOptimizer(GroupOptimizer):
    """An optimizer with a rule of `runtime.operators.update_rules`.

    A subclass names the rule, what it keeps for each parameter, and the options that it takes.
    """

    _rule: ClassVar[Rule]
    # Whether the steps of each parameter are counted.
    _counts: ClassVar[bool] = True

    def _slots(self, group: Group) -> Sequence[str | None]:
        """The names of what the rule keeps of each parameter, in its order; None for what the options leave out."""
        raise NotImplementedError(f"{type(self).__name__} does not define _slots")

    def _options(self, group: Group) -> dict[str, Any]:
        """What the rule takes beside arrays, and what `rules.complete` takes: numbers that are the same for all."""
        raise NotImplementedError(f"{type(self).__name__} does not define _options")

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        """Put numbers of one's own into a new state."""

    def _advance(self, options: dict[str, Any], state: dict[str, Any], group: Group, step: float) -> None:
        """Set the options that change from step to step, of which this is number `step`, from 1."""

    def _start_of(self, slot: str, param: Tensor, group: Group) -> Tensor:
        """What is kept of a parameter before the first step."""
        return zeros_like(param)

    def _number(self, value: Any) -> Any:
        """An option as a number; in recorded steps a Tensor stays one."""
        return value if isinstance(value, Tensor) and self._is_recorded() else float(value)

    def _numbers(self, group: Group, *names: str) -> dict[str, Any]:
        """Options under their own names, with `lr` and `maximize`, and `weight_decay` where there is one."""
        shared = ("lr", "weight_decay") if "weight_decay" in group else ("lr",)
        numbers = {name: self._number(group[name]) for name in (*shared, *names)}
        return {**numbers, "maximize": bool(group["maximize"])}

    def _adaptive(self, group: Group) -> dict[str, Any]:
        """As `_numbers`, of the optimizers that are kinds of Adam."""
        beta1, beta2 = group["betas"]
        return {**self._numbers(group, "eps"), "beta1": self._number(beta1), "beta2": self._number(beta2)}

    def _update_group(self, group: Group) -> None:
        options = self._options(group)
        slots = self._slots(group)
        rule, is_recorded = self._rule, self._is_recorded()
        kept_at_all = self._counts or any(slot is not None for slot in slots)
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if grad._opaque and grad.is_sparse:
                self._check_sparse(group)
            state = self.state[param] if kept_at_all else {}
            if not state:
                self._enter(state, param, group)
            step = 0.0
            if self._counts:
                count = state["step"]._array
                count += 1
                step = float(count)
            self._advance(options, state, group, step)
            if grad._opaque and grad.is_sparse:
                self._sparse_step(options, -grad if options["maximize"] else grad, param, state)
                continue
            kept = [None if slot is None else state.get(slot) for slot in slots]
            for number, slot in enumerate(slots):
                if slot is not None and kept[number] is None:
                    kept[number] = state[slot] = self._start_of(slot, param, group)
            if is_recorded:
                self._record(options, grad, param, state, slots, kept)
                continue
            check_inplace(param, False)
            if on_device(param) or class_dispatch.overriding_types((param, grad)):
                by_operators.step(rule, options, grad, param, *kept)
                continue
            written = [None if tensor is None else tensor._array for tensor in kept]
            arrays.step(rule, options, grad._array, param._array, *written)
            bump_version(param)

    def _check_sparse(self, group: Group) -> None:
        """Refuse sparse gradients, unless there is a `_sparse_step`.

        Raises:
            RuntimeError: the optimizer, or one of its options, is for dense gradients.
        """
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _sparse_step(self, options: dict[str, Any], grad: Tensor, param: Tensor, state: dict[str, Any]) -> None:
        """Go down along a sparse gradient."""
        raise NotImplementedError(f"{type(self).__name__} does not define _sparse_step")

    def _enter(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        """Fill a new state, with its parts in the order in which state dicts show them."""
        if self._counts:
            state["step"] = number_kept(0.0)
        self._begin(state, param, group)

    def _record(
        self,
        options: dict[str, Any],
        grad: Tensor,
        param: Tensor,
        state: dict[str, Any],
        slots: Sequence[str | None],
        kept: Sequence[Tensor | None],
    ) -> None:
        """A step that is part of the graph: what is kept becomes new Tensors, so that nothing that is saved changes."""
        after, *values = by_operators.values_of(self._rule, options, grad, param.clone(), *kept)
        state.update((slot, value) for slot, value in zip(slots, values, strict=True) if slot is not None)
        param.copy_(after)


def zeros_like(param: Tensor) -> Tensor:
    """Zeros that lie in memory as a parameter does."""
    return ops.zeros_like(param.detach()) if on_device(param) else wrap(np.zeros_like(param._array))
