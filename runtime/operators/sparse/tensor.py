"""SparseTensor: a Tensor whose `_array` is a proxy for Coordinates, and the backend of such Tensors."""

from __future__ import annotations

import builtins
from typing import Any, ClassVar, NoReturn

import numpy as np

from runtime.base import devices, dtypes, identity
from runtime.base.array_proxies import DeviceArrayProxy
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import DType, Layout, MemoryFormat, sparse_coo
from runtime.devices.tensor import DeviceTensor
from runtime.operators.sparse.coordinates import Coordinates, empty, of_dense

KEY = "SparseCPU"


class SparseArrayProxy(DeviceArrayProxy):
    """Coordinates in the place of one of NumPy's arrays."""

    _values: Coordinates

    @staticmethod
    def over(values: Coordinates) -> SparseArrayProxy:
        """One for Coordinates."""
        dtype = dtypes.from_numpy(values.dtype).numpy
        made = np.ndarray.__new__(SparseArrayProxy, values.shape, dtype, b"\xff" * 16, 0, (0,) * len(values.shape))
        made.backend = backend
        made._values = values
        return made

    def read(self) -> Coordinates:
        """What it stands for."""
        return self._values

    def write(self, values: Coordinates) -> None:
        """Give all Tensors over this memory other parts."""
        self._values = values

    def copy(self, order: Any = "C") -> SparseArrayProxy:
        """Other memory with the same parts."""
        return SparseArrayProxy.over(self._values.copy())

    def _refusal(self) -> Exception:
        return TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


