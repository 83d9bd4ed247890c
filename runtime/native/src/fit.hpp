// Gradients in the form of what they are the gradients of, as runtime/graph/fit.py has it.

#pragma once

#include "core.hpp"
#include "intrinsics.hpp"

#include <algorithm>

namespace gradwright {

// The array of what a formula, a hook or a Function returned; null with an exception where that is no Tensor.
PyArrayObject* checked_array(PyObject* grad);

inline bool has_dims(PyArrayObject* array, int ndim, const npy_intp* dims) {
  return PyArray_NDIM(array) == ndim && std::equal(dims, dims + ndim, PyArray_DIMS(array));
}

inline bool has_shape(PyArrayObject* array, PyObject* shape) {
  if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(array)) return false;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    PyObject* size = PyTuple_GET_ITEM(shape, i);
    if (!PyLong_CheckExact(size) || PyLong_AsSsize_t(size) != PyArray_DIM(array, i)) return false;
  }
  return true;
}

inline bool has_dtype(PyArrayObject* array, PyObject* dtype) {
  return reinterpret_cast<PyObject*>(PyArray_DESCR(array)) == dtype;
}

// Whether a gradient is in the form of the output of a Node that has a single one.
inline bool fits(const Node* node, PyArrayObject* grad) {
  if (!has_dtype(grad, node->dtype)) return false;
  return node->cls != nullptr && node->ndim >= 0 ? has_dims(grad, node->ndim, node->dims)
                                                 : has_shape(grad, node->shape);
}

inline bool same_form(PyArrayObject* a, PyArrayObject* b) {
  return PyArray_DESCR(a) == PyArray_DESCR(b) && has_dims(a, PyArray_NDIM(b), PyArray_DIMS(b));
}

// `grad` (taken) in the shape and dtype of a Node's output or of a leaf.
PyObject* fit(PyObject* grad, PyObject* target, PyObject* source);

// The same where leading dimensions were broadcast to an array of the form of `dims`, as those of a bias are.
PyObject* fit(PyObject* grad, PyObject* target, PyObject* dtype, int ndim, const npy_intp* dims, PyObject* source);

// The same for one of several outputs of a Node.
PyObject* fit_output(PyObject* node, Py_ssize_t output_nr, PyObject* grad, PyObject* source);

// `grad` summed to the shape of what it is the gradient of, where leading dimensions were broadcast. It declines like a
// kernel.
Ref sum_leading(PyArrayObject* grad, int ndim, const npy_intp* dims);

}  // namespace gradwright
