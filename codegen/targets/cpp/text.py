"""How C++ spells formulas: sequences of statements, each of which makes one value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from codegen.formula.meaning import Meaning
from codegen.formula.typed import (
    BOOL,
    INT,
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
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.schema.names import python
from codegen.schema.types import OperatorName
from codegen.source import Text
from codegen.targets.cpp.headers import Functions
from codegen.targets.cpp.intrinsics import ABSENT, ASKED, CALLED, DEVICE_IS, OWNED, TESTS
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.statements import Statements
from codegen.targets.environment import quoted
from codegen.targets.literals import default_text, literal

# Put in the place of the `#line` that leads back into the generated file itself, whose number is known at the end.
LINE_HERE = "#line here"

_NUMBERS = {"+": "plus", "-": "minus", "*": "times", "/": "divided", "%": "modulo"}
_COMPARISONS = {"==": "Py_EQ", "!=": "Py_NE", "<": "Py_LT", "<=": "Py_LE", ">": "Py_GT", ">=": "Py_GE"}


class UnprintableError(Exception):
    """A formula has something that this target leaves to Python; the message says what."""


@dataclass(frozen=True, slots=True)
class Library:
    """The operators of a plan, and which of them have a native entry."""

    functions: FunctionNames
    operators: Mapping[OperatorName, OperatorPlan]
    entries: frozenset[str]
    helpers: Functions  # those of runtime/helpers that are written in C++, too
    loops: Mapping[str, int]  # element-wise kernels with native loops, with their numbers of operands


@dataclass(frozen=True, slots=True)
class Call:
    """An expression of type Ref, in pieces that can be broken over lines."""

    head: str  # up to and with the open bracket; all of it where there are no parts
    parts: tuple[str, ...] = ()
    tail: str = ""


class CppPrinter:
    """Prints typed trees as statements.

    Args:
        library: what there is to call.
        needs: collects what the statements need of Python.
        spell: the C++ text of a variable, a borrowed PyObject*.
        out: where statements go.
        text: the formula as it stands in its file, for `#line`.
        failure: the statement that gives up when an exception is set.
    """

    def __init__(
        self,
        library: Library,
        needs: Needs,
        spell: Callable[[Variable], str],
        out: Statements,
        text: Text | None = None,
        failure: str = "return false;",
    ) -> None:
        self.library = library
        self.needs = needs
        self.spell = spell
        self.out = out
        self.text = text
        self.failure = failure
        self.temporaries = 0

    # -- values

    def assign(self, target: str, expr: TypedExpr) -> None:
        """Statements that give `target` the value: `Ref name`, or the name of a Ref."""
        if isinstance(expr, Conditional):
            self._choose(target, expr)
            return
        call = self.owned(expr)
        self._place(expr)
        self.out.assign(target, call.head, call.parts, f"{call.tail};")
        if not call.head.startswith("Ref::borrow"):
            self.out.add(f"if (!{target.removeprefix('Ref ')}) {self.failure}")

    def value(self, expr: TypedExpr) -> str:
        """The text of a borrowed PyObject*, after the statements that make it."""
        match expr:
            case Variable():
                return self._variable(expr)
            case Literal():
                return self.needs.constant(literal(expr.value))
            case Intrinsic() if expr.name in ABSENT:
                return "Py_None"
            case Arithmetic(op="-", operands=(Literal(value=int() | float() as number),)):
                return self.needs.constant(repr(-number))
            case _ if self._is_test(expr):
                return f"boolean({self.test(expr)})"
        target = self._temporary()
        self.assign(f"Ref {target}", expr)
        return f"{target}.get()"

    def owned(self, expr: TypedExpr) -> Call:
        """An expression of type Ref."""
        match expr:
            case OperatorCall():
                return self._operator(expr)
            case HelperCall():
                return self._helper(expr)
            case Intrinsic() if expr.name in OWNED:
                text = OWNED[expr.name].format(*(self.value(arg) for arg in expr.args))
                head, _, inside = text.partition("(")
                return Call(f"{head}(", tuple(inside.removesuffix(")").split(", ")), ")")
            case Intrinsic() if expr.name in CALLED:
                return self._invoke(self.needs.name(*CALLED[expr.name]), [self.value(arg) for arg in expr.args])
            case Arithmetic() if expr.op in _NUMBERS:
                return self._arithmetic(expr)
            case ListDisplay() | TupleDisplay():
                as_list = isinstance(expr, ListDisplay) and any(item.type == TENSOR for item in expr.items)
                maker = "make_list" if as_list else "make_tuple"
                return Call(f"{maker}(", tuple(self.value(item) for item in expr.items), ")")
            case Element():
                return self._element(expr)
            case Variable() | Literal() | Arithmetic(op="-"):
                return Call(f"Ref::borrow({self.value(expr)})")
            case Mapped():
                raise UnprintableError("maps over a list")
        if self._is_test(expr):
            return Call(f"Ref::borrow({self.value(expr)})")
        what = expr.name if isinstance(expr, Intrinsic) else type(expr).__name__
        raise UnprintableError(f"asks for {what}")

    # -- tests

    def test(self, expr: TypedExpr) -> str:
        """The text of a C++ bool."""
        match expr:
            case Literal(value=bool() as value):
                return str(value).lower()
            case Intrinsic() if expr.name in TESTS:
                return TESTS[expr.name].format(*(self.value(arg) for arg in expr.args))
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
                return f"!{self._bracketed(expr.operands[0])}"
            case Arithmetic(op="&&" | "||"):
                return self._lazy(expr)
            case Arithmetic() if expr.op in _COMPARISONS:
                left, right = (self.value(operand) for operand in expr.operands)
                return self._checked(f"compare({left}, {right}, {_COMPARISONS[expr.op]})")
            case Variable(kind=VariableKind.RETAIN):
                return "true"
        return self._checked(f"is_true({self.value(expr)})")

    def _is_test(self, expr: TypedExpr) -> bool:
        if isinstance(expr, Intrinsic):
            return expr.name in TESTS or expr.name in ASKED or expr.name == DEVICE_IS
        return isinstance(expr, Arithmetic) and (expr.op in ("&&", "||", "!") or expr.op in _COMPARISONS)

    def _bracketed(self, expr: TypedExpr) -> str:
        text = self.test(expr)
        return f"({text})" if " " in re.sub(r"\(.*\)", "", text) else text

    def _checked(self, asked: str) -> str:
        """A test that may raise."""
        target = self._temporary()
        self.out.add(f"const int {target} = {asked};")
        self.out.add(f"if ({target} < 0) {self.failure}")
        return f"{target} > 0"

    def _lazy(self, expr: Arithmetic) -> str:
        """`a && b`: b is not looked at unless a holds."""
        first = self._bracketed(expr.operands[0])
        before = len(self.out.lines)
        second = self._bracketed(expr.operands[1])
        if len(self.out.lines) == before:
            return f"{first} {expr.op} {second}"
        statements = self.out.lines[before:]
        del self.out.lines[before:]
        target = self._temporary()
        self.out.add(f"bool {target} = {first};")
        self.out.add(f"if ({target if expr.op == '&&' else '!' + target}) {{")
        self.out.lines += [line if line.startswith("#") else f"  {line}" for line in statements]
        self.out.add(f"  {target} = {second};")
        self.out.add("}")
        return target

    def _choose(self, target: str, expr: Conditional) -> None:
        name = target.removeprefix("Ref ")
        if name != target:
            self.out.add(f"{target};")
        test = self.test(expr.test)
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
        if self.text is not None:
            span = self.text.span(expr.start)
            # In an installed package the YAML lies below; what is emitted is the same there as in a checkout.
            name = span.file.path.removeprefix("codegen/data/")
            self.out.lines.append(f"#line {span.line} {quoted(name)}")

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
        return Call("invoke(", (callee, *values), ")")

    def _helper(self, expr: HelperCall) -> Call:
        function = expr.helper.function
        if function is None:
            raise UnprintableError(f"calls the helper {expr.helper.name}, which is only declared")
        values = [self.value(value) for _, value in expr.args]
        written = function.module.startswith("runtime.helpers.") and self.library.helpers.get(function.name)
        if written and len(values) in written:
            return Call(f"helpers::{function.name}(", tuple(values), ")")
        return self._invoke(self.needs.name(function.module, function.name), values)

    def _operator(self, expr: OperatorCall) -> Call:
        function = self.library.functions[expr.schema.name]
        if expr.meaning is Meaning.CONJUGATE and expr.schema.name in self.library.operators:
            return self._conj(expr)
        values = {name: self.value(value) for name, value in expr.args}
        if function in self.library.entries:
            parameters = self.library.operators[expr.schema.name].parameters
            return Call(f"ops::{cpp(function)}(", tuple(values.get(p.name) or self.default(p) for p in parameters), ")")
        positional = [argument.name for argument in expr.schema.positional]
        plain = [name for number, name in enumerate(values) if number < len(positional) and positional[number] == name]
        named = [name for name in values if name not in plain]
        callee = self.needs.name("generated.operators", function)
        if not named:
            return self._invoke(callee, list(values.values()))
        names = self.needs.constant(f"({' '.join(f'{python(name)!r},' for name in named)})")
        ordered = [values[name] for name in (*plain, *named)]
        return Call("invoke_named(", (callee, names, *ordered), ")")

    def _conj(self, expr: OperatorCall) -> Call:
        """Most Tensors are real, and are their own conjugates."""
        value = self.value(expr.args[0][1])
        conj = self.library.functions[expr.schema.name]
        return Call("conjugate(", (value, self.needs.name("generated.operators", conj)), ")")

    def default(self, parameter: ParameterPlan) -> str:
        """The value of a parameter that is not given."""
        return "Py_None" if parameter.default is None else self.needs.constant(default_text(parameter))

    def _arithmetic(self, expr: Arithmetic) -> Call:
        values = tuple(self.value(operand) for operand in expr.operands)
        if len(values) == 1:
            return Call(f"negated({values[0]})") if expr.op == "-" else Call(f"Ref::borrow({values[0]})")
        integral = expr.op == "/" and all(operand.type in (INT, BOOL) for operand in expr.operands)
        return Call(f"{'floor_divided' if integral else _NUMBERS[expr.op]}(", values, ")")

    def _element(self, expr: Element) -> Call:
        match expr.receiver, expr.index:
            case Intrinsic(name="sizes", args=(tensor,)), Literal(value=int() as index):
                return Call(f"size_at({self.value(tensor)}, {index})")
            case Intrinsic(name="sizes", args=(tensor,)), Arithmetic(op="-", operands=(Literal(value=int() as index),)):
                return Call(f"size_at({self.value(tensor)}, -{index})")
        return Call("item_of(", (self.value(expr.receiver), self.value(expr.index)), ")")
