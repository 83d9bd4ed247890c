"""How formulas and operators depend on what comes in: on the gradient, or on the tangents.

Which operators are linear in what is read off their own derivatives.  An operator is linear in some arguments when
their formulas depend neither on those nor on the result, and when the formulas of the other arguments vanish with them.
Composite operators and helpers are Python functions: their source is followed, call by call (`python.py`).

The method is the abstract interpretation of P. Cousot and R. Cousot, "Abstract interpretation: a unified lattice model
for static analysis of programs", POPL 1977, over the five degrees of `codegen.rules.linear.degree`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.bind.call_targets import OperatorTable, takes_options
from codegen.bind.composites import ResolvedComposite
from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.formula.typed import (
    SCALAR,
    Arithmetic,
    Conditional,
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    Mapped,
    OperatorCall,
    TupleDisplay,
    TypedExpr,
    Variable,
    VariableKind,
    formula_type,
    variables,
)
from codegen.python_source import FunctionIndex, PythonFunction, PythonModule
from codegen.read.model import NativeFunction
from codegen.rules.linear.calls import Argument
from codegen.rules.linear.conclusions import Conclusions
from codegen.rules.linear.degree import Degree, Value, either, either_value, flat, opaque, varies
from codegen.rules.linear.entry_facts import EntryFacts
from codegen.rules.linear.python import PythonDegrees
from codegen.schema.types import FunctionSchema, Type
from codegen.signs import Sign


@dataclass(frozen=True, slots=True)
class Degrees:
    """The degrees of the names in a formula.

    `gradient` is that of the incoming gradients; `tangent` that of tangents; `inputs` those of arguments by name, and
    `outputs` those of results by index.  What is not named is constant.
    """

    gradient: Degree = Degree.CONSTANT
    tangent: Degree = Degree.CONSTANT
    inputs: Mapping[str, Degree] | None = None
    outputs: Sequence[Degree] = ()

    def of(self, variable: Variable) -> Degree:
        match variable.kind:
            case VariableKind.GRAD | VariableKind.GRADS:
                return self.gradient
            case VariableKind.TANGENT:
                return self.tangent
            case VariableKind.INPUT if self.inputs is not None:
                return self.inputs.get(variable.name, Degree.CONSTANT)
            case VariableKind.OUTPUT if self.outputs:
                return self.outputs[variable.index]
        return Degree.CONSTANT


_NOTHING = Degrees()


class Linearity:
    """The degrees of all formulas and operators of one run.

    Args:
        entries: the derivative entries, by the name of their operator.
        table: all operators, by name and by base name.
        composites: the functions that implement composite operators.
        helpers: the functions that formulas call.
        composite_formulas: the composite operators that are formulas, by name.
    """

    def __init__(
        self,
        entries: Mapping[str, ResolvedEntry],
        table: OperatorTable,
        composites: FunctionIndex,
        helpers: FunctionIndex,
        composite_formulas: Mapping[str, ResolvedComposite],
    ) -> None:
        self.entries = entries
        self.composite_formulas = composite_formulas
        self.facts = EntryFacts(entries)
        self.table = table
        self.composites = composites
        self.helpers = helpers
        modules: dict[str, PythonModule] = {**composites.modules, **helpers.modules}
        self._concluded: dict[tuple[str, frozenset[str]], bool | None] = {}
        self._proving: set[tuple[str, frozenset[str]]] = set()
        self._met: set[tuple[str, frozenset[str]]] = set()  # of these, the answer was asked for while it was assumed
        self._vanishing: dict[tuple[str, str], bool] = {}
        self._calls_known: dict[object, Value] = {}
        # By the identity of trees, which live as long as the run.
        self._constants: dict[int, Value] = {}
        self._mentioned: dict[int, Sequence[Variable]] = {}
        self._conclusions = Conclusions()
        self.python = PythonDegrees(modules, self, self._conclusions)

    # -- formulas

    def of(self, expr: TypedExpr, degrees: Degrees) -> Value:
        """The degree of an expression, where names have the degrees of `given`."""
        match expr:
            case Literal():
                return Degree.ZERO if expr.value is None or expr.value == 0 else Degree.CONSTANT
            case Variable():
                return degrees.of(expr)
            case Element(receiver=receiver, index=index):
                value = self.of(receiver, degrees)
                if isinstance(value, tuple) and isinstance(index, Literal) and isinstance(index.value, int):
                    return value[index.value]
                return flat(value)
            case ListDisplay():
                return either(*(flat(self.of(item, degrees)) for item in expr.items))
            case TupleDisplay():
                return tuple(self.of(item, degrees) for item in expr.items)
            case Mapped():
                return flat(self.of(expr.body, degrees))
            case Intrinsic(name="zeros"):
                return Degree.ZERO
            case Intrinsic(name="repeat"):
                return flat(self.of(expr.args[0], degrees))
            case Intrinsic() | Arithmetic():
                return Degree.CONSTANT  # a fact of a Tensor's shape or dtype, or a number
            case Conditional():
                if varies(flat(self.of(expr.test, degrees))):
                    return Degree.NONLINEAR
                return either_value(self.of(expr.then, degrees), self.of(expr.orelse, degrees))
            case HelperCall():
                return self._of_helper(expr, degrees)
            case OperatorCall():
                return self.of_call(self.function_of(expr), self._degrees(expr, degrees))

    def of_tree(self, tree: TypedExpr, degrees: Degrees) -> Value:
        """The same of a whole formula: where nothing in it depends on what comes in, it is found once."""
        if any(degrees.of(variable) is not Degree.CONSTANT for variable in self._variables(tree)):
            return self.of(tree, degrees)
        known = self._constants.get(id(tree))
        if known is None:
            known = self._constants[id(tree)] = self.of(tree, _NOTHING)
            self._conclusions.add(self._constants, id(tree))
        return known

    def _variables(self, tree: TypedExpr) -> Sequence[Variable]:
        """Those that a formula names, each once."""
        known = self._mentioned.get(id(tree))
        if known is None:
            distinct = {(variable.kind, variable.name, variable.index): variable for variable in variables(tree)}
            known = self._mentioned[id(tree)] = tuple(distinct.values())
        return known

    def _degrees(self, expr: OperatorCall, degrees: Degrees) -> dict[str, Degree]:
        return {name: flat(self.of(value, degrees)) for name, value in expr.args}

    def function_of(self, expr: OperatorCall) -> NativeFunction:
        """The operator that a call is bound to."""
        return self.table.functions[str(expr.schema.name)]

    def _of_helper(self, expr: HelperCall, degrees: Degrees) -> Value:
        values = {name: self.of(value, degrees) for name, value in expr.args}
        if expr.helper.function is None:  # declared only
            return opaque(map(flat, values.values()))
        return self.python.of_function(expr.helper.function, values)

    # -- operators

    def of_call(self, function: NativeFunction, degrees: Mapping[str, Degree]) -> Value:
        """The degree of a call of an operator with arguments of these degrees, by name.

        Arguments that are left at their defaults are not among them.
        """
        if str(function.name) not in self.entries and function.variant_of is not None:
            function = self.table.functions[str(function.variant_of)]
        name = str(function.name)
        if function.constant_result == 0:
            return Degree.ZERO
        if takes_options(function) and not self.facts.is_differentiable(name) and not function.is_composite_implicit:
            return Degree.ZERO if _filled_with_zero(function, degrees) else Degree.CONSTANT
        if all(degree is Degree.CONSTANT for degree in degrees.values()):
            return Degree.CONSTANT
        formula = self.composite_formulas.get(name)
        if formula is not None:
            return self.of_tree(formula.tree, Degrees(inputs=degrees))
        composite = composite_of(function, self.composites)
        if composite is not None:
            value = self.python.of_function(composite, by_parameter(function, composite, degrees))
            if flat(value) is not Degree.UNKNOWN:
                return value
        entry = self.entries.get(name)
        dependent = frozenset(argument for argument, degree in degrees.items() if degree is not Degree.CONSTANT)
        differentiable = self.facts.is_differentiable(name)
        # What has no derivative may be linear all the same, as `detach` is in the numbers.
        if entry is not None and (differentiable or not (entry.differentiable_outputs or dependent in function.linear)):
            return self._by_derivatives(entry, degrees)
        return either(*degrees.values()) if dependent in function.linear else opaque(degrees.values())

    # -- operators as Python functions name them

    complex_alone = False

    def assumed(self, degrees: Iterable[Degree]) -> Degree:
        """The degree of a recursive function until it is known: it leads to the least fixed point."""
        return Degree.ZERO

    def has_base(self, base: str) -> bool:
        """Whether there is an operator of this base name."""
        return base in self.table.by_base

    def written(self, sign: Sign | None) -> str | None:
        """The base name of the operator whose calls are written with a sign."""
        function = self.table.written(sign)
        return None if function is None else function.name.base

    def of_base(
        self, base: str, overload: str | None, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Value:
        """The degree of a call of one of the overloads of a base name that take such arguments."""
        key = base, overload, tuple(args), tuple(keywords.items())
        known = self._calls_known.get(key)
        if known is None:
            results = {self.of_call(*call) for call in self.calls(base, overload, args, keywords)}
            if not results:
                known = opaque(argument.degree for argument in (*args, *keywords.values()))
            else:
                known = results.pop() if len(results) == 1 else _one_of(map(flat, results))
            self._calls_known[key] = known
            self._conclusions.add(self._calls_known, key)
        return known

    def calls(
        self, base: str, overload: str | None, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Iterator[tuple[NativeFunction, Mapping[str, Degree]]]:
        """The overloads that take such arguments, with the degrees by name."""
        for function in self.table.overloads(base):
            if overload is not None and (function.name.overload or "default") != overload:
                continue
            schema = function.schema
            if len(args) > len(schema.positional):
                continue
            arguments = {a.name: value for a, value in zip(schema.positional, args, strict=False)} | dict(keywords)
            types, required = _types(schema)
            if not required <= arguments.keys() <= types.keys():
                continue
            if all(value.fits(types[name]) for name, value in arguments.items()):
                yield function, {name: value.degree for name, value in arguments.items()}

    def _by_derivatives(self, entry: ResolvedEntry, degrees: Mapping[str, Degree]) -> Degree:
        present = degrees.values()
        if Degree.NONLINEAR in present:
            return Degree.NONLINEAR
        if Degree.UNKNOWN in present:
            return Degree.UNKNOWN
        name = str(entry.function.name)
        linear = frozenset(argument for argument, degree in degrees.items() if degree is Degree.LINEAR)
        zero = frozenset(n for n, degree in degrees.items() if degree is Degree.ZERO and n in self.facts.formulas(name))
        if any(self.is_factor(name, frozenset((argument,))) for argument in zero):
            return Degree.ZERO  # one of the factors is
        constant = self.facts.is_differentiable(name) and _filled_with_zero(entry.function, degrees)
        if constant and all(self.vanishes(name, argument) for argument in self.facts.formulas(name)):
            return Degree.ZERO
        if not linear:
            return Degree.ZERO if zero and self.is_linear(name, zero) else Degree.CONSTANT
        if self.facts.added_number(entry, degrees) is not None:
            return Degree.NONLINEAR
        answers = [self.is_linear(name, together) for together in dict.fromkeys((linear | zero, linear))]
        if True in answers:
            return Degree.LINEAR
        return Degree.UNKNOWN if None in answers else Degree.NONLINEAR

    def _of_formula(self, placed: tuple[ResolvedFormula, int], degrees: Degrees) -> Degree:
        """The degree of the derivative in one argument."""
        formula, place = placed
        if formula.tree is None:  # it has errors of its own, or is not implemented
            return Degree.UNKNOWN
        value = self.of_tree(formula.tree, degrees)
        if len(formula.names) > 1 and isinstance(value, tuple):
            return flat(value[place])
        return flat(value)

    def is_linear(self, name: str, arguments: frozenset[str]) -> bool | None:
        """Whether an operator with formulas is linear in these arguments together; None where it is unknown.

        A derivative is often made of calls of the operator itself.  So what is being proven counts as true while it is,
        and if it turns out not to be, all that was concluded meanwhile is forgotten, if the answer was asked for.
        """
        key = name, arguments
        if key in self._concluded:
            self._met.add(key)
            return self._concluded[key]
        function = self.table.functions[name]
        if arguments in function.linear or function.constant_result == 0:
            return True
        self._concluded[key] = True
        self._conclusions.add(self._concluded, key)
        before = len(self._conclusions)
        self._proving.add(key)
        self._met.discard(key)
        answer = self._prove(name, arguments)
        self._proving.remove(key)
        if answer is not True:
            if key in self._met:
                self._conclusions.forget(before)
            self._concluded[key] = answer
        return answer

    def is_factor(self, name: str, arguments: frozenset[str]) -> bool:
        """Whether the results of an operator are zero where these arguments are, for all values of the others."""
        # What is being proven is no reason: what adds something would prove by itself that it adds nothing.
        if (name, arguments) in self._proving:
            self._met.add((name, arguments))
            return False
        # A step function of another argument has the derivative zero, and may be added.
        others = self.facts.differentiable_arguments(name) - arguments
        return not any(self.vanishes(name, argument) for argument in others) and self.is_linear(name, arguments) is True

    def factors(self, name: str) -> tuple[tuple[str, ...], ...]:
        """The smallest groups of arguments that make the only result of an operator zero by being zero."""
        entry = self.entries[name]
        schema = entry.function.schema
        degrees = dict.fromkeys(_types(schema)[0], Degree.CONSTANT)
        if len(schema.returns) != 1 or self.facts.added_number(entry, degrees) is not None:
            return ()
        names = [argument.name for argument in schema.arguments if argument.name in self.facts.formulas(name)]
        groups: list[tuple[str, ...]] = []
        for count in range(1, len(names) + 1):
            for group in itertools.combinations(names, count):
                known = any(set(smaller) <= set(group) for smaller in groups)
                if not known and self.is_factor(name, frozenset(group)):
                    groups.append(group)
        return tuple(groups)

    def _prove(self, name: str, arguments: frozenset[str]) -> bool | None:
        if not arguments <= self.facts.differentiable_arguments(name):
            return False
        # An operator that is constant almost everywhere has the derivative zero, and is not linear.
        if all(self.vanishes(name, argument) for argument in arguments):
            return False
        certain = True
        for argument, degree in self.derivatives(name, arguments):
            if degree is Degree.UNKNOWN:
                certain = False
            elif degree not in (_INDEPENDENT if argument in arguments else _VANISHING):
                return False
        return True if certain else None

    def derivatives(self, name: str, linear: frozenset[str]) -> Iterator[tuple[str, Degree]]:
        """How the derivatives of an operator, by argument, depend on some arguments in which it is assumed linear."""
        entry = self.entries[name]
        differentiable = [i in entry.differentiable_outputs for i in range(len(entry.function.schema.returns))]
        outputs = tuple(Degree.LINEAR if does else Degree.NONLINEAR for does in differentiable)
        degrees = Degrees(inputs=dict.fromkeys(linear, Degree.LINEAR), outputs=outputs)
        for argument, placed in self.facts.formulas(name).items():
            yield argument, self._of_formula(placed, degrees)

    def vanishes(self, name: str, argument: str) -> bool:
        """Whether the derivative in an argument is zero everywhere."""
        key = name, argument
        if key not in self._vanishing:
            self._vanishing[key] = False  # of a formula that calls the operator itself
            self._conclusions.add(self._vanishing, key)
            self._vanishing[key] = self._of_formula(self.facts.formulas(name)[argument], Degrees()) is Degree.ZERO
        return self._vanishing[key]


_INDEPENDENT = frozenset((Degree.CONSTANT, Degree.ZERO))
_VANISHING = frozenset((Degree.LINEAR, Degree.ZERO))


def composite_of(function: NativeFunction, composites: FunctionIndex) -> PythonFunction | None:
    """The Python function over operators that implements an operator; None if kernels on arrays do."""
    if function.late_bound or function.composite is not None:
        return None
    if not function.dispatch:
        return composites.get(function.name.python_name)
    functions = [composites.get(str(line.kernel)) for line in function.dispatch if line.key in COMPOSITE_KEYS]
    return functions[0] if len(functions) == len(function.dispatch) else None


def by_parameter(
    function: NativeFunction, python: PythonFunction, degrees: Mapping[str, Degree]
) -> Mapping[str, Degree]:
    """Degrees by argument of an operator as degrees by parameter of the Python function behind it."""
    pairs = zip(function.schema.arguments, python.parameters or (), strict=False)
    return {parameter.name: degrees[a.name] for a, parameter in pairs if a.name in degrees}


def _filled_with_zero(function: NativeFunction, degrees: Mapping[str, Degree]) -> bool:
    """Whether an operator whose result holds nothing but the numbers it is given is given zeros."""
    numbers = [degrees[a.name] for a in function.schema.arguments if a.type == SCALAR and a.name in degrees]
    return bool(numbers) and all(degree is Degree.ZERO for degree in numbers)


@functools.cache
def _types(schema: FunctionSchema) -> tuple[Mapping[str, Type], frozenset[str]]:
    """The types of the arguments, and the names of those that have no default."""
    arguments = schema.arguments
    types = {argument.name: formula_type(argument.type) for argument in arguments}
    return types, frozenset(argument.name for argument in arguments if argument.default is None)


def _one_of(degrees: Iterable[Degree]) -> Degree:
    """What is certain of a call, where its overloads differ."""
    present = set(degrees) - {Degree.ZERO}
    return present.pop() if len(present) == 1 else Degree.UNKNOWN
