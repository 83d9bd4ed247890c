"""Element-wise formulas as one loop: which ones, in what steps, and what stays a row of statements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codegen.paths import project_paths
from codegen.pipeline import analyze
from codegen.plan.operator import OperatorPlan
from codegen.targets.cpp.functors import with_expressions
from codegen.targets.cpp.fusion import MOST_TEMPORARIES, FusedFormula, Step, fuse
from codegen.targets.cpp.headers import Native, NativeKernels
from codegen.targets.cpp.target import explain

PATHS = project_paths()
PLAN = analyze(PATHS).plan
assert PLAN is not None
KERNELS = with_expressions(Native(NativeKernels.read(*PATHS.native_kernels)), PLAN.operators).core
OPERATORS = {operator.function: operator for operator in PLAN.operators}
BY_NAME = {operator.name: operator for operator in PLAN.operators}


def fused(operator: OperatorPlan, gradient: int = 0, without: str = "") -> FusedFormula | None:
    assert operator.node is not None
    tree = operator.node.gradients[gradient].tree
    assert tree is not None
    functors = {name: count for name, count in KERNELS.functors.items() if name != without}
    return fuse(tree, BY_NAME, Native(replace(KERNELS, functors=functors)))


def names(formula: FusedFormula) -> list[str]:
    return [step.kernel for step in formula.steps]


def test_steps_read_slots_of_tensors_numbers_and_temporaries() -> None:
    # grad * (result.conj() * 0.69...)
    formula = fused(OPERATORS["exp2_default"])
    assert formula is not None
    assert formula.steps == (Step("mul", (1, 2), 3), Step("mul", (0, 3), 4))
    assert [tensor.name for tensor in formula.tensors] == ["grad", "result"]
    assert len(formula.numbers) == 1


def test_what_is_written_twice_is_computed_once() -> None:
    # where(self * beta > threshold, grad, grad * sigmoid(where(self * beta > threshold, threshold, self * beta)))
    formula = fused(OPERATORS["softplus_default"])
    assert formula is not None
    assert names(formula) == ["mul", "gt", "where", "sigmoid_default", "mul", "where"]


def test_a_result_never_takes_the_place_of_its_operands() -> None:
    for operator in OPERATORS.values():
        gradients = range(len(operator.node.gradients)) if operator.node is not None else ()
        for gradient in gradients:
            if operator.node is None or operator.node.gradients[gradient].tree is None:
                continue
            formula = fused(operator, gradient)
            if formula is None:
                continue
            first = len(formula.tensors) + len(formula.numbers)
            written = set(range(first))
            for step in formula.steps:
                assert set(step.operands) <= written
                assert step.result not in step.operands
                assert first <= step.result < first + MOST_TEMPORARIES
                written.add(step.result)


@pytest.mark.parametrize(
    ("function", "without"),
    [
        ("sin_default", "cos"),  # no loop for a kernel
        ("sum_dim_IntList", ""),  # not element-wise
        ("pow_Tensor_Scalar", ""),
    ],
)
def test_others_stay_statements(function: str, without: str) -> None:
    assert fused(OPERATORS[function], without=without) is None


def apply_of(function: str) -> str:
    assert PLAN is not None
    return explain(OPERATORS[function], PLAN, PATHS).partition("::apply(")[2]


def test_the_last_formula_that_reads_the_gradient_may_take_its_memory() -> None:
    assert "TanhBackward0_self::run<2>(0, grad, " in apply_of("tanh_default")
    assert "MulBackward0_self::run<2>(has_edge(node, 1) ? -1 : 0, grad, " in apply_of("mul_Tensor")
    assert "MulBackward0_other::run<2>(0, grad, " in apply_of("mul_Tensor")


def test_the_statements_stand_behind_the_loop() -> None:
    assert PLAN is not None
    text = explain(OPERATORS["sin_default"], PLAN, PATHS)
    assert "Part<struct kernels::cos, 2, 1>," in text
    loop, _, statements = text.partition("self_gradient = SinBackward0_self::run<2>(0, grad, self_.get());")
    assert "ops::cos_default_" not in loop
    assert "ops::cos_default_(self_.get())" in statements
