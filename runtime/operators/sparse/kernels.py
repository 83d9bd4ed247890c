"""What operators do with sparse Tensors: functions on Coordinates and NumPy's arrays, by the names of operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from runtime.base.arrays import is_half
from runtime.base.half import FLOAT32
from runtime.operators.sparse.coordinates import Array, Coordinates, add_in_order, empty, joined, looked_up, picked

Value: TypeAlias = "Array | Coordinates"


def _is_sparse(value: Any) -> bool:
    return isinstance(value, Coordinates)


# -- sums and differences


def add(self: Value, other: Any, alpha: Any = 1) -> Value:
    """The sum; of a dense array and a sparse one it is dense."""
    if not isinstance(other, Coordinates):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}"
        )
    scaled = other if alpha == 1 else other.with_values(_scaled(other.values, alpha))
    if not isinstance(self, Coordinates):
        return _added_to_dense(self, scaled)
    if self.sparse_dim != other.sparse_dim:
        raise RuntimeError("add: expected 'self' and 'other' to have same number of sparse dimensions")
    if not other.count:
        return self.copy()
    if not self.count:
        return scaled.copy()
    if np.array_equal(self.indices, other.indices):
        return self.with_values(self.values + scaled.values, self.coalesced and other.coalesced)
    both = joined((self, scaled))
    return both.summed() if self.coalesced and other.coalesced else both


def _scaled(values: Array, alpha: Any) -> Array:
    scaled: Array = values * values.dtype.type(alpha)
    return scaled


def _added_to_dense(array: Array, parts: Coordinates) -> Array:
    out = array.copy()
    if not parts.sparse_dim:
        return np.asarray(out + parts.values.sum(axis=0, dtype=out.dtype))
    if parts.count:
        rows = out.reshape((math.prod(parts.shape[: parts.sparse_dim]), *parts.values.shape[1:]))
        add_in_order(rows, parts.places(), parts.values)
    return out


def sub(self: Value, other: Any, alpha: Any = 1) -> Value:
    """The difference."""
    return add(self, other, -alpha)


def rsub(self: Value, other: Any, alpha: Any = 1) -> Value:
    """The difference the other way round."""
    if not isinstance(self, Coordinates) or isinstance(other, (int, float, complex)):
        return add(self, other, alpha)  # which raises
    return add(other, self, -alpha)


# -- products and quotients


def mul(self: Any, other: Any) -> Coordinates:
    """The product, which has parts where both have some."""
    if not isinstance(self, Coordinates):
        self, other = other, self
    if not isinstance(other, Coordinates):
        return _times_dense(self, other)
    if self.sparse_dim != other.sparse_dim or self.shape[: self.sparse_dim] != other.shape[: other.sparse_dim]:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
            "dimensions, and shape of sparse dimensions"
        )
    if self.coalesced and not other.coalesced:
        self, other = other, self
    other = other.summed()
    positions, there = looked_up(other, self.places())
    values = self.values[there] * other.values[positions[there]]
    shape = (*self.shape[: self.sparse_dim], *values.shape[1:])
    return Coordinates(self.indices[:, there], values, shape, self.coalesced)


def _times_dense(self: Coordinates, other: Any) -> Coordinates:
    if np.ndim(other) == 0:
        return self.with_values(self.values * other)
    try:
        wide = np.broadcast_to(other, self.shape)
    except ValueError:
        raise RuntimeError(
            "mul(sparse, dense): the shape of the dense Tensor can not be broadcast to that of the sparse one: "
            f"{list(other.shape)} and {list(self.shape)}"
        ) from None
    return self.with_values(self.values * picked(wide, self.indices, self.shape))


def div(self: Any, other: Any) -> Coordinates:
    """The quotient by a number."""
    if not isinstance(self, Coordinates) or _is_sparse(other) or np.ndim(other):
        shape = list(getattr(other, "shape", ()))
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)"
        )
    return self.with_values((self.values / other).astype(self.dtype, copy=False))


def pow_tensor_scalar(self: Coordinates, exponent: Any) -> Coordinates:
    """The power by a number that is not zero."""
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    parts = self.summed()
    return parts.with_values(np.power(parts.values, exponent).astype(self.dtype, copy=False))


def threshold_backward(grad_output: Value, self: Value, threshold: Any) -> Value:
    """The gradient where the argument was above the threshold."""
    if not isinstance(grad_output, Coordinates):
        dense = self.dense() if isinstance(self, Coordinates) else self
        return np.where(dense > threshold, grad_output, 0).astype(grad_output.dtype)
    parts = grad_output.summed()
    above = picked(self, parts.indices, parts.shape) > threshold
    return parts.with_values(np.where(above, parts.values, 0).astype(parts.dtype))


# -- products of matrices


def mm(self: Value, mat2: Value) -> Value:
    """The product of matrices: dense, unless both are sparse."""
    _check_matrices(self, mat2)
    if is_half(self.dtype):
        product = mm(_as(self, FLOAT32), _as(mat2, FLOAT32))
        return _as(product, self.dtype)
    if isinstance(self, Coordinates) and isinstance(mat2, Coordinates):
        return _of_scipy(_scipy(self) @ _scipy(mat2), self.dtype)
    if isinstance(self, Coordinates):
        return np.ascontiguousarray(_scipy(self) @ mat2)
    assert isinstance(mat2, Coordinates)
    return np.ascontiguousarray((_scipy(transposed(mat2, (1, 0))) @ self.T).T)


def _check_matrices(self: Value, mat2: Value) -> None:
    for name, value in (("self", self), ("mat2", mat2)):
        if len(value.shape) != 2:
            raise RuntimeError(f"mm: {name} must be a matrix, but it has {len(value.shape)} dimensions")
        if isinstance(value, Coordinates) and value.dense_dim:
            raise RuntimeError(f"mm: scalar values expected, but {name} has {value.dense_dim} dense dimensions")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {self.shape[1]}, got {mat2.shape[0]}")
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"addmm: expected both matrices to have the same dtype, but got {self.dtype}, {mat2.dtype}")


def _scipy(parts: Coordinates) -> Any:
    from scipy import sparse

    return sparse.coo_array((parts.values, (parts.indices[0], parts.indices[1])), parts.shape).tocsr()


def _of_scipy(product: Any, dtype: np.dtype[Any]) -> Coordinates:
    product.sort_indices()
    columns = product.indices.astype(np.int64)
    rows = np.repeat(np.arange(product.shape[0], dtype=np.int64), np.diff(product.indptr))
    return Coordinates(np.stack([rows, columns]), product.data.astype(dtype, copy=False), product.shape, True)


def _as(value: Value, dtype: np.dtype[Any]) -> Value:
    return value.with_values(value.values.astype(dtype)) if isinstance(value, Coordinates) else value.astype(dtype)


def mv(self: Coordinates, vec: Array) -> Array:
    """The product of a sparse matrix and a vector."""
    if not isinstance(self, Coordinates) or _is_sparse(vec):
        raise RuntimeError("mv: a sparse matrix times a dense vector is what there is")
    if len(self.shape) != 2 or vec.ndim != 1:
        raise RuntimeError(f"mv: two dim matrix and one dim vector expected, got {len(self.shape)} and {vec.ndim}")
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    product = mm(self, vec[:, None])
    assert not isinstance(product, Coordinates)
    return product[:, 0]


def addmm(self: Value, mat1: Value, mat2: Value, beta: Any = 1, alpha: Any = 1) -> Array:
    """`beta self + alpha mat1 mat2`, of a dense array."""
    product = mm(mat1, mat2)
    if isinstance(self, Coordinates) or isinstance(product, Coordinates):
        raise RuntimeError("addmm: what is added to, and the second matrix, have to be dense")
    if alpha != 1:
        product = _scaled(product, alpha)
    if beta == 0:
        return product
    try:
        wide = np.broadcast_to(self, product.shape)
    except ValueError:
        raise RuntimeError(
            f"The expanded size of the tensor ({list(product.shape)}) must match the existing size {list(self.shape)}"
        ) from None
    return product + (wide if beta == 1 else _scaled(wide, beta))


# -- sums


def sum_dims(self: Coordinates, dim: Sequence[int] | None, keepdim: bool = False) -> Value:
    """The sum over some dimensions: sparse, unless no sparse dimension is left."""
    ndim = len(self.shape)
    dims = [*range(ndim)] if not dim else sorted({each % ndim for each in dim})
    over_sparse = [each for each in dims if each < self.sparse_dim]
    over_dense = tuple(each - self.sparse_dim + 1 for each in dims if each >= self.sparse_dim)
    values = self.values.sum(axis=over_dense, dtype=self.dtype, keepdims=keepdim) if over_dense else self.values
    left = [each for each in range(self.sparse_dim) if each not in over_sparse]
    if not left and not keepdim:
        return np.asarray(values.sum(axis=0, dtype=self.dtype))
    shape = tuple([self.shape[each] for each in left])
    indices = self.indices[left]
    if over_sparse and keepdim:
        shape = tuple([1 if each in over_sparse else self.shape[each] for each in range(self.sparse_dim)])
        indices = self.indices.copy()
        indices[over_sparse] = 0
    made = Coordinates(indices, values, (*shape, *values.shape[1:]), self.coalesced and not over_sparse)
    return made.summed()


# -- other orders of dimensions, and other places


def transposed(self: Coordinates, dims: Sequence[int]) -> Coordinates:
    """The dimensions in another order, the sparse ones among themselves."""
    ndim, split = len(self.shape), self.sparse_dim
    dims = [dim % ndim for dim in dims] if ndim else []
    if any((dim < split) != (place < split) for place, dim in enumerate(dims)):
        raise RuntimeError("transpose(): sparse and dense dimensions can not be exchanged")
    values = self.values.transpose([0, *(dim - split + 1 for dim in dims[split:])])
    shape = [self.shape[dim] for dim in dims]
    same = dims[:split] == list(range(split))
    return Coordinates(self.indices[dims[:split]], np.array(values), shape, self.coalesced and same)


def t(self: Coordinates) -> Coordinates:
    """A matrix with rows and columns exchanged."""
    if len(self.shape) > 2 or self.dense_dim:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {self.sparse_dim} sparse, "
            f"{self.dense_dim} dense dimensions"
        )
    return transposed(self, range(len(self.shape))[::-1])


def transpose(self: Coordinates, dim0: int, dim1: int) -> Coordinates:
    """Two dimensions exchanged."""
    ndim = len(self.shape)
    dims = list(range(ndim))
    first, second = (dimension(each, ndim) for each in (dim0, dim1))
    dims[first], dims[second] = dims[second], dims[first]
    return transposed(self, dims)


def permute(self: Coordinates, dims: Sequence[int]) -> Coordinates:
    """The dimensions in another order."""
    ndim = len(self.shape)
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [dimension(each, ndim) for each in dims]
    if len(set(order)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return transposed(self, order)


def dimension(dim: int, ndim: int) -> int:
    """The place of a dimension, which may be counted from the end."""
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim % ndim


def unsqueeze(self: Coordinates, dim: int) -> Coordinates:
    """With one more dimension, of one element."""
    place = dimension(dim, len(self.shape) + 1)
    shape = [*self.shape[:place], 1, *self.shape[place:]]
    if place <= self.sparse_dim:
        indices = np.insert(self.indices, place, 0, axis=0)
        return Coordinates(indices, self.values.copy(), shape)
    values = np.expand_dims(self.values, place - self.sparse_dim + 1).copy()
    return Coordinates(self.indices, values, shape, self.coalesced)


def select(self: Coordinates, dim: int, index: int) -> Value:
    """What lies at one place of a dimension."""
    place = dimension(dim, len(self.shape))
    size = self.shape[place]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    index %= size
    shape = (*self.shape[:place], *self.shape[place + 1 :])
    if place >= self.sparse_dim:
        values = self.values.take(index, place - self.sparse_dim + 1)
        return Coordinates(self.indices, values, shape, self.coalesced)
    there = self.indices[place] == index
    if self.sparse_dim == 1:
        return np.asarray(self.values[there].sum(axis=0, dtype=self.dtype))
    indices = np.delete(self.indices[:, there], place, axis=0)
    return Coordinates(indices, self.values[there], shape, self.coalesced)


def index_select(self: Coordinates, dim: int, index: Array) -> Coordinates:
    """What lies at some places of a dimension."""
    place = dimension(dim, len(self.shape))
    size = self.shape[place]
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    flat = index.reshape(-1)
    if flat.size and not (-size <= flat.min() and flat.max() < size):
        raise IndexError(f"index_select(): index contains a number that is out of range for tensor of size {size}")
    flat = flat % size if size else flat
    shape = (*self.shape[:place], flat.size, *self.shape[place + 1 :])
    if place >= self.sparse_dim:
        values = self.values.take(flat, place - self.sparse_dim + 1)
        return Coordinates(self.indices, values, shape, self.coalesced)
    # For each place that is asked for, the parts that lie there.
    order = np.argsort(self.indices[place], kind="stable")
    known = self.indices[place][order]
    starts, ends = np.searchsorted(known, flat), np.searchsorted(known, flat, "right")
    counts = ends - starts
    where = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
    taken = order[where.astype(np.int64)]
    indices = self.indices[:, taken]
    indices[place] = np.repeat(np.arange(flat.size), counts)
    made = Coordinates(indices, self.values[taken], shape, False)
    return made.summed() if self.coalesced else made


def cat(tensors: Sequence[Value], dim: int = 0) -> Coordinates:
    """Sparse arrays one behind the other."""
    if not all(map(_is_sparse, tensors)):
        raise RuntimeError("cat: sparse and dense Tensors can not be put together")
    parts: list[Any] = list(tensors)
    first = parts[0]
    place = dimension(dim, len(first.shape))
    for each in parts:
        others = [list(part.shape) for part in (first, each)]
        for shape in others:
            del shape[place]
        if others[0] != others[1] or each.sparse_dim != first.sparse_dim:
            raise RuntimeError(
                "Sizes of tensors must match except in dimension "
                f"{place}: {list(first.shape)} and {list(each.shape)}, which have {first.sparse_dim} and "
                f"{each.sparse_dim} sparse dimensions"
            )
    lengths = [each.shape[place] for each in parts]
    whole = (*first.shape[:place], sum(lengths), *first.shape[place + 1 :])
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    moved, values = [], []
    for each, offset in zip(parts, offsets, strict=True):
        indices, own = each.indices, each.values
        if place < first.sparse_dim:
            indices = indices.copy()
            indices[place] += offset
        else:
            wide = np.zeros((each.count, *whole[first.sparse_dim :]), each.dtype)
            at: list[Any] = [slice(None)] * wide.ndim
            at[place - first.sparse_dim + 1] = slice(offset, offset + each.shape[place])
            wide[tuple(at)] = own
            own = wide
        moved.append(indices)
        values.append(own)
    return Coordinates(np.concatenate(moved, axis=1), np.concatenate(values), whole)


def stack(tensors: Sequence[Value], dim: int = 0) -> Coordinates:
    """Sparse arrays along a dimension that is new."""
    if not all(map(_is_sparse, tensors)):
        raise RuntimeError("stack: sparse and dense Tensors can not be put together")
    return cat([unsqueeze(each, dim) for each in tensors if isinstance(each, Coordinates)], dim)


def unbind(self: Coordinates, dim: int = 0) -> list[Value]:
    """What lies at each place of a dimension."""
    return [select(self, dim, index) for index in range(self.shape[dimension(dim, len(self.shape))])]


def squeeze(self: Coordinates, dim: int) -> Coordinates:
    """Without a dimension of one element."""
    place = dimension(dim, len(self.shape))
    if self.shape[place] != 1:
        return self
    shape = [*self.shape[:place], *self.shape[place + 1 :]]
    if place < self.sparse_dim:
        return Coordinates(np.delete(self.indices, place, axis=0), self.values, shape, self.coalesced)
    return Coordinates(self.indices, self.values.squeeze(place - self.sparse_dim + 1), shape, self.coalesced)


def bmm(self: Value, mat2: Value) -> Array:
    """The products of the matrices of a sparse batch with those of a dense one."""
    if not isinstance(self, Coordinates) or isinstance(mat2, Coordinates):
        raise RuntimeError("bmm: a sparse batch times a dense one is what there is")
    if len(self.shape) != 3 or mat2.ndim != 3 or self.dense_dim:
        raise RuntimeError("bmm: batches of matrices are expected, without dense dimensions of the sparse one")
    if self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"bmm: the sizes of the batches do not fit together: {list(self.shape)} and {list(mat2.shape)}"
        )
    products: list[Any] = [mm(select(self, 0, number), each) for number, each in enumerate(mat2)]
    return np.stack(products) if products else np.zeros((0, self.shape[1], mat2.shape[2]), self.dtype)


# -- copies


def clone(self: Coordinates, memory_format: Any = None) -> Coordinates:
    """The same in other memory."""
    if memory_format is not None and str(memory_format).rpartition(".")[2] != "preserve_format":
        raise RuntimeError("unsupported memory format option Contiguous")
    return self.copy()


def copy(self: Value, src: Value, non_blocking: bool = False) -> Coordinates:
    """What is written over `self`."""
    if not isinstance(self, Coordinates) or not isinstance(src, Coordinates):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented!")
    return src.copy()


def to_copy(self: Value, dtype: np.dtype[Any] | None, *rest: Any) -> Coordinates:
    """Another element type."""
    if not isinstance(self, Coordinates):
        raise NotImplementedError("a dense Tensor becomes a sparse one by to_sparse()")
    values = self.values if dtype is None else self.values.real if _drops_imaginary(self.dtype, dtype) else self.values
    return Coordinates(self.indices.copy(), values.astype(dtype or self.dtype), self.shape, self.coalesced)


def _drops_imaginary(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    return source.kind == "c" and target.kind != "c"


def zero(self: Coordinates) -> Coordinates:
    """Without parts."""
    return empty(self.shape, self.dtype, self.sparse_dim)


def zeros_like(self: Value, dtype: np.dtype[Any] | None = None, *rest: Any) -> Coordinates:
    """Without parts."""
    sparse_dim = self.sparse_dim if isinstance(self, Coordinates) else self.ndim
    return empty(self.shape, dtype or self.dtype, sparse_dim)


def zeros(size: Sequence[int], dtype: np.dtype[Any], *rest: Any) -> Coordinates:
    """Without parts."""
    return empty(size, dtype, len(size))


def any_element(self: Coordinates) -> Any:
    """Whether there is an element that is not zero."""
    return np.asarray(self.summed().values.any())


def conj(self: Coordinates) -> Coordinates:
    """The complex conjugates."""
    return self.with_values(np.conj(self.values))


KERNELS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("add.Tensor", "add.Scalar"), add),
    **dict.fromkeys(("sub.Tensor", "sub.Scalar"), sub),
    **dict.fromkeys(("rsub.Tensor", "rsub.Scalar"), rsub),
    **dict.fromkeys(("mul.Tensor", "mul.Scalar"), mul),
    **dict.fromkeys(("div.Tensor", "div.Scalar"), div),
    "pow.Tensor_Scalar": pow_tensor_scalar,
    "threshold_backward": threshold_backward,
    "mm": mm,
    "mv": mv,
    "addmm": addmm,
    "sum.dim_IntList": lambda self, dim, keepdim, dtype: sum_dims(to_copy(self, dtype), dim, keepdim),
    "t": t,
    "transpose.int": transpose,
    "permute": permute,
    "unsqueeze": unsqueeze,
    "select.int": select,
    "index_select": index_select,
    "cat": cat,
    "stack": stack,
    "unbind.int": unbind,
    "squeeze.dim": squeeze,
    "bmm": bmm,
    "clone": clone,
    "copy": copy,
    "_to_copy": to_copy,
    "zero": zero,
    **dict.fromkeys(("zeros", "empty.memory_format"), zeros),
    "zeros_like": zeros_like,
    "empty_like": zeros_like,
    "any": any_element,
    "conj": conj,
}

# The kernel for main memory, called on the parts: of coalesced arrays, and of any.
# fmt: off
ON_SUMS = (
    "abs", "angle", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "floor", "frac",
    "imag", "isinf", "isnan", "isneginf", "isposinf", "log1p", "nan_to_num", "norm.Scalar", "rad2deg", "real", "relu",
    "round", "round.decimals", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
)
# fmt: on
ON_PARTS = ("neg", "conj_physical", "_conj_physical", "positive", "sum")
