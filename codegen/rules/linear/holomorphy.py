"""In which arguments operators are holomorphic, and how formulas depend on complex numbers.

The gradient of `f` in `z` is `conj(df/dz) g + (df/dconj(z)) conj(g)` for the incoming gradient `g`: K. Kreutz-Delgado,
"The Complex Gradient Operator and the CR-Calculus", 2009, section 4. So a formula that is complex linear in the
gradient says that its operator is holomorphic in that argument, and one that is linear in the conjugate of the gradient
that it is antiholomorphic.

What operators are follows from their own formulas, which call operators; so it is the greatest solution of what these
say of each other: an operator counts as holomorphic until a formula contradicts that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from codegen.bind.entries import ResolvedEntry
from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.formula.meaning import Meaning
from codegen.formula.typed import SCALAR, Arithmetic, Conditional, Intrinsic, Mapped, TypedExpr, formula_type
from codegen.read.model import NativeFunction
from codegen.rules.kernel_source import KernelSources
from codegen.rules.linear.degree import Degree, Value, conjugated, either, flat, varies
from codegen.rules.linear.formulas import Degrees, Linearity, by_parameter, composite_of
from codegen.words import PromotionKind

_COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">=", "&&", "||", "!"))
_SETTLED = (Degree.HOLOMORPHIC, Degree.ANTIHOLOMORPHIC)


class Holomorphy(Linearity):
    """The same of another question: which values are holomorphic functions of something, or of its conjugate.

    A value is CONSTANT also where it only jumps, as a comparison does, and NONLINEAR where a call combines something
    that is holomorphic with something that is antiholomorphic.
    """

    complex_alone = True
    _summaries: dict[str, Mapping[str, Degree]]
    _asked: set[str]  # of these operators, the summary was asked for since it was last guessed

    _sources: KernelSources
    _complex: dict[str, bool]  # whether results that are differentiable may be complex, by operator

    @classmethod
    def beside(cls, linearity: Linearity, sources: KernelSources) -> Holomorphy:
        """The holomorphy of the operators of a linearity check, of whose kernels so much is seen."""
        found = cls(
            linearity.entries, linearity.table, linearity.composites, linearity.helpers, linearity.composite_formulas
        )
        found._summaries = {}
        found._asked = set()
        found._complex = {}
        found._sources = sources
        return found

    def of(self, expr: TypedExpr, degrees: Degrees) -> Value:
        match expr:
            case Intrinsic(name="conjugate"):
                return conjugated(flat(self.of(expr.args[0], degrees)))
            case Intrinsic(name="to_complex" | "sqrt" | "exp" | "log" | "log1p"):
                return flat(self.of(expr.args[0], degrees))
            case Intrinsic(name="to_float" | "to_int" | "abs"):
                value = flat(self.of(expr.args[0], degrees))
                return Degree.UNKNOWN if varies(value) else value
            case Arithmetic() if expr.op not in _COMPARISONS:
                return either(Degree.CONSTANT, *(flat(self.of(operand, degrees)) for operand in expr.operands))
            case Conditional(test=Intrinsic(name="is_complex" | "number_is_complex")):
                return self.of(expr.then, degrees)
            case Mapped() if varies(flat(self.of(expr.source, degrees))):
                return Degree.UNKNOWN
        return super().of(expr, degrees)

    def of_call(self, function: NativeFunction, degrees: Mapping[str, Degree]) -> Value:
        if function.variant_of is not None:
            function = self.table.functions[str(function.variant_of)]
        if function.constant_result == 0:
            return Degree.ZERO
        together = _combined(degrees.values())
        if together is Degree.CONSTANT or not self._gives_complex(function):
            return Degree.UNKNOWN if varies(together) and not _gives_bools(function) else Degree.CONSTANT
        if function.meaning is Meaning.CONJUGATE:
            return conjugated(together)
        formula = self.composite_formulas.get(str(function.name))
        if formula is not None:
            return self.of_tree(formula.tree, Degrees(inputs=degrees))
        composite = composite_of(function, self.composites)
        if composite is not None:
            return self.python.of_function(composite, by_parameter(function, composite, degrees))
        value = _combined(_through(self.of_argument(function, name), degree) for name, degree in degrees.items())
        entry = self.entries.get(str(function.name))
        return value if entry is None or len(function.schema.returns) == 1 else _of_results(entry, value)

    def assumed(self, degrees: Iterable[Degree]) -> Degree:
        return _combined(degrees)

    def of_argument(self, function: NativeFunction, argument: str) -> Degree:
        """How the results of an operator with formulas depend on an argument."""
        known = self.summary(str(function.name))
        if known is None:
            return Degree.CONSTANT
        if argument in known:
            return known[argument]
        types = {each.name: formula_type(each.type) for each in function.schema.arguments}
        # Kernels conjugate no numbers, and take no parts of them.
        return Degree.HOLOMORPHIC if types[argument] == SCALAR else Degree.UNKNOWN

    def summary(self, name: str) -> Mapping[str, Degree] | None:
        """How the results of an operator depend on its differentiable arguments; None: they only jump."""
        if name in self._summaries:
            self._asked.add(name)
            return self._summaries[name]
        entry = self.entries.get(name)
        if entry is None:
            return {}
        if not entry.differentiable_outputs:
            return None
        formulas = self.facts.formulas(name)
        guess: Mapping[str, Degree] = dict.fromkeys(formulas, Degree.HOLOMORPHIC)
        while True:
            self._summaries[name] = guess
            self._conclusions.add(self._summaries, name)
            before = len(self._conclusions)
            self._asked.discard(name)
            found: Mapping[str, Degree] = {argument: self._claimed(name, argument) for argument in formulas}
            if found == guess:
                return guess
            if name in self._asked:
                self._conclusions.forget(before)
            # What changes twice contradicts itself, as a formula that conjugates what its own operator gives.
            guess = {
                argument: degree if guess[argument] in (degree, Degree.HOLOMORPHIC) else Degree.UNKNOWN
                for argument, degree in found.items()
            }

    def _gives_complex(self, function: NativeFunction) -> bool:
        """Whether results that are differentiable may be complex."""
        name = str(function.name)
        if name not in self._complex:
            self._complex[name] = self._may_give_complex(function)
        return self._complex[name]

    def _may_give_complex(self, function: NativeFunction) -> bool:
        if not takes_complex(function) or function.gives_real:
            return False
        entry = self.entries.get(str(function.name))
        kernels = [line.kernel for line in function.dispatch if line.key not in COMPOSITE_KEYS]
        source = self._sources.get(str(kernels[0])) if kernels else None
        if entry is None or source is None or not entry.differentiable_outputs:
            return True
        real = source.gives_real(len(function.schema.returns))
        return not all(real[output] for output in entry.differentiable_outputs)

    def _claimed(self, name: str, argument: str) -> Degree:
        """What the formula of an argument says of how the results depend on it."""
        if self._summaries[name][argument] is Degree.UNKNOWN:
            return Degree.UNKNOWN
        placed = self.facts.formulas(name)[argument]
        claim = self._of_formula(placed, Degrees(gradient=Degree.HOLOMORPHIC))
        if claim in (Degree.ZERO, Degree.CONSTANT):
            return Degree.CONSTANT
        # A real function of complex numbers is holomorphic only where it is constant.
        if claim not in _SETTLED or not self._gives_complex(self.entries[name].function):
            return Degree.UNKNOWN
        # Where the result is real, so is the gradient: what is not known of the coefficient may be about such a result.
        coefficient = self._of_formula(placed, in_argument(self.entries[name], argument, claim))
        return Degree.UNKNOWN if coefficient is Degree.UNKNOWN else claim


def in_argument(entry: ResolvedEntry, argument: str, depends: Degree) -> Degrees:
    """An argument of an operator as what comes in, on which its differentiable results depend in a known way."""
    return Degrees(inputs={argument: Degree.HOLOMORPHIC}, outputs=_of_results(entry, depends))


def _of_results(entry: ResolvedEntry, degree: Degree) -> tuple[Degree, ...]:
    """The degrees of all results, where that of those that are differentiable is known: others jump."""
    count = len(entry.function.schema.returns)
    return tuple(degree if place in entry.differentiable_outputs else Degree.CONSTANT for place in range(count))


def takes_complex(function: NativeFunction, argument: str | None = None) -> bool:
    """Whether an operator takes complex numbers; for an argument, as far as its YAML says."""
    if function.takes_complex:
        return True
    limited = function.dtypes.arguments if function.dtypes is not None else None
    return limited is not None and argument not in limited


def _gives_bools(function: NativeFunction) -> bool:
    return function.promotion is not None and function.promotion.kind is PromotionKind.ALWAYS_BOOL


def _combined(degrees: Iterable[Degree]) -> Degree:
    """The degree of a function that is holomorphic in all of its arguments."""
    present = set(degrees)
    if {Degree.HOLOMORPHIC, Degree.ANTIHOLOMORPHIC} <= present and Degree.UNKNOWN not in present:
        return Degree.NONLINEAR
    return either(Degree.CONSTANT, *present)


def _through(summary: Degree, given: Degree) -> Degree:
    """How a result depends on something, where it depends on an argument in one way, and that on it in another."""
    if not varies(given) or given in (Degree.UNKNOWN, Degree.NONLINEAR):
        return given
    match summary:
        case Degree.HOLOMORPHIC:
            return given
        case Degree.ANTIHOLOMORPHIC:
            return conjugated(given)
        case Degree.CONSTANT:
            return Degree.CONSTANT
    return Degree.UNKNOWN
