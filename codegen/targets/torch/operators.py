"""The section of an operator: its kernel, its class, its functions, and how it is registered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from codegen.dispatch_keys import COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT, COMPOSITE_KEYS, CPU, META
from codegen.formula.typed import DTYPE, SCALAR, Variable, VariableKind, is_tensor_like
from codegen.plan.elementwise import RequirementPlan
from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.python_source import PythonFunction
from codegen.schema.types import (
    TENSOR,
    Alias,
    Argument,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    SchemaKind,
    base_type,
    required,
)
from codegen.source import Span
from codegen.targets.environment import docstring
from codegen.targets.literals import literal, tuple_of
from codegen.targets.python.code import STEP, Lines, call, function_head
from codegen.targets.rules.library import File, Item
from codegen.targets.rules.values import Binding, NotPortable
from codegen.targets.rules.wrapping import WIDTH, wrapped
from codegen.targets.torch.functions import (
    FunctionWriter,
    Names,
    comment,
    is_tensor,
    list_parameters,
    record_of,
    tensors_of,
)
from codegen.targets.torch.library import FUNCTIONAL, Library
from codegen.targets.torch.printer import (
    ONE_OR_ALL,
    TreePrinter,
    argument,
    arguments_of,
    arguments_of_entry,
    by_position,
    parameters_of,
    result_annotation,
)

# Tags of PyTorch's that its users may have on operators of their own.
_TAGS = frozenset(("core", "data_dependent_output", "dynamic_output_shape", "nondeterministic_seeded", "pointwise"))


@dataclass(frozen=True, slots=True)
class Section:
    """What stands in the module for one operator.

    Attributes:
        name: of the operator.
        functions: their texts, in order.
        definitions: a schema and its tags for each of its overloads.
        registrations: a line for each of them.
        item: what it needs of other modules.
    """

    name: str
    functions: tuple[str, ...]
    definitions: tuple[str, ...]
    registrations: tuple[str, ...]
    item: Item

    @property
    def text(self) -> str:
        """The functions with what lies between them."""
        pieces = [self.functions[0]]
        for before, after in zip(self.functions, self.functions[1:], strict=False):
            both_short = "\n" not in before and "\n" not in after
            pieces += ["\n" if both_short else "\n\n\n", after]
        return "".join(pieces)


def section_of(operator: OperatorPlan, library: Library) -> Section:
    """All that is written for an operator.

    Raises:
        NotPortable: it can not be one of PyTorch.
    """
    item = Item(("operators", str(operator.name)), File.RULES, library.own_name(operator))
    section = _Writer(_functional(operator), library, item, operator).section()
    broken = library.is_whole(item)
    if broken is not None:
        raise broken
    return section


class _Writer:
    """Writes the section of one operator."""

    def __init__(self, operator: OperatorPlan, library: Library, item: Item, whole: OperatorPlan) -> None:
        self.operator = operator
        self.writes_self = operator is not whole  # its kernel works in place
        self.library = library
        self.item = item
        self.names = Names(operator, library)
        self.name = self.names.function
        self.namespace = library.plan.namespace
        self.functions: list[str] = []
        self.kernels: dict[str, str] = {}
        self.fake: str | None = None

    def section(self) -> Section:
        """The section."""
        operator = self.operator
        self._refuse()
        has_tensors = bool(tensors_of(operator))
        definitions = [self._definition(operator.schema)]
        is_declared = operator.kind is OperatorKind.DECLARED
        implicit = operator.kind is OperatorKind.IMPLICIT
        base, overload = operator.name.base, operator.name.overload or "default"
        self.functions.append(f"{self.names.entry} = torch.ops.{self.namespace}.{base}.{overload}")
        function = None
        if not is_declared:
            self._kernel()
            if not implicit and has_tensors:
                self.functions.append(FunctionWriter(operator, self.library, self.item).text())
                if list_parameters(operator) or operator.returns_list or not by_position(operator):
                    function = self.names.record
                    self.functions.append(f"{self.names.applied} = apply_of({self.names.cls})")
                    self.functions.append(record_of(operator, self.names))
                else:
                    function = f"{self.names.cls}.apply"
                    self.functions.append(f"{self.names.applied} = applied({self.names.cls}, {self.names.kernel})")
        self.functions.append(self._public(function))
        registrations = [] if is_declared else [self._registration(str(operator.name), function)]
        self._variants(definitions, registrations)
        texts = tuple(map(wrapped, self.functions))
        return Section(str(operator.name), texts, tuple(definitions), tuple(map(wrapped, registrations)), self.item)

    def _refuse(self) -> None:
        """What a kernel of PyTorch's dispatcher can not be made of."""
        operator = self.operator
        place = operator.source.text.span()
        for each in operator.source.schema.arguments:
            reason = _unreadable(each)
            if reason is not None:
                raise NotPortable(reason, operator.source.text.span(each.start, each.end))
        if operator.kind in (OperatorKind.IMPLICIT, OperatorKind.DECLARED):
            return
        if operator.autograd.keyed_nodes:
            raise NotPortable("it has formulas for one backend alone", operator.autograd.formulas[0][0].span())
        if operator.schema.kind is not SchemaKind.FUNCTIONAL:
            raise NotPortable("its kernel writes to another argument than 'self'", place)
        if operator.view is not None:
            raise NotPortable("its kernel returns a view of an argument; a composite function may do that", place)
        if operator.schema.masks_outputs:
            raise NotPortable("an argument says which of its results are wanted", place)
        if not all(is_tensor_like(each.type) for each in operator.schema.returns):
            raise NotPortable("one of its results is no Tensor", place)
        if any(isinstance(each.type, OptionalType) for each in operator.schema.returns):
            raise NotPortable("a result may be missing", place)

    # -- schemas

    def _definition(self, schema: FunctionSchema) -> str:
        tags = [literal(tag) for tag in self.operator.source.tags if tag in _TAGS]
        tags = ['"pt2_compliant_tag"', *tags] if schema.kind is SchemaKind.FUNCTIONAL else []
        return wrapped(call("define", ["LIBRARY", literal(str(schema)), *tags]))

    # -- kernels

    def _kernel(self) -> None:
        operator = self.operator
        compute = operator.compute
        if compute.composite is not None:
            self._formula(self.names.kernel)
            self.kernels[compute.composite.key] = self.names.kernel
            return
        if compute.elementwise is not None:
            self._elementwise()
            return
        twin = self.library.torch_operator(operator)
        for key, function in compute.implementations:
            if key in COMPOSITE_KEYS:
                self._composite(key, function)
            elif key != CPU:
                if key != META:
                    self.kernels[key] = self._python(function)
            elif twin is not None:
                self._twin(twin)
            else:
                self._arrays(function)

    def _head(self, name: str, returns: str | None = None) -> str:
        parameters = parameters_of(self.operator, keywords=not by_position(self.operator), sized="Any")
        parameters = [each.replace(": Number", ": Any") for each in parameters]
        return function_head(name, parameters, returns or result_annotation(self.operator))

    def _python(self, function: PythonFunction) -> str:
        """A function of the package's own kernels, composites or helpers."""
        known = self.library.sources.modules.get(function.module)
        if known is None:
            raise NotPortable(f"'{function}' is no function that can be taken along", self._place())
        module, _ = known
        try:
            if function.name in module.functions:
                item = self.library.function(function.module, function.name)
            else:
                item = self.library.definition(function.module, function.name)
        except NotPortable as error:
            raise NotPortable(error.reason, error.place or self._place()) from error
        return self.library.name(item, self.item)

    def _place(self) -> Span:
        return self.operator.source.text.span()

    def _composite(self, key: str, function: PythonFunction) -> None:
        """A function on Tensors."""
        out = Lines()
        self._check_dtypes(out)
        called = self._python(function)
        result = call(called, arguments_of(self.operator))
        out.add(f"return {f'list({result})' if self.operator.returns_list else result}")
        self.functions.append(f"{self._head(self.names.kernel)}\n{out.text}")
        key = COMPOSITE_IMPLICIT if key == COMPOSITE_IMPLICIT else COMPOSITE_EXPLICIT
        self.kernels[key] = self.names.kernel

    def _formula(self, name: str) -> None:
        """The formula over other operators that it is."""
        composite = self.operator.compute.composite
        assert composite is not None
        if composite.lists and composite.inplace is not None:
            raise NotPortable("it writes the elements of lists", composite.text.span())
        out = Lines()
        self._check_dtypes(out)
        comment(composite.source, out)
        lists = [argument(each) for each in composite.lists]
        printer = TreePrinter(self.library, self.item)
        printer.device = self._device()
        try:
            text = printer.value(composite.tree).text if lists else printer.formula(composite.tree, out)
        except NotPortable as error:
            raise NotPortable(error.reason, composite.text.span()) from error
        if lists:
            names, source = ", ".join(lists), f"zip({', '.join(lists)}, strict=True)" if len(lists) > 1 else lists[0]
            text = f"[{text} for {names} in {source}]"
        self._return(text, out)
        self.functions.append(f"{self._head(name)}\n{out.text}")

    def _device(self) -> str | None:
        """The expression of the device of the arguments; None where none is a Tensor for sure."""
        tensors = [each for each in self.operator.python.parameters if is_tensor(each)]
        required = [each for each in tensors if not isinstance(each.type, OptionalType)]
        return f"{argument(required[0].name)}.device" if required else None

    def _elementwise(self) -> None:
        """The expression over elements that it is."""
        plan = self.operator.compute.elementwise
        assert plan is not None
        out = Lines()
        for requirement in plan.requirements:
            self._requirement(requirement, out)
        comment(plan.source, out)
        try:
            text = TreePrinter(self.library, self.item).formula(plan.tree, out)
        except NotPortable as error:
            raise NotPortable(error.reason, plan.text.span()) from error
        self._return(text, out)
        self._on_tensors(out)

    def _check_dtypes(self, out: Lines) -> None:
        """Refuse what an operator over others does not take."""
        dtypes = self.operator.source.dtypes
        if dtypes is None:
            return
        tensors = [each for each in self.operator.python.parameters if is_tensor_like(each.type)]
        names = [argument(each.name) for each in tensors if dtypes.arguments is None or each.name in dtypes.arguments]
        shown = literal(f"{self.namespace}::{self.operator.name}")
        error = [] if dtypes.error == "NotImplementedError" else [dtypes.error]
        out.add(call("check_dtypes", [shown, literal(dtypes.kinds), tuple_of(names), *error]))

    def _return(self, text: str, out: Lines) -> None:
        """Return a value; of a type that is said where numbers, which may be any, take part."""
        if any(base_type(each.type) == SCALAR for each in self.operator.python.parameters):
            out.add(f"result: {result_annotation(self.operator)} = {text}")
            text = "result"
        out.add(f"return {text}")

    def _requirement(self, requirement: RequirementPlan, out: Lines) -> None:
        printer = TreePrinter(self.library, self.item)
        with out.block(f"if not {printer.value(requirement.condition).within(Binding.NOT)}:"):
            values = [printer.value(value).text for value in requirement.values]
            parts = [requirement.words[0].replace("{", "{{").replace("}", "}}")]
            for value, after in zip(values, requirement.words[1:], strict=True):
                parts += [f"{{{value}}}", after.replace("{", "{{").replace("}", "}}")]
            text = literal("".join(parts))
            out.add(f"raise RuntimeError({'f' if values else ''}{text})")

    def _twin(self, twin: OperatorPlan) -> None:
        """PyTorch's operator with the same kernel."""
        values = {}
        for own, other in zip(self.operator.schema.arguments, twin.schema.arguments, strict=True):
            variable = Variable(other.type, 0, 0, VariableKind.INPUT, own.name)
            values[other.name] = TreePrinter(self.library, self.item).value(variable)
        out = Lines()
        out.add(f"return {self.library.call(twin, values, self.item).text}")
        self._on_tensors(out)

    def _on_tensors(self, body: Lines) -> None:
        """A kernel on Tensors of any device: the expression, and what the operator does about dtypes around it."""
        self.functions.append(f"{self._head(self.names.expression)}\n{body.text}")
        self._around(self.names.expression, self.names.expression, on_arrays=False)
        self.kernels[COMPOSITE_EXPLICIT] = self.names.kernel

    def _arrays(self, function: PythonFunction) -> None:
        """A kernel on arrays."""
        self._around(self._python(function), None, on_arrays=True)
        # Without Tensors nothing says that it is for the CPU.
        self.kernels[CPU if tensors_of(self.operator) else COMPOSITE_EXPLICIT] = self.names.kernel
        out = Lines()
        given = arguments_of(self.operator, keywords=False)
        out.add(f"return {call(f'{self.names.operation}.fake', given)}")
        self.functions.append(f"{self._head(self.names.fake, 'Any')}\n{out.text}")
        self.fake = self.names.fake

    def _around(self, function: str, direct: str | None, on_arrays: bool) -> None:
        """The kernel as it is registered; floats of one dtype in order take the short way."""
        operator = self.operator
        compute, source = operator.compute, operator.source
        parameters = operator.python.parameters
        promotion = compute.promotion
        options = []
        if promotion is not None:
            names = promotion.arguments
            promoted = [
                place
                for place, each in enumerate(parameters)
                if (
                    each.name in names
                    if names is not None
                    else is_tensor_like(each.type) or base_type(each.type) == SCALAR
                )
            ]
            options += [
                f"promotion={literal(promotion.kind.value)}",
                f"promoted={tuple_of([str(p) for p in promoted])}",
            ]
        if source.dtypes is not None:
            options.append(f"takes={literal(source.dtypes.kinds)}")
            limited = source.dtypes.arguments
            if limited is not None:
                places = [str(place) for place, each in enumerate(parameters) if each.name in limited]
                options.append(f"limited={tuple_of(places)}")
            if source.dtypes.error != "NotImplementedError":
                options.append(f"error={source.dtypes.error}")
        if compute.in_float32:
            options.append("in_float32=True")
        if "pointwise" in source.tags:
            options.append("pointwise=True")
        if self.writes_self:
            at = [each.name for each in parameters].index("self")
            options.append(f"copied={at}")
        if not on_arrays:
            options.append("on_arrays=False")
        elif any(each.is_placement for each in parameters):
            passed = [str(place) for place, each in enumerate(parameters) if not each.is_placement]
            options.append(f"passed={tuple_of(passed)}")
        dtypes = [place for place, each in enumerate(parameters) if base_type(each.type) == DTYPE]
        if dtypes and on_arrays and not tensors_of(operator):
            options.append(f"dtype={dtypes[0]}")
        shapes = dict(compute.implementations).get(META)
        if on_arrays and shapes is not None and shapes != compute.implementation:
            options.append(f"shapes={self._python(shapes)}")
        generator = [place for place, each in enumerate(parameters) if str(base_type(each.type)) == "Generator"]
        if generator and on_arrays:
            options.append(f"generator={generator[0]}")
        shown = f"{self.namespace}::{operator.name}"
        operation = self.names.operation
        self.functions.append(f"{operation} = Kernel({', '.join([literal(shown), function, *options])})")
        out = Lines()
        conditions = self._short_way(on_arrays)
        given = arguments_of(operator, keywords=False)
        if conditions is not None:
            with _when_all(conditions, out):
                if direct is not None:
                    out.add(f"return {call(direct, given)}")
                else:
                    self._run(shown, function, out)
        out.add(f"result: {result_annotation(operator)} = {call(operation, given)}")
        out.add("return result")
        self.functions.append(f"{self._head(self.names.kernel)}\n{out.text}")

    def _run(self, shown: str, function: str, out: Lines) -> None:
        operator = self.operator
        arrays = []
        for each in operator.python.parameters:
            if each.is_placement:
                continue
            name = argument(each.name)
            if is_tensor(each):
                text = f"array_of({name})"
                text += ".copy()" if self.writes_self and each.name == "self" else ""
                arrays.append(f"None if {name} is None else {text}" if isinstance(each.type, OptionalType) else text)
            else:
                arrays.append(name)
        text = call("run", [literal(shown), function, *arrays])
        count = len(operator.schema.returns)
        if count == 1:
            out.add(f"return tensor_of({text})")
            return
        names = [f"result_{index}" for index in range(count)]
        out.assign(names, text)
        out.add(f"return {', '.join(f'tensor_of({name})' for name in names)}")

    def _short_way(self, on_arrays: bool) -> list[str] | None:
        """When a call is one of floats of one dtype, in order; None where it never is taken for one."""
        operator = self.operator
        tensors = [each for each in operator.python.parameters if is_tensor(each)]
        required = [argument(each.name) for each in tensors if not isinstance(each.type, OptionalType)]
        kinds = operator.source.dtypes.kinds if operator.source.dtypes is not None else ("float",)
        if not required or list_parameters(operator) or operator.returns_list or "float" not in kinds:
            return None
        for each in operator.python.parameters:
            if str(base_type(each.type)) == "Generator" or base_type(each.type) == DTYPE:
                return None
            if _is_list_of_numbers(each):  # numbers in it may be promoted
                return None
        first, *others = required
        conditions = [f"{first}.dtype in FLOATS"]
        conditions += [f"{other}.dtype is {first}.dtype" for other in others]
        for each in tensors:
            if isinstance(each.type, OptionalType):
                name = argument(each.name)
                order = f" and {name}.is_contiguous()" if on_arrays else ""
                conditions.append(f"({name} is None or ({name}.dtype is {first}.dtype{order}))")
        if on_arrays:
            conditions += [f"{name}.is_contiguous()" for name in required]
        for each in operator.python.parameters:
            if base_type(each.type) == SCALAR:
                conditions.append(f"type({argument(each.name)}) is not complex")
        return conditions

    # -- functions

    def _public(self, function: str | None) -> str:
        """What users call, and formulas of other operators."""
        operator = self.operator
        out = Lines()
        out.add(docstring(str(operator.schema)))
        parameters = parameters_of(operator, sized=ONE_OR_ALL)
        returns = result_annotation(operator)
        if operator.python.out is not None and not operator.returns_list:
            parameters += [] if "*" in parameters else ["*"]
            parameters.append(f"out: {returns} | None = None")
            names = _out_names(operator)
            given_out = ["out=out"] if len(names) == 1 else [f"{name}=out[{i}]" for i, name in enumerate(names)]
            with out.block("if out is not None:"):
                written = call(self.names.entry_out, [*arguments_of_entry(operator), *given_out])
                out.add(f"written: {returns} = {written}")
                out.add("return written")
        given = arguments_of_entry(operator)
        lists = [each for each in operator.python.parameters if _is_list_of_numbers(each)]
        for each in lists:
            size = [] if each.size is None else [str(each.size)]
            out.add(f"{argument(each.name)} = {call('as_tuple', [argument(each.name), *size])}")
        if operator.kind is not OperatorKind.DECLARED and tensors_of(operator):
            tensors = ", ".join(tensors_of(operator))
            direct = call(self.names.kernel, arguments_of(operator, keywords=not by_position(operator)))
            typed = [test for each in operator.python.parameters if (test := _type_test(each)) is not None]
            if typed:  # what is of another type the dispatcher converts or refuses
                out.add("way = GENERAL")
            with _when_all(typed, out):
                out.add(f"way = way_of({tensors})")
            if function is not None:
                applied = function if function.startswith("_") else self.names.applied
                in_order = arguments_of(operator, keywords=function.startswith("_"))
                with out.block("if way == RECORDED:"):
                    out.add(f"recorded: {returns} = {call(applied, in_order)}")
                    out.add("return recorded")
                with out.block("if way == PLAIN:"):
                    out.add(f"return {direct}")
            else:
                with out.block("if way != GENERAL:"):
                    out.add(f"return {direct}")
        out.add(f"result: {returns} = {call(self.names.entry, given)}")
        out.add("return result")
        return f"{function_head(self.name, parameters, returns)}\n{out.text}"

    def _registration(self, name: str, function: str | None) -> str:
        kernels = ", ".join(f"{literal(key)}: {kernel}" for key, kernel in self.kernels.items())
        parts = [literal(name), f"{{{kernels}}}"]
        parts += [] if function is None else [function]
        parts += [] if self.fake is None else [f"fake={self.fake}"]
        parts += self._renamed()
        return f"register(LIBRARY, Operator({', '.join(parts)}))"

    def _renamed(self) -> list[str]:
        """The argument of a registration that says which arguments given by name alone have other names in Python."""
        named = {each.name: argument(each.name) for each in self.operator.python.parameters if each.keyword_only}
        pairs = [f"{literal(name)}: {literal(shown)}" for name, shown in named.items() if name != shown]
        return [f"renamed={{{', '.join(pairs)}}}"] if pairs else []

    # -- variants

    @property
    def inplace_name(self) -> str:
        """The function of the operator in place."""
        return self.library.inplace_name(self.operator)

    def _variants(self, definitions: list[str], registrations: list[str]) -> None:
        """The operator in place, and the one with `out`."""
        operator = self.operator
        if operator.kind is OperatorKind.IMPLICIT and not operator.python.inplace and not operator.python.out:
            return
        result = call(self.name, arguments_of(operator))
        plain = [argument(each.name) for each in operator.python.parameters]
        if operator.python.inplace is not None:
            function = self.inplace_name
            schema = _inplace_schema(operator)
            definitions.append(self._definition(schema))
            out = Lines()
            out.add(docstring(str(schema)))
            given = arguments_of(operator)
            if operator.autograd.saves_self:
                others = [each for each in tensors_of(operator) if each != "self"]
                given = [call("before", ["self", *others]) if each == "self" else each for each in given]
            out.add(f"return write(self, {call(self.name, given)})")
            self.functions.append(
                f"{function_head(function, parameters_of(operator, sized=ONE_OR_ALL), 'Tensor')}\n{out.text}"
            )
            kernels = f"{{{literal(COMPOSITE_IMPLICIT)}: {function}}}"
            parts = [literal(str(schema.name)), kernels, *self._renamed()]
            registrations.append(f"register(LIBRARY, Operator({', '.join(parts)}))")
        if operator.python.out is not None:
            if operator.returns_list:
                raise NotPortable("a variant with 'out' for a list", self.operator.source.text.span())
            schema = _out_schema(operator)
            definitions.append(self._definition(schema))
            out = Lines()
            outs = _out_names(operator)
            if len(outs) == 1:
                out.add(f"return {call('write_out', [literal(operator.name.base), 'out', result, *plain])}")
            else:
                out.add(f"results = {result}")
                each = [
                    call("write_out", [literal(operator.name.base), name, f"results[{i}]", *plain])
                    for i, name in enumerate(outs)
                ]
                out.add(f"return {tuple_of(each)}")
            parameters = parameters_of(operator, sized=ONE_OR_ALL)
            parameters += [*([] if "*" in parameters else ["*"]), *(f"{each}: Tensor" for each in outs)]
            name = self.names.out
            self.functions.append(f"{function_head(name, parameters, result_annotation(operator))}\n{out.text}")
            entry = f"torch.ops.{self.namespace}.{schema.name.base}.{schema.name.overload}"
            self.functions.append(f"{self.names.entry_out} = {entry}")
            kernels = f"{{{literal(COMPOSITE_IMPLICIT)}: {name}}}"
            parts = [literal(str(schema.name)), kernels, *self._renamed()]
            registrations.append(f"register(LIBRARY, Operator({', '.join(parts)}))")


