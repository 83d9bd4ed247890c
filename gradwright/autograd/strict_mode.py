"""Strict mode of `autograd.functional`: inputs without a part in the results are errors and not zeros."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gradwright.autograd.functional_arguments import Gradients, zeros_like
from runtime.base.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Messages:
    """What strict mode says of a missing gradient, and of one that is constant though its graph was asked for."""

    missing: str
    constant: str


_INDEPENDENT: Final = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
_CONSTANT: Final = (
    "The {} of the user-provided function is independent of input {{}}. This is not allowed in strict mode when "
    "create_graph=True."
)
VJP: Final = Messages(_INDEPENDENT, _CONSTANT.format("jacobian"))
JVP: Final = Messages(
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    _CONSTANT.format("jacobian"),
)
VHP: Final = Messages(
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    _CONSTANT.format("hessian"),
)
HVP: Final = Messages(
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not allowed in "
    "strict mode as it prevents from using the double backward trick to replace forward mode AD.",
    _CONSTANT.format("hessian"),
)
CONSTANT_GRADIENT: Final = (
    "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode."
)
CONSTANT_JACOBIAN: Final = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)


def check_gradients(gradients: Gradients, constant: str) -> None:
    """Raise where a first derivative is missing, or can not be differentiated once more."""
    for index, gradient in enumerate(gradients):
        if gradient is None:
            raise RuntimeError(_INDEPENDENT.format(index))
        if not gradient.requires_grad:
            raise RuntimeError(constant.format(index))


def completed(
    gradients: Gradients, like: Sequence[Tensor], strict: Messages | None = None, create_graph: bool = False
) -> tuple[Tensor, ...]:
    """The gradients with zeros for those that are missing, or the errors of strict mode."""
    complete: list[Tensor] = []
    for index, (gradient, tensor) in enumerate(zip(gradients, like, strict=True)):
        if strict is not None:
            if gradient is None:
                raise RuntimeError(strict.missing.format(index))
            if create_graph and not gradient.requires_grad:
                raise RuntimeError(strict.constant.format(index))
        complete.append(zeros_like(tensor) if gradient is None else gradient)
    return tuple(complete)
