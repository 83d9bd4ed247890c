// Formula helpers that C++ has itself. Each does what the Python function of its name in runtime/helpers does, with the
// same parameters; the generator reads their names from here.

#pragma once

#include "composites.hpp"
#include "core.hpp"
#include "kernels.hpp"
#include "products.hpp"

namespace gradwright::helpers {

// `factor * x`; no work for the factor 1, which is the most usual one.
inline Ref scaled(PyObject* x, PyObject* factor) {
  if (PyLong_CheckExact(factor)) {
    int overflow = 0;
    if (PyLong_AsLongAndOverflow(factor, &overflow) == 1) return Ref::borrow(x);
  } else if (PyFloat_CheckExact(factor)) {
    if (PyFloat_AS_DOUBLE(factor) == 1) return Ref::borrow(x);
  } else {
    Ref one(PyLong_FromLong(1));
    const int is_one = PyObject_RichCompareBool(factor, one.get(), Py_EQ);
    if (is_one != 0) return is_one < 0 ? Ref() : Ref::borrow(x);
  }
  return Ref(PyNumber_Multiply(x, factor));
}

// `left.mm(right)`, in memory row by row, or else column by column.
inline Ref laid_out_product(PyObject* left, PyObject* right, PyObject* by_rows) {
  if (by_rows == Py_True) return late::mm(left, right);
  if (!grad_enabled && is_plain(left) && is_plain(right) && !kernels_replaced) {
    Ref product = product_by_columns(left, right);
    if (product || PyErr_Occurred()) return product ? new_tensor(std::move(product)) : Ref();
  }
  Ref transposed_left = late::t(left), transposed_right = late::t(right);
  if (!transposed_left || !transposed_right) return Ref();
  Ref product = late::mm(transposed_right.get(), transposed_left.get());
  return product ? late::t(product.get()) : Ref();
}

}  // namespace gradwright::helpers
