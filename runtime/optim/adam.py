"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime import ops
from runtime.base.stand_in import on_device
from runtime.base.tensor import Tensor, wrap
from runtime.graph.views import bump_version, check_inplace
from runtime.optim import arrays, by_operators
from runtime.optim.optimizer import Group, GroupOptimizer, Parameters, check_lr, check_range


class Adam(GroupOptimizer):
    """Adam: the mean of gradients, divided by the root of the mean of their squares.

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the learning rate.
        betas: which parts of the two running means are kept.
        eps: added to the divisor.
        weight_decay: times the parameter is added to the gradient.
        amsgrad: divide by the largest of the means so far.
        foreach: accepted, as is `fused`: the result is the same.
        maximize: go upwards.
        capturable: True is not supported, nor is `differentiable`.
        differentiable: see `capturable`.
        fused: see `foreach`.
        decoupled_weight_decay: reduce the parameter by `weight_decay` directly, as AdamW does.

    Raises:
        ValueError: an option is out of its range.
        NotImplementedError: `capturable` or `differentiable` is true.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr, foreach)
        check_range("epsilon value", eps)
        for number, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {number}: {beta}")
        check_range("weight_decay value", weight_decay)
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _update_group(self, group: Group) -> None:
        beta1, beta2 = group["betas"]
        lr, eps, weight_decay = (float(group[name]) for name in ("lr", "eps", "weight_decay"))
        first, second = float(beta1), float(beta2)
        decoupled, maximize = bool(group["decoupled_weight_decay"]), bool(group["maximize"])
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            check_inplace(param, False)
            state = self.state[param]
            if not state:
                self._begin(state, param, names)
            count = state["step"]._array
            count += 1
            options = (float(count), lr, first, second, eps, weight_decay, decoupled, maximize)
            mean, square = state[names[0]], state[names[1]]
            largest = state[names[2]] if len(names) > 2 else None
            if on_device(param):
                by_operators.update_adam(grad, param, mean, square, largest, *options)
                continue
            arrays.update_adam(
                grad._array,
                param._array,
                mean._array,
                square._array,
                None if largest is None else largest._array,
                *options,
            )
            bump_version(param)

    def _begin(self, state: dict[str, Any], param: Tensor, names: tuple[str, ...]) -> None:
        state["step"] = wrap(np.zeros((), np.float32))
        for name in names:
            state[name] = ops.zeros_like(param.detach()) if on_device(param) else wrap(np.zeros_like(param._array))


class AdamW(Adam):
    """Adam that reduces parameters by `weight_decay` directly, not through the gradient; arguments as of Adam."""

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
