"""How arguments may be given: second names, old orders, numbers, arrays, Python's signs; as PyTorch takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.both import assert_same


def expression(text: str) -> Callable[[Any], Any]:
    """A body that evaluates an expression over the library and some Tensors and arrays."""

    def body(library: Any) -> Any:
        names = {
            "torch": library,
            "np": np,
            "t": library.tensor([1.0, 2.0, 3.0]),
            "g": library.tensor([1.0, 2.0, 3.0], requires_grad=True),
            "s": library.tensor(2.0),
            "i": library.tensor([1, 2, 3]),
            "b": library.tensor([True, False, True]),
            "m": library.tensor([[1.0, 2.0], [3.0, 4.0]]),
            "k": library.tensor([[0, 0], [1, 0]]),
            "bm": library.ones(2, 2, 2),
            "a": np.array([1.0, 2.0, 4.0]),
            "a0": np.array(2.0),
            "ai": np.array([1, 2, 3]),
        }
        return eval(text, names)

    return body


SECOND_NAMES = """
torch.cat([t, t], axis=0)
torch.cat(tensors=[m, m], axis=-1)
torch.concat([t, t], axis=0)
torch.concatenate([m, m], axis=1)
torch.stack([t, t], axis=1)
torch.unbind(m, axis=1)
m.unbind(axis=1)
m.chunk(2, axis=1)
torch.topk(m, 1, axis=0)
torch.amax(m, axis=0, keepdims=True)
m.argmax(axis=1, keepdims=True)
torch.diff(m, axis=0)
torch.sum(x=t)
torch.sum(a=m, axis=0, keepdims=True)
torch.add(x1=t, x2=t)
torch.mul(x=t, x2=2)
t.add(x2=t)
t.add_(x2=t)
t.maximum(x2=t)
m.matmul(x2=m)
torch.matmul(x1=m, x2=m)
torch.eq(x1=m, x2=m)
torch.where(b, x=t, x2=t)
torch.clamp(x=m, min=2)
torch.zeros_like(x=m)
torch.reshape(a=m, shape=(4,))
torch.layer_norm(x=m, normalized_shape=(2,))
torch.gather(m, axis=1, index=k)
torch.cat([t], 0, axis=0)
torch.cat([t], axis=0, dim=0)
torch.sum(t, dim=0, axis=0)
torch.add(t, t, x2=t)
torch.add(t, t, foo=1)
torch.cat([t], foo=1)
"""

OLD_ORDERS = """
t.add(2.0, t)
t.add_(2.0, t)
t.add(s, t)
t.add(2.0, other=t)
torch.add(t, 2.0, t)
torch.add(t, alpha=2.0, other=t)
torch.add(t, 2, t, out=torch.empty(3))
t.sub(2.0, t)
t.sub_(2.0, t)
torch.sub(t, 2.0, t)
torch.addcmul(t, 0.5, t, t)
torch.addcmul(t, 0.5, t, t, out=torch.empty(3))
t.addcmul(0.5, t, t)
t.addcmul_(0.5, t, t)
t.addcdiv(0.5, t, t)
t.addcdiv_(s, t, t)
torch.addcdiv(t, 0.5, tensor1=t, tensor2=t)
torch.addmm(0.5, m, 2.0, m, m)
torch.addmm(0.5, m, m, m)
torch.addmm(0.5, input=m, mat1=m, mat2=m)
torch.addmm(s, m, m, m)
torch.addmm(0.5, m, 2, m, m, out=torch.empty(2, 2))
m.addmm(0.5, 2.0, m, m)
m.addmm(0.5, m, m)
m.clone().addmm_(0.5, 2.0, m, m)
m.clone().addmm_(0.5, m, m)
torch.addmv(0.5, t[:2], 2.0, m, t[:2])
torch.addmv(0.5, t[:2], m, t[:2])
t[:2].addmv(0.5, 2.0, m, t[:2])
t[:2].clone().addmv_(0.5, m, t[:2])
torch.addbmm(0.5, m, 2.0, bm, bm)
torch.addbmm(0.5, m, bm, bm)
m.addbmm(0.5, 2.0, bm, bm)
m.clone().addbmm_(0.5, bm, bm)
torch.baddbmm(0.5, bm, 2.0, bm, bm)
torch.baddbmm(0.5, bm, bm, bm)
bm.baddbmm(0.5, 2.0, bm, bm)
bm.clone().baddbmm_(0.5, bm, bm)
torch.addmm(m, m, m, beta=0.5)
torch.addmm(0.5, m, m, m, alpha=2)
torch.addmm(0.5, m, m)
torch.addcmul(t, t, t, t, t)
torch.addcmul(t, t)
torch.addcmul(2.0, t, t, t)
torch.mul(2.0, t, t)
"""

NUMBERS = """
torch.add(2, 3)
torch.sub(2, 3)
torch.mul(2, 3)
torch.mul(2, 3.5)
torch.div(3, 2)
torch.true_divide(3, 2)
torch.floor_divide(7, 2)
torch.add(2, t)
torch.sub(2, other=t)
torch.add(np.float64(2), t)
torch.add(np.int64(2), t)
torch.add(np.float32(2), i)
torch.mul(np.float64(2), i)
torch.pow(2, 3)
torch.maximum(2, 3)
torch.atan2(2, t)
"""

SIGNS = """
+t
+i
+b
~t
~i
~b
~(t * 1j)
1 << i
16 >> i
2.5 << i
1.5 << t
1 << t
i << 2.5
1 << b
i.__rlshift__(2)
i.__rrshift__(2)
i.__ilshift__(1)
i.__irshift__(1)
2 @ t
np.float64(2) @ t
t @ 2
divmod(t, 2)
divmod(2, t)
np.float64(2) - t
np.int64(2) ** i
"""

ARRAYS = [
    *(f"{left} {sign} {right}" for sign in ["+", "-", "*", "/", "//", "%", "**", "@"]
      for left, right in (("t", "a"), ("a", "t"), ("i", "ai"), ("i", "a"), ("s", "a0"), ("a0", "t"), ("g", "a"))),
    *(f"{left} {sign} {right}" for sign in ["&", "|", "^", "<<", ">>"] for left, right in (("i", "ai"), ("ai", "i"))),
    *(f"{left} {sign} {right}" for sign in ["==", "<", "<=", ">", ">="]
      for left, right in (("t", "a"), ("a", "t"), ("g", "a"), ("s", "a0"), ("a", "b"))),
    *["t + np.array(['x'])", "np.array(['x']) / t", "np.array(['x']) == t", "t != np.array(['x'])"],
    *["np.add(t, a)", "np.add(a, t)", "np.sin(t)", "np.sin(g)"],
    *["np.multiply.outer(t, t)", "np.maximum(a, t)", "np.sqrt(s)"],
    *["t.__array_wrap__(a)", "t.__array_wrap__(a0)", "torch.Tensor.__array_priority__"],
    *["torch.add(t, a)", "torch.mul(a, t)", "t.add(a)", "torch.maximum(t, a)"],
]  # fmt: skip

# No other object that has a truth value is a bool.
BOOLS = """
m.amax(1, keepdim=0)
m.amax(1, keepdim=True)
m.argmax(1, keepdim=1)
m.sum(1, keepdim=None)
m.topk(1, 1, 1)
m.sort(0, descending=1)
m.logsumexp(1, 1)
m.var(1, unbiased=1)
m.std(unbiased=None)
torch.linalg.cholesky(m @ m.mT + 1, upper=1)
m.index_put((torch.tensor([0]),), m[0], accumulate=1)
torch.dropout(m, 0.5, 1)
torch.isclose(m, m, equal_nan=1)
torch.allclose(m, m, equal_nan=[])
m.unique(sorted=1)
torch.searchsorted(t, t, right=1)
torch.bucketize(m, t, right="yes")
torch.cdist(m, m, 2.0, 1)
torch.nn.functional.embedding(k, m, sparse=0)
torch.hann_window(4, 1)
torch.ones(2, requires_grad=1)
g.sum(0, keepdim=1)
torch.tensor(1.0, requires_grad=1)
torch.zeros_like(t, requires_grad=1)
t.new_ones(2, requires_grad=None)
torch.full((2,), 1.0, requires_grad="a")
torch.nn.Parameter(t, requires_grad=1)
torch.sparse_coo_tensor([[0]], [1.0], (2,), requires_grad=1)
t.requires_grad_(1)
t.requires_grad_(None)
torch.set_grad_enabled(1)
"""

# The scale of a sum is a number that the result can hold.
ALPHA = """
i.add(i, alpha=1.0)
i.add(1, alpha=1.0)
i.add(1, alpha=1)
i.add(t, alpha=1.0)
i.sub(i, alpha=1.0)
torch.rsub(i, i, alpha=1.0)
torch.rsub(t, t, alpha=True)
t.add(t, alpha=True)
t.sub(1, alpha=True)
t.add_(t, alpha=True)
t.add(t, alpha=1 + 0j)
t.add(t, alpha=np.int64(1))
t.add(2, alpha=1.0)
g.add(t, alpha=1.0)
b.add(b, alpha=True)
b.add(b, alpha=False)
b.add(b, alpha=1)
b.add(True, alpha=True)
b.add(i, alpha=True)
torch._foreach_add([t], [t], alpha=True)
"""


@pytest.mark.parametrize("text", BOOLS.strip().splitlines())
def test_bools(text: str) -> None:
    assert_same(expression(text))


@pytest.mark.parametrize("text", ALPHA.strip().splitlines())
def test_scales_of_sums(text: str) -> None:
    assert_same(expression(text))


@pytest.mark.parametrize("text", SECOND_NAMES.strip().splitlines())
def test_second_names(text: str) -> None:
    assert_same(expression(text))


@pytest.mark.parametrize("text", OLD_ORDERS.strip().splitlines())
def test_old_orders(text: str) -> None:
    assert_same(expression(text))


@pytest.mark.parametrize("text", NUMBERS.strip().splitlines())
def test_numbers(text: str) -> None:
    assert_same(expression(text))


@pytest.mark.parametrize("text", SIGNS.strip().splitlines())
def test_signs(text: str) -> None:
    assert_same(expression(text))


@pytest.mark.parametrize("text", ARRAYS)
def test_arrays(text: str) -> None:
    assert_same(expression(text))


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**"])
@pytest.mark.parametrize("right", ["a", "a0", "ai", "np.float64(2)"])
def test_arrays_in_place(sign: str, right: str) -> None:
    """What cannot be written into a Tensor is computed by NumPy, and the name stands for another Tensor."""

    def body(library: Any) -> Any:
        names = {"t": library.tensor([1.0, 2.0, 3.0]), "np": np, "a": np.array([1.0, 2.0, 4.0]), "a0": np.array(2.0)}
        names["ai"] = np.array([1, 2, 3])
        kept = names["t"]
        exec(f"t {sign}= {right}", names)
        return names["t"], kept

    assert_same(body)
