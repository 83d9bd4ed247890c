// Steps of optimizers on arrays: what runtime/optim/arrays.py describes, in one pass over the memory.

#pragma once

#include "core.hpp"

namespace gradwright {

// Functions of the module, with the parameters of the Python functions in their order. They give True where the step was
// done, and False where Python is to do it: other element types than float32 and float64, arrays that are not contiguous.
PyObject* sgd_step(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* adam_step(PyObject*, PyObject* const* args, Py_ssize_t count);

}  // namespace gradwright
