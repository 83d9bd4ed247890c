"""Functions and methods that PyTorch has removed, which say what to use, and those that it is about to remove."""

from __future__ import annotations

import math
import warnings
from typing import Any, Never

from runtime.base.tensor import Tensor

_GONE = "This function was deprecated since version 1.9 and is now removed. "


def eig(self: Tensor, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> Never:
    """Raise: `linalg.eig` has taken its place."""
    raise RuntimeError(f"{_GONE}Use linalg.eigvals(A), or linalg.eig(A) with vectors, which give complex Tensors.")


def lstsq(input: Tensor, A: Tensor, *, out: Any = None) -> Never:
    """Raise: `linalg.lstsq` has taken its place."""
    raise RuntimeError(f"{_GONE}Use linalg.lstsq(A, input), which has the arguments in the other order.")


def solve(input: Tensor, A: Tensor, *, out: Any = None) -> Never:
    """Raise: `linalg.solve` has taken its place."""
    raise RuntimeError(f"{_GONE}Use linalg.solve(A, input), which has the arguments in the other order.")


def symeig(input: Tensor, eigenvectors: bool = False, upper: bool = True, *, out: Any = None) -> Never:
    """Raise: `linalg.eigh` has taken its place."""
    raise RuntimeError(
        f"{_GONE}Use linalg.eigvalsh(A, UPLO='U'), or linalg.eigh(A, UPLO='U') with vectors; without UPLO they read "
        "the lower triangle."
    )


def _lstsq(self: Tensor, other: Tensor) -> Never:
    """Raise: `linalg.lstsq` has taken its place."""
    lstsq(self, other)


def _solve(self: Tensor, other: Tensor) -> Never:
    """Raise: `linalg.solve` has taken its place."""
    solve(self, other)


def _symeig(self: Tensor, eigenvectors: bool = False) -> Never:
    """Raise: `linalg.eigh` has taken its place."""
    symeig(self, eigenvectors)


def _reinforce(self: Tensor, reward: Any) -> Never:
    """Raise: `distributions` have taken its place."""
    raise RuntimeError(
        "reinforce() was removed. Use distributions: m = Categorical(probabilities), action = m.sample(), "
        "loss = -m.log_prob(action) * reward, loss.backward()."
    )


def _resize(self: Tensor, *sizes: int) -> Tensor:
    """The same elements with other sizes, as `reshape` gives them.

    Raises:
        RuntimeError: there are not as many.
    """
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return _resized(self, sizes)


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The same elements with the sizes of another Tensor.

    Raises:
        RuntimeError: there are not as many.
    """
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return _resized(self, tuple(tensor.shape))


def _resized(tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
    if any(not isinstance(size, int) for size in sizes) or math.prod(sizes) != tensor.numel():
        raise RuntimeError(
            f"requested resize to {sizes}, but the Tensor has {tensor.numel()} elements; resize can only change the "
            "shape of a Tensor, and not the number of its elements"
        )
    return tensor.reshape(sizes)


def methods() -> dict[str, Any]:
    """Each method under its name."""
    return {
        "eig": eig,
        "lstsq": _lstsq,
        "solve": _solve,
        "symeig": _symeig,
        "reinforce": _reinforce,
        "resize": _resize,
        "resize_as": _resize_as,
    }
