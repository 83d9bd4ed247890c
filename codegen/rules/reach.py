"""What of all operators a backend can run: those with kernels, those made of them, and what gradients need.

Operators without a kernel run if those that they are made of do. These are read off the source of composite functions
and helpers, where an operator is called by its name or a sign; which overload it is follows from the values alone, so
there any that the backend can run will do. Formulas are typed, and say which overload they call. What does nothing to
real numbers (`conj`) does not count.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.bind.composites import ResolvedComposite
from codegen.bind.entries import ResolvedEntry
from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.formula.meaning import Meaning
from codegen.formula.typed import HelperCall, OperatorCall, TypedExpr, walk
from codegen.python_source import FunctionIndex, PythonFunction, PythonModule
from codegen.python_syntax import PREFIXES, SIGNS, parameters
from codegen.read.model import NativeFunction
from codegen.signs import Form

_OF_PYTHON = frozenset(("len", "isinstance", "bool", "int", "float", "type", "range"))


class How(enum.Enum):
    """How a backend runs an operator."""

    KERNEL = "kernel"
    COMPOSITE = "composite"  # through the operators that it is made of
    IN_PART = "in part"  # as the last one, but some of those are missing
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Reached:
    """How an operator runs, what of its parts is missing, and what of its backward formulas."""

    name: str
    how: How
    lacks: tuple[str, ...]
    backward_lacks: tuple[str, ...]


def with_kernels(functions: Sequence[NativeFunction], key: str) -> frozenset[str]:
    """The operators that have a kernel under a dispatch key, or delegate to one that has."""
    named = {str(function.name) for function in functions if any(line.key == key for line in function.dispatch)}
    delegating = (f for f in functions if f.structured_delegate is not None and f.structured_delegate.value in named)
    return frozenset((*named, *(str(function.name) for function in delegating)))


def made_of_others(functions: Sequence[NativeFunction]) -> frozenset[str]:
    """The operators that are functions on Tensors, whatever the backend is."""
    composite = (f for f in functions if f.is_composite_implicit or any(e.key in COMPOSITE_KEYS for e in f.dispatch))
    return frozenset(str(function.name) for function in composite)


class Reach:
    """What a backend can run.

    Args:
        supported: the names of the operators that it has kernels for.
        functions: all operators.
        entries: their derivative entries by name.
        composites: functions that operators are made of.
        formulas: those that are formulas, by name.
        helpers: functions that formulas call.
        made: the names of operators that are made of others by functions that are not there to be read; they run.
    """

    def __init__(
        self,
        supported: frozenset[str],
        functions: Sequence[NativeFunction],
        entries: Mapping[str, ResolvedEntry],
        composites: FunctionIndex,
        formulas: Mapping[str, ResolvedComposite],
        helpers: FunctionIndex,
        made: frozenset[str] = frozenset(),
    ) -> None:
        self._supported = supported
        self._made = made
        self._functions = {str(function.name): function for function in functions}
        self._overloads: dict[str, list[str]] = {}
        self._by_sign: dict[str, set[str]] = {}
        self._prefixed: dict[str, set[str]] = {}
        for name, function in self._functions.items():
            self._overloads.setdefault(function.name.base, []).append(name)
            for use in function.signs:
                signs = self._by_sign if use.sign.is_binary else self._prefixed
                if use.form is Form.DIRECT:
                    signs.setdefault(use.sign.text, set()).add(function.name.base)
        # Those that do nothing to real numbers.
        self._idle = {f.name.base for f in functions if f.meaning is Meaning.CONJUGATE}
        self._entries = entries
        self._composites = composites
        self._formulas = formulas
        self._modules: Mapping[str, PythonModule] = {**composites.modules, **helpers.modules}
        self._lacks: dict[str, tuple[str, ...]] = {}

    def all(self) -> Iterator[Reached]:
        """Each operator, in the order of the files."""
        for name, function in self._functions.items():
            if function.variant_of is None:
                how = self._how(name)
                lacks = () if how is How.KERNEL else self._lacks_of(name)
                backward = () if how is How.MISSING else tuple(self._backward_lacks(name))
                yield Reached(name, how, lacks, backward)

    def _how(self, name: str) -> How:
        if name in self._supported:
            return How.KERNEL
        parts = self._parts(name)
        if parts is None:
            return How.MISSING
        lacks = self._lacks_of(name)
        if not lacks:
            return How.COMPOSITE
        return How.IN_PART if len(lacks) < len(parts) else How.MISSING

    def _parts(self, name: str) -> set[str] | None:
        """What an operator is made of: overloads of a formula, base names of a function; None if it is of nothing."""
        function = self._functions[name]
        if function.composite is not None:
            formula = self._formulas.get(name)
            return set() if formula is None else set(self._called_in(formula.tree))
        python = None if function.dispatch else self._composites.get(function.name.python_name)
        for line in function.dispatch:
            if line.key in COMPOSITE_KEYS:
                python = self._composites.get(line.kernel.value)
        if python is None:
            return set() if name in self._made else None
        return self._called_by(python)

    def _lacks_of(self, name: str) -> tuple[str, ...]:
        """What of the operators that one is made of the backend can not run at all."""
        if name not in self._lacks:
            self._lacks[name] = ()  # of what calls itself, the first round counts
            self._lacks[name] = tuple(called for called in sorted(self._parts(name) or ()) if not self._runs(called))
        return self._lacks[name]

    def _runs(self, called: str) -> bool:
        """Whether an overload runs; of a base name, whether any does."""
        return any(self._how(name) is not How.MISSING for name in self._overloads.get(called, (called,)))

    def _backward_lacks(self, name: str) -> Iterator[str]:
        """What the backward formulas of an operator call that the backend can not run."""
        entry = self._entries.get(name)
        trees = [] if entry is None else [formula.tree for formula in entry.backward if formula.tree is not None]
        called = dict.fromkeys(name for tree in trees for name in self._called_in(tree))
        yield from (name for name in called if not self._runs(name))

    def _called_in(self, tree: TypedExpr) -> Iterator[str]:
        """The operators that a formula calls, and the base names of those that its helpers call."""
        for part in walk(tree):
            if isinstance(part, OperatorCall) and part.meaning is not Meaning.CONJUGATE:
                if (name := str(part.schema.name)) in self._functions:
                    yield name
            elif isinstance(part, HelperCall) and part.helper.function is not None:
                yield from sorted(self._called_by(part.helper.function))

    def _called_by(self, function: PythonFunction) -> set[str]:
        """The base names of the operators that a Python function calls, also through others of the runtime."""
        called: set[str] = set()
        pending = [(function.module, function.name)]
        seen = set(pending)
        while pending:
            module = self._modules.get(pending[-1][0])
            definition = None if module is None else module.functions.get(pending[-1][1])
            pending.pop()
            if module is None or definition is None:
                continue
            tensors = self._tensors_in(definition)
            for node in (part for statement in definition.body for part in ast.walk(statement)):
                called.update(self._called_at(node, tensors))
                if isinstance(node, ast.Name):
                    other = (module.name, node.id)
                    if node.id in module.imports:
                        source, name = module.imports[node.id]
                        other = (source, name or "")
                    if other not in seen:
                        seen.add(other)
                        pending.append(other)
        return called - self._idle

    def _called_at(self, node: ast.AST, tensors: set[str]) -> Iterator[str]:
        """The base names of operators that stand at one place of a function, in which some names are Tensors."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = self._operator_called(node.func)
            if name is not None:
                yield name
        elif isinstance(node, ast.BinOp) and self._is_tensor(node, tensors):
            yield from self._by_sign.get(SIGNS.get(type(node.op), ""), ())
        elif isinstance(node, ast.UnaryOp) and self._is_tensor(node, tensors):
            yield from self._prefixed.get(PREFIXES.get(type(node.op), ""), ())
        elif isinstance(node, ast.Compare) and self._is_tensor(node, tensors):
            for sign in node.ops:
                yield from self._by_sign.get(SIGNS.get(type(sign), ""), ())

    def _operator_called(self, called: ast.Attribute) -> str | None:
        """The base name of the operator that `ops.f(...)`, `ops.f.default(...)` or `x.f(...)` calls."""
        name = called.attr
        if isinstance(called.value, ast.Attribute) and name in ("default", *self._overloads_of(called.value)):
            name = called.value.attr
        base = name if name in self._overloads else name.removesuffix("_")
        return base if base in self._overloads else None

    def _tensors_in(self, definition: ast.FunctionDef) -> set[str]:
        """The names of a function that stand for Tensors, or lists of them: parameters, and what is made of these."""
        tensors = {
            each.arg for each in parameters(definition) if each.annotation and "Tensor" in ast.unparse(each.annotation)
        }
        for _ in range(2):  # what stands later in a loop may be used before
            for node in ast.walk(definition):
                if isinstance(node, ast.Assign):
                    targets, value = node.targets, node.value
                elif isinstance(node, (ast.For, ast.comprehension)):
                    targets, value = [node.target], node.iter
                else:
                    continue
                if self._is_tensor(value, tensors):
                    names = (part for target in targets for part in ast.walk(target))
                    tensors.update(part.id for part in names if isinstance(part, ast.Name))
        return tensors

    def _is_tensor(self, node: ast.expr, tensors: set[str]) -> bool:
        """Whether an expression gives Tensors, as far as that can be seen."""
        if isinstance(node, ast.Name):
            return node.id in tensors
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                return self._operator_called(node.func) is not None
            return any(self._is_tensor(argument, tensors) for argument in node.args) and not _gives_number(node.func)
        if isinstance(node, ast.Compare):
            if any(isinstance(sign, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for sign in node.ops):
                return False
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            parts = [] if isinstance(node.op, ast.Not) else [node.operand]
        elif isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, (ast.Subscript, ast.Starred)):
            parts = [node.value]
        else:
            parts = list(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else []
        return any(self._is_tensor(part, tensors) for part in parts)

    def _overloads_of(self, value: ast.expr) -> Sequence[str]:
        """The names of overloads, where a packet stands."""
        base = value.attr if isinstance(value, ast.Attribute) else ""
        return [name.partition(".")[2] for name in self._overloads.get(base, ())]


def _gives_number(function: ast.expr) -> bool:
    """Whether a function of Python gives a number or a truth of whatever it is called with."""
    return isinstance(function, ast.Name) and function.id in _OF_PYTHON
