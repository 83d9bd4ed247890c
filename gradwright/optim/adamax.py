"""Adamax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.optimizer import Group, Parameters, check_betas, check_lr, check_range
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class Adamax(ElementwiseOptimizer):
    """Adam by the infinity norm: the mean of gradients, divided by their largest (Kingma and Ba 2015).

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the learning rate.
        betas: which parts of the mean and of the largest are kept.
        eps: added to magnitudes.
        weight_decay: times the parameter is added to the gradient.
        foreach: accepted: the result is the same.
        maximize: go upwards.
        differentiable: steps are recorded, so that gradients go through them.
        capturable: accepted; a step refuses True, which is for graphs of a device.

    Raises:
        ValueError: an option is out of its range.
    """

    _rule = staticmethod(update_rules.adamax)

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _slots(self, group: Group) -> Sequence[str | None]:
        return "exp_avg", "exp_inf"

    def _options(self, group: Group) -> dict[str, Any]:
        return self._adaptive(group)

    def _advance(self, options: dict[str, Any], state: dict[str, Any], group: Group, step: float) -> None:
        options["step"] = step
