"""Makes Tensors out of what a file says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.leaves import leaf
from runtime.base.state import LEAF
from runtime.base.storage import UntypedStorage, array_over
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import DType, Layout, sparse_coo, strided
from runtime.operators import sparse


@dataclass(frozen=True)
class StorageKind:
    """The class of a storage in a file: of which dtype its elements are."""

    dtype: DType


def tensor(storage: UntypedStorage, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """A Tensor over a storage."""
    return tensor_v3(storage, storage_offset, size, stride, False, None, storage.elements)


def tensor_v2(
    storage: UntypedStorage,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: dict[str, bool] | None = None,
) -> Tensor:
    """A Tensor over a storage, which may be conjugated or negated when it is looked at."""
    return tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, storage.elements, metadata)


def tensor_v3(
    storage: UntypedStorage,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: DType,
    metadata: dict[str, bool] | None = None,
) -> Tensor:
    """A Tensor of a dtype that the storage does not say."""
    if not isinstance(storage, UntypedStorage):
        raise TypeError(f"expected a storage, but the file has {type(storage).__name__}")
    out = wrap(array_over(storage._bytes, dtype, storage_offset, tuple(size), tuple(stride)))
    if storage.destination is not None:
        out = out.to(storage.destination)
    for name, resolve in (("conj", ops.conj_physical), ("neg", ops.neg)):
        if metadata and metadata.get(name):
            out = resolve(out)
    return leaf(out, requires_grad)


def parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """A Parameter."""
    return Parameter(data, requires_grad)


def parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Parameter:
    """A Parameter with attributes of its own."""
    made = Parameter(data, requires_grad)
    _set_attributes(made, state)
    return made


def from_type(function: Any, kind: type, args: Any, state: Any) -> Tensor:
    """A Tensor of a class of its own, with attributes."""
    made = function(*args)
    if type(made) is not kind:
        needs = made.requires_grad
        made = Tensor._make_subclass(kind, made.detach())
        made._edge = LEAF if needs else None
    _set_attributes(made, state)
    return made  # type: ignore[no-any-return]


def _set_attributes(made: Tensor, state: Any) -> None:
    """The attributes of a Tensor: they go into its dictionary, and nothing is called."""
    values = state[0] if isinstance(state, tuple) else state
    if values:
        made.__dict__.update(values)


def meta_tensor(dtype: DType, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    """A Tensor without data."""
    made = ops.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return leaf(made, requires_grad)


def sparse_tensor(layout: Layout, data: Any) -> Tensor:
    """A sparse Tensor, of its places, parts and size."""
    if layout is not sparse_coo:
        raise NotImplementedError(f"Tensors of the layout {layout} can not be read")
    indices, values, size, *coalesced = data
    is_coalesced = bool(coalesced[0]) if coalesced else None
    return sparse.construct.sparse_coo_tensor(indices, values, size, is_coalesced=is_coalesced)


def layout(name: str) -> Layout:
    """The layout of a name."""
    found = {f"torch.{each.name}": each for each in (strided, sparse_coo)}.get(name)
    if found is None:
        raise NotImplementedError(f"Tensors of the layout {name} can not be read")
    return found
