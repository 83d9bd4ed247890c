"""RMSprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.optimizer import Group, Parameters, check_lr, check_range
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class RMSprop(ElementwiseOptimizer):
    """RMSprop: the gradient, divided by the root of the running mean of its squares (Tieleman and Hinton 2012).

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the learning rate.
        alpha: which part of the mean is kept.
        eps: added to the root.
        weight_decay: times the parameter is added to the gradient.
        momentum: which part of the sum of former changes is kept.
        centered: divide by the estimated deviation instead (Graves 2013).
        capturable: accepted; a step refuses True, which is for graphs of a device.
        foreach: accepted: the result is the same.
        maximize: go upwards.
        differentiable: steps are recorded, so that gradients go through them.

    Raises:
        ValueError: an option is out of its range.
    """

    _rule = staticmethod(update_rules.rmsprop)

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range("epsilon value", eps)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        check_range("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _slots(self, group: Group) -> Sequence[str | None]:
        return (
            "square_avg",
            "momentum_buffer" if group["momentum"] > 0 else None,
            "grad_avg" if group["centered"] else None,
        )

    def _options(self, group: Group) -> dict[str, Any]:
        return self._numbers(group, "alpha", "eps", "momentum")
