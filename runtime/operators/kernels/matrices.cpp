#include "matrices.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "contiguous.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

using contiguous::run_for;

// LU with the exchange of rows, as LAPACK's getf2: L below the diagonal, U above, pivots counted from 1. Gives the place of
// the first pivot that is zero, else 0.
template <class T>
int factor(T* a, npy_intp rows, npy_intp columns, int* pivots) {
  int zero = 0;
  for (npy_intp k = 0; k < std::min(rows, columns); ++k) {
    npy_intp best = k;
    for (npy_intp i = k + 1; i < rows; ++i) {
      if (std::fabs(a[i * columns + k]) > std::fabs(a[best * columns + k])) best = i;
    }
    pivots[k] = static_cast<int>(best) + 1;
    T* row = a + k * columns;
    if (row[best * columns - k * columns + k] == 0) {
      if (zero == 0) zero = static_cast<int>(k) + 1;
      continue;
    }
    if (best != k) std::swap_ranges(row, row + columns, a + best * columns);
    // LAPACK multiplies by the reciprocal, but where it is infinite.
    const T reciprocal = 1 / row[k];
    const bool divides = std::isinf(reciprocal);
    for (npy_intp i = k + 1; i < rows; ++i) {
      T* below = a + i * columns;
      const T multiple = below[k] = divides ? below[k] / row[k] : below[k] * reciprocal;
      for (npy_intp j = k + 1; j < columns; ++j) below[j] -= multiple * row[j];
    }
  }
  return zero;
}

// A square matrix, as it lies or transposed.
template <class T>
struct Square {
  const T* data;
  npy_intp size, row, column;  // steps

  Square(const T* from, npy_intp size, bool transposed)
      : data(from), size(size), row(transposed ? 1 : size), column(transposed ? size : 1) {}
  T at(npy_intp i, npy_intp j) const { return data[i * row + j * column]; }
};

// x = inverse(a) x, column by column; one triangle of `a` is read.
template <class T>
void solve(const Square<T>& a, bool lower, bool unit, T* x, npy_intp width) {
  for (npy_intp step = 0; step < a.size; ++step) {
    const npy_intp i = lower ? step : a.size - 1 - step, first = lower ? 0 : i + 1, last = lower ? i : a.size;
    T* row = x + i * width;
    for (npy_intp j = first; j < last; ++j) {
      const T multiple = a.at(i, j);
      const T* known = x + j * width;
      for (npy_intp k = 0; k < width; ++k) row[k] -= multiple * known[k];
    }
    if (unit) continue;
    const T pivot = a.at(i, i);
    for (npy_intp k = 0; k < width; ++k) row[k] /= pivot;
  }
}

// The same for a matrix whose rows were exchanged before it was factored.
template <class T>
void solve_factored(const Square<T>& lu, const int* pivots, bool transposed, T* x, npy_intp width) {
  const auto exchange = [=](npy_intp k) {
    T *row = x + k * width, *other = x + (pivots[k] - 1) * width;
    if (row != other) std::swap_ranges(row, row + width, other);
  };
  if (transposed) {
    solve(lu, true, false, x, width);
    solve(lu, false, true, x, width);
    for (npy_intp k = lu.size - 1; k >= 0; --k) exchange(k);
  } else {
    for (npy_intp k = 0; k < lu.size; ++k) exchange(k);
    solve(lu, true, true, x, width);
    solve(lu, false, false, x, width);
  }
}

PyArrayObject* batch_of(PyObject* object, int type, int ndim) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (PyArray_CheckExact(object) && PyArray_NDIM(array) == ndim && is_dense(array) && PyArray_ISWRITEABLE(array) &&
      (type < 0 ? kind_of(array) != Kind::kNone : PyArray_TYPE(array) == type)) {
    return array;
  }
  PyErr_SetString(PyExc_TypeError, "expected a batch of matrices, dense and of a known element type");
  return nullptr;
}

bool has_shape(PyArrayObject* array, std::initializer_list<npy_intp> dims) {
  return std::equal(dims.begin(), dims.end(), PyArray_DIMS(array));
}

