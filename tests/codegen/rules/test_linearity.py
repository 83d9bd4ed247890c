"""What the linearity check sees, in the project's own files and in small Python functions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import pytest

from codegen.codes import Code
from codegen.formula.typed import TypedExpr
from codegen.paths import project_paths
from codegen.pipeline import Result, analyze
from codegen.rules.linear.degree import Degree, either, flat
from codegen.rules.linear.formulas import Degrees, Linearity
from support.documents import ROOT
from support.own_project import no_garbage, own_analysis

GRADIENT, TANGENTS = Degrees(gradient=Degree.LINEAR), Degrees(tangent=Degree.LINEAR)


@pytest.fixture(scope="module")
def own() -> Result:
    return own_analysis()


def trees(result: Result) -> Iterator[tuple[str, TypedExpr, Degrees]]:
    for entry in result.resolved:
        for formulas, given in ((entry.backward, GRADIENT), (entry.forward, TANGENTS)):
            for formula in formulas:
                if formula.tree is not None:
                    yield f"{entry.function.name}: {formula.source.text}", formula.tree, given


def test_every_formula_of_the_project_is_known_to_be_linear(own: Result) -> None:
    assert own.checked is not None
    seen = {text: flat(own.checked.linear.of(tree, given)) for text, tree, given in trees(own)}
    assert len(seen) > 450
    unknown = {text for text, degree in seen.items() if degree not in (Degree.LINEAR, Degree.ZERO)}
    # What helpers do with arrays, or by turns, or with sparse Tensors, is not read off their source, and a derivative
    # that is not implemented says nothing of its operator: there the ledger has the proof by numbers.
    ledger = json.loads((ROOT / "docs" / "reports" / "coverage.json").read_text(encoding="utf-8"))["operators"]
    names = {text.partition(":")[0] for text in unknown}
    assert {seen[text] for text in unknown} <= {Degree.UNKNOWN}
    assert len(unknown) <= 26
    assert {name for name in names if "linear" not in ledger[name]["proven"].split()} == set()


def test_the_answers_do_not_depend_on_the_order_of_the_questions(own: Result) -> None:
    assert own.checked is not None
    assert own.checked.table is not None
    asked = own.checked.linear
    again = Linearity(asked.entries, own.checked.table, asked.composites, asked.helpers, asked.composite_formulas)
    for text, tree, given in reversed(list(trees(own))):
        assert again.of(tree, given) == asked.of(tree, given), text


@pytest.mark.parametrize(
    ("degrees", "together"),
    [
        ([], Degree.ZERO),
        ([Degree.ZERO, Degree.LINEAR], Degree.LINEAR),
        ([Degree.CONSTANT, Degree.LINEAR], Degree.NONLINEAR),
        ([Degree.UNKNOWN, Degree.LINEAR], Degree.UNKNOWN),
        ([Degree.UNKNOWN, Degree.NONLINEAR], Degree.NONLINEAR),
    ],
)
def test_degrees_together(degrees: list[Degree], together: Degree) -> None:
    assert either(*degrees) is together


FUNCTIONS = """
- func: mul(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch:
    CPU: mul
  python_operator: self * other, other * self
- func: add(Tensor self, Tensor other) -> Tensor
  variants: function, method
  dispatch:
    CPU: add
  python_operator: self + other, other + self
- func: abs(Tensor self) -> Tensor
  variants: function, method
  dispatch:
    CPU: abs
- func: zeros_like(Tensor self) -> Tensor
  dispatch:
    CPU: zeros_like
  constant_result: 0
- func: gt(Tensor self, Tensor other) -> Tensor
  dispatch:
    CPU: gt
- func: sin(Tensor self) -> Tensor
  dispatch:
    CPU: sin
"""
FORMULAS = """
- name: mul(Tensor self, Tensor other) -> Tensor
  self: grad * other
  other: grad * self
- name: add(Tensor self, Tensor other) -> Tensor
  self: grad
  other: grad
- name: abs(Tensor self) -> Tensor
  self: grad * self
- name: zeros_like(Tensor self) -> Tensor
  self: non_differentiable
- name: gt(Tensor self, Tensor other) -> Tensor
  output_differentiability: [False]
- name: sin(Tensor self) -> Tensor
  self: h(grad, self)
"""
KERNELS = """
import numpy as np
mul, add, abs, sin, zeros_like, gt = np.multiply, np.add, np.abs, np.sin, np.zeros_like, np.greater
def mul(self, other): ...
def add(self, other): ...
def abs(self): ...
def zeros_like(self): ...
def gt(self, other): ...
def sin(self): ...
"""
HEAD = """
from collections.abc import Sequence
from runtime import ops
from runtime.base.tensor import Tensor

def _second(pair: tuple[Tensor, Tensor]) -> Tensor:
    return pair[1]

def _again(x: Tensor, count: int) -> Tensor:
    return x if count == 0 else _again(x, count - 1) * 2

def _squared(x: Tensor, count: int) -> Tensor:
    return x * x if count == 0 else _squared(x, count - 1)

def h(grad: Tensor, self: Tensor) -> Tensor:
"""


def helper(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    "lines",
    [
        ("return grad * self",),
        ("return -grad if self.dim() else grad",),
        ("x = grad", "x = x * self", "return x + grad"),
        ("x = grad", "x += grad * self", "return x"),
        ("x, y = grad, self", "return x * y"),
        ("parts = []", "for size in self.shape:", "    parts.append(grad)", "return parts[0]"),
        ("return [part * self for part in (grad, grad)][0]",),
        ("for part in (grad,):", "    if part.dim() == 0:", "        continue", "    return part", "return grad"),
        ("return _second((self, grad))",),
        ("return _second((grad * grad, grad))",),
        ("return _again(grad, 3)",),
        ("total = ops.zeros_like(grad)", "while self.dim():", "    total = total + grad", "return total"),
        ("return ops.zeros_like(self) if grad is None else grad",),
        ("try:", "    return grad * self", "except RuntimeError:", "    return grad"),
        ("with open('x'):", "    return grad",),
    ],
)  # fmt: skip
def test_linear_helpers(analysed: Callable[..., Result], lines: tuple[str, ...]) -> None:
    result = analysed(FUNCTIONS, FORMULAS, helper(*lines), KERNELS)
    assert [item.message for item in result.diagnostics.items] == []


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (("return grad * grad",), "'mul' multiplies 'self' and 'other', which both depend on it"),
        (("return ops.mul(grad, other=grad)",), "'mul' multiplies 'self' and 'other', which both depend on it"),
        (("return grad + self",), "'add' adds something that does not depend on it"),
        (("return grad.abs()",), "'abs' is not linear in 'self'"),
        (("return grad if ops.gt(grad, self) else self",), "'gt' is not differentiable"),
        (("if grad:", "    return grad", "return ops.zeros_like(grad)"), "this condition depends on it"),
        (("x = grad", "for _ in range(2):", "    x = x * grad", "return x"), "'mul' multiplies"),
        (("x = grad", "for _ in range(2):", "    x = x * grad", "    break", "return x"), "'mul' multiplies"),
        (("return [grad, self][0]",), "one part of this depends on it"),
        (("return _second((grad, grad.abs()))",), "'abs' is not linear in 'self'"),
        (("return _squared(grad, 3)",), "'mul' multiplies 'self' and 'other', which both depend on it"),
        (("grad.mul_(grad)", "return grad"), "'mul' multiplies 'self' and 'other', which both depend on it"),
        (("return grad * (not grad)",), "a truth value is not linear in it"),
        (("return (lambda x: x)(grad) * grad.abs()",), "'abs' is not linear in 'self'"),
    ],
)
def test_helpers_that_are_not_linear(analysed: Callable[..., Result], lines: tuple[str, ...], why: str) -> None:
    found = analysed(FUNCTIONS, FORMULAS, helper(*lines), KERNELS).diagnostics.items
    (error,) = (item for item in found if item.code is not Code.UNKNOWN_FUNCTION)  # there is no `mul_` here
    assert error.message == "not linear in the gradient: helper 'h' is not linear in 'grad'"
    ((place, note),) = error.notes
    assert note.startswith(why)
    assert place.file.path == "runtime/operators/helpers/small.py"


DECLARED = HEAD.replace("def h(", "{declarations}\ndef h(") + "    return grad.abs() * other\n"
DECLARED = DECLARED.replace("self: Tensor) ->", "self: Tensor, other: Tensor | None = None) ->")


@pytest.mark.parametrize(
    ("declarations", "formula", "linear"),
    [
        ('@linear_in("grad")', "h(grad, self)", True),
        ('@library.linear_in("grad")', "h(grad, self)", True),
        ('@linear_in("self")\n@linear_in("grad")', "h(grad, self)", True),
        ('@linear_in("grad", "self")', "h(grad, grad)", True),
        ('@linear_in("grad")', "h(grad, zeros_like(self))", True),
        ('@linear_in("grad", "self")', "h(grad, self)", False),
        ('@linear_in("self")', "h(grad, self)", False),
        ('@linear_in("grad")', "h(grad, grad)", False),
        ('@linear_in("grad")', "h(grad * grad, self)", False),
        ("", "h(grad, self)", False),
    ],
)
def test_a_helper_that_is_declared_linear(
    analysed: Callable[..., Result], declarations: str, formula: str, linear: bool
) -> None:
    formulas = FORMULAS.replace("h(grad, self)", formula)
    result = analysed(FUNCTIONS, formulas, DECLARED.format(declarations=declarations), KERNELS)
    assert ([item.code for item in result.diagnostics.items] == []) is linear


def test_a_helper_that_calls_one_that_is_declared_linear(analysed: Callable[..., Result]) -> None:
    helpers = helper("return _above(grad) * self") + "\n\n@linear_in('x')\ndef _above(x):\n    return x.abs()\n"
    assert analysed(FUNCTIONS, FORMULAS, helpers, KERNELS).diagnostics.items == []


def test_the_hint_names_the_declaration(analysed: Callable[..., Result]) -> None:
    (error,) = analysed(FUNCTIONS, FORMULAS, helper("return grad.abs()"), KERNELS).diagnostics.items
    assert str(error.hint).endswith("""is declared so: '@linear_in("grad")'""")


@pytest.mark.parametrize(
    ("declaration", "said"),
    [('@linear_in("gard")', "'gard'"), ("@linear_in()", "nothing"), ("@linear_in(1)", "nothing")],
)
def test_a_declaration_of_no_parameter(analysed: Callable[..., Result], declaration: str, said: str) -> None:
    error = analysed(FUNCTIONS, FORMULAS, DECLARED.format(declarations=declaration), KERNELS).diagnostics.items[0]
    assert error.message == f"'linear_in' of helper 'h' names none of its parameters: {said}"
    assert error.span.file.line(error.span.line).startswith("@")


@pytest.mark.parametrize("line", ["return len(grad.shape) * self", "return self * grad.dim()"])
def test_a_helper_that_never_uses_the_values_of_the_gradient(analysed: Callable[..., Result], line: str) -> None:
    (error,) = analysed(FUNCTIONS, FORMULAS, helper(line), KERNELS).diagnostics.items
    assert error.message == "this formula never uses the gradient, and is not zero"


def test_what_can_not_be_followed_is_no_error(analysed: Callable[..., Result]) -> None:
    result = analysed(FUNCTIONS, FORMULAS, helper("return memoryview(grad) * self"), KERNELS)
    assert result.diagnostics.items == []
    assert result.checked is not None
    (formula,) = (f for entry in result.resolved if entry.function.name.base == "sin" for f in entry.backward)
    assert formula.tree is not None
    assert result.checked.linear.of(formula.tree, GRADIENT) is Degree.UNKNOWN


# -- the files of the project, each with one mistake


PATHS = project_paths()


def errors(changed: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The errors of the project's formulas, by entry, with a line of some entries replaced or added to their ends."""
    text = PATHS.derivatives.read_text(encoding="utf-8")
    for entry, line in changed:
        text = with_line(text, entry, line)
    starts = [(number, row) for number, row in enumerate(text.splitlines(), 1) if row.startswith("- name: ")]
    found: dict[str, list[str]] = {}
    with no_garbage():
        result = analyze(PATHS, {PATHS.derivatives: text})
    for item in result.diagnostics.sorted():
        if not str(item.span).startswith(PATHS.derivatives.name):
            continue  # of an expression in the other file
        row = next(row for number, row in reversed(starts) if number <= item.span.line)
        found.setdefault(row.removeprefix("- name: ").partition("(")[0], []).append(item.message)
    return found


def with_line(text: str, entry: str, line: str) -> str:
    """`text` with `line` in place of the line with the same key, in the entry that begins with `entry`."""
    blocks = text.split("\n\n")
    (place,) = (
        i
        for i, block in enumerate(blocks)
        if f"\n- name: {entry}(" in f"\n{block}" or f"\n- func: {entry}(" in f"\n{block}"
    )
    key = line.partition(":")[0]
    lines = blocks[place].splitlines()
    start = next(i for i, row in enumerate(lines) if row.startswith((f"- name: {entry}(", f"- func: {entry}(")))
    end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("- ")), len(lines))
    kept = [row for row in lines[start:end] if not row.startswith(f"  {key}:")]
    assert len(kept) >= end - start - 1
    blocks[place] = "\n".join([*lines[:start], *kept, f"  {line}", *lines[end:]])
    return "\n\n".join(blocks)


