"""Sparse Tensors: what they hold, how operators and histories treat them, and that dense programs do without."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gradwright
from support.documents import ROOT

PLACES = [[0, 1, 0], [2, 0, 2]]  # the first and the last are the same


def matrix(coalesced: bool = False) -> Any:
    made = gradwright.sparse_coo_tensor(PLACES, gradwright.tensor([1.0, 2.0, 4.0]), (2, 3))
    return made.coalesce() if coalesced else made


DENSE = [[0.0, 0.0, 5.0], [2.0, 0.0, 0.0]]


def test_what_it_holds() -> None:
    x = matrix()
    assert (x.is_sparse, x.layout, x._nnz(), x.is_coalesced()) == (True, gradwright.sparse_coo, 3, False)
    assert (x.shape, x.sparse_dim(), x.dense_dim(), x.device.type) == ((2, 3), 2, 0, "cpu")
    assert x.to_dense().tolist() == DENSE
    once = x.coalesce()
    assert once.indices().tolist() == [[0, 1], [2, 0]]
    assert once.values().tolist() == [5.0, 2.0]
    assert once.coalesce() is once
    assert not gradwright.ones(2).is_sparse


@pytest.mark.parametrize(("size", "message"), [((2, 2), "found index 2"), ((2, 3, 1), "is not satisfied")])
def test_places_fit_into_the_size(size: tuple[int, ...], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        gradwright.sparse_coo_tensor(PLACES, [1.0, 2.0, 4.0], size)


def test_negative_places_are_refused() -> None:
    with pytest.raises(RuntimeError, match="negative index -1 for dim 1"):
        gradwright.sparse_coo_tensor([[0], [-1]], [1.0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "int32", "bool"])
def test_parts_at_one_place_are_added_up(dtype: str) -> None:
    values = gradwright.tensor([1.0, 1.0, 1.0]).to(getattr(gradwright, dtype))
    x = gradwright.sparse_coo_tensor(PLACES, values, (2, 3)).coalesce()
    assert x.dtype is values.dtype
    assert x.values().tolist() == ([True, True] if dtype == "bool" else [2, 1])


def test_many_parts_at_one_place() -> None:
    numbers = np.random.default_rng(0)
    places, values = numbers.integers(0, 3, (1, 200)), numbers.normal(size=(200, 2)).astype(np.float32)
    x = gradwright.sparse_coo_tensor(gradwright.from_numpy(places), gradwright.from_numpy(values), (3, 2))
    wanted = np.zeros((3, 2), np.float32)
    for place, row in zip(places[0], values, strict=True):
        wanted[place] += row
    assert np.array_equal(x.to_dense().numpy(), wanted)
    assert np.array_equal((gradwright.zeros(3, 2) + x).numpy(), wanted)


def test_an_operator_without_a_kernel_names_itself_and_the_key() -> None:
    with pytest.raises(NotImplementedError, match=r"'aten::sigmoid' with arguments from the 'SparseCPU' backend"):
        matrix().sigmoid()


@pytest.mark.parametrize("use", [np.asarray, np.add.reduce, lambda x: x.numpy(), lambda x: x.tolist()])
def test_there_is_no_memory_for_others(use: Any) -> None:
    with pytest.raises((TypeError, RuntimeError)):
        use(matrix())


def test_writes_are_seen_by_all_over_the_memory() -> None:
    x = matrix(coalesced=True)
    other = x.detach()
    x.mul_(2)
    assert other.to_dense().tolist() == [[0.0, 0.0, 10.0], [4.0, 0.0, 0.0]]
    assert (x._version, other._version) == (1, 1)
    x._values().fill_(1)
    assert x.values().tolist() == [1.0, 1.0]
    assert x.zero_()._nnz() == 0


def test_what_is_needed_must_not_be_written() -> None:
    x, dense = matrix(coalesced=True).requires_grad_(), gradwright.ones(3, 2)
    out = gradwright.sparse.mm(x, dense).sum()
    dense.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_a_graph_is_freed() -> None:
    x = matrix(coalesced=True).requires_grad_()
    for out in (x.to_dense().sum(), gradwright.sparse.mm(x, gradwright.ones(3, 2)).sum()):
        out.backward()
        with pytest.raises(RuntimeError, match="a second time"):
            out.backward()


def test_second_derivatives() -> None:
    values = gradwright.tensor([1.0, 2.0, 4.0], dtype=gradwright.float64, requires_grad=True)
    dense = gradwright.arange(6.0, dtype=gradwright.float64).reshape(3, 2).requires_grad_()

    def product(values: Any, dense: Any) -> Any:
        x = gradwright.sparse_coo_tensor(PLACES, values**2, (2, 3))
        return gradwright.sparse.mm(x, dense), x.coalesce().values(), gradwright.sparse.softmax(x, 1).to_dense()

    assert gradwright.autograd.gradcheck(product, (values, dense))
    assert gradwright.autograd.gradgradcheck(product, (values, dense))


def test_copies_and_files() -> None:
    x = matrix().requires_grad_()
    for made in (copy.deepcopy(x), x.detach().clone().requires_grad_()):
        assert made.to_dense().tolist() == DENSE
        assert made.requires_grad
        assert made._values().data_ptr() != x._values().data_ptr()
    file = io.BytesIO()
    gradwright.save({"x": x}, file)
    file.seek(0)
    assert gradwright.load(file)["x"].to_dense().tolist() == DENSE


def test_a_parameter() -> None:
    weight = gradwright.nn.Parameter(matrix(coalesced=True))
    assert isinstance(weight, gradwright.nn.Parameter)
    (weight * 3).to_dense().sum().backward()
    assert weight.grad is not None
    assert weight.grad.is_sparse
    gradwright.optim.SGD([weight], lr=0.5).step()
    assert weight.to_dense().tolist() == [[0.0, 0.0, 3.5], [0.5, 0.0, 0.0]]
    assert repr(weight).startswith("Parameter containing:\ntensor(indices=tensor(")


@pytest.mark.parametrize("accumulates", [True, False])
def test_gradients_of_a_table(accumulates: bool) -> None:
    rows = gradwright.nn.Embedding(4, 2, sparse=True)
    out = rows(gradwright.tensor([1, 3, 1])).sum()
    if accumulates:
        out.backward()
        grad: Any = rows.weight.grad
    else:
        (grad,) = gradwright.autograd.grad(out, rows.weight)
    assert grad.is_sparse
    assert (grad.sparse_dim(), grad.dense_dim(), grad._nnz()) == (1, 1, 3)
    assert grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]


def test_gradients_by_frequency_are_dense() -> None:
    rows = gradwright.nn.Embedding(4, 2, sparse=True, scale_grad_by_freq=True)
    with pytest.raises(RuntimeError, match="not supported with sparse gradients"):
        rows(gradwright.tensor([1])).sum().backward()


def test_sparse_and_dense_gradients_of_one_leaf() -> None:
    """Several of each, so that sums wait while others come."""
    rows = gradwright.nn.Embedding(3, 1, sparse=True)
    index = gradwright.tensor([1])
    for _ in range(3):
        terms = [rows(index), rows.weight * 2, rows.weight * 3, rows(index), rows.weight, rows(index) * 4]
        sum(term.sum() for term in terms).backward()
    grad: Any = rows.weight.grad
    assert not grad.is_sparse
    assert grad.tolist() == [[18.0], [36.0], [18.0]]


def test_inference_tensors() -> None:
    with gradwright.inference_mode():
        x = matrix()
        assert [x.is_inference(), (x * 2).is_inference(), x.to_dense().is_inference()] == [True, True, True]


def test_what_there_is_not() -> None:
    x = matrix(coalesced=True)
    with pytest.raises(NotImplementedError, match="can not go to meta"):
        x.to("meta")
    with pytest.raises(NotImplementedError, match="outside of vmap"):
        gradwright.vmap(lambda row: row.to_sparse().to_dense())(gradwright.ones(2, 3))
    with pytest.raises(NotImplementedError, match="forward mode"):
        gradwright.func.jvp(
            lambda values: gradwright.sparse_coo_tensor(PLACES, values), (gradwright.ones(3),), (gradwright.ones(3),)
        )


def test_beside_tensors_without_data() -> None:
    gradwright.ones(2, device="meta")
    assert (matrix() * 2).to_dense().tolist() == [[0.0, 0.0, 10.0], [4.0, 0.0, 0.0]]
    assert gradwright.sparse.mm(matrix(), gradwright.ones(3, 1)).tolist() == [[5.0], [2.0]]


def test_checks_are_a_flag() -> None:
    flag = gradwright.sparse.check_sparse_tensor_invariants
    assert not flag.is_enabled()
    with flag():
        assert flag.is_enabled()
        with flag(False):
            assert not flag.is_enabled()
    flag(True)(lambda: None)()
    assert not flag.is_enabled()


def test_dense_programs_do_without() -> None:
    program = """
import sys
import gradwright
table = gradwright.nn.Embedding(5, 2)
optimizer = gradwright.optim.Adam(table.parameters())
table(gradwright.tensor([1])).sum().backward()
optimizer.step()
optimizer.zero_grad()
repr(table.weight)
loaded = [name for name, module in sys.modules.items() if type(module).__name__ != "_WaitingModule"]
print([name for name in loaded if name.startswith("gradwright.sparse.") or name == "gradwright.sparse"])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_zeros_of_the_layout() -> None:
    assert gradwright.zeros(2, 3, layout=gradwright.sparse_coo).is_sparse
    assert gradwright.zeros_like(gradwright.ones(2), layout=gradwright.sparse_coo)._nnz() == 0
    with pytest.raises(NotImplementedError):
        gradwright.ones(2, layout=gradwright.sparse_coo)
