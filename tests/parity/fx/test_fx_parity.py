"""`fx` against PyTorch: the text of graphs and code, what they compute, and what can not be traced."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx

import gradwright
from support.both import assert_same, assert_same_results


def said(text: Any) -> str:
    """A text with the names that PyTorch has."""
    return str(text).replace("gradwright.", "torch.")


def texts(module: Any) -> list[str]:
    """The graph and the code of a GraphModule."""
    return [said(module.graph), said(module.code)]


def traced(library: Any, root: Any, *args: Any, **options: Any) -> list[Any]:
    """The texts of what is traced, what it gives, and what the Interpreter gives."""
    module = library.fx.symbolic_trace(root, **options)
    return [*texts(module), module(*args), library.fx.Interpreter(module).run(*args)]


def filled(library: Any, module: Any) -> Any:
    """A Module with the same Parameters in both libraries."""
    with library.no_grad():
        for i, parameter in enumerate(module.parameters()):
            count = parameter.numel()
            parameter.copy_(library.linspace(-0.5, 0.4 + i / 10, count).reshape(parameter.shape))
    return module


def residual(library: Any) -> Any:
    nn = library.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, size: int) -> None:
            super().__init__()
            self.first = nn.Linear(size, size)
            self.norm = nn.LayerNorm(size)
            self.scale = nn.Parameter(library.ones(size))
            self.register_buffer("shift", library.full((size,), 0.25))
            self.constant = library.full((size,), 0.5)

        def forward(self, x):  # type: ignore[no-untyped-def]
            y = nn.functional.relu(self.norm(self.first(x)))
            return x + y * self.scale + self.shift - self.constant

    return filled(library, nn.Sequential(Block(3), nn.Sequential(Block(3), nn.Tanh())))


def attention(library: Any) -> Any:
    nn, F = library.nn, library.nn.functional

    class Transformer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(7, 4)
            self.qkv = nn.Linear(4, 12)
            self.out = nn.Linear(4, 4)
            self.norms = nn.ModuleList([nn.LayerNorm(4) for _ in range(2)])
            self.mlp = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))

        def forward(self, tokens, mask=None):  # type: ignore[no-untyped-def]
            x = self.table(tokens)
            batch, length = x.shape[0], x.size(1)
            q, k, v = self.qkv(self.norms[0](x)).chunk(3, dim=-1)
            q, k, v = (each.view(batch, length, 2, 2).transpose(1, 2) for each in (q, k, v))
            scores = q @ k.transpose(-2, -1) / math.sqrt(2)
            scores = scores.masked_fill(library.ones(3, 3).tril() == 0, float("-inf"))
            heads = F.softmax(scores, dim=-1) @ v
            x = x + self.out(heads.transpose(1, 2).reshape(batch, length, -1))
            x = x + self.mlp(self.norms[1](x))
            return {"logits": F.linear(x, self.table.weight), "last": (x[:, -1], [x.mean(dim=(0, 1))])}

    return filled(library, Transformer())


def test_modules_in_modules() -> None:
    assert_same_results(lambda library: traced(library, residual(library), library.ones(2, 3)))


def test_a_transformer() -> None:
    assert_same_results(lambda library: traced(library, attention(library), library.tensor([[1, 2, 3], [4, 5, 6]])))


def test_functions_of_nn() -> None:
    def body(library: Any) -> Any:
        F = library.nn.functional

        def convnet(x, w, b):  # type: ignore[no-untyped-def]
            y = F.max_pool2d(F.relu(F.conv2d(x, w, b, padding=1)), 2)
            y = F.batch_norm(y, None, None, training=True)
            y = F.dropout(F.avg_pool2d(F.pad(y, (1, 1)), kernel_size=2), 0.5, False)
            y = F.interpolate(y, scale_factor=2.0)
            y = F.adaptive_avg_pool2d(F.leaky_relu(F.gelu(y)), (1, 1)).flatten(1)
            z = F.layer_norm(F.silu(y), (2,)) + F.softplus(y) + F.hardtanh(y) + F.elu(y, inplace=False)
            losses = F.mse_loss(z, y, reduction="sum"), F.cross_entropy(z, library.tensor([1])), F.l1_loss(z, y)
            return F.log_softmax(z, dim=-1), F.sigmoid(z), F.normalize(z), losses[1], losses[2]

        x = library.linspace(-1, 1, 32).reshape(1, 2, 4, 4)
        module = library.fx.symbolic_trace(convnet)
        w, b = library.linspace(-0.5, 0.5, 36).reshape(2, 2, 3, 3), library.ones(2)
        graph = said(module.graph)
        # PyTorch has one more argument in the losses.
        return [graph.replace(", weight: None}", "}"), module(x, w, b), library.fx.Interpreter(module).run(x, w, b)]

    assert_same_results(body)


OPERATORS = """
torch.cat([x, x], dim=-1)
torch.cat((x, x))
torch.stack([x, x], 1)
torch.add(x, 2, alpha=3)
torch.add(x, x.T)
torch.matmul(x, x)
torch.sum(x, dim=0, keepdim=True)
torch.max(x, 1)
torch.max(x, 1)[0]
torch.where(x > 0, x, torch.zeros(2, 2))
torch.softmax(x, -1)
torch.flatten(x, 0)
torch.einsum('ij,jk->ik', x, x)
torch.norm(x)
torch.zeros_like(x)
torch.zeros(2, device=x.device)
torch.full_like(x, 2.0)
torch.clamp(x, min=0.0)
torch.linalg.norm(x)
torch.fft.fft(x)
torch.special.expit(x)
torch.ones(2, 2) + x
torch.ones(2, 2) - x
torch.ones(2, 2) / x
torch.ones(2, 2) @ x
torch.ones(2, 2) > x
torch.ones(2, 2).sub(x)
torch.relu(torch.ones(2, 2)) * x
x.add(1).mul_(2).sum().item
x[0], x[:, 1:], x[..., None], x[x > 0]
x.view(x.shape[0], -1), x.size(), x.dtype
x.to(torch.float64).to('cpu', dtype=torch.int64)
1 + x, 1 - x, 2 * x, 2 / x, 2 // x, 2 % x, 2 ** x
x < 1, x <= 1, x == 1, x != 1, x >= 1, -x, +x, ~(x > 0), abs(x)
(x > 0) & (x < 1) | (x > 3) ^ True
x.masked_fill(x > 1, float('-inf')).clamp(max=float('inf'))
x.permute(1, 0).unfold(0, size=2, step=1)
x.max(1).values
torch.max(x)
"""


@pytest.mark.parametrize("expression", OPERATORS.strip().split("\n"))
def test_operators(expression: str) -> None:
    def body(library: Any) -> Any:
        function: Any = eval(f"lambda x: ({expression})", {"torch": library})
        module = library.fx.symbolic_trace(function)
        return [*texts(module), module(library.tensor([[1.5, -2.0], [0.5, 3.0]]))]

    if expression.endswith(".item") or "x.dtype" in expression:
        assert texts(gradwright.fx.symbolic_trace(eval(f"lambda x: ({expression})", {"torch": gradwright}))) == texts(
            torch.fx.symbolic_trace(eval(f"lambda x: ({expression})", {"torch": torch}))
        )
    else:
        assert_same_results(body)


# Functions of nn.functional that call another function of PyTorch, or have other arguments.
OTHERWISE = {"elu_", "grouped_mm", "hardtanh_", "l1_loss", "leaky_relu_", "logsigmoid", "threshold"}


def test_all_functions_of_nn_and_linalg() -> None:
    """Each that is one call of PyTorch's with one to three Tensors is the same one here."""
    seen, different = 0, set()
    for module in ("nn.functional", "linalg"):
        for name in sorted(dir(operator.attrgetter(module)(torch))):
            ours = getattr(operator.attrgetter(module)(gradwright), name, None)
            if name.startswith("_") or not callable(ours) or isinstance(ours, type):
                continue
            for count in (1, 2, 3):
                theirs = one_call(torch, f"{module}.{name}", count)
                if theirs is not None:
                    seen += 1
                    if one_call(gradwright, f"{module}.{name}", count) != theirs:
                        different.add(name)
                    break
    assert different == OTHERWISE
    assert seen > 150


