"""The text of Tensors."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.base import dtypes
from runtime.base.creation import from_numpy
from runtime.base.creation import tensor as make
from runtime.graph.node import Node
from runtime.methods.print_options import get_printoptions, printoptions, set_printoptions


@pytest.fixture(autouse=True)
def _restore():
    with printoptions():
        yield


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (make(1.5), "tensor(1.5000)"),
        (make(3), "tensor(3)"),
        (make([True, False]), "tensor([ True, False])"),
        (make([1.0, 2.0]), "tensor([1., 2.])"),
        (make([1, -20]), "tensor([  1, -20])"),
        (make([0.0, 0.0]), "tensor([0., 0.])"),
        (make([1.0, float("inf"), float("nan")]), "tensor([1., inf, nan])"),
        (make([0.5, float("-inf")]), "tensor([0.5000,   -inf])"),
        (make([1e-5, 1.5]), "tensor([1.0000e-05, 1.5000e+00])"),
        (make([1e9]), "tensor([1.0000e+09])"),
        (make([1 - 2j, 0.5j]), "tensor([1.-2.0000j, 0.+0.5000j])"),
        (make([1.0], dtype=dtypes.float64), "tensor([1.], dtype=gradwright.float64)"),
        (make([1.5], dtype=dtypes.bfloat16), "tensor([1.5000], dtype=gradwright.bfloat16)"),
        (make([1], dtype=dtypes.uint8), "tensor([1], dtype=gradwright.uint8)"),
        (make([]), "tensor([])"),
        (make([], dtype=dtypes.int64), "tensor([], dtype=gradwright.int64)"),
        (make(np.zeros((0, 3), np.float32)), "tensor([], size=(0, 3))"),
        (make([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
        (make([[1.0, 2.5], [3.0, -4.0]]), "tensor([[ 1.0000,  2.5000],\n        [ 3.0000, -4.0000]])"),
        (make([[[1], [2]], [[3], [4]]]), "tensor([[[1],\n         [2]],\n\n        [[3],\n         [4]]])"),
    ],
)
def test_text(tensor, text):
    assert repr(tensor) == str(tensor) == text


class MulBackward0(Node):
    __slots__ = ()


def test_the_node_is_named():
    x = make([1.0])
    x._edge = MulBackward0((), x.shape, x._array.dtype)
    assert repr(x) == "tensor([1.], grad_fn=<MulBackward0>)"


def test_long_lines_are_broken():
    lines = repr(from_numpy(np.arange(40))).split("\n")
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith("        18, 19")


def test_a_suffix_that_does_not_fit_gets_its_own_line():
    text = repr(make([0.125] * 8, dtype=dtypes.float64))
    assert text.endswith(",\n       dtype=gradwright.float64)")


def test_large_tensors_are_summarized():
    assert repr(from_numpy(np.arange(1001))) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])"
    text = repr(from_numpy(np.zeros((50, 50), np.float32)))
    assert text.count("\n") == 6
    assert "        ...,\n" in text
    assert "..." not in repr(from_numpy(np.arange(1000)))


def test_only_shown_values_decide_the_notation():
    values = np.ones(2000, np.float32)
    values[1000] = 1e-7
    assert repr(from_numpy(values)) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"


def test_options():
    set_printoptions(precision=2)
    assert repr(make([1.2345])) == "tensor([1.23])"
    set_printoptions(sci_mode=True)
    assert repr(make([1.2345])) == "tensor([1.23e+00])"
    set_printoptions(sci_mode=False, precision=4)
    assert repr(make([1e-5, 1.5])) == "tensor([0.0000, 1.5000])"
    set_printoptions(threshold=3, edgeitems=1)
    assert repr(make([1, 2, 3, 4])) == "tensor([1,  ..., 4])"
    set_printoptions(profile="default")
    assert get_printoptions() == {
        "precision": 4,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 80,
        "sci_mode": None,
    }
    set_printoptions(profile="full")
    assert "..." not in repr(from_numpy(np.arange(2000)))
    with pytest.raises(ValueError, match="default, short, full"):
        set_printoptions(profile="tiny")


def test_options_for_a_block():
    with printoptions(precision=1):
        assert repr(make(1.25)) == "tensor(1.2)"
    assert repr(make(1.25)) == "tensor(1.2500)"
