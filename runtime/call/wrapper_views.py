"""Views of Tensors around others: what their class made is a view of the argument, as that of any operator would be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime.base.memory import lie_alike
from runtime.base.sharing import share
from runtime.base.state import ViewKind
from runtime.base.tensor import Tensor
from runtime.call import kernel_table
from runtime.call.facts import flat_tensors
from runtime.call.meta_kernels import MetaKernel
from runtime.devices.meta import META
from runtime.devices.wrapper import WrapperArray
from runtime.graph import views

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def is_wrapped(operator: Operator, values: Sequence[Any]) -> bool:
    """Whether a view operator is called on a Tensor around others."""
    return operator.view is not None and isinstance(values[operator.base_position]._array, WrapperArray)


def as_views(operator: Operator, out: Any, values: list[Any]) -> Any:
    """What a class gave for a view operator, as views of its argument where it is laid out as these are.

    Writes to one are seen, and counted, by the others: the class has to see to their values.
    """
    base: Tensor = values[operator.base_position]
    made = [tensor for tensor in flat_tensors([out]) if isinstance(tensor._array, WrapperArray) and tensor is not base]
    if operator.never_differentiable:  # `detach`: the same memory, and no view to autograd
        for tensor in made:
            share(tensor, base)
        return out
    chosen = kernel_table.resolve(operator, META)
    if chosen is None or not isinstance(chosen[1], MetaKernel):
        return out
    kind: ViewKind = "single" if operator.view == "single" else "multi"
    for tensor, place in zip(made, chosen[1].places(operator, values), strict=False):
        if tensor._base is None and lie_alike(place, tensor._array):
            array = place.view(WrapperArray)
            made_as = tensor._array
            assert isinstance(made_as, WrapperArray)
            array.backend, array.place, array.attributes = made_as.backend, made_as.place, made_as.attributes
            tensor._array = array
            views.make_view(tensor, base, kind)
    return out
