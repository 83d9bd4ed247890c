"""Tracing: a function is called with Proxies, and what it does with them becomes a graph."""

from __future__ import annotations

import functools
import inspect
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any, get_type_hints

from gradwright.fx import functions
from gradwright.fx.code import _PyTreeCodeGen, _PyTreeInfo
from gradwright.fx.graph import Graph
from gradwright.fx.graph_module import GraphModule
from gradwright.fx.node import Argument
from gradwright.fx.proxy import ParameterProxy, Proxy, Scope, TracerBase
from gradwright.fx.wrapping import in_place, standing_for, wrap
from gradwright.nn.containers import Sequential
from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from gradwright.utils import _pytree as pytree
from runtime.base.identity import PACKAGES
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState
from runtime.operators.functional import _assert

__all__ = ["PH", "PHBase", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]


class PHBase:
    """Stands in `concrete_args` for a leaf that stays an argument."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()

_tracing = ThreadState()
_call, _get = Module.__call__, Module.__getattr__
# Module's own methods are exchanged while a trace goes on, so there is one at a time.
_lock = threading.RLock()


def is_fx_tracing() -> bool:
    """Whether a trace goes on in this thread."""
    return bool(getattr(_tracing, "depth", 0))


def _assert_is_none(value: Any, msg: str) -> None:
    assert value is None, msg


class Tracer(TracerBase):
    """Records what a function or Module does.

    Args:
        autowrap_modules: modules the functions of which are recorded as they are.
        autowrap_functions: functions that are.
        param_shapes_constant: whether shapes of Parameters are known numbers.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        found = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        }
        self._autowrap_function_ids = frozenset(found | {id(function) for function in autowrap_functions})
        self._autowrap_search: list[ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root: Module = Module()
        self.tensor_attrs: dict[Any, str] = {}

    # -- what subclasses change

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a Module is recorded as such, and not what it does: those of `nn` but Sequential."""
        home = m.__module__
        return home.startswith(("gradwright.nn.", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a Module below the root.

        Raises:
            NameError: it has none.
        """
        if self.submodule_paths is None:
            self.submodule_paths = {each: name for name, each in self.root.named_modules()}
        path = self.submodule_paths.get(mod)
        if path is None:
            path = next((name for name, each in self.root.named_modules() if each is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of a Module is: a Node, or what `forward` gives."""
        path = self.path_of_module(m)
        with self.in_scope(Scope(path, type(m))):
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What an attribute of a Module is: of a Parameter, what stands for it."""
        if isinstance(attr_val, Parameter):
            return self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _proxy_of(self, value: Tensor, named: Iterator[tuple[str, Any]], known: dict[str, Any]) -> Any:
        for name, each in named:
            if each is value:
                if name not in known:
                    factory = None
                    if self.param_shapes_constant:

                        def factory(node: Any, name: str = name) -> Proxy:
                            return ParameterProxy(self, node, name, value)

                    known[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)
                return known[name]
        return value

    def create_arg(self, a: Any) -> Argument:
        """A value as an argument of a Node; Tensors are attributes of the root.

        Raises:
            NameError: a Parameter is none of the root's.
        """
        if isinstance(a, Parameter):
            for name, each in self.root.named_parameters():
                if each is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            path = self.tensor_attrs.get(a)
            if path is None:
                path = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = path
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        if isinstance(a, Module):
            try:
                return self.create_node("get_attr", self.path_of_module(a), (), {})
            except NameError:
                pass
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix: str) -> str:
        """The name of an attribute that the root does not have."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    # -- the trace

    def trace(self, root: Module | Callable[..., Any], concrete_args: Mapping[str, Any] | None = None) -> Graph:
        """The graph of what a function or Module does.

        Args:
            root: the function or Module.
            concrete_args: values of arguments that the graph is for; `PH` in them stands for what stays an argument.
        """
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root)}")
            function = getattr(type(root), self.traced_func_name)
            self.submodule_paths = {each: name for name, each in root.named_modules()}
        else:
            self.root, function = Module(), root
            self.submodule_paths = {self.root: ""}
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        self._note_tensors(self.root, [])
        if not isinstance(function, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(function)}")
        with _lock, self._exchanged(function):
            called, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
            result = self.create_arg(called(*args))
            self.create_node("output", "output", (result,), {}, None, _annotations(function).get("return"))
        self.submodule_paths = None
        return self.graph

    def _note_tensors(self, module: Module, path: list[str]) -> None:
        """Tensors that are attributes of Modules, and no buffers, by their paths."""
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                self.tensor_attrs[value] = ".".join((*path, name))
        for name, child in module.named_children():
            self._note_tensors(child, [*path, name])

    @contextmanager
    def _exchanged(self, function: FunctionType) -> Iterator[None]:
        """Let calls and attributes of Modules, and functions that are wrapped, come to this Tracer."""
        known_parameters: dict[str, Any] = {}
        before = {name: vars(Module).get(name) for name in ("__call__", "__getattr__")}

        def called(module: Module, *args: Any, **kwargs: Any) -> Any:
            if not is_fx_tracing():
                return _call(module, *args, **kwargs)
            self._wrap_in(getattr(module.forward, "__globals__", {}), stack)
            return self.call_module(module, lambda *a, **k: _call(module, *a, **k), args, kwargs)

        def attribute(module: Module, name: str) -> Any:
            value = _get(module, name)
            return self.getattr(name, value, known_parameters) if is_fx_tracing() else value

        with ExitStack() as stack:
            namespaces = [function.__globals__, *map(vars, self._autowrap_search), *functions.namespaces()]
            self._searched = {id(names) for names in namespaces}
            stack.enter_context(in_place(_recorded, namespaces, self._recorded_ids()))
            type.__setattr__(Module, "__call__", called)
            type.__setattr__(Module, "__getattr__", attribute)
            _tracing.depth = getattr(_tracing, "depth", 0) + 1
            try:
                yield
            finally:
                _tracing.depth -= 1
                functions.let_go(self)
                for name, value in before.items():
                    if value is None:
                        type.__delattr__(Module, name)
                    else:
                        type.__setattr__(Module, name, value)

    def _wrap_in(self, names: dict[str, Any], stack: ExitStack) -> None:
        """Look for functions that are wrapped in the module of a forward that is called."""
        if id(names) not in self._searched:
            self._searched.add(id(names))
            stack.enter_context(in_place(_recorded, [names], self._recorded_ids(), wrapped=False))

    def _recorded_ids(self) -> frozenset[int]:
        return self._autowrap_function_ids | frozenset(map(id, functions.operators().values()))

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Mapping[str, Any] | None = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The placeholders of a function.

        Args:
            root_fn: the function.
            is_module: whether its first argument is the Module.
            concrete_args: values of arguments that the graph is for.

        Returns:
            the function, which may take leaves of containers, and what to call it with.

        Raises:
            RuntimeError: it has no argument for the Module.
        """
        inner = inspect.unwrap(root_fn)
        code: CodeType = inner.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        positional = list(names[: code.co_argcount])
        args: list[Any] = []
        if is_module:
            if not positional:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
        first = len(args)
        concrete = dict(concrete_args or {})
        signature = inspect.signature(inner)
        hints = _annotations(inner)
        taken = [0]

        def placeholder(name: str) -> Any:
            bare = name.lstrip("*")
            default = signature.parameters[bare].default if bare == name else inspect.Parameter.empty
            defaults = () if default is inspect.Parameter.empty else (default,)
            if name in concrete:
                return self._concrete(name, concrete[name], defaults, taken)
            return self.create_proxy("placeholder", name, defaults, {}, type_expr=hints.get(bare))

        args.extend(placeholder(name) for name in positional[first:])
        by_keyword = [(name, placeholder(name)) for name in names[code.co_argcount :]]
        rest = list(code.co_varnames[len(names) :])
        stars = [rest.pop(0)] if code.co_flags & inspect.CO_VARARGS else []
        double = [rest.pop(0)] if code.co_flags & inspect.CO_VARKEYWORDS else []
        variable = [self.create_proxy("placeholder", f"*{name}", (), {}) for name in stars]
        keyed = [self.create_proxy("placeholder", f"**{name}", (), {}) for name in double]
        called = root_fn
        if by_keyword or variable or keyed:
            called = _with_all(root_fn, by_keyword, variable, keyed)
        if any(isinstance(concrete.get(name), (dict, list, tuple)) for name in positional):
            return self._between_leaves(called, args, positional, first)
        return called, args

    def _concrete(self, name: str, value: Any, defaults: tuple[Any, ...], taken: list[int]) -> Any:
        """A value that the graph is for, with placeholders of its leaves, which are checked to be the same ones."""

        def leaf(each: Any) -> Any:
            taken[0] += 1
            made = self.create_proxy("placeholder", f"{name}_{taken[0]}", defaults, {})
            if isinstance(each, PHBase):
                return made
            if type(each) in (int, float, bool, str) or (type(each) is Tensor and each.numel() == 1):
                said = f"{name} has been specialized to have value {each} but got another value"
                self.create_proxy("call_function", _assert, (made == each, said), {})
            elif each is None:
                said = f"{name} has been specialized to have value None but got another value"
                self.create_proxy("call_function", _assert_is_none, (made, said), {})
            return each

        taken[0] = 0
        return pytree.tree_map(leaf, value)

    def _between_leaves(
        self, called: Callable[..., Any], args: Sequence[Any], names: list[str], first: int
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The function of the leaves of arguments that gives the leaves of the result."""
        leaves, spec = pytree.tree_flatten(list(args[first:]))

        def function(*flat: Any) -> Any:
            out = called(*args[:first], *pytree.tree_unflatten(flat, spec))
            flat_out, out_spec = pytree.tree_flatten(out)
            self.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, spec, out_spec)))
            return flat_out

        return function, leaves


@functools.cache
def _recorded(original: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for a function while a trace goes on."""
    is_operator = functions.operators().get(getattr(original, "__name__", "")) is original

    def record(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        proxy = functions.find(Proxy, (*args, *kwargs.values()))
        if proxy is None:
            return NotImplemented
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        if not is_operator:
            made.node.meta["is_wrapped"] = True  # generated code wraps it again
        return made

    return standing_for(original, record)


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function; those of the runtime, which are strings, as what they mean, and not Any."""
    inner = inspect.unwrap(function)
    found: dict[str, Any] = getattr(inner, "__annotations__", {})
    if (getattr(inner, "__module__", None) or "").partition(".")[0] not in PACKAGES:
        return found
    return {name: hint for name, hint in get_type_hints(inner).items() if hint is not Any}


def _with_all(
    function: Callable[..., Any], by_keyword: list[tuple[str, Any]], variable: list[Any], keyed: list[Any]
) -> Callable[..., Any]:
    """A function that gives `function` Proxies as they are for what it takes by keyword and by its stars."""
    inner = inspect.unwrap(function)
    code = inner.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    changed = code.replace(
        co_flags=flags,
        co_argcount=code.co_argcount + code.co_kwonlyargcount + len(variable) + len(keyed),
        co_kwonlyargcount=0,
        co_posonlyargcount=0,
    )
    flat = FunctionType(changed, inner.__globals__, inner.__name__, None, inner.__closure__)
    others = [*(proxy for _, proxy in by_keyword), *variable, *keyed]
    return lambda *args: flat(*args, *others)


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: Mapping[str, Any] | None = None) -> GraphModule:
    """The GraphModule of what a function or Module does.

    Args:
        root: the function or Module.
        concrete_args: values of arguments that it is for.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
