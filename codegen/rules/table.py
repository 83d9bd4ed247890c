"""The rules: what each is in the project's own YAML and in somebody else's, and its place in reports.

A rule is a function of a module beside this one; it finds what is wrong and says so, and this table says what follows.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from codegen.bind.entries import ResolvedEntry
from codegen.codes import Code
from codegen.formula.typed import OperatorCall, walk
from codegen.rules.batching import check_batching
from codegen.rules.called import check_called
from codegen.rules.checked import Checked
from codegen.rules.conjugates import find_missing_conjugates
from codegen.rules.costs import find_lost_history, find_saved_in_vain, find_unreachable
from codegen.rules.coverage import check_composite, check_coverage, check_names
from codegen.rules.kernels import check_kernels, check_kernels_on_top
from codegen.rules.linearity import check_automatic, check_differentiable_outputs, check_linear, check_tangents
from codegen.rules.lint import (
    find_differentiable_integers,
    find_former_keys,
    find_kernel_writes,
    find_no_derivative,
    find_no_promotion,
    find_no_samples,
    find_not_pointwise,
)
from codegen.rules.methods import check_methods
from codegen.rules.samples import check_samples
from codegen.rules.variants import check_returned, check_variants
from codegen.schema.types import OperatorName
from codegen.source import Diagnostic, Diagnostics


class Severity(enum.Enum):
    ERROR = "nothing is generated"
    FINDING = "counted and shown, and no error: a warning of one's own YAML, which `lint` fails for"
    REPORT = "shown by `report` alone"
    OFF = "not looked at"


class After(enum.Enum):
    """What has to hold of an entry before a rule can say anything about it."""

    ALWAYS = "nothing"
    BOUND = "all of it could be read and bound"
    COVERED = "no formula is missing, and those of the operators it calls are bound"


@dataclass(frozen=True, slots=True)
class OperatorRule:
    """A rule over all operators."""

    check: Callable[[Checked, Diagnostics], None]
    own: Severity
    foreign: Severity


@dataclass(frozen=True, slots=True)
class EntryRule:
    """A rule for each derivative entry; with a `title` it has a section in the report."""

    code: Code
    check: Callable[[ResolvedEntry, Checked, Diagnostics], None]
    own: Severity
    foreign: Severity
    after: After
    title: str = ""
    meaning: str = ""


OPERATOR_RULES = (
    OperatorRule(check_kernels, Severity.ERROR, Severity.OFF),  # foreign operators are bound late
    OperatorRule(check_kernels_on_top, Severity.OFF, Severity.ERROR),
    OperatorRule(check_batching, Severity.ERROR, Severity.OFF),
    OperatorRule(check_called, Severity.ERROR, Severity.OFF),
    OperatorRule(check_methods, Severity.ERROR, Severity.OFF),
    OperatorRule(check_variants, Severity.ERROR, Severity.ERROR),
    OperatorRule(check_returned, Severity.ERROR, Severity.FINDING),
    OperatorRule(check_samples, Severity.ERROR, Severity.ERROR),
    OperatorRule(find_no_derivative, Severity.FINDING, Severity.OFF),
    OperatorRule(find_no_samples, Severity.FINDING, Severity.OFF),
    OperatorRule(find_not_pointwise, Severity.FINDING, Severity.OFF),
    OperatorRule(find_no_promotion, Severity.FINDING, Severity.OFF),
    OperatorRule(find_kernel_writes, Severity.FINDING, Severity.OFF),
    OperatorRule(find_former_keys, Severity.FINDING, Severity.OFF),
)

# fmt: off
ENTRY_RULES = (
    EntryRule(Code.NOT_A_TENSOR, check_names, Severity.ERROR, Severity.FINDING, After.ALWAYS),
    EntryRule(
        Code.NOT_LINEAR, check_linear, Severity.ERROR, Severity.FINDING, After.COVERED,
        "Formulas that are not linear",
        "A backward formula is a linear map of the gradient, a forward formula of the tangents. Some of these are "
        "right all the same, by an argument that the rule does not see.",
    ),
    EntryRule(
        Code.AUTOMATIC, check_automatic, Severity.ERROR, Severity.FINDING, After.COVERED,
        "Automatic forward formulas in doubt",
        "`auto_linear` at an operator whose own formulas say that it is not linear, `auto_element_wise` at one that is "
        "not tagged `pointwise` or has several differentiable inputs. Some of these are right all the same: the tag is "
        "missing, or what the formulas depend on is only the shape of a Tensor.",
    ),
    EntryRule(
        Code.TANGENT_FORGOTTEN, check_tangents, Severity.ERROR, Severity.FINDING, After.COVERED,
        "Tangents that are forgotten",
        "The forward formulas use the tangents of some inputs, and not that of one in which the gradient is not zero.",
    ),
    EntryRule(
        Code.INDEX_OUTPUT, check_differentiable_outputs, Severity.ERROR, Severity.FINDING, After.COVERED,
        "Results that can not be differentiable",
        "A result that counts as differentiable, and that the formulas take for an index.",
    ),
    EntryRule(
        Code.NO_FORMULA, check_coverage, Severity.ERROR, Severity.FINDING, After.BOUND,
        "Inputs without a word",
        "A Tensor argument that has neither a formula nor `non_differentiable` nor `not_implemented`: nobody can tell "
        "whether its derivative is zero or was forgotten.",
    ),
    EntryRule(
        Code.TRACED_THROUGH, check_composite, Severity.ERROR, Severity.FINDING, After.ALWAYS,
        "Formulas that are never used",
        "A CompositeImplicitAutograd operator is traced through: where no backend has a kernel of its own for it "
        "(nested Tensors sometimes do), its formulas are dead text.",
    ),
    EntryRule(
        Code.NOT_CONJUGATED, find_missing_conjugates, Severity.FINDING, Severity.FINDING, After.COVERED,
        "Factors that are not conjugated",
        "The formula does not conjugate the gradient, as that of a holomorphic operator; then it depends on the "
        "conjugates of the arguments alone, and this one depends on an argument itself. Where the results of complex "
        "numbers are real, or complex numbers are not taken, it is right all the same.",
    ),
    EntryRule(Code.DIFFERENTIABLE_INTEGER, find_differentiable_integers, Severity.FINDING, Severity.OFF, After.COVERED),
    EntryRule(
        Code.UNREACHABLE, find_unreachable, Severity.FINDING, Severity.REPORT, After.ALWAYS,
        "Branches that are never taken",
        "One side of a `?:` that no run can come to.",
    ),
    EntryRule(
        Code.SAVED_IN_VAIN, find_saved_in_vain, Severity.REPORT, Severity.REPORT, After.ALWAYS,
        "Saved state that no gradient needs",
        "A Tensor is kept alive until the backward pass although only its shape or dtype is used, or because its name "
        "is also the name of a function.",
    ),
    EntryRule(
        Code.HISTORY_LOST, find_lost_history, Severity.FINDING, Severity.REPORT, After.ALWAYS,
        "History lost in double backward",
        "The formula calls an operator that has no derivative itself, so a second derivative ends there with an error "
        "or, where the call is detached, without one.",
    ),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Section:
    """The findings of one rule."""

    code: Code
    title: str
    meaning: str
    findings: Sequence[Diagnostic]


def check(checked: Checked, foreign: bool, diagnostics: Diagnostics, findings: Diagnostics) -> None:
    """All rules that may stop a generation, or are counted in it.

    In an entry of which something could not be read or bound, a formula may seem to be missing that is only wrong. So
    its own rules wait until it is mended, and so do those of entries that call its operator.
    """
    places = {Severity.ERROR: diagnostics, Severity.FINDING: findings}
    broken = {entry.function.name for entry in checked.entries if diagnostics.touch(entry.entry.text)}
    for rule in OPERATOR_RULES:
        place = places.get(rule.foreign if foreign else rule.own)
        if place is not None:
            rule.check(checked, place)
    for entry in checked.entries:
        for formulas in (entry, *(keyed for _, keyed in entry.keyed)):
            for after in _stages(formulas, broken):
                before = len(diagnostics.items) + len(findings.items)
                for entry_rule in ENTRY_RULES:
                    place = places.get(entry_rule.foreign if foreign else entry_rule.own)
                    if place is not None and entry_rule.after is after:
                        entry_rule.check(formulas, checked, place)
                if after is After.BOUND and len(diagnostics.items) + len(findings.items) > before:
                    break


def _stages(formulas: ResolvedEntry, broken: set[OperatorName]) -> Iterator[After]:
    yield After.ALWAYS
    if formulas.function.name not in broken:
        yield After.BOUND
        if broken.isdisjoint(_called(formulas)):
            yield After.COVERED


def _called(entry: ResolvedEntry) -> set[OperatorName]:
    trees = [formula.tree for formula in (*entry.backward, *entry.forward) if formula.tree is not None]
    return {part.schema.name for tree in trees for part in walk(tree) if isinstance(part, OperatorCall)}


def report(entries: Sequence[ResolvedEntry], checked: Checked) -> tuple[Section, ...]:
    """What rules with a title find in some of the entries."""
    sections = []
    for rule in ENTRY_RULES:
        if rule.title:
            diagnostics = Diagnostics()
            for entry in entries:
                rule.check(entry, checked, diagnostics)
            sections.append(Section(rule.code, rule.title, rule.meaning, diagnostics.sorted()))
    return tuple(sections)
