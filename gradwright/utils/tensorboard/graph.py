"""Which operators a Module calls, as the graph that TensorBoard shows.

The Module runs once. A handler around operators sees each call, composites as one, and hooks tell in which Module it
is. Results are known again by which objects they are; what was not seen to be made is a parameter, a buffer or a
constant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from gradwright.nn.module import Module
from gradwright.nn.parameter import is_lazy
from gradwright.utils._pytree import tree_leaves, tree_map
from gradwright.utils.tensorboard.loading import tensorboardx
from runtime.base.modes import Variant, handle_calls
from runtime.base.tensor import Tensor
from runtime.call.dispatch import Operator
from runtime.call.public import overload_of

__all__ = ["graph"]

_proto = tensorboardx.proto

# The version of the format that TensorBoard knows.
_PRODUCER = 22


def graph(model: Module, args: Any, verbose: bool = False, use_strict_trace: bool = True) -> Any:
    """The operators that a Module calls for an input, as a GraphDef.

    The Module runs as in evaluation, with copies of its buffers; its modes and buffers are afterwards what they were.

    Args:
        model: the Module.
        args: a Tensor, or a tuple of what it is called with: Tensors, and lists, tuples and dicts of them.
        verbose: print the graph, too.
        use_strict_trace: the Module may not return dicts.

    Raises:
        RuntimeError: there is something else than Tensors in the input or in the result, or a dict in the result.
    """
    with _evaluating(model):
        found = _recorded(model, args, use_strict_trace)
    if verbose:
        print(found)
    return found


def _recorded(model: Module, args: Any, strict: bool) -> Any:
    if args is None:
        raise RuntimeError(
            "there is no input: input_to_model is a Tensor, or a tuple of what the Module is called with"
        )
    given = (args,) if isinstance(args, (Tensor, dict)) else tuple(args)
    if not all(isinstance(leaf, Tensor) for leaf in tree_leaves(given)):
        raise RuntimeError("an input of a graph has Tensors, and lists, tuples and dicts of them, but nothing else")
    # Inputs are known by which objects they are: one that is given twice is two, and a parameter may be one.
    taken = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}

    def own(tensor: Tensor) -> Tensor:
        if id(tensor) in taken:
            return tensor.alias()
        taken.add(id(tensor))
        return tensor

    given = tree_map(own, given)
    recorder = _Recorder(model)
    for name, value in zip(_names_of_arguments(model, len(given)), given, strict=True):
        for path, tensor in _leaves(f"input/{name}", value):
            recorder.add_input(path, tensor)
    with recorder.following(), handle_calls(recorder.handle):
        result = model(*given)
    if strict and any(isinstance(leaf, dict) for leaf in tree_leaves(result, lambda part: isinstance(part, dict))):
        raise RuntimeError(
            "there is a dict in the result: what it has may change from run to run; strict is False then"
        )
    found = tree_leaves(result)
    if not all(isinstance(leaf, Tensor) for leaf in found):
        raise RuntimeError("a result of a graph has Tensors, and lists, tuples and dicts of them, but nothing else")
    for tensor in found:
        recorder.add_output(tensor)
    return _proto.graph_pb2.GraphDef(node=recorder.used(), versions=_proto.versions_pb2.VersionDef(producer=_PRODUCER))


class _Recorder:
    """Makes a node of each call of an operator, and of what Tensors come from otherwise."""

    def __init__(self, model: Module) -> None:
        self.nodes: list[Any] = []
        self._names: set[str] = set()
        # Where each Tensor comes from, by its id. It is kept, so that no other gets the id.
        self._made: dict[int, tuple[str, Tensor]] = {}
        self._scopes: dict[Module, str] = {}
        self._own: dict[int, tuple[str, str]] = {}  # the Module's own Tensors: in which Module, and their names there
        self._inside: list[str] = []  # the Modules that run
        self._calling = False
        self._outputs = 0
        by_path: dict[str, str] = {}
        for path, module in model.named_modules():
            parent, _, name = path.rpartition(".")
            scope = f"{by_path[parent]}/{module._get_name()}[{name}]" if path else module._get_name()
            by_path[path] = self._scopes[module] = scope
            for name, tensor in (*module._parameters.items(), *module._buffers.items()):
                self._own.setdefault(id(tensor), (scope, name))
        self._root = self._scopes[model]

    @contextmanager
    def following(self) -> Iterator[None]:
        """A block in which the recorder knows which Module runs."""

        def enter(module: Module, args: Any) -> None:
            self._inside.append(self._scopes[module])

        def leave(module: Module, args: Any, result: Any) -> None:
            self._inside.pop()

        with ExitStack() as hooks:
            for module in self._scopes:
                hooks.callback(module.register_forward_pre_hook(enter, prepend=True).remove)
                hooks.callback(module.register_forward_hook(leave, always_call=True).remove)
            yield

    def handle(
        self, operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        """A call of an operator; those that it makes itself belong to it."""
        if self._calling:
            return proceed(values)
        read = values[1:] if variant == "out" else values
        self._calling = True
        try:
            answer = proceed(values)
        finally:
            self._calling = False
        called = overload_of(operator, variant)
        result = answer
        if result is None:  # it wrote to what it was given
            result = [
                value for argument, value in zip(called._schema.arguments, read, strict=True) if argument.is_write
            ]
        results = _tensors(result)
        kind = called.name().partition(".")[0]
        inputs = [self._source(value) for value in _tensors(read)]
        name = self._add(f"{self._scope()}/{kind.rpartition('::')[2]}", kind, inputs, _options(operator, read), results)
        for place, tensor in enumerate(results):
            self._made[id(tensor)] = (f"{name}:{place}" if place else name, tensor)
        return answer

    def add_input(self, name: str, tensor: Tensor) -> None:
        """A node of what the Module is called with."""
        self._made[id(tensor)] = (self._add(name, "IO Node", [], None, [tensor]), tensor)

    def add_output(self, tensor: Tensor) -> None:
        """A node of what the Module returned."""
        self._outputs += 1
        self._add(f"output/output.{self._outputs}", "IO Node", [self._source(tensor)], None, [tensor])

    def used(self) -> list[Any]:
        """All nodes but inputs that nothing reads."""
        read = {name for node in self.nodes for name in node.input}
        return [node for node in self.nodes if node.name in read or not node.name.startswith("input/")]

    def _source(self, tensor: Tensor) -> str:
        """The name of what a Tensor comes from."""
        known = self._made.get(id(tensor))
        if known is not None:
            return known[0]
        if id(tensor) in self._own:
            scope, own = self._own[id(tensor)]
            name = self._add(f"{scope}/{own}", "prim::GetAttr", [], {"name": own}, [tensor])
        else:
            name = self._add(f"{self._scope()}/constant", "prim::Constant", [], {}, [tensor])
        self._made[id(tensor)] = (name, tensor)
        return name

    def _scope(self) -> str:
        return self._inside[-1] if self._inside else self._root

    def _add(
        self,
        wanted: str,
        kind: str,
        inputs: Sequence[str],
        options: Mapping[str, Any] | None,
        results: Iterable[Tensor],
    ) -> str:
        """Add a node, under a name that no other has: it is returned."""
        name, count = wanted, 0
        while name in self._names:
            count += 1
            name = f"{wanted}_{count}"
        self._names.add(name)
        # TensorBoard does not show texts right that have single quotes.
        text = "" if options is None else str(dict(options)).replace("'", " ")
        shape, attribute = _proto.tensor_shape_pb2.TensorShapeProto, _proto.attr_value_pb2.AttrValue
        shapes = [shape(dim=[shape.Dim(size=size) for size in x.shape]) for x in results]
        about = {
            "attr": attribute(s=text.encode()),
            "_output_shapes": attribute(list=attribute.ListValue(shape=shapes)),
        }
        self.nodes.append(_proto.node_def_pb2.NodeDef(name=name, op=kind, input=inputs, attr=about))
        return name


@contextmanager
def _evaluating(model: Module) -> Iterator[None]:
    """A block in which a Module is as in evaluation, and may write to its buffers: they are copies."""
    if not isinstance(model, Module):
        raise AttributeError(f"a graph is made of a Module, but {type(model).__name__} has no training mode")
    modes = [(module, module.training) for module in model.modules()]
    buffers = [(module, dict(module._buffers)) for module, _ in modes]
    copies: dict[int, Tensor] = {}
    model.train(False)
    try:
        for module, own in buffers:
            for name, buffer in own.items():
                if buffer is not None and not is_lazy(buffer):
                    if id(buffer) not in copies:
                        copies[id(buffer)] = buffer.detach().clone().requires_grad_(buffer.requires_grad)
                    module._buffers[name] = copies[id(buffer)]
        yield
    finally:
        for module, own in buffers:
            module._buffers.update(own)
        for module, training in modes:
            module.training = training


def _names_of_arguments(model: Module, count: int) -> list[str]:
    """What a Module calls its positional arguments."""
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = inspect.signature(model.forward).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in kinds]
    return (names + [f"input.{place + 1}" for place in range(len(names), count)])[:count]


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """The Tensors in an argument, with names that say where."""
    if isinstance(value, Tensor):
        yield path, value
    else:
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(f"{path}.{key}", part)


def _tensors(values: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


def _options(operator: Operator, values: Sequence[Any]) -> dict[str, Any]:
    """The arguments of a call that are no Tensors, by their names."""
    return {
        parameter.spelled: value
        for parameter, value in zip(operator.signature.parameters, values, strict=True)
        if value is not None and not _tensors([value])
    }
