"""Graphs as folders of code, code that is changed on its way, arguments in the form of signatures, recorded asserts."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import gradwright
from support.both import assert_same, assert_same_results, with_weights


def _model(torch: Any) -> Any:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = torch.nn.Linear(2, 3)
            self.seq = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 3))
            self.norm = torch.nn.BatchNorm1d(3)
            self.w = torch.nn.Parameter(torch.ones(3))
            self.register_buffer("b", torch.ones(3))

        def forward(self, x, scale=2.0):  # type: ignore[no-untyped-def]
            y = self.norm(self.seq(self.lin(x))) * self.w + self.b
            y = torch.add(y, y, alpha=2)
            z = torch.nn.functional.relu(y, inplace=False)
            z = z.view(-1)
            total = torch.sum(z, 0) * scale
            dropped = torch.nn.functional.dropout(z + total, 0.0)
            return dropped, torch.cat([z, z]), torch.mean(y), torch.mean(y, 1), torch.mul(y, 2)

    count = sum(p.numel() for p in Model().parameters())
    weights = torch.arange(float(count)).sin().numpy()
    return with_weights(torch, Model(), weights)


# -- to_folder


def _load(folder: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_to_folder(tmp_path: Path) -> None:
    def body(torch: Any) -> Any:
        traced = torch.fx.symbolic_trace(_model(torch))
        traced(torch.arange(8.0).reshape(4, 2))
        folder = tmp_path / torch.__name__
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            traced.to_folder(folder, "Written")
        module = _load(folder, f"folder_of_{torch.__name__}").Written()
        x = torch.arange(6.0).reshape(3, 2).cos()
        out, expected = module(x), traced(x)
        same = [bool((a == b).all()) for a, b in zip(out, expected, strict=True)]
        told = [each.category.__name__ for each in caught if "pickled" in str(each.message)]
        return same, list(module.state_dict()), sorted(path.name for path in folder.glob("*.p*")), told

    assert_same_results(body)


def test_a_folder_can_be_moved_and_keeps_modes(tmp_path: Path) -> None:
    torch = gradwright

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(2, dtype=torch.float64)
            self.register_buffer("b", torch.ones(2, dtype=torch.float64), persistent=False)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.norm(x[0]) + self.b, {"more": x[1]}

    tree = (torch.fx.PH, torch.fx.PH)
    traced = torch.fx.symbolic_trace(Model().eval(), concrete_args={"x": tree})
    traced.to_folder(tmp_path / "first")
    assert "device = gradwright.device\n" in (tmp_path / "first" / "module.py").read_text(encoding="utf-8")
    (tmp_path / "first").rename(tmp_path / "second")
    module = _load(tmp_path / "second", "moved_folder").FxModule()
    x = torch.arange(4.0, dtype=torch.float64).reshape(2, 2), torch.ones(1)
    found, expected = module(x), traced(x)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1]["more"].tolist() == [1.0]
    assert found[0].dtype is torch.float64
    assert not module.training
    assert not module.norm.training


def test_what_cannot_be_imported(tmp_path: Path) -> None:
    torch = gradwright
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(lambda value: value, (x,)))
    with pytest.raises(RuntimeError, match="cannot be imported"):
        torch.fx.GraphModule({}, graph).to_folder(tmp_path)


# -- normalized_arguments


def _types(torch: Any, argument: Any) -> Any:
    if isinstance(argument, torch.fx.Node):
        return torch.Tensor
    return [_types(torch, each) for each in argument] if isinstance(argument, list) else type(argument)


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("only", [False, True])
def test_normalized_arguments(only: bool, typed: bool) -> None:
    def body(torch: Any) -> Any:
        model = _model(torch)
        found = []
        for node in torch.fx.symbolic_trace(model).graph.nodes:
            types: dict[str, Any] = {}
            if typed and node.op == "call_function":
                types["arg_types"] = tuple(_types(torch, each) for each in node.args)
                types["kwarg_types"] = {name: _types(torch, each) for name, each in node.kwargs.items()}
            try:
                pair = node.normalized_arguments(model, **types, normalize_to_only_use_kwargs=only)
                shown = None if pair is None else (str(pair.args), {k: str(v) for k, v in pair.kwargs.items()})
            except RuntimeError as error:
                shown = "ambiguous" in str(error)
            found.append((node.op, shown))
        return found

    assert_same_results(body)


CALLED = [
    ("torch.sum", "(x,), {}"), ("torch.sum", "(x, [0, 1]), {'keepdim': True}"), ("torch.relu", "(x,), {}"),
    ("torch.clamp", "(x,), {'min': 0.5}"), ("torch.addmm", "(x, x, x), {'beta': 2}"), ("len", "(x,), {}"),
    ("torch.nn.functional.softmax", "(x, 0), {}"), ("torch.nn.functional.linear", "(x, x), {}"),
    ("torch.transpose", "(x, 0, 1), {}"), ("operator.add", "(x, 1), {}"), ("torch.softmax", "(x, 0), {}"),
    ("mine", "(x,), {'c': 5}"), ("mine", "(x,), {'d': 5}"), ("torch.matmul", "(x, x), {}"),
    ("torch.nn.functional.layer_norm", "(x, [2]), {}"), ("torch.stack", "([x, x],), {'dim': 1}"),
]  # fmt: skip


def _mine(a: Any, b: int = 3, *, c: int = 4) -> Any:
    return a


@pytest.mark.parametrize(("function", "args"), CALLED)
def test_normalized_calls_of_functions(function: str, args: str) -> None:
    def body(torch: Any) -> Any:
        import operator

        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        names = {"torch": torch, "x": x, "operator": operator, "mine": _mine}
        node = graph.call_function(eval(function, names), *eval(args, names))
        found = []
        for only in (False, True):
            types = tuple(_types(torch, each) for each in node.args)
            named = {key: _types(torch, each) for key, each in node.kwargs.items()}
            pair = node.normalized_arguments(None, types, named, only)
            found.append(None if pair is None else (str(pair.args), {k: str(v) for k, v in pair.kwargs.items()}))
        return found

    assert_same(body)


def test_normalized_arguments_of_a_module_that_is_not_there() -> None:
    def body(torch: Any) -> Any:
        graph = torch.fx.Graph()
        node = graph.call_module("lin", (graph.placeholder("x"),))
        return node.normalized_arguments(torch.nn.Module())

    assert_same(body, "did not have that target")


# -- on_generate_code


def test_code_that_is_changed() -> None:
    def body(torch: Any) -> Any:
        class Plus(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return x + 1

        given, made = [], torch.fx.symbolic_trace(Plus())

        def doubling(current: Any) -> Any:
            given.append(current is not None)

            def change(lines: list[str]) -> list[str]:
                return ["x = x * 2\n", *(current(lines) if current is not None else lines)]

            return change

        def run() -> Any:
            made.recompile()
            return made(torch.ones(1)), made.code.count("x = x * 2")

        first = made.graph.on_generate_code(doubling)
        found = [run()]
        with made.graph.on_generate_code(doubling) as nothing:
            found.append(run())
        found.append(run())
        with first:
            pass
        return found, run(), given, nothing

    assert_same_results(body)


# -- trace_asserts: PyTorch's does nothing on Python 3.11 and above, whose instructions it does not know


def test_asserts_are_not_traced_unless_asked_for() -> None:
    def body(torch: Any) -> Any:
        class Model(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                assert x.sum() > 0
                return x

        assert torch.fx.Tracer.trace_asserts is False
        return torch.fx.Tracer().trace(Model())

    assert_same(body)


class _Asserting(gradwright.fx.Tracer):
    trace_asserts = True


# As text, since pytest writes the asserts of a test anew.
_PROGRAMS = """
def checked(x):
    assert x.sum() > 0, f"no {1}"
    assert x.numel()
    return x + 1

def branches(x):
    if x:
        raise ValueError
    return x

def denies(x):
    assert not x
    return x
"""


def _programs() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(_PROGRAMS, "programs", "exec", dont_inherit=True), names)
    return names


def test_traced_asserts() -> None:
    graph = _Asserting().trace(_programs()["checked"])
    graph.eliminate_dead_code()
    made = gradwright.fx.GraphModule({}, graph)
    assert made.code.count("assert_fn(") == 2
    assert made(gradwright.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(AssertionError):
        made(-gradwright.ones(2))


@pytest.mark.parametrize("name", ["branches", "denies"])
def test_other_conditions_are_not_traced(name: str) -> None:
    with pytest.raises(gradwright.fx.proxy.TraceError):
        _Asserting().trace(_programs()[name])


def test_modules_of_functions_take_inputs_by_name() -> None:
    def body(torch: Any) -> Any:
        x, nn = torch.arange(3.0) - 1, torch.nn
        return nn.ReLU()(input=x), nn.MSELoss(reduction="sum")(x, target=x + 1), nn.Threshold(0.5, 7.0)(input=x)

    assert_same_results(body)
