"""How C++ spells formulas: sequences of statements, each of which makes one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from codegen.formula.meaning import Meaning
from codegen.formula.typed import (
    BOOL,
    INT,
    STR,
    TENSOR,
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
)
from codegen.plan.names import FunctionNames
from codegen.plan.native import NativePlan
from codegen.plan.node import shown_yaml
from codegen.plan.operator import ParameterPlan
from codegen.read.kernel_table import HELPERS
from codegen.schema.names import python
from codegen.source import Text
from codegen.targets.cpp.intrinsics import ABSENT, ASKED, CALLED, DEVICE_IS, LEFT_TO_PYTHON, OWNED, TESTS
from codegen.targets.cpp.loops import Loops
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.statements import Call, Statements
from codegen.targets.literals import default_value

_NUMBERS = {"+": "plus", "-": "minus", "*": "times", "/": "divided", "%": "modulo"}
_COMPARISONS = {"==": "Py_EQ", "!=": "Py_NE", "<": "Py_LT", "<=": "Py_LE", ">": "Py_GT", ">=": "Py_GE"}


class UnprintableError(Exception):
    """A formula has something that this target leaves to Python; the message says what."""


@dataclass(frozen=True, slots=True)
class Library:
    """What there is to call: the functions of operators, what is native, and which functions have a native entry."""

    functions: FunctionNames
    native: NativePlan
    entries: frozenset[str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a formula stands, as compilers are told: in the lines of its Node's formulas, from the first one on.

    A line of the YAML would change in all files with every line that is inserted above; `build` puts it in its place.
    """

    node: str
    text: Text
    first: int  # the line of the Node's first formula

    def of(self, expr: TypedExpr) -> tuple[int, str]:
        """A line, and the name of what it is a line of."""
        return self.text.span(expr.start).line - self.first + 1, node_place(self.node, self.text)


def node_place(node: str, text: Text) -> str:
    """What compilers are told to be the file of a Node's formulas: `derivatives.yaml#TanhBackward0`."""
    return f"{shown_yaml(text)}#{node}"


@dataclass(frozen=True, slots=True)
class Test:
    """A C++ expression of type bool."""

    text: str
    is_compound: bool = False  # whether an operator before or behind it would take a part of it

    @property
    def bracketed(self) -> str:
        return f"({self.text})" if self.is_compound else self.text


