"""Operators of a package of which only forward formulas are written: their gradients follow, and are proven."""

from __future__ import annotations

from support.own_packages import Project

FUNCTIONS = """
- func: blend(Tensor self, Tensor other, Tensor weight) -> Tensor
  dispatch:
    CPU: blend
  tags: pointwise
  samples:
  - T(2, 3), T(2, 3), T(3)
  - T(3), T(2, 1), T()

- func: weighted_mean(Tensor self, Tensor weight, int dim) -> Tensor
  dispatch:
    CPU: weighted_mean
  dtypes: floating, complex
  samples:
  - T(2, 3), T(3), 0
  - T(3), T(2, 3), 1

- func: turned(Tensor x, Tensor y, Tensor angle) -> (Tensor first, Tensor second)
  dispatch:
    CPU: turned
  dtypes: floating
  samples:
  - T(2, 3), T(2, 3), T(2, 3)
"""
ENTRIES = """
- name: blend(Tensor self, Tensor other, Tensor weight) -> Tensor
  result: self_t * (1 - weight_p) + other_t * weight_p + weight_t * (other_p - self_p)

- name: weighted_mean(Tensor self, Tensor weight, int dim) -> Tensor
  result: (self_t * weight_p + self_p * weight_t).mean(dim)

- name: turned(Tensor x, Tensor y, Tensor angle) -> (Tensor first, Tensor second)
  first: x_t * angle_p.cos() - y_t * angle_p.sin() - angle_t * (x_p * angle_p.sin() + y_p * angle_p.cos())
  second: x_t * angle_p.sin() + y_t * angle_p.cos() + angle_t * (x_p * angle_p.cos() - y_p * angle_p.sin())
"""
KERNELS = """
import numpy as np


def blend(self, other, weight):
    return self * (1 - weight) + other * weight


def weighted_mean(self, weight, dim):
    return np.mean(self * weight, axis=dim)


def turned(x, y, angle):
    cosine, sine = np.cos(angle), np.sin(angle)
    return x * cosine - y * sine, x * sine + y * cosine
"""


def test_gradients_follow_and_are_proven(project: Project) -> None:
    project.append("native_functions.yaml", FUNCTIONS)
    project.append("derivatives.yaml", ENTRIES)
    project.append("kernels.py", KERNELS)
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    proofs = project.generate("verify", "blend", "weighted_mean", "turned")
    assert proofs.returncode == 0, proofs.stdout + proofs.stderr
    assert " 0 refuted" in proofs.stdout
    assert "grad * (other - self).conj()" in project.generate("explain", "blend").stdout
