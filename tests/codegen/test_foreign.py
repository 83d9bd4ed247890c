"""Foreign YAML over the project's kernels: what is adopted, what is bound late, what is said about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from codegen.codes import Code
from codegen.formula.typed import HelperCall, walk
from codegen.paths import Paths
from codegen.pipeline import Result, analyze, emit, judgement
from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan

OWN = """\
- func: neg(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: one}
  python_operator: -self
- func: twice(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: one}
"""
FOREIGN = """\
- func: neg(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: neg_of_somebody_else}
- func: neg_(Tensor(a!) self) -> Tensor(a!)
  variants: function, method
- func: far(Tensor self, Tensor other) -> Tensor
  variants: function
  dispatch: {CPU: far_cpu}
"""
FORMULAS = """\
- name: neg(Tensor self) -> Tensor
  self: helped(grad, self)
- name: neg_(Tensor(a!) self) -> Tensor(a!)
  self: "grad.defined() ? grad.neg() : Tensor()"
- name: far(Tensor self, Tensor other) -> Tensor
  self: far(-grad, other)
"""
HELPERS = "- helper: helped(Tensor grad, Tensor self) -> Tensor\n"
IMPLEMENTED = "def helped(grad: Tensor, self: Tensor) -> Tensor: return grad\n"


@pytest.fixture
def foreign(small_paths: Paths, tmp_path: Path) -> Paths:
    small_paths.native_functions.write_text(OWN, encoding="utf-8")
    small_paths.derivatives.write_text("- name: twice(Tensor self) -> Tensor\n  self: neg(grad)\n", encoding="utf-8")
    (small_paths.operators / "upstream").mkdir()
    (small_paths.operators / "kernels" / "small.py").write_text("def one(self): return self\n", encoding="utf-8")
    texts = {"functions.yaml": FOREIGN, "formulas.yaml": FORMULAS, "helpers.yaml": HELPERS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = small_paths.foreign(tmp_path / "functions.yaml", [tmp_path / "helpers.yaml"])
    return replace(made, derivatives=tmp_path / "formulas.yaml")


def operator(result: Result, name: str) -> OperatorPlan:
    assert result.plan is not None, [item.message for item in result.diagnostics.items]
    return next(operator for operator in result.plan.operators if str(operator.name) == name)


def test_operators_of_the_same_name_are_adopted_and_others_bound_late(foreign: Paths) -> None:
    result = analyze(foreign)
    assert [str(key) for key, _ in operator(result, "neg").compute.implementations] == ["CPU"]
    assert operator(result, "far").kind is OperatorKind.DECLARED
    assert operator(result, "twice").autograd.node is not None  # only the project has it


def test_foreign_operators_keep_the_keys_of_the_projects_own(foreign: Paths) -> None:
    result = analyze(foreign)
    assert result.plan is not None
    assert [(sign.dunder, sign.packet.base) for sign in result.plan.signs] == [("__neg__", "neg")]
    far = operator(result, "far").autograd.node
    assert far is not None
    assert far.gradients[0].tree is not None  # `-grad` is a call of theirs


def test_an_inplace_variant_with_formulas_has_a_node_of_its_own(foreign: Paths) -> None:
    neg = operator(analyze(foreign), "neg")
    assert str(neg.python.inplace) == "neg_"
    assert [node.class_name for node in neg.autograd.nodes] == ["NegBackward0", "NegBackward1"]


@pytest.mark.parametrize(
    ("function", "bound"),
    [
        (IMPLEMENTED, True),
        ("", False),
        ("def helped(self: Tensor, grad: Tensor) -> Tensor: return grad\n", False),  # the types alone would fit
        ("def helped(grad: Tensor, self: int) -> Tensor: return grad\n", False),
    ],
)
def test_a_helper_is_bound_by_name_parameters_and_types(foreign: Paths, function: str, bound: bool) -> None:
    (foreign.operators / "helpers" / "small.py").write_text(function, encoding="utf-8")
    result = analyze(foreign)
    assert result.plan is not None
    (helper,) = result.plan.helpers
    assert (helper.function is not None) == bound


def test_what_would_be_an_error_at_home_is_a_finding(foreign: Paths) -> None:
    result = analyze(foreign)
    assert result.diagnostics.items == []
    assert [item.message for item in result.findings.items] == ["no formula for 'other' of 'far'"]
    report = judgement(foreign, result)
    assert "no formula for 'other' of 'far'" in report
    assert "this branch is never taken" in report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HELPERS + HELPERS, "duplicate declaration of 'helped'"),
        ("- helper: helped(Tensor grad -> Tensor\n", "unbalanced parenthesis"),
        ("- helpers: helped(Tensor grad) -> Tensor\n", "unknown key 'helpers'"),
        ("- helper: helped(Tensr grad) -> Tensor\n", "unknown type 'Tensr'"),
    ],
)
def test_mistakes_in_a_helper_file(foreign: Paths, text: str, message: str) -> None:
    foreign.helpers[0].write_text(text, encoding="utf-8")
    assert any(message in item.message for item in analyze(foreign).diagnostics.items)


def test_forward_formulas_that_foreign_entries_lack_are_the_projects(foreign: Paths) -> None:
    assert foreign.library is not None
    _, own = foreign.library
    own.write_text("- name: neg(Tensor self) -> Tensor\n  self: neg(grad)\n  result: neg(self_t)\n", encoding="utf-8")
    result = analyze(foreign)
    assert operator(result, "neg").autograd.forward is not None
    assert [formula.names for entry in result.resolved for formula in entry.forward] == []  # theirs are what they were


def test_a_forward_formula_of_what_is_not_differentiable_is_not_supplied(foreign: Paths) -> None:
    assert foreign.library is not None
    native, own = foreign.library
    text = "- func: two(Tensor self, Tensor other) -> Tensor\n  variants: function\n  dispatch: {CPU: one}\n"
    native.write_text(OWN + text, encoding="utf-8")
    foreign.native_functions.write_text(FOREIGN + text, encoding="utf-8")
    name = "- name: two(Tensor self, Tensor other) -> Tensor\n"
    own.write_text(f"{name}  self: neg(grad)\n  other: neg(grad)\n  result: neg(other_t)\n", encoding="utf-8")
    foreign.derivatives.write_text(f"{name}  self: neg(grad)\n  other: non_differentiable\n", encoding="utf-8")
    assert operator(analyze(foreign), "two").autograd.forward is None


def test_inplace_views_are_variants_of_the_view(foreign: Paths) -> None:
    text = "- func: turn(Tensor(a) self) -> Tensor(a)\n- func: turn_(Tensor(a!) self) -> Tensor(a!)\n"
    text += "- func: turn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
    foreign.native_functions.write_text(FOREIGN + text, encoding="utf-8")
    result = analyze(foreign)
    assert str(operator(result, "turn").python.inplace) == "turn_"
    assert operator(result, "turn").python.out is None  # a view is in no other memory
    assert operator(result, "turn.out").kind is OperatorKind.DECLARED


def test_samples_are_the_projects(foreign: Paths) -> None:
    assert foreign.library is not None
    foreign.library[0].write_text(
        OWN.replace("dispatch: {CPU: one}", "tags: pointwise\n  dispatch: {CPU: one}"), encoding="utf-8"
    )
    foreign.native_functions.write_text(
        FOREIGN.replace("variants: function\n", "variants: function\n  tags: pointwise\n"), encoding="utf-8"
    )
    result = analyze(foreign)
    assert operator(result, "neg").samples == ("T(3, 4)", "T()", "T(0, 2)")
    assert operator(result, "far").samples == ()  # nothing could run them


def test_helpers_of_others_do_not_stand_before_ours_in_our_formulas(foreign: Paths, tmp_path: Path) -> None:
    assert foreign.library is not None
    foreign.library[1].write_text("- name: twice(Tensor self) -> Tensor\n  self: helped(grad)\n", encoding="utf-8")
    mine = foreign.operators / "helpers" / "small.py"
    mine.write_text("def helped(grad: Tensor) -> Tensor: return grad\n", encoding="utf-8")
    result = analyze(foreign)
    twice = operator(result, "twice")
    assert twice.autograd.node is not None
    tree = twice.autograd.node.gradients[0].tree
    assert tree is not None
    (call,) = [part for part in walk(tree) if isinstance(part, HelperCall)]
    assert call.helper.function is not None
    assert call.helper.function.module == "runtime.operators.helpers.small"


def test_what_of_ours_does_not_fit_their_operators_has_no_derivative(foreign: Paths, tmp_path: Path) -> None:
    assert foreign.library is not None
    foreign.library[1].write_text("- name: twice(Tensor self) -> Tensor\n  self: far(grad)\n", encoding="utf-8")
    twice = operator(analyze(foreign), "twice")
    assert twice.autograd.node is None
    assert not twice.autograd.never_differentiable


def test_a_variant_of_an_operator_that_only_we_have(foreign: Paths, tmp_path: Path) -> None:
    assert foreign.library is not None
    own = foreign.library[0]
    own.write_text(own.read_text() + "  autogen: twice_\n")
    theirs = foreign.native_functions
    theirs.write_text(theirs.read_text() + "- func: twice_(Tensor(a!) self) -> Tensor(a!)\n  variants: method\n")
    twice = operator(analyze(foreign), "twice")
    assert str(twice.python.inplace) == "twice_"


def test_a_variant_may_stand_in_the_entry_of_an_operator_and_in_that_of_its_inplace_variant(foreign: Paths) -> None:
    both = "".join(
        f"- func: {schema}\n  dispatch: {{CPU: far_cpu}}\n  autogen: _foreach_far.List_out\n"
        for schema in (
            "_foreach_far.List(Tensor[] self, Tensor[] other) -> Tensor[]",
            "_foreach_far_.List(Tensor(a!)[] self, Tensor[] other) -> ()",
        )
    )
    foreign.native_functions.write_text(FOREIGN + both, encoding="utf-8")
    assert operator(analyze(foreign), "_foreach_far.List").kind is OperatorKind.DECLARED


def test_tags_of_others_are_not_those_of_the_projects_own(foreign: Paths, tmp_path: Path) -> None:
    """A file of tags is about the operators that it comes with: `core` stands in ours alone, and `theirs` in theirs."""
    assert foreign.library is not None
    own, tags = foreign.library[0], tmp_path / "tags.yaml"
    own.write_text(OWN.replace("  python_operator", "  tags: core\n  python_operator"), encoding="utf-8")
    tags.write_text("- tag: theirs\n  desc: |\n    of somebody else\n", encoding="utf-8")
    foreign = replace(foreign, tags=tags)
    foreign.native_functions.write_text(FOREIGN.replace("  dispatch", "  tags: theirs\n  dispatch"), encoding="utf-8")
    assert operator(analyze(foreign), "far").source.tags == ("theirs",)
    foreign.native_functions.write_text(FOREIGN.replace("  dispatch", "  tags: core\n  dispatch"), encoding="utf-8")
    messages = {str(item.span.file.path): item.message for item in analyze(foreign).diagnostics.items}
    assert messages == {"functions.yaml": "unknown tag 'core'"}


def test_what_a_build_in_cpp_takes_is_a_finding_and_is_generated(foreign: Paths) -> None:
    """More results than gradients, of which the first count, and what is written and returned by any other name."""
    foreign.native_functions.write_text(
        FOREIGN + "- func: five(Tensor grad, int tokens) -> (Tensor, Tensor, Tensor, Tensor, Tensor)\n"
        "  dispatch: {CPU: five_cpu}\n"
        "- func: three(Tensor self, Tensor weight, Tensor bias) -> Tensor\n  dispatch: {CPU: three_cpu}\n"
        "- func: write(Tensor(a!) self, Tensor other) -> (Tensor(a!), Tensor)\n  dispatch: {CPU: write_cpu}\n",
        encoding="utf-8",
    )
    foreign.derivatives.write_text(
        "- name: three(Tensor self, Tensor weight, Tensor bias) -> Tensor\n"
        "  self, weight, bias: five(grad, self.sym_size(0).expect_int()"
        " + bias.sym_size(0).guard_int(__FILE__, __LINE__))\n"
        "- name: write(Tensor(a!) self, Tensor other) -> (Tensor(a!), Tensor)\n"
        "  self: far(grad, other)\n  other: non_differentiable\n",
        encoding="utf-8",
    )
    result = analyze(foreign)
    three, write = operator(result, "three").autograd.node, operator(result, "write").autograd.node
    assert three is not None
    assert write is not None
    text = emit(foreign, result.plan)["nodes.py"] if result.plan is not None else ""
    assert "shared_0 = ops.five_default(grad_0, self_sym_argsize_0 + bias_sym_argsize_0)\n" in text
    assert "self_gradient, weight_gradient, bias_gradient = (shared_0[0], shared_0[1], shared_0[2])\n" in text
    assert [item.message for item in result.findings.sorted()] == [
        "this formula gives (Tensor, Tensor, Tensor, Tensor, Tensor), 'self, weight, bias' need 3 gradients",
        "'write' returns the argument 'self' that it writes",
    ]
    at_home = replace(foreign, library=None)
    assert {item.message for item in result.findings.items} <= {m.message for m in analyze(at_home).diagnostics.items}


def test_a_call_that_no_declaration_takes_is_bound_late(foreign: Paths) -> None:
    """Releases of somebody else's helpers differ, and what is declared may be of another one."""
    formulas = FORMULAS.replace("helped(grad, self)", "helped(grad, self.sum(), 2).neg()")
    functions = FOREIGN + "- func: sum(Tensor self) -> Tensor\n  variants: method\n"
    foreign.native_functions.write_text(functions, encoding="utf-8")
    foreign.derivatives.write_text(formulas, encoding="utf-8")
    (foreign.operators / "helpers" / "small.py").write_text(IMPLEMENTED, encoding="utf-8")
    result = analyze(foreign)
    assert result.plan is not None
    (helper,) = result.plan.helpers
    assert (str(helper), helper.function) == (
        "helped(Tensor argument_0, Tensor argument_1, int argument_2) -> Tensor",
        None,
    )
    (found,) = [item for item in result.findings.items if item.code is Code.ARGUMENTS]
    assert (
        found.message
        == "this call of 'helped' has the arguments (Tensor, Tensor, int), which no declaration of it takes"
    )
    assert [(str(place), text) for place, text in found.notes] == [
        ("helpers.yaml:1:11", "declared as helped(Tensor grad, Tensor self) -> Tensor")
    ]
    strict = replace(foreign, library=None)
    assert found.message in [item.message for item in analyze(strict).diagnostics.items]


