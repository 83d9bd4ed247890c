"""How C++ spells formulas: sequences of statements, each of which makes one value."""

from __future__ import annotations

import re
import textwrap
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

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
from codegen.plan.names import FunctionNames, module_alias
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.schema.names import python
from codegen.schema.types import OperatorName
from codegen.source import Text
from codegen.targets.cpp.names import cpp
from codegen.targets.environment import quoted
from codegen.targets.literals import default_text, literal

COLUMNS = 100
# Put in the place of the `#line` that leads back into the generated file itself, whose number is known at the end.
LINE_HERE = "#line here"

_OWNED_INTRINSICS = {
    "sizes": "sizes_of({0})",
    "dim": "dim_of({0})",
    "numel": "numel_of({0})",
    "length": "length_of({0})",
    "info": "shape_and_dtype({0})",
    "conjugate": "conjugate_number({0})",
    "to_float": "to_float({0})",
    "to_int": "to_int({0})",
    "to_complex": "to_complex({0})",
    "repeat": "repeated({0}, {1})",
    "scalar_type": 'attribute({0}, "dtype")',
    "options": 'attribute({0}, "dtype")',
    "layout": 'attribute({0}, "layout")',
    "device": 'attribute({0}, "device")',
    "strides": 'method({0}, "stride")',
    "storage_offset": 'method({0}, "storage_offset")',
}
_TESTS = {
    "defined": "is_defined({0})",
    "is_complex": "is_complex({0})",
    "is_contiguous": "is_contiguous({0})",
    "number_is_complex": "is_complex_number({0})",
    "number_is_float": "is_float_number({0})",
    "grad_enabled": "grad_enabled",
}
_CALLED = {  # by functions of Python
    "sqrt": ("math", "sqrt"),
    "exp": ("math", "exp"),
    "log": ("math", "log"),
    "zeros": ("runtime.graph.recording", "zeros_of"),
    "geometry": ("runtime.graph.recording", "Geometry"),
}
_ABSENT = frozenset(("blocksize", "memory_format"))
_NUMBERS = {"+": "plus", "-": "minus", "*": "times", "/": "divided", "%": "modulo"}
_COMPARISONS = {"==": "Py_EQ", "!=": "Py_NE", "<": "Py_LT", "<=": "Py_LE", ">": "Py_GT", ">=": "Py_GE"}


class UnprintableError(Exception):
    """A formula has something that this target leaves to Python; the message says what."""


def wrapped(head: str, parts: Sequence[str], tail: str, separator: str = ",") -> list[str]:
    """`head` with an open bracket at its end, the parts and the tail, broken as clang-format breaks it."""
    whole = f"{head}{f'{separator} '.join(parts)}{tail}"
    if len(whole) <= COLUMNS or not parts:
        return [whole]
    lines = []
    current = head
    pad = " " * len(head)
    for index, part in enumerate(parts):
        end = tail if index == len(parts) - 1 else separator
        glue = "" if current in (head, pad) else " "
        if glue and len(current) + len(glue) + len(part) + len(end) > COLUMNS:
            lines.append(current)
            current, glue = pad, ""
        current += f"{glue}{part}{end}"
    return [*lines, current]


def quoted_lines(text: str, indent: str = "    ") -> list[str]:
    """A string literal and a comma; of long text, literals that follow each other."""
    room = COLUMNS - len(indent) - 3
    pieces = textwrap.wrap(text, room, break_on_hyphens=False) if len(quoted(text)) > room + 2 else [text]
    lines = [f"{indent}{quoted(f'{piece} ')}" for piece in pieces[:-1]]
    return [*lines, f"{indent}{quoted(pieces[-1])},"]


@dataclass
class Needs:
    """What one generated file needs of Python: callables by their place, and constants by their text."""

    names: dict[str, tuple[str, str]] = field(default_factory=dict)  # C++ name: module, attribute
    constants: dict[str, str] = field(default_factory=dict)  # C++ name: Python text

    def name(self, module: str, attribute: str) -> str:
        """A callable."""
        if module.startswith("generated."):
            spelled = cpp(attribute.replace(".", "_"))
        else:
            known = {"runtime.graph.recording": "", "math": "math_"}
            prefix = known.get(module, f"{module_alias(module)}_")
            spelled = f"{prefix}{attribute}"
        self.names[spelled] = (module, attribute)
        return f"py::{spelled}"

    def constant(self, text: str) -> str:
        """The value of a Python expression."""
        if text in ("None", "True", "False"):
            return f"Py_{text}"
        spelled = f"constant_{_word(text)}"
        self.constants[spelled] = text
        return f"py::{spelled}"

    def update(self, other: Needs) -> None:
        """Take over what another one needs."""
        self.names |= other.names
        self.constants |= other.constants


def _word(text: str) -> str:
    """A part of an identifier for a Python expression; no two expressions have the same."""
    number = re.fullmatch(r"(-?)(\d+)(?:\.(\d+))?", text)
    if number is not None:
        sign, whole, rest = number.groups()
        return f"{'minus_' if sign else ''}{whole}{f'_point_{rest}' if rest else ''}"
    string = re.fullmatch(r'"([A-Za-z]\w*(?<!_))"', text)
    if string is not None:
        return f"text_{string[1]}"
    return f"{re.sub(r'[^0-9A-Za-z]+', '_', text).strip('_')}_{zlib.crc32(text.encode()):08x}"


Functions = Mapping[str, frozenset[int]]  # names, with the numbers of arguments they take


def functions_in(path: Path, namespace: str, result: str = "Ref") -> Functions:
    """The functions on Python objects that a header of the native core declares; none if there is no such file."""
    functions: dict[str, set[int]] = {}
    declared = rf"^(?:inline )?{result} (\w+)\(([^)]*)\)"
    for name, parameters in re.findall(declared, inside(path, namespace), re.MULTILINE):
        functions.setdefault(name, set()).add(parameters.count("PyObject*"))
    return {name: frozenset(arities) for name, arities in functions.items()}


