"""Tracing: what Proxies record, what can not be traced, and what is as before when a trace is over."""

from __future__ import annotations

import inspect
import math
import operator
import pickle
import threading
from typing import Any

import pytest

import gradwright as torch
from gradwright import fx, nn
from gradwright.fx.proxy import ParameterProxy, TraceError
from gradwright.nn import functional as F
from support.programs import run


def targets(module: fx.GraphModule) -> list[Any]:
    return [node.target for node in module.graph.nodes if node.op not in ("placeholder", "output")]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 2))
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.rest(self.first(x)) * self.scale + self.shift


def test_modules() -> None:
    net = Net()
    module = fx.symbolic_trace(net)
    assert targets(module) == ["first", "rest.0", "rest.1", "scale", operator.mul, "shift", operator.add]
    assert type(module).__name__ == "Net"
    x = torch.ones(4, 2)
    assert torch.equal(module(x), net(x))
    assert module.scale is net.scale
    assert [name for name, _ in module.named_parameters()] == [
        "scale", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias",
    ]  # fmt: skip
    assert module.graph.find_nodes(op="call_module")[1].meta["nn_module_stack"] == {
        "rest": ("rest", nn.Sequential),
        "rest.0": ("rest.0", nn.ReLU),
    }


def test_functions_are_recorded_as_they_are_called() -> None:
    held, relu = torch.cat, F.relu

    def program(x):  # type: ignore[no-untyped-def]
        y = held([relu(x), F.gelu(x)], dim=1)
        return F.dropout(y, training=False) + torch.ones(1) * torch.sum(input=y) - F.max_pool1d(y, 2)

    plain = fx.symbolic_trace(program)
    calls = [node for node in plain.graph.nodes if node.op == "call_function"]
    assert [node.target for node in calls] == [
        F.relu, F.gelu, torch.cat, F.dropout, torch.sum, operator.add, F.max_pool1d, operator.sub,
    ]  # fmt: skip
    assert dict(calls[0].kwargs) == {"inplace": False}
    assert dict(calls[1].kwargs) == {}
    assert dict(calls[3].kwargs) == {"p": 0.5, "training": False, "inplace": False}
    x = torch.linspace(-1, 1, 8).reshape(2, 2, 2)
    assert torch.equal(plain(x), program(x))


def test_methods_of_tensors_meet_proxies() -> None:
    def program(x):  # type: ignore[no-untyped-def]
        one = torch.ones(2)
        return one + x, one - x, one.add(x, alpha=2), one.masked_fill(x > 0, 3.0), torch.add(one, x)

    module = fx.symbolic_trace(program)
    calls = [(node.op, node.target) for node in module.graph.nodes if node.op.startswith("call")]
    assert calls == [
        ("call_method", "add"),
        ("call_method", "sub"),
        ("call_method", "add"),
        ("call_function", operator.gt),
        ("call_method", "masked_fill"),
        ("call_function", torch.add),
    ]
    x = torch.tensor([-1.0, 1.0])
    assert all(map(torch.equal, module(x), program(x)))


def test_everything_else_is_as_before() -> None:
    fx.symbolic_trace(Net())
    assert list(inspect.signature(F.dropout).parameters) == ["input", "p", "training", "inplace"]
    assert F.relu.__name__ == "relu"
    assert "__getattr__" not in vars(nn.Module)
    assert torch.cat is torch.ops.cat
    assert torch.equal(F.relu(torch.tensor([-1.0, 2.0])), torch.tensor([0.0, 2.0]))
    with pytest.raises(TypeError):
        F.relu()  # type: ignore[call-arg]
    with pytest.raises(TraceError):
        fx.symbolic_trace(lambda x: bool(x))
    assert "__getattr__" not in vars(nn.Module)
    assert torch.cat is torch.ops.cat
    assert not fx._symbolic_trace.is_fx_tracing()


