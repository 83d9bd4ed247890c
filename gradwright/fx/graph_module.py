"""GraphModule: a Module whose forward is generated from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from gradwright.fx.code import _PyTreeCodeGen
from gradwright.fx.folder import write
from gradwright.fx.graph import Graph, PythonCode
from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from runtime.base import identity
from runtime.base.tensor import Tensor

__all__ = ["GraphModule"]

_numbers = itertools.count()


def _compiled(code: PythonCode) -> Callable[..., Any]:
    """The function `forward` of the code; tracebacks show its lines."""
    file = f"<eval_with_key>.{next(_numbers)}"
    lines = code.src.splitlines(keepends=True)
    linecache.cache[file] = (len(code.src), None, lines, file)
    names = dict(code.globals)
    exec(compile(code.src, file, "exec", dont_inherit=True), names)
    forward: Callable[..., Any] = names["forward"]
    return forward


def _copy_attribute(source: Module, target: Module, path: str) -> None:
    """Let `target` have at a path what `source` has there."""
    *above, last = path.split(".")
    for name in above:
        source = getattr(source, name)
    _put(target, path, getattr(source, last), last not in getattr(source, "_non_persistent_buffers_set", ()))


def _put(target: Module, path: str, value: Any, persistent: bool = True) -> None:
    """Put a value at a path, with new Modules on the way; a Tensor that is no Parameter is a buffer."""
    *above, last = path.split(".")
    for name in above:
        if not hasattr(target, name):
            setattr(target, name, Module())
        target = getattr(target, name)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        target.register_buffer(last, value, persistent)
    else:
        setattr(target, last, value)


class GraphModule(Module):
    """A Module that does what a graph says.

    Args:
        root: has the Modules and Tensors that the graph names: a Module, or a dictionary by their paths.
        graph: what it does.
        class_name: what its class is called.
    """

    meta: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """An object of a class of its own, which has its forward."""
        base = next(each for each in cls.__mro__ if "_of_one_object" not in vars(each))
        return super().__new__(type("GraphModule", (base,), {"_of_one_object": True, "__module__": base.__module__}))

    def __init__(self, root: Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        self._take_members(root, graph)
        self.meta = (
            dict(root.meta) if isinstance(root, Module) and isinstance(getattr(root, "meta", None), dict) else {}
        )
        self.graph = graph

    def _take_members(self, root: Module | Mapping[str, Any], graph: Graph) -> None:
        paths = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for path in paths:
                _copy_attribute(root, self, path)
            return
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module") and node.target not in root:
                raise RuntimeError(
                    f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                )
        for path in sorted(set(paths), key=lambda each: each.count(".")):
            _put(self, path, root[path])

    @property
    def graph(self) -> Graph:
        """What it does; a new one is compiled when it is set."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def recompile(self) -> PythonCode:
        """Make the forward anew, which changes of the graph need."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        made = self._graph.python_code("self")
        self._code = made.src
        type(self).forward = _compiled(made)
        return made

    @property
    def code(self) -> str:
        """The Python code of its forward."""
        return self._code

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write a package of Python whose class does what this Module does, with its values.

        Modules that have no text which makes them are pickled, and a warning says which. Files are found beside the
        code, so the folder can be moved.

        Args:
            folder: of the package, which is made if there is none.
            module_name: what the class is called.

        Raises:
            RuntimeError: the code names something that cannot be imported.
        """
        write(self, Path(folder), module_name)

    # -- its Modules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a Module at a path, with new ones on the way; False where something else is in the way."""
        *above, last = target.split(".")
        module: Module = self
        for name in above:
            found = getattr(module, name, None)
            if found is None:
                found = Module()
                setattr(module, name, found)
            elif not isinstance(found, Module):
                return False
            module = found
        module.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the Module at a path away; False where there is none."""
        *above, last = target.split(".")
        module: Any = self
        for name in above:
            module = getattr(module, name, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, last, None), Module):
            return False
        delattr(module, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take the Modules away that the graph does not use."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    inner = self.get_submodule(node.target)
                    used.update(f"{node.target}.{name}" for name, _ in inner.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # -- text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join((super().__repr__(), self._code, hint))

    def __repr__(self) -> str:
        return self.__str__()

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """Its code as a class, with those of GraphModules in it, and what is known of the values.

        Args:
            print_output: whether it is printed, too.
            include_stride: whether strides are said.
            include_device: whether devices are.
            colored: has no meaning; text has no colors.
            fast_sympy_print: has no meaning; sizes are numbers.
            expanded_def: has no meaning; the first line is one.
            additional_meta: names in `meta` of Nodes that are said as well; has no meaning.
        """
        text = _readable(self, type(self).__name__, include_stride, include_device)
        if print_output:
            print(text)
        return text

    # -- copies

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made: GraphModule = GraphModule.__new__(type(self))
        memo[id(self)] = made
        state = {name: value for name, value in vars(self).items() if name != "_graph"}
        vars(made).update(copy.deepcopy(state, memo))
        type(made).__name__ = type(self).__name__
        made.graph = copy.deepcopy(self._graph, memo)
        return made

    def __copy__(self) -> GraphModule:
        made: GraphModule = GraphModule.__new__(type(self))
        vars(made).update({name: value for name, value in vars(self).items() if name != "_graph"})
        type(made).__name__ = type(self).__name__
        made.graph = copy.deepcopy(self._graph)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        base = next(each for each in type(self).__mro__ if "_of_one_object" not in vars(each))
        return _restored, (base, type(self).__name__, vars(self))


def _restored(base: type[GraphModule], class_name: str, state: dict[str, Any]) -> GraphModule:
    """A GraphModule of a file."""
    made = GraphModule.__new__(base)
    vars(made).update({name: value for name, value in state.items() if name != "_graph"})
    type(made).__name__ = class_name
    made.graph = state["_graph"]
    return made


def _readable(module: GraphModule, name: str, stride: bool, device: bool) -> str:
    made = module.graph.python_code("self", verbose=True, include_stride=stride, include_device=device)
    parts = [f"class {name}({identity.name}.nn.Module):\n{_indented(made.src.strip())}\n"]
    for child_name, child in module.named_children():
        if isinstance(child, GraphModule):
            parts.append(_indented(_readable(child, child_name, stride, device)))
    return "\n".join(parts)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.split("\n"))
