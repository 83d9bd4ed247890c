"""What operators of a package call when they are PyTorch's: its functions, their own, and functions of Python."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence

from codegen.bind.call_targets import result_type
from codegen.formula.typed import ValueType
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.schema.names import python
from codegen.targets.python.code import call
from codegen.targets.rules import library
from codegen.targets.rules.library import File, Item, Key, Writers
from codegen.targets.rules.sources import Origin, Sources
from codegen.targets.rules.values import Binding, NotPortable, Value, infix
from codegen.targets.torch.names import ABSENT, entry_of, function_of, is_method, sign_of
from codegen.targets.torch.printer import argument

MODULES = {File.OPERATORS: "kernels", File.HELPERS: "helpers", File.RULES: "operators"}
"""The modules of the package that is written."""

RESERVED = frozenset((
    "abs", "all", "any", "applied", "apply_of", "are_of", "array_of", "as_tuple", "batch_loop", "batch_pointwise",
    "before", "below_autograd", "check_dtypes", "define", "device_of", "fitted_tangent", "forward_is_active", "helpers",
    "holds_anywhere", "in_float32", "info_of", "is_complex", "kernels", "len", "library_of", "list", "math", "max",
    "min", "no_tangents", "np", "operators", "options_of", "outer_tangents", "real_unless", "reals_unless", "records",
    "register", "run", "sum", "super", "tangent_of", "tensor_of", "torch", "tuple", "type", "values_of", "way_of",
    "write", "write_out", "zeros", "zip",
))  # fmt: skip
"""Names that functions of operators do not have: what their module calls."""


_OF_MODULE = frozenset((
    *dir(builtins), "Any", "FLOATS", "Function", "GENERAL", "Kernel", "LIBRARY", "NUMBERS", "Operator", "PLAIN",
    "RECORDED", "Sequence", "Tensor",
))  # fmt: skip
"""Other names that the functions of operators do not have in their module; users find them under the schema's."""

FUNCTIONAL = "functional"
"""Behind the name of an operator that works in place stands the one without effects: `damp_functional`."""


class Library(library.Library):
    """What is written besides operators: helpers and composites, and kernels on arrays.

    Args:
        plan: of all operators.
        sources: the Python that they name.
        writers: what writes the text of a function.
    """

    modules = MODULES
    spreads_options = True

    def __init__(self, plan: Plan, sources: Sources, writers: Writers) -> None:
        super().__init__(plan, sources, writers)
        self.own_by_base: dict[str, list[OperatorPlan]] = {}
        for operator in plan.operators:
            self.own_by_base.setdefault(operator.name.base, []).append(operator)
        self._private: dict[tuple[str, str], str] = {}
        self._inplace_names = {
            self.inplace_name(each) for each in plan.operators if each.python.inplace is not None
        }  # fmt: skip
        self._names_of_module = {*self.own_by_base, *map(self.own_name, plan.operators), *self._inplace_names}
        self._signs = {
            operator.name.base: operator
            for operator in reversed(plan.base.operators if plan.base is not None else ())
            if operator.source.signs
        }

    def call(self, operator: OperatorPlan, args: Mapping[str, Value], user: Item) -> Value:
        """A call of an operator with arguments by the names of its schema.

        Raises:
            NotPortable: PyTorch has no such operator.
        """
        type = result_type(operator.schema)
        if str(operator.name) in self._own:
            given = [*self._given(operator, args, argument)]
            return Value(call(self.function_name(operator, user), given), type)
        if str(operator.name) in ABSENT:
            raise NotPortable(f"PyTorch has no operator '{operator.name}'")
        sign = sign_of(self._signs.get(operator.name.base, operator), len(args))
        if sign is not None:
            operands = list(args.values())
            return _with_sign(sign.text, operands[::-1] if sign.is_reflected else operands, type)
        texts = list(self._given(operator, args))
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
        name = python(f"{base}_{overload or 'default'}" if self._has_overloads(base) else base)
        taken = RESERVED | _OF_MODULE | self._inplace_names
        while name in taken or (name != base and name in self.own_by_base):
            name += "_"
        return name

    def inplace_name(self, operator: OperatorPlan) -> str:
        """The name of the function of the variant in place."""
        inplace = operator.python.inplace
        assert inplace is not None
        several = self._has_overloads(operator.name.base)
        return f"{inplace.base}_{inplace.overload or 'default'}" if several else inplace.base

    def _has_overloads(self, base: str) -> bool:
        """Whether several operators of the package have a base name."""
        return len(self.own_by_base.get(base.removesuffix(FUNCTIONAL), self.own_by_base.get(base, ()))) > 1

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

    def _takes_namespace(self, definition: ast.FunctionDef, origin: Origin) -> bool:
        return False

    def _file(self, module_name: str) -> File:
        return File.HELPERS if self.sources.modules[module_name][1] is Origin.TENSORS else File.OPERATORS

    def _free(self, file: File, name: str, key: Key) -> str:
        taken = self._taken[file]
        while name in RESERVED or taken.get(name, key) != key:
            name = f"{key[0].rpartition('.')[2].strip('_')}_{name.lstrip('_')}" if name not in RESERVED else f"{name}_"
        taken[name] = key
        return name

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


def _with_sign(sign: str, values: Sequence[Value], type: ValueType) -> Value:
    if len(values) == 1:
        return Value(f"{sign}{values[0].within(Binding.SIGN)}", type, Binding.SIGN)
    return infix(sign, values[0], values[1], type)
