"""Sparse Tensors against PyTorch: values, dtypes, gradients, errors, texts, and a program that trains with them."""

from __future__ import annotations

import io
import os
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import gradwright


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that invariants are not checked
        yield


def names(library: Any) -> dict[str, Any]:
    """What the expressions below are made of; `x`, `u`, `h`, `d` and `v` are leaves."""
    sparse = library.sparse_coo_tensor
    places = library.tensor([[0, 1, 1, 2], [2, 0, 2, 3]])
    twice = library.tensor([[0, 0, 1, 2], [2, 2, 0, 3]])
    parts = library.tensor([3.0, -4.0, 5.0, 0.5], dtype=library.float64)
    numbers = np.random.default_rng(3).uniform(-2, 2, (4, 3))
    dense = library.tensor(numbers.tolist(), dtype=library.float64)
    rows = library.tensor(numbers.T.tolist(), dtype=library.float64)
    return {
        "torch": library,
        "places": places,
        "twice": twice,
        "x": sparse(places, parts, (3, 4)).coalesce().requires_grad_(),
        "u": sparse(twice, parts, (3, 4)).requires_grad_(),
        "h": sparse(library.tensor([[2, 0]]), rows[:2], (3, 4)).requires_grad_(),
        "d": dense.clone().requires_grad_(),
        "v": parts.clone().requires_grad_(),
        "wide": library.tensor(numbers.T.tolist(), dtype=library.float64),
        "vector": dense[:, 0].clone(),
        "complex_x": sparse(places, parts + 1j * parts.flip(0), (3, 4)),
        "floats": sparse(places, parts.float(), (3, 4)),
        "ints": sparse(places, parts.long(), (3, 4)),
        "third": sparse(library.tensor([[0, 1], [1, 0], [2, 2]]), parts[:2], (2, 3, 3)),
    }


LEAVES = ("x", "u", "h", "d", "v")


def described(value: Any) -> Any:
    """A result, so that those of both libraries can be compared."""
    if isinstance(value, (gradwright.Tensor, torch.Tensor)):
        kind = str(value.dtype).rpartition(".")[2]
        value = value.detach()
        if not value.is_sparse:
            return "dense", kind, tuple(value.shape), value.tolist()
        whole = value.coalesce()
        shape = (tuple(value.shape), value.sparse_dim(), value.dense_dim())
        return "sparse", kind, shape, whole.indices().tolist(), whole.values().tolist()
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    return value


def check(mine: Any, theirs: Any) -> None:
    """Fail where two results differ by more than rounding."""
    if isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs), (mine, theirs)
        for one, other in zip(mine, theirs, strict=True):
            check(one, other)
    elif isinstance(theirs, (float, complex)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-12)
    else:
        assert mine == theirs


