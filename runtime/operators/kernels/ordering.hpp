// Elements in order: native loops for what runtime/operators/kernels/ordering.py does, under the same names. NaN is the greatest value,
// and equal elements stay in the order in which they stand.
//
// They decline (null, no exception) other element types than float32, float64, int32 and int64.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref sort(PyObject* self, PyObject* dim, PyObject* descending);
Ref sort_stable(PyObject* self, PyObject* stable, PyObject* dim, PyObject* descending);
Ref topk(PyObject* self, PyObject* k, PyObject* dim, PyObject* largest, PyObject* sorted);

}  // namespace kernels

namespace composites {

Ref argsort(PyObject* self, PyObject* dim, PyObject* descending);

}  // namespace composites

}  // namespace gradwright
