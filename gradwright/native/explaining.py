"""Which calls took the fast path of the native core, and why the others did not.

The core tells of its entries and Nodes, and only while it is asked to (`observe.hpp`). What runs in Python is seen by a
profile function, which changes nothing about how calls run. Handlers would: the fast path declines while one is open.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FrameType, FunctionType
from typing import Any, Literal

from gradwright.native.guards import Guards, failed
from runtime.call import dispatch, registered
from runtime.call.facts import BUILT_IN
from runtime.graph import engine
from runtime.graph.node import Node
from runtime.native import core

__all__ = ["Call", "Explanation", "Totals", "explain"]

Kind = Literal["operator", "node", "backward"]

NOT_IN_USE = "the native core is not built, or switched off"
# More rows than this are counted instead of listed.
_ROWS = 100


@dataclass(slots=True)
class Call:
    """One call of an operator, one Node that ran, or one backward.

    Attributes:
        kind: which of these.
        name: `mul.Tensor`, `MulBackward0`, `backward`.
        fast: whether the native core ran it.
        kernel: of an operator on the fast path: `native loop`, also `in float32` or `on converted arguments`,
            `NumPy's loop`, `Python kernel`, or `operators` where it is made of others.
        reason: why it is not faster: what sent it to Python, or the kernel.
        depth: how many of the calls around it are listed.
        chosen_in_python: whether the packet chose the overload in Python.
    """

    kind: Kind
    name: str
    fast: bool
    kernel: str | None = None
    reason: str | None = None
    depth: int = 0
    chosen_in_python: bool = False

    @property
    def path(self) -> str:
        """`fast` or `Python`."""
        return "fast" if self.fast else "Python"

    def _cells(self) -> tuple[str, str, str, str]:
        reasons = [self.reason, "overload chosen in Python" if self.chosen_in_python else None]
        return self.name, self.path, self.kernel or "", "; ".join(reason for reason in reasons if reason)


@dataclass(slots=True)
class Totals:
    """How many calls of a kind there were.

    Attributes:
        fast: of these the core ran.
        python: and Python.
        kernels: those on the fast path, by what computed the result.
        reasons: those in Python, by the reason.
    """

    fast: int = 0
    python: int = 0
    kernels: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Explanation:
    """What a function ran; as a string a table of it.

    Attributes:
        records: the calls, in the order in which they began.
        result: what the function returned.
        available: whether there is a native core in use.
    """

    records: list[Call]
    result: Any = field(repr=False)
    available: bool

    @property
    def totals(self) -> dict[Kind, Totals]:
        """Counts by the kind of call."""
        by_kind: dict[Kind, Totals] = {"operator": Totals(), "node": Totals(), "backward": Totals()}
        for call in self.records:
            totals = by_kind[call.kind]
            if call.fast:
                totals.fast += 1
                if call.kernel is not None:
                    totals.kernels[call.kernel] += 1
            else:
                totals.python += 1
                totals.reasons[call.reason or ""] += 1
        return by_kind

    def __str__(self) -> str:
        lines = [] if self.available else [f"{NOT_IN_USE}: all of it ran in Python"]
        if len(self.records) <= _ROWS:
            rows = [("  " * call.depth + name, *rest) for call in self.records for name, *rest in [call._cells()]]
            lines += _table(("call", "path", "kernel", "why"), rows)
        else:
            counts = Counter((call.kind, call._cells()) for call in self.records)
            rows = [(f"{count:,}", *cells) for (_, cells), count in counts.most_common()]
            lines += _table(("times", "call", "path", "kernel", "why"), rows)
        words = {"operator": "operator calls", "node": "Nodes", "backward": "backwards"}
        for kind, totals in self.totals.items():
            total = totals.fast + totals.python
            if total:
                kernels = ", ".join(f"{count:,} {kernel}" for kernel, count in totals.kernels.most_common())
                lines.append(
                    f"{totals.fast:,} of {total:,} {words[kind]} took the fast path{f' ({kernels})' if kernels else ''}"
                )
        return "\n".join(lines)


def _table(head: tuple[str, ...], rows: list[Any]) -> list[str]:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (head, *rows)]
    return ["  ".join(cells).rstrip() for cells in padded]


def explain(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Explanation:
    """Run a function and tell of every operator call and every Node whether it took the fast path, and why not.

    What runs in other threads than this one is not told. The calls take longer than usual, and take the same ways.

    Args:
        function: what to run; it gets the other arguments.

    Returns:
        The calls; `print` shows them as a table.

    Raises:
        RuntimeError: the function explains something itself.
    """
    observer = _Observer()
    if isinstance(getattr(sys.getprofile(), "__self__", None), _Observer):
        raise RuntimeError("explain() is running already")
    before = sys.getprofile()
    in_use = core is not None and _in_use()
    if in_use:
        core.watch(observer)
    sys.setprofile(observer.profile)
    try:
        result = function(*args, **kwargs)
    finally:
        if before is None or callable(before):
            sys.setprofile(before)
        else:  # a profiler written in C
            before.enable()
        if in_use:
            core.watch(None)
    return Explanation(observer.records, result, in_use)


# -- what there is to be seen


@dataclass(frozen=True, slots=True)
class _Known:
    """A function of a generated module of operators: Gradwright's own, or that of a package."""

    name: str  # with the sign of its variant: "add_.Tensor"
    operator: str
    variant: Literal["call", "in place", "out"]
    package: str
    is_native: bool  # whether there is a native one in its place


