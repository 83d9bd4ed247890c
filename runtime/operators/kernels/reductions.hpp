// Reductions: native loops over float32 and float64 for what runtime/operators/kernels/reduction.py does, under the same names.
//
// They take Tensors and give arrays, and decline (null, no exception) whatever is unusual, as the loops of kernels.hpp do.
// Sums add up in NumPy's order (in pairs along the innermost dimension), so that results are those of `np.add.reduce`. No
// result depends on the number of threads.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref sum_all(PyObject* self, PyObject* dtype);
Ref sum_dim(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype);
Ref mean_all(PyObject* self, PyObject* dtype);
Ref mean_dim(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype);
Ref prod_all(PyObject* self, PyObject* dtype);
Ref prod_dim(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype);
Ref amax(PyObject* self, PyObject* dim, PyObject* keepdim);
Ref amin(PyObject* self, PyObject* dim, PyObject* keepdim);
Ref max_all(PyObject* self);
Ref min_all(PyObject* self);
Ref max_dim(PyObject* self, PyObject* dim, PyObject* keepdim);
Ref min_dim(PyObject* self, PyObject* dim, PyObject* keepdim);
Ref var(PyObject* self, PyObject* dim, PyObject* correction, PyObject* keepdim);
Ref std(PyObject* self, PyObject* dim, PyObject* correction, PyObject* keepdim);
Ref logsumexp(PyObject* self, PyObject* dim, PyObject* keepdim);
Ref linalg_vector_norm(PyObject* self, PyObject* ord, PyObject* dim, PyObject* keepdim, PyObject* dtype);

}  // namespace kernels

}  // namespace gradwright
