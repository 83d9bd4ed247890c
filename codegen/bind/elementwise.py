"""Element-wise operators that are expressions: bound, typed, and taken apart into operators that have kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.bind.call_targets import OperatorTable
from codegen.bind.composites import ResolvedComposite
from codegen.bind.formulas import FormulaResolver
from codegen.bind.scope import Scope
from codegen.bind.substitution import applied
from codegen.codes import Code
from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.formula.structure import structure
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    FLOAT,
    INT,
    NONE,
    NUMBERS,
    SCALAR,
    STR,
    TENSOR,
    Arithmetic,
    Conditional,
    Intrinsic,
    Literal,
    OperatorCall,
    TypedExpr,
    Variable,
    formula_type,
    rewrite_parts,
    variables,
    walk,
)
from codegen.read.model import ElementwiseFormula, NativeFunction, WrittenFormula
from codegen.schema.types import OptionalType, required
from codegen.source import Diagnostics, Text
from codegen.words import counted

_ARGUMENTS = frozenset((TENSOR, SCALAR, FLOAT, INT, BOOL, STR))
_SHOWN = frozenset((SCALAR, FLOAT, INT, BOOL, STR, DTYPE))  # what a message may say the value of


@dataclass(frozen=True, slots=True)
class ResolvedConvention:
    """The slopes for all Tensors where the first one has the value `point`."""

    point: TypedExpr
    slopes: tuple[TypedExpr, ...]
    text: Text


@dataclass(frozen=True, slots=True)
class ResolvedRequirement:
    """A condition that arguments have to meet, and the message where they do not: words, and values between them."""

    condition: TypedExpr
    words: tuple[str, ...]
    values: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True)
class ResolvedElementwise:
    """An operator whose elements are an expression.

    `tree` is the expression as it is written, but for composite operators; `steps` is the same over operators that have
    kernels of their own. `kinks` are expressions over the arguments whose zeros are points without a derivative.
    """

    function: NativeFunction
    text: Text
    tree: TypedExpr
    steps: TypedExpr
    conventions: tuple[ResolvedConvention, ...]
    requirements: tuple[ResolvedRequirement, ...]
    kinks: tuple[TypedExpr, ...]

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of the Tensors among its arguments."""
        return _tensors(self.function)


