"""Pooling."""

from __future__ import annotations

from runtime.base.tensor import Tensor


def error_for_max_pool2d_double_backward() -> Tensor:
    """PyTorch has no second derivative of what finds the places of maxima anew.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        "max_pool2d with `return_indices=False` is not infinitely differentiable. If you want to calculate higher "
        "order derivatives, e.g. second order, set `return_indices=True`."
    )