def inside(path: Path, namespace: str) -> str:
    """The text of a namespace in a C++ file, which may be missing."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return ""
    parts = text.split(f"\nnamespace {namespace} {{\n")[1:]  # it may be opened several times
    return "\n".join(part.partition(f"\n}}  // namespace {namespace}")[0] for part in parts)


@dataclass(frozen=True, slots=True)
class Library:
    """The operators of a plan, and which of them have a native entry."""

    functions: FunctionNames
    operators: Mapping[OperatorName, OperatorPlan]
    entries: frozenset[str]
    helpers: Functions  # those of runtime/helpers that are written in C++, too
    loops: Mapping[str, int]  # element-wise kernels with native loops, with their numbers of operands


class Statements:
    """Lines of a function body, at a depth of indentation."""

    def __init__(self, depth: int = 1) -> None:
        self.lines: list[str] = []
        self.depth = depth

    def add(self, text: str) -> None:
        self.lines.append(f"{self.indent}{text}")

    def call(self, head: str, parts: Sequence[str], tail: str) -> None:
        """A statement with a bracketed list in it, broken where it is too long."""
        self.lines += wrapped(f"{self.indent}{head}(", parts, f"){tail}")

    def assign(self, target: str, head: str, parts: Sequence[str], tail: str) -> None:
        """`target = head(parts)tail`: broken after the sign where that takes no more lines."""
        whole = wrapped(f"{self.indent}{target} = {head}", parts, tail)
        if len(whole) > 1:
            below = [f"{self.indent}{target} =", *wrapped(f"{self.indent}    {head}", parts, tail)]
            hanging = [f"{self.indent}{target} = {head}", *wrapped(f"{self.indent}    ", parts, tail)]
            whole = min(below, whole, hanging, key=len)
        self.lines += whole

    def when(self, tests: Sequence[str], write: Callable[[], None], glue: str = "&&") -> None:
        """`if (a && b) statement`, the statement being what `write` adds: on a line of its own if it has to be."""
        start = len(self.lines)
        self.depth += 1
        write()
        self.depth -= 1
        statement = self.lines[start:]
        one = f"{self.indent}if ({f' {glue} '.join(tests)}) {statement[0].lstrip()}"
        if len(statement) == 1 and len(one) <= COLUMNS:
            self.lines[start:] = [one]
        else:
            self.lines[start:] = statement
            self.lines[start:start] = wrapped(f"{self.indent}if (", tests, ")", f" {glue}")

    def unless(self, head: str, parts: Sequence[str], statement: str) -> None:
        """`if (head(parts)) statement`: give up when a call failed."""
        whole = f"{self.indent}if ({head}({', '.join(parts)})) {statement}"
        if len(whole) <= COLUMNS:
            self.lines.append(whole)
        else:
            self.lines += wrapped(f"{self.indent}if ({head}(", parts, "))")
            self.lines.append(f"{self.indent}  {statement}")

    def test(self, conditions: Sequence[str], glue: str, tail: str) -> None:
        """`if (a && b)`."""
        self.lines += wrapped(f"{self.indent}if (", conditions, f"){tail}", f" {glue}")

    def when_both(self, first: str, others: Sequence[str], tail: str) -> None:
        """`if (first && (a || b))`."""
        rest = f"({' || '.join(others)})" if len(others) > 1 else others[0]
        if len(f"{self.indent}if ({first} && {rest}){tail}") <= COLUMNS:
            self.add(f"if ({first} && {rest}){tail}")
        elif len(f"{self.indent}    {rest}){tail}") <= COLUMNS:
            self.add(f"if ({first} &&")
            self.add(f"    {rest}){tail}")
        else:
            below = [f"{self.indent}if ({first} &&", *wrapped(f"{self.indent}    (", others, f")){tail}", " ||")]
            hanging = wrapped(f"{self.indent}if ({first} && (", others, f")){tail}", " ||")
            self.lines += hanging if len(hanging) < len(below) else below

    @property
    def indent(self) -> str:
        return "  " * self.depth

    @contextmanager
    def block(self, closing: str = "}") -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1
        self.add(closing)


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
            case Intrinsic() if expr.name in _ABSENT:
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
            case Intrinsic() if expr.name in _OWNED_INTRINSICS:
                text = _OWNED_INTRINSICS[expr.name].format(*(self.value(arg) for arg in expr.args))
                head, _, inside = text.partition("(")
                return Call(f"{head}(", tuple(inside.removesuffix(")").split(", ")), ")")
            case Intrinsic() if expr.name in _CALLED:
                return self._invoke(self.needs.name(*_CALLED[expr.name]), [self.value(arg) for arg in expr.args])
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
            case Intrinsic() if expr.name in _TESTS:
                return _TESTS[expr.name].format(*(self.value(arg) for arg in expr.args))
            case Intrinsic(name="device_is"):
                device = self.value(expr.args[0])
                return self._checked(f'device_is({device}, "{expr.spelling}")')
            case Intrinsic(name="is_floating_point" | "requires_grad"):
                ask = "method" if expr.name == "is_floating_point" else "attribute"
                asked = f'{ask}({self.value(expr.args[0])}, "{expr.name}")'
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
            return expr.name in _TESTS or expr.name in ("device_is", "is_floating_point", "requires_grad")
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
            case VariableKind.GRADS | VariableKind.PARAMETER | VariableKind.TANGENT:
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
        if str(expr.schema.name) == "conj" and expr.schema.name in self.library.operators:
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
        """Most Tensors are real, and for these it is nothing."""
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
