"""The Python code of a graph: a function `forward`, and the objects that its names stand for."""

from __future__ import annotations

import operator
import re
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gradwright.fx import _pytree as fx_pytree
from gradwright.fx.names import GLOBALS, Namespace, public_name, qualified_name
from gradwright.fx.node import Node
from gradwright.utils import _pytree as pytree
from runtime.base import identity
from runtime.base.dtypes import dtype as DType

if TYPE_CHECKING:
    from gradwright.fx.graph import Graph

__all__ = ["CodeGen", "PythonCode"]


@dataclass
class PythonCode:
    """What a graph is as Python: the text of a function, and the globals that it needs."""

    src: str
    globals: dict[str, Any]


SIGNS: Mapping[Callable[..., Any], str] = {
    getattr(operator, name): text
    for name, text in {
        "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}", "floordiv": "{} // {}",
        "mod": "{} % {}", "pow": "{} ** {}", "matmul": "{} @ {}", "lshift": "{} << {}", "rshift": "{} >> {}",
        "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}",
        "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}", "getitem": "{}[{}]", "neg": "-{}", "pos": "+{}",
        "invert": "~{}",
    }.items()
}  # fmt: skip
IN_PLACE: Mapping[Callable[..., Any], str] = {
    **{getattr(operator, f"i{name}"): f"{{}} {sign}= {{}}" for name, sign in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"), ("mod", "%"), ("pow", "**"),
        ("matmul", "@"), ("lshift", "<<"), ("rshift", ">>"), ("and", "&"), ("or", "|"), ("xor", "^"),
    )},
    operator.setitem: "{}[{}] = {}",
}  # fmt: skip

# Annotations print as those of `typing`.
_GENERIC = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple}  # noqa: UP006


class _PyTreeInfo(NamedTuple):
    """What a function takes and gives whose graph takes and gives the leaves of that."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


# Makes the lines of a function's body of those that were there.
TransformCode: TypeAlias = Callable[[list[str]], list[str]]


class CodeGen:
    """How the function of a graph begins and ends.

    Attributes:
        transform: what changes its body, if something does: see `Graph.on_generate_code`.
    """

    transform: TransformCode | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line of the function, and what its arguments need."""
        if not free_vars or free_vars[0] != "self":
            free_vars = ["self", *free_vars]
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The last line of the function."""
        return f"return {argument(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The values of placeholders, of the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of a call, of the value of the output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the function needs besides those of the Nodes."""
        return []


