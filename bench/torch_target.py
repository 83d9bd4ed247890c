"""What an operator that the target torch writes costs beside the same `autograd.Function` written by hand."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.measure import Round
from codegen.commands.init import make_package
from codegen.commands.main import main as gradwright

_NAME = "bench_torch_target"
_CALLS, _SIZE = 25, 8
_HYPOT3 = """
- func: hypot3(Tensor x, Tensor y, Tensor z) -> Tensor
  dispatch:
    CPU: hypot3
  promotion: int_to_float
  dtypes: real
  tags: pointwise
"""
_FORMULAS = """
- name: hypot3(Tensor x, Tensor y, Tensor z) -> Tensor
  x: grad * (x / result.masked_fill(result == 0, 1))
  y: grad * (y / result.masked_fill(result == 0, 1))
  z: grad * (z / result.masked_fill(result == 0, 1))
"""
_KERNEL = """

def hypot3(x: Array, y: Array, z: Array) -> Array:
    return np.hypot(np.hypot(x, y), z)
"""


class Squareplus(torch.autograd.Function):  # type: ignore[misc]
    """`squareplus` by hand, in the older style, which takes less time and knows no transforms."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, b: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.b = b
        array = x.detach().numpy()
        return torch.from_numpy((array + np.sqrt(array * array + b)) / 2)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad * (x / (x * x + ctx.b).sqrt() + 1) / 2, None


class Hypot3(torch.autograd.Function):  # type: ignore[misc]
    """`hypot3` by hand."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        out = torch.from_numpy(np.hypot(np.hypot(x.detach().numpy(), y.detach().numpy()), z.detach().numpy()))
        ctx.save_for_backward(x, y, z, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        *inputs, out = ctx.saved_tensors
        return tuple(
            grad * (each / out.masked_fill(out == 0, 1)) if needed else None
            for each, needed in zip(inputs, ctx.needs_input_grad, strict=True)
        )


def by_hand() -> Round:
    """Forward and backward through the classes of this module."""
    return _rounds({"squareplus": lambda x: Squareplus.apply(x, 4), "hypot3": Hypot3.apply})


def generated(folder: Path) -> Round:
    """Forward and backward through the operators of a package that is generated in a folder."""
    package = _package(folder)
    return _rounds({"squareplus": package.squareplus, "hypot3": package.hypot3})


def _rounds(functions: Mapping[str, Callable[..., torch.Tensor]]) -> Round:
    one, three = ([torch.randn(_SIZE, requires_grad=True) for _ in range(count)] for count in (1, 3))
    seed = torch.ones(_SIZE)

    def both(function: Callable[..., torch.Tensor], tensors: Sequence[torch.Tensor]) -> None:
        function(*tensors).backward(seed)
        for each in tensors:
            each.grad = None

    def run() -> dict[str, float]:
        rows: dict[str, float] = {}
        for name, function in functions.items():
            tensors = one if name == "squareplus" else three
            start = time.perf_counter()
            for _ in range(_CALLS):
                function(*tensors)
            middle = time.perf_counter()
            for _ in range(_CALLS):
                both(function, tensors)
            end = time.perf_counter()
            rows[f"{name}, written for PyTorch: forward"] = (middle - start) / _CALLS
            rows[f"{name}, written for PyTorch: forward and backward"] = (end - middle) / _CALLS
        return rows

    return run


def _package(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.chdir(folder):
        make_package(_NAME, folder, ("torch",))
        for file, text in (
            ("native_functions.yaml", _HYPOT3), ("derivatives.yaml", _FORMULAS), ("kernels.py", _KERNEL),
        ):  # fmt: skip
            with (folder / _NAME / file).open("a", encoding="utf-8") as opened:
                opened.write(text)
        status = gradwright(["--no-verify"])
    assert status == 0, "the package does not generate"
    sys.path.insert(0, str(folder))
    return importlib.import_module(f"{_NAME}.torch")
