// Small matrices of a batch one after the other, where a call of LAPACK for each costs more than its arithmetic; see
// runtime/operators/kernels/_matrices.py.

#pragma once

#include "core.hpp"

namespace gradwright {

// factor_matrices(matrices, pivots, info), solve_factors(factors, pivots, sides, transposed) and
// solve_triangles(triangles, sides, lower, unit), as methods of the module: they write what they are given.
PyObject* factor_matrices(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* solve_factors(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* solve_triangles(PyObject*, PyObject* const* args, Py_ssize_t count);

}  // namespace gradwright
