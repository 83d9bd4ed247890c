// Reductions.
//
// The dimensions of an array are sorted by their strides, as NumPy does it, and neighbours that are one in memory are
// joined. Where the innermost one is reduced ("rows"), each result is computed on its own. Where it is kept ("columns"),
// whole rows are added to a row of results, which stays in the cache.

#include "reductions.hpp"

#include "kernels.hpp"
#include "levels.hpp"
#include "memory.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradwright {

namespace {

// -- what is reduced

struct Axis {
  npy_intp size;
  npy_intp in, out;  // steps, in elements
};

// To go along where nothing is reduced.
constexpr Axis kNoAxis = {1, 0, 0};

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

// The dimensions from the outermost to the innermost in memory; `places` has room for all.
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

// A result for the dimensions that are kept, in the order of memory of `array`.
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

// What a loop over `array` into `result` goes through; nothing where elements are not in their places.
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
constexpr npy_intp kColumns = 1024;

// How many of something that takes `work` elements of work each are worth a thread.
npy_intp grain_for(npy_intp work) { return std::max<npy_intp>(1, kGrain / std::max<npy_intp>(work, 1)); }

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

// -- folds: start, what rows and columns do, and what is made of the outcome

struct Itself {
  template <class T>
  static GRADWRIGHT_INLINE T one(T value) {
    return value;
  }
  template <class T>
  static T dense(const T* in, npy_intp size) {
    return sum_dense(in, size);
  }
};
struct Square {
  template <class T>
  static GRADWRIGHT_INLINE T one(T value) {
    return value * value;
  }
  template <class T>
  static T dense(const T* in, npy_intp size) {
    return dot_dense(in, in, size);
  }
};

// What Of makes of elements, added up.
template <class Of>
struct SumOf {
  template <class T>
  static T start() {
    return T(0);
  }
  // The sum of `term` of the elements over some axes, in pairs along each.
  template <class T, class Term>
  static T over(const T* in, const Axis* axes, int count, Term term) {
    const npy_intp size = axes->size, step = axes->in;
    if (count > 1) {
      return along<T>(size, grain_for(axes[1].size),
                      [=](npy_intp i) { return over(in + i * step, axes + 1, count - 1, term); });
    }
    if (step == 1) return along<T>(size, kGrain, [=](npy_intp i) { return term(in[i]); });
    return along<T>(size, kGrain, [=](npy_intp i) { return term(in[i * step]); });
  }
  template <class T>
  static T over(const T* in, const Axis* axes, int count) {
    if (count > 1) {
      return along<T>(axes->size, grain_for(axes[1].size),
                      [=](npy_intp i) { return over(in + i * axes->in, axes + 1, count - 1); });
    }
    if (axes->in != 1) return over(in, axes, 1, [](T value) { return Of::one(value); });
    return parallel_pairwise<T>(axes->size, kGrain,
                                [=](npy_intp begin, npy_intp size) { return Of::dense(in + begin, size); });
  }
  template <class T, class Load>
  static T along(npy_intp size, npy_intp grain, const Load& load) {
    return parallel_pairwise<T>(size, grain,
                                [&](npy_intp begin, npy_intp part) { return pairwise<T>(begin, part, load); });
  }
  template <class T>
  static T rows(T sum, const T* in, const Axis* axes, int count) {
    return sum + over(in, axes, count);
  }
  template <class T>
  static GRADWRIGHT_INLINE T column(T sum, T value) {
    return sum + Of::one(value);
  }
  template <class T>
  static T end(T sum, npy_intp) {
    return sum;
  }
};

using Sum = SumOf<Itself>;

struct Norm : SumOf<Square> {
  template <class T>
  static T end(T sum, npy_intp) {
    return std::sqrt(sum);
  }
};

struct Mean : Sum {
  template <class T>
  static T end(T sum, npy_intp count) {
    return sum / static_cast<T>(count);
  }
};

struct Product {
  template <class T>
  static T start() {
    return T(1);
  }
  template <class T>
  static T rows(T product, const T* in, const Axis* axes, int count) {
    for (npy_intp i = 0; i < axes->size; ++i, in += axes->in) {
      product = count > 1 ? rows(product, in, axes + 1, count - 1) : product * *in;
    }
    return product;
  }
  template <class T>
  static GRADWRIGHT_INLINE T column(T product, T value) {
    return product * value;
  }
  template <class T>
  static T end(T product, npy_intp) {
    return product;
  }
};

// `largest`: the maximum, else the minimum; NaN where there is one.
template <bool largest>
struct Extremum {
  template <class T>
  static T start() {
    return largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  }
  template <class T>
  static GRADWRIGHT_INLINE bool beats(T a, T b) {
    return largest ? a > b : a < b;
  }
  template <class T>
  static GRADWRIGHT_INLINE T column(T best, T value) {
    return beats(value, best) || value != value ? value : best;
  }
  template <class T>
  static T rows(T best, const T* in, const Axis* axes, int count) {
    if (count == 1 && axes->in == 1) return column(best, run_best<ExtremeElement<largest>>(in, axes->size));
    for (npy_intp i = 0; i < axes->size; ++i, in += axes->in) {
      best = count > 1 ? rows(best, in, axes + 1, count - 1) : column(best, *in);
    }
    return best;
  }
  template <class T>
  static T end(T best, npy_intp) {
    return best;
  }
};

using Maximum = Extremum<true>;
using Minimum = Extremum<false>;

// -- the loops

// Rows `distance` apart go into a row of results, one after the other.
template <class Fold>
struct AddRows {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* row, npy_intp count, npy_intp distance, npy_intp step, npy_intp width,
                                    T* results) {
    npy_intp i = 0;
    if (step == 1) {  // four rows at a time: results are read and written less often
      for (; i + 4 <= count; i += 4, row += 4 * distance) {
        const T *a = row, *b = a + distance, *c = b + distance, *d = c + distance;
        for (npy_intp k = 0; k < width; ++k) {
          results[k] = Fold::column(Fold::column(Fold::column(Fold::column(results[k], a[k]), b[k]), c[k]), d[k]);
        }
      }
      for (; i < count; ++i, row += distance) {
        for (npy_intp k = 0; k < width; ++k) results[k] = Fold::column(results[k], row[k]);
      }
    }
    for (; i < count; ++i, row += distance) {
      for (npy_intp k = 0; k < width; ++k) results[k] = Fold::column(results[k], row[k * step]);
    }
  }
};

