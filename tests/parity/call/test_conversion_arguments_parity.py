"""Arguments of `to` and of `device`, the same in both libraries: which are taken, what they mean, and the errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.both import assert_same

CONVERSIONS = [
    "x.to(0.5)",
    "x.to(True)",
    "x.to(False)",
    "x.to(1j)",
    "x.to(0)",
    "x.to(-1)",
    "x.to(0.5, True)",
    "x.to(0.5, False, True)",
    "x.to(True, copy=True)",
    "x.to(1j, non_blocking=True)",
    "x.to(0.5, memory_format=torch.preserve_format)",
    "x.to(0.5, 1)",
    "x.to(0.5, torch.float64)",
    "x.to(0.5, dtype=torch.float32)",
    "x.to(0.5, device='cpu')",
    "x.to(True, torch.float64)",
    "x.to(other=0.5)",
    "x.to(dtype=0.5)",
    "x.to(dtype=True)",
    "x.to(device=0.5)",
    "x.to(device=True)",
    "x.to(float('nan'))",
    "x.to(np.float32(1))",
    "x.to(np.float64(1))",
    "x.to(np.int64(1))",
    "i.to(0.5)",
    "i.to(True)",
    "x.half().to(0.5)",
    "x.double().to(0.5)",
    "x.to(memory_format=3)",
    "x.to(torch.float64, memory_format=1)",
    "torch.nn.Linear(1, 1).to(0.5).weight.dtype",
    "torch.nn.Linear(1, 1).to(True)",
    "torch.nn.Linear(1, 1).to(1j).weight.dtype",
    "torch.nn.Linear(1, 1).to(device=True)",
]
DEVICES = [
    "torch.device(0.5)",
    "torch.device(True)",
    "torch.device(None)",
    "torch.device([])",
    "torch.device('cpu', True)",
    "torch.device('cpu', 0.5)",
    "torch.device('cpu', '0')",
    "torch.device(type='cpu', index=True)",
    "torch.device('cpu', None)",
    "torch.device('cuda', 1)",
    "torch.device('cpu', -1)",
    "torch.zeros(2, device=True)",
    "torch.tensor([1], device=True)",
    "torch.tensor([1], device=0.5)",
    "torch.as_tensor(1, device=True)",
    "torch.asarray(1, device=True)",
    "x.new_zeros(2, device=True)",
    "x.new_tensor([1], device=True)",
]


@pytest.mark.parametrize("text", [*CONVERSIONS, *DEVICES])
def test_arguments(text: str) -> None:
    def body(torch: Any) -> Any:
        names = {"torch": torch, "np": np, "x": torch.tensor([0.0, 1.5]), "i": torch.tensor([0, 2])}
        try:
            out = eval(text, names)
        except (TypeError, RuntimeError) as error:
            return type(error).__name__
        return out if isinstance(out, torch.Tensor) else str(out).rpartition(".")[2]

    assert_same(body)


def test_gradients_of_a_conversion_to_the_kind_of_a_number() -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        out = x.to(0.5)
        (out * out).sum().backward()
        return out, x.grad, x.double().to(0.5).dtype == torch.float64, x.to(0.5) is x

    assert_same(body)