class ElementwiseTable(Mapping[str, ResolvedElementwise]):
    """The element-wise operators that are expressions, by their names; each is bound when it is first asked for.

    Args:
        functions: the operators, those of a base included.
        table: of what they may call.
        composites: the operators that are formulas over others.
        diagnostics: where what is wrong with those of `own` is said.
        own: the operators of the files that are generated.
    """

    def __init__(
        self,
        functions: Iterable[NativeFunction],
        table: OperatorTable,
        composites: Mapping[str, ResolvedComposite],
        diagnostics: Diagnostics,
        own: Iterable[NativeFunction],
    ) -> None:
        # Of two operators of one name, which is an error, `table` has one.
        expressions = {str(each.name): each for each in functions if each.elementwise is not None}
        self._functions = {
            name: each for name, each in expressions.items() if table.functions[name].elementwise is not None
        }
        self._table = table
        self._composites = composites
        self._diagnostics = diagnostics
        self._own = {str(each.name) for each in own}
        self._known: dict[str, ResolvedElementwise | None] = {}
        self._begun: list[str] = []

    def __getitem__(self, name: str) -> ResolvedElementwise:
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def find(self, name: str) -> ResolvedElementwise | None:
        """The operator of a name; None if there is none, or it does not fit, which is reported once."""
        function = self._functions.get(name)
        if function is None:
            return None
        if name not in self._known:
            diagnostics = self._diagnostics if name in self._own else Diagnostics()
            self._begun.append(name)
            self._known[name] = self._resolve(function, diagnostics)
            self._begun.pop()
        return self._known[name]

    @property
    def own_names(self) -> Iterator[str]:
        """The names of those of the files that are generated."""
        return (name for name in self._functions if name in self._own)

    def own(self) -> Iterator[ResolvedElementwise]:
        """Those of the files that are generated."""
        return (found for name in self.own_names if (found := self.find(name)) is not None)

    def _resolve(self, function: NativeFunction, diagnostics: Diagnostics) -> ResolvedElementwise | None:
        formula = function.elementwise
        assert formula is not None
        if not self._check_signature(function, diagnostics):
            return None
        written = self._tree(function, WrittenFormula(formula.text, formula.tree), diagnostics)
        if written is None:
            return None
        if written.type != TENSOR:
            message = f"this expression gives {written.type}, an element of the result comes from those of a Tensor"
            diagnostics.error(Code.TYPES, formula.text.span(), message)
            return None
        if isinstance(written, Variable):
            diagnostics.error(
                Code.NOT_ELEMENTWISE,
                formula.text.span(),
                f"the elements of '{written.name}' are there already, and a result is new memory",
                f"write 'composite: {written.name}.clone()'",
            )
            return None
        named = {variable.name for variable in variables(written)}
        unused = [name for name in _tensors(function) if name not in named]
        for name in unused:
            diagnostics.error(
                Code.NOT_ELEMENTWISE,
                formula.text.span(),
                f"'{name}' has no part in this expression, which alone decides the shape of the result",
                "write a kernel where an argument is there for its shape",
            )
        if not unused:
            unused = [name for name in _tensors(function) if not _is_on_all_sides(name, written)]
            for name in unused:
                diagnostics.error(
                    Code.NOT_ELEMENTWISE,
                    formula.text.span(),
                    f"'{name}' has no part in one side of this choice, which alone decides the shape of the result",
                    "write a kernel where an argument is there for its shape",
                )
        if unused:
            return None
        parts = _Parts(function, formula.text, self._table, self, self._composites, self._begun, diagnostics)
        tree = parts.without_composites(written)
        steps = None if tree is None else parts.steps(tree)
        if tree is None or steps is None:
            return None
        conventions = self._conventions(function, formula, diagnostics)
        requirements = tuple(self._requirements(function, formula, diagnostics))
        kinks = [kink for part in walk(steps) if isinstance(part, OperatorCall) for kink in self._kinks(part)]
        distinct = tuple({structure(kink): kink for kink in kinks}.values())
        return ResolvedElementwise(function, formula.text, tree, steps, conventions, requirements, distinct)

    def _check_signature(self, function: NativeFunction, diagnostics: Diagnostics) -> bool:
        schema = function.schema
        returns = [formula_type(each.type) for each in schema.returns]
        if returns != [TENSOR] or schema.writes or schema.is_view:
            diagnostics.error(
                Code.NOT_ELEMENTWISE,
                function.text.span(0, schema.name_end or 1),
                f"'{function.name}' does not make one Tensor",
                "an expression gives the elements of one result; its in-place and out variants follow: 'autogen'",
            )
            return False
        for argument in schema.arguments:
            if required(formula_type(argument.type)) not in _ARGUMENTS:
                diagnostics.error(
                    Code.NOT_ELEMENTWISE,
                    function.text.span(argument.start, argument.end),
                    f"an expression over elements has no use for '{argument.name}', which is {argument.type}",
                    "its arguments are Tensors, numbers and words: write a kernel for others",
                )
                return False
        return True

    def _tree(self, function: NativeFunction, formula: WrittenFormula, diagnostics: Diagnostics) -> TypedExpr | None:
        scope = Scope(function, (), knows_results=False, by_choice=True)
        return FormulaResolver(self._table, scope, formula.text, diagnostics).resolve(formula.tree)

    def _conventions(
        self, function: NativeFunction, formula: ElementwiseFormula, diagnostics: Diagnostics
    ) -> tuple[ResolvedConvention, ...]:
        tensors = len(_tensors(function))
        found = []
        for convention in formula.conventions:
            trees = [self._tree(function, each, diagnostics) for each in (convention.point, *convention.slopes)]
            point, *slopes = trees
            if point is None or None in slopes:
                continue
            text = convention.point.text
            if len(slopes) != tensors:
                message = (
                    f"'{function.name}' has {counted(tensors, 'Tensor')}, here are {counted(len(slopes), 'slope')}"
                )
                diagnostics.error(Code.WRONG_SHAPE, text.span(), message, "write one for each Tensor, in brackets")
                continue
            known = tuple(slope for slope in slopes if slope is not None)
            of_point = point.type.elem if isinstance(point.type, OptionalType) else point.type
            if any(type not in (TENSOR, *NUMBERS) for type in (of_point, *(slope.type for slope in known))):
                message = "a point and a derivative are each a number or another Tensor"
                diagnostics.error(Code.TYPES, text.span(), message)
                continue
            found.append(ResolvedConvention(point, known, text))
        return tuple(found)

    def _requirements(
        self, function: NativeFunction, formula: ElementwiseFormula, diagnostics: Diagnostics
    ) -> Iterator[ResolvedRequirement]:
        for requirement in formula.requirements:
            written = requirement.condition
            condition = self._tree(function, written, diagnostics)
            if condition is not None and condition.type != BOOL:
                message = f"this condition is {condition.type}, and no bool"
                diagnostics.error(Code.TYPES, written.text.span(), message, "compare numbers: 'lambd >= 0'")
                continue
            values = []
            for shown in requirement.values:
                value = self._tree(function, shown, diagnostics)
                if value is not None and value.type not in _SHOWN:
                    message = f"a message has no words for {value.type}"
                    diagnostics.error(Code.TYPES, shown.text.span(), message, "name a number, a word or a dtype")
                elif value is not None:
                    values.append(value)
            if condition is not None and len(values) == len(requirement.values):
                yield ResolvedRequirement(condition, requirement.words, tuple(values))

    def _kinks(self, call: OperatorCall) -> Iterator[TypedExpr]:
        """The kinks that a call of an operator has by its own entry, as expressions over what it is called with."""
        function = self._table.functions[str(call.schema.name)]
        for kink in function.kinks:
            tree = self._tree(function, kink, Diagnostics())
            if tree is not None:
                yield applied(tree, call)


