"""What tests of kernels beside PyTorch share: a case is an expression that both libraries evaluate.

The results agree in value, dtype and shape, the gradients in value, and where PyTorch raises, so does Gradwright, an
error of the same class.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch

import gradwright
import gradwright.nn.functional


def cases(text: str) -> list[str]:
    """The expressions of a text: a line has several, with `|` between them."""
    return [case.strip() for line in text.strip().splitlines() for case in line.split("|")]


class Namespace(dict[str, Any]):
    """The names that a case may use, for one of the libraries; Tensors are made when they are first used.

    Arrays of floating numbers are float32, or of `dtype`.  Those whose names begin with a small letter require grad.
    """

    def __init__(self, library: Any, arrays: dict[str, np.ndarray], dtype: str = "float32") -> None:
        operators = library.ops.aten if library is torch else library.ops
        super().__init__(T=library, F=library.nn.functional, nn=library.nn, aten=operators, float=float)
        self.library = library
        self.arrays = arrays
        self.dtype = dtype

    def __missing__(self, name: str) -> Any:
        if name not in self.arrays:
            raise KeyError(name)
        array = self.arrays[name]
        floating = array.dtype == np.float64
        made = self.library.from_numpy(array.astype(self.dtype) if floating else array.copy())
        if floating and name[0].islower():
            made.requires_grad_()
        self[name] = made
        return made


def _evaluate(text: str, names: Namespace) -> tuple[Any, type[Exception] | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(text, names), None
        except Exception as error:
            return None, type(error)


def _results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def compare(text: str, arrays: dict[str, np.ndarray], dtype: str = "float32") -> None:
    """Both libraries give the same for a case."""
    ours, theirs = Namespace(gradwright, arrays, dtype), Namespace(torch, arrays, dtype)
    found, error = _evaluate(text, ours)
    wanted, their_error = _evaluate(text, theirs)
    assert error == their_error
    if error is not None:
        return
    assert len(_results(found)) == len(_results(wanted))
    tolerance = 1e-9 if dtype == "float64" else 2e-5
    for mine, other in zip(_results(found), _results(wanted), strict=True):
        if not isinstance(other, torch.Tensor):
            assert mine == other
            continue
        assert str(mine.dtype).removeprefix("gradwright.") == str(other.dtype).removeprefix("torch.")
        assert tuple(mine.shape) == tuple(other.shape)
        if "16" in str(mine.dtype):
            tolerance = 2e-2 if "bfloat16" in str(mine.dtype) else 2e-3
            mine, other = mine.float(), other.float()
        np.testing.assert_allclose(
            mine.detach().numpy(), other.detach().numpy(), rtol=tolerance, atol=tolerance, equal_nan=True
        )
    mine, other = _results(found)[0], _results(wanted)[0]
    if not isinstance(other, torch.Tensor):
        return
    assert mine.requires_grad == other.requires_grad
    if other.requires_grad:
        _compare_gradients(ours, theirs, mine, other, tolerance)


def _compare_gradients(ours: Namespace, theirs: Namespace, mine: Any, other: Any, tolerance: float) -> None:
    weights = np.linspace(0.5, 1.5, other.numel()).reshape(tuple(other.shape))
    for names, out in ((ours, mine), (theirs, other)):
        out.backward(names.library.from_numpy(weights).to(out.dtype))
    for name in theirs.arrays:
        if name in theirs and theirs[name].is_leaf:
            grad, want = ours[name].grad, theirs[name].grad
            have = 0.0 if grad is None else grad.numpy()
            want = 0.0 if want is None else want.numpy()
            np.testing.assert_allclose(have, want, rtol=10 * tolerance, atol=10 * tolerance, equal_nan=True)
