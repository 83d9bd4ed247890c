// What reductions and scans go through.
//
// The dimensions of an array are sorted by their strides, as NumPy does it, and neighbours that are one in memory are
// joined. Where the innermost one is reduced ("rows"), each result is computed on its own. Where it is kept ("columns"),
// whole rows are added to a row of results, which stays in the cache.

#pragma once

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "views.hpp"

namespace gradwright::reducing {

// Each file has its own, so that compilers know all callers.
namespace {

struct Axis {
  npy_intp size;
  npy_intp in, out;  // steps, in elements
};

// To go along where nothing is reduced.
inline constexpr Axis kNoAxis = {1, 0, 0};

struct Axes {
  Axis items[NPY_MAXDIMS];
  int count = 0;

  void add(const Axis& axis) { items[count++] = axis; }
  const Axis& last() const { return items[count - 1]; }
  npy_intp total() const {
    npy_intp product = 1;
    for (int i = 0; i < count; ++i) product *= items[i].size;
    return product;
  }
};

// Elements that sums in pairs take one by one.
inline constexpr npy_intp kFew = 7;

// Outermost dimensions first.
struct Layout {
  Axes kept;
  Axes outer;  // reduced, outside of a kept one
  Axes inner;  // reduced, inside of all kept ones: none where the innermost dimension is kept
  npy_intp outputs = 1;
  npy_intp count = 1;  // elements in each result
  bool columns() const { return inner.count == 0 && kept.count > 0; }

  // Many rows of a few elements as a few long rows, which lie in steps: going to the next row would cost more than its
  // elements. So few are added one after the other either way.
  void turn_narrow_rows() {
    if (outer.count > 0 || inner.count != 1 || inner.items[0].size > kFew || kept.count == 0) return;
    if (kept.last().size >= 2 * kFew) std::swap(outer, inner);
  }
};

// Which dimensions are reduced.
struct Dims {
  bool reduced[NPY_MAXDIMS];
  bool all;
};

// False: no dimension, or one that is there already. The Python kernel says so.
inline bool add_dim(PyObject* item, int ndim, Dims& dims) {
  const int dim = detail::read_dim(item, ndim);
  if (dim < 0 || dims.reduced[dim]) return false;
  return dims.reduced[dim] = true;
}

// False: neither None nor dimensions, none of them twice.
inline bool read_dims(PyObject* dim, int ndim, Dims& dims) {
  const bool none = dim == Py_None || (PyTuple_CheckExact(dim) && PyTuple_GET_SIZE(dim) == 0);
  std::fill_n(dims.reduced, std::max(ndim, 1), none);
  dims.all = none || ndim == 0;
  if (none) return true;
  if (!PyTuple_CheckExact(dim)) return add_dim(dim, ndim, dims);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dim); ++i) {
    if (!add_dim(PyTuple_GET_ITEM(dim, i), ndim, dims)) return false;
  }
  dims.all = dims.all || std::all_of(dims.reduced, dims.reduced + ndim, [](bool one) { return one; });
  return true;
}

// The dimensions from the outermost to the innermost in memory; `places` has room for all.
inline void sort_dims(PyArrayObject* array, int* places) {
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

// A result for the dimensions that are kept, in the order of memory of `array`.
inline Ref new_result(PyArrayObject* array, const Dims& dims, bool keepdim, const int* places) {
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

// What a loop over `array` into `result` goes through; nothing where elements are not in their places.
inline bool plan(PyArrayObject* array, PyArrayObject* result, const Dims& dims, bool keepdim, const int* places,
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

// -- going through it

// Calls visit(in, out) for the elements [begin, end) of some axes, counted from the outermost on: how far each is away.
template <class Visit>
void each(const Axis* axes, int count, npy_intp begin, npy_intp end, Visit visit) {
  npy_intp index[NPY_MAXDIMS], in = 0, out = 0, rest = begin;
  for (int i = count - 1; i >= 0; --i) {
    index[i] = rest % axes[i].size;
    rest /= axes[i].size;
    in += index[i] * axes[i].in;
    out += index[i] * axes[i].out;
  }
  for (npy_intp place = begin; place < end; ++place) {
    visit(in, out);
    for (int i = count - 1; i >= 0; --i) {
      in += axes[i].in;
      out += axes[i].out;
      if (++index[i] < axes[i].size) break;
      in -= index[i] * axes[i].in;
      out -= index[i] * axes[i].out;
      index[i] = 0;
    }
  }
}

// Results in one row of columns that are computed together: they stay in the first cache.
inline constexpr npy_intp kColumns = 1024;

// How many of something that takes `work` elements of work each are worth a thread.
inline npy_intp grain_for(npy_intp work) { return std::max<npy_intp>(1, kGrain / std::max<npy_intp>(work, 1)); }

// column(in, out, width) for pieces of rows of columns, at most `most` of them, wherever they are; on several threads.
template <class Columns>
void each_columns(const Layout& layout, Columns columns, npy_intp most = kColumns) {
  const Axis& row = layout.kept.last();
  const npy_intp pieces = (row.size + most - 1) / most, rows = layout.outputs / row.size;
  const npy_intp grain = grain_for(layout.count * std::min(row.size, most));
  parallel_for(rows * pieces, grain, [&](npy_intp begin, npy_intp end) {
    npy_intp piece = begin % pieces;
    for (npy_intp place = begin; place < end;) {
      // All pieces that are left of this row.
      const npy_intp until = std::min(pieces, piece + end - place);
      each(layout.kept.items, layout.kept.count - 1, place / pieces, place / pieces + 1,
           [&](npy_intp in, npy_intp out) {
             for (npy_intp i = piece; i < until; ++i) {
               const npy_intp first = i * most;
               columns(in + first * row.in, out + first * row.out, std::min(most, row.size - first));
             }
           });
      place += until - piece;
      piece = 0;
    }
  });
}

// -- from Tensors

// Whether a result over nothing is an error, or a matter for the Python kernel.
enum class Empty { kAllowed, kDeclined };

// A reduction of floats to floats. `work(layout, in, out)` runs it, for either type, without the GIL where it is long.
template <class Work>
Ref run(PyObject* tensor, PyObject* dim, PyObject* keepdim, Empty empty, Work work) {
  PyArrayObject* array = array_of(tensor);
  const Kind kind = kind_of(array);
  Dims dims;
  if (kind == Kind::kNone || !PyArray_ISALIGNED(array) || !PyBool_Check(keepdim)) return Ref();
  if (!read_dims(dim, PyArray_NDIM(array), dims)) return Ref();
  if (empty == Empty::kDeclined && PyArray_SIZE(array) == 0) return Ref();
  int places[NPY_MAXDIMS];
  sort_dims(array, places);
  Ref result = new_result(array, dims, keepdim == Py_True, places);
  Layout layout;
  if (!result || !plan(array, as_ndarray(result), dims, keepdim == Py_True, places, layout)) return Ref();
  layout.turn_narrow_rows();
  const auto held = hold(array);
  const bool done = run_long(layout.outputs * layout.count > kGrain, [&] {
    for_kind(kind, [&]<class T>(T) { work(layout, elements<const T>(array), elements<T>(as_ndarray(result))); });
  });
  return done ? std::move(result) : Ref();
}

}  // namespace

}  // namespace gradwright::reducing