QUESTIONS = ("can_cast", "is_floating_point", "numel", "promote_types", "result_type", "sym_max", "sym_not")


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions(name: str) -> None:
    count = 1 if name in ("is_floating_point", "numel", "sym_not") else 2
    assert one_call(gradwright, name, count) == one_call(torch, name, count) is not None


def one_call(library: Any, path: str, count: int) -> str | None:
    """The only Node of a call with `count` Proxies; None where there are others, or it can not be traced."""
    function = operator.attrgetter(path)(library)
    try:
        graph = library.fx.symbolic_trace(eval(f"lambda x: f({', '.join(['x'] * count)})", {"f": function})).graph
    except Exception:
        return None
    calls = [node for node in graph.nodes if node.op.startswith("call")]
    return said(calls[0].format_node()) if len(calls) == 1 else None


def in_place(x):  # type: ignore[no-untyped-def]
    x += 1
    x *= 2
    x //= 3
    x **= 2
    a, b = x
    (c, d), e = a.max(0), b
    return c, d, e


def with_defaults(x, y=2.5, *, k=3, flag=True):  # type: ignore[no-untyped-def]
    return {"sum": x + y, "pair": (x, [k, flag]), "cut": x[:k]}


def with_stars(x, *args, **options):  # type: ignore[no-untyped-def]
    return x + args[0] * options["scale"]


