// Scans, each element with all before it along one dimension: native loops over float32 and float64, with the same results as
// `np.add.accumulate` to the last bit. They decline as reductions do.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref cumsum(PyObject* self, PyObject* dim, PyObject* dtype);
Ref cumprod(PyObject* self, PyObject* dim, PyObject* dtype);

}  // namespace kernels

}  // namespace gradwright
