"""Operators in C++: an entry for each that has a straight way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codegen.formula.typed import SCALAR
from codegen.names import cpp
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.plan.straight import FactoryDtype, FastPath
from codegen.targets.cpp.entries import PLAIN_TESTS, CompositeEntry, Entry, EntryView, limit_tests
from codegen.targets.cpp.nodes import NodeView
from codegen.targets.cpp.text import Functions, Needs, functions_in, inside


@dataclass(frozen=True, slots=True)
class NativeKernels:
    """What headers have, read from their text: functors with their numbers of operands, and functions."""

    functors: Mapping[str, int]
    functions: Functions
    writers: Functions = field(default_factory=dict)  # those that write in place
    composites: Functions = field(default_factory=dict)  # operators that are made of others

    @classmethod
    def read(cls, *paths: Path) -> NativeKernels:
        """Of files that may be missing: a missing one has no native kernels."""
        functors: dict[str, int] = {}
        functions: dict[str, frozenset[int]] = {}
        writers: dict[str, frozenset[int]] = {}
        composites: dict[str, frozenset[int]] = {}
        for path in paths:
            for name, base, body in _FUNCTOR.findall(inside(path, "kernels")):
                operands = functors.get(base) if base else _operands(body)
                if operands is not None:
                    functors[name] = operands
            for name, arities in functions_in(path, "kernels").items():
                functions[name] = arities | functions.get(name, frozenset())
            writers.update(functions_in(path, "writers", result="bool"))
            composites.update(functions_in(path, "composites"))
        return cls(functors, functions, writers, composites)


_FUNCTOR = re.compile(r"^struct (\w+)(?: : (\w+))? \{(?:\};|\n(.*?)^\};)", re.MULTILINE | re.DOTALL)


def _operands(body: str) -> int | None:
    """How many operands a functor has: the parameters of its function, without result and size for one of blocks."""
    function = re.search(r"static (?:T apply|GRADWRIGHT_INLINE void (block))\(([^)]*)\)", body)
    if function is not None:
        return function[2].count(",") + (-1 if function[1] else 1)
    said = re.search(r'Ufunc ufunc\{"\w+", (\d)|constexpr int operands = (\d)', body)
    return int(said[1] or said[2]) if said is not None else None


def has_entry(operator: OperatorPlan, kernels: NativeKernels) -> bool:
    """Whether an operator has a straight way, or a composite function in C++."""
    return operator.fast is not None or is_composite(operator, kernels)


def is_composite(operator: OperatorPlan, kernels: NativeKernels) -> bool:
    """Whether the function that an operator is traced through is written in C++, too."""
    if operator.kind != "implicit" or not any(str(p.type) in PLAIN_TESTS for p in operator.parameters):
        return False
    return len(operator.parameters) in kernels.composites.get(operator.implementation.name, ())


def entry_view(operator: OperatorPlan, node: NodeView | None, kernels: NativeKernels, needs: Needs) -> EntryView:
    """The entry of an operator; `node` is None where Python records."""
    if is_composite(operator, kernels):
        return CompositeEntry(operator, operator.function).view(str(operator.schema))
    return KernelEntry(operator, operator.function, node, kernels, needs).view(str(operator.schema))


class KernelEntry(Entry):
    """Writes the entry of an operator that has a straight way."""

    def __init__(
        self, operator: OperatorPlan, function: str, node: NodeView | None, kernels: NativeKernels, needs: Needs
    ) -> None:
        assert operator.fast is not None
        super().__init__(operator, function)
        self.fast: FastPath = operator.fast
        self.node = node
        self.kernels = kernels
        self.needs = needs
        self.optional = {p.name for p in operator.parameters if str(p.type).endswith("?")}

    def lines(self) -> list[str]:
        self._check()
        self._convert_ints()
        self._compute()
        self._wrap()
        self._record()
        self.out.add("return out;")
        return self.out.lines

    def _check(self) -> None:
        fast, name = self.fast, cpp
        tests = [f"is_plain({name(tensor)})" for tensor in fast.tensors]
        tests += [f"is_plain_or_none({name(tensor)})" for tensor in fast.optionals]
        tests += [f"all_plain({name(tensors)})" for tensors in fast.lists]
        tests += [f"all_plain_or_none({name(tensors)})" for tensors in fast.optional_lists]
        if fast.factory is not None:
            tests.append("nothing_unusual()")
        tests += [f"{name(absent)} == Py_None" for absent in fast.absent]
        tests += [f"PyTuple_CheckExact({name(flags)})" for flags in fast.bool_lists]
        tests += [self._is_dtype("is_instance", argument) for argument in fast.dtype_arguments]
        tests += [self._is_dtype("is_instance_or_none", argument) for argument in fast.optional_dtypes]
        tests += [f"PyLong_CheckExact({name(integer)})" for integer in fast.integers]
        tests += [
            f"is_real_number{'_or_none' if scalar in self.optional else ''}({name(scalar)})" for scalar in fast.scalars
        ]
        tests += self._dtype_tests()
        if fast.dtypes != "float":
            tests += limit_tests(fast.limited, fast.takes, fast.optionals)
        if fast.seeded:
            tests.append(f"nobody_around({self.needs.name('runtime.base.modes', 'interest')})")
        self._require(tests)

    def _is_dtype(self, test: str, argument: str) -> str:
        return f"{test}({cpp(argument)}, {self.needs.name('runtime.base.dtypes', 'dtype')})"

    def _dtype_tests(self) -> list[str]:
        promoted = [cpp(name) for name in self.fast.promoted]
        if self.fast.dtypes == "any" or not promoted:
            first = next((cpp(name) for name in self.fast.tensors), None)
            return [f"is_not_half({first})"] if self.fast.in_float32 and first is not None else []
        first, *rest = promoted
        kinds = {"float": "has_float_dtype", "weak": "has_float_dtype", "number": "has_number_dtype"}
        known = kinds.get(self.fast.dtypes)
        tests = [f"{known}({first})"] if known else []
        default = self._number_at_its_default()
        if default is not None and rest:
            tests = [f"({tests[0]} || {default})"]
            known = None
        if self.fast.in_float32 and known is None:
            tests.append(f"is_not_half({first})")
        optional = {cpp(name) for name in self.fast.optionals}
        return [*tests, *(f"same_dtype{'_or_none' * (other in optional)}({first}, {other})" for other in rest)]

    def _number_at_its_default(self) -> str | None:
        """The test that the only Scalar is not given, where any dtype may go the straight way then."""
        given = [(index, p) for index, p in enumerate(self.operator.parameters) if p.name in self.fast.scalars]
        if self.fast.dtypes != "weak" or len(given) != 1 or given[0][1].default is None:
            return None
        index, parameter = given[0]
        return f"is_default(entries::{cpp(self.operator.function)}, {index}, {cpp(parameter.name)})"

    def _convert_ints(self) -> None:
        for parameter in self.operator.parameters:
            if parameter.name in self.fast.int_lists:
                name = cpp(parameter.name)
                function = "int_tuple_or_none" if parameter.name in self.optional else "int_tuple"
                convert = self.needs.name("runtime.call.dispatch", "int_tuple")
                size = self.needs.constant(str(parameter.size))
                self.out.assign(f"Ref {name}ints", f"{function}(", [name, convert, size], ");")
                self.out.add(f"if (!{name}ints) return Ref();")
                self.out.add(f"{name} = {name}ints.get();")

    # -- the kernel

    def _compute(self) -> None:
        self._run_kernel()
        self.out.when("!result", self._return_fall_back)
        self._lay_out()

    def _lay_out(self) -> None:
        """Let the result lie in memory as the operator's rule says."""
        layout = self.operator.layout
        if layout is None or self.fast.factory is not None:
            return
        operands = f"{{{', '.join(map(cpp, layout.arguments))}}}"
        if layout.kind == "contiguous":
            self.out.add("result = lie_contiguous(std::move(result));")
        elif layout.kind == "iterated":
            self.out.assign("result", "lie_iterated(", ["std::move(result)", operands], ");")
        else:
            rule = self.needs.name("runtime.base.layouts", layout.kind)
            parts = [rule, "std::move(result)", str(len(layout.results)), operands]
            self.out.assign("result", "lie_by(", parts, ");")
        self.out.add("if (!result) return Ref();")

    def _run_kernel(self) -> None:
        """Declare `result`, and let a native kernel or the one in Python give it."""
        operator, fast = self.operator, self.fast
        parameters = [p for p in operator.parameters if not p.is_placement]
        parts = []
        lists = []  # of arrays, which the kernel in Python takes
        for parameter in parameters:
            name = cpp(parameter.name)
            if parameter.name in fast.tensors:
                parts.append(f"array_object({name})")
            elif parameter.name in fast.optionals:
                parts.append(f"array_or_none({name})")
            elif parameter.name in (*fast.dtype_arguments, *fast.optional_dtypes):
                self._convert_dtype(name)
                parts.append(f"{name}numpy.get()")
            elif parameter.name in (*fast.lists, *fast.optional_lists):
                lists.append(name)
                parts.append(f"{name}arrays.get()")
            else:
                parts.append(name)
        kernel = self.needs.name("generated.operators", f"{operator.function}_kernel")
        run = "run_for_array" if self._is_one_array() else "run"
        native = native_kernel(operator, parameters, self.kernels)
        if native is not None:
            head, _, arguments = native.removesuffix(")").partition("(")
            self.out.assign("Ref result", f"{head}(", arguments.split(", "), ");")
        if native is not None and lists:
            self.out.add("if (!result) {")
            with self.out.block():
                self._make_lists(lists)
                self.out.assign("result", f"{run}(", [kernel, *parts], ");")
        elif native is not None:
            self.out.when("!result", lambda: self.out.assign("result", f"{run}(", [kernel, *parts], ");"))
        else:
            self._make_lists(lists)
            self.out.assign("Ref result", f"{run}(", [kernel, *parts], ");")

    def _convert_dtype(self, name: str) -> None:
        """Declare the NumPy dtype of an argument; None stays None, but for a factory."""
        factory = self.fast.factory
        if factory is None:
            self.out.add(f"Ref {name}numpy = numpy_dtype({name});")
        else:
            self.out.add(f"Ref {name}known = Ref::borrow({name});")
            self.out.when(f"{name} == Py_None", lambda: self._default_dtype(f"{name}known", factory))
            self.out.add(f"if (!{name}known) return Ref();")
            self.out.add(f"Ref {name}numpy = numpy_dtype({name}known.get());")
        self.out.add(f"if (!{name}numpy) return Ref();")

    def _default_dtype(self, target: str, factory: FactoryDtype) -> None:
        if factory.kind is not None:
            promote = self.needs.name("runtime.base.dtypes", "promoted_dtype")
            kind = self.needs.constant(repr(factory.kind))
            numbers = [cpp(number) for number in factory.numbers]
            self.out.assign(target, "dtype_of_numbers(", [promote, kind, *numbers], ");")
        elif factory.default is not None:
            known = self.needs.name("runtime.base.dtypes", factory.default)
            self.out.add(f"{target} = Ref::borrow({known});")
        else:
            self.out.add(f"{target} = invoke({self.needs.name('runtime.base.dtypes', 'get_default_dtype')});")

    def _make_lists(self, names: Sequence[str]) -> None:
        for name in names:
            self.out.add(f"Ref {name}arrays = array_list({name});")
            self.out.add(f"if (!{name}arrays) return Ref();")

    def _is_one_array(self) -> bool:
        return not self.operator.returns_list and len(self.operator.schema.returns) == 1 and self.operator.view is None

    # -- the result

    def _wrap(self) -> None:
        operator, out = self.operator, self.out
        if operator.returns_list or len(operator.schema.returns) > 1:
            count = -1 if operator.returns_list else len(operator.schema.returns)
            out.when(f"!has_results(result.get(), {count})", self._return_fall_back)
        if operator.view is not None:
            base = next(cpp(a.name) for a in operator.schema.arguments if a.alias is not None)
            if operator.view == "multi":
                out.add(f"Ref out = view_tuple(result.get(), {base});")
            else:
                out.add(f"Ref out = new_view(std::move(result), {base});")
        elif operator.returns_list:
            out.add("Ref out = tensor_tuple(result.get());")
        elif len(operator.schema.returns) > 1:
            results = self.needs.name("generated.operators", f"{operator.function}_op.results")
            out.add("Ref tensors = tensor_list(result.get());")
            out.add("if (!tensors) return Ref();")
            out.add(f"Ref out = invoke({results}, tensors.get());")
        else:
            out.add("Ref out = new_tensor(std::move(result));")
        out.add("if (!out) return Ref();")

    # -- the history

    def _record(self) -> None:
        operator = self.operator
        plan = operator.node
        if plan is None:
            if self.fast.tensors and not operator.never_differentiable:
                mark = self.needs.name("generated.operators", f"{operator.function}_op.undifferentiable")
                self._if_recorded(self.fast.tensors, "invoke", [mark, "out.get()"])
            return
        edges = [edge.name for edge in plan.edges]
        if self.node is None:
            record = self.needs.name("generated.nodes", f"record_{operator.function}")
            self._if_recorded(edges, "invoke", [record, "out.get()", *self.arguments])
        else:
            several = len(operator.schema.returns) > 1
            given = "reinterpret_cast<PyTupleObject*>(out.get())->ob_item" if several else "out.get()"
            call = f"{self.node.class_name}::record"
            self._if_recorded(edges, call, [given, *map(cpp, self.node.arguments)])

    def _if_recorded(self, names: Sequence[str], call: str, parts: Sequence[str]) -> None:
        """`call`, if one of the Tensors requires grad; what it gives is false where it fails."""
        tests = []
        for name in names:
            text = cpp(name)
            if name in (*self.fast.lists, *self.fast.optional_lists):
                tests.append(f"any_requires_grad({text})")
            elif name in self.fast.optionals:
                tests.append(f"requires_grad_or_none({text})")
            else:
                tests.append(f"requires_grad({text})")
        self.out.when_both("grad_enabled", tests, " {")
        with self.out.block():
            self.out.unless(f"!{call}", parts, "return Ref();")


