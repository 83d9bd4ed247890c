"""QR factors and products of Householder's reflections."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, type_name
from runtime.operators.kernels._matrices import check_matrix, conjugate_transpose, lapack, places


def linalg_qr(A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Q and R with A = Q R; mode "r" leaves Q empty."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_matrix("linalg.qr", A)
    if mode == "r":
        return np.empty(0, A.dtype), np.asarray(np.linalg.qr(A, "r"))
    Q, R = np.linalg.qr(A, "complete" if mode == "complete" else "reduced")
    return np.asarray(Q), np.asarray(R)


def geqrf(self: Array) -> tuple[Array, Array]:
    """R above the reflections that make it, and their factors."""
    check_matrix("torch.geqrf", self)
    factors = np.empty(self.shape, self.dtype)
    tau = np.zeros((*self.shape[:-2], min(self.shape[-2:])), self.dtype)
    factor = lapack("geqrf", self)
    for place in places(self):
        factors[place], tau[place] = factor(self[place])[:2]
    return factors, tau


def linalg_householder_product(input: Array, tau: Array) -> Array:
    """The first columns of the product of the reflections whose vectors lie below the diagonal of `input`."""
    name = "torch.linalg.householder_product"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    _check_reflections(name, input, tau)
    one = np.eye(*input.shape[-2:], dtype=input.dtype)
    return _reflected(input, tau, np.broadcast_to(one, input.shape).copy(), False)


def ormqr(self: Array, input2: Array, input3: Array, left: bool = True, transpose: bool = False) -> Array:
    """`input3` times the product of reflections, or its adjoint, from either side."""
    name = "torch.ormqr"
    for which, array in (("input", self), ("other", input3)):
        if array.ndim < 2:
            raise RuntimeError(f"{name}: {which} must have at least 2 dimensions.")
    side = -2 if left else -1
    if input3.shape[side] < input2.shape[-1]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if input2.shape[-1] != min(input3.shape[side], self.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if input3.shape[side] != self.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    _check_reflections(name, self, input2)
    if self.shape[:-2] != input3.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(input3.shape[:-2])}"
        )
    if self.dtype != input3.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but input has dtype {type_name(self.dtype)} and "
            f"other has dtype {type_name(input3.dtype)}"
        )
    if left:
        return _reflected(self, input2, input3.copy(), transpose)
    return conjugate_transpose(_reflected(self, input2, conjugate_transpose(input3).copy(), not transpose))


def _check_reflections(name: str, input: Array, tau: Array) -> None:
    if input.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if input.dtype != tau.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {type_name(tau.dtype)} does not match input dtype {type_name(input.dtype)}"
        )


def _reflected(vectors: Array, tau: Array, result: Array, transposed: bool) -> Array:
    """H_1 H_2 ... times `result`, which is written; or the adjoint of that product times it.

    H_i = 1 - tau_i v_i v_i^H, where v_i is the column below the diagonal with a 1 on it.  Each step is one product for
    the whole batch.
    """
    steps = range(tau.shape[-1])
    for step in steps if transposed else reversed(steps):
        vector = vectors[..., step:, step : step + 1].copy()
        vector[..., 0, :] = 1
        factor = tau[..., step, None, None]
        below = result[..., step:, :]
        below -= (factor.conj() if transposed else factor) * vector @ (conjugate_transpose(vector) @ below)
    return result