@contextmanager
def _when_all(conditions: Sequence[str], out: Lines) -> Iterator[None]:
    """`if` all of the conditions hold, over several lines where one would be too long."""
    if not conditions or len(out.indent) + len(" and ".join(conditions)) + len("if :") <= WIDTH:
        with out.when(conditions):
            yield
        return
    out.add("if (", f"{STEP}{conditions[0]}", *(f"{STEP}and {each}" for each in conditions[1:]))
    with out.block("):"):
        yield


def _unreadable(argument: Argument) -> str | None:
    """Why PyTorch can not read an argument of a schema; None where it can."""
    base, default = str(base_type(argument.type)), argument.default
    if base in ("Dimname", "DimVector"):
        return f"PyTorch's schemas have no type '{base}'"
    if default is None or default == "None":
        return None
    if isinstance(required(argument.type), ListType) and base not in ("int", "SymInt", "float", "bool"):
        return f"PyTorch's schemas have no default for '{argument.type}': let it be given, or make it optional"
    if default in ("inf", "-inf", "nan"):
        return f"PyTorch's schemas have no default '{default}': make the argument optional"
    return "PyTorch's schemas have no default for 'SymBool'" if base == "SymBool" else None


def _is_list_of_numbers(parameter: ParameterPlan) -> bool:
    """Whether it takes a list of what is no Tensor."""
    return isinstance(required(parameter.type), ListType) and not is_tensor_like(parameter.type)


