"""Functions whose calls a schema can not say: PyTorch writes them in Python too, over operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import DType, Scalar, Size, named_result
from runtime.operators import sparse


def _unpacked(tensors: tuple[Any, ...]) -> Sequence[Tensor]:
    """The tensors of `f(a, b)` or `f([a, b])`."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def _assert(condition: Any, message: str) -> None:
    """An `assert` statement as a function, so that a trace can record it."""
    assert condition, message


def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention; see `numpy.einsum` for the notation.

    `einsum("ij,jk->ik", a, b)`, or with labels from 0 to 51 beside each operand `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    Raises:
        ValueError: there is no operand, or a label is none of these.
    """
    if not args or (len(args) < 2 and isinstance(args[0], str)):
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
    if not isinstance(args[0], Tensor):
        return ops.einsum(args[0], list(_unpacked(args[1:])))
    *operands, output = args if len(args) % 2 else (*args, None)
    equation = ",".join(_letters(labels) for labels in operands[1::2])
    if output is not None:
        equation += f"->{_letters(output)}"
    return ops.einsum(equation, operands[::2])


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _letters(labels: Any) -> str:
    """Labels as letters; capitals come first, so that the order is that of the numbers."""
    if not isinstance(labels, Sequence):
        raise RuntimeError(f"einsum(): a list of subscripts stands after each operand, not {type(labels).__name__}")
    letters = []
    for label in labels:
        if label is Ellipsis:
            letters.append("...")
        elif isinstance(label, int) and 0 <= label < len(_LETTERS):
            letters.append(_LETTERS[label])
        else:
            raise ValueError(
                f"einsum(): subscript in subscript list is not within the valid range [0, {len(_LETTERS)})"
            )
    return "".join(letters)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The LU factors of `linalg.lu_factor_ex` and its pivots, with what it says of zero pivots if asked for."""
    LU, pivots, info = ops._lu_with_info(A, pivot, not get_infos)
    results = (LU, pivots, info) if get_infos else (LU, pivots)
    if out is None:
        return results
    for target, result in zip(out, results, strict=True):
        target.resize_(result.shape).copy_(result)
    return out


def atleast_1d(*tensors: Any) -> Any:
    """The Tensor, or a tuple of all Tensors, with one dimension where there is none."""
    return _each_or_all(ops.atleast_1d, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """The Tensor, or a tuple of all Tensors, with new dimensions in front where there are fewer than two."""
    return _each_or_all(ops.atleast_2d, tensors)


def atleast_3d(*tensors: Any) -> Any:
    """The Tensor, or a tuple of all Tensors, with new dimensions where there are fewer than three."""
    return _each_or_all(ops.atleast_3d, tensors)


def _each_or_all(operator: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
    return operator(tensors[0] if len(tensors) == 1 else list(tensors))


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinates of the grid that 0- or 1-dim `tensors` span; `indexing` is "ij" or "xy"."""
    return ops.meshgrid(list(_unpacked(tensors)), indexing=indexing)


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that Tensors of these shapes have in common; an int is a shape of one dimension.

    Raises:
        RuntimeError: there is none, or something is no shape.
        ValueError: a size is negative.
    """
    for shape in shapes:
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(f"broadcast_shapes: a shape is an int, a tuple or a list of ints, got {shape!r}")
    sizes = [(shape,) if isinstance(shape, int) else tuple(Size(shape)) for shape in shapes]
    if any(size < 0 for shape in sizes for size in shape):
        raise ValueError(f"broadcast_shapes: a size is negative in {sizes}")
    try:
        return Size(np.broadcast_shapes(*sizes))
    except ValueError:
        raise RuntimeError(
            f"Shape mismatch: objects cannot be broadcast to a single shape, but got {', '.join(map(str, sizes))}"
        ) from None


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to the shape that they have in common."""
    return ops.broadcast_tensors(list(_unpacked(tensors)))


def detach(input: Tensor) -> Tensor:
    """The Tensor without history, over the same memory."""
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """The Tensor itself, which forgets its history."""
    return input.detach_()


def get_device(input: Tensor) -> int:
    """The number of the Tensor's device; -1 for the CPU."""
    return input.get_device()


def is_signed(input: Tensor) -> bool:
    """Whether elements may be negative."""
    return input.is_signed()


def is_conj(input: Tensor) -> bool:
    """Whether elements are to be conjugated when they are read: `conj` gives elements that are."""
    return False


def is_neg(input: Tensor) -> bool:
    """Whether elements are to be negated when they are read: no operator leaves that to the reader."""
    return False


def spmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices: that of dense ones, since there are no others."""
    return ops.mm(input, mat2) if out is None else ops.mm(input, mat2, out=out)


dsmm = spmm


def is_distributed(input: Tensor) -> bool:
    """Whether the Tensor is a part of one that lies on many machines: never."""
    return False


def dequantize(tensor: Tensor) -> Tensor:
    """The numbers that are stood for, in float32: the elements themselves."""
    return tensor.dequantize()


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """For places in flat memory of a tensor of `shape` the index along each dimension.

    Raises:
        TypeError: the indices, or the lengths, are no integers.
        ValueError: a length is negative.
    """
    if indices.is_floating_point() or indices.is_complex() or indices.dtype is dtypes.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    lengths = [shape] if isinstance(shape, int) else list(shape)
    for length in lengths:
        if not isinstance(length, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(length)}")
        if length < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {tuple(lengths)}")
    places = []
    for length in reversed(lengths):
        places.append(indices.remainder(length))
        indices = indices.div(length, rounding_mode="floor")
    return tuple(reversed(places))


def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many of the points, which are rows of `input`, lie in each box of a grid: `hist`, and `bin_edges`.

    Args:
        input: of the shape (*, dimensions).
        bins: how many parts each dimension has, a number for all of them, or a vector of edges for each.
        range: the lowest and highest coordinate of each dimension; those of the points unless it is given.
        weight: what each point counts, 1 unless it is given.
        density: whether the integral of the result is 1.
    """
    if isinstance(bins, int):
        bins = [bins] * int(input.shape[-1] if input.dim() else 0)
    if all(isinstance(count, int) for count in bins):
        edges = ops._histogramdd_bin_edges(input, bins, range=range, weight=weight, density=density)
        counted = ops._histogramdd_from_bin_cts(input, bins, range=range, weight=weight, density=density)
    else:
        edges = bins
        counted = ops._histogramdd_from_bin_tensors(input, bins, weight=weight, density=density)
    return named_result("histogramdd", ("hist", "bin_edges"))((counted, tuple(edges)))


def _segment_reduce(data: Tensor, reduce: str, **options: Any) -> Tensor:
    """The name under which PyTorch shows `segment_reduce`."""
    return ops.segment_reduce(data, reduce, **options)


def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones along its diagonal; vectors are rows."""
    return ops.block_diag(list(_unpacked(tensors)))


def cartesian_prod(*tensors: Any) -> Tensor:
    """All choices of an element of each vector, in rows."""
    return ops.cartesian_prod(list(_unpacked(tensors)))


_COMPUTE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2,
}  # fmt: skip


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distances of each vector of `x1` and each of `x2`; `compute_mode` says whether by products of matrices.

    Raises:
        ValueError: there is no such mode.
    """
    if compute_mode not in _COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return ops.cdist(x1, x2, p, _COMPUTE_MODES[compute_mode])


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over several dims of both.

    Args:
        a, b: tensors of one dtype.
        dims: how many (the last of `a` with the first of `b`), or two lists of them.

    Raises:
        RuntimeError: a negative number of dims.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        left, right = ([part] if isinstance(part, int) else list(part) for part in dims)
    return ops.tensordot(a, b, left, right)


def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Where `input` is not zero: int64 of shape (count, ndim), or one index tensor for each dim."""
    if not as_tuple:
        return ops.nonzero(input) if out is None else ops.nonzero(input, out=out)
    places = ops.nonzero(input if input.dim() else input.unsqueeze(0))
    return tuple(places.unbind(1))


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements of `input`, or its slices along `dim`, each once and in their order.

    With `return_inverse` also where each of the input is among them, with `return_counts` how often each occurs: a
    tuple of what is asked for.  A NaN is equal to nothing.

    Raises:
        NotImplementedError: the numbers are complex.
    """
    if dim is None:
        found = ops._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = ops.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _asked(found, return_inverse, return_counts)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements of `input`, or its slices along `dim`, without those that are equal to the one before."""
    return _asked(ops.unique_consecutive(input, return_inverse, return_counts, dim), return_inverse, return_counts)


def _asked(found: Sequence[Tensor], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    asked = (values, *((inverse,) if return_inverse else ()), *((counts,) if return_counts else ()))
    return asked if len(asked) > 1 else values


def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """The p-norm over `dim` (None: of all elements); "fro" is the 2-norm, "nuc" the nuclear norm of matrices.

    Raises:
        RuntimeError: `p` is another name, or one of a matrix norm and `dim` does not name two dims.
    """
    if input.is_sparse and out is None:
        return sparse.methods.norm(input, p, dim, keepdim, dtype)
    order: Scalar = 2.0 if p is None or isinstance(p, str) else p
    dims = [dim] if isinstance(dim, int) else dim
    if isinstance(p, str) and (p != "fro" or (dims is not None and len(dims) > 2)):
        if out is None:
            return ops.linalg_norm(input, p, dims, keepdim, dtype=dtype)
        return ops.linalg_norm(input, p, dims, keepdim, dtype=dtype, out=out)
    if out is None:
        return ops.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype)
    return ops.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Spectra of a signal in short times: frames of `n_fft` samples are multiplied by a window and transformed.

    Args:
        input: real or complex, of the shape (time) or (batch, time).
        n_fft: the length of a frame.
        hop_length: the distance between frames, a quarter of their length unless it is given.
        win_length: of the window, which stands in the middle of a frame; as long as the frame unless it is given.
        window: of this length, ones unless it is given.
        center: whether the middle of the first frame is the first sample, by padding of half a frame at both ends.
        pad_mode: as in `nn.functional.pad`.
        normalized: whether to divide by the square root of `n_fft`.
        onesided: whether only frequencies that are not negative are kept, as real input and window allow it.
        return_complex: whether the result is complex; if not, real and imaginary parts are its last dimension.
        align_to_window: without `center`, whether the window of the first frame begins with the first sample.

    Returns:
        (frequencies, frames), after the batch.

    Raises:
        RuntimeError: the arguments do not fit each other.
    """
    return ops.stft.center(  # type: ignore[attr-defined, no-any-return]
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex,
        align_to_window,
    )  # fmt: skip
