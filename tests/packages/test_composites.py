"""Composite operators of a package that are formulas, over its own operators and Gradwright's."""

from __future__ import annotations

import pytest

from support.own_packages import Project

FUNCTIONS = """
- func: smooth_distance(Tensor self, Tensor other, Scalar b=4) -> Tensor
  composite: squareplus(self - other, b).mean()
  samples:
  - T(3), T(3)

- func: both_sides(Tensor self, *, bool doubled=False) -> (Tensor right, Tensor left)
  composite: '{doubled ? squareplus(self) * 2 : squareplus(self), squareplus(-self)}'
  samples:
  - T(3)
  - T(3), doubled=True
"""
PROGRAM = """
import gradwright as g, mylib
x = g.tensor([0.5, -1.0, 2.0], dtype=g.float64, requires_grad=True)
y = g.tensor([1.0, 0.0, -1.0], dtype=g.float64, requires_grad=True)
f, h = g.ops.mylib.smooth_distance, g.ops.mylib.both_sides
d = x - y
assert g.allclose(f(x, y), ((d + (d * d + 4).sqrt()) / 2).mean())
assert f(x, y).grad_fn.name() == "MeanBackward0"
assert g.autograd.gradcheck(f, (x, y)) and g.autograd.gradgradcheck(f, (x, y))
assert g.autograd.gradcheck(f, (x, y), check_forward_ad=True)
assert h(x).right.shape == h(x).left.shape == (3,)
assert g.allclose(h(x, doubled=True).right, h(x).right * 2)
rows = g.func.vmap(f)(g.stack([x, y]), g.stack([y, x]))
assert g.allclose(rows, g.stack([f(x, y), f(y, x)]))
try:
    f(x, "y")
except RuntimeError as error:
    assert "smooth_distance(Tensor self, Tensor other, Scalar b=4)" in str(error), error
else:
    raise AssertionError("a str is no Tensor")
"""


@pytest.mark.parametrize("native", ["0", "1"])
def test_formulas_are_operators(project: Project, native: str) -> None:
    project.append("native_functions.yaml", FUNCTIONS)
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    tested = project.run("-c", PROGRAM, GRADWRIGHT_NATIVE=native)
    assert tested.returncode == 0, tested.stderr
    assert (
        "CompositeImplicitAutograd: squareplus(self - other, b).mean()"
        in project.generate("explain", "smooth_distance").stdout
    )
