// Formula helpers that C++ has itself. Each does what the Python function of its name in runtime/operators/helpers does, with the
// same parameters.

#pragma once

#include "composites.hpp"
#include "core.hpp"
#include "intrinsics.hpp"
#include "kernels.hpp"
#include "products.hpp"
#include "registry.hpp"

namespace gradwright::helpers {

// An operator as helpers call it, found when it is first needed: its entry, or the method of Tensors of that name.
class Operator {
 public:
  Operator(const char* function, const char* method) : function_(find_function(function)), method_(method) {}
  Ref operator()(PyObject* self, PyObject* value) const {
    if (function_ == nullptr || function_->count < 2) return Ref(PyObject_CallMethod(self, method_, "O", value));
    PyObject* values[kMostParameters] = {self, value};
    for (int i = 2; i < function_->count; ++i) values[i] = function_->defaults[i];
    return Ref(function_->ordered(values));
  }

 private:
  const Function* function_;
  const char* method_;
};

// Sizes and dims come out of saved state: tuples of ints; dims are None for all, or an int.

// How many elements went into each result of a reduction.
inline Ref count_reduced(PyObject* sizes, PyObject* dim) {
  const bool all = dim == Py_None || !PyTuple_Check(dim) || PyTuple_GET_SIZE(dim) == 0 || PyTuple_GET_SIZE(sizes) == 0;
  const Py_ssize_t ndim = PyTuple_GET_SIZE(sizes), count = all ? ndim : PyTuple_GET_SIZE(dim);
  long long product = 1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_ssize_t place = all ? i : PyLong_AsSsize_t(PyTuple_GET_ITEM(dim, i));
    if (place < 0) place += ndim;
    product *= PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, place));
  }
  return PyErr_Occurred() ? Ref() : Ref(PyLong_FromLongLong(product));
}
GRADWRIGHT_KERNEL(count_reduced, 2, helper)

// The gradient of a sum: every element gets the gradient of the sum it went into.
inline Ref expand_reduced(PyObject* grad, PyObject* sizes, PyObject* dim, PyObject* keepdim) {
  static const Operator unsqueeze("unsqueeze_default", "unsqueeze"), reshape("reshape_default", "reshape"),
      expand("expand_default", "expand");
  const Py_ssize_t dims = dim == Py_None ? 0 : PyTuple_GET_SIZE(dim), ndim = PyTuple_GET_SIZE(sizes);
  Ref kept;
  const int keeps = PyObject_IsTrue(keepdim);
  if (keeps < 0) return kept;
  if (keeps > 0 || dims == 0 || ndim == 0) {
    kept = Ref::borrow(grad);
  } else if (dims == 1) {
    kept = unsqueeze(grad, PyTuple_GET_ITEM(dim, 0));
  } else {
    Ref shape(PyTuple_New(ndim)), one(PyLong_FromLong(1));
    if (!shape || !one) return Ref();
    for (Py_ssize_t i = 0; i < ndim; ++i) PyTuple_SET_ITEM(shape.get(), i, Py_NewRef(PyTuple_GET_ITEM(sizes, i)));
    for (Py_ssize_t i = 0; i < dims; ++i) {
      const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(dim, i));
      PyTuple_SetItem(shape.get(), place < 0 ? place + ndim : place, Py_NewRef(one.get()));
    }
    kept = reshape(grad, shape.get());
  }
  if (!kept) return kept;
  return expand(kept.get(), sizes);
}
GRADWRIGHT_KERNEL(expand_reduced, 4, helper)

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
GRADWRIGHT_KERNEL(scaled, 2, helper)

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
GRADWRIGHT_KERNEL(laid_out_product, 3, helper)

}  // namespace gradwright::helpers
