"""Stochastic gradient descent."""

from __future__ import annotations

import numpy as np

from runtime import ops
from runtime.base.stand_in import on_device
from runtime.base.tensor import Tensor, wrap
from runtime.graph.views import bump_version, check_inplace
from runtime.optim import arrays, by_operators
from runtime.optim.optimizer import Group, GroupOptimizer, Parameters, check_lr, check_range


class SGD(GroupOptimizer):
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
        differentiable: True is not supported.
        fused: see `foreach`.

    Raises:
        ValueError: an option is out of its range.
        NotImplementedError: `differentiable` is true.
    """

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

    def _update_group(self, group: Group) -> None:
        lr, momentum, dampening, weight_decay = (
            float(group[name]) for name in ("lr", "momentum", "dampening", "weight_decay")
        )
        nesterov, maximize = bool(group["nesterov"]), bool(group["maximize"])
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            check_inplace(param, False)
            kept, first = self._buffer(param) if momentum != 0 else (None, False)
            options = (lr, momentum, dampening, weight_decay, nesterov, maximize, first)
            if on_device(param):
                by_operators.update_sgd(grad, param, kept, *options)
                continue
            arrays.update_sgd(grad._array, param._array, None if kept is None else kept._array, *options)
            bump_version(param)

    def _buffer(self, param: Tensor) -> tuple[Tensor, bool]:
        """The sum of former gradients of a parameter, and whether there is nothing in it yet."""
        state = self.state[param]
        buffer: Tensor | None = state.get("momentum_buffer")
        if buffer is not None:
            return buffer, False
        empty = ops.empty_like(param.detach()) if on_device(param) else wrap(np.empty_like(param._array))
        buffer = state["momentum_buffer"] = empty
        return buffer, True