VALUES = """
torch.sparse_coo_tensor(places, v.detach())
torch.sparse_coo_tensor(places.tolist(), [1, 2, 3, 4])
torch.sparse_coo_tensor(places, v.detach(), (5, 6), dtype=torch.float32)
torch.sparse_coo_tensor(size=(2, 3))
torch.sparse_coo_tensor((2, 3))
torch.sparse_coo_tensor(places.int(), v.detach(), [3, 4])
torch.sparse_coo_tensor(places, torch.ones(4, 2), (3, 4, 2))
torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.int64), torch.ones(0), (2, 3))
torch.sparse_coo_tensor(torch.zeros(0, 1, dtype=torch.int64), torch.ones(1), ())
torch.zeros(2, 3, layout=torch.sparse_coo)
torch.zeros_like(x), torch.empty_like(x), x.new_zeros(2, 2)
[x.is_sparse, d.is_sparse, x._nnz(), u._nnz(), h.sparse_dim(), h.dense_dim(), x.numel(), x.dim(), x.stride(), len(x)]
[x.is_coalesced(), u.is_coalesced(), x.t().is_coalesced(), (x * 2).is_coalesced(), u.coalesce().is_coalesced()]
[str(x.layout).split(".")[1], str(d.layout).split(".")[1], str(x.device), x.is_contiguous(), x.is_cpu]
x.indices(), x.values(), u._indices(), u._values()
u.coalesce() is u, x.coalesce() is x
x.to_dense(), u.to_dense(), h.to_dense(), x.to_dense(masked_grad=False)
d.to_sparse(), d.to_sparse(1), d.to_sparse_coo(), d.relu().to_sparse(), torch.eye(3).to_sparse()
d.t().sparse_mask(x.detach()), u.sparse_mask(x.detach()), h.to_dense().sparse_mask(u.detach())
x + x, x + u, u + u, x - u, x.add(u, alpha=3), x.sub(u, alpha=2), h + h
wide + x, wide - x, wide.add(u, alpha=2), wide + h
x * 2, 2 * x, x * torch.tensor(3.0), x / 2, -x, x * x, x * u, u * x, u * u, x * wide, wide * u, h * h
x * torch.ones(4, dtype=torch.float64), ints * 2, ints + ints, ints * 1.5, ints / 2, floats * 2.0, floats + x.detach()
x.pow(2), u.pow(3), x ** 2, x.square()
x.abs(), u.abs(), x.abs().sqrt(), x.sin(), x.sinh(), x.tan(), x.tanh(), x.sign(), x.sgn(), x.relu(), x.asinh()
x.atan(), x.ceil(), x.floor(), x.round(), x.trunc(), x.expm1(), x.abs().log1p(), x.erf(), x.frac(), x.neg()
x.deg2rad(), x.rad2deg(), x.isnan(), x.isinf(), x.signbit(), x.isposinf(), u.neg()
complex_x * 2j, complex_x.abs(), complex_x.conj(), complex_x.t(), complex_x + complex_x, complex_x.to_dense()
torch.mm(x, d), torch.mm(u, d), x @ d, torch.matmul(u, d), x @ vector, torch.mv(x, vector), x.mm(d)
wide @ x.t(), torch.mm(wide.t(), u), x @ u.t(), torch.sparse.mm(x, u.t()), torch.sparse.mm(x, d)
torch.sparse.mm(u, d), torch.sparse.mm(wide.t(), u), torch.sparse.mm(d.t(), d)
torch.addmm(torch.ones(3, 3, dtype=torch.float64), x, d), torch.addmm(d[0], u, d, beta=0.5, alpha=2)
torch.sparse.addmm(torch.ones(3, 3, dtype=torch.float64), x, d, beta=0.5, alpha=2)
torch.bmm(third, torch.ones(2, 3, 2, dtype=torch.float64))
torch.smm(x.detach(), d), torch.hspmm(x.detach(), d), torch.hsmm(u.detach(), d), torch.dsmm(x, d), torch.spmm(x, d)
torch.sspaddmm(torch.sparse_coo_tensor(size=(3, 3), dtype=torch.float64), x.detach(), d, beta=2, alpha=3)
x.detach().smm(d), torch.saddmm(torch.sparse_coo_tensor(places[:, :2], v[:2], (3, 3)).detach(), x.detach(), d)
x.sum(), u.sum(), torch.sparse.sum(x), torch.sparse.sum(u, 0), torch.sparse.sum(u, [1]), torch.sparse.sum(u, (0, 1))
torch.sparse.sum(h, 0), torch.sparse.sum(h, 1), torch.sparse.sum(x, -1), torch.sparse.sum(x, dtype=torch.float32)
x.sum(0), x.sum(1), h.sum(1), x.detach().sum(0, keepdim=True), ints.sum()
torch.sparse.softmax(x, 1), torch.sparse.softmax(u, 0), torch.sparse.log_softmax(x, 1), torch.sparse.softmax(h, 1)
torch.sparse.log_softmax(x, 0), torch.sparse.softmax(floats, 1, dtype=torch.float64)
x.t(), u.t(), x.transpose(0, 1), x.permute(1, 0), h.transpose(0, -2), x.T, third.permute(2, 0, 1)
x[1], x[-1], u[0], h[2], third[0, 1], x.select(1, 2), h.select(1, 2), x.unsqueeze(0), x.unsqueeze(2), h.unsqueeze(2)
x.index_select(0, torch.tensor([1, 0, 1])), u.index_select(1, torch.tensor([3, 2]))
h.index_select(1, torch.tensor([0]))
torch.cat([x, u]), torch.cat([x, u], 1), torch.cat([h, h], 1), torch.stack([x, u]), torch.stack([x, u], 2)
list(x.detach()), x.detach().unbind(1)
x.clone(), x.detach(), u.data, x.to(torch.float32), x.double(), u.float(), ints.double(), x.half(), ints.bool()
x.norm(), u.norm(1), torch.norm(x), torch.norm(u, 1)
torch.native_norm(u.detach()), torch.native_norm(x.detach(), 3)
torch.sparse.spdiags(torch.arange(6.0).view(2, 3), torch.tensor([0, 1]), (3, 3))
torch.sparse.spdiags(torch.arange(9.0).view(3, 3), torch.tensor([0, -1, 2]), (4, 3))
torch.sparse.spdiags(torch.arange(3.0), torch.tensor(0), (3, 3))
torch.ones(3, 4, dtype=torch.float64).add_(x.detach()), torch.ones(3, 4, dtype=torch.float64).sub_(u.detach(), alpha=2)
x.clone().detach().mul_(2), u.clone().detach().add_(x.detach()), x.clone().detach().zero_(), x.detach().clone().neg_()
x.detach().clone().copy_(u.detach()), x.detach().clone().abs_(), x.detach().clone().sub_(u.detach(), alpha=0.5)
x.detach().clone().div_(4), x.detach().clone().mul_(x.detach()), (u * 1).mul_(2), (x * 1).add_(u)
x.detach().clone().sparse_resize_((5, 6), 2, 0), x.detach().clone().sparse_resize_and_clear_((2, 3), 1, 1)
torch.resize_as_sparse_(torch.sparse_coo_tensor(size=(2, 3)), x.detach()), torch.is_tensor(x), torch.numel(x)
torch.nn.Parameter(x.detach()).requires_grad, isinstance(torch.nn.Parameter(x.detach()), torch.nn.Parameter)
x.type().split(".", 1)[1], x.requires_grad, x.is_leaf, (x * 2).is_leaf, x.grad is None, d.layout == torch.strided
torch.sparse.check_sparse_tensor_invariants.is_enabled()
torch.testing.assert_close(x, x.clone()), torch.testing.assert_close(u, u.clone()), torch.is_same_size(x, u)
torch.testing.assert_close(x, x.to_dense(), check_layout=False)
"""

