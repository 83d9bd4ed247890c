// Layer normalization and that of groups of channels, forward and backward: native loops over float32 and float64 for what
// runtime/operators/kernels/nn.py and runtime/operators/composite/nn.py do, under the same names.
//
// They take Tensors and give a tuple of arrays, and decline (null, no exception) whatever is unusual: arrays
// that are not contiguous, other element types, arguments that are an error. Dtypes are NumPy's.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref native_layer_norm(PyObject* input, PyObject* normalized_shape, PyObject* weight, PyObject* bias, PyObject* eps);
Ref native_layer_norm_backward(PyObject* grad_out, PyObject* input, PyObject* normalized_shape, PyObject* mean,
                               PyObject* rstd, PyObject* weight, PyObject* bias, PyObject* output_mask);
Ref native_group_norm(PyObject* input, PyObject* weight, PyObject* bias, PyObject* N, PyObject* C, PyObject* HxW,
                      PyObject* group, PyObject* eps);

}  // namespace kernels

namespace composites {

// Where nothing is recorded: a tuple of Tensors, and None for what nobody wants.
Ref native_group_norm_backward(PyObject* grad_out, PyObject* input, PyObject* mean, PyObject* rstd, PyObject* weight,
                               PyObject* N, PyObject* C, PyObject* HxW, PyObject* group, PyObject* output_mask);

}  // namespace composites

}  // namespace gradwright