def test_functions_see_proxies_for_as_long_as_there_are_some() -> None:
    code = F.relu.__code__
    fx.symbolic_trace(Net())
    assert F.relu.__code__ is code
    graph = fx.Graph()
    proxy = fx.Proxy(graph.placeholder("x"))
    other = fx.Proxy(graph.placeholder("y"))
    assert F.relu.__code__ is not code
    assert list(inspect.signature(F.relu).parameters) == ["input", "inplace"]
    made = F.relu(proxy + 1)
    assert made.node.target is F.relu
    del other, proxy
    assert F.relu.__code__ is not code
    del made
    assert F.relu.__code__ is code
    with pytest.warns(UserWarning, match="Implicit dimension") as found:
        F.softmax(torch.ones(2))
    assert found[0].filename == __file__
    held = fx.Tracer()
    held.trace(Net())
    assert F.relu.__code__ is code


def test_other_threads_are_not_traced() -> None:
    net, seen = Net(), []

    def program(x):  # type: ignore[no-untyped-def]
        thread = threading.Thread(target=lambda: seen.append(net(torch.ones(1, 2)) + torch.add(net.scale, 1)))
        thread.start()
        thread.join()
        return x + 1

    assert targets(fx.symbolic_trace(program)) == [operator.add]
    assert isinstance(seen[0], torch.Tensor)


