"""Graphs of Modules, read back by TensorBoard's own reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader, LegacyEventFileLoader
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.graph import graph_util

import gradwright
import gradwright.utils.checkpoint
from gradwright import nn
from gradwright.utils.tensorboard import SummaryWriter
from gradwright.utils.tensorboard.graph import graph


class Block(nn.Module):
    """Layers inside, one of them called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x: Any) -> Any:
        for step in (*self.steps, self.steps[0]):
            x = step(x).relu()
        return x


class Net(nn.Module):
    """Operators of its own beside Modules below it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.norm = nn.BatchNorm1d(3)
        self.block = Block()
        self.scale = nn.Parameter(gradwright.ones(3))
        self.unused = nn.Parameter(gradwright.ones(3))

    def forward(self, x: Any, y: Any = None) -> Any:
        return self.block(self.norm(self.first(x))) * self.scale


def nodes(model: Any, *args: Any, **options: Any) -> dict[str, Any]:
    found = graph(model, args, **options)
    by_name = {node.name: node for node in found.node}
    assert len(by_name) == len(found.node)
    for node in found.node:
        assert {name.partition(":")[0] for name in node.input} <= by_name.keys()
    return by_name


def kinds(model: Any, *args: Any) -> dict[str, str]:
    return {name: node.op for name, node in nodes(model, *args).items()}


def shapes(node: Any) -> list[list[int]]:
    return [[dim.size for dim in shape.dim] for shape in node.attr["_output_shapes"].list.shape]


class Function(nn.Module):
    """What a function does."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def test_nodes() -> None:
    found = nodes(Net(), gradwright.ones(2, 4), gradwright.ones(1))
    step, other = "Net/Block[block]/ModuleList[steps]/Linear[0]", "Net/Block[block]/ModuleList[steps]/Linear[1]"
    norm = "Net/BatchNorm1d[norm]"
    assert {name: (node.op, list(node.input)) for name, node in found.items()} == {
        "input/x": ("IO Node", []),
        "Net/Linear[first]/weight": ("prim::GetAttr", []),
        "Net/Linear[first]/bias": ("prim::GetAttr", []),
        "Net/Linear[first]/linear": (
            "aten::linear",
            ["input/x", "Net/Linear[first]/weight", "Net/Linear[first]/bias"],
        ),
        f"{norm}/weight": ("prim::GetAttr", []),
        f"{norm}/bias": ("prim::GetAttr", []),
        f"{norm}/running_mean": ("prim::GetAttr", []),
        f"{norm}/running_var": ("prim::GetAttr", []),
        f"{norm}/batch_norm": (
            "aten::batch_norm",
            ["Net/Linear[first]/linear", *(f"{norm}/{x}" for x in ("weight", "bias", "running_mean", "running_var"))],
        ),
        f"{step}/weight": ("prim::GetAttr", []),
        f"{step}/bias": ("prim::GetAttr", []),
        f"{step}/linear": ("aten::linear", [f"{norm}/batch_norm", f"{step}/weight", f"{step}/bias"]),
        "Net/Block[block]/relu": ("aten::relu", [f"{step}/linear"]),
        f"{other}/weight": ("prim::GetAttr", []),
        f"{other}/bias": ("prim::GetAttr", []),
        f"{other}/linear": ("aten::linear", ["Net/Block[block]/relu", f"{other}/weight", f"{other}/bias"]),
        "Net/Block[block]/relu_1": ("aten::relu", [f"{other}/linear"]),
        f"{step}/linear_1": ("aten::linear", ["Net/Block[block]/relu_1", f"{step}/weight", f"{step}/bias"]),
        "Net/Block[block]/relu_2": ("aten::relu", [f"{step}/linear_1"]),
        "Net/scale": ("prim::GetAttr", []),
        "Net/mul": ("aten::mul", ["Net/Block[block]/relu_2", "Net/scale"]),
        "output/output.1": ("IO Node", ["Net/mul"]),
    }
    assert shapes(found["input/x"]) == [[2, 4]]
    assert shapes(found["Net/Linear[first]/weight"]) == [[3, 4]]
    assert shapes(found["Net/mul"]) == shapes(found["output/output.1"]) == [[2, 3]]
    assert found["Net/scale"].attr["attr"].s == b"{ name :  scale }"
    assert b" training : False" in found[f"{norm}/batch_norm"].attr["attr"].s


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, x = Net(), gradwright.ones(2, 4)
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, x, verbose=True)
    assert 'name: "Net/scale"' in capsys.readouterr().out
    (path,) = tmp_path.iterdir()
    _, written = LegacyEventFileLoader(str(path)).Load()
    expected = GraphDef.FromString(graph(model, x).SerializeToString())
    assert capsys.readouterr().out == ""
    assert GraphDef.FromString(written.graph_def) == expected
    assert expected.versions.producer == 22
    # TensorBoard itself makes values of plugins of them.
    shown = [value for event in EventFileLoader(str(path)).Load() for value in event.summary.value]
    assert [value.metadata.plugin_data.plugin_name for value in shown] == ["graphs"]
    assert GraphDef.FromString(shown[0].tensor.string_val[0]) == expected
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    assert read.Graph() == expected
    assert len(graph_util.merge_graph_defs([read.Graph()]).node) == len(expected.node)


