"""The fast path in Python: a table from each step of the plan to its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from codegen.plan.layout import LayoutPlan
from codegen.plan.operator import OperatorPlan
from codegen.plan.steps import (
    INT_LISTS,
    LISTS,
    Asked,
    Conversion,
    ConversionKind,
    FactoryDtype,
    FastPathPlan,
    Guard,
    GuardKind,
    HistoryKind,
    ResultKind,
    TracedPlan,
)
from codegen.targets.literals import default_text, literal, tuple_of
from codegen.targets.python.code import (
    Lines,
    all_of,
    any_of,
    bracketed,
    call,
    choice,
    comprehension,
    generator,
    list_of,
)
from codegen.targets.python.names import argument
from codegen.targets.python.text import forwarded
from codegen.words import LayoutKind

# What is asked of arguments; {0} is the argument.
_GUARDS: Mapping[GuardKind, str] = {
    GuardKind.PLAIN: "type({0}) in plain",
    GuardKind.PLAIN_OR_NONE: "({0} is None or type({0}) in plain)",
    GuardKind.ALL_PLAIN: "all_plain({0})",
    GuardKind.ALL_PLAIN_OR_NONE: "all_plain_or_none({0})",
    GuardKind.NO_MODE: "plain",
    GuardKind.ABSENT: "{0} is None",
    GuardKind.TUPLE: "type({0}) is tuple",
    GuardKind.SEQUENCE_OR_NONE: "({0} is None or type({0}) is tuple or type({0}) is list)",
    GuardKind.DTYPE: "type({0}) is dtypes.dtype",
    GuardKind.DTYPE_OR_NONE: "({0} is None or type({0}) is dtypes.dtype)",
    GuardKind.INTEGER: "type({0}) is int",
    GuardKind.FLAG: "type({0}) is bool",
    GuardKind.FLAG_OR_NONE: "({0} is None or type({0}) is bool)",
    GuardKind.NUMBER: "type({0}) in real_numbers",
    GuardKind.NUMBER_OR_NONE: "type({0}) in optional_real_numbers",
    GuardKind.NO_CALL_HANDLERS: "not thread_handlers.calls",
}
# What is asked of NumPy's dtype of a Tensor: one of these holds. {0} is the dtype.
_DTYPES: Mapping[GuardKind, tuple[str, ...]] = {
    GuardKind.FLOAT_DTYPE: ("{0} is float32", "{0} is float64"),
    GuardKind.INEXACT_DTYPE: ("{0} is float32", "{0} is float64", '{0}.kind == "c"'),
    GuardKind.NUMBER_DTYPE: ("{0} is float32", "{0} is float64", "{0} is int64"),
    GuardKind.NOT_HALF: ("{0} is float32", "{0} is float64", '{0}.kind in "biuc"'),
}
_USUAL = ("{0} is float32", "{0} is float64")  # first among those that are taken
# What is asked of a dtype beside a number, by the kinds of which it may be. {1} is the number.
_BESIDE: Mapping[str, tuple[str, ...]] = {
    "float": _USUAL,
    "integer": ("({0} is int64 and is_int64_or_none({1}))",),
    "complex": ('{0}.kind == "c"',),
}
# NumPy's characters of them; E: bfloat16.
_CHARACTERS = {"bool": "?", "integer": "bhilqBHILQ", "half": "eE", "float": "", "complex": "FD"}
_CONVERSIONS: Mapping[ConversionKind, str | None] = {
    ConversionKind.INTS: "type({0}) is not tuple",
    ConversionKind.OPTIONAL_INTS: "{0} is not None and type({0}) is not tuple",
    ConversionKind.SIZES: None,
}
# What the kernel gets of an argument; the others it gets as they are.
_PASSED: Mapping[Asked, str] = {
    Asked.TENSOR: "{0}_array",
    Asked.OPTIONAL_TENSOR: "None if {0} is None else {0}._array",
    Asked.TENSORS: "[each._array for each in {0}]",
    Asked.OPTIONAL_TENSORS: "[None if each is None else each._array for each in {0}]",
    Asked.DTYPE: "{0}.numpy",
    Asked.OPTIONAL_DTYPE: "{0} and {0}.numpy",
}
# Whether an argument requires grad.
_WATCHED: Mapping[Asked, str] = {
    Asked.TENSOR: "{0}._edge is not None",
    Asked.OPTIONAL_TENSOR: "({0} is not None and {0}._edge is not None)",
    Asked.TENSORS: "any_edge({0})",
    Asked.OPTIONAL_TENSORS: "any_edge({0})",
}


def write_fast_path(operator: OperatorPlan, fast_path: FastPathPlan, decline: str, out: Lines) -> None:
    """The fast path; `decline` is the statement that leaves it for the general path."""
    _Writer(operator, fast_path, decline, out).write()


def _taken(takes: Sequence[str]) -> list[str]:
    """The tests of which one holds for a dtype of these kinds."""
    known = "".join(_CHARACTERS[kind] for kind in takes)
    return [*(_USUAL if "float" in takes else ()), *([f"{{0}}.char in {literal(known)}"] if known else [])]


def write_traced(operator: OperatorPlan, traced: TracedPlan, general: str, out: Lines) -> None:
    """The way of an operator that is traced through; `general` is the statement that leaves it."""
    tests = []
    for item in traced.exact:
        name = argument(item.name)
        if item.asked in INT_LISTS:
            test = _CONVERSIONS[ConversionKind.INTS if item.asked is Asked.INTS else ConversionKind.OPTIONAL_INTS]
            with out.when([(test or "").format(name)]):
                out.add(f"{name} = int_tuple({name}, {item.size})")
        tests.append(all_of([test.format(name) for test in _NOT_EXACT[item.asked]]))
    if tests:
        with out.when([any_of(tests)]):
            out.add(general)
    values = tuple_of([argument(parameter.name) for parameter in operator.python.parameters])
    if traced.checks_dtypes:
        usual = [_usual(guard) for guard in traced.usual]
        with out.when([_not(all_of(usual))] if usual else []):
            out.add(call(f"{operator.python.function}_op.check_dtypes", (values,)))
    result = call(f"{operator.python.function}_op.composite", forwarded(operator.python.parameters))
    if len(operator.schema.returns) > 1:
        result = call(f"{operator.python.function}_op.counted", (result,))
    with out.block("try:"):
        out.add(f"return {call('tuple', (result,)) if operator.returns_list else result}")
    with out.block("except Exception as error:"):
        out.add(f"raise {operator.python.function}_op.explained(error, {values})")


def _not(test: str) -> str:
    return f"not {bracketed(test)}"


_NOT_EXACT: Mapping[Asked, Sequence[str]] = {
    Asked.INTEGER: ("type({0}) is not int",),
    Asked.OPTIONAL_INTEGER: ("{0} is not None", "type({0}) is not int"),
    Asked.FLAG: ("type({0}) is not bool",),
    Asked.OPTIONAL_FLAG: ("{0} is not None", "type({0}) is not bool"),
    Asked.INTS: ("type({0}) is not tuple",),
    Asked.OPTIONAL_INTS: ("{0} is not None", "type({0}) is not tuple"),
}


def _usual(guard: Guard) -> str:
    name = argument(guard.arguments[0])
    if guard.kind in _GUARDS:
        return _GUARDS[guard.kind].format(name)
    return any_of([test.format(f"{name}._array.dtype") for test in _DTYPES[guard.kind]])


class _DtypeTests:
    """The guards of dtypes as tests. The first dtype that is asked for more than once gets a name."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        self.left: dict[str, int] = {}  # how often a dtype will still be asked for
        self.counting = True
        self.named: str | None = None
        for guard in guards:
            self._alternatives(guard)
        self.counting = False
        self.tests = [any_of(self._alternatives(guard)) for guard in guards]

    def _alternatives(self, guard: Guard) -> list[str]:
        first, other = guard.arguments[0], argument(guard.arguments[-1])
        match guard.kind:
            case GuardKind.SAME_DTYPE:
                return [f"{self._dtype(first)} is {other}_array.dtype"]
            case GuardKind.SAME_DTYPE_OR_NONE:
                return [f"{other} is None", f"{other}._array.dtype is {self._dtype(first, asked_always=False)}"]
            case GuardKind.TAKEN_OR_NONE:
                tests = [test.format(f"{other}._array.dtype") for test in _taken(guard.takes)]
                return [f"{other} is None", *tests]
            case GuardKind.TAKEN:
                return [test.format(self._dtype(first)) for test in _taken(guard.takes)]
            case GuardKind.WITH_NUMBER:
                tests = [test for kind in guard.takes for test in _BESIDE[kind]]
                return [test.format(self._dtype(first), other) for test in tests]
        return [test.format(*(self._dtype(first) for _ in range(test.count("{")))) for test in _DTYPES[guard.kind]]

    def _dtype(self, name: str, asked_always: bool = True) -> str:
        """The dtype of an array; where the test is not always asked, no later one can rely on a name of it."""
        text = f"{argument(name)}_array.dtype"
        if self.counting:
            self.left[name] = self.left.get(name, 0) + 1
            return text
        self.left[name] -= 1
        if self.named is None and asked_always and self.left[name]:
            self.named = name
            return f"(common := {text})"
        return "common" if name == self.named else text


