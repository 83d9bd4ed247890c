"""Adafactor."""

from __future__ import annotations

from typing import Any

from gradwright.optim.elementwise import zeros_like
from gradwright.optim.optimizer import Group, GroupOptimizer, Parameters, check_one_element, number_kept
from runtime import ops
from runtime.base.dtypes import finfo
from runtime.base.tensor import Tensor


class Adafactor(GroupOptimizer):
    """Adafactor: as Adam, but of the mean squares of a matrix only those of rows and columns are kept.

    Shazeer and Stern 2018. Of parameters with more dimensions the last two are rows and columns.

    Args:
        params: Tensors, pairs of names and Tensors, or groups.
        lr: the bound of the relative size of a step.
        beta2_decay: the power of the number of the step by which new squares count less.
        eps: the smallest root of mean squares, None for that of the dtype; and the smallest scale of a parameter.
        d: the bound of the root mean square of a change.
        weight_decay: times `lr` the parameter is reduced by it directly.
        foreach: accepted: the result is the same.
        maximize: go upwards.

    Raises:
        ValueError: an option is out of its range.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_one_element(lr)
        for holds, text in (
            (lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}"),
            (beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}"),
            (weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if not holds:
                raise ValueError(text)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _update_group(self, group: Group) -> None:
        for param in group["params"]:
            if param.grad is None:
                continue
            if param.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
            state = self.state[param]
            if not state:
                self._begin(state, param)
            count = state["step"]._array
            count += 1
            if param.numel():
                grad = ops.neg(param.grad) if group["maximize"] else param.grad
                self._update(param, grad, state, group, float(count))

    def _begin(self, state: dict[str, Any], param: Tensor) -> None:
        state["step"] = number_kept(0.0)
        if param.dim() > 1:
            shape = list(param.shape)
            state["row_var"] = param.detach().new_zeros([*shape[:-1], 1])
            state["col_var"] = param.detach().new_zeros([*shape[:-2], 1, shape[-1]])
        else:
            state["variance"] = zeros_like(param)

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: Group, step: float) -> None:
        lr, (smallest, scale), share = float(group["lr"]), group["eps"], step ** group["beta2_decay"]
        if smallest is None:
            smallest = finfo(param.dtype).eps
        rate = max(scale, _root_mean_square(param)) * min(lr, step**-0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        squares = grad * grad
        if param.dim() > 1:
            row, column = state["row_var"], state["col_var"]
            row.lerp_(squares.mean(-1, keepdim=True), share)
            column.lerp_(squares.mean(-2, keepdim=True), share)
            # The matrix of rank 1 that is nearest to the mean squares, in the divergence of Kullback and Leibler.
            variance = row * column / row.mean(-2, keepdim=True).clamp(min=smallest)
        else:
            variance = state["variance"].lerp_(squares, share)
        change = grad * variance.clamp(min=smallest * smallest).rsqrt()
        param.add_(change, alpha=-rate / max(1.0, _root_mean_square(change) / group["d"]))


def _root_mean_square(values: Tensor) -> float:
    return float(ops.norm(values, 2).item() / values.numel() ** 0.5)