GRADIENTS = """
torch.sparse_coo_tensor(places, v, (3, 4)).to_dense() * wide
torch.sparse_coo_tensor(twice, v, (3, 4)).to_dense() * wide
torch.sparse_coo_tensor(twice, v, (3, 4)).coalesce().values() ** 2
torch.sparse_coo_tensor(twice, v, (3, 4)) @ d
torch.sparse.mm(torch.sparse_coo_tensor(twice, v, (3, 4)), d)
torch.sparse.softmax(torch.sparse_coo_tensor(places, v, (3, 4)), 1).to_dense() * wide
x.to_dense() * wide
u.to_dense() * wide
h.to_dense() ** 2
d.t().to_sparse().to_dense() * wide
d.to_sparse(1).to_dense() ** 2
d.t().sparse_mask(x.detach()).to_dense() * wide
x.sparse_mask(u.detach().coalesce()).to_dense() * wide
x.coalesce().values() ** 2
u.coalesce().to_dense() * wide
x @ d
u @ d
x.t() @ wide
torch.mv(x, vector)
torch.mm(d.t(), x.t())
torch.sparse.mm(x, d)
torch.sparse.mm(u, d)
torch.sparse.mm(d.t(), x.t())
torch.sparse.addmm(d.t() @ d, x, d, beta=0.5, alpha=2)
torch.addmm(d.t() @ d, x, d, beta=0.5, alpha=2)
(x * 2).to_dense() * wide
(x * x).to_dense() * wide
(x * wide).to_dense() ** 2
(x / 4).to_dense() * wide
(x + u).to_dense() * wide
(x - 2 * u).to_dense() * wide
(wide + x) ** 2
(wide - x) ** 2
(-x).to_dense() ** 2
x.pow(2).to_dense() * wide
x.abs().to_dense() * wide
x.relu().to_dense() * wide
x.t().to_dense() * wide.t()
x.permute(1, 0).to_dense() * wide.t()
x.clone().to_dense() * wide
x.to(torch.float32).to_dense() * wide.float()
x.sum()
torch.sparse.sum(x)
torch.sparse.sum(u, 0).to_dense() ** 2
torch.sparse.sum(x, 1).to_dense() ** 2
torch.sparse.sum(h, 1).to_dense() ** 2
torch.sparse.sum(h, 0) ** 2
torch.sparse.softmax(x, 1).to_dense() * wide
torch.sparse.log_softmax(x, 0).to_dense() * wide
torch.sparse.softmax(h, 1).to_dense() * wide
torch.stack([x, x]).to_dense() ** 2
"""

