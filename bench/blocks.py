"""The softmax, gelu, layer_norm block in two spellings: the operators a library has, and the same from primitives."""

from __future__ import annotations

from typing import Any


def block_fused(library: Any, x: Any, weight: Any, bias: Any) -> Any:
    """One call for each step."""
    functional = library.nn.functional
    return functional.softmax(functional.gelu(functional.layer_norm(x, (x.shape[-1],), weight, bias)), dim=-1)


def block_primitive(library: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The same function, written with arithmetic, exp, erf and reductions only."""
    centred = x - x.mean(-1, keepdim=True)
    normed = centred * (centred * centred).mean(-1, keepdim=True).add(1e-5).rsqrt() * weight + bias
    activated = 0.5 * normed * (1 + library.erf(normed * 0.5**0.5))
    exponential = library.exp(activated - activated.amax(-1, keepdim=True).detach())
    return exponential / exponential.sum(-1, keepdim=True)
