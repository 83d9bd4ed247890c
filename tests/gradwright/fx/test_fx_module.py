"""GraphModules and what runs graphs: Modules of generated code, Interpreter, Transformer, patterns, shapes."""

from __future__ import annotations

import copy
import io
import operator
import pickle
import traceback
from typing import Any

import pytest

import gradwright as torch
from gradwright import fx, nn
from gradwright.fx._symbolic_trace import PH
from gradwright.fx.passes.shape_prop import ShapeProp
from gradwright.fx.subgraph_rewriter import replace_pattern_with_filters


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("kept", torch.ones(2))
        self.register_buffer("passing", torch.ones(2), persistent=False)
        self.constant = torch.full((2,), 3.0)

    def forward(self, x):  # type: ignore[no-untyped-def]
        return torch.relu(self.linear(x)) * self.kept + self.passing - self.constant


X = torch.tensor([[1.0, -2.0]])


def branch(x, flag, scale=None):  # type: ignore[no-untyped-def]
    y = x + 1 if flag else x - 1
    return y if scale is None else y * scale


def test_members() -> None:
    net = Net().eval()
    module = fx.symbolic_trace(net)
    assert isinstance(module, fx.GraphModule)
    assert not module.training
    assert list(module.state_dict()) == ["kept", "constant", "linear.weight", "linear.bias"]
    assert module.linear is net.linear
    assert module.graph.owning_module is module
    assert type(module) is not type(fx.symbolic_trace(net))
    assert str(module).endswith(module.code + "\n# To see more debug info, please use `graph_module.print_readable()`")


def test_changes_need_compiling() -> None:
    module = fx.symbolic_trace(Net())
    before = module(X)
    relu = module.graph.find_nodes(op="call_function", target=torch.relu)[0]
    relu.target = torch.neg
    assert torch.equal(module(X), before)
    module.recompile()
    assert not torch.equal(module(X), before)
    assert "gradwright.neg" in module.code
    module.graph = fx.symbolic_trace(lambda x: x * 2).graph
    assert torch.equal(module(X), X * 2)
    with pytest.raises(AssertionError, match="Expected a Graph"):
        module.graph = module.code  # type: ignore[assignment]


def test_tracebacks_show_the_code() -> None:
    module = fx.symbolic_trace(lambda x: (x + 1).nothing(x))
    with pytest.raises(AttributeError, match="nothing") as caught:
        module(X)
    text = "".join(traceback.format_exception(caught.value))
    assert "nothing = add.nothing(x);  add = x = None" in text
    assert "in forward" in text


def test_roots_that_are_dictionaries() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("a.b", (graph.call_function(operator.add, (x, graph.get_attr("a.w"))),)))
    module = fx.GraphModule({"a.b": nn.ReLU(), "a.w": torch.ones(2)}, graph, "Made")
    assert torch.equal(module(X), torch.tensor([[2.0, 0.0]]))
    assert repr(module).startswith("Made(\n  (a): Module(\n    (b): ReLU()")
    with pytest.raises(RuntimeError, match=r"a\.w but that target was not provided"):
        fx.GraphModule({"a.b": nn.ReLU()}, graph)


def test_submodules_come_and_go() -> None:
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU())))
    assert module.add_submodule("1.deep.er", nn.Tanh())
    assert not module.add_submodule("0.weight.x", nn.Tanh())
    assert [name for name, _ in module.named_modules()] == ["", "0", "1", "1.0", "1.deep", "1.deep.er"]
    module.delete_all_unused_submodules()
    assert [name for name, _ in module.named_modules()] == ["", "0", "1", "1.0"]
    assert module.delete_submodule("1.0")
    assert not module.delete_submodule("1.0")
    assert not module.delete_submodule("0.weight")


