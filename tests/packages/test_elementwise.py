"""Operators of a package that are one line: an expression over elements."""

from __future__ import annotations

import pytest

from support.own_packages import Project

FUNCTIONS = """
- func: softsign(Tensor self) -> Tensor
  elementwise: self / (1 + abs(self))

- func: ramp(Tensor self, Tensor other, Scalar slope=0.5) -> Tensor
  elementwise: 'self > other ? self * slope : twice_softsign(self) * other'
  slope_at: {other: [slope, 1]}

- func: twice_softsign(Tensor self) -> Tensor
  elementwise: softsign(self) * 2

- func: pass_above(Tensor grad_output, Tensor self, Scalar slope) -> Tensor
  elementwise: 'self > 0 ? grad_output * 2 : grad_output * slope'
  promotion: default
  dtypes: floating
  samples: ['T(3), T(3), 0.5']

- func: is_beyond(Tensor self, Scalar limit) -> Tensor
  elementwise: abs(self) * 2 > limit

- func: bounded(Tensor self, float? low=None, float? high=None) -> Tensor
  elementwise: 'high.has_value() ? minimum(raised(self, low), high.value()) : raised(self, low)'
  slope_at: {low: 0.5, high: 0.25}
  requires: {'low.has_value() || high.has_value()': bounded needs a bound}
  samples: ['T(3), -0.5', 'T(3), None, 0.5', 'T(3), -0.5, 0.5']

- func: raised(Tensor self, float? low=None) -> Tensor
  elementwise: 'low.has_value() ? maximum(self, low.value()) : self'
  slope_at: {low: 0.5}
  samples: ['T(3)', 'T(3), -0.5', 'T(3, 1)']

- func: bent(Tensor self, Scalar steepness=2, *, str by='tanh') -> Tensor
  elementwise: "by == 'tanh' ? tanh(self * steepness) : sin(self * steepness) * exp(by == 'sin' ? self * 0 : self)"
  requires: {steepness > 0: 'steepness is {steepness}, and by {by} goes down with it'}
  samples: ['T(3)', 'T(3), 3, by="sin"', 'T(3), by="swing"']

- func: between(Tensor self, Tensor end, Tensor weight) -> Tensor
  elementwise: self + (end - self) * weight
  promotion: none
  dtypes: floating
  requires: {end.scalar_type() == self.scalar_type(): 'between {self.scalar_type()} and {end.scalar_type()}'}

- func: leaky(Tensor self, Tensor slope) -> Tensor
  elementwise: 'self > 0 ? self : slope * self'
  slope_at: {0: [slope, 0]}

- func: at_least(Tensor self, Scalar value) -> Tensor
  elementwise: 'self <= value ? value : self'
  slope_at: {value: 0}
  promotion: default(self)
  numbers: cut(value)

- func: cubed_by(Tensor self, Scalar rate) -> Tensor
  elementwise: pow(sin(self), 3) * log1p(rate)

- func: eased(Tensor self) -> Tensor
  elementwise: clamp(self, 0, 1) * clamp(self, 0, 1) * (3 - 2 * clamp(self, 0, 1))
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
try:
    softsign(g.tensor([1j]))
    raise SystemExit("of complex numbers the derivative does not follow")
except NotImplementedError as error:
    assert "softsign" in str(error), error
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
bounded, bent = g.ops.mylib.bounded, g.ops.mylib.bent
edges = g.tensor([-1.0, -0.5, 0.0, 0.5, 1.0], dtype=g.float64, requires_grad=True)
for low, high, slopes in (
    (-0.5, 0.5, [0, 0.5, 1, 0.25, 0]), (None, 0.5, [1, 1, 1, 0.25, 0]), (-0.5, None, [0, 0.5, 1, 1, 1])
):
    held = bounded(edges, low, high)
    assert g.equal(held, edges.clamp(low, high)) and g.autograd.grad(held.sum(), edges)[0].tolist() == slopes
assert g.allclose(bent(x), g.tanh(x * 2)) and g.allclose(bent(x, by="swing"), g.sin(x * 2) * g.exp(x))
for by in ("tanh", "sin", "swing"):
    assert gradcheck(lambda a: bent(a, 3, by=by), (x,), check_forward_ad=True)
    assert gradgradcheck(lambda a: bent(a, 3, by=by), (x,))
assert g.allclose(bent(large.double()[::2], 3, by="sin"), g.sin(large.double()[::2] * 3))
for call, message in (
    (lambda: bounded(x), "bounded needs a bound"),
    (lambda: bent(x, -1), "steepness is -1, and by tanh goes down with it"),
    (lambda: g.ops.mylib.between(x, x.float(), x), "between float64 and float32"),
):
    try:
        call()
        raise SystemExit("taken: " + message)
    except RuntimeError as error:
        assert message in str(error), error
raised = g.ops.mylib.raised
for given in (x.detach(), large, large[::3]):
    same = raised(given)
    assert g.equal(same, given) and same.data_ptr() != given.data_ptr()
half = g.tensor([0.5], dtype=g.float64, requires_grad=True)
zero = g.tensor([0.0], dtype=g.float64, requires_grad=True)
assert [each.item() for each in g.autograd.grad(g.ops.mylib.leaky(zero, half), (zero, half))] == [0.5, 0.0]
at_least, cubed_by = g.ops.mylib.at_least, g.ops.mylib.cubed_by
assert at_least(g.tensor([1, 2, 5]), 2.9).tolist() == [2, 2, 5]
assert at_least(g.tensor([1.0, 5.0]), 2.5).tolist() == [2.5, 5.0]
for given, value in ((g.tensor([1.0]), 1j), (g.tensor([1], dtype=g.uint8), 300), (g.tensor([1]), 1e300)):
    try:
        at_least(given, value)
        raise SystemExit(f"taken: {value}")
    except RuntimeError as error:
        assert "cannot be converted" in str(error), error
assert gradcheck(lambda a: cubed_by(a, 0.5), (z,), check_forward_ad=True)
assert gradgradcheck(lambda a: cubed_by(a, 0.5), (z,))
points = g.tensor([-1.0, 0.0, 0.5, 1.0, 2.0], dtype=g.float64, requires_grad=True)
assert g.autograd.grad(g.ops.mylib.eased(points).sum(), points)[0].tolist() == [0.0, 0.0, 1.5, 0.0, 0.0]
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
    # A number that is written there is there.
    assert "has_value" not in project.generate("explain", "eased").stdout
    # What one choice has decided is not asked again.
    formula = next(line for line in project.generate("explain", "bounded").stdout.splitlines() if " self: " in line)
    assert [formula.count(name) for name in ("low.has_value()", "high.has_value()")] == [2, 1], formula


WRONG = {
    """
