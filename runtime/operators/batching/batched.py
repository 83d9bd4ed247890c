"""BatchedTensor: what a function under `vmap` sees, one element of a batch, and the whole batch behind it.

It holds the batch as another Tensor, whose first dimension counts the elements; that may itself be batched, at a lower
level. All it is asked about shape and dtype it answers as the element. Everything else belongs to the batch: values,
history, tangents, versions. So the graph is recorded by the operators that rules call on the batch, and knows nothing
of levels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from runtime.base.overriding import disabled
from runtime.base.state import TensorBase
from runtime.base.tensor import Tensor
from runtime.graph.linear import ArrayMap, LinearBackward, apply_linear
from runtime.graph.views import bump_version
from runtime.operators.batching.levels import VmapLevel

if TYPE_CHECKING:
    from runtime.base.handles import RemovableHandle

_new = object.__new__

# The slot that BatchedTensor hides behind a property: the native core reads shape and dtype there.
_get_element: Any = vars(TensorBase)["_array"].__get__
_set_element: Any = vars(TensorBase)["_array"].__set__

_NUMBER = (
    "vmap: It looks like you're calling .item() on a Tensor. That has no meaning under vmap, where there is one value "
    "for each element of the batch: please write it with other operations."
)
_CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. Under vmap it has one "
    "value for each element of the batch: torch.where can choose between results."
)
_DATA = "vmap: Cannot access the data of a Tensor inside of a function that is vmapped over."
_ESCAPED = (
    "This Tensor has escaped from inside a function being vmapped: it can be used until the call of the function that "
    "vmap returned ends, and not after."
)
_REQUIRES_GRAD = (
    "You are attempting to call Tensor.requires_grad_() inside of a function being transformed. This is unsupported: "
    "use the transforms (grad, vjp, jacrev, jacfwd, hessian), or call requires_grad_() outside of the function."
)
_BACKWARD = (
    "backward() called inside a function being transformed. This is not supported: use func.grad or func.vjp instead, "
    "or call backward() outside of transforms."
)


class BatchedTensor(Tensor):
    """One element of a batch at a level of vmap.

    Attributes:
        value: the batch; its first dimension counts the elements.
        level: the vmap that it belongs to.
    """

    __slots__ = ("level", "value")

    value: Tensor
    level: VmapLevel
    __torch_function__ = disabled

    # The state of Tensor. It lies in the batch.

    @property
    def _array(self) -> np.ndarray[Any, Any]:  # type: ignore[override]
        if not self.level.open:
            raise RuntimeError(_ESCAPED)
        return _get_element(self)  # type: ignore[no-any-return]

    @property
    def _edge(self) -> Any:
        return self.value._edge

    @_edge.setter
    def _edge(self, edge: Any) -> None:
        self.value._edge = edge

    @property
    def _writes(self) -> Any:
        return self.value._writes

    @_writes.setter
    def _writes(self, writes: Any) -> None:
        self.value._writes = writes

    @property
    def _extra(self) -> Any:
        return self.value._extra

    @_extra.setter
    def _extra(self, extra: Any) -> None:
        self.value._extra = extra

    @property
    def _base(self) -> Any:  # type: ignore[override]
        return self.value._base

    # Values, of which there are several.

    _opaque = _batched = True

    def item(self) -> NoReturn:
        """Raise: there is one number for each element of the batch."""
        raise RuntimeError(_NUMBER)

    __float__ = __int__ = __complex__ = __index__ = item

    def __bool__(self) -> NoReturn:
        raise RuntimeError(_CONTROL_FLOW)

    def __contains__(self, element: Any) -> NoReturn:
        raise RuntimeError(_CONTROL_FLOW)

    def tolist(self) -> NoReturn:
        """Raise: there are other numbers for each element of the batch."""
        raise RuntimeError(_DATA)

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise: there are other numbers for each element of the batch."""
        raise RuntimeError(_DATA)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise RuntimeError(_DATA)

    def __dlpack__(self, **options: Any) -> NoReturn:
        raise RuntimeError(_DATA)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise RuntimeError(_DATA)

    def data_ptr(self) -> NoReturn:
        """Raise: the elements of the batch lie at different addresses."""
        raise RuntimeError(_DATA)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return batch(self.value.__deepcopy__(memo), self.level)

    def __repr__(self) -> str:
        text = repr(self.value).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self.level.number}, bdim=0, value=\n    {text}\n)"

    # Gradients.

    def requires_grad_(self, requires_grad: bool = True) -> NoReturn:
        """Raise, as PyTorch does: transforms decide what requires a gradient."""
        raise RuntimeError(_REQUIRES_GRAD)

    def backward(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, as PyTorch does: gradients are the results of transforms."""
        raise RuntimeError(_BACKWARD)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` with the gradient of this element of the batch; what it returns replaces the gradient."""
        level = self.level

        def of_batch(grad: Tensor | None) -> Tensor | None:
            changed = hook(grad if grad is None else batch(grad, level))  # type: ignore[arg-type]
            return changed.value if isinstance(changed, BatchedTensor) and changed.level is level else changed

        return self.value.register_hook(of_batch)

    def detach(self) -> Tensor:
        """A Tensor over the same memory that requires no gradient."""
        return batch(self.value.detach(), self.level)

    def detach_(self) -> Tensor:
        """Make this Tensor one that requires no gradient."""
        self.value.detach_()
        return self

    @property
    def data(self) -> Tensor:
        """A Tensor over the same memory whose writes autograd does not notice."""
        return batch(self.value.data, self.level)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, BatchedTensor) or value.level is not self.level:
            raise RuntimeError(
                "vmap: the data of a Tensor that is vmapped over can only be set to one of the same level"
            )
        self.value.data = value.value
        _set_element(self, _element(value.value, self.level))

    def become(self, view: BatchedTensor) -> None:
        """Let this be `view`, which lies in the same memory and level; that counts as a write."""
        self.value = view.value
        _set_element(self, _element(view.value, self.level))
        bump_version(self.value)

    # Linear maps on arrays, which the engine fits gradients with.

    def _apply_linear(self, forward: ArrayMap, adjoint: ArrayMap, kind: type[LinearBackward]) -> Tensor:
        return batch(apply_linear(self.value, _of_batch(forward), _of_batch(adjoint), kind), self.level)


