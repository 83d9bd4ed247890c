"""Discrete Fourier transforms along one dimension or several, made of those of the kernels.

A forward transform sums with exp(-2 pi i j k / n), an inverse one with the other sign.  `norm` says which of the two is
divided by the number of elements that are summed: "backward" (or None) the inverse one, "forward" the forward one,
"ortho" both by its square root.  Transforms of real numbers are conjugates of themselves reversed, so half of one is
enough: `rfft` gives it, `irfft` takes it, and `hfft` and `ihfft` do the same with time and frequency exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import normalize_dim
from runtime.base.tensor import Tensor

_BACKWARD, _ORTHO, _FORWARD = "backward", "ortho", "forward"


# -- arguments


def _factor(norm: str | None, forward: bool) -> int:
    """What a transform is multiplied by, as the kernels count it."""
    if norm == _ORTHO:
        return 1
    if norm in (None, _BACKWARD):
        return 0 if forward else 2
    if norm == _FORWARD:
        return 2 if forward else 0
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _floating(self: Tensor) -> Tensor:
    """Integers as numbers of the default dtype."""
    if self.is_floating_point() or self.is_complex():
        return self
    return self.to(dtypes.get_default_dtype())


def _complex(self: Tensor) -> Tensor:
    x = _floating(self)
    return x if x.is_complex() else x.to(dtypes.complex64 if x.dtype is dtypes.float32 else dtypes.complex128)


def _dimension(self: Tensor, dim: int) -> int:
    """`dim` counted from the front."""
    if self.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normalize_dim(dim, self.dim())


def _check_length(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _resized(self: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """Cut off at the end of dimensions, or made longer there with zeros."""
    pads = [0, 0] * self.dim()
    longer = False
    for dim, size in zip(dims, sizes, strict=True):
        more = size - self.shape[dim]
        if more < 0:
            self = self.narrow(dim, 0, size)
        elif more > 0:
            pads[2 * (self.dim() - 1 - dim) + 1] = more
            longer = True
    return ops.constant_pad_nd(self, pads) if longer else self


def _dims_and_sizes(self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None) -> tuple[list[int], list[int]]:
    """The dimensions of a transform of several, and how many elements of each are transformed.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: one is named twice, or the sizes do not fit.
    """
    ndim = self.dim()
    if dim is not None:
        dims = [_dimension(self, place) for place in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        dims = list(range(ndim - len(s), ndim))
    else:
        dims = list(range(ndim))
    asked = [-1] * len(dims) if s is None else s
    return dims, [self.shape[place] if size == -1 else size for place, size in zip(dims, asked, strict=True)]


def _check_some(name: str, dims: Sequence[int]) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


# -- one dimension


def _along(self: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    """The transform of real or complex numbers; of real ones the second half is made of the first."""
    x = _floating(self)
    place = _dimension(x, dim)
    size = x.shape[place] if n is None else n
    _check_length(size)
    x, factor = _resized(x, [place], [size]), _factor(norm, forward)
    if x.is_complex():
        return ops._fft_c2c(x, [place], factor, forward)
    result = ops._fft_r2c(x, [place], factor, False)
    return result if forward else result.conj()


def _from_real(self: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    """One side of the transform of real numbers."""
    x = _floating(self)
    place = _dimension(x, dim)
    size = x.shape[place] if n is None else n
    _check_length(size)
    result = ops._fft_r2c(_resized(x, [place], [size]), [place], _factor(norm, forward), True)
    return result if forward else result.conj()


def _to_real(self: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    """The transform, real, of what one side is given of."""
    x = _complex(self)
    place = _dimension(x, dim)
    size = 2 * (x.shape[place] - 1) if n is None else n
    _check_length(size)
    x = _resized(x, [place], [size // 2 + 1])
    return ops._fft_c2r(x.conj() if forward else x, [place], _factor(norm, forward), size)


def fft_fft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform along `dim`, complex, of `n` elements: the input is cut off there, or followed by zeros."""
    return _along(self, n, dim, norm, True)