def test_control_flow() -> None:
    def run(x: Any) -> Any:
        for _ in range(2):
            x = x + 1
        return x.exp() if x.sum() > 0 else x.sin()

    def called(x: Any) -> list[str]:
        return [op for op in kinds(Function(run), x).values() if op.startswith("aten::")]

    assert called(gradwright.ones(2)) == ["aten::add", "aten::add", "aten::sum", "aten::gt", "aten::exp"]
    assert called(-9 * gradwright.ones(2)) == ["aten::add", "aten::add", "aten::sum", "aten::gt", "aten::sin"]


def test_several_results_and_structures() -> None:
    def run(x: Any, more: Any) -> Any:
        low, high = x.chunk(2)
        values, places = (low + high).max(0)
        return {"a": [values, places]}, gradwright.cat([more["p"], more["q"][0], x])

    x = gradwright.ones(4, 2)
    found = nodes(Function(run), x, {"p": x, "q": (x, x)}, use_strict_trace=False)
    assert shapes(found["Function/chunk"]) == [[2, 2], [2, 2]]
    assert list(found["Function/add"].input) == ["Function/chunk", "Function/chunk:1"]
    assert list(found["Function/cat"].input) == ["input/input.2.p", "input/input.2.q.0", "input/input.1"]
    assert [list(found[f"output/output.{number}"].input) for number in (1, 2, 3)] == [
        ["Function/max"],
        ["Function/max:1"],
        ["Function/cat"],
    ]
    assert "input/input.2.q.1" not in found


def test_writes() -> None:
    def run(x: Any) -> Any:
        x = x * 2
        x.add_(1)
        other = gradwright.empty(2)
        gradwright.mul(x, gradwright.tensor([1.0, 2.0]), out=other)
        gradwright._foreach_add_([x], 1)
        return x + other

    found = nodes(Function(run), gradwright.ones(2))
    assert list(found["Function/add_"].input) == ["Function/mul"]
    assert list(found["Function/mul_1"].input) == ["Function/add_", "Function/constant"]
    assert found["Function/constant"].op == "prim::Constant"
    assert list(found["Function/_foreach_add_"].input) == ["Function/add_"]
    assert list(found["Function/add"].input) == ["Function/_foreach_add_", "Function/mul_1"]