def native_kernel(operator: OperatorPlan, parameters: Sequence[ParameterPlan], kernels: NativeKernels) -> str | None:
    """The call of a native kernel, which takes Tensors and gives an array or nothing."""
    fast = operator.fast
    assert fast is not None
    name = operator.implementation.name
    values = [cpp(parameter.name) for parameter in parameters]
    numpy = [
        f"{name}numpy.get()" if p.name in (*fast.dtype_arguments, *fast.optional_dtypes) else name
        for p, name in zip(parameters, values, strict=True)
    ]
    if len(values) in kernels.functions.get(name, ()):
        return f"kernels::{name}({', '.join(numpy)})"
    if kernels.functors.get(name) != len(parameters) or len(operator.schema.returns) > 1:
        return None
    loop = loop_template(fast, parameters)
    return None if loop is None else f"{loop.format(f'kernels::{name}')}({', '.join(values)})"


def loop_template(fast: FastPath, parameters: Sequence[ParameterPlan]) -> str | None:
    """Which template makes a loop over arguments like these out of a functor, the name of which is left open."""
    kinds = "".join("T" if p.name in fast.tensors else "S" if p.type == SCALAR else "?" for p in parameters)
    if re.fullmatch("T+S*", kinds) is None:
        return None
    loop = {"T": "unary", "TT": "binary", "TS": "binary_scalar"}.get(kinds)
    return f"{loop}<{{}}>" if loop else f"elementwise<{{}}, {kinds.count('T')}>"
