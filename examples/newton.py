"""Newton's method: the Hessian comes from differentiating the gradient."""

from __future__ import annotations

import gradwright as torch


def banana(p: torch.Tensor) -> torch.Tensor:
    """Rosenbrock's valley, lowest at (1, 1)."""
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
for step in range(8):
    value = banana(p)
    (gradient,) = torch.autograd.grad(value, p, create_graph=True)
    (a, b), (_, d) = (torch.autograd.grad(entry, p, retain_graph=True)[0].tolist() for entry in gradient)
    print(f"step {step}: value {value.item():.3e} at {[round(c, 6) for c in p.tolist()]}")
    g, h = gradient.tolist()
    determinant = a * d - b * b
    move = torch.tensor([(d * g - b * h) / determinant, (a * h - b * g) / determinant], dtype=torch.float64)
    p = (p - move).detach().requires_grad_()

assert banana(p).item() < 1e-12
