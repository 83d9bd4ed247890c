"""The functions that rules need: operators over the array API, and helpers of formulas, as far as they are reached."""

from __future__ import annotations

import ast
import enum
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from codegen.bind.call_targets import result_type
from codegen.formula.typed import INT, OPTIONS
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.python_source import PythonModule
from codegen.python_syntax import SIGNS
from codegen.schema.names import python
from codegen.schema.types import ListType, OptionalType
from codegen.targets.literals import default_value, literal
from codegen.targets.python.code import call
from codegen.targets.rules.sources import Origin, Sources
from codegen.targets.rules.values import Binding, NotPortable, Value, infix
from codegen.words import BUILT_IN_NAMESPACE


class File(enum.Enum):
    """The modules of the package that is written."""

    OPERATORS = "operators"
    HELPERS = "helpers"
    RULES = "rules"
    # Of a framework alone.
    FUNCTIONS = "functions"
    KERNELS = "kernels"


Key = tuple[str, str]  # a module and a name in it; "" for what operators are made into


@dataclass
class Item:
    """A function, class or constant that is written: its name, its text, and what it needs of the others."""

    key: Key
    file: File
    name: str
    text: str = ""
    takes_namespace: bool = False
    needs: dict[Key, None] = field(default_factory=dict)
    imports: dict[str, None] = field(default_factory=dict)


_SIGNS: Mapping[str, str] = {
    "add.Tensor": "+", "add.Scalar": "+",
    "sub.Tensor": "-", "sub.Scalar": "-",
    "mul.Tensor": "*", "mul.Scalar": "*",
    "div.Tensor": "/", "div.Scalar": "/",
    "matmul": "@", "mm": "@", "bmm": "@",
    "mv": "@",
    "pow.Tensor_Scalar": "**", "pow.Tensor_Tensor": "**",
    "eq.Tensor": "==", "eq.Scalar": "==",
    "ne.Tensor": "!=", "ne.Scalar": "!=",
    "lt.Tensor": "<", "lt.Scalar": "<",
    "le.Tensor": "<=", "le.Scalar": "<=",
    "gt.Tensor": ">", "gt.Scalar": ">",
    "ge.Tensor": ">=", "ge.Scalar": ">=",
}  # fmt: skip
"""Operators that arrays have signs for."""

_ARRAY_FUNCTIONS = {
    "_conj": "conj", "conj": "conj", "conj_physical": "conj", "_conj_physical": "conj", "resolve_conj": "{0}",
    "real": "real", "imag": "imag", "contiguous": "{0}", "detach": "{0}", "clone": "{0}", "alias": "{0}",
    "expand_as": "xp.broadcast_to({0}, ({1}).shape)", "reshape": "xp.reshape({0}, {1})", "view": "xp.reshape({0}, {1})",
    "view_as": "xp.reshape({0}, ({1}).shape)", "_unsafe_view": "xp.reshape({0}, {1})", "resolve_neg": "{0}",
    "is_complex": "is_complex(xp, {0})", "linalg_solve": "solve(xp, {0}, {1}{left})",
}  # fmt: skip
"""Operators that are functions of the module of arrays, or so short that they are written out."""


@dataclass(frozen=True, slots=True)
class Writers:
    """What writes an item: a function of a module, a class or a constant of one, an operator that is an expression."""

    function: Callable[[Library, Item, PythonModule, ast.FunctionDef, Origin], str]
    definition: Callable[[Library, Item, PythonModule, ast.stmt, Origin], str]
    operator: Callable[[Library, Item, OperatorPlan], None]


@dataclass(frozen=True, slots=True)
class Framework:
    """What is written for one library alone, in which the operators of a package have functions of their own.

    Attributes:
        shown: its name.
        functions: what it has for operators that have no kernel over the array API: text with places for arguments.
        imports: the names at the start of such text, and the lines that import them.
        names: the functions of the package's operators, by operator.
        own: writes the function of an operator of the package.
    """

    shown: str
    functions: Mapping[str, str]
    imports: Mapping[str, str]
    names: Mapping[str, str]
    own: Callable[[Library, Item, OperatorPlan], None]


