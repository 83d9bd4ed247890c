// Losses that choose one class of several.
//
// Like the kernels of kernels.hpp, these take Tensors and give an array, or a tuple of arrays; they decline (null, no
// exception) what is not plain: batches of rows of floating-point numbers, classes as 64-bit integers.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref nll_loss_forward(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction,
                     PyObject* ignore_index);
Ref nll_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* weight,
                      PyObject* reduction, PyObject* ignore_index, PyObject* total_weight);

}  // namespace kernels

}  // namespace gradwright
