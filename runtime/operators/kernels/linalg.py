"""Products of vectors and matrices, triangles, and dense linear algebra.  Dtypes are never promoted here."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, Number, element, is_integral, nearest_diagonal, normalize_dim, type_name
from runtime.operators.kernels._matrices import (
    check_square,
    lu_factors,
    lu_solved,
    singular_values,
    svd,
    triangles_solved,
)

_SMALL_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "bool": "bool", "uint8": "unsigned char",
    "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
}  # fmt: skip


_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


# -- products


def mm(self: Array, mat2: Array) -> Array:
    """The product of two matrices."""
    dtype = self.dtype
    if self.ndim == 2 and mat2.ndim == 2 and dtype is mat2.dtype and (dtype is _FLOAT32 or dtype is _FLOAT64):
        try:
            return np.asarray(self.dot(mat2))  # for small matrices in a third of the time of matmul
        except ValueError:
            pass  # the shapes do not fit: the call below raises the error
    if self.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    return _product(self, mat2)


def bmm(self: Array, mat2: Array) -> Array:
    """The products of the matrices of two batches."""
    _check_batches(self, mat2)
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"expected scalar type {type_name(self.dtype)} but found {type_name(mat2.dtype)}")
    return _multiply(self, mat2)


def mv(self: Array, vec: Array) -> Array:
    """The product of a matrix and a vector."""
    _check_matrix_vector(1, self, vec)
    if self.dtype != vec.dtype:
        raise RuntimeError(f"expected scalar type {type_name(self.dtype)} but found {type_name(vec.dtype)}")
    return _multiply(self, vec)


def dot(self: Array, tensor: Array) -> Array:
    """The sum of the products of two vectors."""
    _check_vectors("dot", self, tensor)
    return _multiply(self, tensor)


def vdot(self: Array, other: Array) -> Array:
    """The sum of the products of the conjugate of a vector with another."""
    _check_vectors("vdot", self, other)
    return _multiply(self.conj() if self.dtype.kind == "c" else self, other)


def addmm(self: Array, mat1: Array, mat2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """The sum beta * self + alpha * (mat1 @ mat2)."""
    if mat1.ndim != 2 or mat2.ndim != 2:
        which = "mat1" if mat1.ndim != 2 else "mat2"
        raise RuntimeError(f"{which} must be a matrix, got {(mat1 if mat1.ndim != 2 else mat2).ndim}-D tensor")
    product = _product(mat1, mat2)
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {type_name(self.dtype)} and {type_name(mat2.dtype)}"
        )
    return _add_product(self, product, beta, alpha)


def addmv(self: Array, mat: Array, vec: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """The sum beta * self + alpha * (mat @ vec)."""
    _check_matrix_vector(self.ndim, mat, vec)
    if not self.dtype == mat.dtype == vec.dtype:
        names = [type_name(array.dtype) for array in (self, mat, vec)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}"
        )
    return _add_product(self, _multiply(mat, vec), beta, alpha)


def baddbmm(self: Array, batch1: Array, batch2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """The sum beta * self + alpha * (batch1 @ batch2)."""
    _check_batches(batch1, batch2)
    if not self.dtype == batch1.dtype == batch2.dtype:
        names = ", ".join(type_name(array.dtype) for array in (self, batch1, batch2))
        raise RuntimeError(f"Input dtypes must be the same, got: {names}")
    return _add_product(self, _multiply(batch1, batch2), beta, alpha)


def addbmm(self: Array, batch1: Array, batch2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """The sum of beta * self and of alpha * (batch1 @ batch2) over the batch."""
    _check_batches(batch1, batch2)
    if not self.dtype == batch1.dtype == batch2.dtype:
        names = ", ".join(type_name(array.dtype) for array in (self, batch1, batch2))
        raise RuntimeError(f"Input dtypes must be the same, got: {names}")
    total = np.add.reduce(_multiply(batch1, batch2), axis=0, dtype=self.dtype)
    return _add_product(self, np.asarray(total), beta, alpha)


def _product(left: Array, right: Array) -> Array:
    if left.shape[1] != right.shape[0]:
        shapes = f"{left.shape[0]}x{left.shape[1]} and {right.shape[0]}x{right.shape[1]}"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")
    if left.dtype != right.dtype:
        names = [_SMALL_NAMES.get(array.dtype.name, array.dtype.name) for array in (left, right)]
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")
    return _multiply(left, right)


def _multiply(left: Array, right: Array) -> Array:
    dtype = left.dtype
    if dtype.kind == "f":
        return np.asarray(left.dot(right) if right.ndim <= 2 and left.ndim <= 2 else np.matmul(left, right))
    if dtype.kind in "iu" and left.size + right.size >= _MANY:
        return _product_of_integers(left, right)
    return np.asarray(np.matmul(left, right))


# From so many integers on, a product by BLAS pays for the copies.
_MANY = 1 << 11


def _product_of_integers(left: Array, right: Array) -> Array:
    """BLAS multiplies no integers; where all sums are whole numbers that float64 holds exactly, it multiplies those."""
    largest = [max(int(array.max()), -int(array.min())) if array.size else 0 for array in (left, right)]
    if largest[0] * largest[1] * left.shape[-1] > 1 << 53:
        return np.asarray(np.matmul(left, right))
    product = np.matmul(left.astype(np.float64), right.astype(np.float64))
    return np.asarray(product).astype(np.int64).astype(left.dtype, copy=False)  # narrow types wrap around


def _add_product(self: Array, product: Array, beta: Number, alpha: Number) -> Array:
    """`beta * self + alpha * product`, written over `product`.  With beta 0, NaN in `self` does not show."""
    if beta == 1 and alpha == 1 and product.ndim and self.ndim <= product.ndim:
        try:
            return np.add(product, self, out=product)
        except ValueError:
            raise RuntimeError(_expand_message(self, product)) from None
    if alpha != 1:
        product = np.asarray(product * element(alpha, product.dtype))
    try:
        added = np.broadcast_to(self, product.shape)
    except ValueError:
        raise RuntimeError(_expand_message(self, product)) from None
    if beta == 0:
        return product
    if beta != 1:
        added = np.asarray(added * element(beta, product.dtype))
    return np.add(product, added, out=product) if product.ndim else np.asarray(np.add(product, added))


def _expand_message(self: Array, product: Array) -> str:
    target, sizes = list(product.shape), list(self.shape)
    if len(sizes) > len(target):
        return (
            f"expand: the number of sizes provided ({len(target)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(sizes)}). Target sizes: {target}.  Tensor sizes: {sizes}"
        )
    offset = len(target) - len(sizes)
    dim = max(place for place, size in enumerate(sizes, offset) if size not in (1, target[place]))
    return (
        f"The expanded size of the tensor ({target[dim]}) must match the existing size ({sizes[dim - offset]}) at "
        f"non-singleton dimension {dim}.  Target sizes: {target}.  Tensor sizes: {sizes}"
    )


def _check_vectors(name: str, left: Array, right: Array) -> None:
    if left.ndim != 1 or right.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {left.ndim}D and {right.ndim}D tensors")
    if left.dtype != right.dtype:
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found {type_name(left.dtype)} and "
            f"{type_name(right.dtype)}"
        )
    if left.size != right.size:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{left.size}] and src [{right.size}] to have the same number "
            f"of elements, but got {left.size} and {right.size} elements respectively"
        )


def _check_matrix_vector(self_ndim: int, mat: Array, vec: Array) -> None:
    if mat.ndim != 2 or vec.ndim != 1 or self_ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self_ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({mat.shape[0]}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )


def _check_batches(batch1: Array, batch2: Array) -> None:
    for name, batch in (("batch1", batch1), ("batch2", batch2)):
        if batch.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    expected = (batch1.shape[0], batch1.shape[2])
    if batch2.shape[:2] != expected:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {list(expected)} but got: "
            f"{list(batch2.shape[:2])}."
        )


# -- diagonals and triangles


def trace(self: Array) -> Array:
    """The sum of the diagonal of a matrix."""
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    along = self.diagonal()
    return np.asarray(np.add.reduce(along, dtype=np.int64 if is_integral(self.dtype) else None))


def tril(self: Array, diagonal: int = 0) -> Array:
    """The elements on and below a diagonal; 0 above it."""
    if self.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    rows, columns = self.shape[-2:]
    return np.where(
        np.tri(rows, columns, nearest_diagonal(diagonal, rows, columns), dtype=bool), self, np.zeros((), self.dtype)
    )


def triu(self: Array, diagonal: int = 0) -> Array:
    """The elements on and above a diagonal; 0 below it."""
    if self.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    rows, columns = self.shape[-2:]
    return np.where(
        np.tri(rows, columns, nearest_diagonal(diagonal, rows, columns) - 1, dtype=bool), np.zeros((), self.dtype), self
    )


def diag_embed(self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices with these elements on a diagonal."""
    ndim = self.ndim + 1
    first, second = normalize_dim(dim1, ndim), normalize_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    side = self.shape[-1] + abs(offset)
    sizes = list(self.shape[:-1])
    for dim in sorted((first, second)):
        sizes.insert(dim, side)
    result = np.zeros(sizes, self.dtype)
    along = result.diagonal(offset, first, second)
    along.flags.writeable = True
    along[...] = self
    return result