NOT_LINEAR = "not linear in the gradient: "


# Each stands in the entry of another function of one Tensor, so that one run finds all.
NONLINEAR = [
    ("cos", "grad*grad", "'mul' multiplies 'self' and 'other', which both depend on it"),
    ("tan", "grad*grad.conj()", "'mul' multiplies 'self' and 'other', which both depend on it"),
    ("asin", "grad.square()", "'square' is not linear in 'self'"),
    ("acos", "grad.pow(2)", "'pow' is not linear in 'self'"),
    ("atan", "grad.exp()*self", "'exp' is not linear in 'self'"),
    ("sinh", "grad/grad", "'div' multiplies 'self' and 'other', which both depend on it"),
    ("cosh", "self/grad", "'div' is not linear in 'other'"),
    ("asinh", "grad.norm()*self", "'norm' is not linear in 'self'"),
    ("acosh", "grad.mm(grad)", "'mm' multiplies 'self' and 'mat2', which both depend on it"),
    ("atanh", "grad.matmul(grad)", "'matmul' is not linear in 'self', 'other'"),
    ("erf", "grad.sum()*grad", "'mul' multiplies 'self' and 'other', which both depend on it"),
    ("erfc", "grad.softmax(0)", "'softmax' is not linear in 'self'"),
    ("erfinv", "grad.relu()", "'relu' is not linear in 'self'"),
    ("lgamma", "grad.abs()", "'abs' is not linear in 'self'"),
    ("digamma", "grad.floor()", "'floor' is not linear in 'self'"),
    ("special_erfcx", "grad.clamp(0, 1)", "'clamp' is not linear in 'self'"),
    ("linalg_matrix_exp", "grad.max()*self", "'max' is not linear in 'self'"),
    ("special_ndtri", "grad.argmax()*self", "'argmax' is not differentiable"),
    ("special_log_ndtr", "sin(grad)", "'sin' is not linear in 'self'"),
    ("special_i0e", "maximum(grad, self)", "'maximum' is not linear in 'self'"),
    ("special_i1", "where(grad > 0, grad, 0)", "'gt.Scalar' is not differentiable"),
    ("special_i1e", "where(self > 0, grad, self)", "'where' adds something that does not depend on it"),
    ("i0", "where(self > 0, grad, 1)", "'where' adds something that does not depend on it"),
    ("log2", "grad.masked_fill(self > 0, 1)", "'masked_fill' adds something that does not depend on it"),
    ("log10", "grad + 1", "'add' adds something that does not depend on it"),
    ("log1p", "1 - grad", "'rsub' adds something that does not depend on it"),
    ("expm1", "addmm(self, grad, self)", "'addmm' adds something that does not depend on it"),
    ("exp2", 'cat({grad, self})', "this does not depend on it and is not zero, and other items do"),
    ("rsqrt", "pow_backward(grad, grad, 2)", "helper 'pow_backward' is not linear in 'grad', 'self'"),
    ("angle", "self.numel() > 1 ? grad : self", "one side of '?:' does not depend on it and is not zero"),
]  # fmt: skip