def fft_ifft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _along(self, n, dim, norm, False)


def fft_rfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first `n // 2 + 1` elements of the Fourier transform of real numbers."""
    return _from_real(self, n, dim, norm, True)


def fft_irfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: `n` real numbers, as many as twice the elements less 2 unless it says so."""
    return _to_real(self, n, dim, norm, False)


def fft_hfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform, which is real, of a signal of which one side is given: its other side is the conjugate."""
    return _to_real(self, n, dim, norm, True)


def fft_ihfft(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`."""
    return _from_real(self, n, dim, norm, False)


# -- several dimensions


def _along_all(
    self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None, forward: bool
) -> Tensor:
    dims, sizes = _dims_and_sizes(self, s, dim)
    for size in sizes:
        _check_length(size)
    return ops._fft_c2c(_resized(_complex(self), dims, sizes), dims, _factor(norm, forward), forward)


def fft_fftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The Fourier transform along the dimensions `dim`, of `s` elements of each."""
    return _along_all(self, s, dim, norm, True)


def fft_ifftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `fftn`."""
    return _along_all(self, s, dim, norm, False)


def fft_rfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The Fourier transform of real numbers along several dimensions, one side of it in the last of them."""
    dims, sizes = _dims_and_sizes(self, s, dim)
    _check_some("rfftn", dims)
    for size in sizes:
        _check_length(size)
    return ops._fft_r2c(_resized(_floating(self), dims, sizes), dims, _factor(norm, True), True)


def _one_side(
    self: Tensor, name: str, s: Sequence[int] | None, dim: Sequence[int] | None
) -> tuple[Tensor, list[int], int]:
    """One side of a transform, cut off or made longer; the dimensions; how many elements the last of them becomes."""
    dims, sizes = _dims_and_sizes(self, s, dim)
    _check_some(name, dims)
    if s is None or s[-1] == -1:
        sizes[-1] = 2 * (sizes[-1] - 1)
    for size in sizes:
        _check_length(size)
    return _resized(_complex(self), dims, [*sizes[:-1], sizes[-1] // 2 + 1]), dims, sizes[-1]


def fft_irfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `rfftn`."""
    x, dims, size = _one_side(self, "irfftn", s, dim)
    return ops._fft_c2r(x, dims, _factor(norm, False), size)


def fft_hfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The Fourier transform, which is real, of a signal of which the last dimension has one side only."""
    x, dims, size = _one_side(self, "hfftn", s, dim)
    factor = _factor(norm, True)
    if len(dims) > 1:
        x = ops._fft_c2c(x, dims[:-1], factor, True)
    return ops._fft_c2r(x.conj(), dims[-1:], factor, size)


def fft_ihfftn(
    self: Tensor, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `hfftn`."""
    dims, sizes = _dims_and_sizes(self, s, dim)
    _check_some("ihfftn", dims)
    for size in sizes:
        _check_length(size)
    factor = _factor(norm, False)
    result = ops._fft_r2c(_resized(_floating(self), dims, sizes), dims[-1:], factor, True).conj()
    return ops._fft_c2c(result, dims[:-1], factor, False) if len(dims) > 1 else result


# -- the order of frequencies


def _shifted(self: Tensor, dim: Sequence[int] | None, up: int) -> Tensor:
    """Rolled by half of each dimension, rounded up if `up` is 1."""
    dims = list(range(self.dim())) if dim is None else [_dimension(self, place) for place in dim]
    if not dims:
        raise RuntimeError("a shift of frequencies needs a dimension to shift along")
    return self.roll([(self.shape[place] + up) // 2 for place in dims], dims)


def fft_fftshift(self: Tensor, dim: Sequence[int] | None = None) -> Tensor:
    """The elements of a transform in the order of their frequencies, negative ones first."""
    return _shifted(self, dim, 0)


def fft_ifftshift(self: Tensor, dim: Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted(self, dim, 1)
