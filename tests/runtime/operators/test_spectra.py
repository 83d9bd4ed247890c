"""Spectra in short times and the signal of such spectra, windows, and padding as an operator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.signal import windows as of_scipy

import gradwright as torch
from gradwright.autograd import gradcheck, gradgradcheck
from gradwright.signal import windows


def signal(*shape: int) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(3).standard_normal(shape))


def test_definition() -> None:
    x, window = signal(20), torch.hann_window(5, dtype=torch.float64)
    found = torch.stft(x, 8, 3, 5, window, center=False, return_complex=True)
    padded = np.concatenate([[0], window.numpy(), [0, 0]])
    wanted = [np.fft.rfft(x.numpy()[start : start + 8] * padded) for start in range(0, 13, 3)]
    np.testing.assert_allclose(found.numpy(), np.transpose(wanted), atol=1e-12)
    aligned = torch.stft(x, 8, 3, 5, window, center=False, return_complex=True, align_to_window=True)
    wanted = [
        np.fft.rfft(np.concatenate([[0], x.numpy()[start : start + 5] * window.numpy(), [0, 0]]))
        for start in range(0, 16, 3)
    ]
    np.testing.assert_allclose(aligned.numpy(), np.transpose(wanted), atol=1e-12)
    centered = torch.stft(x, 8, 3, 5, window, True, "reflect", return_complex=True)
    longer = torch.tensor(np.pad(x.numpy(), 4, mode="reflect"))
    wanted = torch.stft(longer, 8, 3, 5, window, False, return_complex=True)
    np.testing.assert_allclose(centered.numpy(), wanted.numpy(), atol=1e-12)
    np.testing.assert_allclose(x.stft(8, 3, 5, window, return_complex=True).numpy(), centered.numpy(), atol=1e-12)
    parts = torch.stft(x, 8, 3, 5, window, return_complex=False)
    np.testing.assert_allclose(torch.view_as_complex(parts.contiguous()).numpy(), centered.numpy(), atol=1e-12)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(24,), (2, 24)])
def test_back_and_forth(shape: tuple[int, ...], center: bool, onesided: bool, normalized: bool) -> None:
    x, window = signal(*shape), torch.hamming_window(8, dtype=torch.float64)
    spectra = torch.stft(x, 8, 2, None, window, center, normalized=normalized, onesided=onesided, return_complex=True)
    back = torch.istft(spectra, 8, 2, None, window, center, normalized, onesided)
    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)
    if not onesided:
        back = torch.istft(spectra, 8, 2, None, window, center, normalized, onesided, 20, True)
        assert back.dtype is torch.complex128
        np.testing.assert_allclose(back.numpy(), x.numpy()[..., :20], atol=1e-12)


def test_longer_than_the_frames() -> None:
    spectra = torch.stft(signal(12), 4, return_complex=True)
    with pytest.warns(UserWarning, match="padded with zeros"):
        longer = torch.istft(spectra, 4, length=16)
    np.testing.assert_allclose(longer.numpy(), [*signal(12).numpy(), *signal(12).numpy()[[-2, -3]], 0, 0], atol=1e-12)


def test_derivatives() -> None:
    x = signal(2, 6).requires_grad_()
    window = torch.tensor([0.5, 1.5, 1.0, 0.75], dtype=torch.float64, requires_grad=True)

    def there(x: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
        return torch.stft(x, 4, 2, None, window, return_complex=True)

    def back(spectra: torch.Tensor, window: torch.Tensor) -> torch.Tensor:
        return torch.istft(spectra, 4, 2, None, window)

    assert gradcheck(there, (x, window), check_forward_ad=True)
    assert gradgradcheck(there, (x, window))
    spectra = there(x, window).detach().requires_grad_()
    assert gradcheck(back, (spectra, window), check_forward_ad=True)
    assert gradgradcheck(back, (spectra, window))


def test_refusals_of_spectra() -> None:
    x, hann = torch.ones(20), torch.hann_window(8)
    for arguments in (
        {"n_fft": 0}, {"n_fft": 21}, {"n_fft": 8, "hop_length": 0}, {"n_fft": 8, "win_length": 9},
        {"n_fft": 8, "win_length": 0}, {"n_fft": 8, "window": torch.ones(5)},
        {"n_fft": 8, "align_to_window": True, "center": True},
        {"n_fft": 8, "window": hann.to(torch.complex64), "onesided": True},
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            torch.stft(x, **{"center": False, "return_complex": True, **arguments})  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="return_complex"):
        torch.stft(x, 8)
    for refused in (
        torch.ones(20, dtype=torch.int64),
        torch.ones(20, dtype=torch.float16),
        torch.ones(2, 2, 20),
        torch.tensor(1.0),
    ):
        with pytest.raises(RuntimeError):
            torch.stft(refused, 8, return_complex=True)
    with pytest.raises(NotImplementedError):
        torch.stft(x, 8, pad_mode="none", return_complex=True)


def test_refusals_of_signals() -> None:
    spectra = torch.stft(torch.ones(20), 8, return_complex=True)
    for arguments in (
        {"n_fft": 10}, {"n_fft": 8, "onesided": False}, {"n_fft": 8, "hop_length": 0}, {"n_fft": 8, "hop_length": 9},
        {"n_fft": 8, "win_length": 9}, {"n_fft": 8, "window": torch.ones(5)}, {"n_fft": 8, "return_complex": True},
        {"n_fft": 8, "window": torch.zeros(8)}, {"n_fft": 8, "window": torch.ones(8, dtype=torch.complex64)},
        {"n_fft": 8, "length": 0}, {"n_fft": 8, "window": torch.hann_window(8), "center": False},
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            torch.istft(spectra, **arguments)
    for refused in (spectra.real, spectra[:, :0], spectra.reshape(1, 1, 5, 11)):
        with pytest.raises(RuntimeError):
            torch.istft(refused, 8)
    with pytest.raises(IndexError):
        torch.istft(spectra[:, 0], 8)


WINDOWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bartlett": ({}, {}),
    "blackman": ({}, {}),
    "cosine": ({}, {}),
    "exponential": ({"tau": 2.0}, {"tau": 2.0}),
    "gaussian": ({"std": 1.5}, {"std": 1.5}),
    "general_cosine": ({"a": [0.4, 0.35, 0.25]}, {"a": [0.4, 0.35, 0.25]}),
    "general_hamming": ({"alpha": 0.6}, {"alpha": 0.6}),
    "hamming": ({}, {}),
    "hann": ({}, {}),
    "kaiser": ({"beta": 5.0}, {"beta": 5.0}),
    "nuttall": ({}, {}),
}


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_scipys(name: str, sym: bool) -> None:
    ours, theirs = WINDOWS[name]
    make, wanted = getattr(windows, name), getattr(of_scipy, name)
    for count in (0, 1, 2, 5, 8):
        found = make(count, **ours, sym=sym, dtype=torch.float64)
        np.testing.assert_allclose(found.numpy(), wanted(count, **theirs, sym=sym), atol=1e-12)
    assert make(4, **ours).dtype is torch.float32
    assert make(4, **ours, requires_grad=True).requires_grad
    for wrong in ({"M": -1}, {"M": 4, "dtype": torch.int64}, {"M": 4, "dtype": torch.float16}):
        with pytest.raises(ValueError, match=r"window|Center|Tau|Standard|beta|Coefficients|dtypes"):
            make(**{**ours, **wrong})


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
def test_factories_of_windows(name: str) -> None:
    make, more = getattr(torch, f"{name}_window"), {"beta": 12.0} if name == "kaiser" else {}
    for count in (0, 1, 2, 5, 8):
        for periodic in (True, False):
            wanted = getattr(of_scipy, name)(count, **more, sym=not periodic)
            np.testing.assert_allclose(make(count, periodic, dtype=torch.float64).numpy(), wanted, atol=1e-12)
        assert torch.equal(make(count), make(count, True))
    assert make(4, dtype=torch.bfloat16).dtype is torch.bfloat16
    assert make(4, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError):
        make(-1)
    with pytest.raises(RuntimeError):
        make(4, dtype=torch.int64)
    with pytest.raises(NotImplementedError):
        make(4, dtype=torch.complex64)


def test_parameters_of_windows() -> None:
    places = 2 * math.pi * np.arange(5) / 5
    found = torch.hamming_window(5, True, 0.6, 0.3, dtype=torch.float64).numpy()
    np.testing.assert_allclose(found, 0.6 - 0.3 * np.cos(places), atol=1e-12)
    found = torch.hamming_window(5, True, 0.6, dtype=torch.float64).numpy()
    np.testing.assert_allclose(found, 0.6 - 0.46 * np.cos(places), atol=1e-12)
    found = torch.kaiser_window(5, False, 3.0, dtype=torch.float64).numpy()
    np.testing.assert_allclose(found, of_scipy.kaiser(5, 3.0), atol=1e-12)
    found = windows.exponential(5, center=1, tau=2, sym=False, dtype=torch.float64).numpy()
    np.testing.assert_allclose(found, of_scipy.exponential(5, 1, 2, False), atol=1e-12)
    for call in (
        lambda: windows.exponential(5, center=1.0),
        lambda: windows.exponential(5, tau=0.0),
        lambda: windows.gaussian(5, std=0.0),
        lambda: windows.kaiser(5, beta=-1.0),
        lambda: windows.general_cosine(5, a=[]),
    ):
        with pytest.raises(ValueError, match=r"window|Center|Tau|Standard|beta|Coefficients|dtypes"):
            call()
    with pytest.raises(TypeError):
        windows.general_cosine(5, a=0.5)  # type: ignore[arg-type]


def test_padding_by_nothing_is_a_copy() -> None:
    x = torch.ones(2, 3, 4)
    for mode in ("constant", "reflect", "replicate", "circular"):
        assert torch.nn.functional.pad(x, (0, 0), mode).data_ptr() != x.data_ptr()
