// Random numbers: what runtime/base/mersenne.py and runtime/operators/kernels/_gaussian.py describe, to the last bit.

#pragma once

#include "core.hpp"

namespace gradwright {

// Functions of the module, with the parameters of the Python functions in their order. They raise what wrong arrays are.

// Fills an array with the words of a source: whole ones in uint32 and uint64, numbers in [0, 1) in float32 and float64.
PyObject* draw_words(PyObject*, PyObject* const* args, Py_ssize_t count);
// Puts normal numbers in place of uniform ones in float32.
PyObject* turn_to_normal(PyObject*, PyObject* const* args, Py_ssize_t count);
// Exchanges each element with the one at the place that stands beside it.
PyObject* exchange(PyObject*, PyObject* const* args, Py_ssize_t count);
// Places in rows of weights, for uniform numbers.
PyObject* pick_by_weights(PyObject*, PyObject* const* args, Py_ssize_t count);

}  // namespace gradwright