// All rows, in their order, go into a row of results.
template <class Fold, class T>
void fold_columns(const Layout& layout, const T* in, npy_intp width, T* results) {
  std::fill_n(results, width, Fold::template start<T>());
  const Axes& outer = layout.outer;
  const Axis& axis = outer.count == 0 ? kNoAxis : outer.last();
  each(outer.items, std::max(outer.count - 1, 0), 0, layout.count / axis.size, [&](npy_intp offset, npy_intp) {
    run_best<AddRows<Fold>>(in + offset, axis.size, axis.in, layout.kept.last().in, width, results);
  });
}

// visit(offset, axes, count) for the groups of neighbours that make up one result of rows.
template <class Visit>
void each_group(const Layout& layout, Visit visit) {
  const bool any = layout.inner.count > 0;
  each(layout.outer.items, layout.outer.count, 0, layout.outer.total(), [&](npy_intp offset, npy_intp) {
    visit(offset, any ? layout.inner.items : &kNoAxis, any ? layout.inner.count : 1);
  });
}

// One result of rows.
template <class Fold, class T>
T fold_rows(const Layout& layout, const T* in) {
  T result = Fold::template start<T>();
  if (layout.count == 0) return result;
  each_group(layout, [&](npy_intp offset, const Axis* axes, int count) {
    result = Fold::rows(result, in + offset, axes, count);
  });
  return result;
}