class CppPrinter:
    """Prints typed trees as statements.

    Args:
        library: what there is to call.
        needs: collects what the statements need of Python.
        spell: the C++ text of a variable, a borrowed PyObject*.
        out: where statements go.
        place: where the formula stands, for `#line`.
        failure: the statement that gives up when an exception is set.
        loops: what runs as one loop while nothing is recorded; None: all is a row of statements.
    """

    def __init__(
        self,
        library: Library,
        needs: Needs,
        spell: Callable[[Variable], str],
        out: Statements,
        place: Place | None = None,
        failure: str = "return false;",
        loops: Loops | None = None,
    ) -> None:
        self.library = library
        self.needs = needs
        self.spell = spell
        self.out = out
        self.place = place
        self.failure = failure
        self.loops = loops
        self.temporaries = 0
        self.is_placed = False  # whether the compiler has been led to the formula

    # -- values

    def assign(self, name: str, expr: TypedExpr, declare: bool = False) -> None:
        """Statements that give a Ref the value, and declare it if it is new."""
        if isinstance(expr, Conditional):
            self._choose(name, expr, declare)
            return
        if self._as_loop(name, expr, declare):
            return
        call = self.owned(expr)
        self._place(expr)
        self.out.assign(f"Ref {name}" if declare else name, call)
        if call.may_fail:
            self.out.add(f"if (!{name}) {self.failure}")

    def _as_loop(self, name: str, expr: TypedExpr, declare: bool) -> bool:
        """The value as one loop, and the statements for where it declines; False where it is none."""
        loops = self.loops
        part = None if loops is None else loops.find(expr)
        if loops is None or part is None:
            return False
        table, loop = loops.add(part), part.loop.loop
        values = [self.value(operand) for operand in (*loop.tensors, *loop.numbers)]
        target = f"Ref {name}" if declare else name
        self.out.assign(target, Call(f"{table}.run", [*loops.settings(part), *values]))
        self.out.add(f"if (!{name}) {{")
        self.loops = None
        with self.out.block():
            self.out.add(f"if (PyErr_Occurred()) {self.failure}")
            self.assign(name, expr)
        self.loops = loops
        return True

    def value(self, expr: TypedExpr) -> str:
        """The text of a borrowed PyObject*, after the statements that make it."""
        match expr:
            case Variable():
                return self._variable(expr)
            case Literal(value=str()) if expr.type != STR:
                raise UnprintableError(f"takes {expr.value}, an object of the runtime")
            case Literal():
                return self.needs.constant(expr.value)
            case Intrinsic() if expr.name in ABSENT:
                return "Py_None"
            case Arithmetic(op="-", operands=(Literal(value=int() | float() as number),)):
                return self.needs.constant(-number)
            case _ if self._is_test(expr):
                return f"boolean({self.test(expr).text})"
        target = self._temporary()
        self.assign(target, expr, declare=True)
        return f"{target}.get()"

    def owned(self, expr: TypedExpr) -> Call:
        """An expression of type Ref."""
        match expr:
            case OperatorCall():
                return self._operator(expr)
            case HelperCall():
                return self._helper(expr)
            case Intrinsic() if expr.name in OWNED:
                function, names = OWNED[expr.name]
                return Call(function, (*(self.value(arg) for arg in expr.args), *names))
            case Intrinsic() if expr.name in CALLED:
                return self._invoke(self.needs.name(*CALLED[expr.name]), [self.value(arg) for arg in expr.args])
            case Arithmetic() if expr.op in _NUMBERS:
                return self._arithmetic(expr)
            case ListDisplay() | TupleDisplay():
                as_list = isinstance(expr, ListDisplay) and any(item.type == TENSOR for item in expr.items)
                maker = "make_list" if as_list else "make_tuple"
                return Call(maker, tuple(self.value(item) for item in expr.items))
            case Element():
                return self._element(expr)
            case Variable() | Literal():
                return _borrowed(self.value(expr))
            case Mapped():
                raise UnprintableError("maps over a list")
            case Intrinsic() if expr.name in LEFT_TO_PYTHON:
                raise UnprintableError("asks for the elements of a list")
        if self._is_test(expr):
            return _borrowed(self.value(expr))
        what = expr.name if isinstance(expr, Intrinsic) else type(expr).__name__
        raise UnprintableError(f"asks for {what}")

    # -- tests

    def test(self, expr: TypedExpr) -> Test:
        """A C++ bool, after the statements that it needs."""
        match expr:
            case Literal(value=bool() as value):
                return Test(str(value).lower())
            case Intrinsic() if expr.name in TESTS:
                return Test(TESTS[expr.name].format(*(self.value(arg) for arg in expr.args)))
            case Intrinsic() if expr.name == DEVICE_IS:
                device = self.value(expr.args[0])
                return self._checked(f'device_is({device}, "{expr.spelling}")')
            case Intrinsic() if expr.name in ASKED:
                asked = f'{ASKED[expr.name]}({self.value(expr.args[0])}, "{expr.name}")'
                target = self._temporary()
                self.out.add(f"Ref {target} = {asked};")
                self.out.add(f"if (!{target}) {self.failure}")
                return self._checked(f"is_true({target}.get())")
            case Arithmetic(op="!"):
                return Test(f"!{self.test(expr.operands[0]).bracketed}")
            case Arithmetic(op="&&" | "||"):
                return self._lazy(expr)
            case Arithmetic() if expr.op in _COMPARISONS:
                left, right = (self.value(operand) for operand in expr.operands)
                return self._checked(f"compare({left}, {right}, {_COMPARISONS[expr.op]})")
            case Variable(kind=VariableKind.RETAIN):
                return Test("true")
        return self._checked(f"is_true({self.value(expr)})")

    def _is_test(self, expr: TypedExpr) -> bool:
        if isinstance(expr, Intrinsic):
            return expr.name in TESTS or expr.name in ASKED or expr.name == DEVICE_IS
        return isinstance(expr, Arithmetic) and (expr.op in ("&&", "||", "!") or expr.op in _COMPARISONS)

    def _checked(self, asked: str) -> Test:
        """A test that may raise."""
        target = self._temporary()
        self.out.add(f"const int {target} = {asked};")
        self.out.add(f"if ({target} < 0) {self.failure}")
        return Test(f"{target} > 0", is_compound=True)

    def _lazy(self, expr: Arithmetic) -> Test:
        """`a && b`: b is not looked at unless a holds."""
        first = self.test(expr.operands[0]).bracketed
        outer, self.out = self.out, Statements(self.out.depth + 1)
        second = self.test(expr.operands[1]).bracketed
        inner, self.out = self.out, outer
        if not inner.lines:
            return Test(f"{first} {expr.op} {second}", is_compound=True)
        target = self._temporary()
        self.out.add(f"bool {target} = {first};")
        self.out.add(f"if ({target if expr.op == '&&' else '!' + target}) {{")
        inner.add(f"{target} = {second};")
        self.out.lines += inner.lines
        self.out.add("}")
        return Test(target)

    def _choose(self, name: str, expr: Conditional, declare: bool) -> None:
        if declare:
            self.out.add(f"Ref {name};")
        test = self.test(expr.test).text
        self.out.add(f"if ({test}) {{")
        with self.out.block("} else {"):
            self.assign(name, expr.then)
        with self.out.block():
            self.assign(name, expr.orelse)

    # -- parts

    def _temporary(self) -> str:
        self.temporaries += 1
        return f"t{self.temporaries - 1}"

    def _place(self, expr: TypedExpr) -> None:
        """Lead the compiler to the line of the formula."""
        if self.place is not None:
            self.out.lead_to(*self.place.of(expr))
            self.is_placed = True

    def _variable(self, expr: Variable) -> str:
        match expr.kind:
            case VariableKind.RETAIN:
                return "Py_True"
            case VariableKind.MASK:
                return "mask.get()"
            case VariableKind.GRADS | VariableKind.GRAD_OR_ZEROS | VariableKind.PARAMETER | VariableKind.TANGENT:
                raise UnprintableError(f"reads {expr.name}")
        return self.spell(expr)

    def _invoke(self, callee: str, values: Sequence[str]) -> Call:
        return Call("invoke", (callee, *values))

    def _helper(self, expr: HelperCall) -> Call:
        function = expr.helper.function
        if function is None:
            raise UnprintableError(f"calls the helper {expr.helper.name}, which is only declared")
        values = [self.value(value) for _, value in expr.args]
        kernels = self.library.native.kernels.helpers(function.module)
        if kernels.helpers.get(function.name) == len(values):
            return Call(self.needs.native(kernels, HELPERS, function.name, len(values)), tuple(values))
        return self._invoke(self.needs.name(function.module, function.name), values)

    def _operator(self, expr: OperatorCall) -> Call:
        function = self.library.functions[expr.schema.name]
        if expr.meaning is Meaning.CONJUGATE and expr.schema.name in self.library.native.operators:
            return self._conj(expr)
        values = {name: self.value(value) for name, value in expr.args}
        if function in self.library.entries:
            parameters = self.library.native.operators[expr.schema.name].python.parameters
            given = tuple(values.get(p.name) or self.default(p) for p in parameters)
            return Call(self.needs.entry(function, len(parameters)), given)
        positional = [argument.name for argument in expr.schema.positional]
        by_position = [
            name for number, name in enumerate(values) if number < len(positional) and positional[number] == name
        ]
        named = [name for name in values if name not in by_position]
        callee = self._in_python(expr)
        if not named:
            return self._invoke(callee, list(values.values()))
        names = self.needs.constant(tuple(map(python, named)))
        ordered = [values[name] for name in (*by_position, *named)]
        return Call("invoke_named", (callee, names, *ordered))

    def _conj(self, expr: OperatorCall) -> Call:
        """Most Tensors are real, and are their own conjugates."""
        value = self.value(expr.args[0][1])
        return Call("conjugate", (value, self._in_python(expr)))

    def _in_python(self, expr: OperatorCall) -> str:
        functions, name = self.library.functions, expr.schema.name
        return self.needs.operators(functions[name], of_base=functions.is_of_base(name))

    def default(self, parameter: ParameterPlan) -> str:
        """The value of a parameter that is not given."""
        return "Py_None" if parameter.default is None else self.needs.constant(default_value(parameter))

    def _arithmetic(self, expr: Arithmetic) -> Call:
        values = tuple(self.value(operand) for operand in expr.operands)
        if len(values) == 1:
            return Call("negated", values) if expr.op == "-" else _borrowed(values[0])
        integral = expr.op == "/" and all(operand.type in (INT, BOOL) for operand in expr.operands)
        return Call("floor_divided" if integral else _NUMBERS[expr.op], values)

    def _element(self, expr: Element) -> Call:
        match expr.receiver, expr.index:
            case Intrinsic(name="sizes", args=(tensor,)), Literal(value=int() as index):
                return Call("size_at", (self.value(tensor), str(index)))
            case Intrinsic(name="sizes", args=(tensor,)), Arithmetic(op="-", operands=(Literal(value=int() as index),)):
                return Call("size_at", (self.value(tensor), str(-index)))
        return Call("item_of", (self.value(expr.receiver), self.value(expr.index)))


def _borrowed(value: str) -> Call:
    return Call("Ref::borrow", (value,), may_fail=False)