_PYTHON_TYPES = {
    "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "SymBool": "bool", "str": "str",
    "ScalarType": "torch.dtype", "Device": "torch.device", "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format", "Generator": "torch.Generator",
}  # fmt: skip
"""The class of the values that a kernel gets for a type of schemas."""


def _type_test(parameter: ParameterPlan) -> str | None:
    """The test that an argument has the type that a kernel gets; None for Tensors, which are looked at in any case."""
    if is_tensor_like(parameter.type):
        return None
    name = argument(parameter.name)
    base = base_type(parameter.type)
    known = _PYTHON_TYPES.get(str(base))
    if _is_list_of_numbers(parameter):
        test = call("are_of", [name, *([known] if known is not None else ["*NUMBERS"])])
    elif known is not None:
        test = f"type({name}) is {known}"
    else:
        test = f"type({name}) in NUMBERS"
    return f"({name} is None or {test})" if isinstance(parameter.type, OptionalType) else test


def _inplace_schema(operator: OperatorPlan) -> FunctionSchema:
    """The schema of the operator in place."""
    name = operator.python.inplace
    assert name is not None
    alias = Alias(("a",), True)
    positional = tuple(replace(a, alias=alias) if a.name == "self" else a for a in operator.schema.positional)
    return replace(operator.schema, name=name, positional=positional, returns=(Return(None, TENSOR, alias),))


