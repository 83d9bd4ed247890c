"""Element-wise formulas as one loop: which ones, in what steps, and what stays a row of statements."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from codegen.formula.typed import OperatorCall, walk
from codegen.paths import project_paths
from codegen.plan.elementwise import ChoicePlan, Way
from codegen.plan.operator import OperatorPlan
from codegen.targets.cpp.functors import with_expressions
from codegen.targets.cpp.fusion import MOST_TEMPORARIES, FusedFormula, Step, fuse
from codegen.targets.cpp.headers import Native, NativeKernels, WrittenChoice, WrittenFunctor
from codegen.targets.cpp.target import explain
from support.own_project import own_analysis

PATHS = project_paths()
PLAN = own_analysis().plan
assert PLAN is not None
KERNELS = with_expressions(Native(NativeKernels.read(*PATHS.native_kernels)), PLAN.operators).core
OPERATORS = {operator.python.function: operator for operator in PLAN.operators}
BY_NAME = {operator.name: operator for operator in PLAN.operators}


def fused(operator: OperatorPlan, gradient: int = 0, without: str = "") -> FusedFormula | None:
    assert operator.autograd.node is not None
    tree = operator.autograd.node.gradients[gradient].tree
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
    # grad * sigmoid(self) + sigmoid_backward(grad, sigmoid(self)) * self
    formula = fused(OPERATORS["silu_default"])
    assert formula is not None
    assert names(formula) == ["sigmoid_default", "mul", "sigmoid_backward_default", "mul", "add"]


def test_a_result_never_takes_the_place_of_its_operands() -> None:
    for operator in OPERATORS.values():
        gradients = range(len(operator.autograd.node.gradients)) if operator.autograd.node is not None else ()
        for gradient in gradients:
            if operator.autograd.node is None or operator.autograd.node.gradients[gradient].tree is None:
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
    assert "TanhBackward0_self.run(0, grad, " in apply_of("tanh_default")
    assert re.search(
        r"MulBackward0_self.run\(\s*interleaved, has_edge\(node, 1\) \? -1 : 0, grad,", apply_of("mul_Tensor")
    )
    assert "MulBackward0_other.run(interleaved, 0, grad, " in apply_of("mul_Tensor")


def test_loops_that_read_the_gradient_take_turns() -> None:
    _, declared, formulas = apply_of("mul_Tensor").partition("InterleavedFormulas interleaved(grad);")
    loops, finished, results = formulas.partition("interleaved.finish();")
    assert declared
    assert finished
    assert len(re.findall(r"\.run\(\s*interleaved, ", loops)) == 2
    assert "results[0] = " in results
    # One formula waits for nobody; nor does what others are made of, which they read at once.
    assert "interleaved" not in apply_of("tanh_default")
    assert "interleaved" not in text_of("margin_ranking_loss_default")


def test_the_statements_stand_behind_the_loop() -> None:
    assert PLAN is not None
    text = explain(OPERATORS["sin_default"], PLAN, PATHS)
    assert "Part<struct kernels::cos, 2, 1>," in text
    loop, _, statements = text.partition("self_gradient = formulas::SinBackward0_self.run(0, grad, self_.get());")
    assert "ops::cos_default_" not in loop
    assert "ops::cos_default_(self_.get())" in statements


def text_of(function: str) -> str:
    assert PLAN is not None
    return explain(OPERATORS[function], PLAN, PATHS)


def test_a_part_of_a_formula_is_a_loop_where_the_whole_is_none() -> None:
    # reduced(clamp_min(-target * (input1 - input2) + margin * 1.0, 0), reduction)
    text = text_of("margin_ranking_loss_default")
    table, _, body = text.partition("// margin_ranking_loss(")
    steps = re.findall(r"Part<struct kernels::(\w+)", table)
    assert steps == ["neg", "sub", "mul", "add", "clamp_min"]
    loop, called, statements = body.partition("formulas::margin_ranking_loss_default_formula.run(")
    assert called
    assert statements.split(")")[0].split()[:4] == ["-1,", "target_,", "input1_,", "input2_,"]
    assert "ops::" not in loop
    assert "ops::clamp_min_default_" in statements
    assert "py::loss_helpers_reduced, t0.get()" in statements


def test_each_side_of_a_choice_is_a_loop_of_its_own() -> None:
    # eps.has_value() ? where(..., grad / (self * (1 - self)), 0) : where(..., NAN)
    text = text_of("logit_backward_default")
    choice = text.partition("if (is_defined(eps_.get())) {")[2]
    with_eps, _, without = choice.partition("} else {")
    # Both may take the memory of the gradient where the formula behind them does not run.
    donated = r"has_edge\(node, 1\) \? -1 : 1, self_.get\(\), grad, "
    assert re.search(rf"LogitBackwardBackward0_grad_output.run\(\s*{donated}eps_", with_eps)
    assert re.search(rf"LogitBackwardBackward0_grad_output_2.run\(\s*{donated}py::constant_0", without)


def test_one_kernel_alone_is_a_statement() -> None:
    assert "_formula" not in text_of("divide_Tensor")


def test_what_is_refused_for_some_arguments_is_no_part_of_a_loop() -> None:
    refusing = {
        str(operator.name): operator.compute.implementation.name
        for operator in BY_NAME.values()
        if operator.compute.elementwise is not None and operator.compute.elementwise.requirements
    }
    trees = [operator.compute.composite.tree for operator in BY_NAME.values() if operator.compute.composite is not None]
    for operator in BY_NAME.values():
        trees += [
            gradient.tree
            for node in operator.autograd.nodes
            for gradient in node.gradients
            if gradient.tree is not None
        ]
    called = set()
    for tree in trees:
        for part in walk(tree):
            if isinstance(part, OperatorCall):
                called.add(str(part.schema.name))
                formula = fuse(part, BY_NAME, Native(KERNELS))
                assert formula is None or set(names(formula)).isdisjoint(refusing.values())
    assert any(refusing[name] in KERNELS.functors for name in called & set(refusing))


def ways(way: Way) -> object:
    """The kernels of each way by what chooses it."""
    if isinstance(way, ChoicePlan):
        return ways(way.then), ways(way.orelse)
    return [step.kernel.name for step in way if step.kernel is not None]


def way_of(function: str) -> Way:
    plan = OPERATORS[function].compute.elementwise
    assert plan is not None
    return plan.way


def test_numbers_choose_before_the_first_step() -> None:
    assert ways(way_of("elu_backward_default")) == (
        ["le", "add", "mul", "mul", "mul", "where"],
        ["le", "mul", "exp", "mul", "mul", "mul", "where"],
    )
    # `min.has_value()` stands on both sides of `max.has_value()`; where there is neither, the argument is the result.
    assert ways(way_of("clamp_default")) == (
        (["clamp_min", "clamp_max"], ["clamp_max"]),
        (["clamp_min"], []),
    )
    # It stands twice within one side, and is asked once.
    assert ways(way_of("logit_default")) == (
        ["clamp_min", "clamp_max", "rsub", "div", "log"],
        ["rsub", "div", "log"],
    )


def test_a_loop_of_each_way_gets_what_it_reads() -> None:
    written = KERNELS.written["elu_backward_default"]
    assert isinstance(written, WrittenChoice)
    for functor in (written.then, written.orelse):
        assert isinstance(functor, WrittenFunctor)
        # Tensors come first, and nothing asks which way this is.
        assert functor.parameters == ("grad_output", "self_or_result", "alpha", "scale", "input_scale")
        assert functor.tensors == 2
        assert "is_result_" not in "".join(functor.lines).partition("struct")[2]
    text = text_of("elu_backward_default")
    entry = text.partition("Ref elu_backward_default_(")[2]
    arguments = "grad_output_,self_or_result_,alpha_,"
    chosen, _, other = "".join(entry.split()).partition("}else{")
    assert f"elementwise<kernels::elu_backward_default_1_,2>({arguments}" in chosen
    assert f"elementwise<kernels::elu_backward_default_2_,2>({arguments}" in other


def test_a_parameter_that_makes_no_difference_is_no_operand() -> None:
    # leaky_relu_backward(grad, self, negative_slope, self_is_result): self > 0 ? grad_output : ...
    formula = fused(OPERATORS["leaky_relu_backward_default"])
    assert formula is not None
    assert formula.steps == (Step("leaky_relu_backward_default", (0, 1, 2), 3),)
    assert [tensor.name for tensor in formula.tensors] == ["grad", "self"]


def test_nan_is_written_as_a_number() -> None:
    assert "std::numeric_limits<T>::quiet_NaN()" in "".join(written_lines("logit_backward_default"))


def written_lines(name: str) -> list[str]:
    pending = [KERNELS.written[name]]
    lines: list[str] = []
    while pending:
        written = pending.pop()
        if isinstance(written, WrittenChoice):
            pending += [side for side in (written.then, written.orelse) if side is not None]
        else:
            lines += written.lines
    return lines
