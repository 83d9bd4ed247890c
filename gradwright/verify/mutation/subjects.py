"""What is altered: formulas of generated Nodes and tangents, helpers and kernels, each with operators that show it."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from codegen.dispatch_keys import CPU
from codegen.module_names import RUNTIME
from gradwright.testing import operator_of
from gradwright.verify.mutation import faults
from gradwright.verify.mutation.changes import FAULTS, Change, asked_for, changes, faulty
from runtime.call.dispatch import Operator
from runtime.load.operator_info import OperatorInfo

_OPERATORS = 6  # of a helper that many use, so many show a mistake


@dataclass(frozen=True, slots=True)
class Subject:
    """A function whose mistakes the proofs of some operators should find."""

    name: str
    function: FunctionType
    operators: tuple[str, ...]
    is_node: bool
    is_complex: bool  # whether one of the operators takes complex numbers: elsewhere conjugates are what they are of

    @contextmanager
    def with_mistake(self, change: Change) -> Iterator[None]:
        """Let one of its mistakes run."""
        names, original = self.function.__globals__, self.function.__code__
        names[FAULTS] = faults
        self.function.__code__ = altered(change, self.function)
        try:
            yield
        finally:
            self.function.__code__ = original
            del names[FAULTS]

    def changes(self) -> Iterator[Change]:
        """Its mistakes, each as a whole function."""
        tree = _tree(self.function)
        asks = functools.partial(_asks, self.function)
        yield from changes(tree, self._tensors(tree), self.is_node, self.is_complex, asks)
        if self.is_node:
            names = _kept(tree)
            tensors = frozenset(name for name in names if f"{name}._writes" in ast.unparse(tree)) | self._tensors(tree)
            yield from faulty(tree, tensors, names - tensors)

    def _tensors(self, tree: ast.FunctionDef) -> frozenset[str]:
        if self.is_node:
            text = ast.unparse(tree)
            return frozenset(
                n for n in _kept(tree) if f"{n}._array" in text or re.search(rf"{n} = unpack_result", text)
            )
        if self.function.__module__.startswith(f"{RUNTIME}."):
            return frozenset(a.arg for a in tree.args.args if a.annotation and ast.unparse(a.annotation) == "Tensor")
        return frozenset(a.arg for a in tree.args.args if a.arg.endswith("_t"))


@dataclass(frozen=True, slots=True)
class KernelSubject:
    """The kernel of an operator on arrays, whose results could be in another dtype or in memory of an argument."""

    operator: str
    call: Operator

    @property
    def name(self) -> str:
        return f"{self.operator} kernel"

    @property
    def operators(self) -> tuple[str, ...]:
        return (self.operator,)

    def changes(self) -> Iterator[Change]:
        """Its mistakes: of which kind, and a word for each."""
        tree = ast.parse("def kernel(): pass").body[0]
        assert isinstance(tree, ast.FunctionDef)
        for kind, mistake in _OF_KERNELS:
            yield Change(kind, 1, "results", mistake, tree)

    @contextmanager
    def with_mistake(self, change: Change) -> Iterator[None]:
        """Let one of its mistakes run."""
        kernel = self.call.loaded_kernel(CPU)
        assert kernel is not None
        self.call.built_in[CPU] = _MISTAKES_OF_KERNELS[change.after](kernel)
        try:
            yield
        finally:
            self.call.built_in[CPU] = kernel


_MISTAKES_OF_KERNELS: Mapping[str, Callable[[Any], Any]] = {
    "results in twice the width": faults.wide_kernel,
    "an argument": functools.partial(faults.kernel_that_hands_back, where_equal=False),
    "an argument that equals them": functools.partial(faults.kernel_that_hands_back, where_equal=True),
}
_OF_KERNELS = tuple(zip(("width", "memory", "memory"), _MISTAKES_OF_KERNELS, strict=True))


def _kept(tree: ast.FunctionDef) -> frozenset[str]:
    """The variables of a function."""
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    return frozenset(n.id for each in made for t in each.targets for n in ast.walk(t) if isinstance(n, ast.Name))


def altered(change: Change, function: FunctionType) -> Any:
    """The code of a function with a mistake."""
    names = dict(function.__globals__)
    tree = ast.Module([change.tree], [])
    exec(compile(tree, f"<{function.__qualname__}>", "exec"), names)
    return names[change.tree.name].__code__


@functools.cache
def _tree(function: FunctionType) -> ast.FunctionDef:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    return tree


def subjects(operators: Mapping[str, OperatorInfo], wanted: Sequence[str]) -> list[Subject | KernelSubject]:
    """The formulas and kernels of some operators, and the helpers that only these or others use."""
    found: list[Subject | KernelSubject] = []
    users: dict[FunctionType, list[str]] = {}
    callers: dict[str, list[str]] = {}  # of operators in formulas: theirs are run by second derivatives
    by_function = {info.function: name for name, info in operators.items()}
    for name, info in operators.items():
        own = list(_formulas(info))
        for function, is_node in own:
            for called in _operators_called(function):
                if called in by_function:
                    callers.setdefault(by_function[called], []).append(name)
            if name in wanted:
                kind = "backward" if is_node else "forward"
                found.append(Subject(f"{name} {kind}", function, (name,), is_node, "complex" in info.dtypes))
            for helper in _reached(function):
                if name not in users.setdefault(helper, []):
                    users[helper].append(name)
        operator = operator_of(info)
        if name in wanted and "float" in info.dtypes and _has_results_of_its_own(operator):
            found.append(KernelSubject(name, operator))
    for helper, names in users.items():
        if set(names) & set(wanted):
            of_complex = any("complex" in operators[name].dtypes for name in names)
            shown = _spread(names)
            further = [caller for name in names for caller in callers.get(name, ()) if caller not in shown]
            shown = (*shown, *dict.fromkeys(further))[:_OPERATORS]
            found.append(Subject(f"{helper.__module__}.{helper.__name__}", helper, shown, False, of_complex))
    return found


def _has_results_of_its_own(operator: Any) -> bool:
    """Whether an operator has a kernel on arrays whose results are new ones."""
    return (
        isinstance(operator, Operator)
        and operator.loaded_kernel(CPU) is not None
        and operator.given_back is None
        and operator.view is None
        and not operator.targets
    )


def _spread(names: Sequence[str]) -> tuple[str, ...]:
    """Some of many, from all over."""
    step = max(1, len(names) // _OPERATORS)
    return tuple(names[::step][:_OPERATORS])


def _formulas(info: OperatorInfo) -> Iterator[tuple[FunctionType, bool]]:
    if info.node is not None:
        apply = getattr(importlib.import_module(f"{info.package}.nodes"), info.node).apply
        if isinstance(apply, FunctionType):
            yield apply, True
    jvp = operator_of(info).jvp
    if isinstance(jvp, FunctionType) and jvp.__module__.startswith(info.package):
        yield jvp, False


def _reached(function: FunctionType) -> list[FunctionType]:
    """The helpers that a function calls, and those that these do."""
    found: dict[FunctionType, None] = {}
    waiting = list(_called(function))
    while waiting:
        helper = waiting.pop()
        if helper not in found:
            found[helper] = None
            waiting += _called(helper)
    return list(found)


@functools.cache
def _operators_called(function: FunctionType) -> frozenset[str]:
    """The functions of `ops` that a function calls."""
    return frozenset(
        node.attr
        for node in ast.walk(_tree(function))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ops"
    )


def _asks(function: FunctionType, call: ast.Call) -> frozenset[int]:
    """The places of those arguments of a call that a helper asks for something else than their numbers."""
    called = function.__globals__.get(call.func.id) if isinstance(call.func, ast.Name) else None
    return _asked_parameters(called) if isinstance(called, FunctionType) and _is_helper(called) else frozenset()


@functools.cache
def _asked_parameters(function: FunctionType) -> frozenset[int]:
    tree = _tree(function)
    asked = {id(each) for each in asked_for(tree, functools.partial(_asks, function))}
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in asked}
    return frozenset(place for place, each in enumerate(tree.args.args) if each.arg not in read)


@functools.cache
def _called(function: FunctionType) -> tuple[FunctionType, ...]:
    names = function.__globals__
    found = []
    for node in ast.walk(_tree(function)):
        value = None
        if isinstance(node, ast.Name):
            value = names.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            value = getattr(names.get(node.value.id), node.attr, None) if node.value.id.endswith("_helpers") else None
        if isinstance(value, FunctionType) and _is_helper(value):
            found.append(value)
    return tuple(found)


def _is_helper(function: FunctionType) -> bool:
    return ".helpers" in function.__module__ and function.__closure__ is None and function.__module__ in sys.modules