# -- inverses and factors


def linalg_inv_ex(A: Array, check_errors: bool = False) -> tuple[Array, Array]:
    """The inverse, and for each matrix 0 or the 1-based place of the pivot that is zero."""
    check_square("linalg.inv", A)
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        return np.asarray(np.linalg.inv(A)), info
    except np.linalg.LinAlgError:
        pass
    result = np.zeros_like(A)
    for place in np.ndindex(*A.shape[:-2]):
        try:
            result[place] = np.linalg.inv(A[place])
        except np.linalg.LinAlgError:
            info[place] = _zero_pivot(A[place])
    if check_errors:
        raise np.linalg.LinAlgError(
            "linalg.inv: The diagonal element "
            f"{int(info[info != 0].flat[0])} is zero, the inversion could not be completed because the input matrix "
            "is singular."
        )
    return result, info


def linalg_svd(
    A: Array, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None
) -> tuple[Array, Array, Array]:
    """U, S and V^H with A = U S V^H, S from the largest down; U and V^H are empty unless asked for.

    S is contiguous, and the matrices lie column by column.
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.svd: The input tensor A must have at least 2 dimensions.")
    if driver is not None:
        raise RuntimeError("linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER.")
    if not compute_uv:
        empty = np.empty(0, A.dtype)
        return empty, singular_values(A), empty
    U, S, Vh = svd(A, full_matrices)
    return U.swapaxes(-1, -2).copy().swapaxes(-1, -2), S, Vh.swapaxes(-1, -2).copy().swapaxes(-1, -2)


def linalg_solve_with_factors(
    A: Array, B: Array, left: bool = True, check_errors: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The solution X of `A @ X = B` (of `X @ A = B`, if not `left`), with the LU factors, 1-based pivots and info."""
    check_square("linalg.solve", A)
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {type_name(A.dtype)} and B "
            f"of type {type_name(B.dtype)} instead"
        )
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False.")
    sides = B[..., None] if vector else B
    if sides.ndim < 2:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    if A.shape[-1] != sides.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.shape[-2]}x{A.shape[-1]} and {sides.shape[-2]}x{sides.shape[-1]})"
        )
    batch = np.broadcast_shapes(A.shape[:-2], sides.shape[:-2])
    sides = np.broadcast_to(sides, batch + sides.shape[-2:])
    factors, pivots, info = lu_factors(A)
    if check_errors and info.any():
        raise np.linalg.LinAlgError("linalg.solve: The solver failed because the input matrix is singular.")
    lu = np.broadcast_to(factors, batch + A.shape[-2:])
    swaps = np.broadcast_to(pivots, batch + A.shape[-1:])
    if left:
        result = lu_solved(lu, swaps, sides)
    else:
        result = lu_solved(lu, swaps, sides.swapaxes(-1, -2), 1).swapaxes(-1, -2)
    return (result[..., 0] if vector else result), factors, pivots, info