class SparseTensor(DeviceTensor):
    """A Tensor of the layout `sparse_coo`: parts by their places, and zeros elsewhere."""

    __slots__ = ()

    _dispatch_key: ClassVar[str] = KEY

    @property
    def layout(self) -> Layout:
        """How the data lies in memory."""
        return sparse_coo

    @property
    def is_sparse(self) -> builtins.bool:
        """True."""
        return True

    def get_device(self) -> int:
        """-1, as for every Tensor in main memory."""
        return -1

    def type(self, dtype: DType | str | None = None) -> str | Tensor:
        """The name of the Tensor type; with a dtype, the Tensor converted to it."""
        if dtype is None:
            return f"{identity.name}.sparse.{self.dtype.scalar_name}Tensor"
        return super().type(dtype)

    def _parts(self) -> Coordinates:
        array = self._array
        assert isinstance(array, SparseArrayProxy)
        return array.read()

    # The parts.

    def sparse_dim(self) -> int:
        """The number of sparse dimensions, which come first."""
        return self._parts().sparse_dim

    def dense_dim(self) -> int:
        """The number of dense dimensions."""
        return self._parts().dense_dim

    def _dimI(self) -> int:
        return self._parts().sparse_dim

    def _dimV(self) -> int:
        return self._parts().dense_dim

    def _nnz(self) -> int:
        """The number of parts."""
        return self._parts().count

    def is_coalesced(self) -> builtins.bool:
        """Whether the places are in order, and each occurs once."""
        return self._parts().coalesced

    def _coalesced_(self, coalesced: builtins.bool) -> Tensor:
        """Say whether it is coalesced."""
        parts = self._parts()
        self._proxy().write(parts.with_values(parts.values, coalesced))
        return self

    def _indices(self) -> Tensor:
        """The places, over the same memory."""
        return wrap(self._parts().indices)

    def _values(self) -> Tensor:
        """The parts, over the same memory."""
        return wrap(self._parts().values)

    def indices(self) -> Tensor:
        """The places of a coalesced Tensor.

        Raises:
            RuntimeError: it is not coalesced.
        """
        self._check_coalesced("indices")
        return self._indices()

    def _check_coalesced(self, what: str) -> None:
        if not self.is_coalesced():
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    # Elements.

    def _on_host(self) -> Tensor:
        return wrap(self._parts().dense())

    def numpy(self, *, force: builtins.bool = False) -> NoReturn:
        """Raise.

        Raises:
            TypeError: it has no memory that is an array.
        """
        raise self._proxy()._refusal()

    def tolist(self) -> NoReturn:
        """Raise.

        Raises:
            RuntimeError: always.
        """
        raise _no_storage()

    def __repr__(self) -> str:
        text = super().__repr__()
        return f"Parameter containing:\n{text}" if getattr(self, "_is_param", False) else text

    # Memory.

    def data_ptr(self) -> NoReturn:
        """Raise.

        Raises:
            RuntimeError: always.
        """
        raise _no_storage()

    def stride(self, dim: int | None = None) -> Any:
        """0 for each dimension: there are no steps through memory."""
        strides = (0,) * self._array.ndim
        return strides if dim is None else strides[self._wrap_dim(dim)]

    @property
    def nbytes(self) -> int:
        """Raise.

        Raises:
            RuntimeError: always: ask the places and the parts.
        """
        raise RuntimeError(
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the "
            "nbytes of the indices and values."
        )

    def is_contiguous(self, memory_format: MemoryFormat | None = None) -> builtins.bool:
        """False: the elements do not lie one after the other."""
        return False

    def _apply_linear(self, forward: Any, adjoint: Any, kind: Any) -> NoReturn:
        raise NotImplementedError("in-place writes to views of sparse Tensors are not differentiated")

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        parts = self._parts()
        state = (parts.indices, parts.values, parts.shape, parts.coalesced, self._edge is not None)
        return _rebuild, state, self.__dict__ or None

    # In place.

    def sparse_resize_(self, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
        """Change the sizes of dimensions, and how many of them are sparse; there may be parts if nothing is cut off.

        Raises:
            RuntimeError: the sizes do not fit to the dimensions, or to the parts.
        """
        self._check_writable("sparse_resize_")
        parts, size = self._parts(), tuple(size)
        _check_dims(size, sparse_dim, dense_dim)
        if parts.count:
            if (sparse_dim, dense_dim) != (parts.sparse_dim, parts.dense_dim):
                kind = "sparse" if sparse_dim != parts.sparse_dim else "dense"
                before, after = (parts.sparse_dim, sparse_dim) if kind == "sparse" else (parts.dense_dim, dense_dim)
                raise RuntimeError(
                    f"changing the number of {kind} dimensions (from {before} to {after}) on a non-empty sparse tensor "
                    "is not supported."
                )
            if any(new < old for new, old in zip(size, parts.shape, strict=True)):
                raise RuntimeError(
                    f"shrinking the size of dimensions (from {list(parts.shape)} to {list(size)}) on a non-empty "
                    "sparse tensor is not supported."
                )
            values = np.zeros((parts.count, *size[sparse_dim:]), parts.dtype)
            values[tuple(slice(length) for length in parts.values.shape)] = parts.values
            return self._become(Coordinates(parts.indices, values, size, parts.coalesced))
        return self._become(empty(size, parts.dtype, sparse_dim, parts.coalesced))

    def sparse_resize_and_clear_(self, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
        """Change the sizes of dimensions, and drop all parts."""
        self._check_writable("sparse_resize_and_clear_")
        size = tuple(size)
        _check_dims(size, sparse_dim, dense_dim)
        return self._become(empty(size, self._array.dtype, sparse_dim, self.is_coalesced()))

    def resize_as_sparse_(self, other: Tensor) -> Tensor:
        """Give it the sizes and dimensions of another sparse Tensor; where they are others, all parts are dropped."""
        if not isinstance(other, SparseTensor):
            raise RuntimeError("resize_as_sparse_: the other Tensor has to be sparse")
        mine, theirs = self._parts(), other._parts()
        same = (mine.shape, mine.sparse_dim) == (theirs.shape, theirs.sparse_dim)
        return self if same else self.sparse_resize_(theirs.shape, theirs.sparse_dim, theirs.dense_dim)

    def _check_writable(self, name: str) -> None:
        if self._edge is not None:
            raise RuntimeError(f"{name} is not allowed on a Tensor that requires grad; use detach()")

    def _become(self, parts: Coordinates) -> Tensor:
        self._array = SparseArrayProxy.over(parts)
        return self


class SparseBackend:
    """Sparse Tensors as the rest of the runtime asks for them: see `runtime.base.devices`."""

    key = KEY
    device = "cpu"
    listed_in = ""
    array_type = Coordinates
    tensor_type: type[Tensor] = SparseTensor

    def index_of(self, array: Any) -> None:
        """None: main memory has no number."""

    def check_index(self, index: int | None) -> None:
        """Nothing: numbers say nothing here."""

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        """The same one."""
        same: np.dtype[Any] = np.dtype(dtype)
        return same

    def own_dtype(self, dtype: DType) -> np.dtype[Any]:
        """The element type of arrays."""
        return dtype.numpy

    def tensor(self, array: Any) -> Tensor:
        """A new Tensor over the memory of another that requires no gradient."""
        out: Tensor = object.__new__(SparseTensor)
        out._array = array
        out._base = out._edge = out._writes = out._extra = None
        return out

    def wrap(self, values: Coordinates) -> Tensor:
        """A new Tensor over Coordinates."""
        return self.tensor(SparseArrayProxy.over(values))

    def from_host(self, array: np.ndarray[Any, Any]) -> SparseArrayProxy:
        """What is not zero of an array."""
        return SparseArrayProxy.over(of_dense(array, array.ndim))

    def to_host(self, array: SparseArrayProxy) -> np.ndarray[Any, Any]:
        """The whole array."""
        return array.read().dense()

    def overwrite(self, target: SparseArrayProxy, source: Any) -> None:
        """Give `target` the parts of another of the same shape, which may be of another dtype."""
        parts = source.read()
        target.write(parts.with_values(parts.values.astype(target.dtype, copy=False)))

    def cast(self, array: SparseArrayProxy, dtype: np.dtype[Any]) -> SparseArrayProxy:
        """The same in another element type."""
        parts = array.read()
        return SparseArrayProxy.over(parts.with_values(parts.values.astype(dtype)))

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """A new Tensor without parts."""
        return self.wrap(empty(shape, dtype, len(shape)))


backend = SparseBackend()
SparseTensor._backend = backend
devices.by_key[KEY] = backend


def parts_of(tensor: Tensor) -> Coordinates:
    """What a sparse Tensor is made of."""
    array = tensor._array
    assert isinstance(array, SparseArrayProxy)
    return array.read()


def _check_dims(size: tuple[int, ...], sparse_dim: int, dense_dim: int) -> None:
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )


def _no_storage() -> RuntimeError:
    return RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def _rebuild(
    indices: np.ndarray[Any, Any],
    values: np.ndarray[Any, Any],
    shape: tuple[int, ...],
    coalesced: bool,
    requires_grad: bool,
) -> Tensor:
    """Make a Tensor again from what `__reduce_ex__` stored."""
    values = values.view(dtypes.from_numpy(values.dtype).numpy)
    out = backend.wrap(Coordinates(indices, values, shape, coalesced))
    out._edge = LEAF if requires_grad else None
    return out