class Library:
    """What is written besides rules.

    Args:
        plan: of all operators.
        sources: the Python that they name.
        writers: what writes the text of an item.
        framework: the library that arrays are of; None: any one with the array API.

    Attributes:
        modules: what the modules are called that are written.
        spreads_options: whether the options of a Tensor (its dtype and where it lies) are arguments by name, and not a
            dtype alone.
    """

    modules: Mapping[File, str] = {
        File.OPERATORS: "ops", File.HELPERS: "helpers", File.FUNCTIONS: "functions", File.KERNELS: "kernels",
    }  # fmt: skip
    spreads_options = False

    def __init__(self, plan: Plan, sources: Sources, writers: Writers, framework: Framework | None = None) -> None:
        self.plan = plan
        self.writers = writers
        self.sources = sources
        self.framework = framework
        everything = (*plan.operators, *(plan.base.operators if plan.base is not None else ()))
        self.operators = {str(operator.name): operator for operator in reversed(everything)}
        self.by_base: dict[str, list[OperatorPlan]] = {}
        for operator in reversed(list(self.operators.values())):
            self.by_base.setdefault(operator.name.base, []).append(operator)
        # The kernels over the array API are of Gradwright's own operators.
        in_package = plan.namespace != BUILT_IN_NAMESPACE
        self._own = {str(operator.name) for operator in plan.operators} if in_package else set()
        self.items: dict[Key, Item] = {}
        self._failed: dict[Key, NotPortable] = {}
        self._taken: dict[File, dict[str, Key]] = {file: {} for file in File}
        if framework is not None:
            self._taken[File.FUNCTIONS] = {framework.names[name]: (OWN, name) for name in self._own}

    # -- calls

    def call(self, operator: OperatorPlan, args: Mapping[str, Value], user: Item) -> Value:
        """A call of an operator with arguments by the names of its schema, in a function that takes `xp`.

        Raises:
            NotPortable: there is nothing that it can be made of.
        """
        name = str(operator.name)
        type = result_type(operator.schema)
        values = list(args.values())
        if self.framework is not None:
            if name in self._own:
                own = self.own(operator)
                return Value(call(self.name(own, user), self._given(operator, args)), type)
            if not _OF_VALUES.isdisjoint(operator.source.tags):
                raise NotPortable(f"the shape of what '{name}' gives follows from values, which {NOT_TRACED}")
        if name in _SIGNS and len(values) == 2:
            return infix(_SIGNS[name], values[0], values[1], type)
        if name == "neg":
            return Value(f"-{values[0].within(Binding.SIGN)}", type, Binding.SIGN)
        known = _ARRAY_FUNCTIONS.get(name) or _ARRAY_FUNCTIONS.get(operator.name.base)
        if known is not None:
            if "{" not in known:
                user.imports[known] = None
                return Value(f"{known}(xp, {values[0].text})", type)
            user.imports |= {each: None for each in ("is_complex", "solve") if known.startswith(f"{each}(")}
            if known == "{0}":
                return Value(values[0].text, type, values[0].binding)
            left = f", {args['left'].text}" if "left" in args else ""
            types = {parameter.name: parameter.type for parameter in operator.python.parameters}
            texts = [as_list(value, types[each]) for each, value in args.items()]
            return Value(known.format(*texts, left=left), type)
        kernel = self._kernel(operator)
        if kernel is None and self.framework is not None and name in self.framework.functions:
            return Value(self._function_of_framework(operator, args, user), type)
        if kernel is not None:
            module, definition = kernel
            short = _short(definition, self._passed(operator, definition, args))
            if short is not None:
                return Value(short.text, type, short.binding)
            item = self.function(module.name, definition.name)
            passed = self._arguments(operator, definition, args)
        else:
            item = self._operator(operator)
            passed = [*self._given(operator, args)]
        return Value(call(self.name(item, user), ["xp", *passed] if item.takes_namespace else passed), type)

    def name(self, item: Item, user: Item) -> str:
        """How one function calls another."""
        user.needs[item.key] = None
        return item.name if item.file is user.file else f"{self.modules[item.file]}.{item.name}"

    # -- operators

    def own(self, operator: OperatorPlan) -> Item:
        """The function of an operator of the package, where a framework has such.

        Raises:
            NotPortable: it can not be written.
        """
        framework = self.framework
        assert framework is not None
        name = str(operator.name)
        return self._made(
            (OWN, name), File.FUNCTIONS, framework.names[name], lambda item: framework.own(self, item, operator)
        )

    def _function_of_framework(self, operator: OperatorPlan, args: Mapping[str, Value], user: Item) -> str:
        framework = self.framework
        assert framework is not None
        template = framework.functions[str(operator.name)]
        user.imports |= {line: None for name, line in framework.imports.items() if template.startswith(f"{name}.")}
        texts = {}
        for parameter in operator.python.parameters:
            if parameter.name in args:
                texts[parameter.name] = args[parameter.name].text
            elif parameter.default is not None:
                texts[parameter.name] = literal(default_value(parameter))
        return template.format(**texts)

    def _kernel(self, operator: OperatorPlan) -> tuple[PythonModule, ast.FunctionDef] | None:
        """The kernel over the array API."""
        base, overload = operator.name.base, operator.name.overload
        if str(operator.name) in self._own:
            return None
        for name in (f"{base}_{overload or 'default'}", base):
            module_name = self.sources.kernels.get(name)
            if module_name is None:
                continue
            module = self.sources.modules[module_name][0]
            definition = module.functions[name]
            own = [argument.arg for argument in definition.args.args][1:]
            if own == [python(a.name) for a in operator.schema.arguments if not a.is_placement]:
                return module, definition
        return None

    def _passed(
        self, operator: OperatorPlan, definition: ast.FunctionDef, args: Mapping[str, Value]
    ) -> dict[str, Value] | None:
        """The parameters of a kernel and what is passed for them; None where something is left to a default."""
        names = [argument.arg for argument in definition.args.args][1:]
        by_name = {python(name): value for name, value in args.items()}
        return {name: by_name[name] for name in names} if by_name.keys() == set(names) else None

    def _arguments(self, operator: OperatorPlan, definition: ast.FunctionDef, args: Mapping[str, Value]) -> list[str]:
        """The arguments of a kernel, whose parameters are those of the schema in its order."""
        names = [argument.arg for argument in definition.args.args]
        with_default = set(names[len(names) - len(definition.args.defaults) :])
        by_name = {python(parameter.name): parameter for parameter in operator.python.parameters}
        given = {python(name): value for name, value in args.items()}
        passed: list[str] = []
        in_order = True
        for name in names[1:]:
            if name in given:
                text = as_list(given[name], by_name[name].type)
            elif name in with_default:
                in_order = False
                continue
            elif by_name[name].default is None:
                raise NotPortable(f"'{operator.name}' is called without '{name}'")
            else:
                value = default_value(by_name[name])
                text = literal(value)
                if text.startswith("dtypes."):
                    text = f"xp.{text.removeprefix('dtypes.')}"
            passed.append(text if in_order else f"{name}={text}")
        return passed

    def _given(
        self, operator: OperatorPlan, args: Mapping[str, Value], named: Callable[[str], str] = python
    ) -> Iterator[str]:
        """The arguments of a call, by name from the first one on that is left out.

        Args:
            operator: that is called.
            args: by the names of its schema.
            named: gives what the function calls an argument.
        """
        in_order = True
        for parameter in operator.python.parameters:
            value = args.get(parameter.name)
            if value is None:
                in_order = False
                continue
            if self.spreads_options and value.type == OPTIONS:
                yield f"**{value.within(Binding.CALL)}"
                in_order = False
                continue
            text = as_list(value, parameter.type)
            yield text if in_order and not parameter.keyword_only else f"{named(parameter.name)}={text}"

    def _operator(self, operator: OperatorPlan) -> Item:
        """The function of an operator that has no kernel: an expression over elements, a formula, a function."""
        if operator.compute.elementwise is None and operator.compute.composite is None:
            for _, function in operator.compute.implementations:
                if function.module in self.sources.modules:
                    _, origin = self.sources.modules[function.module]
                    if origin is Origin.TENSORS:
                        return self.function(function.module, function.name)
                    break
            other = "" if self.framework is None else f", and {self.framework.shown} no function of its kind"
            raise NotPortable(f"'{operator.name}' has no kernel over the array API{other}")
        return self._made(
            ("", str(operator.name)),
            File.OPERATORS,
            operator.python.function,
            lambda item: self.writers.operator(self, item, operator),
        )

    # -- functions of Python

    def may_import(self, module: str, item: Item) -> bool:
        """Whether what is written may import a module: of the standard library, and NumPy where kernels are of it."""
        root = module.partition(".")[0]
        return root in STANDARD or (root == "numpy" and item.file is File.KERNELS)

    def function(self, module_name: str, name: str) -> Item:
        """A function of a module, with what it needs.

        Raises:
            NotPortable: something that it needs can not be written.
        """
        module, origin = self.sources.modules[module_name]
        file = self._file(module_name)

        def write(item: Item) -> None:
            item.takes_namespace = self._takes_namespace(module.functions[name], origin)
            item.text = self.writers.function(self, item, module, module.functions[name], origin)

        return self._made((module_name, name), file, name, write)

    def definition(self, module_name: str, name: str) -> Item:
        """A class or a constant of a module."""
        module, origin = self.sources.modules[module_name]
        file = self._file(module_name)

        def write(item: Item) -> None:
            item.text = self.writers.definition(self, item, module, module.definitions[name], origin)

        return self._made((module_name, name), file, name, write)

    def _takes_namespace(self, definition: ast.FunctionDef, origin: Origin) -> bool:
        """Whether a function is written with the parameter `xp`."""
        return origin is Origin.TENSORS or _takes_namespace(definition)

    def _file(self, module_name: str) -> File:
        """The module that the functions of a module go to."""
        if module_name in self.sources.helpers:
            return File.HELPERS
        of_arrays = self.sources.modules[module_name][1] is Origin.ARRAYS
        of_numpy = of_arrays and module_name not in self.sources.kernels.values()
        return File.KERNELS if of_numpy and self.framework is not None else File.OPERATORS

    def _made(self, key: Key, file: File, name: str, write: Callable[[Item], None]) -> Item:
        if key in self._failed:
            raise self._failed[key]
        known = self.items.get(key)
        if known is not None:
            return known  # perhaps one that calls itself
        item = self.items[key] = Item(key, file, self._free(file, name, key))
        # Known before it is written, for those that call each other.
        if key[0] in self.sources.modules:
            module, origin = self.sources.modules[key[0]]
            definition = module.functions.get(key[1])
            item.takes_namespace = definition is not None and self._takes_namespace(definition, origin)
        try:
            write(item)
        except NotPortable as error:
            self._failed[key] = error
            del self.items[key]
            raise
        except RecursionError:  # pragma: no cover
            raise NotPortable(f"'{name}' is too deep") from None
        return item

    def free(self, name: str, key: Key) -> str:
        """A name for what an operator of the package has besides its function."""
        return self._free(File.FUNCTIONS, name, key)

    def _free(self, file: File, name: str, key: Key) -> str:
        taken = self._taken[file]
        if name in RESERVED:
            name += "_"
        if name in taken and taken[name] != key and key[0] in self.sources.modules:
            name = f"{'_' if name.startswith('_') else ''}{key[0].rpartition('.')[2].strip('_')}_{name.lstrip('_')}"
        while name in taken and taken[name] != key:
            name += "_"
        taken[name] = key
        return name

    # -- what is written

    def reached(self, users: Iterable[Item]) -> Iterator[Item]:
        """What some functions need, directly or through others, in the order in which it was made."""
        pending = [key for user in users for key in user.needs]
        seen = set(pending)
        while pending:
            for key in self.items[pending.pop()].needs:
                if key not in seen:
                    seen.add(key)
                    pending.append(key)
        return (item for key, item in self.items.items() if key in seen)

    def is_whole(self, user: Item) -> NotPortable | None:
        """Why what a function needs is not all there: a function calls itself through one that failed."""
        pending = list(user.needs)
        seen = set(pending)
        while pending:
            key = pending.pop()
            if key not in self.items:
                return self._failed.get(key, NotPortable(f"'{key[1]}' can not be written"))
            for each in self.items[key].needs:
                if each not in seen:
                    seen.add(each)
                    pending.append(each)
        return None


