"""Formulas that run as one loop, as C++ has them: the table, its call, and the statements for where it declines."""

from __future__ import annotations

import re

from codegen.paths import project_paths
from codegen.plan.loops import loops_in
from codegen.targets.cpp.functors import functor_lines
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.target import explain
from support.own_project import own_native, own_plan

PATHS = project_paths()
PLAN = own_plan()
NATIVE = own_native()
OPERATORS = {operator.python.function: operator for operator in PLAN.operators}


def apply_of(function: str) -> str:
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
    text = explain(OPERATORS["sin_default"], PLAN, PATHS)
    assert "Part<struct kernels::cos, 2, 1>," in text
    loop, _, statements = text.partition("self_gradient = formulas::SinBackward0_self.run(0, grad, self_.get());")
    assert "ops::cos_default_" not in loop
    assert "ops::cos_default_(self_.get())" in statements


def text_of(function: str) -> str:
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


def test_a_loop_of_each_way_gets_what_it_reads() -> None:
    for loop in loops_in(NATIVE.kernels.core.expressions["elu_backward_default"]):
        # Nothing asks which way this is.
        assert "is_result_" not in "".join(functor_lines(cpp(loop.name), loop, NATIVE.kernels)).partition("struct")[2]
    text = text_of("elu_backward_default")
    entry = text.partition("Ref elu_backward_default_(")[2]
    arguments = "grad_output_,self_or_result_,alpha_,"
    chosen, _, other = "".join(entry.split()).partition("}else{")
    assert f"elementwise<kernels::elu_backward_default_1_,2>({arguments}" in chosen
    assert f"elementwise<kernels::elu_backward_default_2_,2>({arguments}" in other


def test_nan_is_written_as_a_number() -> None:
    loops = loops_in(NATIVE.kernels.core.expressions["logit_backward_default"])
    lines = [line for loop in loops for line in functor_lines(cpp(loop.name), loop, NATIVE.kernels)]
    assert "std::numeric_limits<T>::quiet_NaN()" in "".join(lines)
