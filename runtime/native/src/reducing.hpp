// What reductions and scans go through.
//
// The dimensions of an array are sorted by their strides, as NumPy does it, and neighbours that are one in memory are
// joined. Where the innermost one is reduced ("rows"), each result is computed on its own. Where it is kept ("columns"),
// whole rows are added to a row of results, which stays in the cache.

#pragma once

#include <algorithm>

#include "core.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace gradwright::reducing {

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

// Outermost dimensions first.
struct Layout {
  Axes kept;
  Axes outer;  // reduced, outside of a kept one
  Axes inner;  // reduced, inside of all kept ones: none where the innermost dimension is kept
  npy_intp outputs = 1;
  npy_intp count = 1;  // elements in each result
  bool columns() const { return inner.count == 0 && kept.count > 0; }
};

// Which dimensions are reduced.
struct Dims {
  bool reduced[NPY_MAXDIMS];
  bool all;
};

// False: no list of ints that fit, or one that names a dimension twice. The Python kernel says so.
bool read_dim(PyObject* item, int ndim, Dims& dims);
bool read_dims(PyObject* dim, int ndim, Dims& dims);

// The dimensions from the outermost to the innermost in memory; `places` has room for all.
void sort_dims(PyArrayObject* array, int* places);

// A result for the dimensions that are kept, in the order of memory of `array`.
Ref new_result(PyArrayObject* array, const Dims& dims, bool keepdim, const int* places);

// What a loop over `array` into `result` goes through; nothing where elements are not in their places.
bool plan(PyArrayObject* array, PyArrayObject* result, const Dims& dims, bool keepdim, const int* places,
          Layout& layout);

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

template <class T>
T* data(PyArrayObject* array) {
  return static_cast<T*>(PyArray_DATA(array));
}

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
  const auto held = hold(array);
  const bool done = run_long(layout.outputs * layout.count > kGrain, [&] {
    if (kind == Kind::kFloat32) {
      work(layout, data<const float>(array), data<float>(as_ndarray(result)));
    } else {
      work(layout, data<const double>(array), data<double>(as_ndarray(result)));
    }
  });
  return done ? std::move(result) : Ref();
}

}  // namespace gradwright::reducing