def _of_batch(function: ArrayMap) -> ArrayMap:
    """A linear map of elements as one of batches."""

    def of_batch(arrays: np.ndarray) -> np.ndarray:
        if len(arrays):
            return np.stack([function(array) for array in arrays])
        one = function(np.zeros(arrays.shape[1:], arrays.dtype))
        return np.empty((0, *one.shape), one.dtype)

    return of_batch


def _element(value: Tensor, level: VmapLevel) -> np.ndarray[Any, Any]:
    """An array of the shape and dtype of the elements of a batch."""
    array = value._array
    return array[0, ...] if level.size else np.empty(array.shape[1:], array.dtype)


def batch(value: Tensor, level: VmapLevel) -> BatchedTensor:
    """The Tensor that stands for each entry of the first dimension of `value`."""
    out: BatchedTensor = _new(BatchedTensor)
    out.value = value
    out.level = level
    _set_element(out, _element(value, level))
    return out


def value_at(tensor: Tensor, level: VmapLevel) -> Tensor | None:
    """The batch behind `tensor` at a level; None where it is not batched there."""
    if type(tensor) is BatchedTensor and tensor.level is level:
        return tensor.value
    return None


# -- moving the dimension of a level from outside in and back, below any levels above it


def peel(tensor: Tensor, level: VmapLevel) -> Tensor:
    """`tensor` with the batch of `level` as its first dimension, repeated where it has none there.

    Batches of other levels stay batches.
    """
    if type(tensor) is BatchedTensor:
        if tensor.level is level:
            return tensor.value
        if tensor.level.number > level.number:
            return batch(peel(tensor.value, level).transpose(0, 1), tensor.level)
    return tensor.unsqueeze(0).expand((level.size, *tensor._array.shape))


def dress(tensor: Tensor, level: VmapLevel) -> Tensor:
    """The opposite of `peel`: the first dimension of `tensor` becomes the batch of `level`."""
    if type(tensor) is BatchedTensor and tensor.level.number > level.number:
        return batch(dress(tensor.value.transpose(0, 1), level), tensor.level)
    return batch(tensor, level)