template <class Fold, class T>
void reduce(const Layout& layout, const T* in, T* out) {
  if (layout.outputs == 0) return;
  if (layout.columns() && layout.count > 0) {
    each_columns(layout, [&](npy_intp offset, npy_intp to, npy_intp width) {
      T results[kColumns];
      const npy_intp step = layout.kept.last().out;
      fold_columns<Fold>(layout, in + offset, width, results);
      for (npy_intp k = 0; k < width; ++k) out[to + k * step] = Fold::end(results[k], layout.count);
    });
    return;
  }
  parallel_for(layout.outputs, grain_for(layout.count), [&](npy_intp begin, npy_intp end) {
    each(layout.kept.items, layout.kept.count, begin, end, [&](npy_intp offset, npy_intp to) {
      out[to] = Fold::end(fold_rows<Fold>(layout, in + offset), layout.count);
    });
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

template <class Fold>
Ref fold(PyObject* tensor, PyObject* dim, PyObject* keepdim, Empty empty = Empty::kAllowed) {
  return run(tensor, dim, keepdim, empty,
             [](const Layout& layout, const auto* in, auto* out) { reduce<Fold>(layout, in, out); });
}

// Everything, into one number; the usual case is a few elements in one piece.
template <class Fold>
Ref fold_all(PyObject* tensor, Empty empty = Empty::kAllowed) {
  PyArrayObject* array = array_of(tensor);
  const Kind kind = kind_of(array);
  const npy_intp size = PyArray_SIZE(array);
  if (kind == Kind::kNone || size == 0 || size > kGrain || !PyArray_IS_C_CONTIGUOUS(array) ||
      !PyArray_ISALIGNED(array)) {
    return fold<Fold>(tensor, Py_None, Py_False, empty);
  }
  Ref result = new_array_of(array, 0, nullptr);
  if (!result) return result;
  const Axis axis = {size, 1, 0};
  const auto work = [&]<class T>(const T* in, T* out) {
    *out = Fold::end(Fold::rows(Fold::template start<T>(), in, &axis, 1), size);
  };
  if (kind == Kind::kFloat32) {
    work(data<const float>(array), data<float>(as_ndarray(result)));
  } else {
    work(data<const double>(array), data<double>(as_ndarray(result)));
  }
  return result;
}

// -- extrema with their places

// Where an extremum is: that of the first NaN if there is one. Other threads may write to the array meanwhile; the place is
// one in it all the same.
template <class Fold, class T>
npy_intp find_extremum(const T* in, const Axis& axis) {
  const T best = Fold::rows(Fold::template start<T>(), in, &axis, 1);
  for (npy_intp place = 0; place < axis.size; ++place) {
    const T value = in[place * axis.in];
    if (value == best || value != value) return place;
  }
  return 0;
}

template <class Fold>
Ref extremum_along(PyObject* tensor, PyObject* dim, PyObject* keepdim) {
  if (!PyLong_CheckExact(dim)) return Ref();
  Ref values = fold<Fold>(tensor, dim, keepdim, Empty::kDeclined);
  if (!values) return values;
  Ref indices = new_array(NPY_INT64, PyArray_NDIM(as_ndarray(values)), PyArray_DIMS(as_ndarray(values)));
  if (!indices) return indices;
  PyArrayObject* array = array_of(tensor);
  Dims dims;
  read_dims(dim, PyArray_NDIM(array), dims);
  int places[NPY_MAXDIMS];
  sort_dims(array, places);
  Layout layout;
  plan(array, as_ndarray(indices), dims, keepdim == Py_True, places, layout);
  const Axis& axis = layout.inner.count > 0   ? layout.inner.items[0]
                     : layout.outer.count > 0 ? layout.outer.items[0]
                                              : kNoAxis;
  const auto work = [&]<class T>(const T* in, npy_int64* out) {
    parallel_for(layout.outputs, grain_for(layout.count), [&](npy_intp begin, npy_intp end) {
      each(layout.kept.items, layout.kept.count, begin, end,
           [&](npy_intp offset, npy_intp to) { out[to] = find_extremum<Fold>(in + offset, axis); });
    });
  };
  const auto held = hold(array);
  const bool done = run_long(layout.outputs * layout.count > kGrain, [&] {
    if (kind_of(array) == Kind::kFloat32) {
      work(data<const float>(array), data<npy_int64>(as_ndarray(indices)));
    } else {
      work(data<const double>(array), data<npy_int64>(as_ndarray(indices)));
    }
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(2, values.get(), indices.get()));
}

// -- variance: sums of what the elements are above the first one, so that equal elements have a variance of exactly 0

template <class T>
T variance_of_rows(const Layout& layout, const T* in, T freedom) {
  const T first = *in;
  T sum = 0, squares = 0;
  each_group(layout, [&](npy_intp offset, const Axis* axes, int count) {
    sum += Sum::over(in + offset, axes, count, [=](T value) { return value - first; });
  });
  const T mean = sum / static_cast<T>(layout.count);
  each_group(layout, [&](npy_intp offset, const Axis* axes, int count) {
    squares += Sum::over(in + offset, axes, count, [=](T value) {
      const T away = (value - first) - mean;
      return away * away;
    });
  });
  return squares / freedom;
}

template <class T>
void variance_of_columns(const Layout& layout, const T* in, npy_intp width, T freedom, T* squares) {
  const npy_intp step = layout.kept.last().in;
  T mean[kColumns] = {};
  const auto each_row = [&](auto visit) {
    each(layout.outer.items, layout.outer.count, 0, layout.count,
         [&](npy_intp offset, npy_intp) { visit(in + offset); });
  };
  each_row([&](const T* row) {
    for (npy_intp k = 0; k < width; ++k) mean[k] += row[k * step] - in[k * step];
  });
  for (npy_intp k = 0; k < width; ++k) mean[k] /= static_cast<T>(layout.count);
  std::fill_n(squares, width, T(0));
  each_row([&](const T* row) {
    for (npy_intp k = 0; k < width; ++k) {
      const T away = (row[k * step] - in[k * step]) - mean[k];
      squares[k] += away * away;
    }
  });
  for (npy_intp k = 0; k < width; ++k) squares[k] /= freedom;
}

// What is taken from the number of elements; false where it is no plain number.
bool read_correction(PyObject* correction, double& value) {
  if (correction == Py_None) {
    value = 1;
  } else if (PyFloat_CheckExact(correction)) {
    value = PyFloat_AS_DOUBLE(correction);
  } else if (PyLong_CheckExact(correction)) {
    value = PyLong_AsDouble(correction);
    if (value == -1 && PyErr_Occurred()) PyErr_Clear(), value = NAN;
  } else {
    return false;
  }
  return std::isfinite(value);
}

// `finish` is the square root, or nothing.
template <class Finish>
Ref variance(PyObject* tensor, PyObject* dim, PyObject* correction, PyObject* keepdim, Finish finish) {
  double taken;
  if (!read_correction(correction, taken)) return Ref();
  return run(tensor, dim, keepdim, Empty::kDeclined, [&]<class T>(const Layout& layout, const T* in, T* out) {
    const T freedom = static_cast<T>(std::max(static_cast<double>(layout.count) - taken, 0.0));
    if (layout.columns()) {
      each_columns(layout, [&](npy_intp offset, npy_intp to, npy_intp width) {
        T results[kColumns];
        const npy_intp step = layout.kept.last().out;
        variance_of_columns(layout, in + offset, width, freedom, results);
        for (npy_intp k = 0; k < width; ++k) out[to + k * step] = finish(results[k]);
      });
      return;
    }
    parallel_for(layout.outputs, grain_for(layout.count), [&](npy_intp begin, npy_intp end) {
      each(layout.kept.items, layout.kept.count, begin, end, [&](npy_intp offset, npy_intp to) {
        out[to] = finish(variance_of_rows(layout, in + offset, freedom));
      });
    });
  });
}

// -- scans: each element with all before it along one dimension, one after the other

// `count` rows next to each other, which do not wait for each other.
template <class F, int count, class T>
void scan_rows(const T* in, const Axis& along, const Axis& across, T* out) {
  T results[count];
  for (int k = 0; k < count; ++k) out[k * across.out] = results[k] = in[k * across.in];
  for (npy_intp i = 1; i < along.size; ++i) {
    for (int k = 0; k < count; ++k) {
      results[k] = F::apply(results[k], in[i * along.in + k * across.in]);
      out[i * along.out + k * across.out] = results[k];
    }
  }
}

// A whole row at a time goes into the next one.
template <class F, class T>
void scan_columns(const T* in, const Axis& along, npy_intp step, npy_intp width, T* out) {
  for (npy_intp k = 0; k < width; ++k) out[k] = in[k * step];
  for (npy_intp i = 1; i < along.size; ++i) {
    in += along.in;
    const T* before = out;
    out += along.out;
    if (step == 1) {
      for (npy_intp k = 0; k < width; ++k) out[k] = F::apply(before[k], in[k]);
    } else {
      for (npy_intp k = 0; k < width; ++k) out[k] = F::apply(before[k], in[k * step]);
    }
  }
}

template <class F, class T>
void scan(const Layout& layout, const Axis& along, const T* in, T* out) {
  const Axis& across = layout.kept.last();
  if (layout.columns() && across.out == 1) {
    each_columns(layout, [&](npy_intp from, npy_intp to, npy_intp width) {
      scan_columns<F>(in + from, along, across.in, width, out + to);
    });
    return;
  }
  constexpr int together = 4;
  each_columns(layout, [&](npy_intp from, npy_intp to, npy_intp width) {
    npy_intp k = 0;
    for (; k + together <= width; k += together) {
      scan_rows<F, together>(in + from + k * across.in, along, across, out + to + k * across.out);
    }
    for (; k < width; ++k) scan_rows<F, 1>(in + from + k * across.in, along, across, out + to + k * across.out);
  }, 4 * together);
}

// Whether NumPy lays the result of a scan out as a copy of the array.
bool scans_like_copy(PyArrayObject* array) {
  if (PyArray_IS_C_CONTIGUOUS(array)) return true;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_DIM(array, i) == 1 || PyArray_STRIDE(array, i) == 0) return false;
  }
  return true;
}

template <class F>
Ref scan(PyObject* tensor, PyObject* dim) {
  PyArrayObject* array = array_of(tensor);
  const int ndim = PyArray_NDIM(array);
  const Kind kind = kind_of(array);
  Dims dims = {};
  if (kind == Kind::kNone || !PyArray_ISALIGNED(array) || ndim == 0 || PyArray_SIZE(array) == 0) return Ref();
  if (!PyLong_CheckExact(dim) || !read_dim(dim, ndim, dims) || !scans_like_copy(array)) return Ref();
  Ref result = new_array_like(array);
  if (!result) return result;
  int places[NPY_MAXDIMS];
  sort_dims(array, places);
  Layout layout;
  if (!plan(array, as_ndarray(result), dims, true, places, layout)) return Ref();
  if (layout.kept.count == 0) layout.kept.add(kNoAxis);
  const npy_intp item = PyArray_ITEMSIZE(array);
  const auto place = std::find(dims.reduced, dims.reduced + ndim, true) - dims.reduced;
  const Axis along = {PyArray_DIM(array, place), PyArray_STRIDE(array, place) / item,
                      PyArray_STRIDE(as_ndarray(result), place) / item};
  const auto held = hold(array);
  const bool done = run_long(PyArray_SIZE(array) > kGrain, [&] {
    if (kind == Kind::kFloat32) {
      scan<F>(layout, along, data<const float>(array), data<float>(as_ndarray(result)));
    } else {
      scan<F>(layout, along, data<const double>(array), data<double>(as_ndarray(result)));
    }
  });
  return done ? std::move(result) : Ref();
}

}  // namespace

namespace kernels {

Ref sum_all(PyObject* self, PyObject* dtype) { return dtype == Py_None ? fold_all<Sum>(self) : Ref(); }
Ref sum_dim(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype) {
  return dtype == Py_None ? fold<Sum>(self, dim, keepdim) : Ref();
}
Ref mean_all(PyObject* self, PyObject* dtype) { return dtype == Py_None ? fold_all<Mean>(self) : Ref(); }
Ref mean_dim(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype) {
  return dtype == Py_None ? fold<Mean>(self, dim, keepdim) : Ref();
}
Ref prod_all(PyObject* self, PyObject* dtype) { return dtype == Py_None ? fold_all<Product>(self) : Ref(); }
Ref prod_dim(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype) {
  return dtype == Py_None ? fold<Product>(self, dim, keepdim) : Ref();
}
Ref amax(PyObject* self, PyObject* dim, PyObject* keepdim) {
  return fold<Maximum>(self, dim, keepdim, Empty::kDeclined);
}
Ref amin(PyObject* self, PyObject* dim, PyObject* keepdim) {
  return fold<Minimum>(self, dim, keepdim, Empty::kDeclined);
}
Ref max_all(PyObject* self) { return fold_all<Maximum>(self, Empty::kDeclined); }
Ref min_all(PyObject* self) { return fold_all<Minimum>(self, Empty::kDeclined); }
Ref max_dim(PyObject* self, PyObject* dim, PyObject* keepdim) {
  return extremum_along<Maximum>(self, dim, keepdim);
}
Ref min_dim(PyObject* self, PyObject* dim, PyObject* keepdim) {
  return extremum_along<Minimum>(self, dim, keepdim);
}
Ref var(PyObject* self, PyObject* dim, PyObject* correction, PyObject* keepdim) {
  return variance(self, dim, correction, keepdim, [](auto value) { return value; });
}
Ref std(PyObject* self, PyObject* dim, PyObject* correction, PyObject* keepdim) {
  return variance(self, dim, correction, keepdim, [](auto value) { return std::sqrt(value); });
}

Ref linalg_vector_norm(PyObject* self, PyObject* ord, PyObject* dim, PyObject* keepdim, PyObject* dtype) {
  const bool squares = PyLong_CheckExact(ord)    ? PyLong_AsLong(ord) == 2
                       : PyFloat_CheckExact(ord) ? PyFloat_AS_DOUBLE(ord) == 2
                                                 : false;
  if (PyErr_Occurred()) PyErr_Clear();
  if (!squares || dtype != Py_None) return Ref();
  return dim == Py_None && keepdim == Py_False ? fold_all<Norm>(self) : fold<Norm>(self, dim, keepdim);
}

Ref cumsum(PyObject* self, PyObject* dim, PyObject* dtype) {
  return dtype == Py_None ? scan<struct add>(self, dim) : Ref();
}
Ref cumprod(PyObject* self, PyObject* dim, PyObject* dtype) {
  return dtype == Py_None ? scan<struct mul>(self, dim) : Ref();
}

}  // namespace kernels

}  // namespace gradwright
