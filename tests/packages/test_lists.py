"""Operators of a package on lists of Tensors, with a formula for an element of each."""

from __future__ import annotations

import pytest

from support.own_packages import Project

FUNCTIONS = """
- func: products(Tensor[] ones, Tensor[] others) -> Tensor[]
  dispatch:
    CPU: products
  samples:
  - '[T(3), T(2)], [T(3), T(2)]'
"""
DERIVATIVES = """
- name: products(Tensor[] ones, Tensor[] others) -> Tensor[]
  ones: grads[i] * others[i]
  others: grads[i] * ones[i]
"""
KERNEL = """

def products(ones: list[Array], others: list[Array]) -> list[Array]:
    return [one * other for one, other in zip(ones, others, strict=True)]
"""
PROGRAM = """
import itertools
import gradwright as g, mylib
values = [g.tensor([1.0, 2.0, 3.0]), g.tensor([4.0, 5.0]), g.tensor([6.0, 7.0, 8.0]), g.tensor([9.0, 10.0])]
for flags in itertools.product((False, True), repeat=4):
    inputs = [value.clone().requires_grad_(flag) for value, flag in zip(values, flags)]
    if not any(flags):
        continue
    found = g.ops.mylib.products(inputs[:2], inputs[2:])
    sum(each.sum() for each in found if each.requires_grad).backward()
    for place, (tensor, flag) in enumerate(zip(inputs, flags)):
        assert (tensor.grad is not None) is flag, (flags, place)
        assert not flag or g.equal(tensor.grad, values[(place + 2) % 4]), (flags, place, tensor.grad)
"""


@pytest.mark.parametrize("native", ["0", "1"])
def test_each_list_has_its_gradients_whichever_are_asked_for(project: Project, native: str) -> None:
    project.append("native_functions.yaml", FUNCTIONS)
    project.append("derivatives.yaml", DERIVATIVES)
    project.append("kernels.py", KERNEL)
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    tested = project.run("-c", PROGRAM, GRADWRIGHT_NATIVE=native)
    assert tested.returncode == 0, tested.stderr
