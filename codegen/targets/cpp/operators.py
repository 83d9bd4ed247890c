"""Operators in C++: an entry for each that has a fast path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.plan.loops import KernelLoop, LoopChoice
from codegen.plan.operator import CompositePlan, OperatorPlan
from codegen.plan.steps import (
    LISTS,
    Asked,
    Conversion,
    ConversionKind,
    FactoryDtype,
    FastPathPlan,
    HistoryKind,
    ResultKind,
)
from codegen.read.kernel_table import KERNELS
from codegen.targets.cpp.entries import CompositeEntry, Entry, EntryView
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.nodes import NodeView
from codegen.targets.cpp.statements import Call
from codegen.targets.cpp.text import CppPrinter, Library
from codegen.words import LayoutKind


def entry_view(operator: OperatorPlan, node: NodeView | None, library: Library, needs: Needs) -> EntryView:
    """The entry of an operator; `node` is None where Python records.

    Raises:
        UnprintableError: it is a formula that needs something that C++ leaves to Python.
    """
    if operator.compute.composite is not None:
        return FormulaEntry(operator, operator.compute.composite, library, needs).view(str(operator.schema))
    if operator.compute.fast_path is not None:
        entry = KernelEntry(operator, operator.compute.fast_path, operator.python.function, node, library, needs)
        return entry.view(str(operator.schema))
    assert operator.compute.traced is not None
    return CompositeEntry(operator, operator.python.function, library, needs).view(str(operator.schema))


class FormulaEntry(Entry):
    """Writes the entry of an operator that is a formula over others."""

    def __init__(self, operator: OperatorPlan, composite: CompositePlan, library: Library, needs: Needs) -> None:
        super().__init__(operator, operator.python.function, library, needs)
        self.composite = composite

    def lines(self) -> list[str]:
        self._check()
        self.out.comment(self.composite.written)
        self.out.add("const auto formula = [&]() -> Ref {")
        with self.out.block("};"):
            printer = CppPrinter(
                self.library, self.needs, lambda v: cpp(v.name), self.out, failure="return Ref();", loops=self.loops
            )
            printer.assign("value", self.composite.tree, declare=True)
            if len(self.operator.schema.returns) > 1:
                results = self.needs.operators(f"{self.function}_op", "results")
                self.out.add(f"return invoke({results}, value.get());")
            else:
                self.out.add("return value;")
        self.out.add("Ref out = formula();")
        self.leave()
        return self.out.lines


_CONVERSIONS: Mapping[ConversionKind, str] = {
    ConversionKind.INTS: "int_tuple",
    ConversionKind.OPTIONAL_INTS: "int_tuple_or_none",
    ConversionKind.SIZES: "int_tuple",
}
# What the kernel in Python gets of an argument; the others it gets as they are.
_PASSED: Mapping[Asked, str] = {
    Asked.TENSOR: "array_object({0})",
    Asked.OPTIONAL_TENSOR: "array_or_none({0})",
    Asked.TENSORS: "{0}arrays.get()",
    Asked.OPTIONAL_TENSORS: "{0}arrays.get()",
    Asked.DTYPE: "{0}numpy.get()",
    Asked.OPTIONAL_DTYPE: "{0}numpy.get()",
}
# What a kernel of the core gets: Tensors, and NumPy's dtypes.
_PASSED_TENSORS: Mapping[Asked, str] = {asked: _PASSED[asked] for asked in (Asked.DTYPE, Asked.OPTIONAL_DTYPE)}
# Whether an argument requires grad.
_WATCHED: Mapping[Asked, str] = {
    Asked.TENSOR: "requires_grad({0})",
    Asked.OPTIONAL_TENSOR: "requires_grad_or_none({0})",
    Asked.TENSORS: "any_requires_grad({0})",
    Asked.OPTIONAL_TENSORS: "any_requires_grad({0})",
}


_LOOPS = {(1, 0): "unary<{}>", (2, 0): "binary<{}>", (1, 1): "binary_scalar<{}>"}  # by Tensors and numbers


class KernelEntry(Entry):
    """Writes the entry of an operator that has a fast path: a statement or two for each of its steps."""

    def __init__(
        self,
        operator: OperatorPlan,
        fast_path: FastPathPlan,
        function: str,
        node: NodeView | None,
        library: Library,
        needs: Needs,
    ) -> None:
        super().__init__(operator, function, library, needs)
        self.fast_path = fast_path
        self.node = node
        self.printer = CppPrinter(library, needs, lambda v: cpp(v.name), self.out, failure="return Ref();")

    def lines(self) -> list[str]:
        self._check()
        for conversion in self.fast_path.conversions:
            self._convert(conversion)
        self._require()
        self._run_kernel()
        self.out.when(["!result"], self._fall_back())
        self._lay_out()
        self._wrap()
        self._record()
        self.out.add("return out;")
        return self.out.lines

    def _convert(self, conversion: Conversion) -> None:
        name = cpp(conversion.argument)
        parts = [name, self.needs.name("runtime.call.guards", "int_tuple"), self.needs.constant(conversion.size)]
        self.out.assign(f"Ref {name}ints", Call(_CONVERSIONS[conversion.kind], parts))
        self.out.add(f"if (!{name}ints) return Ref();")
        self.out.add(f"{name} = {name}ints.get();")

    def _require(self) -> None:
        """Leave it to Python to refuse arguments for which there is a loop; other kernels see for themselves."""
        expression = self.operator.compute.elementwise
        requirements = () if expression is None or self.native.loop is None else expression.requirements
        for requirement in requirements:
            self.out.when([f"!{self.printer.test(requirement.condition).bracketed}"], self._fall_back())

    def _out(self) -> str:
        return super()._out() if self.operator.compute.exclusive or self.native.loop is None else "Out::kDirect"

    # -- the kernel

    def _run_kernel(self) -> None:
        """Declare `result`, and let a native kernel or the one in Python give it."""
        arguments, lists = self.fast_path.kernel.arguments, self.fast_path.those(*LISTS)
        for argument in arguments:
            if argument.asked in (Asked.DTYPE, Asked.OPTIONAL_DTYPE):
                self._convert_dtype(cpp(argument.name))
        parts = [_PASSED.get(argument.asked, "{0}").format(cpp(argument.name)) for argument in arguments]
        kernel = self.needs.operators(f"{self.operator.python.function}_kernel")
        run = "run_for_array" if self.fast_path.results.kind is ResultKind.ARRAY else "run"
        native = self._native_kernel()
        in_python = Call(run, [kernel, *parts])
        if native is None:
            self._make_lists(lists)
            self._assign_result(in_python)
            return
        if isinstance(native, Call):
            self._assign_result(native)
        elif self.operator.computes_other_dtypes:
            self.out.add("Ref result = std::move(known);")
            self.out.add("if (!result) {")
            with self.out.block():
                self._choose("result", native)
        else:
            self.out.add("Ref result;")
            self._choose("result", native)
        if lists:
            self.out.add("if (!result) {")
            with self.out.block():
                self._make_lists(lists)
                self.out.assign("result", in_python)
        else:
            self.out.when(["!result"], f"result = {in_python};")

    def _assign_result(self, call: Call) -> None:
        """Declare `result`: what is known of other dtypes, or else what the call gives."""
        if self.operator.computes_other_dtypes:
            self.out.add("Ref result = std::move(known);")
            self.out.when(["!result"], f"result = {call};")
        else:
            self.out.assign("Ref result", call)

    def _choose(self, target: str, choice: LoopChoice, start: str = "") -> None:
        """Give the target the result of the loop that is chosen, if there is one, as `_call_of` calls it."""
        sides = [(side, test) for test, side in ((True, choice.then), (False, choice.orelse)) if side is not None]
        test = self.printer.test(choice.test)
        self.out.add(f"if ({test.text if sides[0][1] else '!' + test.bracketed}) {{")
        for side, _ in sides:
            with self.out.block("}" if side is sides[-1][0] else "} else {"):
                if isinstance(side, KernelLoop):
                    self.out.assign(target, self._call_of(side, start))
                else:
                    self._choose(target, side, start)

    def _native_kernel(self) -> Call | LoopChoice | None:
        """The call of a native kernel, which takes Tensors and gives an array or nothing; or the choice of one."""
        function, loop, arguments = self.native.function, self.native.loop, self.fast_path.kernel.arguments
        if function is None:
            return self._call_of(loop) if isinstance(loop, KernelLoop) else loop
        values = [_PASSED_TENSORS.get(argument.asked, "{0}").format(cpp(argument.name)) for argument in arguments]
        return Call(self.needs.native(self.native.kernels, KERNELS, function, len(arguments)), values)

    def _call_of(self, loop: KernelLoop, start: str = "") -> Call:
        """The call of a loop by the template that fits so many Tensors, and numbers behind them.

        Args:
            start: what the name of the template begins with.
        """
        tensors, functor = len(loop.loop.tensors), self.needs.loop(self.native.kernels, loop)
        template = _LOOPS.get((tensors, len(loop.loop.numbers)), f"elementwise<{{}}, {tensors}>")
        return Call(f"{start}{template.format(functor)}", [*map(cpp, loop.parameters)])

    def _convert_dtype(self, name: str) -> None:
        """Declare the NumPy dtype of an argument; None stays None, but for a factory."""
        factory = self.fast_path.kernel.dtype
        if factory is None:
            self.out.add(f"Ref {name}numpy = numpy_dtype({name});")
        else:
            self.out.add(f"Ref {name}known = Ref::borrow({name});")
            self.out.when([f"{name} == Py_None"], self._default_dtype(f"{name}known", factory))
            self.out.add(f"if (!{name}known) return Ref();")
            self.out.add(f"Ref {name}numpy = numpy_dtype({name}known.get());")
        self.out.add(f"if (!{name}numpy) return Ref();")

    def _default_dtype(self, target: str, factory: FactoryDtype) -> str:
        if factory.kind is not None:
            promote = self.needs.name("runtime.base.dtypes", "promoted_dtype")
            kind = self.needs.constant(factory.kind.value)
            numbers = [cpp(number) for number in factory.numbers]
            return f"{target} = {Call('dtype_of_numbers', [promote, kind, *numbers])};"
        if factory.default is not None:
            known = self.needs.name("runtime.base.dtypes", factory.default)
            return f"{target} = Ref::borrow({known});"
        return f"{target} = invoke({self.needs.name('runtime.base.dtypes', 'get_default_dtype')});"

    def _make_lists(self, names: Sequence[str]) -> None:
        for name in map(cpp, names):
            self.out.add(f"Ref {name}arrays = array_list({name});")
            self.out.add(f"if (!{name}arrays) return Ref();")

    # -- the result

    def _lay_out(self) -> None:
        """Let the result lie in memory as the operator's rule says."""
        layout = self.fast_path.results.layout
        if layout is None:
            return
        operands = f"{{{', '.join(map(cpp, layout.arguments))}}}"
        if layout.kind is LayoutKind.CONTIGUOUS:
            self.out.add("result = lie_contiguous(std::move(result));")
        elif layout.kind is LayoutKind.ITERATED:
            self.out.assign("result", Call("lie_iterated", ["std::move(result)", operands]))
        else:
            rule = self.needs.name("runtime.base.layouts", layout.kind.value)
            places = sum(1 << place for place in layout.results)
            parts = [rule, "std::move(result)", f"0b{places:b}", operands]
            self.out.assign("result", Call("lie_by", parts))
        self.out.add("if (!result) return Ref();")

    def _wrap(self) -> None:
        out, results = self.out, self.fast_path.results
        if results.is_sequence:
            count = -1 if results.count is None else results.count
            masked = ", true" if results.masked else ""
            out.when([f"!has_results(result.get(), {count}{masked})"], self._fall_back())
        base = results.base or ""
        match results.kind:
            case ResultKind.ARRAY:
                out.add("Ref out = new_tensor(std::move(result));")
            case ResultKind.FLAG:
                out.when(["!PyBool_Check(result.get())"], self._fall_back())
                out.add("Ref out = std::move(result);")
            case ResultKind.VIEW:
                out.add(f"Ref out = new_view(std::move(result), {cpp(base)});")
            case ResultKind.VIEWS:
                out.add(f"Ref out = view_tuple(result.get(), {cpp(base)});")
            case ResultKind.LIST:
                out.add("Ref out = tensor_tuple(result.get());")
            case ResultKind.SEVERAL:
                several = self.needs.operators(f"{self.operator.python.function}_op", "results")
                out.add("Ref tensors = tensor_list(result.get());")
                out.add("if (!tensors) return Ref();")
                out.assign("Ref out", Call("invoke", [several, "tensors.get()"]))
        out.add("if (!out) return Ref();")

    # -- the history

    def _record(self) -> None:
        history, function = self.fast_path.history, self.operator.python.function
        if history is None:
            return
        if history.kind is HistoryKind.UNDIFFERENTIABLE:
            call = "invoke"
            parts = [self.needs.operators(f"{function}_op", "undifferentiable"), "out.get()"]
        elif self.node is None:
            call = "record_in_python"
            parts = [self.needs.recorder(f"record_{function}"), "out.get()", *self.arguments]
        else:
            several = self.fast_path.results.kind is ResultKind.SEVERAL
            results = "reinterpret_cast<PyTupleObject*>(out.get())->ob_item" if several else "out.get()"
            call = f"{self.node.class_name}::record"
            parts = [results, *map(cpp, self.node.arguments)]
        tests = [_WATCHED[self.fast_path.asked(name)].format(cpp(name)) for name in history.watched]
        watched = f"({' || '.join(tests)})" if len(tests) > 1 else tests[0]
        self.out.when(["grad_enabled", watched], "{")
        with self.out.block():
            self.out.unless(Call(call, parts), "return Ref();")