def linalg_solve_triangular(
    self: Array, B: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """X with `self @ X = B`, or `X @ self = B`; only one triangle of `self` is read."""
    check_square("linalg.solve_triangular", self)
    if self.dtype != B.dtype:
        raise RuntimeError("linalg.solve_triangular: Expected A and B to have the same dtype")
    if B.ndim < 2 or self.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} "
            f"({self.shape[-2]}x{self.shape[-1]} and {'x'.join(map(str, B.shape[-2:]))})"
        )
    batch = np.broadcast_shapes(self.shape[:-2], B.shape[:-2])
    matrices = np.broadcast_to(self, batch + self.shape[-2:])
    sides = np.broadcast_to(B, batch + B.shape[-2:])
    if left:
        return triangles_solved(matrices, sides, lower=not upper, unit=unitriangular)
    turned, columns = matrices.swapaxes(-1, -2), sides.swapaxes(-1, -2)
    return triangles_solved(turned, columns, lower=upper, unit=unitriangular).swapaxes(-1, -2)


def _zero_pivot(matrix: Array) -> int:
    from scipy import linalg

    (factor,) = linalg.get_lapack_funcs(("getrf",), (matrix,))
    place: int = factor(matrix)[2]
    return place


def triangular_solve(
    self: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Array, Array]:
    """X with `A @ X = self`, or with the transpose of `A`; and `A`, broadcast as the solution is."""
    for name, array in (("b", self), ("A", A)):
        if array.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {array.ndim} "
                "dimensions instead"
            )
    check_square("triangular_solve", A)
    if A.shape[-1] != self.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each "
            f"b matrix is {self.shape[-2]} by {self.shape[-1]}"
        )
    matrix = A.swapaxes(-1, -2) if transpose else A
    result = linalg_solve_triangular(matrix, self, upper != transpose, True, unitriangular)
    return result, np.broadcast_to(A, result.shape[:-2] + A.shape[-2:]).copy()
