"""Gradients of holomorphic operators depend on the conjugates of their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.bind.call_targets import OperatorTable
from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.codes import Code
from codegen.formula.typed import SCALAR, TypedExpr, children, formula_type
from codegen.rules.checked import Checked
from codegen.rules.linear.degree import Degree, conjugated, flat
from codegen.rules.linear.formulas import Degrees
from codegen.rules.linear.holomorphy import Holomorphy, in_argument, takes_complex
from codegen.signs import CONJUGATION
from codegen.source import Diagnostics


def find_missing_conjugates(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """A formula that says that its operator is holomorphic conjugates what it multiplies the gradient with."""
    name = str(entry.function.name)
    if not takes_complex(entry.function) or checked.linear.entries.get(name) is not entry:
        return
    known = checked.holomorphy.summary(name) or {}
    of = {argument: degree for argument, degree in known.items() if takes_complex(entry.function, argument)}
    numbers = [a.name for a in entry.function.schema.arguments if formula_type(a.type) == SCALAR]
    for formula in entry.backward:
        claims = {of.get(argument, Degree.UNKNOWN) for argument in formula.names}
        if formula.tree is None or len(claims) > 1 or not claims <= _KNOWN:
            continue
        claim = claims.pop()
        for argument, depends in (of | dict.fromkeys(numbers, Degree.HOLOMORPHIC)).items():
            if depends in _KNOWN:
                # The derivative in `z` depends on it as the results do, and is conjugated unless it is that in conj(z).
                wanted = depends if claim is Degree.ANTIHOLOMORPHIC else conjugated(depends)
                _find(entry, formula, formula.tree, argument, depends, wanted, checked, diagnostics)


_KNOWN = {Degree.HOLOMORPHIC, Degree.ANTIHOLOMORPHIC}


def _find(
    entry: ResolvedEntry,
    formula: ResolvedFormula,
    tree: TypedExpr,
    argument: str,
    depends: Degree,
    wanted: Degree,
    checked: Checked,
    diagnostics: Diagnostics,
) -> None:
    holomorphy = checked.holomorphy
    degrees = in_argument(entry, argument, depends)
    wrong = (conjugated(wanted), Degree.NONLINEAR)
    if flat(holomorphy.of_tree(tree, degrees)) not in wrong:
        return
    place = _innermost(tree, degrees, wrong, holomorphy)
    conjugate = "the conjugate of " if wanted is Degree.ANTIHOLOMORPHIC else ""
    diagnostics.error(
        Code.NOT_CONJUGATED,
        formula.source.text.span(place.start, place.end),
        f"a conjugate is {'missing' if conjugate else 'too much'}: the formulas say that '{entry.function.name}' is "
        f"{depends.value} in '{argument}', and then this depends on {conjugate}'{argument}' alone",
        hint=_hint(checked.table) if conjugate else None,
    )


def _hint(table: OperatorTable) -> str:
    """How a conjugate is written with these operators."""
    written = table.written(CONJUGATION)
    if any("method" in function.variants for function in table.overloads("conj")):
        start = "write '.conj()' behind what 'grad' is multiplied with"
    elif written is not None:
        start = f"give '{written.name.base}' what 'grad' is multiplied with"
    else:
        start = "no operator here conjugates: declare one, or leave complex numbers out with 'dtypes: real'"
    return f"{start}; where the results of complex numbers are real, say 'promotion: complex_to_float' instead"


def _innermost(tree: TypedExpr, degrees: Degrees, wrong: Sequence[Degree], holomorphy: Holomorphy) -> TypedExpr:
    """The first part of an expression from which its dependence comes."""
    for child in children(tree):
        if flat(holomorphy.of(child, degrees)) in wrong:
            return _innermost(child, degrees, wrong, holomorphy)
    return tree
