"""What operators of a package call when they are PyTorch's: its functions, their own, and functions of Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codegen.bind.call_targets import result_type
from codegen.formula.typed import OPTIONS
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.schema.names import python
from codegen.targets.python.code import call
from codegen.targets.rules import library
from codegen.targets.rules.library import File, Item, Key, Writers
from codegen.targets.rules.sources import Origin, Sources
from codegen.targets.rules.values import Binding, NotPortable, Value
from codegen.targets.torch.names import ABSENT, entry_of, function_of, is_method, sign_of
from codegen.words import BUILT_IN_NAMESPACE

MODULES = {File.OPERATORS: "kernels", File.HELPERS: "helpers", File.RULES: "operators"}
"""The modules of the package that is written."""

RESERVED = frozenset((
    "abs", "all", "any", "applied", "apply_of", "array_of", "batch_loop", "batch_pointwise", "before", "below_autograd",
    "check_dtypes", "define", "fitted_tangent", "forward_is_active", "helpers", "holds_anywhere", "in_float32",
    "info_of", "is_complex", "kernels", "len", "library_of", "list", "math", "max", "min", "no_tangents", "np",
    "operators", "options_of", "outer_tangents", "real_unless", "reals_unless", "records", "register", "run", "sum",
    "super", "tangent_of", "tensor_of", "torch", "tuple", "type", "values_of", "way_of", "write", "write_out", "zeros",
    "zip",
))  # fmt: skip
"""Names that functions of operators do not have: what their module calls."""


class Library(library.Library):
    """What is written besides operators: helpers and composites, and kernels on arrays.

    Args:
        plan: of all operators.
        sources: the Python that they name.
        writers: what writes the text of a function.
    """

    def __init__(self, plan: Plan, sources: Sources, writers: Writers) -> None:
        super().__init__(plan, sources, writers)
        self.own_by_name = {str(operator.name): operator for operator in plan.operators}
        self.own_by_base: dict[str, list[OperatorPlan]] = {}
        for operator in plan.operators:
            self.own_by_base.setdefault(operator.name.base, []).append(operator)
        self._private: dict[tuple[str, str], str] = {}
        self._names_of_module = {*self.own_by_base, *map(self.own_name, plan.operators)}
        self._signs = {
            operator.name.base: operator
            for operator in reversed(plan.base.operators if plan.base is not None else ())
            if operator.source.signs
        }

    def is_own(self, operator: OperatorPlan) -> bool:
        """Whether it is an operator of the package."""
        return self.own_by_name.get(str(operator.name)) is operator

    def call(self, operator: OperatorPlan, args: Mapping[str, Value], user: Item) -> Value:
        """A call of an operator with arguments by the names of its schema.

        Raises:
            NotPortable: PyTorch has no such operator.
        """
        type = result_type(operator.schema)
        if self.is_own(operator):
            return Value(call(self.function_name(operator, user), self._given_to(operator, args)), type)
        if str(operator.name) in ABSENT:
            raise NotPortable(f"PyTorch has no operator '{operator.name}'")
        sign = sign_of(self._signs.get(operator.name.base, operator), len(args))
        if sign is not None:
            operands = list(args.values())
            return _with_sign(sign.text, sign.binding, operands[::-1] if sign.is_reflected else operands, type)
        texts = list(self._given_to(operator, args))
        function = function_of(operator)
        if function is not None:
            return Value(call(function, texts), type)
        if is_method(operator) and "self" in args:
            own = args["self"].within(Binding.CALL)
            return Value(call(f"{own}.{operator.name.base}", texts[1:]), type)
        return Value(call(entry_of(operator), texts), type)

    def own_name(self, operator: OperatorPlan) -> str:
        """The name of the function of an operator of the package: without its overload where there is no other one."""
        base, overload = operator.name.base, operator.name.overload
        name = python(base if len(self.own_by_base.get(base, (operator,))) == 1 else f"{base}_{overload or 'default'}")
        return f"{name}_" if name in RESERVED else name

    def private_name(self, operator: OperatorPlan, name: str) -> str:
        """A name beside the function of an operator, which nothing else in the module has: `gaussian_kernel` may be an
        operator as well as the kernel of `gaussian`.
        """
        key = (str(operator.name), name)
        if key not in self._private:
            while name in self._names_of_module:
                name += "_"
            self._names_of_module.add(name)
            self._private[key] = name
        return self._private[key]

    def function_name(self, operator: OperatorPlan, user: Item) -> str:
        """How a function calls an operator of the package."""
        name = self.own_name(operator)
        return name if user.file is File.RULES else f"{MODULES[File.RULES]}.{name}"

    def _given_to(self, operator: OperatorPlan, args: Mapping[str, Value]) -> Iterator[str]:
        """The arguments of a call, by name from the first one on that is left out."""
        in_order = True
        for parameter in operator.python.parameters:
            value = args.get(parameter.name)
            if value is None:
                in_order = False
                continue
            if value.type == OPTIONS:  # those of a Tensor: its dtype and where it lies
                yield f"**{value.within(Binding.CALL)}"
                in_order = False
                continue
            text = library.as_list(value, parameter.type)
            yield text if in_order and not parameter.keyword_only else f"{python(parameter.name)}={text}"

    def function(self, module_name: str, name: str) -> Item:
        """A function of a module, with what it needs.

        Raises:
            NotPortable: something that it needs can not be written.
        """
        module, origin = self.sources.modules[module_name]
        file = File.HELPERS if origin is Origin.TENSORS else File.OPERATORS

        def write(item: Item) -> None:
            item.text = self.writers.function(self, item, module, module.functions[name], origin)

        item = self._made((module_name, name), file, name, write)
        item.takes_namespace = False
        return item

    def definition(self, module_name: str, name: str) -> Item:
        """A class or a constant of a module."""
        module, origin = self.sources.modules[module_name]
        file = File.HELPERS if origin is Origin.TENSORS else File.OPERATORS

        def write(item: Item) -> None:
            item.text = self.writers.definition(self, item, module, module.definitions[name], origin)

        return self._made((module_name, name), file, name, write)

    def _free(self, file: File, name: str, key: Key) -> str:
        taken = self._taken[file]
        while name in RESERVED or taken.get(name, key) != key:
            name = f"{key[0].rpartition('.')[2].strip('_')}_{name.lstrip('_')}" if name not in RESERVED else f"{name}_"
        taken[name] = key
        return name

    def name(self, item: Item, user: Item) -> str:
        """How one function calls another."""
        user.needs[item.key] = None
        return item.name if item.file is user.file else f"{MODULES[item.file]}.{item.name}"

    def torch_operator(self, operator: OperatorPlan) -> OperatorPlan | None:
        """Gradwright's operator with the very kernel that one of a package names."""
        base = self.plan.base
        if base is None or operator.compute.elementwise is not None or not operator.compute.implementations:
            return None
        kernel = operator.compute.implementation
        names = [argument.name for argument in operator.schema.arguments]
        for each in base.operators:
            if (
                each.compute.implementations
                and each.compute.implementation == kernel
                and len(each.schema.arguments) == len(names)
                and each.compute.elementwise is None
            ):
                return each
        return None


def in_package(plan: Plan) -> bool:
    """Whether the operators are those of a package, and not Gradwright's own."""
    return plan.namespace != BUILT_IN_NAMESPACE


def _with_sign(sign: str, binding: Binding, values: list[Value], type: object) -> Value:
    if len(values) == 1:
        return Value(f"{sign}{values[0].within(binding)}", type, binding)  # type: ignore[arg-type]
    loose = binding in (Binding.COMPARISON, Binding.POWER)
    before = Binding(binding + 1) if loose else binding
    after = binding if binding is Binding.POWER else Binding(binding + 1)
    return Value(f"{values[0].within(before)} {sign} {values[1].within(after)}", type, binding)  # type: ignore[arg-type]
