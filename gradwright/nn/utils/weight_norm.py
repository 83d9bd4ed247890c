"""Weights computed from a direction and a length before each call: the older form of `parametrizations.weight_norm`."""

from __future__ import annotations

import warnings
from typing import Any

from gradwright.nn.module import Module
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """A hook before `forward` that computes a weight from `weight_g` and `weight_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight as it is now."""
        length, direction = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        weight: Tensor = direction * (length / ops.norm_except_dim(direction, 2, self.dim))
        return weight

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Put the hook on a Module, and two parameters in the place of one."""
        for other in module._forward_pre_hooks.values():
            if isinstance(other, WeightNorm) and other.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(ops.norm_except_dim(weight.detach(), 2, hook.dim)))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight one parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight from its length and its direction (Salimans and Kingma 2016).

    Args:
        module: whose it is.
        name: its name.
        dim: the dimension that is left out of the norm; None: there is one norm for all.
    """
    warnings.warn(
        "`gradwright.nn.utils.weight_norm` is deprecated in favor of "
        "`gradwright.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo `weight_norm`: the weight keeps its present value.

    Raises:
        ValueError: there is none.
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
