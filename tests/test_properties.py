"""A test of an operator runs all its properties, and names those that do not hold."""

from __future__ import annotations

import pytest

from generated.registry import OPERATORS
from support.properties import Properties


def test_all_properties_that_fail_are_named() -> None:
    properties, ran = Properties(), []
    info = OPERATORS["add.Tensor"]

    @properties.hold_for((info, dtype) for dtype in ("float32", "float64"))
    def is_wide(info: object, dtype: str) -> None:
        ran.append(dtype)
        assert dtype == "float64"

    @properties.hold_for([(info,)])
    def fails(info: object) -> None:
        pytest.fail("as it should")

    @properties.hold_for([(info,)])
    def holds(info: object) -> None:
        ran.append("holds")

    with pytest.raises(BaseExceptionGroup, match=r"add\.Tensor: is_wide float32, fails") as caught:
        properties.check("add.Tensor")
    assert [type(error) for error in caught.value.exceptions] == [AssertionError, pytest.fail.Exception]
    assert ran == ["float32", "float64", "holds"]


def test_missing_properties_are_noticed() -> None:
    properties = Properties()
    properties.hold_for([(OPERATORS["add.Tensor"],)])(lambda info: None)
    test_operator, test_properties_are_checked = properties.tests(least=1)
    test_operator("add.Tensor")
    test_properties_are_checked()
    with pytest.raises(AssertionError):
        properties.tests(least=2)[1]()