STANDARD = frozenset(sys.stdlib_module_names)
OWN = "own"  # the place of a module in the key of an operator of the package
_OF_VALUES = frozenset(("data_dependent_output", "dynamic_output_shape"))
NOT_TRACED = "are not known when a function is traced"
RESERVED = frozenset((
    "xp", "ops", "helpers", "functions", "kernels", "math", "Array", "DType", "Namespace", "Number", "Any", "conj",
    "real", "imag", "is_complex", "Sequence", "Spec",
))  # fmt: skip


def result_annotation(operator: OperatorPlan) -> str:
    """The annotation of what an operator gives."""
    returns = [annotation(each.type) for each in operator.schema.returns]
    return returns[0] if len(returns) == 1 else f"tuple[{', '.join(returns)}]"


def annotation(type: object, names: Mapping[str, str] | None = None) -> str:
    """What Python calls a type of schemas; `names` has other names than those of plain functions on arrays."""
    if isinstance(type, OptionalType):
        return f"{annotation(type.elem, names)} | None"
    if isinstance(type, ListType):
        return f"Sequence[{annotation(type.elem, names)}]"
    return (_ANNOTATIONS if names is None else names).get(str(type), "Any")


_ANNOTATIONS = {
    "Tensor": "Array", "Scalar": "Number", "int": "int", "SymInt": "int", "float": "float", "bool": "bool",
    "SymBool": "bool", "str": "str", "ScalarType": "DType",
}  # fmt: skip


