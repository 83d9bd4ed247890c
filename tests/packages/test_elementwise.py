"""Operators of a package that are one line: an expression over elements."""

from __future__ import annotations

import pytest
from own_packages import Project

FUNCTIONS = """
- func: softsign(Tensor self) -> Tensor
  elementwise: self / (1 + abs(self))

- func: ramp(Tensor self, Tensor other, Scalar slope=0.5) -> Tensor
  elementwise: 'self > other ? self * slope : twice_softsign(self) * other'
  at: {other: [slope, 1]}

- func: twice_softsign(Tensor self) -> Tensor
  elementwise: softsign(self) * 2

- func: pass_above(Tensor grad_output, Tensor self, Scalar slope) -> Tensor
  elementwise: 'self > 0 ? grad_output * 2 : grad_output * slope'
  promotion: default
  dtypes: floating
  samples: ['T(3), T(3), 0.5']

- func: is_beyond(Tensor self, Scalar limit) -> Tensor
  elementwise: abs(self) * 2 > limit
"""
PROGRAM = """
import gradwright as g, mylib
from gradwright.autograd import gradcheck, gradgradcheck
softsign, ramp = g.ops.mylib.softsign, g.ops.mylib.ramp
x = g.tensor([0.5, -1.0, 2.0, 0.0], dtype=g.float64, requires_grad=True)
y = softsign(x)
assert g.equal(y, x / (1 + abs(x))) and y.grad_fn.name() == "SoftsignBackward0"
assert softsign(g.tensor([1, 3])).dtype == g.float32
(first,) = g.autograd.grad(y.sum(), x)
assert g.allclose(first, 1 / (1 + abs(x)) ** 2), first
smooth = x.detach()[:3].clone().requires_grad_()
assert gradcheck(softsign, (smooth,), check_forward_ad=True, check_batched_grad=True)
assert gradgradcheck(softsign, (smooth,))
rows = g.func.vmap(softsign)(g.stack([x, -x]))
assert g.equal(rows, g.stack([softsign(x), softsign(-x)]))
z = g.tensor([1.5, -2.0, 0.3, 0.7], dtype=g.float64, requires_grad=True)
assert gradcheck(lambda a, b: ramp(a, b, 0.3), (x, z), check_forward_ad=True)
assert gradgradcheck(lambda a, b: ramp(a, b, 0.3), (x, z))
one = g.tensor([1.0], dtype=g.float64, requires_grad=True)
two = one.detach().clone().requires_grad_()
assert [each.item() for each in g.autograd.grad(ramp(one, two, 0.3), (one, two))] == [0.3, 1.0]
passed = g.ops.mylib.pass_above(x, z, 0.5)
assert g.autograd.grad(passed.sum(), x)[0].tolist() == [2.0, 0.5, 2.0, 2.0]
large = g.linspace(-3, 3, 100_000)
beyond = g.ops.mylib.is_beyond
for given in (large, large.half(), large[::3], g.tensor([3, -1])):
    assert beyond(given, 2.0).dtype == g.bool and g.equal(beyond(given, 2.0), abs(given) * 2 > 2.0)
for given in (large, large.reshape(100, 1000).t(), large[::3], large.half(), large.double()):
    wide = given.double()
    assert g.allclose(softsign(given).double(), wide / (1 + abs(wide)), atol=1e-3 if given.dtype == g.half else 1e-6)
"""


@pytest.mark.parametrize("native", ["0", "1"])
def test_one_line_is_an_operator(project: Project, native: str) -> None:
    project.append("native_functions.yaml", FUNCTIONS)
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    tested = project.run("-c", PROGRAM, GRADWRIGHT_NATIVE=native)
    assert tested.returncode == 0, tested.stderr
    assert "self / (1 + abs(self))" in project.generate("explain", "softsign").stdout
    # Linear in a Tensor, an operator is its own derivative.
    assert "grad_output: pass_above(grad, self, slope)" in project.generate("explain", "pass_above").stdout


WRONG = {
    """
- func: damped(Tensor self, Tensor like) -> Tensor
  elementwise: self / (1 + abs(self))
""": "'like' has no part in this expression",
    """
- func: mirrored(Tensor self) -> Tensor
  elementwise: exp(_conj_physical(self * self))
  dtypes: floating, complex
""": "'_conj_physical' conjugates, and is not holomorphic in 'self'",
}


@pytest.mark.parametrize("functions", WRONG, ids=["no part", "conjugates"])
def test_what_would_be_wrong_is_refused(project: Project, functions: str) -> None:
    project.append("native_functions.yaml", functions)
    finished = project.generate()
    assert finished.returncode == 1
    assert WRONG[functions] in finished.stderr
