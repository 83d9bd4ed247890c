"""Decisions of the plan, each on the smallest input that shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from codegen.dispatch_keys import COMPOSITE_KEYS, COMPOSITES, CPU, CPU_ORDER
from codegen.formula.typed import Variable, VariableKind, walk
from codegen.paths import Paths
from codegen.pipeline import Result, emit
from codegen.plan.kinds import OperatorKind, SavedKind, ViewKind
from codegen.plan.node import NodePlan
from codegen.plan.plan import Plan
from gradwright import ones
from runtime.base.keys import KEYS
from runtime.call.dispatch import Operator

KERNELS = """\
def one(self): return self
def two(self, other): return self
def number(self, other): return self
def size(self, dim, keepdim=False): return self
def sized(self, size): return self
def listed(tensors, dim=0): return tensors[0]
def pieces(self, dim=0): return [self]
def pair(self): return self, self
def three(self, other, third=None): return self
"""
BASE = """\
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch: {CPU: two}
  python_operator: self * other, other * self
- func: mul.Scalar(Tensor self, Scalar other) -> Tensor
  variants: function, method
  dispatch: {CPU: number}
- func: neg(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: one}
  python_operator: -self
- func: expand(Tensor(a) self, SymInt[] size) -> Tensor(a)
  variants: method
  dispatch: {CPU: sized}
- func: conj(Tensor(a) self) -> Tensor(a)
  variants: function, method
  dispatch: {CPU: one}
  python_operator: conj(self)
"""
FORMULAS = """\
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: grad * other.conj()
  other: grad * self.conj()
- name: mul.Scalar(Tensor self, Scalar other) -> Tensor
  self: grad * other
- name: neg(Tensor self) -> Tensor
  self: -grad
- name: expand(Tensor(a) self, SymInt[] size) -> Tensor(a)
  self: grad
- name: conj(Tensor(a) self) -> Tensor(a)
  self: grad.conj()
