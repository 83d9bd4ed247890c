"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.optimizer import Group, Parameters, check_lr, check_range
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class Adadelta(ElementwiseOptimizer):
    """Adadelta: the gradient, by the ratio of the roots of mean squares of changes and of gradients (Zeiler 2012).

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: times a change is subtracted.
        rho: which part of the running means is kept.
        eps: added to the means.
        weight_decay: times the parameter is added to the gradient.
        foreach: accepted: the result is the same.
        capturable: accepted; a step refuses True, which is for graphs of a device.
        maximize: go upwards.
        differentiable: steps are recorded, so that gradients go through them.

    Raises:
        ValueError: an option is out of its range.
    """

    _rule = staticmethod(update_rules.adadelta)

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_range("epsilon value", eps)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _slots(self, group: Group) -> Sequence[str | None]:
        return "square_avg", "acc_delta"

    def _options(self, group: Group) -> dict[str, Any]:
        return self._numbers(group, "rho", "eps")