def with_builtin_names(input, max, len, self_, torch_):  # type: ignore[no-untyped-def]
    return abs(input + max + len + self_ + torch_).sum()


def with_unused(x, y):  # type: ignore[no-untyped-def]
    (x * 2).sum()
    y.add_(1)
    return x


FUNCTIONS: list[Callable[..., Any]] = [in_place, with_defaults, with_stars, with_builtin_names, with_unused]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function: Callable[..., Any]) -> None:
    assert_same_results(lambda library: texts(library.fx.symbolic_trace(function)))


def test_arguments_of_calls() -> None:
    def body(library: Any) -> Any:
        defaults = library.fx.symbolic_trace(with_defaults)
        stars = library.fx.symbolic_trace(with_stars)
        x = library.ones(4)
        return [defaults(x), defaults(x, 1.0, k=2, flag=False), stars(x, 2, scale=3)]

    assert_same_results(body)


CONTROL_FLOW: list[tuple[Callable[..., Any], str]] = [
    (lambda x: x if x.sum() > 0 else -x, "cannot be used as inputs to control flow"),
    (lambda x: [each + 1 for each in x], "cannot be iterated"),
    (lambda x: 3 in x, "cannot be iterated"),
    (lambda x: max(*x), "cannot be iterated"),
    (lambda x: int(x), "int() argument"),
    (lambda x: range(x), "cannot be interpreted as an integer"),
    (lambda x: [1, 2][x], "list indices"),
    (lambda x: {x}, "argument of type"),
    (lambda x: {x: 1}, "Keys for dictionaries"),
    (lambda x: operator.setitem(x, 0, 1), "item assignment"),
]


@pytest.mark.parametrize(("function", "message"), CONTROL_FLOW)
def test_what_can_not_be_traced(function: Callable[..., Any], message: str) -> None:
    assert_same(lambda library: library.fx.symbolic_trace(function), message)


def branch(x, flag, scale=None):  # type: ignore[no-untyped-def]
    y = x + 1 if flag else x - 1
    return y if scale is None else y * scale


def test_concrete_arguments() -> None:
    def body(library: Any) -> Any:
        fx, x = library.fx, library.ones(2)
        one = fx.symbolic_trace(branch, {"flag": True, "scale": None})
        two = fx.symbolic_trace(branch, {"flag": False})
        tree = fx.symbolic_trace(lambda x, d: {"out": x + d["a"] * d["b"]}, {"d": {"a": fx._symbolic_trace.PH, "b": 3}})
        return [
            *(text for each in (one, two, tree) for text in texts(each)),
            one(x, True),
            two(x, False, library.ones(2)),
            tree(x, {"a": x, "b": 3}),
        ]

    assert_same_results(body)


@pytest.mark.parametrize("given", [False, 2])
def test_concrete_arguments_are_checked(given: Any) -> None:
    def body(library: Any) -> Any:
        return library.fx.symbolic_trace(branch, {"flag": True})(library.ones(2), given, None)

    assert_same(body, "specialized")


def helper(x, times=2):  # type: ignore[no-untyped-def]
    return x * times if x.sum() > 0 else x


torch.fx.wrap("helper")
torch.fx.wrap("len")
gradwright.fx.wrap("helper")
gradwright.fx.wrap("len")


