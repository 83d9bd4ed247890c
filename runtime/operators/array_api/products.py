"""Products of matrices and vectors."""

from __future__ import annotations

from runtime.operators.array_api._common import Array, Namespace, Number, check_number


def mm(xp: Namespace, self: Array, mat2: Array) -> Array:
    if self.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError("self must be a matrix" if self.ndim != 2 else "mat2 must be a matrix")
    return _product(xp, self, mat2)


def bmm(xp: Namespace, self: Array, mat2: Array) -> Array:
    if self.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if self.ndim != 3 else "batch2 must be a 3D tensor")
    return _product(xp, self, mat2)


def mv(xp: Namespace, self: Array, vec: Array) -> Array:
    return _product(xp, self, vec)


def dot(xp: Namespace, self: Array, tensor: Array) -> Array:
    return _product(xp, self, tensor)


def vdot(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.vecdot(self, other)


def addmm(xp: Namespace, self: Array, mat1: Array, mat2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    return _added(xp, self, mm(xp, mat1, mat2), beta, alpha)


def addmv(xp: Namespace, self: Array, mat: Array, vec: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    return _added(xp, self, mv(xp, mat, vec), beta, alpha)


def baddbmm(xp: Namespace, self: Array, batch1: Array, batch2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    return _added(xp, self, bmm(xp, batch1, batch2), beta, alpha)


def _product(xp: Namespace, left: Array, right: Array) -> Array:
    if left.shape[-1] != right.shape[-2 if right.ndim > 1 else 0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, left.shape))} and "
            f"{'x'.join(map(str, right.shape))})"
        )
    return xp.matmul(left, right)


def _added(xp: Namespace, self: Array, product: Array, beta: Number, alpha: Number) -> Array:
    check_number(xp, alpha, product, "alpha")
    check_number(xp, beta, product, "beta")
    if alpha != 1:
        product = product * alpha
    if beta == 0:  # what is multiplied by nothing counts for nothing, also NaN
        return product
    return product + (self if beta == 1 else self * beta)
