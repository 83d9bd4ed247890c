"""A package with operators of all kinds, as the targets of frameworks are tried with it."""

from __future__ import annotations

from pathlib import Path

from codegen.commands.init import make_package
from support.own_packages import Project

NATIVE_FUNCTIONS = """
# A reduction along a dimension.
- func: log_mean(Tensor self, int dim=-1, bool keepdim=False) -> Tensor
  variants: function, method
  dispatch:
    CPU: log_mean
  dtypes: floating
  samples:
  - T(3, 4, low=0.5)

# Two results.
- func: to_polar(Tensor x, Tensor y) -> (Tensor radius, Tensor angle)
  dispatch:
    CPU: to_polar
  autogen: to_polar.out
  promotion: int_to_float
  dtypes: real
  tags: pointwise

# Formulas call helpers.
- func: hypot3(Tensor x, Tensor y, Tensor z) -> Tensor
  dispatch:
    CPU: hypot3
  autogen: hypot3.out
  promotion: int_to_float
  dtypes: real
  tags: pointwise

# A function on Tensors, which calls a method that PyTorch's do not have.
- func: polar_mean(Tensor x, Tensor y) -> Tensor
  dtypes: real

# The kernel of another operator.
- func: bent(Tensor self) -> Tensor
  variants: function
  autogen: bent_
  elementwise: self * self

- func: soft(Tensor self, Scalar slope=0.01) -> Tensor
  elementwise: 'self > 0 ? self / (1 + self) : self * slope'
  dtypes: real
  slope_at: {0: 1}
  requires: {slope >= 0: 'slope must not be negative, but is {slope}.'}

# An argument that may be left out; a formula calls an operator of the package.
- func: gate(Tensor self, Tensor? weight=None) -> Tensor
  dispatch:
    CPU: gate
    CUDA: gate_on_device
  promotion: default
  dtypes: floating

# A list of Tensors, and an argument by name alone.
- func: weave(Tensor[] tensors, *, float scale=1.0) -> Tensor
  dispatch:
    CPU: weave
  dtypes: floating

- func: split_halves(Tensor self) -> Tensor[]
  dispatch:
    CPU: split_halves
  dtypes: floating

# Complex numbers, and one formula for both gradients.
- func: turn(Tensor self, Tensor other) -> Tensor
  dispatch:
    CPU: turn
  promotion: default
  dtypes: float, complex
  tags: pointwise

- func: distance(Tensor self, Tensor other) -> Tensor
  composite: 2 * (self - other).square().sum()
  dtypes: real

# A kernel that works in place, whose formula reads what was there before.
- func: damp_(Tensor(a!) self, float factor=0.5) -> Tensor(a!)
  dispatch:
    CPU: damp_
  dtypes: floating

# No Tensor.
- func: ramp(int size, *, ScalarType? dtype=None, Device? device=None) -> Tensor
  dispatch:
    CPU: ramp

# A function on Tensors with formulas of its own.
- func: lifted(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutograd: lifted
  dtypes: floating
  tags: pointwise

# No derivative.
- func: rank_of(Tensor self) -> Tensor
  dispatch:
    CPU: rank_of

# Of two results one has a gradient.
- func: top(Tensor self) -> (Tensor value, Tensor index)
  dispatch:
    CPU: top

# Two operators of one name.
- func: scaled.Tensor(Tensor self, Tensor factor) -> Tensor
  composite: self * factor
- func: scaled.Scalar(Tensor self, Scalar factor) -> Tensor
  composite: self * factor
"""

DERIVATIVES = """
- name: log_mean(Tensor self, int dim=-1, bool keepdim=False) -> Tensor
  self: spread(grad, self, dim, keepdim)
  result: (self_t / self).mean(dim, keepdim)

- name: to_polar(Tensor x, Tensor y) -> (Tensor radius, Tensor angle)
  x: (grad_radius * x - grad_angle * y / radius) / radius
  y: (grad_radius * y + grad_angle * x / radius) / radius
  radius: (x_t * x + y_t * y) / radius
  angle: (y_t * x - x_t * y) / radius.square()

- name: hypot3(Tensor x, Tensor y, Tensor z) -> Tensor
  x: grad * cosine(x, result)
  y: grad * cosine(y, result)
  z: grad * cosine(z, result)
  result: x_t * cosine(x, result) + y_t * cosine(y, result) + z_t * cosine(z, result)

- name: gate(Tensor self, Tensor? weight=None) -> Tensor
  self: 'weight.defined() ? grad * weight * (1 - bent(self.tanh())) : grad * (1 - bent(self.tanh()))'
  weight: grad * self.tanh()

- name: weave(Tensor[] tensors, *, float scale=1.0) -> Tensor
  tensors: parts(grad, to_args_sizes(tensors), scale)

- name: split_halves(Tensor self) -> Tensor[]
  self: joined(grads, self)

- name: turn(Tensor self, Tensor other) -> Tensor
  self, other: turn_gradients(grad, self, other, grad_input_mask)
  result: self_t * other.conj() + self * other_t.conj()

- name: damp_(Tensor(a!) self, float factor=0.5) -> Tensor(a!)
  self: grad * factor * 2 * self
  result: self_t * factor * 2 * self_p

- name: lifted(Tensor self) -> Tensor
  self: grad * (result + 1)
  result: auto_element_wise

- name: rank_of(Tensor self) -> Tensor
  output_differentiability: [False]

- name: top(Tensor self) -> (Tensor value, Tensor index)
  output_differentiability: [True, False]
  self: grad.unsqueeze(-1) * (arange(self.sizes().back(), index.options()) == index.unsqueeze(-1))
  value: self_t.gather(-1, index.unsqueeze(-1)).squeeze(-1)
"""