def test_a_header_declares_helpers_of_its_release(foreign: Paths, tmp_path: Path) -> None:
    header = tmp_path / "theirs.h"
    header.write_text("Tensor helped(const Tensor& grad, const Tensor& self, int64_t n);\n", encoding="utf-8")
    foreign.derivatives.write_text(FORMULAS.replace("(grad, self)", "(grad, self, 2)"), encoding="utf-8")
    (foreign.operators / "helpers" / "small.py").write_text(
        "def helped(grad: Tensor, self: Tensor, n: int) -> Tensor: return grad\n", encoding="utf-8"
    )
    result = analyze(replace(foreign, helpers=(header, *foreign.helpers)))
    assert result.plan is not None
    (helper,) = result.plan.helpers
    assert helper.function is not None
    assert [item.message for item in result.findings.items] == ["no formula for 'other' of 'far'"]


def test_headers_stand_before_the_projects_own_declarations(small_paths: Paths, tmp_path: Path) -> None:
    own = small_paths.native_functions.with_name("pytorch_helpers.yaml")
    header, yaml = tmp_path / "theirs.hpp", tmp_path / "theirs.yaml"
    assert small_paths.foreign(yaml).helpers == (own,)
    assert small_paths.foreign(yaml, [header]).helpers == (header, own)
    assert small_paths.foreign(yaml, [header, yaml]).helpers == (header, yaml)
