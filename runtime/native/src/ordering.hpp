// Elements in order: native loops over float32, float64 and int64 for what runtime/kernels/ordering.py does, under the
// same names. NaN is the greatest value, and equal elements come in the order they stand.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

// Values with their places, where few are asked for; a tuple of two arrays.
Ref topk(PyObject* self, PyObject* k, PyObject* dim, PyObject* largest, PyObject* sorted);

}  // namespace kernels

}  // namespace gradwright
