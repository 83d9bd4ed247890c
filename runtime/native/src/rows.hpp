// Softmax, layer normalization and the loss of one class of several: native loops over float32 and float64 for what
// runtime/kernels/nn.py and loss.py do, under the same names, that read each row while it is in the cache.
//
// They take Tensors and give arrays, or a tuple of arrays, and decline (null, no exception) whatever is unusual: arrays
// that are not contiguous, other element types, arguments that are an error. Dtypes are NumPy's.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref softmax_kernel(PyObject* self, PyObject* dim, PyObject* half_to_float);
Ref log_softmax_kernel(PyObject* self, PyObject* dim, PyObject* half_to_float);
Ref softmax_backward_data(PyObject* grad_output, PyObject* output, PyObject* dim, PyObject* input_dtype);
Ref log_softmax_backward_data(PyObject* grad_output, PyObject* output, PyObject* dim, PyObject* input_dtype);

Ref native_layer_norm(PyObject* input, PyObject* normalized_shape, PyObject* weight, PyObject* bias, PyObject* eps);
Ref native_layer_norm_backward(PyObject* grad_out, PyObject* input, PyObject* normalized_shape, PyObject* mean,
                               PyObject* rstd, PyObject* weight, PyObject* bias, PyObject* output_mask);

Ref nll_loss_forward(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction, PyObject* ignore_index);
Ref nll_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction,
                      PyObject* ignore_index, PyObject* total_weight);

}  // namespace kernels

}  // namespace gradwright