- func: damped(Tensor self, Tensor like) -> Tensor
  elementwise: self / (1 + abs(self))
""": "'like' has no part in this expression",
    """
- func: mirrored(Tensor self) -> Tensor
  elementwise: exp(_conj_physical(self * self))
  dtypes: floating, complex
""": "'_conj_physical' is not holomorphic in 'self'",
    """
- func: squashed(Tensor self) -> Tensor
  elementwise: self / (1 + abs(self))
  dtypes: floating, complex
""": "'abs' is not holomorphic in 'self'",
    """
- func: held(Tensor self, float? limit=None) -> Tensor
  elementwise: 'self > limit ? limit : self'
""": "no overload of 'gt' fits (Tensor, float?)",
    """
- func: shrunk(Tensor self, float by) -> Tensor
  elementwise: self * by
  requires: {by: 'by is {by}'}
""": "this condition is float, and no bool",
    """
- func: shrunk(Tensor self, float by) -> Tensor
  elementwise: self * by
  requires: {by > 0: 'by is {by}, and self is {self}'}
""": "a message has no words for Tensor",
    """
- func: shrunk(Tensor self, float by) -> Tensor
  dispatch: {CPU: shrunk}
  requires: {by > 0: by is not above 0}
""": "'requires' says what the arguments of an expression have to be",
}


@pytest.mark.parametrize(
    "functions", WRONG, ids=["no part", "conjugates", "magnitude", "optional", "no bool", "no words", "no expression"]
)
def test_what_would_be_wrong_is_refused(project: Project, functions: str) -> None:
    project.append("native_functions.yaml", functions)
    finished = project.generate()
    assert finished.returncode == 1
    assert WRONG[functions] in finished.stderr
