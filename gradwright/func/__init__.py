"""Transforms of functions with the names of `torch.func`."""

from __future__ import annotations

from gradwright.batches import vmap
from gradwright.func.functionalizing import functionalize
from gradwright.func.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from gradwright.func.rearranging import rearrange
from gradwright.func.reverse import grad, grad_and_value, jacrev, vjp
from gradwright.func.tangents import hessian, jacfwd, jvp, linearize
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import BatchedTensor
from runtime.operators.batching.rules.families import fallback_warnings

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "set_fallback_warnings",
    "stack_module_state",
    "vjp",
    "vmap",
]


def set_fallback_warnings(enabled: bool) -> None:
    """Whether vmap warns where an operator is called once for each element of a batch, for want of a rule."""
    fallback_warnings.enabled = enabled


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The batch behind a Tensor under vmap, to look at; with `recurse` that of all levels.

    What is computed from it has no meaning in the transform.
    """
    while isinstance(tensor, BatchedTensor):
        tensor = tensor.value
        if not recurse:
            break
    return tensor
