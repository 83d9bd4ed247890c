"""Rprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.optimizer import Group, Parameters, check_lr
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class Rprop(ElementwiseOptimizer):
    """Resilient backpropagation: steps of sizes that follow the signs of gradients (Riedmiller and Braun 1993).

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the first size of steps.
        etas: times the sizes where the sign of the gradient changes, and where it does not.
        step_sizes: the smallest size and the largest.
        capturable: accepted; a step refuses True, which is for graphs of a device.
        foreach: accepted: the result is the same.
        maximize: go upwards.
        differentiable: steps are recorded, so that gradients go through them.

    Raises:
        ValueError: an option is out of its range.
    """

    _rule = staticmethod(update_rules.rprop)

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _slots(self, group: Group) -> Sequence[str | None]:
        return "prev", "step_size"

    def _options(self, group: Group) -> dict[str, Any]:
        shrink, grow = (float(eta) for eta in group["etas"])
        smallest, largest = (float(size) for size in group["step_sizes"])
        return {**self._numbers(group), "shrink": shrink, "grow": grow, "smallest": smallest, "largest": largest}

    def _start_of(self, slot: str, param: Tensor, group: Group) -> Tensor:
        if slot == "prev":
            return super()._start_of(slot, param, group)
        lr = float(group["lr"])
        return ops.full_like(param.detach(), complex(lr, lr) if param.is_complex() else lr)
