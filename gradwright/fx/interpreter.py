"""Graphs run Node by Node: to look at values, or to make another graph of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gradwright.fx.code import last_uses
from gradwright.fx.graph import Graph
from gradwright.fx.graph_module import GraphModule
from gradwright.fx.node import Argument, Node, Target, map_aggregate, map_arg
from gradwright.fx.proxy import GraphAppendingTracer, Proxy
from gradwright.nn.module import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph Node by Node; subclasses change what a kind of Node does.

    Args:
        module: has the graph, and what it names.
        garbage_collect_values: whether values go as soon as nobody takes them any more.
        graph: another graph to run.
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.graph: Graph = module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses = last_uses(self.graph.nodes) if garbage_collect_values else {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """What the graph gives for these arguments.

        Args:
            args: the arguments, in the order of the placeholders.
            initial_env: values that are known of Nodes, which are not run.
            enable_io_processing: whether containers are taken apart and put together as the graph's code would.
        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    said = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
                    first = f"{error.args[0]}\n\n" if error.args else ""
                    error.args = (first + said, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            for done in self.user_to_last_uses.get(node, ()):
                del self.env[done]
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """As `run`, of a list that is emptied, so that the arguments may go early."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n: Node) -> Any:
        """The value of a Node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    # -- kinds of Nodes

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """The next argument, or its default.

        Raises:
            RuntimeError: there is neither.
        """
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """What the Module has at a path."""
        return self.fetch_attr(target)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a function gives."""
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a method of the first argument gives."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """What the Module at a path gives."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result."""
        return args[0]

    # -- values

    def fetch_attr(self, target: str) -> Any:
        """What the Module has at a path.

        Raises:
            RuntimeError: there is nothing.
        """
        found: Any = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}; run `graph.lint()` to diagnose "
                    "such issues"
                )
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a Node, with values in the place of Nodes."""
        args, kwargs = self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)
        return args, dict(kwargs)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """An argument with values in the place of Nodes.

        Raises:
            RuntimeError: one has no value yet.
        """

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value)


class _TransformerTracer(GraphAppendingTracer):
    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__(graph)
        self.root = root
        self.tensor_attrs: dict[Any, str] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """Makes another graph: it is run with Proxies, and subclasses change what a kind of Node becomes.

    Args:
        module: has the graph, and what it names.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """A placeholder of the new graph."""
        default = {"default_value": args[0]} if args else {}
        return Proxy(self.new_graph.placeholder(target, **default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """The attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, dict(kwargs))

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """The call of the Module in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, dict(kwargs))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: Mapping[str, Any]) -> Any:
        """The call of the function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, dict(kwargs))

    def transform(self) -> GraphModule:
        """The GraphModule of the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(value: Any) -> Any:
                return value.node if isinstance(value, Proxy) else value

            old = self.graph.output_node()
            output = self.new_graph.output(map_aggregate(result, node_of), old.type)
            output.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)
