"""Views and rearrangements made of others."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import normalize_dim, normalize_dims
from runtime.base.tensor import Tensor
from runtime.base.types import MemoryFormat, contiguous_format, lies_in, preserve_format
from runtime.operators.kernels.shape import broadcast_sizes, inferred_size


def detach(self: Tensor) -> Tensor:
    """The method as an operator, which classes and modes see that stand for kernels."""
    return Tensor.detach(self)


# -- sizes


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """A view where the strides allow it, else a copy."""
    array = self._array
    if not array.flags.c_contiguous and array.size:
        sizes = inferred_size(shape, array.size)
        try:
            array.reshape(sizes, copy=False)
        except ValueError:
            return ops._reshape_copy(self, sizes)
    return ops.view.default(self, shape)  # type: ignore[attr-defined, no-any-return]


def contiguous(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """The Tensor, or a copy whose elements lie in this order in memory."""
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if memory_format is None or memory_format is contiguous_format:
        return self if self._array.flags.c_contiguous else ops._reshape_copy(self, self.shape)
    return self if lies_in(self, memory_format) else self.clone(memory_format=memory_format)


def broadcast_tensors(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """All Tensors expanded to the sizes they have in common."""
    sizes: list[int] = []
    for tensor in tensors:
        sizes = broadcast_sizes(sizes, tensor.shape)
    return [tensor if list(tensor.shape) == sizes else tensor.expand(sizes) for tensor in tensors]


def flatten_using_ints(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""
    start, end = normalize_dim(start_dim, self.dim()), normalize_dim(end_dim, self.dim())
    if self.dim() == 0:
        return self.reshape([1])
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return self
    sizes = list(self.shape)
    length = 1
    for size in sizes[start : end + 1]:
        length *= size
    return self.reshape([*sizes[:start], length, *sizes[end + 1 :]])


def unflatten_int(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension as several of these sizes."""
    place = normalize_dim(dim, self.dim())
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    length = self.shape[place] if self.dim() else 1
    try:
        parts = inferred_size(sizes, length)
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {place} ({length}) in the "
            "input tensor"
        ) from None
    return self.view([*self.shape[:place], *parts, *self.shape[place + 1 :]])


def ravel(self: Tensor) -> Tensor:
    """All elements in one dimension."""
    return self.contiguous().view([-1] if self.numel() else [0])


def atleast_1d(self: Tensor) -> Tensor:
    """The Tensor with at least one dimension."""
    return self.reshape([1]) if self.dim() == 0 else self


def atleast_2d(self: Tensor) -> Tensor:
    """The Tensor with at least two dimensions."""
    if self.dim() == 0:
        return self.reshape([1, 1])
    return self.unsqueeze(0) if self.dim() == 1 else self


def atleast_3d(self: Tensor) -> Tensor:
    """The Tensor with at least three dimensions."""
    if self.dim() == 0:
        return self.reshape([1, 1, 1])
    if self.dim() == 1:
        return self.unsqueeze(0).unsqueeze(-1)
    return self.unsqueeze(-1) if self.dim() == 2 else self


