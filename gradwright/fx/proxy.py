"""Proxies: what goes through a function in the place of values, while its calls become Nodes."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import operator
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dis import get_instructions
from types import EllipsisType, FrameType, NoneType
from typing import Any

from gradwright.fx import functions
from gradwright.fx.graph import Graph
from gradwright.fx.node import Argument, Node, Target, has_side_effect, map_aggregate
from runtime.base.dtypes import dtype
from runtime.base.identity import PACKAGES
from runtime.base.tensor import Tensor
from runtime.base.types import device, layout, memory_format

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "TraceError", "TracerBase"]

# What arguments of Nodes are made of, besides Nodes and containers.
BASE_TYPES = (str, int, float, bool, complex, dtype, Tensor, device, memory_format, layout, NoneType, EllipsisType)

_AS_LOOP = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
    "function argument: how often a loop runs has to be known when it is traced."
)


class TraceError(ValueError):
    """What a function does depends on values that are not there while it is traced."""


@dataclasses.dataclass
class Scope:
    """The Module whose forward is being traced: its path, and its class."""

    module_path: str
    module_type: Any


@has_side_effect
def assert_fn(x: Any) -> None:
    """What stands in a graph for the `assert` of a value.

    Raises:
        AssertionError: it is not true.
    """
    assert x


def _is_asserted(frame: FrameType) -> bool:
    """Whether the instruction that a frame is at asks for the truth of what an `assert` is of."""
    steps = get_instructions(frame.f_code)
    for step in steps:
        if step.offset == frame.f_lasti:
            if step.opname == "TO_BOOL":
                step = next(steps)
            after = next((each for each in steps if each.opname not in ("CACHE", "NOT_TAKEN")), None)
            raised = after is not None and (
                after.opname == "LOAD_ASSERTION_ERROR"
                or (after.opname == "LOAD_COMMON_CONSTANT" and after.argrepr == "AssertionError")
            )
            return raised and step.opname.startswith("POP_JUMP") and step.opname.endswith("IF_TRUE")
    return False


class TracerBase:
    """Makes Nodes of what Proxies meet.

    Attributes:
        trace_asserts: whether `assert` of a Proxy is recorded as a call of `assert_fn`.
    """

    graph: Graph
    record_stack_traces = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def __init__(self) -> None:
        self.scope = Scope("", None)
        self.module_stack: OrderedDict[str, tuple[str, Any]] = OrderedDict()
        self.node_name_to_scope: dict[str, tuple[str, Any]] = {}

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a Node to the graph, and note in which Module that was."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
        return node

    def proxy(self, node: Node) -> Proxy:
        """What stands for the value of a Node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a Node of arguments in which Proxies may be, and give what stands for its value.

        Args:
            kind: the op of the Node.
            target: what it calls or stands for.
            args: positional arguments.
            kwargs: those by keyword.
            name: what it is called, if that is free.
            type_expr: the annotation of its value.
            proxy_factory_fn: makes the Proxy; `proxy` does if it is not given.
        """
        made_args, made_kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, made_args, dict(made_kwargs), name, type_expr)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = _place(inspect.currentframe())
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """A value as an argument of a Node.

        Raises:
            NotImplementedError: it is of a class that Nodes do not know.
            RuntimeError: a key of a dictionary is a Proxy.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(each) for each in a]
            return getattr(type(a), "_make", type(a))(parts)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return self._dict_arg(a)
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(a.start, a.stop, a.step)
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, (*BASE_TYPES, enum.Enum)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _dict_arg(self, a: Mapping[Any, Any]) -> dict[Any, Any]:
        made = {}
        for key, value in a.items():
            known = self.create_arg(key)

            def refuse(part: Any, key: Any = key) -> Any:
                if isinstance(part, Node):
                    raise RuntimeError(
                        f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {part}"
                    )
                return part

            map_aggregate(known, refuse)
            made[known] = self.create_arg(value)
        return made

    def to_bool(self, obj: Proxy) -> bool:
        """Whether a Proxy is true, which is not known.

        Raises:
            TraceError: always; a Tracer may know better.
        """
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What a loop over a Proxy goes through, which is not known.

        Raises:
            TraceError: always; a Tracer may know better.
        """
        raise TraceError(_AS_LOOP)

    def keys(self, obj: Proxy) -> Any:
        """The keys of a Proxy."""
        return Attribute(obj, "keys")()

    @contextmanager
    def in_scope(self, scope: Scope) -> Iterator[None]:
        """Note that the Module whose forward is traced is another one within this block."""
        before, self.scope = self.scope, scope
        key = scope.module_path
        number = 0
        while key in self.module_stack:
            number += 1
            key = f"{scope.module_path}@{number}"
        self.module_stack[key] = (scope.module_path, scope.module_type)
        try:
            yield
        finally:
            del self.module_stack[key]
            self.scope = before


class GraphAppendingTracer(TracerBase):
    """Adds Nodes to a graph that is there already: for Proxies of its Nodes."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph


def _place(frame: Any) -> str:
    """Where the program is, without the modules that record it, as a traceback would have it."""
    places = []
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in PACKAGES:
            places.append(frame)
        frame = frame.f_back
    lines = []
    for each in reversed(places):
        info = inspect.getframeinfo(each, 1)
        text = info.code_context[0].strip() if info.code_context else ""
        lines.append(f'  File "{info.filename}", line {info.lineno}, in {info.function}\n    {text}\n')
    return "".join(lines)


class Proxy:
    """Stands for the value of a Node; what is done with it becomes a Node.

    Args:
        node: the Node.
        tracer: makes the others; if it is not given, one that adds to the Node's graph.
    """

    node: Node

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        functions.attend(self.tracer, Proxy)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k in ("tracer", "node") or (k.startswith("__array") and k.endswith("__")):
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        if caller is not None:
            for instruction in get_instructions(caller.f_code):
                if instruction.offset == caller.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                    return (_getitem(self, i) for i in range(instruction.argval))
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_asserted(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys, as a call of the method."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """The Node of a call of a function of the runtime."""
        kwargs = dict(kwargs or {})
        found = functions.find(Proxy, (*args, *kwargs.values()))
        assert found is not None
        if functions.is_method(func):
            return found.tracer.create_proxy("call_method", func.__name__, tuple(args), kwargs)
        return found.tracer.create_proxy("call_function", func, tuple(args), kwargs)


class Attribute(Proxy):
    """An attribute of a Proxy: a method if it is called, and else a Node of its own as soon as it is used."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The Node of the value."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a Parameter, the shape of which is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The shape of the Parameter."""
        return self.param.shape

    def size(self, *args: Any) -> Any:
        """The shape, or one of the sizes."""
        return self.param.size(*args)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The number of elements."""
        return self.param.nelement()


def _getitem(proxy: Proxy, index: Any) -> Any:
    return proxy.tracer.create_proxy("call_function", operator.getitem, (proxy, index), {})


def _with(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, *args: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, *args), {})

    return method


def _swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    return method


_SIGNS = "add and eq floordiv ge getitem gt invert le lshift lt matmul mod mul ne neg or pos pow rshift sub truediv xor"
_SWAPPED = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"


def _function(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(operator, f"{name}_" if name in ("and", "or") else name)
    return found


for _name in _SIGNS.split():
    setattr(Proxy, f"__{_name}__", _with(_function(_name)))
for _name in _SWAPPED.split():
    setattr(Proxy, f"__r{_name}__", _swapped(_function(_name)))