PyObject* refuse() {
  PyErr_SetString(PyExc_ValueError, "the shapes of a batch do not belong together");
  return nullptr;
}

npy_intp grain_of(npy_intp work) { return std::max<npy_intp>(1, kGrain / std::max<npy_intp>(1, work)); }

}  // namespace

PyObject* factor_matrices(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!has_count(count, 3)) return nullptr;
  PyArrayObject* matrices = batch_of(args[0], -1, 3);
  PyArrayObject* pivots = matrices ? batch_of(args[1], NPY_INT32, 2) : nullptr;
  PyArrayObject* info = pivots ? batch_of(args[2], NPY_INT32, 1) : nullptr;
  if (info == nullptr) return nullptr;
  const npy_intp many = PyArray_DIM(matrices, 0), rows = PyArray_DIM(matrices, 1), columns = PyArray_DIM(matrices, 2);
  const npy_intp rank = std::min(rows, columns);
  if (!has_shape(pivots, {many, rank}) || !has_shape(info, {many})) return refuse();
  const auto held = hold(matrices, pivots, info);
  const bool done = run_for(kind_of(matrices), PyArray_SIZE(matrices) * rank, [&]<class T>(T) {
    parallel_for(many, grain_of(rows * columns * rank), [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) {
        elements<int>(info)[i] =
            factor(elements<T>(matrices) + i * rows * columns, rows, columns, elements<int>(pivots) + i * rank);
      }
    });
  });
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

PyObject* solve_factors(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!has_count(count, 4)) return nullptr;
  PyArrayObject* factors = batch_of(args[0], -1, 3);
  PyArrayObject* pivots = factors ? batch_of(args[1], NPY_INT32, 2) : nullptr;
  PyArrayObject* sides = pivots ? batch_of(args[2], PyArray_TYPE(factors), 3) : nullptr;
  if (sides == nullptr) return nullptr;
  const npy_intp many = PyArray_DIM(sides, 0), size = PyArray_DIM(sides, 1), width = PyArray_DIM(sides, 2);
  if (!has_shape(factors, {many, size, size}) || !has_shape(pivots, {many, size})) return refuse();
  const int* places = elements<const int>(pivots);
  if (!std::all_of(places, places + many * size, [=](int place) { return place >= 1 && place <= size; })) {
    return refuse();
  }
  const int transposed = PyObject_IsTrue(args[3]);
  if (transposed < 0) return nullptr;
  const auto held = hold(factors, pivots, sides);
  const bool done = run_for(kind_of(sides), PyArray_SIZE(sides) * size, [&]<class T>(T) {
    parallel_for(many, grain_of(size * size * width), [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) {
        const Square<T> lu(elements<const T>(factors) + i * size * size, size, transposed != 0);
        solve_factored(lu, places + i * size, transposed != 0, elements<T>(sides) + i * size * width, width);
      }
    });
  });
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

PyObject* solve_triangles(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!has_count(count, 4)) return nullptr;
  PyArrayObject* triangles = batch_of(args[0], -1, 3);
  PyArrayObject* sides = triangles ? batch_of(args[1], PyArray_TYPE(triangles), 3) : nullptr;
  if (sides == nullptr) return nullptr;
  const npy_intp many = PyArray_DIM(sides, 0), size = PyArray_DIM(sides, 1), width = PyArray_DIM(sides, 2);
  if (!has_shape(triangles, {many, size, size})) return refuse();
  const int lower = PyObject_IsTrue(args[2]), unit = lower < 0 ? -1 : PyObject_IsTrue(args[3]);
  if (unit < 0) return nullptr;
  const auto held = hold(triangles, sides);
  const bool done = run_for(kind_of(sides), PyArray_SIZE(sides) * size, [&]<class T>(T) {
    parallel_for(many, grain_of(size * size * width), [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) {
        const Square<T> triangle(elements<const T>(triangles) + i * size * size, size, false);
        solve(triangle, lower != 0, unit != 0, elements<T>(sides) + i * size * width, width);
      }
    });
  });
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

}  // namespace gradwright
