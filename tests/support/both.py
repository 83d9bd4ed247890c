"""One body, two libraries: runs a function with PyTorch and with this project and compares what came of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

import gradwright

Body = Callable[[Any], Any]


def outcome(body: Body, library: Any) -> Any:
    """What `body(library)` gave, in terms that both libraries share; the class of what it raised."""
    gradwright.manual_seed(0)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(body(library))
        except Exception as error:
            return ("raised", type(error).__name__, str(error))


def plain(value: Any) -> Any:
    """Tensors as dtype, shape, numbers and whether they require grad; Nodes by name; the rest as it is."""
    if isinstance(value, torch.Tensor | gradwright.Tensor):
        dtype = str(value.dtype).rpartition(".")[2]
        return ("tensor", dtype, tuple(value.shape), value.requires_grad, np.array(value.detach().tolist()))
    if isinstance(value, torch.autograd.graph.Node | gradwright.autograd.graph.Node):
        return ("node", value.name().rpartition("::")[2])
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, torch.Size):
        return tuple(value)
    return value


def with_weights(library: Any, module: Any, weights: np.ndarray) -> Any:
    """The module, whose parameters take the numbers one after the other: the same in both libraries."""
    start = 0
    for parameter in module.parameters():
        end = start + parameter.numel()
        with library.no_grad():
            parameter.copy_(library.tensor(weights[start:end]).reshape(parameter.shape))
        start = end
    return module


def assert_same(body: Body, message: str | None = None) -> None:
    """Both libraries give the same results, or raise the same class of error (with `message` in both texts)."""
    expected, actual = outcome(body, torch), outcome(body, gradwright)
    if isinstance(expected, tuple) and expected[:1] == ("raised",):
        assert actual[:2] == expected[:2], (actual, expected)
        if message is not None:
            assert message in expected[2]
            assert message in actual[2]
        return
    assert message is None, f"nothing was raised: {expected}"
    _compare(actual, expected, "")


def assert_same_results(body: Body) -> None:
    """As `assert_same`, and nothing is raised."""
    expected = outcome(body, torch)
    assert not isinstance(expected, tuple) or expected[:1] != ("raised",), expected
    assert_same(body)


def doubled(torch: Any, backward: Callable[[Any], Any], name: str = "Doubled") -> Any:
    """An autograd Function, of the class `name`, that multiplies by 2 and saves nothing."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    Doubled.backward = staticmethod(lambda ctx, grad: backward(grad))
    return type(name, (Doubled,), {})


def _compare_numbers(actual: np.ndarray, expected: np.ndarray, dtype: str, place: str) -> None:
    """Equal up to rounding: in single precision, sums that cancel are as exact as their largest terms."""
    rounding = 1e-6
    if dtype in ("float32", "complex64"):
        rounding = max(rounding, 4e-6 * float(np.max(np.abs(expected), initial=0, where=np.isfinite(expected))))
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=rounding, err_msg=place)


def _compare(actual: Any, expected: Any, place: str) -> None:
    if isinstance(expected, tuple) and expected[:1] == ("tensor",):
        assert actual[:-1] == expected[:-1], (place, actual, expected)
        _compare_numbers(actual[-1], expected[-1], expected[1], place)
    elif isinstance(expected, np.ndarray):
        assert isinstance(actual, np.ndarray), (place, actual)
        assert actual.dtype == expected.dtype, (place, actual, expected)
        _compare_numbers(actual, expected, expected.dtype.name, place)
    elif isinstance(expected, list | tuple):
        assert isinstance(actual, list | tuple), (place, actual, expected)
        assert len(actual) == len(expected), (place, actual, expected)
        for number, (one, other) in enumerate(zip(actual, expected, strict=True)):
            _compare(one, other, f"{place}[{number}]")
    elif isinstance(expected, dict):
        assert isinstance(actual, dict), (place, actual)
        assert list(actual) == list(expected), place
        for key in expected:
            _compare(actual[key], expected[key], f"{place}[{key!r}]")
    elif isinstance(expected, float):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6, err_msg=place)
    else:
        assert actual == expected, (place, actual, expected)