def test_copies() -> None:
    module = fx.symbolic_trace(Net())
    module.meta["note"] = [1]
    expected = module(X)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    for made in (
        copy.deepcopy(module),
        pickle.loads(pickle.dumps(module)),
        torch.load(file, weights_only=False),
    ):
        assert torch.equal(made(X), expected)
        assert (made.code, str(made.graph), type(made).__name__) == (module.code, str(module.graph), "Net")
        assert made.linear.weight is not module.linear.weight
        assert made.meta == {"note": [1]}
        made.graph.find_nodes(op="call_function", target=torch.relu)[0].target = torch.neg
        made.recompile()
        assert not torch.equal(made(X), expected)
        assert torch.equal(module(X), expected)
    assert copy.copy(module).linear is module.linear


def test_gradients() -> None:
    net = Net()
    x = X.clone().requires_grad_()
    expected = torch.autograd.grad(net(x).sum(), [x, *net.parameters()])
    actual = torch.autograd.grad(fx.symbolic_trace(net)(x).sum(), [x, *net.parameters()])
    assert all(map(torch.equal, actual, expected))


def test_readable_code(capsys: pytest.CaptureFixture[str]) -> None:
    inner = fx.symbolic_trace(lambda x: x + 1)
    outer = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    outer.add_submodule("inner", inner)
    ShapeProp(outer).propagate(X)
    text = outer.print_readable(include_stride=True)
    assert capsys.readouterr().out == text + "\n"
    assert [line for line in text.split("\n") if line] == [
        "class Sequential(gradwright.nn.Module):",
        '    def forward(self, input: "f32[1, 2][2, 1]"):',
        "        input_1 = input",
        "        # No stacktrace found for following nodes",
        '        _0: "f32[1, 2][2, 1]" = getattr(self, "0")(input_1);  input_1 = None',
        "        return _0",
        "    class inner(gradwright.nn.Module):",
        "        def forward(self, x):",
        "            # No stacktrace found for following nodes",
        "            add = x + 1;  x = None",
        "            return add",
    ]


def test_shapes() -> None:
    module = fx.symbolic_trace(lambda x: (x.max(1), x.shape[0]))
    ShapeProp(module).propagate(X.to(torch.float64))
    known = {node.name: node.meta for node in module.graph.nodes}
    values, indices = known["max_1"]["tensor_meta"]
    assert (values.shape, values.dtype, indices.dtype, values.stride) == ((1,), torch.float64, torch.int64, (1,))
    assert known["getitem"] == {"type": int}
    assert known["x"]["tensor_meta"].memory_format == torch.contiguous_format


def test_concrete_arguments() -> None:
    module = fx.symbolic_trace(branch, {"flag": True, "scale": None})
    assert torch.equal(module(X, True), X + 1)
    for wrong in ((X, False), (X, True, 2)):
        with pytest.raises(AssertionError, match="has been specialized"):
            module(*wrong)
    tree = fx.symbolic_trace(lambda x, d: {"out": [x + d["a"][0]], "k": d["k"]}, {"d": {"a": (PH,), "k": 3}})
    assert tree(X, {"a": (X,), "k": 3})["k"] == 3
    assert torch.equal(tree(X, {"a": (X,), "k": 3})["out"][0], X + X)
    assert torch.equal(fx.Interpreter(tree).run(X, {"a": (X,), "k": 3})["out"][0], X + X)
    with pytest.raises(ValueError, match="2"):
        tree(X, {"a": (X, X), "k": 3})
    assert torch.equal(pickle.loads(pickle.dumps(tree))(X, {"a": (X,), "k": 3})["out"][0], X + X)