ERRORS = """
torch.sparse_coo_tensor(places, v[:2], (3, 4))
torch.sparse_coo_tensor(places[0], v, (3, 4))
torch.sparse_coo_tensor(places, v, (3, 4, 5))
u.indices()
u.values()
d.indices()
d.coalesce()
d._nnz()
d._indices()
d._values()
d.to_sparse(3)
d.to_sparse(0)
d.sparse_mask(d)
wide.sparse_mask(x.t())
x + 1
x + wide
x - wide
x.detach().add_(wide)
x + x.t()
x * x.t()
x / x
wide / x
x.pow(0)
x.exp()
x.sigmoid()
x == x
x.mean()
torch.ones_like(x)
x.view(12)
x.to_dense(torch.float32)
x.reshape(12)
x.contiguous()
x.numpy()
x.tolist()
x.data_ptr()
x.item()
bool(x)
x.untyped_storage()
x.nbytes
torch.testing.assert_close(x, x * 2)
torch.testing.assert_close(x, u)
torch.testing.assert_close(u, u.coalesce())
torch.testing.assert_close(x, x.to_dense())
torch.mm(x, x)
torch.mm(x, wide)
torch.mv(x, wide[:, 0])
x.detach().copy_(wide)
wide.copy_(x.detach())
torch.linalg.vector_norm(x)
torch.equal(x, x)
x.t(1)
h.transpose(0, 1)
x.permute(0)
x.transpose(0, 2)
x[3]
torch.cat([x, wide])
torch.smm(d, d)
torch.saddmm(x, x, x)
torch.sparse.sum(d)
torch.sparse.softmax(d, 0)
torch.sparse.softmax(x, 2)
torch.native_norm(d)
torch.smm(x, d).to_dense().sum().backward()
x.sqrt().to_dense().sum().backward()
x.sum(0).to_dense().sum().backward()
torch.sparse.spdiags(d, torch.tensor([0]), (3, 3))
torch.nn.functional.embedding(places, wide.clone().requires_grad_(), None, None, 2.0, True, True).sum().backward()
x.detach().sparse_resize_((2, 2), 2, 0)
x.detach().sparse_resize_((3, 4), 1, 1)
x.detach().sparse_resize_((3, 4, 5), 2, 0)
"""

TEXTS = """
x
u
h
ints
floats
complex_x
torch.sparse_coo_tensor(size=(2, 3))
torch.sparse_coo_tensor(places, torch.ones(4, dtype=torch.int32))
torch.sparse_coo_tensor(torch.zeros(0, 1, dtype=torch.int64), torch.ones(1))
torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0, 2, dtype=torch.float64), (3, 2))
torch.ones(30, 40).to_sparse()
torch.nn.Parameter(floats)
torch.sparse.mm(x, d)
[x, d.to_sparse(1)]
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.skipif(bool(os.environ.get("GRADWRIGHT_GENERATED")), reason="PyTorch's YAML chooses another overload")
def test_any() -> None:
    check(*(described(eval("x.any()", names(library))) for library in (gradwright, torch)))


@pytest.mark.parametrize("line", lines(VALUES))
def test_values(line: str) -> None:
    check(*(described(eval(line, names(library))) for library in (gradwright, torch)))


@pytest.mark.parametrize("line", lines(GRADIENTS))
def test_gradients(line: str) -> None:
    found = []
    for library in (gradwright, torch):
        known = names(library)
        eval(line, known).sum().backward()
        found.append([described(known[leaf].grad) for leaf in LEAVES])
    assert any(each is not None for each in found[1])
    check(*found)


def test_gradients_of_the_product_of_two() -> None:
    """PyTorch's have parts that are zero beside those of the matrix."""

    def gradients(library: Any) -> list[Any]:
        known = names(library)
        (library.sparse.mm(known["x"], known["u"].t()).to_dense() * known["wide"][:, :3]).sum().backward()
        return [described(known[leaf].grad.to_dense()) for leaf in ("x", "u")]

    check(gradients(gradwright), gradients(torch))