@cache
def _known(packages: tuple[str, ...]) -> Mapping[CodeType, _Known]:
    """The Python functions of operators, by their code."""
    functions: dict[CodeType, _Known] = {}
    for package in packages:
        operators = importlib.import_module(f"{package}.operators")
        for info in importlib.import_module(f"{package}.registry").OPERATORS.values():
            named: list[tuple[str | None, Literal["call", "in place", "out"]]]
            named = [(info.name, "call"), (info.inplace, "in place"), (info.out, "out")]
            for name, variant in named:
                found = None if name is None else getattr(operators, _function_name(name), None)
                if name is None or found is None:
                    continue
                *outer, function = _wrapped(found)
                # Python may wrap an operator as well: where classes take calls over.
                is_native = not all(isinstance(each, FunctionType) for each in outer)
                functions.setdefault(function.__code__, _Known(name, info.name, variant, package, is_native))
    return functions


def _wrapped(function: Any) -> Iterator[Any]:
    """A function, what it wraps, what that wraps, and so on."""
    yield function
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        function = inner
        yield function


def _functions() -> Mapping[CodeType, _Known]:
    return _known(tuple(registered.packages.values()))


def _function_name(name: str) -> str:
    base, _, overload = name.partition(".")
    return f"{base}_{overload or 'default'}"


@cache
def _guards(package: str) -> Mapping[str, Guards]:
    """The guards of operators, by the names of their functions."""
    guards: Mapping[str, Guards] = importlib.import_module(f"{package}.guards").GUARDS
    return guards


def _parameters(known: _Known) -> list[str]:
    operators = importlib.import_module(f"{known.package}.operators")
    operator = getattr(operators, f"{_function_name(known.operator)}_op")
    return [parameter.name for parameter in operator.signature.parameters]


def _in_use() -> bool:
    """Whether native operators have been put in the places of generated ones."""
    return any(known.is_native for known in _functions().values())


def _packets() -> frozenset[CodeType]:
    modules = [importlib.import_module(f"{package}.packets") for package in registered.packages.values()]
    packets = [packet for module in modules for packet in module.PACKETS.values()]
    # A packet in Python may name the function that it is described by as what it wraps; a native one, the packet.
    functions = [packet if isinstance(packet, FunctionType) else packet.__wrapped__ for packet in packets]
    return frozenset(function.__code__ for function in functions)


def _left_to_python(package: str, name: str) -> str | None:
    """Why an operator or a Node class of a generated package has no native counterpart; None if it has."""
    namespaces = {package: namespace for namespace, package in registered.packages.items()}
    namespace = namespaces.get(package, BUILT_IN)
    reasons: Mapping[str, str] = core.left_to_python()
    return reasons.get(name if namespace == BUILT_IN else f"{namespace}::{name}")


# -- watching


@dataclass(slots=True)
class _Open:
    """A call that has not ended."""

    call: Call | None
    operator: str
    frame: FrameType | None = None  # of Python code; None for what the core tells of
    code: CodeType | None = None  # the Python function that an entry stands for
    awaited: CodeType | None = None  # the Python function that a call which declined goes on to


