"""Normal numbers and words of the native core, against what Python makes of the same source."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.base import mersenne
from runtime.base.mersenne import Source
from runtime.native import core
from runtime.operators.kernels import _gaussian, random
from support.native_core import needs_core

pytestmark = needs_core


@pytest.mark.parametrize("count", [0, 1, 16, 17, 1000, 5000])
def test_words(monkeypatch, count):
    drawn = []
    for module in (core, None):
        monkeypatch.setattr(mersenne, "core", module)
        source = Source(5)
        drawn.append([getattr(source, name)(count) for name in ("words", "long_words", "unit32", "unit64")])
    for fast, plain in zip(*drawn, strict=True):
        assert fast.dtype == plain.dtype
        np.testing.assert_array_equal(fast, plain)


@pytest.mark.parametrize(("mean", "std"), [(0, 1), (0.7, 0.3)])
@pytest.mark.parametrize("count", [0, 16, 496, 512, 528, 40000])
def test_normal_numbers(monkeypatch, count, mean, std):
    turned = []
    for module in (core, None):
        monkeypatch.setattr(_gaussian, "core", module)
        numbers = Source(5).unit32(count)
        numbers[:16:3] = 0
        _gaussian.turn_to_normal(numbers, mean, std)
        turned.append(numbers)
    np.testing.assert_array_equal(*turned)


def test_what_is_refused():
    with pytest.raises(TypeError, match="known element type"):
        core.draw_words(Source(1)._bits.capsule, np.empty(3, np.int8))
    with pytest.raises(TypeError, match="known element type"):
        core.turn_to_normal(np.empty(32, np.float32)[::2], 0.0, 1.0)
    with pytest.raises(TypeError, match="2 arguments"):
        core.exchange(np.arange(3))
    with pytest.raises(IndexError, match="out of range"):
        core.exchange(np.arange(3), np.array([3]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (200, 300), (0, 4)])
def test_places_by_weights(monkeypatch, shape, dtype):
    weights = np.random.default_rng(0).random(shape).astype(dtype) * (np.arange(shape[1]) % 3 > 0)
    weights[:, -1:] += 1
    chosen = []
    for module in (core, None):
        monkeypatch.setattr(random, "core", module)
        chosen.append(random.multinomial(weights, 50, True, Source(5)))
    assert chosen[0].dtype == np.int64
    np.testing.assert_array_equal(*chosen)
    with pytest.raises(ValueError, match="numbers of rows"):
        core.pick_by_weights(np.ones((2, 3)), np.ones((3, 1)), np.ones((3, 1), np.int64))
    with pytest.raises(ValueError, match="two dimensions"):
        core.pick_by_weights(np.ones(3), np.ones((3, 1)), np.ones((3, 1), np.int64))