@pytest.mark.parametrize("line", lines(ERRORS))
def test_errors(line: str) -> None:
    raised = []
    for library in (gradwright, torch):
        known = names(library)
        with pytest.raises(Exception) as error:  # noqa: PT011
            eval(line, known)
        raised.append(error.type)
    mine, theirs = raised
    # What PyTorch says by RuntimeError that there is not, is a NotImplementedError here, which is one.
    assert issubclass(mine, theirs), (mine, theirs)


@pytest.mark.parametrize("line", lines(TEXTS))
def test_texts(line: str) -> None:
    mine, theirs = (repr(eval(line, names(library))) for library in (gradwright, torch))
    assert mine.replace("gradwright.", "torch.").split() == theirs.split()
    # Where a line does not end earlier because a name is longer.
    if "dtype" not in theirs:
        assert mine.replace("layout=gradwright.", "layout=torch.").splitlines()[:-1] == theirs.splitlines()[:-1]


# -- gradients of tables


def table(library: Any, **options: Any) -> Any:
    made = library.nn.Embedding(6, 3, sparse=True, dtype=library.float64, **options)
    with library.no_grad():
        made.weight.copy_(library.arange(18.0, dtype=library.float64).reshape(6, 3) / 7)
    return made


def accumulated(library: Any, first: str, second: str) -> list[Any]:
    rows = table(library)
    known = {"rows": rows, "index": library.tensor([1, 1, 4, 0]), "weight": rows.weight}
    out = []
    for line in (first, second):
        eval(line, known).backward()
        out.append(described(rows.weight.grad))
    return out


SPARSE, DENSE, BOTH = "(rows(index) ** 2).sum()", "(weight ** 2).sum()", "(weight ** 2).sum() + rows(index).sum()"
SEVERAL = "rows(index).sum() + (rows(index[1:]) ** 2).sum()"


@pytest.mark.parametrize("first", [SPARSE, DENSE, BOTH, SEVERAL])
@pytest.mark.parametrize("second", [SPARSE, DENSE, BOTH, SEVERAL])
def test_gradients_of_tables_are_added_up(first: str, second: str) -> None:
    check(accumulated(gradwright, first, second), accumulated(torch, first, second))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_of_bags(mode: str) -> None:
    def gradients(library: Any) -> Any:
        bags = library.nn.EmbeddingBag(6, 3, mode=mode, sparse=True, dtype=library.float64, padding_idx=2)
        with library.no_grad():
            bags.weight.copy_(library.arange(18.0, dtype=library.float64).reshape(6, 3) / 7)
        weights = library.tensor([0.5, 2.0, 1.0, 3.0, 1.5], dtype=library.float64) if mode == "sum" else None
        out = bags(library.tensor([1, 2, 1, 4, 0]), library.tensor([0, 3]), weights)
        (out**2).sum().backward()
        return described(bags.weight.grad)

    check(gradients(gradwright), gradients(torch))


def test_padding_gets_no_gradient() -> None:
    def gradients(library: Any) -> Any:
        rows = table(library, padding_idx=1)
        (rows(library.tensor([[1, 2], [4, 1]])) ** 2).sum().backward()
        return described(rows.weight.grad)

    check(gradients(gradwright), gradients(torch))


