"""Fits a polynomial to the sine by gradient descent."""

from __future__ import annotations

import math

import gradwright as torch

torch.manual_seed(0)
x = torch.linspace(-math.pi, math.pi, 200)
powers = torch.stack([(x / math.pi) ** k for k in range(6)], dim=1)
target = torch.sin(x)
weights = torch.zeros(6, requires_grad=True)

for step in range(2001):
    loss = ((powers @ weights - target) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        weights -= 0.5 * weights.grad
        weights.grad = None
    if step % 500 == 0:
        print(f"step {step:4}: loss {loss.item():.5f}")

assert loss.item() < 1e-2