class _Observer:
    """Listens to the core and to Python's profiler; keeps the calls."""

    def __init__(self) -> None:
        self.records: list[Call] = []
        self.stack: list[_Open] = []
        self.chosen: FrameType | None = None  # of a packet, until the operator is called
        self.handlers = self._find_handlers()

    def _find_handlers(self) -> dict[CodeType, Callable[[FrameType], None]]:
        handlers: dict[CodeType, Callable[[FrameType], None]] = dict.fromkeys(_functions(), self._function)
        handlers |= dict.fromkeys(_packets(), self._packet)
        for method in ("__call__", "call_bound", "inplace", "out"):
            handlers[getattr(dispatch.Operator, method).__code__] = self._general_path
        handlers[engine.run_backward.__code__] = self._backward
        return handlers

    # -- told by the core

    def enter(self, kind: Kind, what: Any, guard: int, values: tuple[Any, ...]) -> None:
        """A Node of that name, or the entry in the place of a function, begins; `guard` is the number of the one that
        fails.
        """
        if kind == "node":
            self._push(Call("node", what, True), what)
            return
        known = _functions()[what.__code__]
        guards = _guards(known.package).get(_function_name(known.operator), ())
        reason = failed(guard, guards, dict(zip(_parameters(known), values, strict=False)))
        opened = self._push(Call("operator", known.name, reason is None, reason=reason), known.name)
        opened.code = what.__code__
        if reason is not None:
            opened.awaited = opened.code

    def decline(self, why: str | None) -> None:
        """The entry that began last gives up."""
        opened = self.stack[-1]
        assert opened.call is not None
        opened.call.fast = False
        opened.call.reason = why or "its kernel fails on these arguments"
        opened.awaited = opened.code

    def leave(self, kernel: str | None, why: str | None) -> None:
        """What began last is done."""
        call = self.stack.pop().call
        assert call is not None
        if call.fast and call.kind == "operator":
            call.kernel, call.reason = kernel, why

    # -- seen by the profiler

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """A profile function of `sys.setprofile`."""
        if event == "call":
            handler = self.handlers.get(frame.f_code)
            if handler is not None:
                handler(frame)
            elif frame.f_code.co_name == "apply":
                self._node(frame)
        elif event == "return":
            if self.stack and self.stack[-1].frame is frame:
                self.stack.pop()
            if self.chosen is frame:
                self.chosen = None
        elif core is not None and argument is core.run_backward:
            if event == "c_call":
                self._push(Call("backward", "backward", True), "backward")
            else:
                self.stack.pop()

    def _function(self, frame: FrameType) -> None:
        known = _functions()[frame.f_code]
        if self.stack and self.stack[-1].awaited is frame.f_code:
            self.stack[-1].awaited = None  # what the core has told of
            return
        opened = self._push(Call("operator", known.name, False, reason=self._why(known, frame)), known.operator)
        opened.frame = frame

    @staticmethod
    def _why(known: _Known, frame: FrameType) -> str:
        if not _in_use():
            return NOT_IN_USE
        if known.variant != "call" and not known.is_native:
            return "an in-place variant" if known.variant == "in place" else "an out= variant"
        reason = _left_to_python(known.package, known.operator)
        if reason is not None:
            return reason
        if not any(other.is_native for other in _functions().values() if other.package == known.package):
            return f"{known.package} has no native operators"
        if frame.f_locals.get("out") is not None:
            return "out= is given"
        return "its arguments do not fit the schema as they are"

    def _general_path(self, frame: FrameType) -> None:
        name = frame.f_locals["operator"].name
        if any(opened.operator == name or _operator_of(opened.operator) == name for opened in self.stack[-1:]):
            return  # on the way of a call that is known
        reasons = {"write_inplace": "an in-place variant", "write_out": "an out= variant"}
        reason = reasons.get(frame.f_code.co_name, "its Operator object is called")
        opened = self._push(Call("operator", name, False, reason=reason), name)
        opened.frame = frame

    def _packet(self, frame: FrameType) -> None:
        self.chosen = frame

    def _node(self, frame: FrameType) -> None:
        node = frame.f_locals.get("self")
        if not isinstance(node, Node):
            return
        name = type(node)._name
        if not _in_use():
            reason = NOT_IN_USE
        else:
            package = type(node).__module__.removesuffix(".nodes")
            reason = _left_to_python(package, type(node).__qualname__) or _why_python_node(type(node))
        opened = self._push(Call("node", name, False, reason=reason), name)
        opened.frame = frame

    def _backward(self, frame: FrameType) -> None:
        opened = self._push(Call("backward", "backward", False, reason=_why_python_engine()), "")
        opened.frame = frame

    def _push(self, call: Call, operator: str) -> _Open:
        call.depth = len(self.stack)
        if call.kind == "operator" and self.chosen is not None:
            call.chosen_in_python, self.chosen = True, None
        self.records.append(call)
        self.stack.append(_Open(call, operator))
        return self.stack[-1]


def _operators() -> Mapping[str, str]:
    return {known.name: known.operator for known in _functions().values()}


def _operator_of(name: str) -> str:
    """`add.Tensor` of `add_.Tensor`."""
    return _operators().get(name, name)


def _why_python_node(cls: type) -> str:
    if cls.__module__.removesuffix(".nodes") in registered.packages.values():
        return "the general path recorded it"
    return "a class written in Python"


def _why_python_engine() -> str:
    return "somebody watches Nodes: anomaly mode, a profiler" if _in_use() else NOT_IN_USE
