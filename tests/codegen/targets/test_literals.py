"""Defaults of parameters as the output has them."""

from __future__ import annotations

import pytest

from codegen.plan.operator import ParameterPlan
from codegen.schema.parser import parse_schema
from codegen.schema.types import ListType, required
from codegen.targets.literals import default_text

DEFAULTS = {
    "float x=inf": 'float("inf")',
    "float x=-inf": 'float("-inf")',
    "float x=nan": 'float("nan")',
    "float x=1e400": 'float("inf")',
    "float x=-0.0": "-0.0",
    "int x=007": "7",
    "int x=Mean": "1",
    "int[2] x=1": "(1, 1)",
    "int[2] x=[1, 2]": "(1, 2)",
    "int[1]? x=None": "None",
    "int[] x=[]": "()",
    "float[2] x=0.5": "(0.5, 0.5)",
    "float[] x=[1.0, inf]": '(1.0, float("inf"))',
    "bool[3] x=True": "(True, True, True)",
    "ScalarType x=long": "dtypes.long",
    "ScalarType? x=None": "None",
    "ScalarType[] x=[float, long]": "(dtypes.float, dtypes.long)",
    'str x="inf"': '"inf"',
    'str x="[1, 2]"': '"[1, 2]"',
    'str[] x=["a,b", "c"]': '("a,b", "c")',
    "str? x='None'": '"None"',
}


@pytest.mark.parametrize("argument", DEFAULTS)
def test_a_default_is_the_value_that_its_type_has(argument: str) -> None:
    (parsed,) = parse_schema(f"f({argument}) -> Tensor").positional
    inner = required(parsed.type)
    size = inner.size if isinstance(inner, ListType) else None
    parameter = ParameterPlan(parsed.name, parsed.type, size, parsed.default, keyword_only=False, is_placement=False)
    assert default_text(parameter) == DEFAULTS[argument]
