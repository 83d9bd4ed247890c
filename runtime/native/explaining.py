"""Which calls took the fast path of the native core, and why the others did not.

The core tells of its entries and Nodes, and only while it is asked to (`observe.hpp`). What runs in Python is seen by a
profile function, which changes nothing about how calls run. Handlers would: the fast path declines while one is open.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FrameType
from typing import Any, Literal

from runtime.call import dispatch
from runtime.graph import engine
from runtime.graph.node import Node
from runtime.native import core
from runtime.native.guards import Guards, failed

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
        kernel: of an operator on the fast path: `native loop`, `NumPy's loop`, `Python kernel`, or
            `operators` where it is made of others.
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
    in_use = core is not None and bool(_native_names())
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
    """A function of generated.operators."""

    name: str  # with the sign of its variant: "add_.Tensor"
    operator: str
    variant: Literal["call", "in place", "out"]


@cache
def _functions() -> Mapping[CodeType, _Known]:
    """The Python functions of operators, by their code."""
    from generated import operators
    from generated.registry import OPERATORS

    functions: dict[CodeType, _Known] = {}
    for info in OPERATORS.values():
        named: list[tuple[str | None, Literal["call", "in place", "out"]]]
        named = [(info.name, "call"), (info.inplace, "in place"), (info.out, "out")]
        for name, variant in named:
            function = None if name is None else getattr(operators, _function_name(name), None)
            function = getattr(function, "__wrapped__", function)
            if name is not None and function is not None and function.__code__ not in functions:
                functions[function.__code__] = _Known(name, info.name, variant)
    return functions


def _function_name(name: str) -> str:
    base, _, overload = name.partition(".")
    return f"{base}_{overload or 'default'}"


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is known of a function of generated.operators that has a native entry."""

    name: str  # as schemas have it
    parameters: tuple[str, ...]
    guards: Guards


@cache
def _entries() -> Mapping[str, _Entry]:
    from generated import operators
    from generated.guards import GUARDS

    entries = {}
    for known in _functions().values():
        function = _function_name(known.operator)
        parameters = _parameters(getattr(operators, f"{function}_op"))
        entries[_function_name(known.name)] = _Entry(known.name, parameters, GUARDS.get(function, ()))
    return entries


def _parameters(operator: Any) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in operator.signature.parameters)


@cache
def _native_names() -> frozenset[str]:
    """The functions of generated.operators in whose place there are native ones."""
    from generated import operators

    return frozenset(name for name, value in vars(operators).items() if hasattr(value, "__wrapped__"))


@cache
def _packets() -> frozenset[CodeType]:
    from generated import packets

    functions = [getattr(function, "__wrapped__", function) for function in packets.PACKETS.values()]
    return frozenset(function.__code__ for function in functions if hasattr(function, "__code__"))


@cache
def _left_to_python() -> Mapping[str, str]:
    """Why operators and Node classes have no native counterpart."""
    reasons: dict[str, str] = core.left_to_python()
    return reasons


# -- watching


@dataclass(slots=True)
class _Open:
    """A call that has not ended."""

    call: Call | None
    operator: str
    frame: FrameType | None = None  # of Python code; None for what the core tells of
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

    def enter(self, kind: Kind, name: str, guard: int, values: tuple[Any, ...]) -> None:
        """An entry or a Node begins; `guard` is the number of the one that fails."""
        if kind == "node":
            self._push(Call("node", name, True), name)
            return
        entry = _entries()[name]
        reason = failed(guard, entry.guards, dict(zip(entry.parameters, values, strict=False)))
        opened = self._push(Call("operator", entry.name, reason is None, reason=reason), entry.name)
        if reason is not None:
            opened.awaited = self._code(name)

    def decline(self, why: str | None) -> None:
        """The entry that began last gives up."""
        opened = self.stack[-1]
        assert opened.call is not None
        opened.call.fast = False
        opened.call.reason = why or "its kernel fails on these arguments"
        opened.awaited = self._code(_function_name(opened.operator))

    def leave(self, kernel: str | None, why: str | None) -> None:
        """What began last is done."""
        call = self.stack.pop().call
        assert call is not None
        if call.fast and call.kind == "operator":
            call.kernel, call.reason = kernel, why

    @staticmethod
    def _code(name: str) -> CodeType:
        from generated import operators

        code: CodeType = getattr(operators, name).__wrapped__.__code__
        return code

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
        if not _native_names():
            return NOT_IN_USE
        if known.variant != "call" and _function_name(known.name) not in _native_names():
            return "an in-place variant" if known.variant == "in place" else "an out= variant"
        reason = _left_to_python().get(known.operator)
        if reason is not None:
            return reason
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
        if not _native_names():
            reason = NOT_IN_USE
        else:
            reason = _left_to_python().get(name) or _why_python_node(type(node))
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


@cache
def _operators() -> Mapping[str, str]:
    return {known.name: known.operator for known in _functions().values()}


def _operator_of(name: str) -> str:
    """`add.Tensor` of `add_.Tensor`."""
    return _operators().get(name, name)


def _why_python_node(cls: type) -> str:
    if cls.__module__.startswith("generated"):
        return "the general path recorded it"
    return "a class written in Python"


def _why_python_engine() -> str:
    return "somebody watches Nodes: anomaly mode, a profiler" if _native_names() else NOT_IN_USE