def test_wrapped_functions() -> None:
    def body(library: Any) -> Any:
        module = library.fx.symbolic_trace(lambda x: helper(x, times=3) + len(x) + math.sqrt(x.shape[0]) + len([1]))
        return [*texts(module), module(library.ones(4))]

    assert_same_results(body)


def test_only_the_top_of_a_module_wraps() -> None:
    assert_same(lambda library: library.fx.wrap("helper"), "top level of a module")
    assert_same(lambda library: library.fx.wrap(3), "Unsupported type")


def build(library: Any) -> Any:
    """A graph that is made by hand."""
    graph = library.fx.Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y", type_expr=int, default_value=3)
    a = graph.call_function(operator.iadd, (x, 1))
    graph.call_function(operator.setitem, (a, 0, y))
    b = graph.call_method("mul", (a, y), {})
    c = graph.call_function(getattr, (b, "shape"))
    graph.call_function(len, (c,))
    d = graph.call_function(library.add, (b, x), {"alpha": 2}, type_expr=library.Tensor)
    e = graph.call_function(library.ops.aten.mul.Tensor, (d, d))
    graph.output((e, {"shape": c, "cut": [slice(y, None, None)]}))
    return graph


def text_of_build(library: Any) -> list[str]:
    graph = build(library)
    names = said(graph), said(graph.python_code("self").src).replace("base.tensor.", "")
    return [each.replace("torch.base.tensor.Tensor", "torch.Tensor") for each in names]


def test_graphs_by_hand() -> None:
    def body(library: Any) -> Any:
        graph = build(library)
        graph.lint()
        nodes = list(graph.nodes)
        found = [
            [(n.op, n.name, [str(each) for each in n.all_input_nodes], [str(each) for each in n.users]) for n in nodes],
            [str(each) for each in reversed(graph.nodes)],
            [str(each) for each in graph.find_nodes(op="call_function", target=len)],
            len(graph.nodes),
            str(nodes[2].next),
            str(nodes[2].prev),
            nodes[2] < nodes[3],
            graph.output_node().name,
        ]
        copied = copy.deepcopy(graph)
        assert graph.eliminate_dead_code()
        return [text_of_build(library), found, said(graph), len(copied.nodes)]

    assert_same_results(body)


def test_names_are_new_ones() -> None:
    def body(library: Any) -> Any:
        graph = library.fx.Graph()
        words = (
            "a",
            "a",
            "a_1",
            "a_5",
            "a",
            "class",
            "sum",
            "torch",
            "0x",
            "b.c",
            "self",
            "inf",
            "a_05",
            "_1",
            "x__",
            "1.2",
        )
        return [graph.placeholder(word).name for word in words] + [
            graph.call_function(library.nn.LSTM.forward).name,
            graph.call_method("__getitem__").name,
            graph.call_function(library.nn.LayerNorm).name,
            graph.call_function(library.nn.BatchNorm1d).name,
        ]

    assert_same_results(body)


def test_graphs_that_change() -> None:
    def body(library: Any) -> Any:
        module = library.fx.symbolic_trace(lambda x, y: library.relu(x + y) * library.relu(y))
        graph = module.graph
        for node in graph.find_nodes(op="call_function", target=library.relu):
            with graph.inserting_after(node):
                new = graph.call_function(library.sigmoid, node.args, dict(node.kwargs))
            node.replace_all_uses_with(new)
            graph.erase_node(node)
        first = next(iter(graph.nodes))
        with graph.inserting_before():
            graph.placeholder("z")
        first.append(next(iter(graph.nodes)))
        last = graph.output_node()
        with graph.inserting_before(last):
            scaled = graph.call_function(operator.mul, (last.args[0], first))
        last.replace_input_with(last.args[0], scaled)
        scaled.update_arg(0, 2)
        scaled.insert_arg(0, list(graph.nodes)[2])
        scaled.args = scaled.args[:2]
        module.recompile()
        module.graph.lint()
        return [*texts(module), module(*library.ones(3, 2).unbind(0))]

    assert_same_results(body)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda nodes: nodes[0].graph.erase_node(nodes[0]), "still had"),
        (lambda nodes: nodes[2].append(nodes[0]) or nodes[2].graph.lint(), "used before it has been defined"),
        (lambda nodes: nodes[2].kwargs.update(a=1), "mutation"),
        (lambda nodes: nodes[2].args[0].append(1), "mutation"),
        (lambda nodes: nodes[0].graph.create_node("nothing", "x"), "nothing"),
        (lambda nodes: nodes[0].graph.call_function("name"), "Callable"),
    ],
)
def test_wrong_changes(change: Callable[[Any], Any], message: str) -> None:
    def body(library: Any) -> Any:
        return change(list(library.fx.symbolic_trace(lambda x, y: library.stack([x, y], dim=0)).graph.nodes))

    assert_same(body, message)


