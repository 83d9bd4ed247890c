// Softmax and its logarithm, forward and backward: native loops over float32 and float64 for what runtime/operators/kernels/nn.py does,
// under the same names.
//
// They take Tensors and give arrays, and decline (null, no exception) whatever is unusual: arrays
// that are not contiguous, other element types, arguments that are an error. Dtypes are NumPy's.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref softmax_kernel(PyObject* self, PyObject* dim, PyObject* half_to_float);
Ref log_softmax_kernel(PyObject* self, PyObject* dim, PyObject* half_to_float);
Ref softmax_backward_data(PyObject* grad_output, PyObject* output, PyObject* dim, PyObject* input_dtype);
Ref log_softmax_backward_data(PyObject* grad_output, PyObject* output, PyObject* dim, PyObject* input_dtype);

}  // namespace kernels

}  // namespace gradwright
