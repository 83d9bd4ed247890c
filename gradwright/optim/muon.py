"""Muon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradwright.optim.elementwise import zeros_like
from gradwright.optim.optimizer import Group, GroupOptimizer, Parameters, check_one_element
from runtime import ops
from runtime.base.dtypes import bfloat16
from runtime.base.tensor import Tensor

_RATES = ("original", "match_rms_adamw")


class Muon(GroupOptimizer):
    """Momentum that is made orthogonal, for the matrices of hidden layers (Jordan et al. 2024).

    Args:
        params: Tensors of two dimensions, pairs of names and Tensors, or groups.
        lr: the learning rate.
        weight_decay: times `lr` the parameter is reduced by it directly.
        momentum: which part of the running mean of gradients is kept.
        nesterov: whether to look ahead by the momentum.
        ns_coefficients: of the polynomial of degree 5 that brings singular values near to 1: of x, of its third power
            and of its fifth.
        eps: the smallest norm to divide by.
        ns_steps: how often the polynomial is applied.
        adjust_lr_fn: how the rate follows the shape: "original", which None stands for too, the root of the ratio of
            rows to columns, at least 1; "match_rms_adamw", 0.2 times the root of the larger (Liu et al. 2025).

    Raises:
        ValueError: an option is out of its range, or a parameter is no matrix.
    """

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_one_element(lr)
        for what, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{what} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _RATES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(f"Muon takes parameters of 2 dimensions, not of size {tuple(param.shape)}")

    def _update_group(self, group: Group) -> None:
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if param.is_complex():
                raise RuntimeError("Muon does not support complex parameters")
            state = self.state[param]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = zeros_like(param)
            self._update(param, grad, state, group)

    def _update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: Group) -> None:
        lr, momentum = float(group["lr"]), group["momentum"]
        mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        change = grad.lerp(mean, momentum) if group["nesterov"] else mean
        change = orthogonalized(change, group["ns_coefficients"], group["ns_steps"], group["eps"])
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(change, alpha=-lr * _ratio(param.shape, group["adjust_lr_fn"]))


def orthogonalized(matrix: Tensor, coefficients: Sequence[float], steps: int, eps: float) -> Tensor:
    """A matrix with nearly the singular vectors of `matrix` and singular values near 1, in bfloat16.

    An odd polynomial of a matrix acts on its singular values and leaves the vectors: applied again and again it brings
    them all near 1 (Bernstein and Newhouse 2024, after Newton and Schulz).

    Raises:
        ValueError: there are not three coefficients, or 100 steps or more.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    first, third, fifth = coefficients
    rows, columns = matrix.shape
    x = matrix.to(bfloat16)
    if rows > columns:
        x = x.t()  # the product with its transpose is then the smaller one
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        square = x @ x.t()
        x = ops.addmm(x, ops.addmm(square, square, square, beta=third, alpha=fifth), x, beta=first)
    return x.t() if rows > columns else x


def _ratio(shape: Sequence[int], way: str | None) -> float:
    rows, columns = shape
    return 0.2 * math.sqrt(max(rows, columns)) if way == "match_rms_adamw" else math.sqrt(max(1, rows / columns))
