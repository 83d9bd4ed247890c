"""Spectra of a signal in short times, and the signal of such spectra.

Frames of `n_fft` samples, `hop_length` apart, are multiplied by a window and transformed (D. W. Griffin and J. S. Lim,
Signal estimation from modified short-time Fourier transform, 1984). Back, the frames are multiplied by the window once
more, added where they overlap, and divided by the sum of the squares of the windows that overlap there: of all signals
that has the nearest spectra.
"""

from __future__ import annotations

import warnings
from typing import Any

from runtime import ops
from runtime.base.conditions import holds_anywhere
from runtime.base.tensor import Tensor

# Below this, what overlaps at a place tells nothing of the signal there.
_LEAST_ENVELOPE = 1e-11


def _padded_window(window: Tensor | None, like: Tensor, win_length: int, n_fft: int) -> Tensor:
    """The window in the middle of a frame; without one, ones."""
    if window is None:
        window = like.new_ones([win_length])
    left = (n_fft - win_length) // 2
    return ops.constant_pad_nd(window, [left, n_fft - win_length - left]) if win_length < n_fft else window


def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    *options: Any,
) -> Tensor:
    """Spectra of the frames of a signal (time) or of several (batch, time), as (batch, frequencies, frames)."""
    return stft_center(self, n_fft, hop_length, win_length, window, False, "constant", *options)


def stft_center(
    self: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Tensor:
    """As without `center`, or with it of frames whose middle lies at multiples of `hop_length`, by padding."""
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    two_sided = self.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not two_sided:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if self.dim() not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {self.dim()}D")
    x = _centered(self, n_fft // 2, pad_mode) if center else self
    signals = x if x.dim() == 2 else x.unsqueeze(0)
    length = signals.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"stft: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"stft: expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and (window.dim() != 1 or window.shape[0] != width):
        raise RuntimeError(
            f"stft: expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{list(window.shape)}"
        )
    if onesided and two_sided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if align_to_window:  # the first frame begins where the window does, not before
        left = (n_fft - width) // 2
        signals = ops.constant_pad_nd(signals, [left, n_fft - width - left])
    frames = signals.unfold(-1, n_fft, hop)
    if window is not None or width < n_fft:
        frames = frames * _padded_window(window, signals, width, n_fft)
    factor = 1 if normalized else 0
    if two_sided:
        spectra = ops._fft_c2c(frames, [2], factor, True)
    else:
        spectra = ops._fft_r2c(frames, [2], factor, onesided is None or onesided)
    result = spectra.transpose(1, 2)
    if x.dim() == 1:
        result = result.squeeze(0)
    return result if return_complex else ops.view_as_real(result)


def _centered(self: Tensor, amount: int, pad_mode: str) -> Tensor:
    """The signal, longer at both ends; padding knows batches and channels, which it may lack."""
    missing = 3 - self.dim()
    x = ops.pad(self.reshape([1] * missing + list(self.shape)), [amount, amount], pad_mode)
    return x.reshape(list(x.shape[missing:]))


def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal, or with a batch the signals, whose spectra in short times are nearest to (frequencies, frames)."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    _check_spectra(self, n_fft, hop, width, window)
    bins, count = self.shape[-2], self.shape[-1]
    one_side = bins != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if one_side else n_fft
    if bins != wanted:
        raise RuntimeError(
            f"istft: expected {wanted} frequencies, the second dimension from the end, with n_fft={n_fft} and "
            f"onesided={one_side}, but got {bins}"
        )
    if return_complex and one_side:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    spectra = (self if self.dim() == 3 else self.unsqueeze(0)).transpose(1, 2)
    factor = 1 if normalized else 2
    if return_complex:
        frames = ops._fft_c2c(spectra, [2], factor, False)
    else:
        frames = ops._fft_c2r(spectra.narrow(2, 0, n_fft // 2 + 1), [2], factor, n_fft)
    weights = _padded_window(window, frames, width, n_fft)
    whole = n_fft + hop * (count - 1)
    signal = ops.unfold_backward(frames * weights, [frames.shape[0], whole], 1, n_fft, hop)
    envelope = ops.unfold_backward(weights.square().expand([1, count, n_fft]), [1, whole], 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    if length is not None:
        end = start + length
    else:
        end = whole - n_fft // 2 if center else whole
    known = min(end, whole)
    if known <= start:
        raise RuntimeError("istft: no sample is left of the signal")
    signal, envelope = signal.narrow(1, start, known - start), envelope.narrow(1, start, known - start)
    if holds_anywhere(envelope.detach().abs() < _LEAST_ENVELOPE):
        raise RuntimeError("istft: the windows that overlap at some place are all 0 there")
    signal = signal / envelope
    if end > whole:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            stacklevel=2,
        )
        signal = ops.constant_pad_nd(signal, [0, end - whole])
    return signal if self.dim() == 3 else signal.squeeze(0)


def _check_spectra(self: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None) -> None:
    """Refuse what can not be spectra in short times.

    Raises:
        IndexError: there are no two dimensions.
        RuntimeError: anything else.
    """
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if self.numel() == 0:
        raise RuntimeError("istft: input tensor cannot be empty.")
    if self.dim() < 2:
        raise IndexError(f"istft: expected dimensions for frequencies and frames, but got {self.dim()}")
    if self.dim() not in (2, 3):
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions, but got {self.dim()}")
    if not 0 < hop <= width:
        raise RuntimeError("istft: expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise RuntimeError("istft: expected 0 < win_length <= n_fft")
    if window is not None and (window.dim() != 1 or window.shape[0] != width):
        raise RuntimeError("istft: Invalid window shape. window has to be 1D and length of `win_length`")