class _Parts:
    """Takes one expression apart. Methods give None where something was reported."""

    def __init__(
        self,
        function: NativeFunction,
        text: Text,
        table: OperatorTable,
        known: ElementwiseTable,
        composites: Mapping[str, ResolvedComposite],
        begun: Sequence[str],
        diagnostics: Diagnostics,
    ) -> None:
        self.function = function
        self.text = text
        self.table = table
        self.known = known
        self.composites = composites
        self.begun = begun
        self.diagnostics = diagnostics
        self.failed = False

    def without_composites(self, tree: TypedExpr) -> TypedExpr | None:
        """The same with the formulas of composite operators in their place."""

        def change(part: TypedExpr) -> TypedExpr:
            part = rewrite_parts(part, change)
            if not isinstance(part, OperatorCall):
                return part
            composite = self.composites.get(str(part.schema.name))
            return part if composite is None else change(applied(composite.tree, part))

        made = change(tree)
        for part in walk(made):
            self._check(part)
        return None if self.failed else made

    def steps(self, tree: TypedExpr) -> TypedExpr | None:
        """The same with the expressions of element-wise operators in their place."""

        def change(part: TypedExpr) -> TypedExpr:
            part = rewrite_parts(part, change)
            if isinstance(part, Conditional) and (given := _is_given(part.test)) is not None:
                return part.then if given else part.orelse
            if not isinstance(part, OperatorCall):
                return part
            name = str(part.schema.name)
            if name not in self.known:
                return part
            if name in self.begun:
                way = "calls itself" if name == str(self.function.name) else "comes back to itself"
                self._error(Code.ENDLESS, part, f"'{self.function.name}' {way}, and would never end")
                return part
            other = self.known.find(name)
            if other is None:
                self.failed = True
                return part
            return change(applied(other.steps, part))  # which decides what is given

        made = change(tree)
        return None if self.failed else made

    def _check(self, part: TypedExpr) -> None:
        match part:
            case OperatorCall():
                function = self.table.functions[str(part.schema.name)]
                if not _is_elementwise(function):
                    hint = "an expression over elements calls operators that are tagged 'pointwise' and have a kernel"
                    self._error(Code.NOT_ELEMENTWISE, part, f"'{function.name}' is no element-wise operator", hint)
            case Variable() | Literal() | Arithmetic() | Conditional() | Intrinsic(name="defined"):
                pass
            case Intrinsic() if part.type in NUMBERS and all(arg.type in NUMBERS for arg in part.args):
                pass
            case _:
                self._error(Code.NOT_ELEMENTWISE, part, "this is no expression over elements")

    def _error(self, code: Code, part: TypedExpr, message: str, hint: str | None = None) -> None:
        self.failed = True
        self.diagnostics.error(code, self.text.span(part.start, part.end), message, hint)


def _is_given(test: TypedExpr) -> bool | None:
    """What a test for an argument finds in any case; None where the call decides, or it is another test."""
    if not isinstance(test, Intrinsic) or test.name != "defined" or isinstance(test.args[0].type, OptionalType):
        return None
    return test.args[0].type != NONE


def _tensors(function: NativeFunction) -> tuple[str, ...]:
    """The names of the Tensors among the arguments of an operator."""
    return tuple(argument.name for argument in function.schema.arguments if formula_type(argument.type) == TENSOR)


def _is_elementwise(function: NativeFunction) -> bool:
    kernel = function.elementwise is not None or any(line.key not in COMPOSITE_KEYS for line in function.dispatch)
    return kernel and "pointwise" in function.tags and not function.is_random


def _is_on_all_sides(name: str, expr: TypedExpr) -> bool:
    """Whether a Tensor has a part in what is computed, whichever way choices between numbers are made."""
    if isinstance(expr, Conditional) and expr.test.type != TENSOR:
        return _is_on_all_sides(name, expr.then) and _is_on_all_sides(name, expr.orelse)
    return any(variable.name == name for variable in variables(expr))
