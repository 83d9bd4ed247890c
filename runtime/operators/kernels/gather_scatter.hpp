// Gather and scatter: every element has an index of its own, in one dimension. Native loops for kernels of along_dimension.py
// in runtime/operators/kernels/, under the same names; they decline as those of indexing.hpp do.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref gather(PyObject* self, PyObject* dim, PyObject* index, PyObject* sparse_grad);
Ref scatter(PyObject* self, PyObject* dim, PyObject* index, PyObject* src);
Ref scatter_value(PyObject* self, PyObject* dim, PyObject* index, PyObject* value);
Ref scatter_add(PyObject* self, PyObject* dim, PyObject* index, PyObject* src);

}  // namespace kernels

// The same in place: false, without an exception, before anything is written.
namespace writers {

bool scatter(PyObject* self, PyObject* dim, PyObject* index, PyObject* src);
bool scatter_value(PyObject* self, PyObject* dim, PyObject* index, PyObject* value);
bool scatter_add(PyObject* self, PyObject* dim, PyObject* index, PyObject* src);

}  // namespace writers

namespace composites {

Ref take_along_dim(PyObject* self, PyObject* indices, PyObject* dim);

}  // namespace composites

}  // namespace gradwright
