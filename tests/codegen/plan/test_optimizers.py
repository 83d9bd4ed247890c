"""Update rules of optimizers: how their Python is read, what is planned of it, and what cannot be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codegen import output
from codegen.bind.rule_source import read_update_rules
from codegen.bind.update_rules import UpdateRule
from codegen.excerpt import source_lines
from codegen.paths import Paths, PythonPart, project_paths
from codegen.pipeline import analyze, emit
from codegen.plan.loops import StepResult
from codegen.plan.optimizers import Copy, Fill, Point, actions_in, plan_optimizer
from codegen.python_source import SourcePart
from codegen.source import Diagnostic, Diagnostics
from codegen.targets.cpp.optimizers import optimizer_view
from support.compiling import compiled, needs_compiler
from support.own_project import own_analysis

ENTRY = """
def complete(rule: Rule, xp: Any, grad: Values, param: Values, *kept: Values | None, lr: Number, **options: Any):
    return rule(xp, grad, param, *kept, lr=lr, **options)
"""
RULE = """
def rule(xp: Any, grad: Values, param: Values, a: Values, b: Values | None, *, lr: Number, f: bool = False):
"""


def read(text: str, folder: Path) -> tuple[tuple[UpdateRule, ...], list[Diagnostic]]:
    path = folder / "rules.py"
    path.write_text(text, encoding="utf-8")
    diagnostics = Diagnostics()
    rules = read_update_rules(SourcePart(PythonPart(path, "rules", "rules.py"), diagnostics), diagnostics)
    return rules, diagnostics.items


def body(lines: str) -> str:
    return ENTRY + RULE + "".join(f"    {line}\n" for line in lines.splitlines())


def loops(lines: str, folder: Path, before: str = "") -> list[str]:
    """What the C++ of a rule does with elements."""
    rules, errors = read(before + body(lines), folder)
    assert [error.message for error in errors] == []
    view = optimizer_view(plan_optimizer(rules[0]))
    text = [" ".join(line.split()) for line in view.run]
    each = "for (npy_intp i = 0; i < n; ++i) "
    return [line.removeprefix(each) for line in text if line not in ("GRADWRIGHT_INDEPENDENT", "}")]


def numbers(lines: str, folder: Path) -> list[str]:
    """What it does before, with numbers."""
    rules, errors = read(body(lines), folder)
    assert [error.message for error in errors] == []
    return [line.strip() for line in optimizer_view(plan_optimizer(rules[0])).prepare if "const" not in line]


# -- what is read


def test_a_statement_is_a_loop_and_results_stay_where_they_are(tmp_path: Path) -> None:
    assert loops("a = a + grad * grad\nreturn param - grad / (xp.sqrt(a) + 2) * -lr, a, b", tmp_path) == [
        "a_[i] = a_[i] + grad_[i] * grad_[i];",
        "param_[i] = param_[i] - grad_[i] / (std::sqrt(a_[i]) + T(2.0)) * n0;",
    ]


def test_an_array_that_is_wanted_later_is_not_overwritten(tmp_path: Path) -> None:
    assert loops("old = a\na = a + grad\nreturn param - old, a, b", tmp_path) == [
        "old_ = a_;",
        "t0[i] = a_[i] + grad_[i];",
        "a_ = t0;",
        "param_[i] = param_[i] - old_[i];",
        "step->put(2, at, a_, n);",
    ]
    # The results are computed before any is written.
    assert loops("return param - a, a + param, b", tmp_path) == [
        "t0[i] = param_[i] - a_[i];",
        "param_after_ = t0;",
        "a_[i] = a_[i] + param_[i];",
        "step->put(1, at, param_after_, n);",
    ]


def test_results_that_change_their_places_are_saved_before(tmp_path: Path) -> None:
    assert loops("return a, param, b", tmp_path) == [
        "t0[i] = a_[i];",
        "param_after_ = t0;",
        "t1[i] = param_[i];",
        "a_after_ = t1;",
        "step->put(1, at, param_after_, n);",
        "step->put(2, at, a_after_, n);",
    ]
    # On one of two ways only; and nothing is read of an array that is not there.
    text = "if f:\n    a = a + 1\nelse:\n    a = param\nif b is not None:\n    b = param\nreturn grad, a, b"
    assert loops(text, tmp_path)[5:] == [
        "if (step->arrays[3] != nullptr) {",
        "b_ = param_;",
        "t1[i] = a_[i];",
        "a_after_ = t1;",
        "if (step->arrays[3] != nullptr) {",
        "t2[i] = b_[i];",
        "b_after_ = t2;",
        "step->put(1, at, grad_, n);",
        "step->put(2, at, a_after_, n);",
        "step->put(3, at, b_after_, n);",
    ]


def test_values_are_computed_before_names_get_them(tmp_path: Path) -> None:
    assert loops("c, d = grad + 1, grad + 2\nc, d = d, c\nreturn param - c * d, a, b", tmp_path)[4:] == [
        "d_2_ = c_;",
        "c_ = d_;",
        "d_ = d_2_;",
        "param_[i] = param_[i] - c_[i] * d_[i];",
    ]


def test_helpers_stand_where_they_are_called(tmp_path: Path) -> None:
    helper = "def _both(grad, a):\n    grad = grad * 2\n    return grad + a, grad - a\n\n\n"
    assert loops("c, d = _both(grad, a)\nreturn param - grad * c, d, b", tmp_path, helper) == [
        "grad_2_ = grad_;",
        "t0[i] = grad_2_[i] * T(2.0);",
        "grad_2_ = t0;",
        "t1[i] = grad_2_[i] + a_[i];",
        "c_ = t1;",
        "t2[i] = grad_2_[i] - a_[i];",
        "d_ = t2;",
        "param_[i] = param_[i] - grad_[i] * c_[i];",
        "step->put(2, at, d_, n);",
    ]


def test_conditions_stand_around_loops(tmp_path: Path) -> None:
    text = "if f:\n    grad = grad * lr\nelif lr > 1:\n    grad = -grad\nreturn param - grad, a, b"
    assert loops(text, tmp_path) == [
        "if (step->ways[0]) {",
        "t0[i] = grad_[i] * n0;",
        "grad_ = t0;",
        "} else {",
        "if (step->ways[1]) {",
        "t1[i] = -grad_[i];",
        "grad_ = t1;",
        "param_[i] = param_[i] - grad_[i];",
    ]
    assert numbers(text, tmp_path) == [
        "step.ways[0] = f_;",
        "if (step.ways[0]) {",
        "step.numbers[0] = lr_;",
        "} else {",
        "step.ways[1] = lr_ > 1.0;",
        "}",
    ]


def test_an_array_that_is_not_there_is_asked_for(tmp_path: Path) -> None:
    text = "if b is not None:\n    c = b = b + grad\nelse:\n    c = grad if b is None else b\nreturn param - c, a, b"
    assert loops(text, tmp_path) == [
        "if (step->arrays[3] != nullptr) {",
        "t0[i] = b_[i] + grad_[i];",
        "c_ = t0;",
        "b_ = c_;",
        "} else {",
        "c_ = grad_;",
        "param_[i] = param_[i] - c_[i];",
        "step->put(3, at, b_, n);",
    ]


def test_numbers_are_those_of_python(tmp_path: Path) -> None:
    text = "c = 1 - lr**2 / 3\nif c > 2:\n    d = -c\nelse:\n    d = c - (1 - c)\nreturn param * d + (c - lr), a, b"
    assert numbers(text, tmp_path) == [
        "double c_ = 0;",
        "double d_ = 0;",
        "c_ = 1.0 - step.quotient(step.power(lr_, 2.0), 3.0);",
        "step.ways[0] = c_ > 2.0;",
        "if (step.ways[0]) {",
        "d_ = -c_;",
        "} else {",
        "d_ = c_ - (1.0 - c_);",
        "}",
        "step.numbers[0] = d_;",
        "step.numbers[1] = c_ - lr_;",
    ]


def test_masks_are_numbers_where_they_meet_elements(tmp_path: Path) -> None:
    text = "m = grad > 0\nreturn param - m * grad + (a < grad) * a, xp.where(m, lr, xp.clip(a, 0, lr)), b"
    assert loops(text, tmp_path) == [
        "t0[i] = static_cast<T>(grad_[i] > T(0.0));",
        "m_ = t0;",
        "param_[i] = param_[i] - static_cast<T>(m_[i] != T(0)) * grad_[i] + static_cast<T>(a_[i] < grad_[i]) * a_[i];",
        "a_[i] = chosen(m_[i] != T(0), n0, bounded(a_[i], T(0.0), n0));",
    ]


def test_what_the_plan_of_momentum_is() -> None:
    plan = own_analysis().plan
    assert plan is not None
    sgd = next(each for each in plan.optimizers if each.name == "sgd")
    assert [option.name for option in sgd.options][:4] == ["lr", "weight_decay", "decoupled", "maximize"]
    assert [option.default for option in sgd.options][:4] == [None, 0.0, 0.0, 0.0]
    assert sgd.optional == {2}
    assert sgd.in_place == {1}  # the sum may become the gradient itself
    kinds = {type(action) for action in actions_in(sgd.body)}
    assert {Fill, Point, Copy} <= kinds
    adam = next(each for each in plan.optimizers if each.name == "adam")
    assert adam.in_place == {1, 2}


def test_a_loop_has_steps_of_tensors_and_numbers(tmp_path: Path) -> None:
    (rule,), _ = read(body("return param - xp.where(a > 0, grad * (2 * lr), 1), a, b"), tmp_path)
    (fill,) = actions_in(plan_optimizer(rule).body)
    assert isinstance(fill, Fill)
    assert [tensor.name for tensor in fill.loop.tensors] == ["param", "a", "grad"]
    assert len(fill.loop.numbers) == 1
    assert [step.kernel.alias for step in fill.loop.steps] == ["greater", "multiply", "where", "subtract"]
    assert fill.loop.steps[2].operands[:2] == (StepResult(0), StepResult(1))
    assert fill.loop.result == StepResult(3)


# -- what is not


WRONG = {
    "for x in a:\n    c = x\nreturn param, a, b": ("a rule has assignments, 'if' and 'return'", "for x in a:"),
    "return param": ("the results are 3: the parameter, and what is kept, in their order", "return param"),
    "param = param + grad": ("a way through this returns nothing", "param = param + grad"),
    "if f:\n    return param, a, b": ("a way through this returns nothing", "if f:"),
    "return param + b, a, b": ("'b' may be None here", "b"),
    "if b is None:\n    return param + b, a, b\nreturn param, a, b": ("'b' may be None here", "b"),
    "return param + c, a, b": ("'c' is no value here", "c"),
    "if f:\n    c = grad\nreturn param + c, a, b": ("'c' is no value here", "c"),
    "return param @ grad, a, b": (
        "a rule adds, subtracts, multiplies, divides, and raises numbers to powers", "param @ grad",
    ),
    "return param**2, a, b": ("'**' of an array and a number can not be compiled", "param**2"),
    "return (grad > 0) * 2, a, b": ("'*' of an array of bools and a number can not be compiled", "(grad > 0) * 2"),
    "return xp.exp(param), a, b": ("xp.exp can not be compiled", "xp.exp(param)"),
    "return xp.maximum(lr, 1), a, b": ("xp.maximum takes an array", "xp.maximum(lr, 1)"),
    "return xp.clip(param, a, 1), a, b": ("this is an array, and is to be a number", "a"),
    "return xp.sqrt(param, a), a, b": ("xp.sqrt takes 1 arguments here", "xp.sqrt(param, a)"),
    "return param.sum(), a, b": ("a rule can not be compiled with this", "param.sum()"),
    "return param + 'x', a, b": ("a rule can not be compiled with this", "'x'"),
    "if grad > 0:\n    a = grad\nreturn param, a, b": (
        "a condition is a comparison of numbers or an option, and this is an array of bools", "grad > 0",
    ),
    "return param if f else lr, a, b": ("both sides of a conditional expression are of one kind", "param if f else lr"),
    "return lr, a, b": ("a result is an array, and this is a number", "lr"),
    "lr = lr * 2\nreturn param * lr, a, b": ("'lr' is set already", "lr = lr * 2"),
    "c = grad\nc = lr\nreturn param, a, b": ("'c' is an array, and this is a number", "c = lr"),
    "c, d = grad\nreturn param, a, b": ("2 names for 1 values", "c, d"),
    "a[0] = grad\nreturn param, a, b": ("values are assigned to names", "a[0]"),
    "c = _none(grad)\nreturn param, a, b": ("a rule can not be compiled with this", "_none(grad)"),
    "c = rule(grad)\nreturn param, a, b": ("'rule' calls itself", "rule(grad)"),
}  # fmt: skip


@pytest.mark.parametrize("lines", WRONG)
def test_what_can_not_be_read_is_an_error_at_its_place(lines: str, tmp_path: Path) -> None:
    message, place = WRONG[lines]
    _, (error, *others) = read(body(lines), tmp_path)
    assert others == []
    assert error.message == message
    assert error.span.file.text[error.span.start : error.span.end] == place
    assert source_lines(error.span)[1].strip() == "^" + "~" * (len(place) - 1)


def test_parameters_say_what_they_are(tmp_path: Path) -> None:
    def message(rule: str) -> str:
        _, errors = read(ENTRY + rule, tmp_path)
        return errors[0].message

    assert message("def rule(grad):\n    return grad,\n") == "the first parameter of 'rule' is not 'xp'"
    assert (
        message("def rule(xp, grad: Values, param: int):\n    return param,\n") == "'param' of 'rule' is not an array"
    )
    option = "def rule(xp, grad: Values, param: Values, *, lr: Number, way: str):\n    return param,\n"
    assert message(option) == "the option 'way' of 'rule' is neither a number nor a bool"
    default = "def rule(xp, grad: Values, param: Values, *, lr: Number, c: float = x):\n    return param,\n"
    assert message(default) == "a default of an option is a number, True or False"


# -- generations


def small_rules(paths: Paths, text: str) -> Path:
    paths.native_functions.write_text("[]\n", encoding="utf-8")
    paths.derivatives.write_text("[]\n", encoding="utf-8")
    path = paths.update_rules.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_rule_that_changes_is_generated_anew(small_paths: Paths) -> None:
    path = small_rules(small_paths, body("return param - grad, a, b"))

    def generated() -> tuple[str, dict[str, str]]:
        output.source_hash.cache_clear()
        made = analyze(small_paths).plan
        assert made is not None
        return output.source_hash(small_paths, "python"), dict(emit(small_paths, made, "cpp"))

    before, files = generated()
    path.write_text(body("return param + grad, a, b"), encoding="utf-8")
    after, others = generated()
    # The name of the extension is made of the sources of the Python target.
    assert before != after
    changed = {name for name, text in others.items() if text != files[name]}
    assert changed == {"optimizers.cpp", "manifest.json"}


def test_a_mistake_stops_the_generation(small_paths: Paths) -> None:
    small_rules(small_paths, body("return param @ grad, a, b"))
    result = analyze(small_paths)
    assert result.plan is None
    (error,) = result.diagnostics.items
    assert str(error.span) == "runtime/operators/update_rules.py:6:12"


def test_a_project_without_rules_has_none(small_paths: Paths) -> None:
    small_rules(small_paths, "").unlink()
    made = analyze(small_paths).plan
    assert made is not None
    assert "Table<UpdateRule> update_rules = {};" in emit(small_paths, made, "cpp")["optimizers.cpp"]


@needs_compiler
def test_a_compiler_takes_it(tmp_path: Path) -> None:
    paths, plan = project_paths(), own_analysis().plan
    assert plan is not None
    file = tmp_path / "optimizers.cpp"
    file.write_text(emit(paths, plan, "cpp")[file.name], encoding="utf-8")
    shutil.copy(paths.runtime / "native" / "src" / "optim.hpp", tmp_path)
    said = compiled(file)
    assert said.returncode == 0, said.stderr
