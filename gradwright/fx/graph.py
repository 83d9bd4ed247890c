"""Graph: the steps of a function in their order."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from gradwright.fx import code
from gradwright.fx.code import CodeGen, PythonCode, TransformCode
from gradwright.fx.names import Namespace, snake_case
from gradwright.fx.node import Argument, Node, Target, map_aggregate, map_arg

if TYPE_CHECKING:
    from gradwright.fx.graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]

_absent: Any = object()


class _NodeList:
    """The Nodes of a graph, to be gone through in order; the one that was given last may be erased meanwhile."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self._graph, self._direction = graph, direction

    def __len__(self) -> int:
        return self._graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        each = getattr(root, self._direction)
        while each is not root:
            if not each._erased:
                yield each
            each = getattr(each, self._direction)

    def __reversed__(self) -> _NodeList:
        return _NodeList(self._graph, "_next" if self._direction == "_prev" else "_prev")


class _InsertPoint:
    """A place for new Nodes, which is there at once and, as a `with` block, until its end."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self._graph, self._before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._graph._insert = self._before


class _Transforming:
    """What ends a change of the code of graphs, as a `with` block, at its end."""

    def __init__(self, codegen: CodeGen, before: TransformCode | None) -> None:
        self._codegen, self._before = codegen, before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._codegen.transform = self._before


class Graph:
    """The Nodes of a function: placeholders for its arguments, calls, and one output.

    Args:
        owning_module: the GraphModule that it is of, if there is one.
        tracer_cls: the class of the Tracer that has recorded it.
        tracer_extras: what this has noted besides.
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type[Any] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._graph_namespace = Namespace()
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> GraphModule | None:
        """The GraphModule that it is of, if there is one."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: GraphModule | None) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _NodeList:
        """The Nodes in their order; `reversed` goes through them from the end."""
        return _NodeList(self)

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The Nodes of a kind, in their order; of calls of functions only those of one.

        Raises:
            AssertionError: the function is not given.
        """
        if op == "call_function" and target is None:
            raise AssertionError("target is required for op='call_function'")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """The output, which is the last Node."""
        node = next(iter(reversed(self.nodes)))
        if node.op != "output":
            raise AssertionError(f"the last Node is {node.format_node()}, and no output")
        return node

    # -- new Nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a Node at the place where new ones go, which is the end unless it is changed.

        Args:
            op: its kind.
            target: what it calls or stands for.
            args: positional arguments.
            kwargs: those by keyword.
            name: what it is called, if that is free.
            type_expr: the annotation of its value.
        """
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        chosen = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), None)
        node = Node(self, chosen, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(chosen, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Target) -> str:
        if callable(target):
            name = getattr(target, "__name__", type(target).__name__)
        else:
            name = target
            if name.startswith("__") and name.endswith("__"):
                name = name[2:-2]
        return snake_case(name.replace(".", "_"))

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = _absent) -> Node:
        """Add an argument of the function.

        Args:
            name: of the argument; with one or two stars it takes all others.
            type_expr: its annotation.
            default_value: its default, if it has one.
        """
        args = () if default_value is _absent else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add a Node for what the Module has at a path, such as `layer.weight`."""
        owner = self._owning_module
        if owner is not None and not has_path(owner, qualified_name):
            warnings.warn(
                f"a get_attr Node of '{qualified_name}', which the GraphModule does not have: add it by "
                "add_submodule, register_parameter or register_buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of the Module at a path.

        Raises:
            AttributeError: the owning Module has none there.
        """
        if self._owning_module is not None:
            self._owning_module.get_submodule(module_name)  # raises where there is none
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add what the function returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Add a Node like one of another graph.

        Args:
            node: the other Node.
            arg_transform: what stands in this graph for a Node among its arguments.
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Argument | None:
        """Add all Nodes of another graph but its output.

        Args:
            g: the other graph.
            val_map: what stands for its Nodes; those that are not in it are copied and put in.
            return_output_node: whether the output Node of the other graph is returned as well.

        Returns:
            the value of the output here; None where there is none.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # -- changes

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Let new Nodes go before one, or to the beginning; a `with` block has it so until its end."""
        if n is None:
            return self.inserting_after(self._root)
        return _InsertPoint(self, self._own(n).prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Let new Nodes go right after one, or to the end; a `with` block has it so until its end."""
        if n is None:
            return self.inserting_before(self._root)
        return _InsertPoint(self, self._own(n).append)

    def _own(self, node: Node) -> Node:
        if node.graph is not self:
            raise AssertionError("Node to insert at is not in graph.")
        return node

    def erase_node(self, to_erase: Node) -> None:
        """Take a Node out that has no users.

        Raises:
            RuntimeError: it has.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        # It keeps its neighbours, so that a loop which is at it goes on.
        before, after = to_erase._prev, to_erase._next
        before._next, after._prev = after, before
        to_erase._erased = True
        self._len -= 1
        to_erase.args, to_erase.kwargs = (), {}

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase the Nodes whose values nobody takes, and say whether there were any.

        Args:
            is_impure_node: says of which Nodes there is more to than their values; `Node.is_impure` if not given.
        """
        self.lint()
        impure = is_impure_node or Node.is_impure
        found = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                found = True
        return found

    def lint(self) -> None:
        """Check that the graph can be run.

        Raises:
            RuntimeError: it is of several graphs, a name stands twice, an argument comes too late, or a path leads to
                nothing.
        """
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")

            def check(argument: Node, node: Node = node) -> Node:
                if argument.graph is not self:
                    raise RuntimeError(f"Argument '{argument}' of Node '{node}' does not belong to this Graph")
                if argument not in seen:
                    raise RuntimeError(
                        f"Argument '{argument}' of Node '{node}' was used before it has been defined! Please check "
                        f"that Nodes in the graph are topologically ordered\n{self}"
                    )
                return argument

            map_arg(node.args, check)
            map_arg(node.kwargs, check)
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            wrong = node.op in ("get_attr", "call_module") and self._owning_module is not None
            if wrong and not has_path(self._owning_module, node.target):
                raise RuntimeError(f"Node {node} target {node.target} references nothing in the owning module")

    def on_generate_code(self, make_transformer: Callable[[TransformCode | None], TransformCode]) -> _Transforming:
        """Change the body of the code from now on; a `with` block has it so until its end.

        Args:
            make_transformer: gets the function that changes it now, or None, and gives the one that is to do it: from
                the lines of a body to those that stand in its place.
        """
        known = self._codegen.transform
        self._codegen.transform = make_transformer(known)
        return _Transforming(self._codegen, known)

    # -- text

    def __str__(self) -> str:
        return "".join(("graph():", *(f"\n    {node.format_node()}" for node in self.nodes)))

    def print_tabular(self) -> None:
        """Print a table with a line for each Node: op, name, target, args, kwargs."""
        heads = ("opcode", "name", "target", "args", "kwargs")
        rows = [tuple(map(str, (n.op, n.name, n.target, n.args, dict(n.kwargs)))) for n in self.nodes]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = (heads, tuple("-" * width for width in widths), *rows)
        print("\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines))

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
    ) -> PythonCode:
        """The graph as a Python function `forward`, and the globals that this needs.

        Args:
            root_module: what the Module is called whose attributes are taken.
            verbose: whether it says what is known of the values, and where they come from.
            include_stride: whether this has strides.
            include_device: whether it has the device.
            colored: has no meaning; text has no colors.
            expanded_def: has no meaning; the first line is one.
        """
        namespace = Namespace()
        for node in self.nodes:
            namespace.rename_object(node, node.name)
        return code.python_code(
            self,
            root_module,
            namespace,
            verbose=verbose,
            include_stride=include_stride,
            include_device=include_device,
        )

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let the function begin and end in another way."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The values of placeholders, of the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of a call, of the value of the output."""
        return self._codegen.process_outputs(out)

    # -- copies

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        memo = {} if memo is None else memo
        copied = type(self)(tracer_cls=self._tracer_cls)
        mapped: dict[Node, Node] = {}
        value = copied.graph_copy(self, mapped, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen, memo)
        if value is not None:
            output = copied.output(value[0], value[1].type)
            output.meta = copy.copy(value[1].meta)
            mapped[value[1]] = output
        memo[id(self)] = copied
        memo.update({id(old): new for old, new in mapped.items()})
        return copied

    def __getstate__(self) -> dict[str, Any]:
        numbers = {node: i for i, node in enumerate(self.nodes)}

        def numbered(argument: Any) -> Any:
            return map_aggregate(argument, lambda a: _Place(numbers[a]) if isinstance(a, Node) else a)

        rows = [(n.op, n.target, numbered(n.args), numbered(n.kwargs), n.name, n.type, n.meta) for n in self.nodes]
        tracer = self._tracer_cls
        found = tracer is not None and "<locals>" not in tracer.__qualname__  # others have no name in a file
        return {"rows": rows, "codegen": self._codegen, "tracer_cls": tracer if found else None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        Graph.__init__(self, tracer_cls=state["tracer_cls"])
        self._codegen = state["codegen"]
        nodes: list[Node] = []

        def found(argument: Any) -> Any:
            return map_aggregate(argument, lambda a: nodes[a.number] if isinstance(a, _Place) else a)

        for op, target, args, kwargs, name, kind, meta in state["rows"]:
            node = self.create_node(op, target, found(args), dict(found(kwargs)), name, kind)
            node.meta = meta
            nodes.append(node)


class _Place:
    """A Node in a file: its number."""

    def __init__(self, number: int) -> None:
        self.number = number


def has_path(module: Any, path: str) -> bool:
    """Whether there is something at a path below a Module."""
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
