"""Differentiable operators of fields in space: harmonics, Fourier sums, kernels, splines, rotations.

`fields.hypot3(x, y, z)` is Gradwright's operator, which is imported when it is asked for. `fields.torch` and
`fields.jax` have the same operators for PyTorch and JAX, and need no Gradwright.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fields._generated import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """An operator, on first use. Modules of the package are found by Python."""
    if name != "__all__" and (name.startswith("__") or find_spec(f"fields.{name}") is not None):
        raise AttributeError(name)
    operators = import_module("fields._generated")
    if name != "__all__" and name not in operators.__all__:
        raise AttributeError(f"module 'fields' has no attribute '{name}'")
    globals()[name] = value = getattr(operators, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("fields._generated").__all__})
