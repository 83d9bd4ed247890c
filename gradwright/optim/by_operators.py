"""Update rules made of operators: for parameters that are no plain Tensors, and for steps that are differentiated."""

from __future__ import annotations

from typing import Any

from gradwright.autograd import no_grad
from runtime import ops
from runtime.base import class_dispatch
from runtime.base.array_proxies import on_device, overwrite
from runtime.base.tensor import Tensor
from runtime.graph.views import bump_version
from runtime.operators.update_rules import Rule, complete


@no_grad()
def step(rule: Rule, options: dict[str, Any], grad: Tensor, *written: Tensor | None) -> None:
    """A step of `rule`, as `arrays.step`: what is `written` is changed."""
    for tensor, value in zip(written, values_of(rule, options, grad, *written), strict=True):
        if tensor is not None and value is not None:
            if on_device(tensor) and not class_dispatch.overriding_types((tensor,)):
                overwrite(tensor._array, value._array)
                bump_version(tensor)
            else:
                tensor.copy_(value)


def values_of(rule: Rule, options: dict[str, Any], grad: Tensor, *before: Tensor | None) -> list[Any]:
    """What was `before` after a step of `rule`, in new Tensors; the parts of complex numbers apart."""
    if not grad.is_complex():
        return list(complete(rule, ops, grad, *before, **options))
    parts = [None if tensor is None else ops.view_as_real(tensor) for tensor in (grad, *before)]
    values = complete(rule, ops, *parts, **options)
    return [None if value is None else ops.view_as_complex(value) for value in values]
