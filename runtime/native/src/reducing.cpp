#include "reducing.hpp"

#include <cstdlib>

namespace gradwright::reducing {

bool read_dim(PyObject* item, int ndim, Dims& dims) {
  if (!PyLong_CheckExact(item)) return false;
  int overflow;
  long dim = PyLong_AsLongAndOverflow(item, &overflow);
  const int size = std::max(ndim, 1);
  if (overflow != 0 || dim < -size || dim >= size) return false;
  if (dim < 0) dim += size;
  if (dims.reduced[dim]) return false;
  dims.reduced[dim] = true;
  return true;
}

bool read_dims(PyObject* dim, int ndim, Dims& dims) {
  const bool none = dim == Py_None || (PyTuple_CheckExact(dim) && PyTuple_GET_SIZE(dim) == 0);
  std::fill_n(dims.reduced, std::max(ndim, 1), none);
  dims.all = none || ndim == 0;
  if (none) return true;
  if (!PyTuple_CheckExact(dim)) return read_dim(dim, ndim, dims);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dim); ++i) {
    if (!read_dim(PyTuple_GET_ITEM(dim, i), ndim, dims)) return false;
  }
  dims.all = dims.all || std::all_of(dims.reduced, dims.reduced + ndim, [](bool one) { return one; });
  return true;
}

void sort_dims(PyArrayObject* array, int* places) {
  const int ndim = PyArray_NDIM(array);
  const npy_intp* strides = PyArray_STRIDES(array);
  for (int i = 0; i < ndim; ++i) places[i] = i;
  if (PyArray_IS_C_CONTIGUOUS(array)) return;
  // A stable sort in which dimensions without a stride stay where they are, and do not part the others.
  for (int i = ndim - 2; i >= 0; --i) {
    const int moved = places[i];
    const npy_intp stride = PyArray_DIM(array, moved) == 1 ? 0 : std::abs(strides[moved]);
    int to = i;
    for (int k = i + 1; k < ndim && stride != 0; ++k) {
      const npy_intp other = PyArray_DIM(array, places[k]) == 1 ? 0 : std::abs(strides[places[k]]);
      if (other == 0) continue;
      if (other <= stride) break;
      to = k;
    }
    for (int k = i; k < to; ++k) places[k] = places[k + 1];
    places[to] = moved;
  }
}

Ref new_result(PyArrayObject* array, const Dims& dims, bool keepdim, const int* places) {
  PyArray_Descr* dtype = PyArray_DESCR(array);
  npy_intp sizes[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  int where[NPY_MAXDIMS];  // of a dimension of `array` in the result
  int ndim = 0;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    where[i] = ndim;
    if (!dims.reduced[i]) {
      sizes[ndim++] = PyArray_DIM(array, i);
    } else if (keepdim) {
      sizes[ndim++] = 1;
    }
  }
  const bool plain = PyArray_IS_C_CONTIGUOUS(array) || ndim < 2;
  if (!plain) {
    npy_intp stride = PyDataType_ELSIZE(dtype);
    for (int i = PyArray_NDIM(array) - 1; i >= 0; --i) {
      if (dims.reduced[places[i]] && !keepdim) continue;
      const int dim = where[places[i]];
      strides[dim] = stride;
      stride *= std::max<npy_intp>(sizes[dim], 1);
    }
  }
  Py_INCREF(dtype);
  return new_array(dtype, ndim, sizes, plain ? nullptr : strides);
}

bool plan(PyArrayObject* array, PyArrayObject* result, const Dims& dims, bool keepdim, const int* places,
          Layout& layout) {
  const npy_intp item = PyArray_ITEMSIZE(array), item_out = PyArray_ITEMSIZE(result);
  npy_intp steps[NPY_MAXDIMS];  // in the result
  int ndim = 0;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_STRIDE(array, i) % item != 0) return false;
    steps[i] = dims.reduced[i] ? 0 : PyArray_STRIDE(result, ndim) / item_out;
    if (!dims.reduced[i] || keepdim) ++ndim;
  }
  Axes joined;
  bool reduced[NPY_MAXDIMS];
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    const int dim = places[i];
    const Axis axis = {PyArray_DIM(array, dim), PyArray_STRIDE(array, dim) / item, steps[dim]};
    (dims.reduced[dim] ? layout.count : layout.outputs) *= axis.size;
    if (axis.size == 1) continue;
    Axis* before = joined.count == 0 ? nullptr : &joined.items[joined.count - 1];
    if (before != nullptr && reduced[joined.count - 1] == dims.reduced[dim] && before->in == axis.in * axis.size &&
        before->out == axis.out * axis.size) {
      *before = {before->size * axis.size, axis.in, axis.out};
    } else {
      reduced[joined.count] = dims.reduced[dim];
      joined.add(axis);
    }
  }
  int inner = joined.count;
  while (inner > 0 && reduced[inner - 1]) --inner;
  for (int i = 0; i < joined.count; ++i) {
    (i >= inner ? layout.inner : reduced[i] ? layout.outer : layout.kept).add(joined.items[i]);
  }
  return true;
}

}  // namespace gradwright::reducing
