// Scans, each element with all before it along one dimension: native loops over float32 and float64, with the same results as
// `np.add.accumulate` and its like to the last bit, but for `logcumsumexp`. They decline as reductions do.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref cumsum(PyObject* self, PyObject* dim, PyObject* dtype);
Ref cumprod(PyObject* self, PyObject* dim, PyObject* dtype);
Ref logcumsumexp(PyObject* self, PyObject* dim);
// Values and places.
Ref cummax(PyObject* self, PyObject* dim);
Ref cummin(PyObject* self, PyObject* dim);

}  // namespace kernels

}  // namespace gradwright