class _Writer:
    def __init__(self, operator: OperatorPlan, fast_path: FastPathPlan, decline: str, out: Lines) -> None:
        self.operator = operator
        self.fast_path = fast_path
        self.decline = decline
        self.out = out

    def write(self) -> None:
        out, fast_path = self.out, self.fast_path
        with out.when([_GUARDS[guard.kind].format(*map(argument, guard.arguments)) for guard in fast_path.guards]):
            for name in fast_path.those(Asked.TENSOR):
                out.add(f"{argument(name)}_array = {argument(name)}._array")
            with out.when(_DtypeTests(fast_path.dtypes).tests):
                for conversion in fast_path.conversions:
                    self._convert(conversion)
                self._call()
                self._results()
                self._history()
                out.add("return out")

    def _convert(self, conversion: Conversion) -> None:
        name, test = argument(conversion.argument), _CONVERSIONS[conversion.kind]
        with self.out.when([test.format(name)] if test is not None else []):
            self.out.add(f"{name} = int_tuple({name}, {conversion.size})")

    def _call(self) -> None:
        kernel = self.fast_path.kernel
        values: list[str] = []
        for item in kernel.arguments:
            name = argument(item.name)
            if item.asked is Asked.OPTIONAL_DTYPE and kernel.dtype is not None:
                values.append(f"{bracketed(any_of([name, _default_dtype(kernel.dtype)]))}.numpy")
            else:
                values.append(_PASSED.get(item.asked, "{0}").format(name))
        with self.out.block("try:"):
            self.out.add(f"result = {call(f'{self.operator.python.function}_kernel', values)}")
        with self.out.block("except Exception:"):
            self.out.add(self.decline)

    # -- results

    def _results(self) -> None:
        """`out` of `result`; a result that does not fit is left to the general path to refuse."""
        out, results = self.out, self.fast_path.results
        if results.is_sequence:
            counted = [] if results.count is None else [f"len(result) != {results.count}"]
            arrays = "are_arrays_or_none" if results.masked else "are_arrays"
            with out.when([any_of(["not isinstance(result, (tuple, list))", *counted, f"not {arrays}(result)"])]):
                out.add(self.decline)
        base = argument(results.base) if results.base is not None else None
        match results.kind:
            case ResultKind.ARRAY:
                with out.when(["type(result) is not ndarray"]):
                    with out.when(["not isinstance(result, (ndarray, generic))"]):
                        out.add(self.decline)
                    out.add("result = asarray(result)")
                self._lay_out(results.layout)
                out.add("out = new(Tensor)", "out._array = result")
                out.add("out._base = out._edge = out._writes = out._extra = None")
            case ResultKind.FLAG:
                with out.when(["type(result) is not bool"]):
                    out.add(self.decline)
                out.add("out = result")
            case ResultKind.VIEW:
                with out.when(["type(result) is not ndarray"]):
                    out.add(self.decline)
                out.add(f"out = view_of(result, {base})")
            case ResultKind.VIEWS:
                self._collect(f'view_of(array, {base}, "multi")')
            case ResultKind.LIST:
                self._collect(self._wrapped(results.layout))
            case ResultKind.SEVERAL:
                out.add(f"out = {self.operator.python.function}_op.results({list_of(self._several())})")

    def _collect(self, element: str) -> None:
        self.out.add(f"out = tuple({comprehension(element, 'array', 'result')})")

    def _several(self) -> list[str]:
        """The elements of the list of results."""
        results = self.fast_path.results
        own, layout = self._wrapped(results.layout), results.layout
        if layout is not None and len(layout.results) != results.count:
            rest = self._wrapped(LayoutPlan(LayoutKind.CONTIGUOUS, (), ()))
            return [
                f"*{comprehension(own if follows else rest, 'array', f'result{places}')}"
                for follows, places in _runs(layout.results, results.count or 0)
            ]
        return [generator(choice("None", "array is None", own) if results.masked else own, "array", "result")]

    def _wrapped(self, layout: LayoutPlan | None) -> str:
        return f"wrap({self._laid_out(layout, 'asarray(array)')})"

    def _lay_out(self, layout: LayoutPlan | None) -> None:
        """The layout of `result`. In the common case everything is contiguous, and only that is asked for."""
        if layout is None:
            return
        tensors = self.fast_path.those(Asked.TENSOR)
        tests = []
        if layout.kind is LayoutKind.CONTIGUOUS:
            tests = ["not result.flags.c_contiguous"]
        elif layout.kind is LayoutKind.ITERATED and all(name in tensors for name in layout.arguments):
            contiguous = [f"{argument(name)}_array.flags.c_contiguous" for name in layout.arguments]
            tests = [_not(all_of(contiguous)) if len(contiguous) > 1 else f"not {contiguous[0]}"]
        with self.out.when(tests):
            self.out.add(f"result = {self._laid_out(layout, 'result')}")

    def _laid_out(self, layout: LayoutPlan | None, array: str) -> str:
        """An array as it is to lie in memory."""
        if layout is None:
            return array
        operands = []
        for name in layout.arguments:
            asked = self.fast_path.asked(name)
            operands.append(f"{'*' if asked in LISTS else ''}{_PASSED[asked].format(argument(name))}")
        return call(f"layouts.{layout.kind.value}", [array, *operands])

    # -- history

    def _history(self) -> None:
        history, function = self.fast_path.history, self.operator.python.function
        if history is None:
            return
        watched = [_WATCHED[self.fast_path.asked(name)].format(argument(name)) for name in history.watched]
        asked = any_of(watched)
        match history.kind:
            case HistoryKind.NODE:
                with self.out.when([asked, "grad_mode.enabled"]):
                    names, parameters = (
                        {item.name for item in self.fast_path.arguments},
                        self.operator.python.parameters,
                    )
                    values = [argument(p.name) if p.name in names else default_text(p) for p in parameters]
                    self.out.add(call(f"nodes.record_{function}", ["out", *values]))
            case HistoryKind.UNDIFFERENTIABLE:
                with self.out.when([asked]):
                    self.out.add(f"{function}_op.undifferentiable(out)")


def _default_dtype(factory: FactoryDtype) -> str:
    """The dtype of a factory that is not told one."""
    if factory.kind is not None:
        numbers = tuple_of([argument(name) for name in factory.numbers])
        return call("dtypes.promoted_dtype", (literal(factory.kind.value), numbers))
    return "dtypes.get_default_dtype()" if factory.default is None else f"dtypes.{factory.default}"


def _runs(chosen: Sequence[int], count: int) -> list[tuple[bool, str]]:
    """Neighbouring places that are chosen, or not, as slices."""
    ends = [place for place in range(1, count) if (place in chosen) != (place - 1 in chosen)]
    bounds = [0, *ends, count]
    return [(start in chosen, f"[{start or ''}:{'' if end == count else end}]") for start, end in pairwise(bounds)]
