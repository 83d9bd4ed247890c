#include "reductions.hpp"

#include "generations.hpp"
#include "kernels.hpp"
#include "pairwise.hpp"
#include "reducing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradwright {

namespace {

using namespace reducing;

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

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define GRADWRIGHT_SHUFFLES
#endif
#endif

#ifdef GRADWRIGHT_SHUFFLES
// The product of blocks of dense elements. Neighbours are multiplied first, then these products with their neighbours, so
// that large and small elements in turn do not overflow.
struct ProductOfBlocks {
  static constexpr int kRegisters = 8;
  template <class T>
  static constexpr npy_intp kBlock = kRegisters * Register<T>::kLanes;
  // The products of the neighbours in two registers.
  template <class T>
  static GRADWRIGHT_INLINE void join(const Register<T>& a, const Register<T>& b, Register<T>& to) {
    if constexpr (sizeof(T) == sizeof(float)) {
      to.values = __builtin_shufflevector(a.values, b.values, 0, 2, 8, 10, 4, 6, 12, 14) *
                  __builtin_shufflevector(a.values, b.values, 1, 3, 9, 11, 5, 7, 13, 15);
    } else {
      to.values = __builtin_shufflevector(a.values, b.values, 0, 4, 2, 6) *
                  __builtin_shufflevector(a.values, b.values, 1, 5, 3, 7);
    }
  }
  template <class T>
  static GRADWRIGHT_INLINE T run(const T* in, npy_intp blocks) {
    constexpr int lanes = Register<T>::kLanes;
    Register<T> total, each[kRegisters];
    for (int k = 0; k < lanes; ++k) total.values[k] = T(1);
    for (npy_intp block = 0; block < blocks; ++block, in += kBlock<T>) {
      for (int k = 0; k < kRegisters; ++k) Register<T>::load(in + lanes * k, each[k]);
      for (int k = 0; k < 4; ++k) join(each[2 * k], each[2 * k + 1], each[k]);
      for (int k = 0; k < 2; ++k) join(each[2 * k], each[2 * k + 1], each[k]);
      join(each[0], each[1], each[0]);
      total.times(each[0]);
    }
    T product = total.values[0];
    for (int k = 1; k < lanes; ++k) product *= total.values[k];
    return product;
  }
};
#endif

struct Product {
  static constexpr bool kOneByOne = true;  // each element waits for the one before
#ifdef GRADWRIGHT_SHUFFLES
  using Blocks = ProductOfBlocks;
#endif
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
  using Element = ExtremeElement<largest>;
  template <class T>
  static T start() {
    return Element::template start<T>;
  }
  template <class T>
  static GRADWRIGHT_INLINE T column(T best, T value) {
    return Element::beats(value, best) || value != value ? value : best;
  }
  template <class T>
  static T rows(T best, const T* in, const Axis* axes, int count) {
    if (count == 1 && axes->in == 1) return column(best, run_best<Element>(in, axes->size));
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

// Results whose elements wait for each other are computed side by side.
constexpr int kRowsAtOnce = 8;

template <class Fold, class T>
void fold_rows_at_once(const Layout& layout, const T* in, T* out, npy_intp begin, npy_intp end) {
  const Axis& axis = layout.inner.items[0];
  const T* rows[kRowsAtOnce];
  T* results[kRowsAtOnce];
  int count = 0;
  const auto finish = [&] {
    std::fill(rows + count, rows + kRowsAtOnce, rows[0]);
    T values[kRowsAtOnce];
    std::fill_n(values, kRowsAtOnce, Fold::template start<T>());
    for (npy_intp i = 0; i < axis.size; ++i) {
      for (int k = 0; k < kRowsAtOnce; ++k) values[k] = Fold::column(values[k], rows[k][i * axis.in]);
    }
    for (int k = 0; k < count; ++k) *results[k] = Fold::end(values[k], layout.count);
    count = 0;
  };
  each(layout.kept.items, layout.kept.count, begin, end, [&](npy_intp offset, npy_intp to) {
    rows[count] = in + offset;
    results[count] = out + to;
    if (++count == kRowsAtOnce) finish();
  });
  if (count > 0) finish();
}

// A row by itself. Elements that wait for each other are taken from parts of it side by side; neighbours stay together, so
// that large and small ones in turn do not overflow.
template <class Fold, class T>
T fold_row(const T* in, const Axis& axis) {
  if constexpr (requires { typename Fold::Blocks; }) {
    using Blocks = typename Fold::Blocks;
    const npy_intp blocks = axis.size / Blocks::template kBlock<T>;
    if (axis.in == 1 && blocks > 0) {
      const npy_intp done = blocks * Blocks::template kBlock<T>;
      const Axis rest = {axis.size - done, 1, 0};
      return Fold::rows(run_best<Blocks>(in, blocks), in + done, &rest, 1);
    }
  }
  if constexpr (requires { Fold::kOneByOne; }) {
    const npy_intp part = axis.size / kRowsAtOnce;
    if (part >= kRowsAtOnce) {
      T values[kRowsAtOnce];
      std::fill_n(values, kRowsAtOnce, Fold::template start<T>());
      for (npy_intp i = 0; i < part; ++i) {
        for (int k = 0; k < kRowsAtOnce; ++k) values[k] = Fold::column(values[k], in[(k * part + i) * axis.in]);
      }
      for (int k = 1; k < kRowsAtOnce; ++k) values[0] = Fold::column(values[0], values[k]);
      const Axis rest = {axis.size - kRowsAtOnce * part, axis.in, 0};
      return Fold::rows(values[0], in + kRowsAtOnce * part * axis.in, &rest, 1);
    }
  }
  return Fold::rows(Fold::template start<T>(), in, &axis, 1);
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
  const bool is_row = layout.inner.count == 1 && layout.outer.count == 0;
  if (is_row && layout.outputs == 1 && layout.count > 0) {
    *out = Fold::end(fold_row<Fold>(in, layout.inner.items[0]), layout.count);
    return;
  }
  parallel_for(layout.outputs, grain_for(layout.count), [&](npy_intp begin, npy_intp end) {
    if constexpr (requires { Fold::kOneByOne; }) {
      if (is_row && end - begin > 1) return fold_rows_at_once<Fold>(layout, in, out, begin, end);
    }
    each(layout.kept.items, layout.kept.count, begin, end, [&](npy_intp offset, npy_intp to) {
      out[to] = Fold::end(fold_rows<Fold>(layout, in + offset), layout.count);
    });
  });
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
  if (kind == Kind::kNone || size == 0 || size > kGrain || !is_dense(array)) {
    return fold<Fold>(tensor, Py_None, Py_False, empty);
  }
  Ref result = new_array_of(array, 0, nullptr);
  if (!result) return result;
  const Axis axis = {size, 1, 0};
  for_kind(kind, [&]<class T>(T) {
    const T* in = elements<const T>(array);
    *elements<T>(as_ndarray(result)) = Fold::end(fold_row<Fold>(in, axis), size);
  });
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
  auto* out = elements<npy_int64>(as_ndarray(indices));
  const auto work = [&]<class T>(T) {
    const T* in = elements<const T>(array);
    parallel_for(layout.outputs, grain_for(layout.count), [&](npy_intp begin, npy_intp end) {
      each(layout.kept.items, layout.kept.count, begin, end,
           [&](npy_intp offset, npy_intp to) { out[to] = find_extremum<Fold>(in + offset, axis); });
    });
  };
  const auto held = hold(array);
  const bool done = run_long(layout.outputs * layout.count > kGrain, [&] { for_kind(kind_of(array), work); });
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

// -- the logarithm of a sum of exponentials

struct finite_or_zero {
  template <class T>
  static T apply(T a) { return std::fabs(a) <= std::numeric_limits<T>::max() ? a : T(0); }
};
struct exponential_above {
  template <class T, class A = Baseline>
  static T apply(T a, T top) { return vectors::exp<A>(a - top); }
};

}  // namespace

namespace kernels {

// Less the maximum of each row, where it is finite, so that no exponential overflows.
Ref logsumexp(PyObject* self, PyObject* dim, PyObject* keepdim) {
  Ref top = then(amax(self, dim, Py_True), [](PyObject* found) { return unary<finite_or_zero>(found); });
  if (top) top = new_tensor(std::move(top));
  Ref sum = top ? then(elementwise<exponential_above, 2>(self, top.get()),
                       [&](PyObject* terms) { return sum_dim(terms, dim, keepdim, Py_None); })
                : Ref();
  Ref logarithm = then(std::move(sum), [](PyObject* found) { return unary<struct log>(found); });
  if (!logarithm) return logarithm;
  auto* result = as_ndarray(logarithm);
  PyArray_Dims shape = {PyArray_DIMS(result), PyArray_NDIM(result)};
  Ref added(PyArray_Newshape(array_of(top.get()), &shape, NPY_CORDER));
  if (!added || !(added = new_tensor(std::move(added)))) return Ref();
  return then(std::move(logarithm), [&](PyObject* found) { return binary<plus>(found, added.get()); });
}

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

}  // namespace kernels

}  // namespace gradwright
