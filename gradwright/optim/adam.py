"""Adam and AdamW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.optimizer import Group, Parameters, check_betas, check_lr, check_range
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class Adam(ElementwiseOptimizer):
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
        capturable: accepted; a step refuses True, which is for graphs of a device.
        differentiable: steps are recorded, so that gradients go through them.
        fused: see `foreach`.
        decoupled_weight_decay: reduce the parameter by `weight_decay` directly, as AdamW does.

    Raises:
        ValueError: an option is out of its range.
        RuntimeError: `fused` is true together with `foreach` or `differentiable`.
    """

    _rule = staticmethod(update_rules.adam)

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
        check_betas(betas)
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

    def _slots(self, group: Group) -> Sequence[str | None]:
        return "exp_avg", "exp_avg_sq", "max_exp_avg_sq" if group["amsgrad"] else None

    def _options(self, group: Group) -> dict[str, Any]:
        return {**self._adaptive(group), "decoupled": bool(group["decoupled_weight_decay"])}

    def _advance(self, options: dict[str, Any], state: dict[str, Any], group: Group, step: float) -> None:
        options["step"] = step

    def _check_sparse(self, group: Group) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")


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
