"""Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import ElementwiseOptimizer
from gradwright.optim.gradient_parts import PartsOfGradient, add_parts
from gradwright.optim.optimizer import Group, Parameters, check_lr, check_range
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators import update_rules


class Adagrad(ElementwiseOptimizer):
    """Adagrad: the gradient, divided by the root of the sum of all squares (Duchi, Hazan and Singer 2011).

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the learning rate.
        lr_decay: how fast the learning rate falls.
        weight_decay: times the parameter is added to the gradient.
        initial_accumulator_value: where the sums begin.
        eps: added to the roots.
        foreach: accepted, as is `fused`: the result is the same.
        maximize: go upwards.
        differentiable: steps are recorded, so that gradients go through them.
        fused: see `foreach`.

    Raises:
        ValueError: an option is out of its range.
        RuntimeError: `fused` is true together with `foreach` or `differentiable`.
    """

    _rule = staticmethod(update_rules.adagrad)

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_range("lr_decay value", lr_decay)
        check_range("weight_decay value", weight_decay)
        check_range("initial_accumulator_value value", initial_accumulator_value)
        check_range("epsilon value", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self._enter(self.state[param], param, group)

    def share_memory(self) -> None:
        """Put the sums where other processes see them.

        Raises:
            NotImplementedError: always: Tensors share no memory with other processes.
        """
        raise NotImplementedError("Tensors share no memory with other processes")

    def _slots(self, group: Group) -> Sequence[str | None]:
        return ("sum",)

    def _options(self, group: Group) -> dict[str, Any]:
        return self._numbers(group, "eps")

    def _begin(self, state: dict[str, Any], param: Tensor, group: Group) -> None:
        value = self.defaults["initial_accumulator_value"]
        state["sum"] = ops.full_like(param.detach(), complex(value, value) if param.is_complex() else value)

    def _advance(self, options: dict[str, Any], state: dict[str, Any], group: Group, step: float) -> None:
        options["lr"] = self._number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])

    def _check_sparse(self, group: Group) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")

    def _sparse_step(self, options: dict[str, Any], grad: Tensor, param: Tensor, state: dict[str, Any]) -> None:
        parts = PartsOfGradient(grad)
        add_parts(state["sum"], parts.at_same_places(parts.values.pow(2)))
        divisor = parts.of(state["sum"]).sqrt() + options["eps"]
        add_parts(param, parts.at_same_places(parts.values / divisor), -options["lr"])
