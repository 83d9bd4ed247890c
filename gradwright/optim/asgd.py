"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.optimizer import Group, Parameters, check_lr, check_range, number_kept
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class ASGD(ElementwiseOptimizer):
    """Stochastic gradient descent with parameters that are averaged (Polyak and Juditsky 1992).

    The average of each parameter is in its state, under `ax`.

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the first learning rate.
        lambd: how fast the learning rate falls; times the rate parameters are reduced by it.
        alpha: the power of that fall.
        t0: the number of steps before averages begin.
        weight_decay: times the parameter is added to the gradient.
        foreach: accepted: the result is the same.
        maximize: go upwards.
        differentiable: steps are recorded, so that gradients go through them.
        capturable: accepted; a step refuses True, which is for graphs of a device.

    Raises:
        ValueError: an option is out of its range.
    """

    _rule = staticmethod(update_rules.asgd)

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _slots(self, group: Group) -> Sequence[str | None]:
        return ("ax",)

    def _options(self, group: Group) -> dict[str, Any]:
        return {**self._numbers(group), "shrink": self._number(group["lambd"])}

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        state["eta"] = number_kept(float(group["lr"]))
        state["mu"] = number_kept(1.0)

    def _advance(self, options: dict[str, Any], state: dict[str, Any], group: Group, step: float) -> None:
        options["lr"], options["share"] = state["eta"].item(), state["mu"].item()
        lr, lambd = float(group["lr"]), float(group["lambd"])
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1.0, step - group["t0"]))
