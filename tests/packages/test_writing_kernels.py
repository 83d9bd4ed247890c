"""Operators that write to arguments with a kernel of their own: what is written, counted, recorded and proven."""

from __future__ import annotations

import pytest

from support.own_packages import Project

# A kernel that writes, one that returns a new array, and one that reads what it has overwritten.
OPERATORS = """
- func: damp_(Tensor(a!) self, float factor) -> Tensor(a!)
  variants: function, method
  dispatch: {CPU: damp_}
  samples:
  - T(3), 0.5
  - T(2, 3), -1.5
- func: fresh_(Tensor(a!) self, float factor) -> Tensor(a!)
  variants: function, method
  dispatch: {CPU: fresh_}
  samples:
  - T(3), 0.5
- func: mix_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  dispatch: {CPU: mix_}
  dtypes: floating, complex
  samples:
  - T(3), T(3)
- func: averaged(Tensor self, Tensor(a!) state) -> Tensor
  dispatch: {CPU: averaged}
  dtypes: floating, complex
  samples:
  - T(3), D(3)
  - T(3), T(3)
- func: note(Tensor self, Tensor(a!) log) -> ()
  dispatch: {CPU: note}
  dtypes: floating, complex
  samples:
  - D(3), D(3)
  - T(3), T(3)
"""
FORMULAS = """
- name: damp_(Tensor(a!) self, float factor) -> Tensor(a!)
  self: grad * factor
  result: auto_linear
- name: fresh_(Tensor(a!) self, float factor) -> Tensor(a!)
  self: grad * factor
- name: mix_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  self: grad * (2 * self).conj()
  other: grad * 3
- name: averaged(Tensor self, Tensor(a!) state) -> Tensor
  self: grad * 2
  state: non_differentiable
"""
KERNELS = """

def damp_(self: Array, factor: float) -> Array:
    self *= factor
    return self


def fresh_(self: Array, factor: float) -> Array:
    return self * factor


def mix_(self: Array, other: Array) -> Array:
    self *= self
    self += 3 * other
    return self


def averaged(self: Array, state: Array) -> Array:
    state += self
    return self * 2


def note(self: Array, log: Array) -> None:
    log += self
"""
PROGRAM = """
import pytest
import mylib, gradwright as torch
from gradwright.autograd import forward_ad

for write in (mylib.damp_, mylib.fresh_):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    assert write(y, 0.5) is y
    assert (y.tolist(), y._version) == ([0.5] * 3, 1)
    y.sum().backward()
    assert x.grad.tolist() == [0.5] * 3

    x = torch.ones(2, 2, requires_grad=True)
    y = x * 1
    write(y[:, 0], 0.5)
    assert (y.tolist(), y._version, y.grad_fn.name()) == ([[0.5, 1.0]] * 2, 1, "CopySlices")
    y.sum().backward()
    assert x.grad.tolist() == [[0.5, 1.0]] * 2

    x = torch.full((2,), 3.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        write(x, 0.5)
    with torch.no_grad():
        write(x, 0.5)
    assert x.tolist() == [1.5, 1.5]
    with pytest.raises(RuntimeError, match="single memory location"):
        write(torch.ones(1).expand(3), 0.5)
    half = torch.ones(2, dtype=torch.float16)
    assert write(half, 0.5) is half and half.tolist() == [0.5, 0.5] and half._version == 1
    meta = torch.ones(2, device="meta")
    assert write(meta, 0.5) is meta and meta._version == 1
    batch = torch.ones(2, 3)
    torch.func.vmap(lambda x: write(x, 0.5))(batch)
    assert batch.tolist() == [[0.5] * 3] * 2 and batch._version
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        torch.func.vmap(lambda x: mylib.mix_(half, x))(batch)
    with forward_ad.dual_level():
        primal, tangent = torch.ones(2), torch.ones(2)
        dual = forward_ad.make_dual(primal, tangent)
        assert forward_ad.unpack_dual(write(dual * 1, 0.5)).tangent.tolist() == [0.5, 0.5]
        assert tangent.tolist() == [1, 1]
assert torch.ones(2).damp_(0.5).fresh_(0.5).tolist() == [0.25, 0.25]

x = torch.tensor([3.0], requires_grad=True)
y = x * 1
mylib.mix_(y, torch.zeros(1))  # its formula reads what was there before
y.sum().backward()
assert (y.tolist(), x.grad.tolist()) == ([9], [6])
y = torch.tensor([2.0])
assert mylib.mix_(y, y).tolist() == [10]  # and its kernel the argument as it was

state = torch.zeros(2)
x = torch.ones(2, requires_grad=True)
weighted = x * state
assert mylib.averaged(x, state).tolist() == [2, 2]
assert (state.tolist(), state._version, state.requires_grad) == ([1, 1], 1, False)
with pytest.raises(RuntimeError, match="modified by an inplace operation"):
    weighted.sum().backward()
with pytest.raises(RuntimeError, match="averaged: 'state' requires grad and is overwritten"):
    mylib.averaged(x, x * 1)
assert mylib.note(x.detach(), state) is None and (state.tolist(), state._version) == ([2, 2], 2)
print("right")
"""


@pytest.fixture
def writing(project: Project) -> Project:
    """A project with operators that write."""
    project.append("native_functions.yaml", OPERATORS)
    project.append("derivatives.yaml", FORMULAS)
    project.append("kernels.py", KERNELS)
    return project


def test_what_is_written_is_proven_counted_and_recorded(writing: Project) -> None:
    finished = writing.generate(GRADWRIGHT_VERIFY="1")
    assert finished.returncode == 0, finished.stderr
    assert "proven: squareplus, damp_, fresh_, mix_ and 2 more" in finished.stdout
    assert writing.output(PROGRAM) == "right"


def test_a_kernel_that_loses_what_it_writes_is_refuted(writing: Project) -> None:
    file = writing.file("kernels.py")
    wrong = "self.reshape(-1)[:] = (self * factor).reshape(-1)  # of a view with gaps that is a copy"
    file.write_text(file.read_text().replace("self *= factor", wrong))
    finished = writing.generate(GRADWRIGHT_VERIFY="1")
    assert finished.returncode == 1
    assert "error: result 0 of strided inputs: off by" in finished.stderr
