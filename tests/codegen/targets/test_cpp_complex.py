"""Which expressions over elements have loops of complex numbers in C++, and what is written for them."""

from __future__ import annotations

import pytest

from codegen.paths import project_paths
from codegen.plan.loops import ElementDomain, KernelLoop, loops_in
from codegen.plan.operator import OperatorPlan
from codegen.read.kernel_table import Fact
from codegen.targets.cpp.functors import functor_lines
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.target import explain
from support.own_project import own_native, own_plan

PATHS = project_paths()
PLAN = own_plan()
KERNELS = own_native().kernels
EXPRESSIONS = {str(each.name): each for each in PLAN.operators if each.compute.elementwise is not None}


def loops_of(operator: OperatorPlan) -> list[KernelLoop]:
    return list(loops_in(KERNELS.core.expressions.get(operator.compute.implementation.name)))


def takes_complex(loop: KernelLoop) -> bool:
    by_hand = loop.is_by_hand and KERNELS.core.says(loop.name, Fact.ALSO_COMPLEX)
    return by_hand or loop.of_complex is not None or loop.elements is ElementDomain.ANY


def text(loop: KernelLoop | None) -> str:
    assert loop is not None
    return "\n".join(functor_lines(cpp(loop.name), loop, KERNELS))


def test_which_operators_have_loops_of_complex_numbers() -> None:
    found = {
        name
        for name, operator in EXPRESSIONS.items()
        if loops_of(operator) and all(map(takes_complex, loops_of(operator)))
    }
    assert found == {
        "addcmul", "addcdiv", "lerp.Scalar", "lerp.Tensor", "rsqrt", "sinc", "sigmoid", "sigmoid_backward",
        "tanh_backward", "silu", "silu_backward", "native_dropout_backward",
    }  # fmt: skip


def test_what_is_of_real_numbers_has_none() -> None:
    """The entry says so, or it follows from an expression that is not holomorphic; or NumPy has no such function."""
    plans = {name: operator.compute.elementwise for name, operator in EXPRESSIONS.items()}
    for name in ("relu", "softplus", "log_sigmoid", "logit", "xlogy.Tensor", "leaky_relu", "softshrink"):
        plan = plans.get(name)
        assert plan is None or not plan.of_complex, name
    plan = plans["ldexp.Tensor"]  # exp2
    assert plan is not None
    assert plan.of_complex
    assert not any(map(takes_complex, loops_of(EXPRESSIONS["ldexp.Tensor"])))


def test_steps_of_real_numbers_are_known_by_the_tree() -> None:
    plan = EXPRESSIONS["lerp.Tensor"].compute.elementwise
    assert plan is not None
    known = {step.kernel.name: (step.of_reals, step.gives_real) for step in plan.steps if step.kernel is not None}
    assert known["magnitude"] == (False, True)
    assert known["lt"] == (True, True)
    assert known["mul"] == known["where"] == (False, False)


def test_arithmetic_is_one_functor_for_all_numbers() -> None:
    (loop,) = loops_of(EXPRESSIONS["sigmoid_backward"])
    assert loop.of_complex is None
    assert (
        text(loop)
        == """\
// elementwise: grad_output * _conj_physical(output * (1 - output))
struct sigmoid_backward_default_ {
  static constexpr bool for_complex = true;
  template <class T>
  static T apply(T grad_output_, T output_) {
    const T step_0 = rsub::apply(output_, T(1));
    const T step_1 = mul::apply(output_, step_0);
    const T step_2 = conjugate::apply(step_1);
    return mul::apply(grad_output_, step_2);
  }
};"""
    )


def test_a_function_of_numpy_gets_blocks_of_complex_numbers() -> None:
    (loop,) = loops_of(EXPRESSIONS["sigmoid"])
    assert loop.is_by_hand  # of real numbers
    assert (
        text(loop.of_complex)
        == """\
// elementwise: 1 / (exp(-self) + 1)
struct sigmoid_default_complex_ {
  static constexpr bool only_complex = true;
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* self_, T* out, npy_intp size) {
    T step_1[kBlock<T>];
    for (npy_intp i = 0; i < size; ++i) {
      step_1[i] = neg::apply(self_[i]);
    }
    by_numpy<exp>(step_1, step_1, size);
    for (npy_intp i = 0; i < size; ++i) {
      const T value_2 = add::apply(step_1[i], T(1));
      out[i] = reciprocal::apply(value_2);
    }
  }
};"""
    )


def test_real_steps_are_of_the_real_parts() -> None:
    (loop,) = loops_of(EXPRESSIONS["lerp.Tensor"])
    lines = text(loop.of_complex).split("\n")
    assert "    const T step_0 = magnitude::apply(weight_);" in lines
    assert "    const T step_1 = T(lt::choose(real_part(step_0), real_part(T(0.5))));" in lines
    assert "    return where::choose(step_1, step_4, step_7);" in lines


def test_numbers_are_computed_as_real_ones() -> None:
    _, loop = loops_of(EXPRESSIONS["lerp.Scalar"])
    assert "T((Real<T>(1) - real_part(weight_)))" in text(loop.of_complex)


@pytest.mark.parametrize("name", ["sigmoid", "silu", "rsqrt"])
def test_the_entry_has_one_loop_for_all_numbers(name: str) -> None:
    written = explain(EXPRESSIONS[name], PLAN, PATHS)
    assert f"unary<kernels::{name}_default_with_complex_>(self_)" in written
    assert "has_inexact_dtype(self_)" in written or name == "silu"  # whose entry says what it takes
    # A loop in blocks does not write what it reads.
    assert f"write_unary<kernels::{name}>(self_)" in written
