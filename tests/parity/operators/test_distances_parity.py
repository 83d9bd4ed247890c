"""Gradients of distances, of each order of norm: as in PyTorch, where vectors are equal too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from support.two_modules import compare

ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf]


def points(rows: int, size: int, dtype: str) -> list[list[float]]:
    given = np.random.default_rng(rows).standard_normal((rows, size)).round(1)
    given[1] = given[0]
    given[2, 0] = given[3, 0]
    return given.astype(dtype).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 40])
@pytest.mark.parametrize("p", ORDERS)
def test_distances_of_one_list_and_of_two(p: float, size: int, dtype: str) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor(points(9, size, dtype), dtype=getattr(torch, dtype), requires_grad=True)
        y = torch.tensor(points(5, size, dtype), dtype=getattr(torch, dtype), requires_grad=True)
        of_one = torch.nn.functional.pdist(x, p)
        of_two = torch.cdist(x.expand(2, 9, size), y, p, compute_mode="donot_use_mm_for_euclid_dist")
        found = [of_one.detach(), of_two.detach()]
        for out in (of_one, of_two):
            weights = torch.arange(out.numel(), dtype=out.dtype).reshape(out.shape).cos()
            found += torch.autograd.grad(out, (x, y), weights, allow_unused=True)[: 1 + (out is of_two)]
        return found

    compare(body, rtol=1e-4)
