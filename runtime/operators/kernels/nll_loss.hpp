// The loss of one class of several, forward and backward: native loops over float32 and float64 for what
// runtime/operators/kernels/loss.py does, under the same names.
//
// They take Tensors and give arrays, or a tuple of arrays, and decline (null, no exception) whatever is unusual: arrays
// that are not contiguous, other element types, arguments that are an error. Dtypes are NumPy's.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref nll_loss_forward(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction, PyObject* ignore_index);
Ref nll_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction,
                      PyObject* ignore_index, PyObject* total_weight);

}  // namespace kernels

}  // namespace gradwright
