"""The native core, where it is built: the same objects and results, and what the core leaves to Python."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import gradwright
from support.native_core import needs_core
from support.programs import run


def test_it_can_be_switched_off() -> None:
    assert run("from runtime import native; print(native.is_available())", GRADWRIGHT_NATIVE="0") == "False\n"


@needs_core
def test_nodes_are_native_and_look_the_same() -> None:
    x = gradwright.tensor([1.0, 2.0], requires_grad=True)
    node: Any = (x * x).grad_fn
    assert type(node).__name__ == "MulBackward0"
    assert not hasattr(type(node), "record")
    assert isinstance(node, gradwright.autograd.graph.Node)
    assert node.shape == (2,)
    assert node._saved_self is x
    assert [following.variable is x for following, _ in node.next_functions] == [True, True]
    assert "native" in repr(gradwright.mul)


PROGRAMS = """
import numpy as np, gradwright
random = np.random.default_rng(5)
def tensor(*shape, dtype):
    return gradwright.tensor(random.normal(size=shape).astype(dtype).tolist(), dtype=getattr(gradwright, dtype))
unary = [
    lambda x: x.tanh(), lambda x: x.exp(), lambda x: -x, lambda x: x.relu(), lambda x: x.sigmoid(),
    lambda x: x.abs().sqrt(),
]
binary = [
    lambda x, y: x * y, lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x / (y * y + 1), lambda x, y: x * 3 - y,
    lambda x, y: 2 / (x * x + 1) + y, lambda x, y: x.mm(y.t()).sum() * y, lambda x, y: (x + y[:1]).reshape(3, 4),
]
for number in range(300):
    dtype = ["float32", "float64"][number % 2]
    leaves = [tensor(3, 4, dtype=dtype).requires_grad_() for _ in range(2)]
    values = list(leaves)
    for _ in range(random.integers(1, 9)):
        a, b = (values[i] for i in random.integers(len(values), size=2))
        if random.integers(2):
            values.append(unary[random.integers(len(unary))](a))
        else:
            values.append(binary[random.integers(len(binary))](a, b))
    first = gradwright.autograd.grad(values[-1].sin().sum(), leaves, create_graph=True, allow_unused=True)
    total = sum([(g * g).sum() for g in first if g is not None])
    if isinstance(total, gradwright.Tensor) and total.requires_grad:
        total.backward()
    for t in [values[-1], *first, *[leaf.grad for leaf in leaves]]:
        if t is not None:
            t = np.nan_to_num(t.detach().numpy().astype("float64")).ravel().round(4 if dtype == "float32" else 9)
        print(None if t is None else [float(v).hex() for v in t])
"""


@needs_core
def test_random_programs_with_the_core_on_and_off() -> None:
    on, off = run(PROGRAMS), run(PROGRAMS, GRADWRIGHT_NATIVE="0")
    assert len(on.splitlines()) > 1000
    differing = [(a, b) for a, b in zip(on.splitlines(), off.splitlines(), strict=True) if a != b]
    for a, b in differing:  # rounding may fall on either side
        left, right = ([float.fromhex(word.strip(" '[]")) for word in line.split(",")] for line in (a, b))
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-3)
    assert len(differing) < 60


@needs_core
def test_memory_stays_flat() -> None:
    x = gradwright.ones(4, requires_grad=True)

    def work() -> None:
        y = (x * 2).tanh() + x
        (y * y).sum().backward()
        x.grad = None

    for _ in range(200):
        work()
    gc.collect()
    before = len(gc.get_objects()), sys.getrefcount(x), sys.getrefcount(gradwright.Tensor)
    for _ in range(3000):
        work()
    gc.collect()
    after = len(gc.get_objects()), sys.getrefcount(x), sys.getrefcount(gradwright.Tensor)
    assert abs(after[0] - before[0]) < 50
    assert after[1] == before[1]
    assert abs(after[2] - before[2]) < 600  # memory of Tensors is kept for the next ones


@needs_core
def test_errors_are_pythons() -> None:
    x = gradwright.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
        x * gradwright.ones(3)
    with pytest.raises(TypeError, match="mul"):
        gradwright.mul(x, "text")
    y = x * x
    x.data.add_(1)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()
    z = x * 1
    w = z * z
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        w.sum().backward()


def test_the_message_about_a_written_output_names_its_node_only_if_it_is_differentiable() -> None:
    scores = gradwright.ones(1, 2, 1, 1, requires_grad=True)
    loss, total = gradwright.ops.nll_loss2d_forward(scores, gradwright.tensor([[[0]]]), None, 1, -100)
    total.add_(1)
    with pytest.raises(RuntimeError, match=r"operation: \[FloatTensor \[\]\] is at version 1"):
        loss.backward()
    result = scores.exp()
    out = result * 1
    result.detach().add_(1)
    with pytest.raises(RuntimeError, match=r"which is output 0 of ExpBackward0, is at version 1"):
        out.sum().backward()