def test_hooks_and_second_derivatives() -> None:
    def gradients(library: Any) -> Any:
        rows = table(library)
        seen = []
        rows.weight.register_hook(lambda grad: seen.append(grad.is_sparse) or grad * 2)
        (rows(library.tensor([1, 4])) ** 3).sum().backward()
        scale = library.tensor(2.0, dtype=library.float64, requires_grad=True)
        (first,) = library.autograd.grad((rows(library.tensor([1, 4])) * scale).sum(), rows.weight, create_graph=True)
        (second,) = library.autograd.grad(first.to_dense().sum(), scale)
        return seen, described(rows.weight.grad), described(second)

    check(gradients(gradwright), gradients(torch))


def test_zero_grad_and_clipping() -> None:
    def results(library: Any) -> Any:
        rows = table(library)
        rows(library.tensor([1, 4])).sum().backward()
        rows.zero_grad(set_to_none=False)
        kept = described(rows.weight.grad)
        with pytest.raises(NotImplementedError):
            library.nn.utils.clip_grad_norm_(rows.parameters(), 1.0)
        rows.zero_grad()
        return kept, rows.weight.grad is None

    check(results(gradwright), results(torch))


# -- optimizers

OPTIMIZERS = """
SGD(p, lr=0.1)
SGD(p, lr=0.1, maximize=True)
SGD(p, lr=0.1, momentum=0.9)
SGD(p, lr=0.1, momentum=0.9, dampening=0.5)
SGD(p, lr=0.1, momentum=0.9, nesterov=True)
Adagrad(p, lr=0.1)
Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.5, maximize=True)
SparseAdam(p, lr=0.1)
SparseAdam(p, lr=0.1, betas=(0.5, 0.7), eps=1e-3, maximize=True)
"""
REFUSING = """
SGD(p, lr=0.1, weight_decay=0.1)
Adagrad(p, weight_decay=0.1)
Adam(p)
AdamW(p)
Adamax(p)
NAdam(p)
RAdam(p)
RMSprop(p)
Rprop(p)
ASGD(p)
Adadelta(p)
"""
REFUSED = """
SparseAdam(p, lr=0)
SparseAdam(p, eps=0)
SparseAdam(p, betas=(1.0, 0.9))
SparseAdam([])
SparseAdam([torch.nn.Parameter(torch.eye(2).to_sparse())])
SparseAdam(p, weight_decay=1)
"""


def prepared(library: Any, line: str) -> tuple[Any, Any]:
    rows = table(library)
    return rows, eval(line, {**vars(library.optim), "torch": library, "p": list(rows.parameters())})


@pytest.mark.parametrize("line", lines(OPTIMIZERS))
def test_steps(line: str) -> None:
    def steps(library: Any) -> Any:
        rows, optimizer = prepared(library, line)
        seen = []
        for index in ([1, 1, 4], [0, 1], [5, 5, 5], [1, 4]):
            optimizer.zero_grad()
            (rows(library.tensor(index)) ** 2).sum().backward()
            optimizer.step()
            seen.append(described(rows.weight))
        state = optimizer.state_dict()["state"]
        seen += [{key: described(value) for key, value in each.items()} for each in state.values()]
        return [list(each.items()) if isinstance(each, dict) else each for each in seen], repr(optimizer)

    check(steps(gradwright), steps(torch))


@pytest.mark.parametrize("line", lines(REFUSING))
def test_optimizers_that_refuse(line: str) -> None:
    messages = []
    for library in (gradwright, torch):
        rows, optimizer = prepared(library, line)
        rows(library.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError) as error:
            optimizer.step()
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("line", lines(REFUSED))
def test_options_that_are_refused(line: str) -> None:
    found = []
    for library in (gradwright, torch):
        with pytest.raises((ValueError, TypeError)) as error:
            prepared(library, line)
        found.append((error.type, str(error.value)))
    assert found[0] == found[1]


def test_sparse_adam_is_for_sparse_gradients() -> None:
    for library in (gradwright, torch):
        weight = library.nn.Parameter(library.ones(2))
        weight.grad = library.ones(2)
        with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
            library.optim.SparseAdam([weight]).step()


# -- programs


