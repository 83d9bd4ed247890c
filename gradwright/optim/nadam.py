"""NAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.optimizer import Group, Parameters, check_betas, check_lr, check_range, number_kept
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class NAdam(ElementwiseOptimizer):
    """Adam with Nesterov's momentum, which grows from step to step (Dozat 2016).

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the learning rate.
        betas: which parts of the two running means are kept.
        eps: added to the divisor.
        weight_decay: times the parameter is added to the gradient.
        momentum_decay: how fast the momentum grows.
        decoupled_weight_decay: reduce the parameter by `weight_decay` directly, as AdamW does.
        foreach: accepted: the result is the same.
        maximize: go upwards.
        capturable: accepted; a step refuses True, which is for graphs of a device.
        differentiable: steps are recorded, so that gradients go through them.

    Raises:
        ValueError: an option is out of its range.
    """

    _rule = staticmethod(update_rules.nadam)

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_range("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _slots(self, group: Group) -> Sequence[str | None]:
        return "exp_avg", "exp_avg_sq"

    def _options(self, group: Group) -> dict[str, Any]:
        return {**self._adaptive(group), "decoupled": bool(group["decoupled_weight_decay"])}

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        state["mu_product"] = number_kept(1.0)

    def _advance(self, options: dict[str, Any], state: dict[str, Any], group: Group, step: float) -> None:
        def momentum(step: float) -> float:
            return float(group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"])))

        now = momentum(step)
        state["mu_product"].mul_(now)
        options.update(step=step, momentum=now, following=momentum(step + 1), product=state["mu_product"].item())
