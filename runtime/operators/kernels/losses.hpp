// Losses of each element by itself, and their gradients: native loops over float32 and float64 for what
// runtime/operators/kernels/loss.py does, under the same names.
//
// They take Tensors and give arrays, and decline (null, no exception) whatever is unusual, as the loops of kernels.hpp do.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref smooth_l1_loss(PyObject* self, PyObject* target, PyObject* reduction, PyObject* beta);
Ref smooth_l1_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* reduction,
                            PyObject* beta);
Ref huber_loss(PyObject* self, PyObject* target, PyObject* reduction, PyObject* delta);
Ref huber_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* reduction, PyObject* delta);
Ref soft_margin_loss(PyObject* self, PyObject* target, PyObject* reduction);
Ref soft_margin_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* reduction);

}  // namespace kernels

}  // namespace gradwright
