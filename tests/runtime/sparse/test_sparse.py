"""Sparse Tensors: what they hold, how operators and histories treat them, and that dense programs do without."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import runtime
from support.documents import ROOT

PLACES = [[0, 1, 0], [2, 0, 2]]  # the first and the last are the same


def matrix(coalesced: bool = False) -> Any:
    made = runtime.sparse_coo_tensor(PLACES, runtime.tensor([1.0, 2.0, 4.0]), (2, 3))
    return made.coalesce() if coalesced else made


DENSE = [[0.0, 0.0, 5.0], [2.0, 0.0, 0.0]]


def test_what_it_holds() -> None:
    x = matrix()
    assert (x.is_sparse, x.layout, x._nnz(), x.is_coalesced()) == (True, runtime.sparse_coo, 3, False)
    assert (x.shape, x.sparse_dim(), x.dense_dim(), x.device.type) == ((2, 3), 2, 0, "cpu")
    assert x.to_dense().tolist() == DENSE
    once = x.coalesce()
    assert once.indices().tolist() == [[0, 1], [2, 0]]
    assert once.values().tolist() == [5.0, 2.0]
    assert once.coalesce() is once
    assert not runtime.ones(2).is_sparse


@pytest.mark.parametrize(("size", "message"), [((2, 2), "found index 2"), ((2, 3, 1), "is not satisfied")])
def test_places_fit_into_the_size(size: tuple[int, ...], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        runtime.sparse_coo_tensor(PLACES, [1.0, 2.0, 4.0], size)


def test_negative_places_are_refused() -> None:
    with pytest.raises(RuntimeError, match="negative index -1 for dim 1"):
        runtime.sparse_coo_tensor([[0], [-1]], [1.0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "int32", "bool"])
def test_parts_at_one_place_are_added_up(dtype: str) -> None:
    values = runtime.tensor([1.0, 1.0, 1.0]).to(getattr(runtime, dtype))
    x = runtime.sparse_coo_tensor(PLACES, values, (2, 3)).coalesce()
    assert x.dtype is values.dtype
    assert x.values().tolist() == ([True, True] if dtype == "bool" else [2, 1])


def test_many_parts_at_one_place() -> None:
    numbers = np.random.default_rng(0)
    places, values = numbers.integers(0, 3, (1, 200)), numbers.normal(size=(200, 2)).astype(np.float32)
    x = runtime.sparse_coo_tensor(runtime.from_numpy(places), runtime.from_numpy(values), (3, 2))
    wanted = np.zeros((3, 2), np.float32)
    for place, row in zip(places[0], values, strict=True):
        wanted[place] += row
    assert np.array_equal(x.to_dense().numpy(), wanted)
    assert np.array_equal((runtime.zeros(3, 2) + x).numpy(), wanted)


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
    x, dense = matrix(coalesced=True).requires_grad_(), runtime.ones(3, 2)
    out = runtime.sparse.mm(x, dense).sum()
    dense.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_a_graph_is_freed() -> None:
    x = matrix(coalesced=True).requires_grad_()
    for out in (x.to_dense().sum(), runtime.sparse.mm(x, runtime.ones(3, 2)).sum()):
        out.backward()
        with pytest.raises(RuntimeError, match="a second time"):
            out.backward()


def test_second_derivatives() -> None:
    values = runtime.tensor([1.0, 2.0, 4.0], dtype=runtime.float64, requires_grad=True)
    dense = runtime.arange(6.0, dtype=runtime.float64).reshape(3, 2).requires_grad_()

    def product(values: Any, dense: Any) -> Any:
        x = runtime.sparse_coo_tensor(PLACES, values**2, (2, 3))
        return runtime.sparse.mm(x, dense), x.coalesce().values(), runtime.sparse.softmax(x, 1).to_dense()

    assert runtime.autograd.gradcheck(product, (values, dense))
    assert runtime.autograd.gradgradcheck(product, (values, dense))


def test_copies_and_files() -> None:
    x = matrix().requires_grad_()
    for made in (copy.deepcopy(x), x.detach().clone().requires_grad_()):
        assert made.to_dense().tolist() == DENSE
        assert made.requires_grad
        assert made._values().data_ptr() != x._values().data_ptr()
    file = io.BytesIO()
    runtime.save({"x": x}, file)
    file.seek(0)
    assert runtime.load(file)["x"].to_dense().tolist() == DENSE


def test_a_parameter() -> None:
    weight = runtime.nn.Parameter(matrix(coalesced=True))
    assert isinstance(weight, runtime.nn.Parameter)
    (weight * 3).to_dense().sum().backward()
    assert weight.grad is not None
    assert weight.grad.is_sparse
    runtime.optim.SGD([weight], lr=0.5).step()
    assert weight.to_dense().tolist() == [[0.0, 0.0, 3.5], [0.5, 0.0, 0.0]]
    assert repr(weight).startswith("Parameter containing:\ntensor(indices=tensor(")


@pytest.mark.parametrize("accumulates", [True, False])
def test_gradients_of_a_table(accumulates: bool) -> None:
    rows = runtime.nn.Embedding(4, 2, sparse=True)
    out = rows(runtime.tensor([1, 3, 1])).sum()
    if accumulates:
        out.backward()
        grad: Any = rows.weight.grad
    else:
        (grad,) = runtime.autograd.grad(out, rows.weight)
    assert grad.is_sparse
    assert (grad.sparse_dim(), grad.dense_dim(), grad._nnz()) == (1, 1, 3)
    assert grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]


def test_gradients_by_frequency_are_dense() -> None:
    rows = runtime.nn.Embedding(4, 2, sparse=True, scale_grad_by_freq=True)
    with pytest.raises(RuntimeError, match="not supported with sparse gradients"):
        rows(runtime.tensor([1])).sum().backward()


def test_sparse_and_dense_gradients_of_one_leaf() -> None:
    """Several of each, so that sums wait while others come."""
    rows = runtime.nn.Embedding(3, 1, sparse=True)
    index = runtime.tensor([1])
    for _ in range(3):
        terms = [rows(index), rows.weight * 2, rows.weight * 3, rows(index), rows.weight, rows(index) * 4]
        sum(term.sum() for term in terms).backward()
    grad: Any = rows.weight.grad
    assert not grad.is_sparse
    assert grad.tolist() == [[18.0], [36.0], [18.0]]


def test_inference_tensors() -> None:
    with runtime.inference_mode():
        x = matrix()
        assert [x.is_inference(), (x * 2).is_inference(), x.to_dense().is_inference()] == [True, True, True]


def test_what_there_is_not() -> None:
    x = matrix(coalesced=True)
    with pytest.raises(NotImplementedError, match="can not go to meta"):
        x.to("meta")
    with pytest.raises(NotImplementedError, match="outside of vmap"):
        runtime.vmap(lambda row: row.to_sparse().to_dense())(runtime.ones(2, 3))
    with pytest.raises(NotImplementedError, match="forward mode"):
        runtime.func.jvp(
            lambda values: runtime.sparse_coo_tensor(PLACES, values), (runtime.ones(3),), (runtime.ones(3),)
        )


def test_beside_tensors_without_data() -> None:
    runtime.ones(2, device="meta")
    assert (matrix() * 2).to_dense().tolist() == [[0.0, 0.0, 10.0], [4.0, 0.0, 0.0]]
    assert runtime.sparse.mm(matrix(), runtime.ones(3, 1)).tolist() == [[5.0], [2.0]]


def test_checks_are_a_flag() -> None:
    flag = runtime.sparse.check_sparse_tensor_invariants
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
import runtime
table = runtime.nn.Embedding(5, 2)
optimizer = runtime.optim.Adam(table.parameters())
table(runtime.tensor([1])).sum().backward()
optimizer.step()
optimizer.zero_grad()
repr(table.weight)
loaded = [name for name, module in sys.modules.items() if type(module).__name__ != "_WaitingModule"]
print([name for name in loaded if name.startswith("runtime.sparse.") or name == "runtime.sparse"])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_zeros_of_the_layout() -> None:
    assert runtime.zeros(2, 3, layout=runtime.sparse_coo).is_sparse
    assert runtime.zeros_like(runtime.ones(2), layout=runtime.sparse_coo)._nnz() == 0
    with pytest.raises(NotImplementedError):
        runtime.ones(2, layout=runtime.sparse_coo)
