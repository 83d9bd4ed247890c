"""Hooks: look at gradients on their way, and change them."""

from __future__ import annotations

import gradwright as torch

x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
hidden = x * x
hidden.retain_grad()
hidden.register_hook(lambda grad: print("arrives at hidden:", grad.tolist()))
x.register_hook(lambda grad: grad.clamp(-3, 3))

(hidden * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print("kept at hidden:   ", hidden.grad.tolist())
print("clipped at x:     ", x.grad.tolist())

assert x.grad.tolist() == [2.0, -3.0, 3.0]