def test_interpreters() -> None:
    module = fx.symbolic_trace(Net())
    seen = []

    class Noted(fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            seen.append(target)
            return super().call_function(target, args, kwargs)

    assert torch.equal(Noted(module).run(X), module(X))
    assert seen == [torch.relu, operator.mul, operator.add, operator.sub]
    relu = module.graph.find_nodes(op="call_function", target=torch.relu)[0]
    known = {relu: torch.zeros(1, 2), relu.args[0]: None, next(iter(module.graph.nodes)): None}
    assert torch.equal(fx.Interpreter(module).run(initial_env=known), torch.full((1, 2), -2.0))
    kept = fx.Interpreter(module, garbage_collect_values=False)
    given = [X]
    kept.boxed_run(given)
    assert (given, len(kept.env)) == ([], len(module.graph.nodes))
    with pytest.raises(RuntimeError, match=r"parameter x.*\n\nWhile executing %x"):
        fx.Interpreter(module).run()
    with pytest.raises(AttributeError, match=r"(?s)nothing.*While executing %nothing"):
        fx.Interpreter(fx.symbolic_trace(lambda x: x.nothing())).run(X)
    module.delete_submodule("linear")
    with pytest.raises(RuntimeError, match="nonexistent target linear"):
        fx.Interpreter(module).run(X)


def test_transformers() -> None:
    class Other(fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target is torch.relu:
                return torch.tanh(*args) * 2
            return super().call_function(target, args, kwargs)

    net = Net()
    module = Other(fx.symbolic_trace(net)).transform()
    expected = torch.tanh(net.linear(X)) * 2 + 1 - 3
    assert torch.allclose(module(X), expected)
    assert type(module).__name__ == "Net"
    defaults = fx.Transformer(fx.symbolic_trace(lambda x, y=2: x * y)).transform()
    assert torch.equal(defaults(X), X * 2)


def test_patterns() -> None:
    module = fx.symbolic_trace(lambda a, b: torch.relu(a + b) * torch.relu(b + 1))
    found = fx.replace_pattern(module, lambda p, q: torch.relu(p + q), lambda p, q: p - q)
    assert [{str(a): str(b) for a, b in match.nodes_map.items()} for match in found] == [
        {"relu": "relu", "add": "add", "p": "a", "q": "b"},
        {"relu": "relu_1", "add": "add_1", "p": "b", "q": "1"},
    ]
    assert torch.equal(module(X, X * 2), (X - X * 2) * (X * 2 - 1))
    assert fx.replace_pattern(module, lambda p: p.nothing(), lambda p: p) == []


def test_patterns_with_users_elsewhere_stay() -> None:
    module = fx.symbolic_trace(lambda a: (a + 1).relu() * (a + 1).relu().sum() + a)
    inside = fx.symbolic_trace(inner_use)
    assert len(fx.replace_pattern(module, lambda p: (p + 1).relu(), lambda p: p)) == 2
    assert fx.replace_pattern(inside, lambda p: (p + 1).relu(), lambda p: p) == []


def inner_use(a):  # type: ignore[no-untyped-def]
    b = a + 1
    return b.relu() * b


def test_patterns_in_a_row() -> None:
    module = fx.symbolic_trace(lambda a: a.relu().relu().relu().relu().relu())
    assert len(fx.replace_pattern(module, lambda p: p.relu().relu(), lambda p: p.sin())) == 2
    assert [node.target for node in module.graph.nodes][1:-1] in (["sin", "sin", "relu"], ["relu", "sin", "sin"])
    module.graph.lint()


def test_patterns_with_modules_and_filters() -> None:
    module = fx.symbolic_trace(nn.Sequential(nn.ReLU(), nn.ReLU()))

    class Replacement(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.Tanh()

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.act(x)

    pattern = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    done = replace_pattern_with_filters(
        module,
        pattern,
        fx.symbolic_trace(Replacement()),
        [lambda match, graph, looked_for: next(iter(match.nodes_map.values())).target == "1"],
    )
    assert [[str(node) for node in each.replacements] for each in done] == [["act"]]
    assert torch.equal(module(X), torch.tanh(torch.relu(X)))
    literal = fx.symbolic_trace(lambda x: x + 1 + 2)
    made = replace_pattern_with_filters(literal, lambda p: p + 5, lambda p: p * 2, ignore_literals=True)
    assert len(made) == 2
    assert torch.equal(literal(X), X * 4)
    chosen = replace_pattern_with_filters(
        literal,
        lambda p: p * 2,
        replacement_callback=lambda match, graph, looked_for: fx.symbolic_trace(lambda p: -p).graph,
    )
    assert len(chosen) == 2
    assert torch.equal(literal(X), X)
    with pytest.raises(AssertionError, match="Must provide"):
        replace_pattern_with_filters(literal, lambda p: -p)