@cache
def nonlinear() -> Mapping[str, list[str]]:
    return errors((entry, f'self: "{formula}"') for entry, formula, _ in NONLINEAR)


@pytest.mark.parametrize(("entry", "formula", "message"), NONLINEAR)
def test_a_formula_of_the_project_that_is_not_linear(entry: str, formula: str, message: str) -> None:
    (error,) = nonlinear()[entry]
    assert error.startswith(NOT_LINEAR + message)


MUTATIONS = [
    ("cos", "self: self.sin()", "this formula never uses the gradient, and is not zero"),
    ("mul.Tensor", "result: self_t * self_t", "not linear in the tangents: 'mul' multiplies 'self' and 'other'"),
    ("mul.Tensor", "result: self_t * other_p + self_p", "not linear in the tangents: 'add' adds something"),
    ("cos", "self: grad * self**2", "'**' is no operator"),
    ("cos", "self: -2**1 * grad", "'**' is no operator"),
    ("cos", "self: 1/2*grad", "the quotient of two ints is an int: it drops the remainder"),
    ("cos", "self: grad * *self", "'*' reads an optional value, this is Tensor"),
    ("exp", "result: auto_linear", "auto_linear, and 'exp' is not linear in 'self'"),
    ("mul.Tensor", "result: auto_linear", "auto_linear, and 'mul.Tensor' is not linear in 'self', 'other'"),
    ("cumsum", "result: auto_element_wise", "auto_element_wise, and 'cumsum' has no tag 'pointwise'"),
    ("amax", "result: auto_element_wise", "auto_element_wise, and 'amax' has no tag 'pointwise'"),
    ("atan2", "result: auto_element_wise", "auto_element_wise, and 'atan2' is differentiable in 'self', 'other'"),
    ("mul.Tensor", "result: self_t * other_p", "the tangent of 'other' is forgotten"),
    ("select.int", "index: grad", "a formula for 'index' of 'select.int', which is int: only Tensors have gradients"),
    ("max.dim", "output_differentiability: [False, True]", "'indices' of 'max.dim' can not be differentiable"),
    ("sort", "output_differentiability: [True, True]", "'indices' of 'sort' can not be differentiable"),
]


@cache
def mistaken(turn: int) -> Mapping[str, list[str]]:
    """The errors of the mistakes whose entries come for this time."""
    times: Counter[str] = Counter()
    chosen = []
    for entry, line, _ in MUTATIONS:
        if times[entry] == turn:
            chosen.append((entry, line))
        times[entry] += 1
    return errors(chosen)


@pytest.mark.xdist_group("mistakes of the project")  # one process analyzes them
@pytest.mark.parametrize("number", range(len(MUTATIONS)), ids=lambda number: "-".join(MUTATIONS[number][:2]))
def test_a_mistake_in_the_file_of_the_project(number: int) -> None:
    entry, _, message = MUTATIONS[number]
    found = mistaken([before for before, *_ in MUTATIONS[:number]].count(entry))[entry]
    assert any(message in error for error in found), found
