"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.gradient_parts import add_parts
from gradwright.optim.optimizer import Group, Parameters, check_lr, check_range
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class SGD(ElementwiseOptimizer):
    """Stochastic gradient descent, with momentum if asked for.

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the learning rate.
        momentum: which part of the sum of former gradients is kept.
        dampening: which part of the gradient does not go into that sum.
        weight_decay: times the parameter is added to the gradient.
        nesterov: whether to look ahead by the momentum.
        maximize: go upwards.
        foreach: accepted, as is `fused`: the result is the same.
        differentiable: steps are recorded, so that gradients go through them.
        fused: see `foreach`.

    Raises:
        ValueError: an option is out of its range.
        RuntimeError: `fused` is true together with `foreach` or `differentiable`.
    """

    _rule = staticmethod(update_rules.sgd)
    _counts = False

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _slots(self, group: Group) -> Sequence[str | None]:
        return ("momentum_buffer" if group["momentum"] != 0 else None,)

    def _options(self, group: Group) -> dict[str, Any]:
        return {**self._numbers(group, "momentum", "dampening"), "nesterov": bool(group["nesterov"])}

    def _advance(self, options: dict[str, Any], state: dict[str, Any], group: Group, step: float) -> None:
        options["first"] = state.get("momentum_buffer") is None

    def _check_sparse(self, group: Group) -> None:
        if group["weight_decay"] != 0:  # with which each step would change all elements
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")

    def _sparse_step(self, options: dict[str, Any], grad: Tensor, param: Tensor, state: dict[str, Any]) -> None:
        momentum = options["momentum"]
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - options["dampening"])
            grad = grad.add(buffer, alpha=momentum) if options["nesterov"] else buffer
        add_parts(param, grad, -options["lr"])
