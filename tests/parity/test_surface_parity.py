"""Small parts of the surface, and the classes of errors, against PyTorch: one expression a line."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from support.both import assert_same

EXPRESSIONS = """
torch.finfo(float).max
torch.finfo(complex).bits
torch.finfo(None)
torch.finfo(int)
torch.iinfo(int).min
torch.iinfo(bool)
torch.can_cast(float, int)
torch.set_default_device(None)
torch.zeros(2, device='foo')
torch.zeros(2, device=1.5)
t.tensor_split(torch.tensor([1, 2]))
t.tensor_split(torch.tensor(2))
t.tensor_split(torch.tensor(2.0))
t.tensor_split(torch.tensor([[1]]))
t.tensor_split(torch.tensor([1], dtype=torch.int32))
m.tensor_split(torch.tensor([1]), dim=1)
torch.norm(m, 'nuc')
m.norm('nuc', dim=(1, 0), keepdim=True)
bm.norm('nuc', dim=(1, 2))
m.norm('nuc', dtype=torch.float64)
torch.norm(m, 'nuc', out=torch.empty(()))
t.norm('nuc')
bm.norm('nuc')
bm.norm('nuc', dim=1)
bm.norm('fro', dim=(0, 1, 2))
m.norm('foo')
i.norm('nuc')
torch.linalg.norm(m, 2)
torch.linalg.norm(bm, -2, (2, 0), keepdim=True)
torch.linalg.norm(m, 3)
torch.linalg.svdvals(m)
torch.linalg.svdvals(t)
torch.autograd.grad(g.norm('nuc') ** 2, g)[0]
torch.autograd.grad(torch.autograd.grad(g.norm('nuc') ** 2, g, create_graph=True)[0].pow(2).sum(), g)[0]
torch.atleast_1d([s, t])
torch.atleast_2d(s, t)
torch.atleast_3d((s, t, m))
torch.atleast_1d()
torch.atleast_1d([])
torch.atleast_1d([1, 2])
torch.einsum(m, [0, 1], m, [1, 2], [0, 2])
torch.einsum(m, [0, 0])
torch.einsum(bm, [..., 0, 1], bm, [..., 1, 2], [..., 0, 2])
torch.einsum(m, [30, 2])
torch.einsum(m, [0, 60])
torch.einsum('i')
torch.einsum()
torch.einsum('bij,bjk->bik', bm.long(), bm.long())
torch.take_along_dim(t, torch.tensor([-1, 3, 7, -7, 8, -8]), 0)
torch.take_along_dim(m, torch.tensor([[-1]]), 1)
torch.take_along_dim(t, torch.tensor([-1]))
torch.take_along_dim(t[:0], torch.tensor([0]), 0)
torch.triu(m, 2**62)
torch.tril(m, -2**62)
torch.triu(m, 2**63)
torch.triu(m, -2**63)
torch.triu(m, 2**100)
torch.diag(m, 2**62)
torch.diag(t, 2**62)
torch.diagonal(m, -2**63)
torch.diag_embed(t, 2**62)
t[2**63]
t[2**62]
t[[2**63]]
t.select(0, 2**63)
t.narrow(0, 2**63, 1)
t.sum(2**63)
t.sum([2**100])
t.view(2**63)
t.expand(2**62, 3)
t.repeat(2**63)
torch.zeros(2**63)
torch.zeros(2**62, 4, 0)
torch.eye(2**62)
torch.arange(2**62)
torch.linspace(0, 1, 2**62)
torch.transpose(t, 0, 2**62)
torch.transpose(t, 0, 2**63)
t.flip(2**63)
t.topk(2**63)
torch.repeat_interleave(t, 2**62)
torch.nn.functional.pad(t, (2**62, 0))
torch.bincount(torch.tensor([2**62]))
torch.Generator().manual_seed(-1).initial_seed()
torch.Generator().manual_seed(-2**63).initial_seed()
torch.Generator().manual_seed(2**64)
torch.Generator().manual_seed(1.5)
torch.Generator().manual_seed(None)
torch.manual_seed("3").initial_seed()
torch.linalg.solve_triangular(torch.zeros(2, 2), m, upper=True)
torch.linalg.solve_triangular(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), m, upper=True)
torch.linalg.solve_triangular(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), m, upper=True, unitriangular=True)
torch.linalg.solve_triangular(m, m, upper=False, left=False)
torch.linalg.solve_triangular(m * 1j, m * (1 + 1j), upper=True, left=False)
torch.linalg.solve(m, s)
t.index_add(0, torch.tensor([5]), t[:1])
t.index_add(0, torch.tensor([-1]), t[:1])
m.index_add(0, torch.tensor([5]), m[:1])
bm.index_add(1, torch.tensor([5]), bm[:, :1])
t.index_copy(0, torch.tensor([5]), t[:1])
t.index_fill(0, torch.tensor([5]), 1.0)
t.index_fill(0, torch.tensor([[0]]), 1.0)
t.index_select(0, torch.tensor([-1]))
t.gather(0, torch.tensor([5]))
t.scatter(0, torch.tensor([5]), 1.0)
t.scatter_add(0, torch.tensor([5]), t)
t.take(torch.tensor([-5]))
t.put(torch.tensor([5]), t[:1])
torch.embedding(m, torch.tensor([2]))
t[torch.tensor([5])]
t[5]
t[1, 2]
t.select(0, 5)
torch.isclose(t, t, t)
t.unflatten(0, [1.5, 1.5])
torch.nn.functional.nll_loss(m, torch.tensor([5, 0]))
torch.nn.functional.one_hot(torch.tensor([-1]))
t @ torch.ones(2)
torch.max(t[:0])
torch.arange(0, 5, 0)
torch.full((-1,), 1)
i // 0
torch.tensor([[1], [1, 2]])
torch.tensor("x")
""".strip().splitlines()

STATEMENTS = [
    "t.foo = [1]; out = t.foo, t.__dict__, hasattr(t + 1, 'foo'), hasattr(t.detach(), 'foo'), hasattr(t[:], 'foo')",
    "t.foo = [1]; u = copy.copy(t); out = u.foo is t.foo, u.foo",
    "t.foo = [1]; u = copy.deepcopy(t); out = u.foo is t.foo, u.foo",
    "t.foo = [1]; u = pickle.loads(pickle.dumps(t)); out = u.foo",
    "p = torch.nn.Parameter(t); p.foo = 1; out = p.foo, hasattr(copy.deepcopy(p), 'foo')",
    "p = torch.nn.Parameter(t); p.foo = 1; out = pickle.loads(pickle.dumps(p)).foo",
    "t.foo = 1; p = torch.nn.Parameter(t); out = hasattr(p, 'foo')",
    "t.foo = 1; del t.foo; out = t.foo",
    "t.sum = 3; out = t.sum",
    "t.shape = 3",
    "with torch.device('cpu') as d: out = str(d), str(torch.get_default_device()), torch.zeros(2)",
    "torch.set_default_device('foo')",
    "g = torch.Generator(); s = g.get_state(); out = g.set_state(s) is g",
    "g = torch.Generator(); out = g.initial_seed() == g.clone_state().initial_seed()",
    "g = torch.Generator(); g.set_state(t)",
    "g = torch.Generator(); out = g.seed() == g.initial_seed()",
    "x = torch.ops.surface_parity; del torch.ops.surface_parity",
    "del torch.ops.surface_parity",
    "l = torch.nn.Linear(2, 2); out = torch.func.functional_call(l, {'weight': m, 'bias': t[:2], 'foo': t}, (m,))",
    "l = torch.nn.Linear(2, 2); torch.func.functional_call(l, {'forward': t}, (m,))",
    "l = torch.nn.Linear(2, 2); torch.func.functional_call(l, {'foo.bar': t}, (m,))",
    "l = torch.nn.Linear(2, 2); torch.func.functional_call(l, {'': t}, (m,))",
    "l = torch.nn.Linear(2, 2); torch.func.functional_call(l, {'weight': 3}, (m,))",
    "l = torch.nn.Linear(2, 2); torch.func.functional_call(l, [m], (m,))",
    "l = torch.nn.Linear(2, 2); torch.func.functional_call(l, {'weight.foo': t}, (m,))",
    "t[2**63] = 1",
]


def names(library: Any) -> dict[str, Any]:
    return {
        "torch": library,
        "np": np,
        "copy": copy,
        "pickle": pickle,
        "t": library.tensor([1.0, 2.0, 3.0]),
        "s": library.tensor(2.0),
        "i": library.tensor([1, 2, 3]),
        "m": library.tensor([[1.0, 2.0], [3.0, 4.0]]),
        "g": library.tensor([[1.0, 2.0, 0.5], [3.0, 4.0, -1.0]], dtype=library.float64, requires_grad=True),
        "bm": library.ones(2, 2, 2),
        "out": None,
    }


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text: str) -> None:
    assert_same(lambda library: eval(text, names(library)))


@pytest.mark.parametrize("text", STATEMENTS)
def test_statements(text: str) -> None:
    def body(library: Any) -> Any:
        given = names(library)
        exec(text, given)
        return given["out"]

    assert_same(body)


@pytest.mark.parametrize("call", ["torch.linalg.inv(z)", "torch.linalg.solve(z, z)", "torch.inverse(z)"])
def test_singular(call: str) -> None:
    def body(library: Any) -> Any:
        try:
            eval(call, {"torch": library, "z": library.zeros(2, 2)})
        except library.linalg.LinAlgError as error:
            return isinstance(error, RuntimeError), isinstance(error, np.linalg.LinAlgError)
        return None

    assert_same(body)