def as_list(value: Value, type: object) -> str:
    """One int for a list of them is a tuple."""
    inner = type.elem if isinstance(type, OptionalType) else type
    if isinstance(inner, ListType) and inner.elem == INT and value.type == INT:
        return f"({value.text},)"
    return value.text


def _takes_namespace(definition: ast.FunctionDef) -> bool:
    return bool(definition.args.args) and definition.args.args[0].arg == "xp"


def _short(definition: ast.FunctionDef, args: Mapping[str, Value] | None) -> Value | None:
    """The body of a kernel that is one expression of the array API over its arguments, each of which it has once."""
    if args is None or len(definition.body) != 1 or not isinstance(definition.body[0], ast.Return):
        return None
    body = definition.body[0].value
    match body:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="xp")), args=parts, keywords=[]):
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            if len(names) == len(parts) and sorted(names) == sorted(args):
                return Value(call(ast.unparse(body.func), [args[name].text for name in names]))
        case ast.BinOp(left=left, right=right) if (sign := SIGNS.get(type(body.op), "")) in ("+", "-", "*", "/"):
            operands = [_operand(left, args), _operand(right, args)]
            used = [part.id for part in (left, right) if isinstance(part, ast.Name)]
            if None not in operands and sorted(used) == sorted(args):
                first, second = (operand for operand in operands if operand is not None)
                return infix(sign, first, second, None)
    return None


def _operand(node: ast.expr, args: Mapping[str, Value]) -> Value | None:
    match node:
        case ast.Name(id=name) if name in args:
            return args[name]
        case ast.Constant(value=int() | float() as value):
            return Value(literal(value))
    return None