def test_transformers() -> None:
    def body(library: Any) -> Any:
        class Swapped(library.fx.Transformer):  # type: ignore[misc, name-defined]
            def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                if target is library.relu:
                    return library.tanh(*args) + 1
                return super().call_function(target, args, kwargs)

            def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
                return super().call_method("sin" if target == "cos" else target, args, kwargs)

        module = library.fx.symbolic_trace(lambda x, y=2.0: [library.relu(x).cos() * y, x.shape])
        new = Swapped(module).transform()
        whole = library.fx.Transformer(library.fx.symbolic_trace(residual(library))).transform()
        return [*texts(new), new(library.ones(2))[0], *texts(whole), whole(library.ones(1, 3))]

    assert_same_results(body)


def test_interpreters() -> None:
    def body(library: Any) -> Any:
        seen: list[Any] = []

        class Noted(library.fx.Interpreter):  # type: ignore[misc, name-defined]
            def run_node(self, n: Any) -> Any:
                out = super().run_node(n)
                seen.append((n.op, n.name, out))
                return out

        module = library.fx.symbolic_trace(residual(library))
        out = Noted(module).run(library.ones(1, 3))
        start = next(n for n in module.graph.nodes if n.name == "relu")
        known = library.fx.Interpreter(module, garbage_collect_values=False)
        known.run(library.ones(1, 3))
        return [out, seen, known.env[start]]

    assert_same_results(body)


def test_interpreters_say_which_node_failed() -> None:
    def body(library: Any) -> Any:
        return library.fx.Interpreter(library.fx.symbolic_trace(lambda x: x.nothing(1))).run(library.ones(2))

    assert_same(body, "While executing %nothing : [num_users=1] = call_method[target=nothing](args = (%x, 1)")
    assert_same(lambda library: library.fx.Interpreter(library.fx.symbolic_trace(abs_of)).run(), "parameter x")


def abs_of(x):  # type: ignore[no-untyped-def]
    return abs(x)


PATTERNS: list[tuple[str, str, str]] = [
    ("lambda a, b: torch.relu(a + b) * 2 + torch.relu(b + a)", "lambda p, q: torch.relu(p + q)", "lambda p, q: p - q"),
    ("lambda a, b: torch.cat([a, b]).sum() + torch.cat([b, b])", "lambda p, q: torch.cat([p, q])", "lambda p, q: q"),
    ("lambda a, b: (a + 1) * (b + 2) * (a + 1)", "lambda p: p + 1", "lambda p: p.sin()"),
    ("lambda a, b: (a * b).relu().relu().relu()", "lambda p: p.relu().relu()", "lambda p: p.cos()"),
    ("lambda a, b: (a + b).max(0)[0] + b", "lambda p: p.max(0)", "lambda p: p.min(0)"),
    ("lambda a, b: torch.add(a, 3) + torch.add(a, b)", "lambda p, q: torch.add(p, q)", "lambda p, q: p * q"),
    ("lambda a, b: ((a + b).sin(), (a + b).cos())", "lambda p, q: (p + q).sin()", "lambda p, q: p"),
    (
        "lambda a, b: (a + b).sin() * (a + b).cos()",
        "lambda p, q: ((p + q).sin(), (p + q).cos())",
        "lambda p, q: (q, p)",
    ),
    ("lambda a, b: a - b", "lambda p, q: p + q", "lambda p, q: p * q"),
    ("lambda a, b: torch.sum(a + b, dim=0)", "lambda p: torch.sum(p, dim=0)", "lambda p: torch.mean(p, dim=0)"),
]


