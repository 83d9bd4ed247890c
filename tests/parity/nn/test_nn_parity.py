"""`nn` against PyTorch: one body, run with both modules."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.two_modules import assert_same, attempt, compare, warned

Library = Any


def outcome(library: Library, expression: str) -> Any:
    """What an expression gives in a module; `m` is a Module with members of all kinds, `p` and `x` are small."""
    nn = library.nn
    names = {
        "torch": library,
        "nn": nn,
        "m": everything(library),
        "p": nn.Parameter(library.ones(2)),
        "x": library.linspace(-3, 3, 8).reshape(2, 4),
        "OrderedDict": OrderedDict,
        "s": nn.Sequential(nn.ReLU(), nn.Identity(), nn.Tanh()),
        "l": nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.ReLU()]),
        "d": nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()}),
        "pl": nn.ParameterList([library.ones(2, 3), nn.Parameter(library.ones(3)), 4]),
        "pd": nn.ParameterDict({"b": library.ones(2), "a": library.ones(2, 3), "c": 4}),
        "I": nn.init,
        "U": nn.utils,
    }
    return warned(lambda: eval(expression, names))


def everything(library: Library) -> Any:
    nn = library.nn

    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.l = constant(nn.Linear(2, 3))
            self.register_buffer("b", library.ones(2))
            self.register_buffer("t", library.ones(1), persistent=False)
            self.register_parameter("n", None)
            self.s = nn.Sequential(nn.ReLU(), nn.ModuleList([constant(nn.Linear(1, 1)) for _ in range(2)]))
            self.again = self.l

    return Model()


def constant(module: Any) -> Any:
    """The same parameters in both modules."""
    for number, parameter in enumerate(module.parameters()):
        values = np.linspace(-1, 1, parameter.numel()).reshape(parameter.shape) + number / 10
        parameter.data.copy_(parameter.new_tensor(values))
    return module


# Values, or classes of errors with their messages; the tuples' second half are classes of warnings.
EXPRESSIONS = """
repr(nn.Parameter())
repr(p)
nn.Parameter(p * 2)
nn.Parameter(torch.ones(2), requires_grad=False)
type(p + 1).__name__, type(p.detach()).__name__, type(p.data).__name__, type(p[0]).__name__, type(p.clone()).__name__
type(p.requires_grad_(False)).__name__
isinstance(torch.ones(2), nn.Parameter), isinstance(p, torch.Tensor), isinstance(p, nn.Parameter)
isinstance(nn.Buffer(torch.ones(2)), nn.Buffer), nn.Buffer(torch.ones(2)).persistent
str(nn.Buffer(torch.ones(2), persistent=False))
repr(m)
list(m.state_dict())
m.state_dict()._metadata
m.state_dict(prefix="x.", keep_vars=True)
m.state_dict(destination=OrderedDict(a=1), prefix="x.")
m.state_dict({}, "x.", False)
[n for n, _ in m.named_parameters()], [n for n, _ in m.named_parameters("q", recurse=False)]
[n for n, _ in m.named_parameters(remove_duplicate=False)]
[n for n, _ in m.l.named_parameters("q", recurse=False)]
[n for n, _ in m.named_buffers()], len(list(m.buffers())), len(list(m.parameters()))
[n for n, _ in m.named_modules()], [n for n, _ in m.named_modules(prefix="z", remove_duplicate=False)]
[n for n, _ in m.named_children()], len(list(m.children())), len(list(m.modules()))
[d for d in dir(m) if d in ("l", "b", "n", "s", "weight")]
[d for d in dir(l) if d.isdigit()]
m.get_submodule("s.1.0"), m.get_submodule("") is m
m.get_submodule("l.x")
m.get_submodule("l.weight")
m.get_parameter("l.weight")
m.get_parameter("l.x")
m.get_parameter("b")
m.get_buffer("b")
m.get_buffer("l.weight")
m.get_buffer("l.zz")
m.set_submodule("s.0", nn.Tanh()), repr(m)
m.set_submodule("l.x", nn.ReLU(), strict=True)
m.set_submodule("", nn.ReLU())
m.set_submodule("l", 1)
m.set_submodule("q.l", nn.ReLU())
setattr(m.l, "weight", 3)
setattr(m, "l", 3)
setattr(m, "l", None), repr(m)
setattr(m, "b", None), list(m.state_dict())
setattr(m.l, "bias", None), m.l
setattr(m, "l", p), [n for n, _ in m.named_parameters()]
setattr(m, "b", p), list(m.state_dict())
setattr(m, "b", nn.ReLU()), list(m.state_dict())
setattr(m, "training", nn.ReLU()), "training" in dict(m.named_children())
setattr(m, "new", nn.Buffer(torch.ones(1), persistent=False)), list(m.state_dict()), len(list(m.buffers()))
m.zzz
delattr(m, "zzz")
delattr(m, "l"), delattr(m, "b"), list(m.state_dict())
m(1)
nn.Module(1)
nn.Module(a=1)
m.load_state_dict(3)
m.load_state_dict(m.state_dict())
m.load_state_dict({"x": 1}, strict=False)
m.load_state_dict({"l": {"x": 1}, "l.weight.c": 3})
nn.Linear(1, 1).load_state_dict({"weight": torch.ones(2, 2)}, strict=False)
m.l.load_state_dict({"weight": torch.zeros(3, 2), "bias": torch.ones(3).double()}), m.l.state_dict()
m.l.load_state_dict({"weight": torch.zeros(3, 2), "bias": torch.ones(3).double()}, assign=True), m.l.state_dict()
m.to(torch.int64)
m.double().state_dict()
m.to(torch.ones(1, dtype=torch.float16)).state_dict(), m.l.weight.dtype
m.half().float().to("cpu").to(torch.float64).bfloat16().double().l.weight
m.type(torch.int32) if 0 else m.l.requires_grad_(False).type(torch.int32).state_dict()
m.train(3)
m.eval().s.training, m.train().s.training
m.requires_grad_(False), [q.requires_grad for q in m.parameters()]
m.register_buffer("b", torch.ones(3)), m.b
m.register_buffer("l", torch.ones(1))
m.register_buffer("", torch.ones(1))
m.register_buffer(1, torch.ones(1))
m.register_parameter("b", p)
m.register_parameter("", p)
m.register_parameter(1, p)
m.add_module("b", nn.ReLU())
m.add_module("b.c", nn.ReLU())
m.add_module("", nn.ReLU())
m.add_module(1, nn.ReLU())
m.add_module("h", 1)
m.register_module("h", None), m.h, repr(m)
m.apply(lambda k: setattr(k, "seen", type(k).__name__)) is m, m.l.seen
m.zero_grad()
s[0], s[-1], s[1:], len(s), [type(k).__name__ for k in s]
s[5]
s["0"]
s.__setitem__(9, nn.ReLU())
s.__setitem__(-1, nn.GELU()), s
s.__delitem__(1), s
s.__delitem__(slice(0, 2)), s
s + s
s + 1
s * 2
2 * s
s * 0
s * "a"
s.pop(0), s
s.append(nn.ReLU()), s.append(1)
s.insert(0, nn.GELU())
s.insert(-1, nn.GELU())
s.insert(10, nn.GELU())
s.insert(0, 1)
s.extend([nn.ReLU()])
s.__iadd__(nn.Sequential(nn.Tanh()))
s.__imul__(2)
nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh())).b
nn.Sequential(), nn.Sequential()(3)
nn.Sequential(1)
l
l[1:3], l[-1]
l[10]
l["a"]
l.__delitem__(slice(0, 2)), l
l + [nn.GELU()]
l.extend(3)
l(1)
l.pop(-1), l
l.insert(1, nn.GELU()), l
l.__iadd__([nn.ReLU()])
l.__setitem__(0, nn.Sequential(nn.ReLU())), l
l[0] in l, nn.ModuleList(), len(l)
d, d["a"], "a" in d, len(d), list(d), list(d.keys())
list(d.items()), list(d.values())
d.update([["c", nn.GELU()]]), d
d.update({"c": nn.GELU()}), d
d.update(3)
d.update([(1, 2, 3)])
d.pop("a"), d
d.clear(), d
d["z"]
d.__setitem__("x", 3)
d.__setitem__("keys", nn.ReLU())
d.__delitem__("a"), d
pl, [type(q).__name__ for q in pl], [n for n, _ in pl.named_parameters()], len(pl)
pl[1:], pl[-1]
pl[7]
pl.append(torch.ones(1))
pl.extend(torch.ones(1))
pl.extend([torch.ones(1), 3]), list(pl.state_dict())
pl.__iadd__([3])
pl.__setitem__(0, torch.zeros(1)), pl
pl(1)
pd, list(pd), "a" in pd, len(pd), list(pd.items()), list(pd.values()), list(pd.keys())
pd.copy()
pd | nn.ParameterDict({"z": torch.ones(1)})
{"h": 4} | pd
pd.__ior__({"g": 3})
pd.get("zz"), pd.get("c"), pd.get("q", 7)
pd.pop("a"), pd.popitem(), pd
pd.setdefault("n", torch.ones(1)), pd.setdefault("b", 3), pd
pd.fromkeys(["x", "y"], torch.ones(1))
list(reversed(pd))
pd.update({"k": torch.ones(1), "j": torch.ones(1)}), pd
pd.update([("z", torch.ones(1)), ("y", 5)]), list(pd)
pd["nope"]
pd(1)
pd.clear(), pd
nn.Flatten(), nn.Flatten()(x), nn.Unflatten(1, (2, 2)), nn.Unflatten(1, (2, 2))(x), nn.Unflatten(1, [2, -1])(x)
nn.Unflatten(1, 3)
nn.Unflatten(1, (2, 3.0))
nn.Identity(3, a=4), nn.Identity()(x)
nn.Linear(2, 3, bias=False), nn.Linear(2, 3, dtype=torch.float64).bias.dtype
nn.Linear(0, 3)
nn.Embedding(10, 3, padding_idx=-1), nn.Embedding(10, 3, padding_idx=-1).weight[9]
nn.Embedding(10, 3, padding_idx=20)
nn.Embedding(10, 3, padding_idx=-20)
nn.Embedding(10, 3, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, sparse=True)
nn.Embedding.from_pretrained(x)(torch.tensor([[1, 0]])), nn.Embedding.from_pretrained(x, freeze=False).weight
nn.Embedding.from_pretrained(x.clone(), max_norm=1.0)(torch.tensor([1]))
nn.Embedding.from_pretrained(x[0])
nn.Embedding(3, 4, _weight=torch.ones(2, 2))
nn.LayerNorm(4), nn.LayerNorm((2, 4), bias=False), nn.LayerNorm([4], elementwise_affine=False)
nn.LayerNorm(4)(x), nn.LayerNorm(4).state_dict(), nn.LayerNorm([2, 4], eps=0.1, bias=False)(x)
nn.GroupNorm(2, 4), nn.GroupNorm(2, 4)(x), nn.GroupNorm(2, 4, affine=False)(x), nn.GroupNorm(2, 4, bias=False)
nn.GroupNorm(3, 4)
nn.RMSNorm(4), nn.RMSNorm((2, 4))(x), nn.RMSNorm(4, elementwise_affine=False)
nn.Dropout(), nn.Dropout(0.2, True), nn.Dropout().eval()(x), nn.Dropout(0.0)(x)
nn.Dropout(2)
nn.PReLU(4, 0.5), nn.PReLU(4, 0.5)(x), nn.PReLU().state_dict()
nn.CosineSimilarity(), nn.CosineSimilarity(dim=0)(x, x + 1)
nn.Softmax2d()(x.reshape(1, 2, 2, 2)), nn.Softmax2d()
nn.Softmax2d()(torch.ones(2))
nn.Hardtanh(2, 1)
nn.Hardtanh(min_value=-3, max_value=4)
nn.SmoothL1Loss(beta=-1)(x, x)
nn.MSELoss(size_average=False).reduction, nn.MSELoss(reduce=False).reduction
nn.MSELoss(reduction="x")(x, x)
nn.GELU("tanh")(x), nn.GELU("tan")
nn.Sigmoid(3)
nn.Sigmoid(a=3)
nn.ReLU(3, 4)
nn.ReLU(x=4)
nn.Threshold()
nn.Softmax()(x)
nn.BCELoss(weight=torch.ones(4) / 3).state_dict()
nn.CrossEntropyLoss(torch.ones(4), ignore_index=1, label_smoothing=0.1)(x, torch.tensor([1, 2]))
nn.NLLLoss(torch.arange(4.0), reduction="sum")(x, torch.tensor([1, 2]))
nn.BCEWithLogitsLoss(pos_weight=torch.ones(4) * 2)(x, (x > 0).float()), nn.BCEWithLogitsLoss(pos_weight=torch.ones(4))
nn.BCELoss(torch.ones(4))(x.sigmoid(), (x > 0).float())
nn.KLDivLoss(reduction="batchmean")(x, x.sigmoid()), nn.KLDivLoss(reduction="sum", log_target=True)(x, x)
nn.HuberLoss(delta=0.5)(x, x * 2), nn.SmoothL1Loss(reduction="none", beta=0.5)(x, x * 2), nn.L1Loss()(x, x * 2)
nn.ConstantPad1d(2, 3.5), nn.ConstantPad1d((1, 2), 3.5)(x), nn.ZeroPad2d(1), nn.ZeroPad2d(1)(x.reshape(1, 2, 4))
nn.ReflectionPad1d(2), nn.ReflectionPad1d(2)(x), nn.ReplicationPad1d((0, 3))(x), nn.CircularPad1d(2)(x)
nn.ReplicationPad3d(1), nn.CircularPad3d(2), nn.ReflectionPad2d((1, 2, 1, 1)), nn.ZeroPad3d(1), nn.ConstantPad3d(1, 2)
[I.calculate_gain(n) for n in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")]
I.calculate_gain("leaky_relu", 0.2)
I.calculate_gain("leaky_relu", True)
I.calculate_gain("leaky_relu", "x")
I.calculate_gain("x")
[I._calculate_fan_in_and_fan_out(torch.ones(s)) for s in ((2, 3), (2, 3, 4), (2, 3, 4, 5))]
I._calculate_fan_in_and_fan_out(torch.ones(2))
I._calculate_correct_fan(torch.ones(2, 3), "x")
I._calculate_correct_fan(torch.ones(2, 3), "FAN_IN")
I.eye_(torch.ones(2, 3)), I.eye_(p)
I.dirac_(torch.ones(2, 2))
I.dirac_(torch.ones(3, 2, 2), 2)
I.dirac_(torch.ones(4, 2, 3), 2), I.dirac_(torch.ones(2, 3, 3, 3)), I.dirac_(torch.ones(3, 2, 2, 2, 2))
I.orthogonal_(torch.ones(2))
I.sparse_(torch.ones(2), 0.1)
(I.sparse_(torch.ones(4, 3), 0.3) == 0).sum(0)
I.kaiming_uniform_(torch.ones(0, 3)), I.kaiming_normal_(torch.ones(0, 3)), I.orthogonal_(torch.ones(0, 3))
I.xavier_uniform_(torch.ones(0, 3))
I.trunc_normal_(torch.ones(2), 5.0) is None
I.ones_(p) is p, I.zeros_(p), I.constant_(p, 3.5), I.ones_(p)
I.uniform_(torch.ones(2), 2, 1) if 0 else 0
U.parameters_to_vector([p, nn.Parameter(x)])
U.vector_to_parameters(torch.arange(10.0), [p, nn.Parameter(x)]), p
U.get_total_norm([x, x + 1]), U.get_total_norm(x, 1), U.get_total_norm([]), U.get_total_norm([x], float("inf"))
U.clip_grad_norm_([], 1.0), U.clip_grad_norm_([p], 1.0)
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_expression(expression: str) -> None:
    assert_same(outcome(gradwright, expression), outcome(torch, expression))


# Messages of our own: only the classes are the same.
OTHER_MESSAGES = """
nn.Parameter(torch.ones(2, dtype=torch.int64))
nn.Parameter([1.0, 2.0])
setattr(m.l, "weight", torch.ones(2))
setattr(m, "b", 3)
m.register_buffer("g", 1)
m.register_parameter("g", torch.ones(1))
m.register_parameter("b.c", p)
m.register_parameter("g", p * 1)
m.load_state_dict({"l.weight": torch.ones(2, 2), "x": torch.ones(1), "l.bias": 3})
m.l.load_state_dict({"weight": torch.ones(2, 2), "bias": 3})
m.to(1, 2, 3)
ppd.update(3)
pd.__setitem__(1, torch.ones(1))
U.vector_to_parameters([1], [p])
U.vector_to_parameters(torch.ones(1), [p])
m.register_buffer("b.c", torch.ones(1))
d.update([3])
U.clip_grad_norm_([], 1.0, error_if_nonfinite=True) if 0 else U.get_total_norm([x / 0], error_if_nonfinite=True)
"""


@pytest.mark.parametrize("expression", OTHER_MESSAGES.strip().splitlines())
def test_class_of_error(expression: str) -> None:
    ours, theirs = outcome(gradwright, expression)[0], outcome(torch, expression)[0]
    assert ours.kind == theirs.kind


ACTIVATIONS = """
Threshold(0.5,2.0) Threshold(0.5,2.0,True) ReLU() ReLU(True) ReLU6() ReLU6(True) Hardtanh() Hardtanh(-2,2,True)
Sigmoid() Hardsigmoid() Hardsigmoid(True) Hardswish() Hardswish(True) Tanh() SiLU() SiLU(True) Mish() Mish(True) ELU()
ELU(2,True) CELU() CELU(2.0,True) SELU() SELU(True) GELU() GELU("tanh") GLU() GLU(0) Hardshrink() Hardshrink(.3)
Softshrink() Softshrink(.3) LeakyReLU() LeakyReLU(.1,True) LogSigmoid() Softplus() Softplus(2,3) Softsign() Tanhshrink()
PReLU() Softmin(1) Softmax(1) Softmax(dim=0) LogSoftmax(1) Identity() Dropout(0.3) LayerNorm(4) RMSNorm(4,0.1)
"""


@pytest.mark.parametrize("made", ACTIVATIONS.split())
def test_layers_give_the_same(made: str) -> None:
    def body(library: Library) -> Any:
        layer = eval(f"nn.{made}", {"nn": library.nn}).eval()
        x = library.linspace(-3, 3, 8).reshape(2, 4).requires_grad_()
        y = layer(x + 0)
        (y * y).sum().backward()
        options = {name: value for name, value in vars(layer).items() if not name.startswith("_")}
        return repr(layer), y, x.grad, dict(sorted(options.items())), layer.state_dict()

    # The gradient of LayerNorm is all rounding here: the sum of its squares does not depend on the input.
    compare(body, rtol=1e-4, atol=3e-6)


LOSSES = {
    "L1Loss": ("", "reduction='none'", "reduction='sum'"),
    "MSELoss": ("", "reduction='none'"),
    "SmoothL1Loss": ("", "beta=0.3", "reduction='sum'"),
    "HuberLoss": ("", "delta=0.3", "reduction='none'"),
    "KLDivLoss": ("reduction='batchmean'", "reduction='sum', log_target=True"),
    "BCEWithLogitsLoss": ("", "reduction='none'"),
}


@pytest.mark.parametrize("made", [f"{name}({given})" for name, options in LOSSES.items() for given in options])
def test_losses_give_the_same(made: str) -> None:
    def body(library: Library) -> Any:
        loss = eval(f"nn.{made}", {"nn": library.nn})
        x = library.linspace(-3, 3, 8).reshape(2, 4).requires_grad_()
        y = loss(x, library.linspace(0.1, 0.9, 8).reshape(2, 4))
        y.sum().backward()
        return repr(loss), y, x.grad, loss.state_dict()

    compare(body)


# -- hooks


def recorder(log: list[Any], name: str, out: Any = None) -> Callable[..., Any]:
    def hook(module: Any, *arguments: Any) -> Any:
        log.append((name, *arguments))
        return out(*arguments) if out else None

    return hook


def forward_hooks(library: Library) -> Any:
    log: list[Any] = []
    m = constant(library.nn.Linear(2, 2))
    x = library.ones(2)
    m.register_forward_pre_hook(recorder(log, "pre"))
    first = m.register_forward_pre_hook(recorder(log, "first", lambda args: args[0] * 2), prepend=True)
    m.register_forward_pre_hook(recorder(log, "kw", lambda args, kwargs: (args, kwargs)), with_kwargs=True)
    m.register_forward_hook(recorder(log, "post", lambda args, out: out + 1))
    m.register_forward_hook(recorder(log, "post kw"), with_kwargs=True, prepend=True)
    results = [m(x)]
    first.remove()
    first.remove()
    results += [m(input=x)]
    with m.register_forward_hook(recorder(log, "inside")):
        m(x)
    results.append(m(x))
    return results, log


def always_called(library: Library) -> Any:
    log: list[Any] = []
    m = library.nn.Linear(2, 2)
    m.register_forward_hook(recorder(log, "always"), always_call=True)
    m.register_forward_hook(recorder(log, "sometimes"))
    broken = m.register_forward_hook(recorder(log, "broken", lambda *a: 1 / 0), always_call=True)
    found = [warned(lambda: attempt(lambda: m(3), message=False))]
    broken.remove()

    def refuse(*arguments: Any) -> None:
        raise ValueError("no")

    m.register_forward_pre_hook(refuse)
    found.append(warned(lambda: m(library.ones(2))))
    return found, log


def pre_hook_errors(library: Library) -> Any:
    m = library.nn.Linear(2, 2)
    m.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    return attempt(lambda: m(library.ones(2)))


def two_in_two_out(library: Library) -> Any:
    class Pair(library.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any, b: Any, c: int, *, d: Any = None) -> Any:
            return a * b * c, (a + b).detach(), b * (1 if d is None else d)

    return Pair()


def backward_hooks(library: Library) -> Any:
    log: list[Any] = []
    m = two_in_two_out(library)
    m.register_full_backward_hook(recorder(log, "hook"))
    m.register_full_backward_hook(
        recorder(log, "double", lambda gi, go: tuple(None if g is None else g * 2 for g in gi))
    )
    m.register_full_backward_hook(recorder(log, "first"), prepend=True)
    m.register_full_backward_pre_hook(recorder(log, "pre", lambda go: (go[0] * 3, None, go[2])))
    a = library.tensor([1.0, 2.0], requires_grad=True)
    b = library.tensor([3.0, 4.0], requires_grad=True)
    p, q, r = m(a, b, 5, d=a)
    (p.sum() + r.sum()).backward()
    results = [p, q, r, a.grad, b.grad]
    a.grad = b.grad = None
    p, q, r = m(a, b.detach(), 5)
    p.sum().backward(retain_graph=True)
    results += [a.grad, q.requires_grad]
    results += list(library.autograd.grad(p.sum(), [a]))
    with library.no_grad():
        results.append(m(a, b, 2))
    p, q, r = m(a, library.ones(2, dtype=library.int64), 5)
    r.sum().backward(inputs=[a]) if r.requires_grad else p.sum().backward()
    return results, log, p.grad_fn.name(), a.grad


def unused_arguments(library: Library) -> Any:
    class First(library.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any, b: Any) -> Any:
            return a * 2

    m = First()
    m.register_full_backward_pre_hook(lambda m, go: None)
    a, b = library.ones(2, requires_grad=True), library.ones(2, requires_grad=True)
    m(a, b).sum().backward()
    return a.grad, b.grad


def backward_hooks_without_input(library: Library) -> Any:
    log: list[Any] = []
    m = constant(library.nn.Linear(2, 2))
    m.register_full_backward_hook(recorder(log, "hook"))
    found = [warned(lambda: m(library.ones(2)).sum().backward()), m.weight.grad]
    m.register_full_backward_hook(lambda m, gi, go: (library.ones(1),))
    found.append(warned(lambda: m(library.ones(2)).sum().backward()))
    return found, log


def backward_hook_errors(library: Library) -> Any:
    found = []
    x = library.ones(1, 2, requires_grad=True)

    def run(hook: Any, pre: bool = False) -> None:
        m = library.nn.Linear(2, 2)
        (m.register_full_backward_pre_hook if pre else m.register_full_backward_hook)(hook)
        found.append(attempt(lambda: m(x).sum().backward(), message="size" not in hook.__name__))

    def size(m: Any, gi: Any, go: Any) -> Any:
        return (gi[0][0],)

    def size_before(m: Any, go: Any) -> Any:
        return (go[0][0],)

    run(lambda m, gi, go: (None, None))
    run(lambda m, go: (), pre=True)
    run(size)
    run(size_before, pre=True)
    run(lambda m, gi, go: (None,))
    found.append(x.grad)

    class Returns(library.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any) -> Any:
            return {"a": a}

    m = Returns()
    m.register_full_backward_hook(lambda *a: None)
    found.append(warned(lambda: m(x)["a"].sum().item()))
    m = library.nn.Linear(2, 2)
    m.register_full_backward_hook(lambda *a: None)
    found.append(attempt(lambda: m(x).add_(1), message=False))
    return found


def double_backward(library: Library) -> Any:
    log: list[Any] = []
    m = library.nn.Sequential(constant(library.nn.Linear(2, 3)), library.nn.Tanh())
    m.register_full_backward_hook(recorder(log, "hook", lambda gi, go: (gi[0] * 2,)))
    x = library.tensor([[0.1, -0.2]], requires_grad=True)
    (g,) = library.autograd.grad(m(x).sum(), [x], create_graph=True)
    g.square().sum().backward()
    return g, x.grad, [q.grad for q in m.parameters()], len(log)


def state_dict_hooks(library: Library) -> Any:
    log: list[Any] = []
    m = library.nn.Sequential(constant(library.nn.Linear(2, 2)))
    inner = m[0]

    def after(module: Any, state: Any, prefix: str, metadata: Any) -> None:
        log.append(("after", prefix, metadata, list(state)))
        state[prefix + "extra"] = 1

    def drop(module: Any, state: Any, prefix: str, metadata: Any, strict: bool, *lists: Any) -> None:
        log.append(("load", prefix, metadata, strict, lists))
        state.pop(prefix + "extra", None)

    inner.register_state_dict_pre_hook(recorder(log, "before"))
    handle = inner.register_state_dict_post_hook(after)
    inner.register_load_state_dict_pre_hook(drop)
    inner.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    m.register_load_state_dict_post_hook(recorder(log, "loaded"))
    state = m.state_dict()
    loaded = m.load_state_dict({"0.weight": state["0.weight"]})
    handle.remove()
    inner.register_state_dict_post_hook(lambda *a: 3)
    errors = [attempt(m.state_dict)]
    inner.register_load_state_dict_post_hook(lambda *a: 3)
    errors.append(attempt(lambda: m.load_state_dict(state)))
    return list(state), loaded, log, errors


def extra_state(library: Library) -> Any:
    class Counting(library.nn.Module):  # type: ignore[misc,name-defined]
        _version = 7
        count = 0

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    a, b = library.nn.Sequential(Counting()), library.nn.Sequential(Counting())
    a[0].count = 5
    state = a.state_dict()
    found = [state, state._metadata, b.load_state_dict(state), b[0].count, attempt(lambda: b.load_state_dict({}))]
    found.append(attempt(lambda: library.nn.Sequential(library.nn.ReLU()).load_state_dict(state)))
    return found


def before_init(library: Library) -> Any:
    nn = library.nn

    def build(body: Callable[[Any], Any]) -> Any:
        cls = type("Early", (nn.Module,), {"__init__": lambda self: body(self)})
        return attempt(cls, message=False)

    return [
        build(lambda self: setattr(self, "a", nn.ReLU())),
        build(lambda self: setattr(self, "a", nn.Parameter(library.ones(1)))),
        build(lambda self: self.register_buffer("a", library.ones(1))),
        build(lambda self: self.register_parameter("a", None)),
        build(lambda self: self.a),
        attempt(lambda: type("Early", (nn.Module,), {"__init__": lambda self: setattr(self, "a", 3)})().a),
    ]


def cooperation(library: Library) -> Any:
    class Other:
        def __init__(self, value: int) -> None:
            self.value = value

    class Both(library.nn.Module, Other):  # type: ignore[misc,name-defined]
        call_super_init = True

        def __init__(self) -> None:
            super().__init__(value=3)

    return Both().value


def copies(library: Library) -> Any:
    m = everything(library)
    m.l(library.ones(2)).sum().backward()
    m.l.weight.note = 3
    twin = copy.deepcopy(m)
    shallow = copy.copy(m)
    twin.l.weight.data.zero_()
    p = copy.deepcopy(m.l.weight)
    return (
        m.l.weight,
        twin.l.weight,
        twin.l is twin.again,
        twin.l.weight.grad,
        hasattr(p, "note"),
        type(p).__name__,
        shallow.l is m.l,
    )


def pickled(library: Library) -> Any:
    m = library.nn.Sequential(constant(library.nn.Linear(2, 2)), library.nn.Hardtanh(-2, 2), library.nn.ParameterList())
    m[0].weight.note = 3
    m.register_buffer("b", library.ones(1), persistent=False)
    again = pickle.loads(pickle.dumps(m.eval()))
    p = again[0].weight
    return repr(again), again.state_dict(), again.training, p, p.note, [n for n, _ in again.named_buffers()]


def sharing(library: Library) -> Any:
    values = library.ones(2)
    p = library.nn.Parameter(values)
    values.add_(1)
    version = p._version
    state = library.nn.ParameterList([p]).state_dict()
    state["0"].mul_(3)
    return p, version == values._version, state["0"].requires_grad


def subclass_of_tensor(library: Library) -> Any:
    class Special(library.Tensor):  # type: ignore[misc,name-defined]
        pass

    values = (
        library.ones(2).as_subclass(Special) if hasattr(library.Tensor, "as_subclass") else Special(library.ones(2))
    )
    p = library.nn.Parameter(values)
    m = library.nn.Module()
    m.p = p
    return type(p).__name__, isinstance(p, library.nn.Parameter), p.requires_grad, [n for n, _ in m.named_parameters()]


def gradients_are_cleared(library: Library) -> Any:
    m = constant(library.nn.Linear(2, 1))
    m(library.ones(2)).sum().backward()
    grad = m.weight.grad
    m.zero_grad(set_to_none=False)
    kept = m.weight.grad is grad
    m.double()
    after = m.weight.grad
    m.zero_grad()
    return kept, after, m.weight.grad, m.weight


def clipping(library: Library) -> Any:
    utils = library.nn.utils
    found: list[Any] = []

    def fresh() -> list[Any]:
        tensors = [library.zeros(2, requires_grad=True), library.zeros(1, requires_grad=True), library.zeros(3)]
        tensors[0].grad, tensors[1].grad = library.tensor([3.0, 4.0]), library.tensor([-12.0])
        return tensors

    for norm_type in (1, 2.0, float("inf")):
        for limit in (1.0, 100.0):
            tensors = fresh()
            found += [utils.clip_grad_norm_(iter(tensors), limit, norm_type), tensors[0].grad, tensors[1].grad]
    tensors = fresh()
    found += [utils.clip_grad_value_(tensors, 3.5), tensors[0].grad, tensors[1].grad]
    found += [utils.clip_grads_with_norm_(tensors[0], 1.0, library.tensor(2.0)), tensors[0].grad]
    tensors[0].grad.fill_(float("nan"))
    found += [utils.clip_grad_norm_(tensors, 1.0, foreach=True), tensors[1].grad]
    found.append(attempt(lambda: utils.clip_grad_norm_(tensors[0], 1.0, error_if_nonfinite=True)))
    return found


def network(library: Library) -> Any:
    nn = library.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up = constant(nn.Linear(width, 2 * width))
            self.down = constant(nn.Linear(2 * width, width))
            self.act = nn.GELU()

        def forward(self, x: Any) -> Any:
            return x + self.down(self.act(self.up(self.norm(x))))

    model = nn.Sequential(
        constant(nn.Embedding(5, 4, padding_idx=0)), Block(4), Block(4), nn.Flatten(), constant(nn.Linear(12, 3))
    )
    words = library.tensor([[1, 2, 0], [4, 3, 1]])
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)(model(words), library.tensor([0, 2]))
    loss.backward()
    return repr(model), loss, {name: parameter.grad for name, parameter in model.named_parameters()}


