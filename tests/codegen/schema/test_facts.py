"""Facts of signatures, as the generator writes them down."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import generated.operators
from codegen.schema.facts import facts_of
from codegen.schema.parser import parse_schema
from runtime.base.signature_facts import SignatureFacts
from runtime.call.dispatch import Operator
from support.documents import ROOT

FACTS = {
    "f(Tensor self, int dim=0, *, ScalarType? dtype=None) -> Tensor": SignatureFacts(
        (("self", "Tensor"), ("dim", "int", 0), ("dtype", "ScalarType?", None)), 2
    ),
    "f(Tensor self, int reduction=Mean, float p=inf, int[2] k=1, ScalarType t=long) -> Tensor[]": SignatureFacts(
        (
            ("self", "Tensor"),
            ("reduction", "int", 1),
            ("p", "float", float("inf")),
            ("k", "int[2]", 1),
            ("t", "ScalarType", "long"),
        ),
        5,
        ("Tensor[]",),
    ),
    "f_(Tensor(a!) self, Tensor other) -> Tensor(a!)": SignatureFacts(
        (("self", "Tensor"), ("other", "Tensor")), 2, writes=(0,), returned=(0,), base=0
    ),
    "f(Tensor(a) self) -> Tensor(a)": SignatureFacts((("self", "Tensor"),), 1, returned=(-1,), base=0),
    "f(Tensor self) -> (Tensor values, Tensor indices)": SignatureFacts(
        (("self", "Tensor"),), 1, ("Tensor", "Tensor"), ("values", "indices")
    ),
    "f(int[] size, *, ScalarType? dtype=None, Device? device=None, bool? pin_memory=None) -> Tensor": SignatureFacts(
        (("size", "int[]"), ("dtype", "ScalarType?", None), ("device", "Device?", None), ("pin_memory", "bool?", None)),
        1,
        placements=(2, 3),
        is_factory=True,
    ),
    "f(Tensor self, bool[2] output_mask) -> (Tensor, Tensor)": SignatureFacts(
        (("self", "Tensor"), ("output_mask", "bool[2]")), 2, ("Tensor", "Tensor"), masks_outputs=True
    ),
    "f(ScalarType[] t=[float, long], Layout l=strided) -> ()": SignatureFacts(
        (("t", "ScalarType[]", ("float", "long")), ("l", "Layout", None)), 2, (), placements=(1,)
    ),
    "f(Tensor self) -> ()": SignatureFacts((("self", "Tensor"),), 1, ()),
}


@pytest.mark.parametrize("schema", FACTS)
def test_facts_of_a_signature(schema: str) -> None:
    assert SignatureFacts(**facts_of(parse_schema(schema))) == FACTS[schema]


def test_an_operator_defined_by_a_user_takes_what_it_writes_by_keyword() -> None:
    schema = parse_schema("f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
    assert SignatureFacts(**facts_of(schema, with_out=True)) == SignatureFacts(
        (("self", "Tensor"), ("out", "Tensor")), 1, writes=(1,), returned=(1,), base=1
    )


def test_what_was_generated_is_what_the_schemas_say() -> None:
    operators = [each for each in vars(generated.operators).values() if isinstance(each, Operator)]
    wrong = [
        each.schema
        for each in operators
        if vars(each)["facts"] != SignatureFacts(**facts_of(parse_schema(each.schema)))
    ]
    assert not wrong
    assert len(operators) >= 1200


_CALLS = """
import sys
import gradwright as g
x = g.ones(2, 3)
x.half() * x.half(), x * g.ones(3, dtype=g.int64), x.softmax(0, dtype=g.float64), g.zeros((2,), dtype=g.complex64)
x.sum(0, keepdims=True), g.nn.functional.mse_loss(x, x * 2, reduction="sum"), x.max(axis=1).values
g.func.vmap(g.sort)(x), x.add_(g.ones(3, dtype=g.int32)), g.add(x, 1, out=g.empty(2, 3))
try:
    g.add(x, "y")
except TypeError as error:
    assert "add.Tensor" in str(error)
assert "runtime.call.binding" in sys.modules
print(*(each for each in ("codegen.schema.parser", "codegen.schema.types") if each in sys.modules))
"""


def test_calls_read_no_schema() -> None:
    environment = {**os.environ, "GRADWRIGHT_NATIVE": "0"}
    finished = subprocess.run(
        [sys.executable, "-c", _CALLS], env=environment, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (finished.returncode, finished.stdout.strip(), finished.stderr) == (0, "", "")