def atleast_1d_sequence(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    return [atleast_1d(tensor) for tensor in tensors]


def atleast_2d_sequence(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    return [atleast_2d(tensor) for tensor in tensors]


def atleast_3d_sequence(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    return [atleast_3d(tensor) for tensor in tensors]


# -- the order of dimensions


def movedim_intlist(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    """A view with dimensions at other places."""
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same "
            f"number of dims as destination ({list(destination)} dims)"
        )
    ndim = self.dim()
    moved = dict(zip(normalize_dims(destination, ndim), normalize_dims(source, ndim), strict=True))
    if ndim == 0:
        return self.alias()
    rest = iter(dim for dim in range(ndim) if dim not in moved.values())
    return self.permute([moved[dim] if dim in moved else next(rest) for dim in range(ndim)])


def movedim_int(self: Tensor, source: int, destination: int) -> Tensor:
    """A view with a dimension at another place."""
    return self.movedim([source], [destination])


def adjoint(self: Tensor) -> Tensor:
    """The conjugate of the matrix with its last two dimensions exchanged."""
    if self.dim() == 1:
        raise RuntimeError("adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    swapped = self.transpose(-2, -1) if self.dim() else self.alias()
    return swapped.conj() if self.is_complex() else swapped


def flipud(self: Tensor) -> Tensor:
    """The Tensor with its first dimension reversed."""
    if self.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip([0])


def fliplr(self: Tensor) -> Tensor:
    """The Tensor with its second dimension reversed."""
    if self.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip([1])


def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """The Tensor turned by 90 degrees, `k` times, in the plane of two dimensions."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.dim()}")
    first, second = (normalize_dim(dim, self.dim()) for dim in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    if not -(2**63) <= k < 2**63:
        raise ValueError("Overflow when unpacking long long")
    turns = k % 4
    if turns == 0:
        return self.clone()
    if turns == 1:
        return self.flip([second]).transpose(first, second)
    if turns == 2:
        return self.flip([first, second])
    return self.flip([first]).transpose(first, second)


# -- parts


def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A view of `length` elements along a dimension, from `start` on."""
    if self.dim() == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    place = normalize_dim(dim, self.dim())
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = self.shape[place]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    first = start + size if start < 0 else start
    if first + length > size:
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return ops.slice(self, place, first, first + length, 1)


def chunk(self: Tensor, chunks: int, dim: int = 0) -> Sequence[Tensor]:
    """Views of at most so many parts of equal size along a dimension, of which the last may be smaller."""
    if self.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = self.shape[normalize_dim(dim, self.dim())]
    length = -(-size // chunks)
    if length == 0:  # nothing to divide: as many empty parts as were asked for
        return self.split_with_sizes([0] * chunks, dim)
    return self.split(length, dim)


def split_copy_Tensor(self: Tensor, split_size: int, dim: int = 0) -> Sequence[Tensor]:
    """The parts of `split` in memory of their own."""
    return _copies(self.split(split_size, dim))


def split_with_sizes_copy(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Sequence[Tensor]:
    """The parts of `split_with_sizes` in memory of their own."""
    return _copies(self.split_with_sizes(split_sizes, dim))


def unbind_copy_int(self: Tensor, dim: int = 0) -> Sequence[Tensor]:
    """The slices of `unbind` in memory of their own."""
    return _copies(self.unbind(dim))


def _copies(views: Sequence[Tensor]) -> Sequence[Tensor]:
    return [view.clone(memory_format=contiguous_format) for view in views]


def tensor_split_sections(self: Tensor, sections: int, dim: int = 0) -> Sequence[Tensor]:
    """Views of so many parts along a dimension, whose sizes differ by at most one."""
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    place = normalize_dim(dim, self.dim())
    least, longer = divmod(self.shape[place], sections)
    starts = [section * least + min(section, longer) for section in range(1, sections)]
    return self.tensor_split(starts, place)


def tensor_split_indices(self: Tensor, indices: Sequence[int], dim: int = 0) -> Sequence[Tensor]:
    """Views of parts along a dimension, which begin at these indices."""
    if self.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    place = normalize_dim(dim, self.dim())
    parts, start = [], 0
    for end in (*indices, self.shape[place]):
        parts.append(ops.slice(self, place, start, end))
        start = end
    return parts


def tensor_split_tensor_indices_or_sections(
    self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0
) -> Sequence[Tensor]:
    places = tensor_indices_or_sections
    if places.dtype is not dtypes.int64:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to have dtype of long, "
            f"but got {places.dtype.scalar_name}"
        )
    if places.dim() == 0:
        return self.tensor_split(int(places), dim)
    if places.dim() == 1:
        return self.tensor_split(places.tolist(), dim)
    raise RuntimeError(
        "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
        f"but got a tensor with {places.dim()} dims"
    )


# -- joins


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The Tensors one behind the other along the second dimension, or along the only one."""
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    rows = [ops.atleast_1d(tensor) for tensor in tensors]
    return ops.cat(rows, 0 if rows[0].dim() == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """The Tensors one behind the other along the first dimension; vectors are rows."""
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return ops.cat([ops.atleast_2d(tensor) for tensor in tensors], 0)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The Tensors one behind the other along the third dimension."""
    if not tensors:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return ops.cat([ops.atleast_3d(tensor) for tensor in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The Tensors one behind the other along the second dimension; vectors are columns."""
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return ops.cat([x.reshape([x.numel(), 1]) if x.dim() <= 1 else x for x in tensors], 1)


def meshgrid(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The coordinates of all points of a grid, a Tensor for each dimension."""
    return _grid(tensors, False)


def meshgrid_indexing(tensors: Sequence[Tensor], *, indexing: str) -> Sequence[Tensor]:
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    return _grid(tensors, indexing == "xy")


def _grid(tensors: Sequence[Tensor], swap: bool) -> Sequence[Tensor]:
    """`swap` makes the first Tensor run along the second dim and the second along the first."""
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for tensor in tensors:
        if tensor.dim() > 1:
            raise RuntimeError(
                f"meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor.dim()}D of size "
                f"{list(tensor.shape)}"
            )
    swap = swap and len(tensors) > 1
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    sizes = [tensor.numel() for tensor in ordered]
    grids = [
        tensor.reshape([-1 if dim == place else 1 for dim in range(len(ordered))]).expand(sizes)
        for place, tensor in enumerate(ordered)
    ]
    return [grids[1], grids[0], *grids[2:]] if swap else grids


# -- repetition


def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    """The Tensor repeated along its dimensions."""
    return self.repeat([1] * (self.dim() - len(dims)) + list(dims))


def repeat_interleave_self_Tensor(
    self: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each slice along `dim` as often as its number in `repeats` says; without `dim`, each element."""
    source = self.flatten() if dim is None else self
    place = 0 if dim is None else dim
    length = source.size(place)
    if repeats.dim() == 0 or (repeats.dim() == 1 and repeats.numel() == 1):
        repeats = repeats.reshape([1]).expand([length])
    elif repeats.dim() == 1 and repeats.numel() != length:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.numel()} and "
            f"input.size({place}) = {length}"
        )
    return source.index_select(place, ops.repeat_interleave(repeats, output_size=output_size))


def repeat_interleave_self_int(
    self: Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element so many times in a row."""
    source = self.flatten() if dim is None else self
    place = 0 if dim is None else normalize_dim(dim, self.dim())
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    length = source.shape[place] * repeats
    if output_size is not None and output_size != length:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {length} but got {output_size}")
    wide = source.unsqueeze(place + 1)
    sizes = list(wide.shape)
    sizes[place + 1] = repeats
    return ops._reshape_copy(wide.expand(sizes), [*source.shape[:place], length, *source.shape[place + 1 :]])


def matrix_H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor. For batches of "
            "matrices, consider using tensor.mH"
        )
    transposed = self.transpose(0, -1)
    return transposed.conj() if self.is_complex() else transposed


def numpy_T(self: Tensor) -> Tensor:
    """A view with the dimensions in reverse order."""
    return self.permute(list(range(self.dim() - 1, -1, -1)))


def narrow_Tensor(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    if start.dim() or start.is_floating_point() or start.is_complex() or start.dtype is dtypes.bool:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return self.narrow(dim, int(start), length)
