"""Windows for spectra: vectors of `M` numbers that rise to 1 and fall again.

With `sym` they are symmetric; without it periodic, as symmetric ones of `M + 1` numbers without the last. Sources:
F. J. Harris, On the use of windows for harmonic analysis with the discrete Fourier transform, 1978; A. H. Nuttall, Some
windows with very good sidelobe behavior, 1981; J. F. Kaiser and R. W. Schafer, On the use of the I0-sinh window for
spectrum analysis, 1980.

All take `dtype`, float32 or float64 (None: the default dtype), `layout`, which is `strided`, `device` and
`requires_grad`, and raise ValueError for a negative `M`, other dtypes and other layouts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

from runtime import ops
from runtime.base import dtypes
from runtime.base.leaves import leaf
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType, Layout, strided

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(
    name: str,
    shape: Callable[[Tensor, int], Tensor],
    M: int,
    sym: bool,
    dtype: DType | None,
    layout: Layout,
    device: Device | str | None,
    requires_grad: bool,
) -> Tensor:
    """`shape` of the places 0, 1 ... and of the length of the symmetric window.

    It is computed in float64, and rounded once.
    """
    wanted = dtypes.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if wanted not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {wanted}")
    if M < 2:
        result = ops.ones([M], dtype=wanted, device=device)
    else:
        places = ops.arange(M, dtype=dtypes.float64, device=device)
        result = shape(places, M if sym else M + 1).to(wanted)
    return leaf(result, requires_grad)


def _middle(places: Tensor, length: int) -> Tensor:
    """Places counted from the middle, which is 0, to 1 at both ends."""
    return places * (2 / (length - 1)) - 1


def _cosines(places: Tensor, length: int, factors: Iterable[float]) -> Tensor:
    """A sum of cosines of 0, 1, 2 ... times the angle from the middle, which is half a turn at the ends."""
    angle = _middle(places, length) * math.pi
    result = ops.zeros_like(places)
    for number, factor in enumerate(factors):
        result = result + (angle * number).cos() * factor
    return result


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`exp(-|n - center| / tau)`; the center is the middle unless it is given, which `sym` does not allow.

    Raises:
        ValueError: `tau` is not positive, or a center of a symmetric window is given.
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(places: Tensor, length: int) -> Tensor:
        middle = (length - 1) / 2 if center is None else center
        return ((places - middle).abs() / -tau).exp()

    return _window("exponential", shape, M, sym, dtype, layout, device, requires_grad)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine, taken in the middle of each of `M` parts."""

    def shape(places: Tensor, length: int) -> Tensor:
        return ((places + 0.5) * (math.pi / length)).sin()

    return _window("cosine", shape, M, sym, dtype, layout, device, requires_grad)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The density of a normal distribution around the middle, 1 there.

    Raises:
        ValueError: `std` is not positive.
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def shape(places: Tensor, length: int) -> Tensor:
        return (((places - (length - 1) / 2) / std).square() * -0.5).exp()

    return _window("gaussian", shape, M, sym, dtype, layout, device, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Bessel's function of order zero over a half circle, `I0(beta sqrt(1 - x^2)) / I0(beta)` of x from -1 to 1.

    Raises:
        ValueError: `beta` is negative.
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(places: Tensor, length: int) -> Tensor:
        count = places.shape[0]
        return ops.kaiser_window(count, length > count, beta, dtype=dtypes.float64, device=device)

    return _window("kaiser", shape, M, sym, dtype, layout, device, requires_grad)


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`0.54 + 0.46 cos` of the angle from the middle."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A whole period of a cosine, raised to begin at 0."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Three terms of cosines."""
    shape = partial(_cosines, factors=(0.42, 0.5, 0.08))
    return _window("blackman", shape, M, sym, dtype, layout, device, requires_grad)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle, 0 at its ends."""

    def shape(places: Tensor, length: int) -> Tensor:
        return 1 - _middle(places, length).abs()

    return _window("bartlett", shape, M, sym, dtype, layout, device, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines of multiples of the angle from the middle, with the factors `a`.

    Raises:
        TypeError: `a` is neither a list nor a tuple.
        ValueError: it is empty.
    """

    def shape(places: Tensor, length: int) -> Tensor:
        if not isinstance(a, (list, tuple)):
            raise TypeError("Coefficients must be a list/tuple")
        if not a:
            raise ValueError("Coefficients cannot be empty")
        return _cosines(places, length, a)

    return _window("general_cosine", shape, M, sym, dtype, layout, device, requires_grad)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`alpha + (1 - alpha) cos` of the angle from the middle."""
    return general_cosine(
        M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Layout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Four terms of cosines, the least one with three continuous derivatives at its ends."""
    shape = partial(_cosines, factors=(0.3635819, 0.4891775, 0.1365995, 0.0106411))
    return _window("nuttall", shape, M, sym, dtype, layout, device, requires_grad)