def trained_words(library: Any, kind: str) -> list[Any]:
    """Vectors of words by their neighbours, with negative samples (Mikolov et al. 2013)."""
    numbers = np.random.default_rng(0)
    text = numbers.integers(0, 12, 60)
    nn = library.nn
    inside, outside = nn.Embedding(12, 4, sparse=True), nn.Embedding(12, 4, sparse=True)
    with library.no_grad():
        inside.weight.copy_(library.tensor(numbers.normal(0, 0.3, (12, 4)).tolist()))
        outside.weight.copy_(library.tensor(numbers.normal(0, 0.3, (12, 4)).tolist()))
    options = {"momentum": 0.5} if kind == "SGD" else {}
    parameters = [*inside.parameters(), *outside.parameters()]
    optimizer = getattr(library.optim, kind)(parameters, lr=0.05, **options)
    losses = []
    for start in range(0, 50, 5):
        centers = library.tensor(text[start : start + 5].tolist())
        contexts = library.tensor(text[start + 1 : start + 6].tolist())
        others = library.tensor(numbers.integers(0, 12, (5, 3)).tolist())
        optimizer.zero_grad()
        vectors = inside(centers)
        near = nn.functional.logsigmoid((vectors * outside(contexts)).sum(1))
        far = nn.functional.logsigmoid(-library.bmm(outside(others), vectors.unsqueeze(2)).squeeze(2)).sum(1)
        loss = -(near + far).mean()
        loss.backward()
        assert inside.weight.grad.is_sparse
        assert outside.weight.grad.is_sparse
        optimizer.step()
        losses.append(loss.item())
    return [losses, inside.weight.tolist(), outside.weight.tolist()]


@pytest.mark.parametrize("kind", ["SGD", "Adagrad", "SparseAdam"])
def test_words_are_trained_alike(kind: str) -> None:
    mine, theirs = trained_words(gradwright, kind), trained_words(torch, kind)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-6)
    assert theirs[0][-1] != theirs[0][0]


def trained_graph(library: Any) -> list[Any]:
    """Two layers that take the means over neighbours (Kipf and Welling 2017)."""
    numbers = np.random.default_rng(1)
    links = np.unique(np.concatenate([numbers.integers(0, 8, (2, 20)), np.arange(8)[None].repeat(2, 0)], 1), axis=1)
    degrees = np.bincount(links[0], minlength=8)
    adjacency = library.sparse_coo_tensor(
        library.tensor(links.tolist()), library.tensor((1 / degrees[links[0]]).tolist()), (8, 8)
    ).coalesce()
    features = library.tensor(numbers.normal(size=(8, 5)).tolist())
    classes = library.tensor(numbers.integers(0, 3, 8).tolist())
    shapes = ((5, 6), (6, 3))
    first, second = (library.nn.Parameter(library.tensor(numbers.normal(size=s).tolist())) for s in shapes)
    optimizer = library.optim.Adam([first, second], lr=0.05)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        hidden = library.sparse.mm(adjacency, features @ first).relu()
        loss = library.nn.functional.cross_entropy(adjacency @ (hidden @ second), classes)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, first.tolist(), second.tolist()]


def test_a_graph_network_is_trained_alike() -> None:
    for one, other in zip(trained_graph(gradwright), trained_graph(torch), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-6)


# -- files


@pytest.mark.parametrize("weights_only", [True, False])
def test_files_of_each_other(weights_only: bool) -> None:
    known = [names(library) for library in (gradwright, torch)]
    for (writing, written), (reading, read) in (
        ((gradwright, known[0]), (torch, known[1])),
        ((torch, known[1]), (gradwright, known[0])),
        ((gradwright, known[0]), (gradwright, known[0])),
    ):
        file = io.BytesIO()
        names_of = ("x", "u", "h", "complex_x")
        values = {name: written[name].detach() for name in names_of}
        writing.save({**values, "p": writing.nn.Parameter(values["x"])}, file)
        file.seek(0)
        back = reading.load(file, weights_only=weights_only)
        for name in names_of:
            check(described(back[name]), described(read[name]))
            assert back[name].is_coalesced() is read[name].is_coalesced()
        assert isinstance(back["p"], reading.nn.Parameter)
        assert back["p"].is_sparse


def test_pickles() -> None:
    x = names(gradwright)["x"]
    again = pickle.loads(pickle.dumps(x))
    check(described(again), described(x))
    assert again.requires_grad
    assert again.is_coalesced()
