// Where numbers lie between edges; see runtime/operators/kernels/statistics.py.

#pragma once

#include "core.hpp"

namespace gradwright {

// find_bins(values, edges, places), as a method of the module: it writes the places.
PyObject* find_bins(PyObject*, PyObject* const* args, Py_ssize_t count);

}  // namespace gradwright