class _PyTreeCodeGen(CodeGen):
    """Takes arguments apart and puts results together, for graphs between the leaves of containers."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        """The leaves of the arguments."""
        return pytree.arg_tree_leaves(*args)

    def process_outputs(self, outputs: Any) -> Any:
        """The containers of the leaves."""
        spec = self.pytree_info.out_spec
        if spec is None:
            return outputs
        return pytree.tree_unflatten(outputs if isinstance(outputs, (list, tuple)) else [outputs], spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line, and one that takes the arguments apart."""
        names = self.pytree_info.orig_args
        method = names[:1] == ["self"]
        given = names[1:] if method else names
        head = super().gen_fn_def(list(names), maybe_return_annotation)
        if not free_vars:
            return head
        leaves = [re.sub(r"\s*[:=].*", "", name) for name in free_vars]
        return f"{head}\n    {', '.join(leaves)}, = fx_pytree.tree_flatten_spec([{', '.join(given)}], self._in_spec)"

    def generate_output(self, output_args: Any) -> str:
        """The line that puts the result together."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({argument(output_args)}, self._out_spec)"

    def additional_globals(self) -> list[tuple[str, Any]]:
        """The modules that these lines call."""
        return [("fx_pytree", fx_pytree), ("pytree", pytree)]


def argument(value: Any) -> str:
    """A value as code: Nodes by their names."""
    return _Writer(Namespace()).argument(value)


class _Writer:
    """Writes the lines of one function."""

    def __init__(self, namespace: Namespace, root: str = "self") -> None:
        self.namespace = namespace
        self.root = root
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}

    def name_of(self, hint: str, value: Any) -> str:
        """The name of an object in the code, which it is given if the runtime does not have it."""
        if value is not GLOBALS["device"] and (known := public_name(value)) is not None:
            return known
        name = self.namespace.create_name(hint.replace(".", "_").replace("<", "_").replace(">", "_"), value)
        self.globals[name] = value
        return name

    def annotation(self, value: Any) -> str:
        """An annotation."""
        if value == ():
            return "()"
        origin = getattr(value, "__origin__", None)
        if origin is None:
            return self.name_of(_type_name(value), value)
        origin = _GENERIC.get(origin, origin)
        name = self.name_of(_type_name(origin), origin)
        parts = getattr(value, "__args__", ())
        return f"{name}[{','.join(map(self.annotation, parts))}]" if parts else name

    def argument(self, value: Any) -> str:
        """An argument of a call."""
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            name = self.name_of(_type_name(type(value)), type(value))
            return f"{name}({', '.join(map(self.argument, value))})"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.argument, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.argument, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{self.argument(key)}: {self.argument(each)}' for key, each in value.items())}}}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self.argument, (value.start, value.stop, value.step)))})"
        if isinstance(value, type) or (callable(value) and hasattr(value, "__name__")):
            return self.name_of(_type_name(value), value)
        return repr(value)

    def arguments(self, node: Node, skipped: int = 0) -> str:
        """All arguments of a call."""
        positional = map(self.argument, node.args[skipped:])
        return ", ".join((*positional, *(f"{key} = {self.argument(value)}" for key, value in node.kwargs.items())))

    def call(self, node: Node) -> str:
        """The statement of a Node that calls something."""
        typed = f" : {self.annotation(node.type)}" if node.type is not None else ""
        head, target = f"{node!r}{typed} =", node.target
        if node.op == "call_method":
            return f"{head} {attribute(self.argument(node.args[0]), target)}({self.arguments(node, 1)})"
        if node.op == "call_module":
            return f"{head} {attribute(self.root, target)}({self.arguments(node)})"
        if node.op == "get_attr":
            return f"{head} {attribute(self.root, target)}"
        values = [self.argument(each) for each in node.args]
        if not node.kwargs and len(values) in (1, 2) and target in SIGNS and SIGNS[target].count("{}") == len(values):
            return f"{head} {SIGNS[target].format(*values)}"
        if not node.kwargs and target in IN_PLACE and IN_PLACE[target].count("{}") == len(values):
            return f"{IN_PLACE[target].format(*values)};  {head} {values[0]}"
        plain = target is getattr and len(node.args) == 2 and not node.kwargs and isinstance(node.args[1], str)
        if plain and node.args[1].isidentifier():
            return f"{head} {attribute(values[0], node.args[1])}"
        name = self.name_of(qualified_name(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped[name] = None
        return f"{head} {name}({self.arguments(node)})"


def attribute(owner: str, path: str) -> str:
    """The code for an attribute at a path, the parts of which need not be identifiers."""
    for part in path.split("."):
        owner = f"{owner}.{part}" if part.isidentifier() else f'getattr({owner}, "{part}")'
    return owner


def _type_name(value: Any) -> str:
    if value is ...:
        return "..."
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or getattr(value, "_name", None)
    if name is None:
        return repr(value)
    module = getattr(value, "__module__", "builtins")
    return str(name) if module == "builtins" else f"{module}.{name}"


def last_uses(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """For each Node those whose values nobody takes after it."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for user in reversed(list(nodes)):
        for node in user.all_input_nodes:
            if node not in seen:
                seen.add(node)
                last.setdefault(user, []).append(node)
    return last


_LETTERS = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}