def test_functions_and_operators_of_a_program() -> None:
    class Double(gradwright.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    @gradwright.library.custom_op("tensorboard_graph::scale", mutates_args=("x",))
    def scale(x: gradwright.Tensor, factor: int) -> None:
        x.mul_(factor)

    def run(x: Any) -> Any:
        x = Double.apply(x)
        scale(x, 3)
        return gradwright.utils.checkpoint.checkpoint(gradwright.exp, x, use_reentrant=False)

    found = nodes(Function(run), gradwright.ones(2, requires_grad=True))
    assert {name: (node.op, list(node.input)) for name, node in found.items()} == {
        "input/input.1": ("IO Node", []),
        "Function/mul": ("aten::mul", ["input/input.1"]),
        "Function/scale": ("tensorboard_graph::scale", ["Function/mul"]),
        "Function/exp": ("aten::exp", ["Function/scale"]),
        "output/output.1": ("IO Node", ["Function/exp"]),
    }
    assert found["Function/scale"].attr["attr"].s == b"{ factor : 3}"


def test_inputs_without_views() -> None:
    sparse = gradwright.eye(2).to_sparse()
    found = kinds(Function(lambda x: x * 2), sparse)
    assert found["input/input.1"] == "IO Node"
    assert found["Function/mul"] == "aten::mul"


def test_parameters_that_two_modules_share() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    found = nodes(model, gradwright.ones(1, 2))
    assert list(found["Sequential/Linear[1]/linear"].input) == [
        "Sequential/Linear[0]/linear",
        "Sequential/Linear[0]/weight",
        "Sequential/Linear[1]/bias",
    ]


def test_inputs_that_are_one_tensor_or_a_parameter() -> None:
    model = nn.Bilinear(2, 2, 2, bias=False)
    x = gradwright.ones(1, 2)
    found = nodes(model, x, x)
    assert list(found["Bilinear/bilinear"].input) == ["input/input1", "input/input2", "Bilinear/weight"]
    linear = nn.Linear(2, 2, bias=False)
    assert list(nodes(linear, linear.weight)["Linear/linear"].input) == ["input/input", "Linear/weight"]


def test_layers_of_several_kinds() -> None:
    encoder = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    found = kinds(encoder, gradwright.rand(2, 3, 4))
    assert list(found.values()).count("aten::layer_norm") == 2
    assert "TransformerEncoderLayer/Linear[linear1]/linear" in found
    found = kinds(nn.LSTM(3, 2), gradwright.rand(5, 1, 3))
    assert list(found.values()).count("aten::lstm") == 1
    assert found["LSTM/weight_ih_l0"] == "prim::GetAttr"
    lazy = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d())
    assert "aten::batch_norm" in kinds(lazy, gradwright.rand(5, 3)).values()


class Counting(nn.Module):
    """Changes its buffers in both ways."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", gradwright.zeros(1))
        self.register_buffer("more", gradwright.zeros(1))
        self.layer = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(2))

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.more = self.more + 1
        return self.layer(x) + self.calls + self.more


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_changes(fails: bool) -> None:
    model = Counting()
    model.layer[0].eval()
    calls, more = model.calls, model.more
    state = {
        name: (id(value), value._version, value.clone()) for name, value in model.state_dict(keep_vars=True).items()
    }
    modes = [module.training for module in model.modules()]
    if fails:
        with pytest.raises(RuntimeError):
            graph(model, gradwright.ones(3, 5))
    else:
        graph(model, gradwright.ones(3, 2))
    assert [module.training for module in model.modules()] == modes == [True, True, False, True]
    assert model.calls is calls
    assert model.more is more
    for name, value in model.state_dict(keep_vars=True).items():
        known, version, before = state[name]
        assert (id(value), value._version) == (known, version)
        assert value.equal(before)
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
        assert not module._forward_hooks_always_called
    assert all(parameter.grad is None for parameter in model.parameters())


def test_hooks_of_the_model_are_in_it() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    model[0].register_forward_hook(lambda module, args, result: result.exp())
    found = kinds(model, gradwright.ones(1, 2))
    assert found["Sequential/Linear[0]/add"] == "aten::add"
    assert found["Sequential/Linear[0]/exp"] == "aten::exp"
    assert len(model[0]._forward_hooks) == len(model[0]._forward_pre_hooks) == 1


def test_a_module_that_fails_and_is_caught() -> None:
    class Careful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            try:
                return self.inner(x)
            except RuntimeError:
                return x.exp()

    assert kinds(Careful(), gradwright.ones(1, 2)) == {
        "input/x": "IO Node",
        "Careful/exp": "aten::exp",
        "output/output.1": "IO Node",
    }


@pytest.mark.parametrize(
    ("model", "args", "error"),
    [
        (nn.Linear(3, 2), gradwright.ones(1, 2), RuntimeError),
        (nn.Linear(3, 2), None, RuntimeError),
        (nn.Linear(3, 2), (gradwright.ones(1, 3), 3), RuntimeError),
        (nn.Linear(3, 2), (gradwright.ones(1, 3), gradwright.ones(1)), TypeError),
        (Function(lambda x: (x, None)), gradwright.ones(1), RuntimeError),
        (Function(lambda x: [{"a": x}]), gradwright.ones(1), RuntimeError),
        (Function(lambda x: int("x")), gradwright.ones(1), ValueError),
        (3, gradwright.ones(1), AttributeError),
    ],
)
def test_errors(model: Any, args: Any, error: type[Exception], tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises(error):
        writer.add_graph(model, args)
    assert len(list(EventFileLoader(str(next(tmp_path.iterdir()))).Load())) == 1