def test_a_trace_within_a_trace() -> None:
    inner: list[fx.GraphModule] = []

    def program(x):  # type: ignore[no-untyped-def]
        inner.append(fx.symbolic_trace(Net()))
        return torch.relu(x)

    assert targets(fx.symbolic_trace(program)) == [torch.relu]
    assert targets(inner[0])[:3] == ["first", "rest.0", "rest.1"]
    assert torch.cat is torch.ops.cat


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: 1 if x else 2, TraceError, "control flow"),
        (lambda x: [y + 1 for y in x], TraceError, "iterated"),
        (lambda x: torch.add(*x), TraceError, "iterated"),
        (lambda x: len(x), RuntimeError, "'len' is not supported"),
        (lambda x: torch.add(x, object()), NotImplementedError, "argument of type"),
        (lambda x: {x: 1}, RuntimeError, "cannot contain a Node"),
        (lambda x: nn.Parameter(torch.ones(1)) + x, NameError, "not a member"),
        (lambda x: nn.Linear(1, 1)(x), NameError, "not installed"),
    ],
)
def test_what_can_not_be_traced(function: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fx.symbolic_trace(function)
    assert "__getattr__" not in vars(nn.Module)


def test_unpacking_knows_how_many() -> None:
    def program(x):  # type: ignore[no-untyped-def]
        (a, b), c = x.max(0), x.shape
        d, *_ = [a]
        return a + b, c, d

    assert targets(fx.symbolic_trace(program)).count(operator.getitem) == 2


def test_parameters_are_asked_for_once() -> None:
    class Twice(Net):
        def forward(self, x):  # type: ignore[no-untyped-def]
            return x * self.scale + self.scale + self.shift + self.shift

    assert targets(fx.symbolic_trace(Twice())).count("scale") == 1
    assert targets(fx.symbolic_trace(Twice())).count("shift") == 2
    tracer = fx.Tracer()
    tracer.proxy_buffer_attributes = True
    assert [node.target for node in tracer.trace(Twice()).nodes].count("shift") == 1


def test_shapes_of_parameters() -> None:
    seen: list[Any] = []

    class Sized(Net):
        def forward(self, x):  # type: ignore[no-untyped-def]
            p = self.scale
            seen.append((type(p), p.shape, p.size(0), p.dim(), p.ndim, p.numel(), p.nelement(), repr(p)))
            return x

    fx.Tracer(param_shapes_constant=True).trace(Sized())
    assert seen == [(ParameterProxy, (2,), 2, 1, 1, 2, 2, "ParameterProxy(scale)")]


def test_leaves_are_what_a_tracer_says() -> None:
    class Inside(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return module_qualified_name == "rest"

    tracer, net = Inside(), Net()
    graph = tracer.trace(net)
    assert [n.target for n in graph.nodes][1:5] == ["first.weight", "first.bias", F.linear, "rest"]
    assert tracer.node_name_to_scope["linear"] == ("first", nn.Linear)
    module = fx.GraphModule(net, graph)
    assert torch.equal(module(torch.ones(1, 2)), net(torch.ones(1, 2)))
    assert pickle.loads(pickle.dumps(module)).code == module.code


def test_functions_of_modules_that_a_tracer_is_given() -> None:
    module = fx.symbolic_trace(lambda x: math.sqrt(x.shape[0]) + math.sqrt(4))
    assert math.sqrt in targets(module)
    assert module(torch.ones(9)) == 5.0
    assert math.sqrt.__module__ == "math"

    def own(x: Any) -> Any:
        return x if x > 0 else -x

    tracer = fx.Tracer(autowrap_functions=(own,))
    with pytest.raises(TraceError):
        tracer.trace(lambda x: own(x))  # a closure is not looked into


def helper(x, y=1):  # type: ignore[no-untyped-def]
    return x if x.sum() > 0 else -x * y


fx.wrap("helper")


@fx.wrap
def decorated(x):  # type: ignore[no-untyped-def]
    return x if x.sum() > 0 else -x


def test_wrapped_functions() -> None:
    module = fx.symbolic_trace(lambda x: helper(x, y=2) + decorated(x) + decorated(torch.ones(1)))
    assert targets(module)[:2] == [helper, decorated]
    assert torch.equal(module(torch.tensor([-1.0])), torch.tensor([4.0]))
    assert 'wrap("test_fx_trace_helper")' in module.code
    again = fx.symbolic_trace(module)
    assert targets(again) == targets(module)
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("helper")
    with pytest.raises(RuntimeError, match="Unsupported type"):
        fx.wrap(3)  # type: ignore[arg-type]


def test_proxies_of_a_graph_that_is_there() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)
    graph = module.graph
    with graph.inserting_before(graph.output_node()):
        proxy = fx.Proxy(graph.find_nodes(op="call_function", target=operator.add)[0])
        more = F.softmax(torch.cat([proxy, proxy], dim=1), dim=-1).view(-1)
    graph.output_node().args = (more.node,)
    module.recompile()
    assert torch.allclose(module(torch.ones(1, 2)), torch.full((4,), 0.25))
    assert repr(proxy) == "Proxy(add)"


def test_stack_traces() -> None:
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(lambda x: x + 1)
    add = graph.find_nodes(op="call_function", target=operator.add)[0]
    assert add.stack_trace is not None
    assert "test_fx_trace.py" in add.stack_trace
    text = fx.GraphModule(tracer.root, graph).print_readable(print_output=False)
    assert "# File: " in text
    assert "code: graph = tracer.trace(lambda x: x + 1)" in text


def test_not_loaded_unless_asked_for() -> None:
    program = "import sys, gradwright; gradwright.nn.Linear(1, 1); print('gradwright.fx.graph' in sys.modules)"
    assert run(program).strip() == "False"


def test_as_torch() -> None:
    program = """
import gradwright
gradwright.install_as_torch()
import torch
from torch import fx, nn
from torch.fx.node import map_aggregate
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.proxy import TraceError
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net
    def forward(self, x: torch.Tensor, k: int = 2) -> torch.Tensor:
        return torch.nn.functional.relu(torch.add(self.net(x), k))
module = fx.symbolic_trace(Net())
print(module.graph)
print(module.code)
ShapeProp(module).propagate(torch.ones(1, 2))
print(module.print_readable(print_output=False).split("\\n")[0])
"""
    assert [line for line in run(program).split("\n") if line.strip()] == [
        "graph():",
        "    %x : torch.Tensor [num_users=1] = placeholder[target=x]",
        "    %k : int [num_users=1] = placeholder[target=k](default=2)",
        "    %net_0 : [num_users=1] = call_module[target=net.0](args = (%x,), kwargs = {})",
        "    %net_1 : [num_users=1] = call_module[target=net.1](args = (%net_0,), kwargs = {})",
        "    %add : [num_users=1] = call_function[target=torch.add](args = (%net_1, %k), kwargs = {})",
        "    %relu : [num_users=1] = call_function[target=torch.nn.functional.relu](args = (%add,), "
        "kwargs = {inplace: False})",
        "    return relu",
        "def forward(self, x : torch.Tensor, k : int = 2) -> torch.Tensor:",
        '    net_0 = getattr(self.net, "0")(x);  x = None',
        '    net_1 = getattr(self.net, "1")(net_0);  net_0 = None',
        "    add = torch.add(net_1, k);  net_1 = k = None",
        "    relu = torch.nn.functional.relu(add, inplace = False);  add = None",
        "    return relu",
        "class Net(torch.nn.Module):",
    ]