def _tensor_text(node: Node, stride: bool, device: bool) -> str:
    """What is known of the Tensor that is a Node's value: `f32[2, 3]`."""
    known: Any = node.meta.get("val", node.meta.get("tensor_meta"))
    kind = getattr(known, "dtype", None)
    if not isinstance(kind, DType):
        return ""
    name = str(kind).rpartition(".")[2]
    word = re.fullmatch(r"([a-z]+)(\d*)", name)
    short = "b8" if name == "bool" else f"{_LETTERS.get(word[1], word[1])}{word[2]}" if word else name
    text = f"{short}[{', '.join(map(str, known.shape))}]"
    if stride:
        steps = known.stride() if callable(known.stride) else known.stride
        text += f"[{', '.join(map(str, steps))}]"
    if device and hasattr(known, "device"):
        text += str(known.device)
    return text


def python_code(
    graph: Graph,
    root_module: str,
    namespace: Namespace,
    *,
    verbose: bool = False,
    include_stride: bool = False,
    include_device: bool = False,
) -> PythonCode:
    """The code of a graph.

    Args:
        graph: the graph.
        root_module: what the Module is called whose attributes are taken.
        namespace: has the names of the Nodes.
        verbose: whether it says what is known of the values, and where they come from.
        include_stride: whether this has strides.
        include_device: whether it has the device.
    """
    writer = _Writer(namespace, root_module)
    codegen = graph._codegen
    for name, value in (*GLOBALS.items(), (identity.name, sys.modules["gradwright"]), *codegen.additional_globals()):
        writer.globals[name] = value
    free: list[str] = []
    body: list[str] = []
    returned = ""
    done_after = last_uses(graph.nodes)
    where: str | None = None

    for node in graph.nodes:
        if verbose and node.op not in ("placeholder", "output"):
            place = node.stack_trace or "# No stacktrace found for following nodes"
            if place != where:
                where = place
                body.append(f"\n{_place_text(place)}\n")
        shown = _tensor_text(node, include_stride, include_device) if verbose else ""
        if node.op == "placeholder":
            free.append(_parameter(node, writer, shown, body))
        elif node.op == "output":
            if node.type is not None:
                returned = f" -> {writer.annotation(node.type)}"
            body.append(f"{codegen.generate_output(_Named(node.args[0], writer))}\n")
        else:
            text = writer.call(node)
            if shown and node.type is None:
                text = text.replace(f"{node!r} =", f'{node!r}: "{shown}" =', 1)
            unused = [*done_after.get(node, ()), *(() if node.users else (node,))]
            released = f";  {' = '.join(map(repr, unused))} = None" if unused else ""
            body.append(f"{text}{released}\n")
    if not body:
        body.append("pass\n")
    if codegen.transform is not None:
        body = codegen.transform(body)
    wraps = "\n".join(f'{identity.name}.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
    head = codegen.gen_fn_def(free, returned)
    lines = "".join(body).lstrip("\n").split("\n")
    code = "\n".join(f"    {line}" if line or i == len(lines) - 1 else line for i, line in enumerate(lines))
    return PythonCode(f"\n{wraps}\n\n{head}\n{code}", writer.globals)


class _Named:
    """A value to be written by a writer that knows the names of what is in it."""

    def __init__(self, value: Any, writer: _Writer) -> None:
        self._value, self._writer = value, writer

    def __repr__(self) -> str:
        return self._writer.argument(self._value)


def _parameter(node: Node, writer: _Writer, shown: str, body: list[str]) -> str:
    """The parameter of a placeholder; where Nodes call it something else, the body begins with that."""
    typed = f" : {writer.annotation(node.type)}" if node.type is not None else f': "{shown}"' if shown else ""
    default = f" = {writer.argument(node.args[0])}" if node.args else ""
    name = node.target.replace("*", "")
    if name != repr(node):
        body.append(f"{node!r} = {name}\n")
    return f"{node.target}{typed}{default}"


def _place_text(trace: str) -> str:
    """The last place in a stack trace as a comment."""
    if trace.startswith("#"):
        return trace
    lines = [line.strip() for line in trace.strip().split("\n")]
    for i in range(len(lines) - 1, -1, -1):
        found = re.match(r'File "(.+)", line (\d+), in (.+)', lines[i])
        if found:
            code = lines[i + 1] if i + 1 < len(lines) else ""
            return f"# File: {found[1]}:{found[2]} in {found[3]}, code: {code}"
    return f"# {lines[-1]}" if lines else "#"
