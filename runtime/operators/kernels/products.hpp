// Products of matrices and vectors, through the BLAS that NumPy brings.
//
// A kernel takes Tensors and gives an array; it declines (null, no exception) what it does not know, like those of
// kernels.hpp: element types without a loop, shapes that do not fit, arrays that are not aligned. Transposed operands
// are handed on as they are, and nothing is copied for them unless BLAS cannot take their strides.

#pragma once

#include "core.hpp"
#include "kernels.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(mm, 2, tensors)
GRADWRIGHT_KERNEL(bmm, 2, tensors)
GRADWRIGHT_KERNEL(mv, 2, tensors)
GRADWRIGHT_KERNEL(dot, 2, tensors)
GRADWRIGHT_KERNEL(vdot, 2, tensors)
// `self + product`, in one pass over the product; other factors than 1 are left to Python.
GRADWRIGHT_KERNEL(addmm, 5, tensors)
GRADWRIGHT_KERNEL(addmv, 5, tensors)
GRADWRIGHT_KERNEL(baddbmm, 5, tensors)

}  // namespace kernels

// The product of two matrices as an array that lies in memory column by column; declines as kernels do.
Ref product_by_columns(PyObject* left, PyObject* right);

// A matrix in memory; steps are in bytes.
struct MatrixView {
  char* data;
  npy_intp row_step, column_step;
};
// `out` = a b for matrices of (rows, inner) and (inner, columns) elements. It needs no GIL; Ufunc::find_once() came before.
void multiply_into(Kind kind, npy_intp rows, npy_intp inner, npy_intp columns, const MatrixView& a, const MatrixView& b,
                   const MatrixView& out);

}  // namespace gradwright
