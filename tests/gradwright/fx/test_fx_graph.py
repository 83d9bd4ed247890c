"""Graphs and their Nodes: made by hand, changed, checked, copied, and printed."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import pytest

import gradwright as torch
from gradwright.fx import Graph, GraphModule, Node, has_side_effect, map_arg
from gradwright.fx.immutable_collections import immutable_dict, immutable_list


def small() -> Graph:
    """(x + 1) * relu(y)."""
    graph = Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y", default_value=2)
    left = graph.call_function(operator.add, (x, 1))
    right = graph.call_function(torch.relu, (y,))
    graph.output(graph.call_function(operator.mul, (left, right)))
    return graph


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def test_text() -> None:
    assert str(small()).split("\n") == [
        "graph():",
        "    %x : [num_users=1] = placeholder[target=x]",
        "    %y : [num_users=1] = placeholder[target=y](default=2)",
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})",
        "    %relu : [num_users=1] = call_function[target=gradwright.relu](args = (%y,), kwargs = {})",
        "    %mul : [num_users=1] = call_function[target=operator.mul](args = (%add, %relu), kwargs = {})",
        "    return mul",
    ]
    assert small().python_code("self").src.strip().split("\n") == [
        "def forward(self, x, y = 2):",
        "    add = x + 1;  x = None",
        "    relu = gradwright.relu(y);  y = None",
        "    mul = add * relu;  add = relu = None",
        "    return mul",
    ]


def test_a_table_has_a_line_for_each_node(capsys: pytest.CaptureFixture[str]) -> None:
    small().print_tabular()
    lines = capsys.readouterr().out.strip().split("\n")
    assert [line.split()[:2] for line in lines] == [
        ["opcode", "name"],
        ["-------------", "------"],
        ["placeholder", "x"],
        ["placeholder", "y"],
        ["call_function", "add"],
        ["call_function", "relu"],
        ["call_function", "mul"],
        ["output", "output"],
    ]


def test_names_are_new_ones() -> None:
    graph = Graph()
    made = [
        graph.placeholder(name).name for name in ("a", "a", "a_1", "a_5", "a", "class", "sum", "torch", "0x", "b.c")
    ]
    assert made == ["a", "a_1", "a_2", "a_5", "a_6", "class_1", "sum_1", "torch_1", "_0x", "b_c"]
    assert graph.call_function(torch.nn.LSTM.forward).name == "forward"
    assert graph.call_method("__getitem__").name == "getitem"
    graph.call_method("other").name = "a"
    assert names(graph)[-1] == "a_7"


def test_users_follow_arguments() -> None:
    graph = small()
    x, y, add, relu, mul, output = graph.nodes
    assert mul.all_input_nodes == [add, relu]
    assert list(add.users) == [mul]
    mul.args = (add, {"k": [relu, slice(x, None)]})
    assert mul.all_input_nodes == [add, relu, x]
    assert list(x.users) == [add, mul]
    mul.kwargs = {"z": y}
    mul.args = (2,)
    assert list(y.users) == [relu, mul]
    assert not add.users
    mul.update_kwarg("z", x)
    mul.insert_arg(0, relu)
    assert (mul.args, dict(mul.kwargs)) == ((relu, 2), {"z": x})
    assert add.replace_all_uses_with(relu) == []
    assert x.replace_all_uses_with(y, lambda user: user is add) == [add]
    assert list(x.users) == [mul]
    assert (output.prev, output.next.op) == (mul, "root")


def test_order() -> None:
    graph = small()
    x, _y, add, relu, *_ = graph.nodes
    relu.append(add)
    assert names(graph) == ["x", "y", "relu", "add", "mul", "output"]
    add.prepend(x)
    assert names(graph) == ["y", "relu", "x", "add", "mul", "output"]
    assert relu < x < add
    assert not add <= x
    assert names(graph) == [node.name for node in reversed(list(reversed(graph.nodes)))]
    with pytest.raises(AssertionError, match="different Graph"):
        x.append(next(iter(small().nodes)))


def test_places_of_new_nodes() -> None:
    graph = small()
    add = list(graph.nodes)[2]
    with graph.inserting_before(add):
        graph.call_method("before", (add.args[0],))
        with graph.inserting_after(add):
            graph.call_method("after", (add,))
        graph.call_method("again", (add.args[0],))
    with graph.inserting_before():
        graph.placeholder("first")
    graph.call_method("last", ())
    assert names(graph) == [
        "first", "x", "y", "before", "again", "add", "after", "relu", "mul", "output", "last",
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="not in graph"):
        graph.inserting_after(next(iter(small().nodes)))


def test_erasing() -> None:
    graph = small()
    x, _y, add, _relu, mul, _output = graph.nodes
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(add)
    with pytest.raises(RuntimeError, match="wrong graph"):
        small().erase_node(graph.call_method("free"))
    for node in reversed(graph.nodes):  # goes on after a Node that is erased
        if not node.users and node.op != "placeholder":
            graph.erase_node(node)
    assert names(graph) == ["x", "y"]
    assert (len(graph.nodes), x.users) == (2, {})
    with pytest.warns(UserWarning, match="already erased"):
        graph.erase_node(mul)


def test_dead_code_goes_but_for_effects() -> None:
    def noted(value: Any) -> None:
        pass

    graph = small()
    x = next(iter(graph.nodes))
    with graph.inserting_before(graph.output_node()):
        graph.call_method("add_", (x, 1))
        graph.call_function(operator.setitem, (x, 0, graph.call_method("sin", (x,))))
        graph.call_function(torch._assert, (x, "no"))
        graph.call_function(noted, (x,))
    assert graph.eliminate_dead_code()
    assert names(graph) == ["x", "y", "add", "relu", "mul", "sin", "setitem", "_assert", "output"]
    assert not graph.eliminate_dead_code()
    with graph.inserting_before(graph.output_node()):
        graph.call_function(has_side_effect(noted), (x,))
    assert not graph.eliminate_dead_code()
    assert graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output"))
    assert names(graph) == ["x", "y", "add", "relu", "mul", "output"]


def test_lint() -> None:
    graph = small()
    graph.lint()
    x, _y, add, *_ = graph.nodes
    add.append(x)
    with pytest.raises(RuntimeError, match="Argument 'x' of Node 'add' was used before it has been defined"):
        graph.lint()
    module = GraphModule(torch.nn.Module(), Graph())
    module.add_submodule("0", torch.nn.ReLU())
    module.graph.call_module("0")
    module.graph.lint()
    module.delete_submodule("0")
    with pytest.raises(RuntimeError, match="references nothing"):
        module.graph.lint()
    with pytest.raises(AttributeError):
        module.graph.call_module("nothing")
    with pytest.warns(UserWarning, match="does not have"):
        module.graph.get_attr("nothing.here")


def test_arguments_do_not_change() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    node = graph.call_method("cat", ([x, {"a": [x]}],), {"k": {"b": x}})
    assert isinstance(node.args[0], immutable_list)
    assert isinstance(node.args[0][1], immutable_dict)
    for change in (
        lambda: node.args[0].append(1),
        lambda: node.args[0][1].update(a=1),
        lambda: node.kwargs.pop("k"),  # type: ignore[attr-defined]
        lambda: operator.setitem(node.args[0], 0, 1),
        lambda: operator.setitem(node.kwargs, "k", 1),  # type: ignore[call-overload]
    ):
        with pytest.raises(TypeError, match="does not support mutation"):
            change()
    plain = immutable_list([1, (2,)]), immutable_dict(a=1)
    assert pickle.loads(pickle.dumps(plain)) == plain
    assert hash(plain[0]) == hash(immutable_list([1, (2,)]))
    assert copy.deepcopy(plain) == plain


def test_map_arg() -> None:
    x = Graph().placeholder("x")
    value = (x, [1, slice(x, 2)], {"a": torch.Size([2])})
    assert map_arg(value, lambda node: node.name) == ("x", [1, slice("x", 2)], {"a": (2,)})


def test_wrong_nodes() -> None:
    graph = Graph()
    with pytest.raises(AssertionError, match="invalid op"):
        graph.create_node("nothing", "x")
    with pytest.raises(ValueError, match="Callable"):
        graph.create_node("call_function", "x")
    with pytest.raises(ValueError, match="str"):
        graph.create_node("call_method", len)
    with pytest.raises(AssertionError, match="tuple"):
        graph.call_method("x", [1])  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="target is required"):
        graph.find_nodes(op="call_function")


def test_copies() -> None:
    graph = small()
    next(iter(graph.nodes)).meta["note"] = [1]
    for copied in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert str(copied) == str(graph)
        assert next(iter(copied.nodes)).meta == {"note": [1]}
        assert not {*copied.nodes} & {*graph.nodes}
        copied.lint()
    other = Graph()
    given = other.placeholder("given")
    known: dict[Node, Node] = {next(iter(graph.nodes)): given}
    other.output(other.graph_copy(graph, known))
    assert names(other) == ["given", "y", "add", "relu", "mul", "output"]
    assert known[list(graph.nodes)[2]].args == (given, 1)


def test_code_of_signs_and_attributes() -> None:
    graph = Graph()
    x = graph.placeholder("*args")
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (operator.isub, (x, 1)),
        (operator.invert, (x,)),
        (operator.getitem, (x, (slice(None), None, ...))),
        (getattr, (x, "shape")),
        (getattr, (x, "0")),
        (getattr, (x, "T", None)),
        (abs, (x,)),
        (torch.zeros, ((2,), float("inf"))),
        (torch.nn.functional.linear, (x, x)),
        (torch.linalg.norm, (x,)),
        (isinstance, (x, torch.Tensor)),
        (torch.Size, ([1],)),
    ]
    for function, args in calls:
        graph.call_function(function, args)
    graph.get_attr("a.0.b")
    assert 'a_0_b = getattr(root.a, "0").b' in graph.python_code("root").src
    lines = graph.python_code("self").src.strip().split("\n")
    assert [line.strip().partition(";  ")[0] for line in lines] == [
        "def forward(self, *args):",
        "_args = args",
        "_args -= 1",
        "invert = ~_args",
        "getitem = _args[(slice(None, None, None), None, Ellipsis)]",
        "getattr_1 = _args.shape",
        "getattr_2 = getattr(_args, '0')",
        "getattr_3 = getattr(_args, 'T', None)",
        "abs_1 = abs(_args)",
        "zeros = gradwright.zeros((2,), inf)",
        "linear = gradwright._C._nn.linear(_args, _args)",
        "linalg_norm = gradwright._C._linalg.linalg_norm(_args)",
        "isinstance_1 = isinstance(_args, gradwright.Tensor)",
        "size = gradwright.Size([1])",
        'a_0_b = getattr(self.a, "0").b',
    ]