BODIES = [
    unused_arguments, forward_hooks, always_called, pre_hook_errors, backward_hooks, backward_hooks_without_input,
    backward_hook_errors,
    double_backward, state_dict_hooks, extra_state, before_init, cooperation, copies, sharing, subclass_of_tensor,
    gradients_are_cleared, clipping, network, pickled,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_body(body: Callable[[Library], Any]) -> None:
    compare(body)


# -- initial values


STATISTICS = {
    "uniform": "I.uniform_(w, -1, 3)",
    "normal": "I.normal_(w, 1, 2)",
    "trunc_normal": "I.trunc_normal_(w, 0.5, 2.0, -1.0, 3.0)",
    "xavier_uniform": "I.xavier_uniform_(w, 2.0)",
    "xavier_normal": "I.xavier_normal_(w, 0.5)",
    "kaiming_uniform": "I.kaiming_uniform_(w, 0.1)",
    "kaiming_normal": "I.kaiming_normal_(w, 0, 'fan_out', 'relu')",
    "sparse": "I.sparse_(w, 0.25, 2.0)",
    "orthogonal": "I.orthogonal_(w, 3)",
}


@pytest.mark.parametrize("expression", STATISTICS.values(), ids=STATISTICS)
def test_initial_values_have_the_same_distribution(expression: str) -> None:
    def body(library: Library) -> Any:
        library.manual_seed(0)
        w = library.empty(200, 100)
        values = eval(expression, {"I": library.nn.init, "w": w}).numpy().ravel()
        quantiles = np.quantile(values, [0.05, 0.2, 0.35, 0.65, 0.8, 0.95])
        return float(values.mean()), float(values.std()), [float(q) for q in quantiles]

    ours, theirs = body(gradwright), body(torch)
    np.testing.assert_allclose(np.hstack(ours), np.hstack(theirs), atol=0.07 * theirs[1])


@pytest.mark.parametrize(
    "layer", ["Linear(50, 400)", "Linear(400, 50)", "Embedding(300, 60)", "PReLU(5)"], ids=lambda layer: layer
)
def test_layers_start_with_the_same_distribution(layer: str) -> None:
    def body(library: Library) -> Any:
        library.manual_seed(0)
        made = eval(f"nn.{layer}", {"nn": library.nn})
        return [
            float(number)
            for p in made.parameters()
            for number in (p.detach().std(correction=0), p.detach().abs().max())
        ]

    np.testing.assert_allclose(body(gradwright), body(torch), rtol=0.15)


def test_names() -> None:
    missing = [name for name in gradwright.nn.__all__ if not hasattr(torch.nn, name)]
    assert not missing
