"""Node: one step of a graph, with the Nodes whose values it takes and those that take its own."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gradwright.fx.immutable_collections import immutable_dict, immutable_list
from gradwright.fx.names import shown_name
from gradwright.fx.operator_schemas import ArgsKwargsPair, normalize_function, normalize_module
from gradwright.nn.module import Module

if TYPE_CHECKING:
    from gradwright.fx.graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
Target = Any

OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")

# Functions that do something besides giving a value.
_with_effects: set[Callable[..., Any]] = {operator.setitem}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of a function that nobody takes the value of, when dead code is eliminated; a decorator, too."""
    _with_effects.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """An argument with `fn` of each of its leaves in their place; what comes out can not be changed."""
    if isinstance(a, tuple):
        parts = tuple(map_aggregate(each, fn) for each in a)
        return getattr(type(a), "_make", type(a))(parts) if hasattr(a, "_fields") else parts
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """An argument with `fn` of each Node in its place."""
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


class Node:
    """One step of a Graph.

    Args:
        graph: the Graph that it is a part of.
        name: by which its value is called.
        op: placeholder, get_attr, call_function, call_module, call_method or output.
        target: what is called: a function, the path of a Module or attribute, the name of a method or argument.
        args: positional arguments, in which other Nodes stand for their values.
        kwargs: those by keyword.
        return_type: the annotation of its value, if there is one.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"invalid op: {op}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)}, but a "
                    "call_function Node calls a Callable"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)}, but a {op} Node "
                "names a str"
            )
        self.graph = graph
        self._name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: Mapping[str, Argument] = immutable_dict()
        self._take(args, kwargs)

    # -- the place in the graph

    @property
    def next(self) -> Node:
        """The Node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The Node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put a Node of the same graph before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x.unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Put a Node of the same graph after this one."""
        if x is not self._next:
            self._next.prepend(x)

    def unlink(self) -> None:
        """Take this Node out of the order, as it is before it has another place."""
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def __lt__(self, other: Node) -> bool:
        """Whether it comes before another Node of the graph."""
        return self is not other and self._is_before(other)

    def __le__(self, other: Node) -> bool:
        return self is other or self._is_before(other)

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __ge__(self, other: Node) -> bool:
        return other <= self

    def _is_before(self, other: Node) -> bool:
        each = self._next
        while each.op != "root":
            if each is other:
                return True
            each = each._next
        return False

    # -- arguments and users

    @property
    def name(self) -> str:
        """By which its value is called in the code."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._rename(name)

    def _rename(self, candidate: str) -> None:
        if candidate != self._name:
            self._name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace.rename_object(self, self._name)

    @property
    def args(self) -> tuple[Argument, ...]:
        """Positional arguments; new ones are given as a whole."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._take(args, self._kwargs)

    @property
    def kwargs(self) -> Mapping[str, Argument]:
        """Arguments by keyword; new ones are given as a whole."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Mapping[str, Argument]) -> None:
        self._take(self._args, kwargs)

    def _take(self, args: Any, kwargs: Any) -> None:
        found: dict[Node, None] = {}

        def note(node: Node) -> Node:
            found[node] = None
            return node

        self._args, self._kwargs = map_arg(tuple(args), note), map_arg(dict(kwargs), note)
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = found
        for new in found:
            new.users[self] = None

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Put another argument in the place of the one at `idx`."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put a positional argument before the one at `idx`.

        Raises:
            AssertionError: there is no such place.
        """
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Put another argument in the place of the one with this keyword."""
        self.kwargs = {**self._kwargs, key: arg}

    @property
    def all_input_nodes(self) -> list[Node]:
        """The Nodes among the arguments, each once."""
        return list(self._input_nodes)

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take the value of one Node instead of that of another."""

        def changed(node: Node) -> Node:
            return new_input if node is old_input else node

        self._take(map_arg(self._args, changed), map_arg(self._kwargs, changed))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users of this Node take the value of another one instead.

        Args:
            replace_with: the other Node.
            delete_user_cb: says of a user whether it changes; all do unless it is given.
            propagate_meta: whether the other Node gets the `meta` of this one.

        Returns:
            the users that have changed.

        Raises:
            AssertionError: `propagate_meta` and the other Node has a `meta` of its own.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                    "has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def normalized_arguments(
        self,
        root: Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> ArgsKwargsPair | None:
        """The arguments in the form that the signature of what is called gives them, with its defaults.

        Args:
            root: the Module in which Modules are found.
            arg_types: the types of positional arguments, which choose among overloads.
            kwarg_types: those of arguments by keyword.
            normalize_to_only_use_kwargs: whether all are given by keyword.

        Returns:
            None, where nothing is known of what is called, or nothing is.

        Raises:
            RuntimeError: several overloads take these arguments, and no types are given.
        """
        if self.op == "call_function":
            return normalize_function(
                self.target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(root, self.target, self._args, self._kwargs, normalize_to_only_use_kwargs)
        return None

    def is_impure(self) -> bool:
        """Whether it does something besides giving a value, so that it stays where nobody takes that."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _with_effects or self.target is vars(sys.modules["gradwright"])["_assert"]
        if self.op == "call_module" and self.graph.owning_module is not None:
            module = self.graph.owning_module.get_submodule(self.target)
            return bool(getattr(module, "_is_impure", False)) if isinstance(module, Module) else False
        return False

    @property
    def stack_trace(self) -> str | None:
        """Where the program was when this Node was recorded, if that is known."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    # -- text

    def __repr__(self) -> str:
        return self._name

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None
    ) -> str | None:
        """The line of this Node in the text of its graph.

        Args:
            placeholder_names: gets the names of placeholders, which then have no line.
            maybe_return_typename: gets the annotation of an output, if it has one.
        """
        typed = f"{type_text(self.type)} " if self.type is not None else ""
        head = f"%{self._name} : {typed}[num_users={len(self.users)}] = "
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target} : {typed}".rstrip(" :"))
                return None
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{head}{self.op}[target={shown_name(self.target)}]{default}"
        if self.op == "get_attr":
            return f"{head}{self.op}[target={shown_name(self.target)}]"
        if self.op == "output":
            if typed and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_text(self.type)}"
            return f"return {self._args[0]}"
        return (
            f"{head}{self.op}[target={shown_name(self.target)}]"
            f"(args = {_argument_text(self._args)}, kwargs = {_argument_text(self._kwargs)})"
        )


def type_text(annotation: Any) -> str:
    """An annotation as the text of a graph has it."""
    from_runtime = getattr(annotation, "__module__", None)
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__ if from_runtime == "builtins" else shown_name(annotation)
    return repr(annotation)


def _argument_text(argument: Any) -> str:
    """An argument in the text of a graph: strings without quotes, Nodes with a percent sign."""
    if isinstance(argument, Node):
        return f"%{argument}"
    if isinstance(argument, list):
        return f"[{', '.join(map(_argument_text, argument))}]"
    if isinstance(argument, tuple):
        return f"({', '.join(map(_argument_text, argument))}{',' if len(argument) == 1 else ''})"
    if isinstance(argument, dict):
        return f"{{{', '.join(f'{key}: {_argument_text(value)}' for key, value in argument.items())}}}"
    return str(argument)
