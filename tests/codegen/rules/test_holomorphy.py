"""Which formulas lack a conjugate: what is found when one is taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from codegen.bind.entries import ResolvedEntry
from codegen.codes import Code
from codegen.formula.meaning import Meaning
from codegen.formula.typed import Intrinsic, OperatorCall, TypedExpr, Variable, rewrite, walk
from codegen.pipeline import Result
from codegen.rules.checked import Checked
from codegen.rules.conjugates import find_missing_conjugates
from codegen.rules.linear.degree import Degree, conjugated, either, varies
from codegen.rules.linear.formulas import Linearity
from codegen.rules.linear.holomorphy import Holomorphy, takes_complex
from codegen.source import Diagnostics
from support.own_project import own_analysis

HOLOMORPHIC, ANTIHOLOMORPHIC = Degree.HOLOMORPHIC, Degree.ANTIHOLOMORPHIC


def checked() -> Checked:
    own_checked = own_analysis().checked
    assert own_checked is not None
    return own_checked


def findings(entry: ResolvedEntry) -> list[str]:
    """What the rule says of an entry in the place of that of its operator."""
    known = checked().linear
    entries = {**known.entries, str(entry.function.name): entry}
    linear = Linearity(entries, known.table, known.composites, known.helpers, known.composite_formulas)
    diagnostics = Diagnostics()
    changed = replace(checked(), linear=linear, holomorphy=Holomorphy.beside(linear, checked().sources))
    find_missing_conjugates(entry, changed, diagnostics)
    return [each.message for each in diagnostics.items]


def conjugate_of(part: TypedExpr) -> TypedExpr | None:
    """What a part of a formula is the conjugate of."""
    match part:
        case OperatorCall(meaning=Meaning.CONJUGATE):
            return part.args[0][1]
        case Intrinsic(name="conjugate"):
            return part.args[0]
    return None


def without_a_conjugate(entry: ResolvedEntry) -> Iterator[tuple[str, ResolvedEntry]]:
    """The entry without one of the conjugates in its backward formulas, for each of them."""
    for place, formula in enumerate(entry.backward):
        for part in walk(formula.tree) if formula.tree is not None else ():
            inner = conjugate_of(part)
            if formula.tree is not None and inner is not None:
                tree = rewrite(formula.tree, lambda each: inner if each is part else None)  # noqa: B023 (used at once)
                text = formula.source.text.value
                backward = (*entry.backward[:place], replace(formula, tree=tree), *entry.backward[place + 1 :])
                yield f"{text[: inner.end]}<!>{text[inner.end :]}", replace(entry, backward=backward)


def test_a_conjugate_that_is_taken_away_is_missed() -> None:
    entries = checked().linear.entries
    silent = [
        f"{name}: {where}"
        for name, entry in entries.items()
        if takes_complex(entry.function)
        for where, changed in without_a_conjugate(entry)
        if not findings(changed)
    ]
    # The conjugate itself is not known from its own formula to be other than the identity.
    assert silent == ["_conj_physical: grad<!>.conj()"]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("neg", {"self": HOLOMORPHIC}),
        ("mm", {"self": HOLOMORPHIC, "mat2": HOLOMORPHIC}),
        ("vdot", {"self": ANTIHOLOMORPHIC, "other": HOLOMORPHIC}),
        ("_conj_physical", {"self": ANTIHOLOMORPHIC}),
        ("where.self", {"self": HOLOMORPHIC, "other": HOLOMORPHIC}),
        ("abs", {"self": Degree.UNKNOWN}),
        ("sgn", {"self": Degree.UNKNOWN}),
        ("view_as_real", {"self": Degree.UNKNOWN}),
        ("sign", {"self": Degree.CONSTANT}),
        ("tanh_backward", {"grad_output": HOLOMORPHIC, "output": ANTIHOLOMORPHIC}),
    ],
)
def test_operators_follow_from_formulas_that_call_them(name: str, known: dict[str, Degree]) -> None:
    assert checked().holomorphy.summary(name) == known


def test_a_formula_that_conjugates_what_its_own_operator_gives_says_nothing() -> None:
    neg, conjugate = (checked().linear.entries[name] for name in ("neg", "_conj_physical"))
    (formula,), (conjugating,) = neg.backward, conjugate.backward
    assert formula.tree is not None
    assert conjugating.tree is not None
    own = formula.tree
    tree = rewrite(conjugating.tree, lambda part: own if isinstance(part, Variable) else None)
    changed = replace(neg, backward=(replace(formula, tree=tree),))
    known = checked().linear
    entries = {**known.entries, "neg": changed}
    linear = Linearity(entries, known.table, known.composites, known.helpers, known.composite_formulas)
    assert Holomorphy.beside(linear, checked().sources).summary("neg") == {"self": Degree.UNKNOWN}
    assert findings(changed) == []


@pytest.mark.parametrize(
    ("body", "real"),
    [
        ("np.abs(self) ** 2", True),
        ("(self.real ** 2 + self.imag ** 2) / 2", True),
        ("np.where(self == 0, 0.0, np.sqrt(abs(self)))", True),
        ("np.linalg.norm(self)", True),
        ("np.square(self.real).sum()", True),
        ("(np.abs(self) + 1).mean(axis=0)", True),
        ("self * self", False),
        ("np.abs(self) * self", False),
        ("np.abs(self).astype(self.dtype)", False),
        ("np.sum(np.abs(self), dtype=self.dtype)", False),
        ("np.where(np.abs(self) > 1, self, 0)", False),
        ("np.abs(self) * 1j", False),
        ("unknown(np.abs(self))", False),
    ],
)
def test_a_kernel_shows_that_its_result_is_real(analysed: Callable[..., Result], body: str, real: bool) -> None:
    functions = (
        "- func: size(Tensor self) -> Tensor\n  dispatch:\n    CPU: size\n  samples:\n  - T(3)\n"
        "- func: mul(Tensor self, Tensor other) -> Tensor\n  dispatch:\n    CPU: mul\n  python_operator: self * other\n"
    )
    formulas = (
        "- name: size(Tensor self) -> Tensor\n  self: grad * self\n"
        "- name: mul(Tensor self, Tensor other) -> Tensor\n  self: grad * other.conj()\n  other: grad * self.conj()\n"
    )
    kernels = f"import numpy as np\nmul = np.multiply\ndef size(self): return {body}\n"
    conj = "- func: conj(Tensor self) -> Tensor\n  variants: method\n  dispatch:\n    CPU: conj\n"
    conj += "  python_operator: conj(self)\n"
    formulas += "- name: conj(Tensor self) -> Tensor\n  self: grad.conj()\n"
    result = analysed(functions + conj, formulas, "", kernels + "conj = np.conj\n")
    assert result.diagnostics.items == []
    found = [item.code for item in result.findings.items if item.code is Code.NOT_CONJUGATED]
    assert found == ([] if real else [Code.NOT_CONJUGATED])


def test_real_results_that_promotion_declares_need_no_conjugate(analysed: Callable[..., Result]) -> None:
    functions = (
        "- func: size(Tensor self) -> Tensor\n  dispatch:\n    CPU: size\n{promotion}"
        "- func: mul(Tensor self, Tensor other) -> Tensor\n  dispatch:\n    CPU: mul\n  python_operator: self * other\n"
    )
    formulas = (
        "- name: size(Tensor self) -> Tensor\n  self: grad * self\n"
        "- name: mul(Tensor self, Tensor other) -> Tensor\n  self: grad * other\n  other: grad * self\n"
    )
    kernels = "import numpy as np\nmul = np.multiply\ndef size(self): return unknown(self)\n"
    for promotion, count in (("", 3), ("  promotion: complex_to_float\n", 2)):
        found = analysed(functions.format(promotion=promotion), formulas, "", kernels).findings.items
        assert sum(item.code is Code.NOT_CONJUGATED for item in found) == count


def test_comparisons_only_jump() -> None:
    assert checked().holomorphy.summary("gt.Scalar") is None


def test_real_results_are_allowed_and_nothing_else() -> None:
    found = Diagnostics()
    for entry in checked().entries:
        find_missing_conjugates(entry, checked(), found)
    names = {"angle", "var.correction", "std.correction", "var_mean.correction", "std_mean.correction"}
    assert {item.code for item in found.items} == {Code.NOT_CONJUGATED}
    assert len(found.items) == len(names)
    assert all(any(f"'{name}'" in item.message for item in found.items) for name in names)


def test_an_operator_without_complex_numbers_is_not_looked_at() -> None:
    entry = checked().linear.entries["exp"]
    (_, wrong), *_ = without_a_conjugate(entry)
    assert findings(wrong)
    dtypes = checked().linear.entries["polar"].function.dtypes
    assert dtypes is not None
    assert not findings(replace(wrong, function=replace(wrong.function, dtypes=dtypes)))


@pytest.mark.parametrize(
    ("degrees", "together"),
    [
        ((HOLOMORPHIC, Degree.CONSTANT), HOLOMORPHIC),
        ((ANTIHOLOMORPHIC, Degree.ZERO, Degree.CONSTANT), ANTIHOLOMORPHIC),
        ((HOLOMORPHIC, ANTIHOLOMORPHIC), Degree.UNKNOWN),
        ((HOLOMORPHIC, Degree.LINEAR), Degree.NONLINEAR),
    ],
)
def test_what_is_one_of_several(degrees: tuple[Degree, ...], together: Degree) -> None:
    assert either(*degrees) is together
    assert varies(together)
    assert conjugated(conjugated(together)) is together