KERNELS = """

def log_mean(self: Array, dim: int, keepdim: bool) -> Array:
    return np.asarray(np.mean(np.log(self), axis=dim, keepdims=keepdim))


def to_polar(x: Array, y: Array) -> tuple[Array, Array]:
    return np.hypot(x, y), np.arctan2(y, x)


def _hypot(x: Array, y: Array) -> Array:
    return np.hypot(x, y)


def hypot3(x: Array, y: Array, z: Array) -> Array:
    return _hypot(_hypot(x, y), z)


def gate(self: Array, weight: Array | None) -> Array:
    return np.tanh(self) if weight is None else np.tanh(self) * weight


def gate_on_device(self: Any, weight: Any) -> Any:
    return self.tanh() if weight is None else self.tanh() * weight


def weave(tensors: list[Array], scale: float) -> Array:
    return np.concatenate([each * scale for each in tensors])


def split_halves(self: Array) -> list[Array]:
    half = len(self) // 2
    return [self[:half].copy(), self[half:].copy()]


def turn(self: Array, other: Array) -> Array:
    return self * other.conj()


def damp_(self: Array, factor: float) -> Array:
    self *= self * factor
    return self


def ramp(size: int, dtype: Any) -> Array:
    return np.arange(size, dtype=dtype)


def rank_of(self: Array) -> Array:
    return np.argsort(np.argsort(self))


def top(self: Array) -> tuple[Array, Array]:
    return np.asarray(self.max(-1)), np.asarray(self.argmax(-1))
"""

HELPERS = '''"""Functions on Tensors that formulas call."""

from __future__ import annotations

from collections.abc import Sequence

from gradwright import Tensor, ops

NOWHERE = 1.0


def cosine(x: Tensor, norm: Tensor) -> Tensor:
    """The cosine of the angle to an axis; zero at the origin."""
    at_origin = ops.eq(norm, 0)
    return ops.div(x, ops.masked_fill(norm, at_origin, NOWHERE))


def spread(grad: Tensor, self: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The gradient of a mean of logarithms; of positive numbers, each is its own distance from zero."""
    grad = grad if keepdim or not self.dim() else grad.unsqueeze(dim)
    zero = ops.zeros_like(self)
    return grad / ops.{name}.hypot3(self, zero, zero) / self.shape[dim]


def parts(grad: Tensor, sizes: Sequence[Sequence[int]], scale: float) -> Sequence[Tensor]:
    """The gradients of what was put together."""
    gradients = []
    start = 0
    for size in sizes:
        gradients.append(ops.narrow(grad, 0, start, size[0]) * scale)
        start += size[0]
    return gradients


def joined(grads: Sequence[Tensor | None], self: Tensor) -> Tensor:
    """The gradient of what was taken apart."""
    half = self.shape[0] // 2
    sizes = (half, self.shape[0] - half)
    parts = []
    for grad, size in zip(grads, sizes, strict=True):
        parts.append(ops.zeros_like(self.narrow(0, 0, size)) if grad is None else grad)
    return ops.cat(parts)


def turn_gradients(
    grad: Tensor, self: Tensor, other: Tensor, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of a product with a conjugate."""
    return grad * other if mask[0] else None, grad.conj() * self if mask[1] else None
'''

COMPOSITES = '''"""Functions on Tensors, for operators that have no kernels."""

from gradwright import Tensor, ops


def polar_mean(x: Tensor, y: Tensor) -> Tensor:
    radius, _ = ops.{name}.to_polar(x, y)
    return ops.mean(radius).squareplus()


def lifted(self: Tensor) -> Tensor:
    return ops.exp(self) - 1
'''

LAZY = '''"""Operators: those of Gradwright are loaded when one is asked for, those of a framework without it."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    generated = import_module("{name}._generated")
    if name in generated.__all__:
        return getattr(generated, name)
    raise AttributeError(name)
'''


def make_framework_package(folder: Path, name: str, targets: str) -> Project:
    """The project of such a package; nothing is generated for it yet."""
    assert make_package(name, folder) == 0
    project = Project(folder, name)
    project.configure(f"targets = {targets}")
    functions = project.file("native_functions.yaml")
    functions.write_text(functions.read_text().replace("squareplus.out", "squareplus_, squareplus.out"))
    project.append("native_functions.yaml", NATIVE_FUNCTIONS)
    project.append("derivatives.yaml", DERIVATIVES)
    project.append("kernels.py", KERNELS)
    project.append("helpers.py", HELPERS.replace("{name}", name))
    project.append("composites.py", COMPOSITES.replace("{name}", name))
    project.file("__init__.py").write_text(LAZY.replace("{name}", name))
    return project