"""
FUNCTIONS = {
    "f(Tensor self) -> Tensor": "one",
    "f(Tensor self, Tensor other) -> Tensor": "two",
    "f(Tensor self, Scalar other) -> Tensor": "number",
    "f(Tensor self, int dim, bool keepdim=False) -> Tensor": "size",
    "f(Tensor[] tensors, int dim=0) -> Tensor": "listed",
    "f(Tensor self, int dim=0) -> Tensor[]": "pieces",
    "f(Tensor self) -> (Tensor values, Tensor indices)": "pair",
    "f(Tensor self, Tensor other, Tensor? third=None) -> Tensor": "three",
}
HELPERS = """\
def both(grad: Tensor, self: Tensor, mask: Sequence[bool]) -> tuple[Tensor | None, Tensor | None]: ...
def either(first: Tensor | None, second: Tensor | None) -> Tensor: ...
def together(first: Tensor, second: Tensor) -> Tensor: ...
def each(grad: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def joined(grads: Sequence[Tensor | None], dim: int) -> Tensor: ...
"""


def node_of(planned: Callable[..., Plan], schema: str, *formulas: str) -> NodePlan:
    """The Node of an operator `f` with this schema and these lines of derivatives.yaml."""
    plan = planned(
        BASE + f"- func: {schema}\n  variants: function\n  dispatch: {{CPU: {FUNCTIONS[schema]}}}\n",
        FORMULAS + f"- name: {schema}\n" + "".join(f"  {line}\n" for line in formulas),
        HELPERS,
        KERNELS,
    )
    node = plan.operators[-1].autograd.node
    assert node is not None
    return node


def saved_of(node: NodePlan) -> dict[str, tuple[SavedKind, tuple[int, ...]]]:
    return {saved.name: (saved.kind, saved.needed_by) for saved in node.saved}


UNARY, BINARY = "f(Tensor self) -> Tensor", "f(Tensor self, Tensor other) -> Tensor"


@pytest.mark.parametrize(
    ("formula", "saved"),
    [
        ("self: grad", {}),
        ("self: -grad", {}),
        ("self: grad * self", {"self": (SavedKind.TENSOR, ())}),
        ("self: grad * result", {"result": (SavedKind.RESULT, ())}),
        ("self: grad.expand(self.sym_sizes())", {"self_sym_sizes": (SavedKind.VALUE, ())}),
        ("self: grad * self.dim()", {"self_dim": (SavedKind.VALUE, ())}),
        (
            "self: grad.expand(self.sizes()) * self",
            {"self_sizes": (SavedKind.VALUE, ()), "self": (SavedKind.TENSOR, ())},
        ),
        ("self: grad * self * self", {"self": (SavedKind.TENSOR, ())}),
    ],
)
def test_what_is_saved(planned: Callable[..., Plan], formula: str, saved: dict[str, Any]) -> None:
    assert saved_of(node_of(planned, UNARY, formula)) == saved


def test_an_input_is_saved_for_the_gradient_that_needs_it(planned: Callable[..., Plan]) -> None:
    node = node_of(planned, BINARY, "self: grad * other", "other: grad * self")
    assert saved_of(node) == {"other": (SavedKind.TENSOR, (0,)), "self": (SavedKind.TENSOR, (1,))}
    shared = node_of(planned, BINARY, "self: grad * other", "other: grad * other")
    assert saved_of(shared) == {"other": (SavedKind.TENSOR, ())}


def test_numbers_and_optional_tensors_are_saved_as_such(planned: Callable[..., Plan]) -> None:
    scalar = node_of(planned, "f(Tensor self, Scalar other) -> Tensor", "self: grad * other")
    assert saved_of(scalar) == {"other": (SavedKind.VALUE, ())}
    optional = node_of(
        planned, "f(Tensor self, Tensor other, Tensor? third=None) -> Tensor",
        "self: grad * either(third, other)", "other: grad", "third: grad",
    )  # fmt: skip
    assert saved_of(optional) == {"third": (SavedKind.OPTIONAL, (0,)), "other": (SavedKind.TENSOR, (0,))}
    assert [edge.is_optional for edge in optional.edges] == [False, False, True]


def test_an_input_that_is_not_differentiable_has_no_edge(planned: Callable[..., Plan]) -> None:
    node = node_of(planned, BINARY, "self: grad", "other: non_differentiable")
    assert [edge.name for edge in node.edges] == ["self"]


def test_a_derivative_that_is_not_implemented_keeps_its_edge_and_reason(planned: Callable[..., Plan]) -> None:
    node = node_of(planned, BINARY, "self: grad", "other: 'not_implemented(\"the limit\")'")
    assert [edge.name for edge in node.edges] == ["self", "other"]
    assert [gradient.tree is None for gradient in node.gradients] == [False, True]
    assert node.gradients[1].reason == "the limit"


def test_a_joint_formula_is_one_gradient_of_two_edges(planned: Callable[..., Plan]) -> None:
    node = node_of(planned, BINARY, '"self, other": both(grad, self, grad_input_mask)')
    assert [(gradient.names, gradient.edges) for gradient in node.gradients] == [(("self", "other"), (0, 1))]
    tree = node.gradients[0].tree
    assert tree is not None
    assert VariableKind.MASK in {part.kind for part in walk(tree) if isinstance(part, Variable)}


def test_a_list_of_tensors_is_an_edge_of_its_own_kind(planned: Callable[..., Plan]) -> None:
    node = node_of(planned, "f(Tensor[] tensors, int dim=0) -> Tensor", "tensors: each(grad, tensors)")
    assert [(edge.name, edge.is_list) for edge in node.edges] == [("tensors", True)]
    assert saved_of(node) == {"tensors": (SavedKind.LIST, ())}


def test_a_list_result_makes_a_node_of_so_many_outputs(planned: Callable[..., Plan]) -> None:
    node = node_of(planned, "f(Tensor self, int dim=0) -> Tensor[]", "self: joined(grads, dim)")
    assert node.dynamic
    assert not node.single
    assert node.gradients[0].materialize == ()


PAIR = "f(Tensor self) -> (Tensor values, Tensor indices)"


def test_grad_alone_makes_the_first_output_the_only_differentiable_one(planned: Callable[..., Plan]) -> None:
    assert node_of(planned, PAIR, "self: grad").outputs == (0,)
    assert node_of(planned, PAIR, "self: grads[0]").outputs == (0, 1)


def test_output_differentiability_decides(planned: Callable[..., Plan]) -> None:
    node = node_of(planned, PAIR, "output_differentiability: [False, True]", "self: grad")
    assert node.outputs == (1,)
    assert node.single


@pytest.mark.parametrize(
    ("formula", "reads", "materialize"),
    [
        ("self: either(grads[0], grads[1])", (0, 1), ()),
        ("self: together(grads[0], grads[1])", (0, 1), (0, 1)),
        ("self: 'grads[0].defined() ? together(grads[0], grads[1]) : grads[1]'", (0, 1), (0, 1)),
        ("self: together(either(grads[0], grads[1]), grads[1])", (0, 1), (1,)),
        ("self: grads[1]", (1,), ()),
        ("self: grads[0].neg()", (0,), ()),
    ],
)
def test_gradients_that_a_formula_reads(
    planned: Callable[..., Plan], formula: str, reads: tuple[int, ...], materialize: tuple[int, ...]
) -> None:
    gradient = node_of(planned, PAIR, formula).gradients[0]
    assert (gradient.reads, gradient.materialize) == (reads, materialize)


def test_nodes_are_numbered_over_the_overloads(planned: Callable[..., Plan]) -> None:
    names = [node.class_name for node in planned(BASE, FORMULAS, HELPERS, KERNELS).nodes]
    assert names == ["MulBackward0", "MulBackward1", "NegBackward0", "ExpandBackward0", "ConjBackward0"]


def test_views_variants_and_packets(planned: Callable[..., Plan]) -> None:
    functions = BASE.replace("  python_operator: -self\n", "  python_operator: -self\n  autogen: neg_, neg.out\n")
    plan = planned(functions, FORMULAS, HELPERS, KERNELS)
    operators = {str(operator.name): operator for operator in plan.operators}
    assert {name for name, operator in operators.items() if operator.view is ViewKind.SINGLE} == {"expand", "conj"}
    assert (str(operators["neg"].python.inplace), str(operators["neg"].python.out)) == ("neg_", "neg.out")
    assert operators["conj"].python.inplace is None
    packets = {packet.base: packet for packet in plan.packets}
    assert packets["mul"].overloads == (("Tensor", "mul_Tensor"), ("Scalar", "mul_Scalar"))
    assert packets["expand"].is_method
    assert not packets["expand"].is_function


def test_formulas_of_another_key_are_checked_and_the_default_is_planned(analysed: Callable[..., Result]) -> None:
    block = "- name: neg(Tensor self) -> Tensor\n  dispatch:\n    Default:\n      self: -grad\n"
    formulas = FORMULAS.replace("- name: neg(Tensor self) -> Tensor\n  self: -grad\n", block)
    plan = analysed(BASE, formulas, HELPERS, KERNELS).plan
    assert plan is not None
    assert plan.operators[2].autograd.node is not None
    broken = formulas.replace("      self: -grad\n", "      self: -grad\n    AutogradCUDA:\n      self: -grd\n")
    assert [item.message for item in analysed(BASE, broken, HELPERS, KERNELS).diagnostics.items] == [
        "unknown name 'grd'"
    ]


@pytest.mark.parametrize(
    ("formula", "linear"),
    [
        ("grad", True), ("-grad", True), ("grad * self", True), ("self * grad", True), ("grad.conj()", True),
        ("grad * 2", True), ("self.dim() > 1 ? grad : -grad", True),
        ("grad * grad", False), ("self", False), ("grad * (grad * self)", False),
        ("self.dim() > 1 ? grad : self", False),
    ],
)  # fmt: skip
def test_a_formula_is_linear_in_the_gradient(analysed: Callable[..., Result], formula: str, linear: bool) -> None:
    schema = "- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: one}\n"
    result = analysed(
        BASE + schema, FORMULAS + f"- name: f(Tensor self) -> Tensor\n  self: '{formula}'\n", HELPERS, KERNELS
    )
    assert (result.plan is not None) == linear, [item.message for item in result.diagnostics.items]


@pytest.mark.parametrize(
    ("dispatch", "kind", "kernel"),
    [
        ("{Meta: number, CPU: one}", OperatorKind.KERNEL, "one"),
        ("{CPU: one, Meta: number}", OperatorKind.KERNEL, "one"),
        ("{CompositeExplicitAutogradNonFunctional: made, CPU: one}", OperatorKind.KERNEL, "one"),
        ("{CompositeExplicitAutogradNonFunctional: made, Meta: one}", OperatorKind.EXPLICIT, "made"),
        ("{CompositeExplicitAutograd: made, Meta: one}", OperatorKind.EXPLICIT, "made"),
        ("{Meta: one}", OperatorKind.DECLARED, None),
    ],
)
def test_the_kernel_for_the_cpu_is_chosen_once(
    planned: Callable[..., Plan], small_paths: Paths, dispatch: str, kind: OperatorKind, kernel: str | None
) -> None:
    function = f"- func: f(Tensor self) -> Tensor\n  variants: function\n  dispatch: {dispatch}\n"
    kernels, composites = "def one(self): ...\ndef number(self): ...\n", "def made(self): ...\n"
    plan = planned(function, "[]", kernels=kernels, composites=composites)
    (operator,) = plan.operators
    assert operator.kind is kind
    if kernel is not None:
        assert operator.compute.implementation.name == kernel
    files = dict(emit(small_paths, plan))
    straight = [line for line in files["operators.py"].splitlines() if line.startswith("f_default_kernel = ")]
    assert straight == (['f_default_kernel = deferred(small_kernels, "one")'] if kind is OperatorKind.KERNEL else [])


def test_the_general_path_looks_for_kernels_in_the_same_order() -> None:
    assert (CPU, *COMPOSITES) == CPU_ORDER
    assert set(COMPOSITES) < COMPOSITE_KEYS < KEYS
    kernels = {"Meta": lambda array: -array, "CPU": lambda array: array * 2}
    assert Operator("twice(Tensor self) -> Tensor", len, kernels)(ones(2)).tolist() == [2.0, 2.0]
    functions = {"CompositeExplicitAutogradNonFunctional": lambda self: self * 3, "CompositeExplicitAutograd": len}
    assert Operator("thrice(Tensor self) -> Tensor", len, functions)(ones(2)).tolist() == [3.0, 3.0]
