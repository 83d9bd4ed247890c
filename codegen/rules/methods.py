"""The methods that helpers and composite functions call of their Tensors exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from codegen.codes import Code
from codegen.formula.typed import TENSOR
from codegen.python_source import PythonModule, parts_of
from codegen.python_syntax import parameters
from codegen.rules.called import called_operator
from codegen.rules.checked import Checked
from codegen.source import Diagnostics, Span
from codegen.tensor_methods import TENSOR_METHODS
from codegen.words import did_you_mean

# The package whose Tensor this is, under both of its names.
_PACKAGES = ("runtime", "gradwright")
_NUMBERS = frozenset(("int", "float", "bool", "complex"))
_VIEWS = frozenset(("T", "H", "mT", "mH"))
# What asks a value of which class it is, or what it has: behind that it may be one of a class with other methods.
_LOOKS = frozenset(("isinstance", "hasattr", "getattr", "setattr"))


def check_methods(checked: Checked, diagnostics: Diagnostics) -> None:
    """Each call `x.name(...)` is of a method that there is, where x can be nothing but a Tensor."""
    functions = checked.table.functions.values()
    known = {name.base for function in functions for name in (function.name, *(made for made, _ in function.autogen))}
    known |= TENSOR_METHODS
    others = {
        function.name.base
        for function in functions
        if [returned.type for returned in function.schema.returns] != [TENSOR]
    }
    giving = {function.name.base for function in functions} - others
    unread = diagnostics.unread_bases
    for module in checked.modules:
        for definition in module.functions.values():
            for name, place in _called(module, definition, known | unread, giving, checked.namespace):
                diagnostics.error(
                    Code.UNKNOWN_FUNCTION, place, f"Tensor has no method '{name}'", did_you_mean(name, known)
                )


def _called(
    module: PythonModule,
    definition: ast.FunctionDef,
    known: AbstractSet[str],
    giving: AbstractSet[str],
    namespace: str,
) -> Iterator[tuple[str, Span]]:
    """The methods that a function calls of Tensors and that are not known, with their places."""
    calls = [
        node.func
        for node in parts_of(definition)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr not in known
    ]
    if not calls:
        return
    values = _Values(module, definition, giving, namespace)
    for called in calls:
        if not called.attr.startswith("_") and values.is_tensor(called.value):
            whole = module.span(called)
            yield called.attr, Span(whole.file, whole.end - len(called.attr), whole.end)


class _Values:
    """Which expressions of a function are Tensors whatever it is called with, if that is what its annotations say."""

    def __init__(
        self, module: PythonModule, definition: ast.FunctionDef, giving: AbstractSet[str], namespace: str
    ) -> None:
        self._module = module
        self._giving = giving
        self._namespace = namespace
        known = parameters(definition)
        self._numbers = {
            each.arg for each in known if isinstance(each.annotation, ast.Name) and each.annotation.id in _NUMBERS
        }
        assigned = _assignments(definition)
        self._numbers -= assigned.keys()
        given = {each.arg for each in known if self._is_class(each.annotation)}
        unknown = {each.arg for each in known} - given
        # The greatest set of names that are Tensors by what is assigned to them, if the others are.
        self._tensors = (given | assigned.keys()) - unknown - _bound_otherwise(definition)
        while wrong := {
            name
            for name in self._tensors & assigned.keys()
            if not all(value is not None and self.is_tensor(value) for value in assigned[name])
        }:
            self._tensors -= wrong

    def is_tensor(self, node: ast.expr) -> bool:
        """Whether an expression is a Tensor."""
        match node:
            case ast.Name(id=name):
                return name in self._tensors
            case ast.Call():
                return self._gives_tensor(node)
            case ast.Attribute(value=value, attr=name):
                return name in _VIEWS and self.is_tensor(value)
            case ast.Subscript(value=value):
                return self.is_tensor(value)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
                return self.is_tensor(operand)
            case ast.BinOp(left=left, right=right):
                return self._is_one_of_tensors(left, right)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                compares = isinstance(operator, ast.Eq | ast.NotEq | ast.Lt | ast.LtE | ast.Gt | ast.GtE)
                return compares and self._is_one_of_tensors(left, right)
            case ast.IfExp(body=then, orelse=otherwise):
                return self.is_tensor(then) and self.is_tensor(otherwise)
        return False

    def _is_one_of_tensors(self, left: ast.expr, right: ast.expr) -> bool:
        """Whether two operands are Tensors, or a Tensor and a number."""
        first, second = self.is_tensor(left), self.is_tensor(right)
        return (first and (second or self._is_number(right))) or (second and self._is_number(left))

    def _is_number(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=value):
                return isinstance(value, int | float | complex)
            case ast.Name(id=name):
                return name in self._numbers
            case ast.UnaryOp(operand=operand):
                return self._is_number(operand)
            case ast.BinOp(left=left, right=right):
                return self._is_number(left) and self._is_number(right)
        return False

    def _gives_tensor(self, node: ast.Call) -> bool:
        """Whether a call is of an operator, or of a function of the module, that gives one Tensor."""
        operator = called_operator(self._module, node, self._namespace)
        if operator is not None:
            return operator.attr in self._giving and "out" not in {word.arg for word in node.keywords}
        match node.func:
            case ast.Name(id=name) if name in self._module.functions:
                return self._is_class(self._module.functions[name].returns)
            case ast.Attribute(value=value, attr=name):
                return name in self._giving and name not in TENSOR_METHODS and self.is_tensor(value)
        return False

    def _is_class(self, annotation: ast.expr | None) -> bool:
        """Whether an annotation is Tensor, and nothing else."""
        match annotation:
            case ast.Constant(value="Tensor"):
                annotation = ast.Name("Tensor")
            case ast.Attribute(value=ast.Name(id=package), attr="Tensor"):
                return self._module.imports.get(package) in tuple((name, None) for name in _PACKAGES)
        if not isinstance(annotation, ast.Name):
            return False
        module, name = self._module.imports.get(annotation.id, ("", None))
        return name == "Tensor" and module.partition(".")[0] in _PACKAGES


def _assignments(definition: ast.FunctionDef) -> dict[str, list[ast.expr | None]]:
    """What a function assigns to its names; None for what is no single expression."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in parts_of(definition):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                whole = ast.BinOp(ast.Name(target.id, ast.Load()), operator, value)
                found.setdefault(name, []).append(whole)
    return found


def _bound_otherwise(definition: ast.FunctionDef) -> set[str]:
    """Names that get values in ways that are not followed, or that are asked what they are."""
    plain = {id(target) for node in parts_of(definition) for target in _plain_targets(node)}
    found: set[str] = set()
    for node in parts_of(definition):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if id(node) not in plain:
                found.add(name)
            case ast.Call(func=ast.Name(id=look), args=[ast.Name(id=name), *_]) if look in _LOOKS:
                found.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() if node is not definition:
                found |= {each.arg for each in parts_of(node.args) if isinstance(each, ast.arg)}
                found |= {node.name} if not isinstance(node, ast.Lambda) else set()
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found |= set(names)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
            case ast.arguments(vararg=vararg, kwarg=kwarg):
                found |= {each.arg for each in (vararg, kwarg) if each is not None}
    return found


def _plain_targets(node: ast.AST) -> Sequence[ast.expr]:
    match node:
        case ast.Assign(targets=[ast.Name() as target]):
            return (target,)
        case ast.AnnAssign(target=ast.Name() as target) | ast.AugAssign(target=ast.Name() as target):
            return (target,)
    return ()
