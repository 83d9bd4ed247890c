"""SparseAdam."""

from __future__ import annotations

import math
from typing import Any

from gradwright.optim.gradient_parts import PartsOfGradient, add_parts
from gradwright.optim.optimizer import Group, GroupOptimizer, Parameters, check_betas, check_one_element
from runtime import ops
from runtime.base.tensor import Tensor


class SparseAdam(GroupOptimizer):
    """Adam for sparse gradients: where a gradient has no part, means and parameters stay as they are.

    Args:
        params: dense Tensors, pairs of names and Tensors, or groups.
        lr: the learning rate.
        betas: which parts of the two running means are kept.
        eps: added to the divisor.
        maximize: go upwards.

    Raises:
        ValueError: an option is out of its range, or a parameter is sparse.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_one_element(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [
            [number, position]
            for number, group in enumerate(self.param_groups)
            for position, param in enumerate(group["params"])
            if param.is_sparse
        ]
        if places:
            raise ValueError(f"Sparse params at indices {places}: SparseAdam requires dense parameter tensors")

    def _update_group(self, group: Group) -> None:
        for param in group["params"]:
            if param.grad is None:
                continue
            if not param.grad.is_sparse:
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            state = self.state[param]
            if not state:
                state["step"] = 0
                state["exp_avg"] = ops.zeros_like(param.detach())
                state["exp_avg_sq"] = ops.zeros_like(param.detach())
            state["step"] += 1
            self._step_of(param, PartsOfGradient(-param.grad if group["maximize"] else param.grad), state, group)

    @staticmethod
    def _step_of(param: Tensor, parts: PartsOfGradient, state: dict[str, Any], group: Group) -> None:
        if not parts.values.numel():
            return
        beta1, beta2 = group["betas"]
        means = []
        for name, value, beta in (
            ("exp_avg", parts.values, beta1),
            ("exp_avg_sq", parts.values.pow(2), beta2),
        ):
            old = parts.of(state[name])
            change = (value - old) * (1 - beta)
            add_parts(state[name], parts.at_same_places(change))
            means.append(change + old)
        step = int(state["step"])
        scale = math.sqrt(1 - beta2**step) / (1 - beta1**step)
        size = float(group["lr"]) * scale
        add_parts(param, parts.at_same_places(-size * (means[0] / (means[1].sqrt() + group["eps"]))))
