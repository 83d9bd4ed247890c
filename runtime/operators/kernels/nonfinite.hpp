// What takes NaN and infinities for something else: native loops over float32 and float64 for kernels of the same names in
// runtime/operators/kernels. They take Tensors and give arrays, and decline (null, no exception) whatever is unusual.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref nan_to_num(PyObject* self, PyObject* nan, PyObject* posinf, PyObject* neginf);
Ref nansum(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype);

}  // namespace kernels

}  // namespace gradwright
