"""Tensors of different element types on the fast path of the native core: which calls take it.

What they give is compared in tests/runtime/call/test_other_dtypes.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradwright
from gradwright import native
from support.native_core import needs_core

pytestmark = needs_core


def values(dtype: gradwright.dtype) -> Any:
    return (gradwright.arange(6).reshape(2, 3) + 1).to(dtype)


def calls_are_fast(call: Callable[[], Any]) -> bool:
    records = native.explain(call).records
    assert records
    return all(record.fast for record in records)


FAST: dict[str, Callable[[Any, Any, Any], Any]] = {
    "float by int": lambda x, n, d: x * n,
    "int by number": lambda x, n, d: n * 2.5,
    "quotient of ints": lambda x, n, d: n / n,
    "function of ints": lambda x, n, d: n.exp(),
    "zero-dim": lambda x, n, d: x * d[0, 0],
    "float by double": lambda x, n, d: x + d,
    "bool by float": lambda x, n, d: (x > 0) * x,
    "comparison": lambda x, n, d: x == n,
    "half by float": lambda x, n, d: x.bfloat16() * x,
    "half by int": lambda x, n, d: x.bfloat16() * n,
    "real by complex": lambda x, n, d: x * x.to(gradwright.complex64),
    "choice": lambda x, n, d: gradwright.where(x > 0, n, x),
    "with a slope": lambda x, n, d: gradwright.lerp(d, d, 0.5) - n,
    "in place": lambda x, n, d: x.clone().mul_(n),
}


@pytest.mark.parametrize("case", FAST.values(), ids=FAST)
def test_the_calls_take_the_fast_path(case: Callable[[Any, Any, Any], Any]) -> None:
    x, n, d = values(gradwright.float32), values(gradwright.int64), values(gradwright.float64)
    assert calls_are_fast(lambda: case(x, n, d))
    assert calls_are_fast(lambda: case(x.requires_grad_(), n, d))


def test_what_is_watched_says_that_arguments_were_converted() -> None:
    x, n = values(gradwright.float32), values(gradwright.int64)
    (record,) = native.explain(lambda: x * n).records
    assert record.kernel == "native loop on converted arguments"