@pytest.mark.parametrize(("program", "pattern", "replacement"), PATTERNS)
def test_patterns(program: str, pattern: str, replacement: str) -> None:
    def body(library: Any) -> Any:
        names = {"torch": library}
        module = library.fx.symbolic_trace(eval(program, names))
        found = library.fx.replace_pattern(module, eval(pattern, names), eval(replacement, names))
        module.graph.lint()
        places = [(str(match.anchor), {str(a): str(b) for a, b in match.nodes_map.items()}) for match in found]
        return [*texts(module), places, module(library.ones(2, 2), library.ones(2, 2))]

    assert_same_results(body)


def test_copies_and_files() -> None:
    def body(library: Any) -> Any:
        module = library.fx.symbolic_trace(residual(library))
        module.eval()
        copied = copy.deepcopy(module)
        loaded = pickle.loads(pickle.dumps(library.fx.symbolic_trace(library.nn.Sequential(library.nn.Tanh()))))
        with library.no_grad():
            next(iter(module.parameters())).zero_()
        x = library.ones(1, 3)
        names = [name for name, _ in copied.named_modules()], list(copied.state_dict())
        return [*texts(copied), copied(x), module(x), names, copied.training, *texts(loaded), loaded(x)]

    assert_same_results(body)


def test_gradients() -> None:
    def body(library: Any) -> Any:
        root = attention(library)
        tokens = library.tensor([[1, 2, 3]])
        root(tokens)["logits"].sum().backward()
        expected = [parameter.grad.clone() for parameter in root.parameters()]
        root.zero_grad()
        module = library.fx.symbolic_trace(root)
        module(tokens)["logits"].sum().backward()
        grads = dict(module.named_parameters())
        same = [
            library.equal(grads[name].grad, g) for (name, _), g in zip(root.named_parameters(), expected, strict=True)
        ]
        return [same, sorted(grads)]

    assert_same_results(body)


def test_members_of_graph_modules() -> None:
    def body(library: Any) -> Any:
        module = library.fx.symbolic_trace(residual(library))
        added = (
            module.add_submodule("0.more.deep", library.nn.Linear(1, 1)),
            module.add_submodule("0.scale.x", library.nn.ReLU()),
        )
        before = [name for name, _ in module.named_modules()]
        module.delete_all_unused_submodules()
        deleted = module.delete_submodule("0.first"), module.delete_submodule("0.nothing")
        made = library.fx.GraphModule({"w": library.ones(2)}, with_attribute(library), "Made")
        return [added, before, deleted, [name for name, _ in module.named_modules()], made(library.ones(2)), said(made)]

    assert_same_results(body)
    assert_same(lambda library: library.fx.GraphModule({}, with_attribute(library)), "was not provided")


def with_attribute(library: Any) -> Any:
    graph = library.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(operator.add, (x, graph.get_attr("w"))))
    return graph


def test_shapes() -> None:
    def body(library: Any) -> Any:
        module = library.fx.symbolic_trace(residual(library))
        if library is torch:
            from torch.fx.passes.shape_prop import ShapeProp
        else:
            from gradwright.fx.passes.shape_prop import ShapeProp
        ShapeProp(module).propagate(library.ones(2, 3))
        known = [n.meta["tensor_meta"] for n in module.graph.nodes]
        fields = [[tuple(m.shape), said(m.dtype), m.requires_grad, m.stride, said(m.memory_format)] for m in known]
        return [fields, said(module.print_readable(print_output=False))]

    assert_same_results(body)


def test_tracers() -> None:
    def body(library: Any) -> Any:
        class Inside(library.fx.Tracer):  # type: ignore[misc, name-defined]
            def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
                return isinstance(m, (library.nn.Linear, library.nn.Tanh))

        root = residual(library)
        tracer = Inside()
        graph = tracer.trace(root)
        with pytest.raises(NameError):
            tracer.path_of_module(library.nn.Linear(1, 1))
        scopes = {name: path for name, (path, _) in tracer.node_name_to_scope.items()}
        module = library.fx.GraphModule(root, graph)
        return [*texts(module), scopes, module(library.ones(1, 3))]

    assert_same_results(body)


def test_shapes_of_parameters() -> None:
    def body(library: Any) -> Any:
        class Sized(library.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.weight = library.nn.Parameter(library.ones(2, 3))

            def forward(self, x):  # type: ignore[no-untyped-def]
                return x + 1 if self.weight.shape[0] == 2 and self.weight.dim() == 2 else x * self.weight

        root = Sized()
        graph = library.fx.Tracer(param_shapes_constant=True).trace(root)
        return [said(graph)]

    assert_same_results(body)
