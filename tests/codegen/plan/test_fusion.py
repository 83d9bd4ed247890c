"""Which parts of formulas run as one loop, in what steps, and whose memory they take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codegen.formula.typed import OperatorCall, walk
from codegen.plan.elementwise import ChoicePlan, Way
from codegen.plan.fusion import MOST_TEMPORARIES, fuse
from codegen.plan.loops import Donation, FusedLoop, LoopChoice, LoopPart, loops_in
from codegen.plan.native_kernels import Native
from codegen.plan.operator import OperatorPlan
from support.own_project import own_native, own_plan

NATIVE = own_native()
KERNELS = NATIVE.kernels.core
OPERATORS = {operator.python.function: operator for operator in own_plan().operators}


def fused(operator: OperatorPlan, gradient: int = 0, without: str = "") -> FusedLoop | None:
    assert operator.autograd.node is not None
    tree = operator.autograd.node.gradients[gradient].tree
    assert tree is not None
    functors = {name: count for name, count in KERNELS.functors.items() if name != without}
    return fuse(tree, NATIVE.operators, Native(replace(KERNELS, functors=functors)))


def steps(loop: FusedLoop) -> list[tuple[str, tuple[int, ...]]]:
    """The kernels, each with the slots of its result and of its operands."""
    return [(step.kernel.name, loop.places(number)) for number, step in enumerate(loop.loop.steps)]


def names(loop: FusedLoop) -> list[str]:
    return [step.kernel.name for step in loop.loop.steps]


def parts_of(function: str) -> tuple[tuple[LoopPart, ...], ...]:
    """The loops of each formula of an operator's Node."""
    node = OPERATORS[function].autograd.node
    assert node is not None
    return NATIVE.nodes[node.class_name].parts


def test_steps_read_slots_of_tensors_numbers_and_temporaries() -> None:
    # grad * (result.conj() * 0.69...)
    loop = fused(OPERATORS["exp2_default"])
    assert loop is not None
    assert steps(loop) == [("mul", (3, 1, 2)), ("mul", (4, 0, 3))]
    assert [tensor.name for tensor in loop.loop.tensors] == ["grad", "result"]
    assert len(loop.loop.numbers) == 1


def test_what_is_written_twice_is_computed_once() -> None:
    # grad * sigmoid(self) + sigmoid_backward(grad, sigmoid(self)) * self
    loop = fused(OPERATORS["silu_default"])
    assert loop is not None
    assert names(loop) == ["sigmoid_default", "mul", "sigmoid_backward_default", "mul", "add"]


def test_a_number_is_read_once_whether_it_is_left_out_or_not() -> None:
    # softplus_backward(grad, self, 1, 20) beside softplus(self), which has these numbers as defaults
    loop = parts_of("mish_backward_default")[1][0].loop
    assert steps(loop)[:2] == [("softplus_backward_default", (4, 0, 1, 2, 3)), ("softplus_default", (5, 1, 2, 3))]
    assert len(loop.loop.numbers) == 2


def test_a_result_never_takes_the_place_of_its_operands() -> None:
    every = [part.loop for node in NATIVE.nodes.values() for parts in node.parts for part in parts]
    assert len(every) > 100
    for loop in every:
        first = len(loop.loop.tensors) + len(loop.loop.numbers)
        written = set(range(first))
        for result, *operands in (loop.places(number) for number in range(len(loop.slots))):
            assert set(operands) <= written
            assert result not in operands
            assert first <= result < first + MOST_TEMPORARIES
            written.add(result)


@pytest.mark.parametrize(
    ("function", "without"),
    [
        ("sin_default", "cos"),  # no loop for a kernel
        ("sum_dim_IntList", ""),  # not element-wise
        ("pow_Tensor_Scalar", ""),
    ],
)
def test_others_are_no_loops(function: str, without: str) -> None:
    assert fused(OPERATORS[function], without=without) is None


def test_the_last_formula_that_reads_the_gradient_may_take_its_memory() -> None:
    ((part,),) = parts_of("tanh_default")
    assert (part.donated, part.takes_turns) == (Donation(0, ()), False)
    (first,), (second,) = parts_of("mul_Tensor")
    assert first.donated == Donation(0, (1,))
    assert second.donated == Donation(0, ())


def test_loops_that_read_the_gradient_take_turns() -> None:
    assert all(part.takes_turns for parts in parts_of("mul_Tensor") for part in parts)
    # One formula waits for nobody; nor does what others are made of, which they read at once.
    inner = NATIVE.computed[OPERATORS["margin_ranking_loss_default"].name].parts
    assert [names(part.loop) for part in inner] == [["neg", "sub", "mul", "add", "clamp_min"]]
    assert [(part.donated, part.takes_turns) for part in inner] == [(None, False)]


def test_each_side_of_a_choice_is_a_loop_of_its_own() -> None:
    # eps.has_value() ? where(..., grad / (self * (1 - self)), 0) : where(..., NAN)
    first, _ = parts_of("logit_backward_default")
    assert len(first) == 2
    # Both may take the memory of the gradient where the formula behind them does not run.
    assert {part.donated for part in first} == {Donation(1, (1,))}


def test_one_kernel_alone_is_no_loop() -> None:
    assert NATIVE.computed[OPERATORS["divide_Tensor"].name].parts == ()


def test_what_is_refused_for_some_arguments_is_no_part_of_a_loop() -> None:
    refusing = {
        str(operator.name): operator.compute.implementation.name
        for operator in OPERATORS.values()
        if operator.compute.elementwise is not None and operator.compute.elementwise.requirements
    }
    trees = [each.compute.composite.tree for each in OPERATORS.values() if each.compute.composite is not None]
    trees += [
        gradient.tree
        for operator in OPERATORS.values()
        for node in operator.autograd.nodes
        for gradient in node.gradients
        if gradient.tree is not None
    ]
    called = set()
    for tree in trees:
        for part in walk(tree):
            if isinstance(part, OperatorCall):
                called.add(str(part.schema.name))
                loop = fuse(part, NATIVE.operators, NATIVE.kernels)
                assert loop is None or set(names(loop)).isdisjoint(refusing.values())
    assert any(refusing[name] in KERNELS.functors for name in called & set(refusing))


def test_a_parameter_that_makes_no_difference_is_no_operand() -> None:
    # leaky_relu_backward(grad, self, negative_slope, self_is_result): self > 0 ? grad_output : ...
    loop = fused(OPERATORS["leaky_relu_backward_default"])
    assert loop is not None
    assert steps(loop) == [("leaky_relu_backward_default", (3, 0, 1, 2))]
    assert [tensor.name for tensor in loop.loop.tensors] == ["grad", "self"]


# -- loops of kernels


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
    known = KERNELS.expressions["elu_backward_default"]
    assert isinstance(known, LoopChoice)
    loops = list(loops_in(known))
    assert [loop.name for loop in loops] == ["elu_backward_default_1", "elu_backward_default_2"]
    for loop in loops:
        # Tensors come first, and nothing asks which way this is.
        assert loop.parameters == ("grad_output", "self_or_result", "alpha", "scale", "input_scale")
        assert len(loop.loop.tensors) == 2
