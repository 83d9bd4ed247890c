"""What the entries of operators in C++ have in common, and those of operators that are traced through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from codegen.plan.operator import OperatorPlan
from codegen.plan.steps import Guard, GuardKind
from codegen.read.kernel_table import COMPOSITES
from codegen.schema.names import python
from codegen.targets.cpp.loops import Loops, LoopTable
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.statements import Call, Statements, function_head, row
from codegen.targets.cpp.text import Library
from codegen.targets.environment import quoted
from codegen.words import PromotionKind

# The test of a guard; {0} and {1} are its arguments, {takes} the kinds of dtypes, {needed} what it needs of Python.
_GUARDS: Mapping[GuardKind, str] = {
    GuardKind.PLAIN: "is_plain({0})",
    GuardKind.PLAIN_OR_NONE: "is_plain_or_none({0})",
    GuardKind.ALL_PLAIN: "all_plain({0})",
    GuardKind.ALL_PLAIN_OR_NONE: "all_plain_or_none({0})",
    GuardKind.NO_MODE: "nothing_unusual()",
    GuardKind.ABSENT: "{0} == Py_None",
    GuardKind.TUPLE: "PyTuple_CheckExact({0})",
    GuardKind.SEQUENCE_OR_NONE: "({0} == Py_None || PyTuple_CheckExact({0}) || PyList_CheckExact({0}))",
    GuardKind.DTYPE: "is_instance({0}, {needed})",
    GuardKind.DTYPE_OR_NONE: "is_instance_or_none({0}, {needed})",
    GuardKind.INTEGER: "PyLong_CheckExact({0})",
    GuardKind.FLAG: "PyBool_Check({0})",
    GuardKind.FLAG_OR_NONE: "is_flag_or_none({0})",
    GuardKind.NUMBER: "is_real_number({0})",
    GuardKind.NUMBER_OR_NONE: "is_real_number_or_none({0})",
    GuardKind.NO_CALL_HANDLERS: "no_call_handlers({needed})",
    GuardKind.FLOAT_DTYPE: "has_float_dtype({0})",
    GuardKind.INEXACT_DTYPE: "has_inexact_dtype({0})",
    GuardKind.NUMBER_DTYPE: "has_number_dtype({0})",
    GuardKind.WITH_NUMBER: "goes_with({0}, {1}, {takes})",
    GuardKind.NOT_HALF: "is_not_half({0})",
    GuardKind.SAME_DTYPE: "same_dtype({0}, {1})",
    GuardKind.SAME_DTYPE_OR_NONE: "same_dtype_or_none({0}, {1})",
    GuardKind.TAKEN: "is_taken({0}, {takes})",
    GuardKind.TAKEN_OR_NONE: "is_taken_or_none({0}, {takes})",
}
# Kinds of dtypes that have one name together.
_SEVERAL: Mapping[tuple[str, ...], str] = {
    ("float", "integer"): "kReal",
    ("float", "complex"): "kInexact",
    ("float", "integer", "complex"): "kNumber",
}
# What becomes of the common element type, where it is not computed in as it is.
_PROMOTIONS: Mapping[PromotionKind, str] = {
    PromotionKind.INT_TO_FLOAT: "kIntToFloat",
    PromotionKind.BOOL_TO_INT: "kBoolToInt",
}
_NEEDED: Mapping[GuardKind, tuple[str, str]] = {
    GuardKind.DTYPE: ("runtime.base.dtypes", "dtype"),
    GuardKind.DTYPE_OR_NONE: ("runtime.base.dtypes", "dtype"),
    GuardKind.NO_CALL_HANDLERS: ("runtime.base.modes", "thread_handlers"),
}


@dataclass(frozen=True, slots=True)
class EntryView:
    """What the template of an entry prints."""

    function: str  # its name in Python
    symbol: str  # and in C++
    schema: str
    head: str  # of its declaration and its definition
    fused: tuple[LoopTable, ...]  # of formulas that are one loop
    body: tuple[str, ...]
    unpack: tuple[str, ...]  # of `failing`: the parameters that tests look at
    tests: tuple[str, ...]  # what has to hold, in the order of the plan's guards
    parameters: str  # their names, as the elements of an array
    out: str  # who serves calls with `out=`
    computes_halves: str  # "true" or "false"
    promotion: str  # what becomes of the common element type
    promoted: str  # the arguments that are brought to it, as bits
    count: int
    positional: int


class Entry(ABC):
    """Writes one entry: `function` is the name of the Python function that it falls back on."""

    def __init__(self, operator: OperatorPlan, function: str, library: Library, needs: Needs) -> None:
        self.operator = operator
        self.function = function
        self.library = library
        self.native = library.native.computed[operator.name]
        self.needs = needs
        self.out = Statements()
        self.loops = Loops(f"{function}_formula", needs, library.native.kernels, self.native.parts)
        self.arguments = [cpp(parameter.name) for parameter in operator.python.parameters]
        self.tests = [self._test(guard) for guard in operator.compute.guards]

    @abstractmethod
    def lines(self) -> list[str]:
        """The body."""

    def view(self, schema: str) -> EntryView:
        """What the template prints."""
        parameters, function, body = self.operator.python.parameters, self.function, self.lines()
        head = [f"PyObject* {name}" for name in self.arguments]
        asked = {name for guard in self.operator.compute.guards for name in (*guard.arguments, guard.unless_default)}
        unpack = [
            f"PyObject* {cpp(parameter.name)} = given[{index}];"
            for index, parameter in enumerate(parameters)
            if parameter.name in asked
        ]
        names = [quoted(python(parameter.name)) for parameter in parameters]
        return EntryView(
            function,
            cpp(function),
            schema,
            function_head("Ref", cpp(function), head),
            tuple(self.loops.tables),
            tuple(body),
            tuple(unpack),
            tuple(self.tests),
            row(*names),
            self._out() if function == self.operator.python.function and self.operator.writes_out else "Out::kPython",
            str(self.operator.computes_halves).lower(),
            *self._promotion(),
            len(parameters),
            sum(not parameter.keyword_only for parameter in parameters),
        )

    def _out(self) -> str:
        """How what the entry gives gets into the Tensor of a call with `out=`."""
        return "Out::kApart" if self.operator.compute.exclusive else "Out::kCopied"

    def _promotion(self) -> tuple[str, str]:
        """The promotion, and the positions of what is promoted."""
        promoted = self.operator.promoted
        if not promoted:
            return "Promotion::kNone", "0"
        assert self.operator.compute.promotion is not None
        kind = _PROMOTIONS.get(self.operator.compute.promotion.kind, "kCommon")
        bits = sum(1 << i for i, p in enumerate(self.operator.python.parameters) if p.name in promoted)
        return f"Promotion::{kind}", f"{bits:#x}"

    def _test(self, guard: Guard) -> str:
        needed = self.needs.name(*_NEEDED[guard.kind]) if guard.kind in _NEEDED else ""
        takes = _SEVERAL.get(guard.takes) or " | ".join(f"k{kind.title()}" for kind in guard.takes)
        test = _GUARDS[guard.kind].format(*map(cpp, guard.arguments), takes=takes, needed=needed)
        if guard.unless_default is None:
            return test
        position = [parameter.name for parameter in self.operator.python.parameters].index(guard.unless_default)
        entry = f"entries::{cpp(self.operator.python.function)}"
        return f"({test} || is_default({entry}, {position}, {cpp(guard.unless_default)}))"

    def _check(self) -> None:
        """Leave calls to Python for which one of the guards does not hold."""
        open_ = [f"!entries::{cpp(self.function)}.replaced"]
        if self.function != self.operator.python.function:  # its kernel computes what a variant writes
            open_.append(f"!(entries::{cpp(self.operator.python.function)}.replaced & kByKernel)")
        if self.operator.computes_other_dtypes:
            self.out.add("Ref known;")
        self.out.add(f"if (!({' && '.join([*open_, *self.tests])})) {{")
        with self.out.block():
            if self.operator.computes_other_dtypes:
                entries = [f"entries::{cpp(self.function)}", f"entries::{cpp(self.operator.python.function)}"]
                self.out.assign("known", Call("in_other_dtype", [*entries, *self.arguments]))
                self.out.when(["!known"], self._fall_back())
            else:
                self.out.add(self._fall_back())

    def leave(self) -> None:
        """Return what other operators made; what they refuse Python is to refuse, with the error of this operator."""
        self.out.add("if (out) return of_operators(std::move(out));")
        self.out.add("forget_error();")
        self.out.add(self._fall_back())

    def _fall_back(self) -> str:
        return f"return {Call('fall_back', [f'entries::{cpp(self.function)}', *self.arguments])};"


class CompositeEntry(Entry):
    """Writes the entry of an operator that is traced through, by a function in C++."""

    def lines(self) -> list[str]:
        self._check()
        name = self.operator.compute.implementation.name
        function = self.needs.native(self.native.kernels, COMPOSITES, name, len(self.arguments))
        self.out.assign("Ref out", Call(function, self.arguments))
        self.leave()
        return self.out.lines
