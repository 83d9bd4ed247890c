"""RAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.optimizer import Group, Parameters, check_betas, check_lr, check_range
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class RAdam(ElementwiseOptimizer):
    """Adam whose variance is rectified: the first steps, which know too little of it, do without (Liu et al. 2020).

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the learning rate.
        betas: which parts of the two running means are kept.
        eps: added to the divisor.
        weight_decay: times the parameter is added to the gradient.
        decoupled_weight_decay: reduce the parameter by `weight_decay` directly, as AdamW does.
        foreach: accepted: the result is the same.
        maximize: go upwards.
        capturable: accepted; a step refuses True, which is for graphs of a device.
        differentiable: steps are recorded, so that gradients go through them.

    Raises:
        ValueError: an option is out of its range.
    """

    _rule = staticmethod(update_rules.radam)

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _slots(self, group: Group) -> Sequence[str | None]:
        return "exp_avg", "exp_avg_sq"

    def _options(self, group: Group) -> dict[str, Any]:
        return {**self._adaptive(group), "decoupled": bool(group["decoupled_weight_decay"])}

    def _advance(self, options: dict[str, Any], state: dict[str, Any], group: Group, step: float) -> None:
        options["step"] = step
