"""What is computed natively: which function or loop an operator has, what writes in place, why Nodes stay in Python."""

from __future__ import annotations

from dataclasses import replace

from codegen.formula.typed import TENSOR
from codegen.plan.loops import ElementDomain, KernelLoop, LoopChoice, loops_in
from codegen.plan.native import NativeOperator, plan_native
from codegen.plan.native_kernels import Native, NumpyFunction, Takes
from codegen.plan.operator import OperatorPlan
from support.own_project import own_native, own_plan

NATIVE = own_native()
OPERATORS = {str(operator.name): operator for operator in own_plan().operators}


def computed(name: str) -> NativeOperator:
    return NATIVE.computed[OPERATORS[name].name]


def test_a_function_by_hand_comes_before_a_loop() -> None:
    assert computed("clamp").function == "clamp"
    assert computed("elu_backward").function is None
    assert isinstance(computed("elu_backward").loop, LoopChoice)


def test_a_loop_reads_tensors_and_then_numbers() -> None:
    loop = computed("mul.Scalar").loop
    assert isinstance(loop, KernelLoop)
    assert loop.is_by_hand
    assert [tensor.name for tensor in loop.loop.tensors] == ["self"]
    assert loop.parameters == ("self", "other")
    for name, operator in OPERATORS.items():
        for each in loops_in(computed(name).loop):
            types = {parameter.name: parameter.type for parameter in operator.python.parameters}
            assert [types[parameter] == TENSOR for parameter in each.parameters] == [True] * len(each.loop.tensors) + [
                False
            ] * len(each.loop.numbers)


def test_what_is_for_complex_numbers_alone_does_not_write_in_place() -> None:
    sigmoid = computed("sigmoid")
    assert isinstance(sigmoid.loop, KernelLoop)
    assert isinstance(sigmoid.writing_loop, KernelLoop)
    assert sigmoid.loop.of_complex is not None
    assert sigmoid.loop.of_complex.elements is ElementDomain.COMPLEX
    assert sigmoid.writing_loop == replace(sigmoid.loop, of_complex=None)
    # There is no such variant of what no result may lie in, and of a backward.
    assert computed("sigmoid_backward").writing_loop is None


def test_a_function_of_numpy_is_a_loop_where_none_is_written_by_hand() -> None:
    numpy = NATIVE.kernels.core.numpy
    assert numpy["asin"] == NumpyFunction("asin", "arcsin", 1, Takes.INEXACT)  # of what integers became
    assert numpy["gcd"] == NumpyFunction("gcd", "gcd", 2, Takes.ALL)
    assert "exp" not in numpy
    loop = computed("asin").loop
    assert isinstance(loop, KernelLoop)
    assert (loop.name, loop.parameters) == ("asin", ("self",))


def test_operators_of_a_base_have_no_loops_of_formulas_here() -> None:
    base = [operator for operator in OPERATORS.values() if operator.compute.composite is not None]
    others = [operator for operator in OPERATORS.values() if operator.compute.composite is None]
    planned = plan_native(others, base, Native(NATIVE.kernels.core))
    assert any(NATIVE.computed[operator.name].parts for operator in base)
    assert not any(planned.computed[operator.name].parts for operator in base)


def reasons(operators: list[OperatorPlan]) -> dict[str, str | None]:
    return {
        node.class_name: NATIVE.nodes[node.class_name].reason
        for operator in operators
        for node in operator.autograd.nodes
    }


def test_nodes_that_stay_in_python_say_why() -> None:
    known = reasons(list(OPERATORS.values()))
    assert known["MulBackward0"] is None
    assert known["CatBackward0"] == "one of its inputs is a list"
    assert known["UnbindBackward0"] == "its results are a list"
    assert all(not NATIVE.nodes[name].parts for name, reason in known.items() if reason is not None)


def test_loops_of_several_formulas_take_turns() -> None:
    assert NATIVE.nodes["MulBackward0"].takes_turns
    assert not NATIVE.nodes["TanhBackward0"].takes_turns
