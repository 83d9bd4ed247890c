"""Fourier transforms: against their definition, norms, sizes, what they refuse, and derivatives of any order."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gradwright as torch
from gradwright.autograd import gradcheck, gradgradcheck
from runtime.operators.kernels import fourier

NORMS = (None, "backward", "ortho", "forward")
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")


def matrix(n: int, forward: bool, norm: str | None) -> np.ndarray[Any, Any]:
    """The definition: exp(-2 pi i j k / n), and the factor."""
    places = np.arange(n)
    sums = np.exp((-2j if forward else 2j) * np.pi * np.outer(places, places) / n)
    if norm == "ortho":
        return sums / np.sqrt(n)
    return sums / n if (norm == "forward") == forward else sums


def numbers(*shape: int, real: bool = False) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(sum(shape))
    parts = rng.standard_normal((2, *shape))
    return parts[0] if real else parts[0] + 1j * parts[1]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 5, 6])
@pytest.mark.parametrize("forward", [True, False])
def test_definition(forward: bool, n: int, norm: str | None) -> None:
    x, transform = numbers(n), torch.fft.fft if forward else torch.fft.ifft
    for array in (x, x.real):
        np.testing.assert_allclose(
            transform(torch.tensor(array), norm=norm).numpy(), matrix(n, forward, norm) @ array, atol=1e-12
        )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_one_side(n: int, norm: str | None) -> None:
    x = torch.tensor(numbers(n, real=True))
    half = n // 2 + 1
    for one, whole, forward in (("rfft", "fft", True), ("ihfft", "ifft", False)):
        side = getattr(torch.fft, one)(x, norm=norm)
        np.testing.assert_allclose(side.numpy(), getattr(torch.fft, whole)(x, norm=norm).numpy()[:half], atol=1e-12)
        back = getattr(torch.fft, "irfft" if forward else "hfft")(side, n, norm=norm)
        np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_several_dimensions_are_one_after_the_other(norm: str | None) -> None:
    x = torch.tensor(numbers(3, 4, 5))
    dims = (2, 0)
    for name in ("fft", "ifft"):
        one, several = getattr(torch.fft, name), getattr(torch.fft, name + "n")
        wanted = one(one(x, 6, 2, norm), 2, 0, norm)
        np.testing.assert_allclose(several(x, (6, 2), dims, norm).numpy(), wanted.numpy(), atol=1e-12)
        two = getattr(torch.fft, name + "2")
        np.testing.assert_allclose(two(x, norm=norm).numpy(), several(x, dim=(-2, -1), norm=norm).numpy(), atol=1e-12)
    real = x.real
    wanted = torch.fft.fft(torch.fft.rfft(real, 6, 2, norm), 2, 0, norm)
    np.testing.assert_allclose(torch.fft.rfftn(real, (2, 6), (0, 2), norm).numpy(), wanted.numpy(), atol=1e-12)
    wanted = torch.fft.ifft(torch.fft.ihfft(real, 6, 2, norm), 2, 0, norm)
    np.testing.assert_allclose(torch.fft.ihfftn(real, (2, 6), (0, 2), norm).numpy(), wanted.numpy(), atol=1e-12)
    wanted = torch.fft.irfft(torch.fft.ifft(x, 2, 0, norm), 6, 2, norm)
    np.testing.assert_allclose(torch.fft.irfftn(x, (2, 6), (0, 2), norm).numpy(), wanted.numpy(), atol=1e-12)
    wanted = torch.fft.hfft(torch.fft.fft(x, 2, 0, norm), 6, 2, norm)
    np.testing.assert_allclose(torch.fft.hfftn(x, (2, 6), (0, 2), norm).numpy(), wanted.numpy(), atol=1e-12)


def test_dtypes() -> None:
    for dtype, result in (
        (torch.float32, torch.complex64), (torch.float64, torch.complex128), (torch.int64, torch.complex64),
        (torch.bool, torch.complex64), (torch.complex64, torch.complex64), (torch.complex128, torch.complex128),
    ):  # fmt: skip
        x = torch.ones(4).to(dtype)
        assert torch.fft.fft(x).dtype is torch.fft.ifftn(x).dtype is result
        assert torch.fft.irfft(x).dtype is (torch.float64 if result is torch.complex128 else torch.float32)
        if not dtype.is_complex:
            assert torch.fft.rfft(x).dtype is torch.fft.ihfftn(x).dtype is result
    for name in ONE:
        with pytest.raises(RuntimeError):
            getattr(torch.fft, name)(torch.ones(4, dtype=torch.float16))
    for name in ("rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn"):
        with pytest.raises(RuntimeError):
            getattr(torch.fft, name)(torch.ones(2, 4, dtype=torch.complex64))
    out = torch.empty(0, dtype=torch.complex128)
    assert torch.fft.fft(torch.ones(4), out=out) is out
    assert out.dtype is torch.complex128


@pytest.mark.parametrize("name", ONE)
def test_refusals(name: str) -> None:
    transform, x = getattr(torch.fft, name), torch.ones(3, 4)
    for error, call in (
        (IndexError, lambda: transform(torch.tensor(1.0))),
        (IndexError, lambda: transform(x, dim=2)),
        (RuntimeError, lambda: transform(x, 0)),
        (RuntimeError, lambda: transform(x, -1)),
        (RuntimeError, lambda: transform(torch.ones(3, 0))),
        (RuntimeError, lambda: transform(x, norm="none")),
    ):
        with pytest.raises(error):
            call()
    several = getattr(torch.fft, name + "n")
    for error, call in (
        (IndexError, lambda: several(x, dim=(0, 2))),
        (RuntimeError, lambda: several(x, dim=(0, -2))),
        (RuntimeError, lambda: several(x, (2,), (0, 1))),
        (RuntimeError, lambda: several(x, (2, 2, 2))),
        (RuntimeError, lambda: several(x, (2, 0))),
        (RuntimeError, lambda: several(x, norm="none")),
    ):
        with pytest.raises(error):
            call()
    if name not in ("fft", "ifft"):
        with pytest.raises(RuntimeError, match="at least one axis"):
            several(x, dim=())


def test_the_primitives_refuse_what_is_no_side_of_a_transform() -> None:
    x = torch.ones(3, 4, dtype=torch.complex64)
    for call in (
        lambda: torch.ops._fft_c2r(x, [1], 0, 9),
        lambda: torch.ops._fft_c2r(x, [1], 0, 0),
        lambda: torch.ops._fft_c2r(x, [], 0, 6),
        lambda: torch.ops._fft_r2c(x.real, [], 0, True),
        lambda: torch.ops._fft_c2c(x, [0, 0], 0, True),
        lambda: torch.ops._fft_c2c(x, [0], 3, True),
        lambda: torch.ops._fft_c2c(x.real, [0], 0, True),
        lambda: torch.ops._fft_r2c(x, [0], 0, True),
        lambda: torch.ops._fft_c2c(x[0, 0], [0], 0, True),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_a_batch_without_elements() -> None:
    assert torch.fft.fft(torch.ones(0, 4)).shape == (0, 4)
    assert torch.fft.rfft(torch.ones(0, 4)).shape == (0, 3)
    assert torch.fft.irfft2(torch.ones(0, 3, 4)).shape == (0, 3, 6)
    x = torch.ones(0, 4, requires_grad=True)
    torch.fft.rfft(x).abs().sum().backward()
    assert x.grad is not None
    assert x.grad.shape == (0, 4)


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize(("shape", "dims"), [((5,), [0]), ((3, 4), [1, 0]), ((2, 3, 4), [0, 2])])
def test_derivatives(shape: tuple[int, ...], dims: list[int], onesided: bool) -> None:
    real = torch.tensor(numbers(*shape, real=True), requires_grad=True)
    both = torch.tensor(numbers(*shape), requires_grad=True)
    last = shape[dims[-1]]
    for call, x in (
        (lambda x: torch.ops._fft_r2c(x, dims, 1, onesided), real),
        (lambda x: torch.ops._fft_c2c(x, dims, 2, onesided), both),
        (lambda x: torch.ops._fft_c2r(x, dims, 0, 2 * last - (1 if onesided else 2)), both),
    ):
        assert gradcheck(call, (x,), check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True)
        assert gradgradcheck(call, (x,), check_fwd_over_rev=True, check_rev_over_rev=True)


def test_a_loss_of_the_spectrum_has_the_gradient_of_parseval() -> None:
    """The energy of a signal is that of its spectrum, so that the gradient of either is twice the signal."""
    x = torch.tensor(numbers(3, 8, real=True), requires_grad=True)
    torch.fft.fftn(x, norm="ortho").abs().square().sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy(), atol=1e-12)


def test_vmap_and_a_convolution() -> None:
    """A product of spectra is a circular convolution, for each element of a batch and each kernel."""
    x, kernels = torch.tensor(numbers(3, 6, real=True)), torch.tensor(numbers(2, 6, real=True))

    def convolve(signal: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft(torch.fft.rfft(signal) * torch.fft.rfft(kernel), 6)

    found = torch.vmap(lambda k: torch.vmap(convolve, (0, None))(x, k))(kernels)
    for i, j in itertools.product(range(2), range(3)):
        wanted = [sum(kernels.numpy()[i, b] * x.numpy()[j, (a - b) % 6] for b in range(6)) for a in range(6)]
        np.testing.assert_allclose(found[i, j].numpy(), wanted, atol=1e-12)


def test_frequencies_and_shifts() -> None:
    for n in (1, 4, 5):
        np.testing.assert_allclose(torch.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(torch.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5), rtol=1e-6)
        x = torch.arange(n * 3).reshape(n, 3)
        for dims in (None, 0, (1, 0)):
            shifted = torch.fft.fftshift(x, dims)
            np.testing.assert_array_equal(shifted.numpy(), np.fft.fftshift(x.numpy(), dims))
            assert torch.equal(torch.fft.ifftshift(shifted, dims), x)
    assert torch.fft.fftfreq(4, dtype=torch.float64).dtype is torch.float64
    for dtype in (torch.int64, torch.bool, torch.complex64):
        with pytest.raises(RuntimeError):
            torch.fft.fftfreq(4, dtype=dtype)
    with pytest.raises(RuntimeError):
        torch.fft.fftfreq(-1)
    with pytest.raises(RuntimeError):
        torch.fft.fftshift(torch.ones(3), ())
    with pytest.raises(IndexError):
        torch.fft.fftshift(torch.tensor(1.0), 0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_transforms_without_the_bare_functions_of_scipy(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers(3, 4, 6, real=True).astype(dtype)
    z = numbers(3, 4, 6).astype("c8" if dtype == "f4" else "c16")

    def transformed() -> list[Any]:
        made = []
        for array, dims in itertools.product((x, x.T, x[:, ::2]), ([0], [2], [1, 2], [2, 0])):
            made += [fourier.fft_r2c(array, dims, norm, one) for norm in range(3) for one in (True, False)]
        for array, dims in itertools.product((z, z.T, z[:, ::2]), ([0], [2], [1, 2], [2, 0])):
            made += [fourier.fft_c2c(array, dims, norm, forward) for norm in range(3) for forward in (True, False)]
            made += [fourier.fft_c2r(array, dims, norm, 2 * array.shape[dims[-1]] - 1) for norm in range(3)]
        return made

    found = transformed()
    monkeypatch.setattr(fourier, "_transforms", lambda: None)
    for one, other in zip(found, transformed(), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)