def _out_names(operator: OperatorPlan) -> list[str]:
    """What the arguments are called that results are written to."""
    returns = operator.schema.returns
    if len(returns) == 1:
        return ["out"]
    taken = {each.name for each in operator.schema.arguments}
    return [each.name if each.name and each.name not in taken else f"out{i}" for i, each in enumerate(returns)]


def _out_schema(operator: OperatorPlan) -> FunctionSchema:
    """The schema of the operator that writes to `out`."""
    name = operator.python.out
    assert name is not None
    aliases = [Alias((chr(ord("a") + place),), True) for place in range(len(operator.schema.returns))]
    out = tuple(Argument(each, TENSOR, None, a) for each, a in zip(_out_names(operator), aliases, strict=True))
    return replace(operator.schema, name=name, out=out, returns=tuple(Return(None, TENSOR, a) for a in aliases))


def _functional(operator: OperatorPlan) -> OperatorPlan:
    """The functional operator of one whose kernel writes `self`, with that one as its in-place variant."""
    schema = operator.schema
    written = [argument.name for argument in schema.arguments if argument.is_write]
    if schema.kind is not SchemaKind.INPLACE or operator.kind is not OperatorKind.KERNEL or written != ["self"]:
        return operator
    name = OperatorName(f"{schema.name.base}{FUNCTIONAL}", schema.name.overload)
    positional = tuple(replace(each, alias=None) for each in schema.positional)
    functional = replace(schema, name=name, positional=positional, returns=(Return(None, TENSOR),))
    python_plan = replace(operator.python, inplace=operator.name, inplace_function=operator.python.function)
    return replace(operator, name=name, schema=functional, python=python_plan)
