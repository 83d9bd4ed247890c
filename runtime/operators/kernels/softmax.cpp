// A row is what is normalized. Where its elements lie side by side, rows are computed one after the other, several at a
// time where they are short; where they do not, `width` neighbouring rows are computed together, place by place. Sums are
// in NumPy's order in both cases.

#include "softmax.hpp"

#include <algorithm>

#include "contiguous.hpp"
#include "kernels.hpp"
#include "generations.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

// How an array is cut into rows along a dimension: `outer` times, `inner` rows of `size` elements lie side by side.
struct Rows {
  npy_intp outer = 1, size = 1, inner = 1;
  npy_intp total() const { return outer * size * inner; }
};

// False where `dim` is no dimension: the Python kernel says so.
bool find_rows(PyArrayObject* array, PyObject* dim, Rows& rows) {
  const int ndim = PyArray_NDIM(array), place = detail::read_dim(dim, ndim);
  if (place < 0) return false;
  for (int i = 0; i < ndim; ++i) (i < place ? rows.outer : i == place ? rows.size : rows.inner) *= PyArray_DIM(array, i);
  return true;
}

// The terms of one dense softmax. All are inlined into the loop that runs them.
template <bool log>
struct Forward {
  // Less the maximum of each of `count` rows, so that no exponential overflows.
  struct Shift {
    template <class T>
    static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp count, npy_intp size, T* __restrict out) {
      for (npy_intp row = 0; row < count; ++row, in += size, out += size) {
        const T top = ExtremeElement<true>::run(in, size);
        for (npy_intp i = 0; i < size; ++i) out[i] = in[i] - top;
      }
    }
  };
  struct Finish {
    template <class T>
    static GRADWRIGHT_INLINE void run(T* __restrict out, npy_intp count, npy_intp size, const T* __restrict totals) {
      for (npy_intp row = 0; row < count; ++row, out += size) {
        const T total = totals[row];
        for (npy_intp i = 0; i < size; ++i) out[i] = log ? out[i] - total : out[i] / total;
      }
    }
  };
  // The same for `width` rows that lie side by side, `step` from one of their elements to the next; `out` likewise.
  struct ShiftColumns {
    template <class T>
    static GRADWRIGHT_INLINE void run(const T* in, npy_intp size, npy_intp step, npy_intp width, T* tops, T* out) {
      for (npy_intp k = 0; k < width; ++k) tops[k] = in[k];
      for (npy_intp i = 1; i < size; ++i) {
        const T* row = in + i * step;
        for (npy_intp k = 0; k < width; ++k) tops[k] = row[k] > tops[k] || row[k] != row[k] ? row[k] : tops[k];
      }
      for (npy_intp i = 0; i < size; ++i) {
        for (npy_intp k = 0; k < width; ++k) out[i * step + k] = in[i * step + k] - tops[k];
      }
    }
  };
  struct FinishColumns {
    template <class T>
    static GRADWRIGHT_INLINE void run(T* out, npy_intp size, npy_intp step, npy_intp width, const T* totals) {
      for (npy_intp i = 0; i < size; ++i, out += step) {
        for (npy_intp k = 0; k < width; ++k) out[k] = log ? out[k] - totals[k] : out[k] / totals[k];
      }
    }
  };

  template <class T>
  static void dense(const T* in, T* out, npy_intp count, npy_intp size) {
    const npy_intp most = std::max<npy_intp>(1, kTogether / size);  // rows
    Scratch<T> exponentials(log ? std::min(most, count) * size : 0), totals(most);
    for (npy_intp done = 0; done < count; done += most, in += most * size, out += most * size) {
      const npy_intp now = std::min(most, count - done);
      run_best<Shift>(in, now, size, out);
      T* powers = log ? exponentials.data() : out;
      exponentials_of(out, powers, now * size);
      for (npy_intp row = 0; row < now; ++row) totals.data()[row] = T(0) + sum_dense(powers + row * size, size);
      if (log) by_numpy<kernels::log>(totals.data(), totals.data(), now);
      run_best<Finish>(out, now, size, totals.data());
    }
  }

  // `width` of the rows that lie side by side.
  template <class T>
  static void columns(const T* in, T* out, npy_intp size, npy_intp step, npy_intp width) {
    T tops[kTogether], totals[kTogether] = {};
    Scratch<T> exponentials(log ? width : 0);
    run_best<ShiftColumns>(in, size, step, width, tops, out);
    for (npy_intp i = 0; i < size; ++i) {
      T* powers = log ? exponentials.data() : out + i * step;
      exponentials_of(out + i * step, powers, width);
      for (npy_intp k = 0; k < width; ++k) totals[k] += powers[k];
    }
    if (log) by_numpy<kernels::log>(totals, totals, width);
    run_best<FinishColumns>(out, size, step, width, totals);
  }
};

// `y * (g - sum(g * y))`, or of the logarithm `g - exp(y) * sum(g)`.
template <bool log>
struct Backward {
  struct Finish {
    template <class T>
    static GRADWRIGHT_INLINE void run(const T* __restrict grad, const T* __restrict output, npy_intp size, T total,
                                      T* __restrict out) {
      for (npy_intp i = 0; i < size; ++i) {
        out[i] = log ? grad[i] - out[i] * total : (grad[i] - total) * output[i];
      }
    }
  };
  struct SumColumns {
    template <class T>
    static GRADWRIGHT_INLINE void run(const T* grad, const T* output, npy_intp size, npy_intp step, npy_intp width,
                                      T* totals) {
      for (npy_intp k = 0; k < width; ++k) totals[k] = 0;
      for (npy_intp i = 0; i < size * step; i += step) {
        for (npy_intp k = 0; k < width; ++k) totals[k] += log ? grad[i + k] : grad[i + k] * output[i + k];
      }
    }
  };
  struct FinishColumns {
    template <class T>
    static GRADWRIGHT_INLINE void run(const T* grad, const T* output, npy_intp width, const T* totals, T* out) {
      for (npy_intp k = 0; k < width; ++k) {
        out[k] = log ? grad[k] - out[k] * totals[k] : (grad[k] - totals[k]) * output[k];
      }
    }
  };

  template <class T>
  static void dense(const T* grad, const T* output, T* out, npy_intp count, npy_intp size) {
    const npy_intp most = std::max<npy_intp>(1, kTogether / size);  // rows
    for (npy_intp done = 0; done < count; done += most) {
      const npy_intp now = std::min(most, count - done), end = (done + now) * size;
      if (log) exponentials_of(output + done * size, out + done * size, now * size);
      for (npy_intp at = done * size; at < end; at += size) {
        const T total = T(0) + (log ? sum_dense(grad + at, size) : dot_dense(grad + at, output + at, size));
        run_best<Finish>(grad + at, output + at, size, total, out + at);
      }
    }
  }

  template <class T>
  static void columns(const T* grad, const T* output, T* out, npy_intp size, npy_intp step, npy_intp width) {
    T totals[kTogether];
    run_best<SumColumns>(grad, output, size, step, width, totals);
    for (npy_intp i = 0; i < size * step; i += step) {
      if (log) exponentials_of(output + i, out + i, width);
      run_best<FinishColumns>(grad + i, output + i, width, totals, out + i);
    }
  }
};

// dense(first, count) for rows whose elements lie side by side, from the first-th element on, and columns(first, width) for
// rows that do, on several threads.
template <class Dense, class Columns>
void each_row(const Rows& rows, Dense dense, Columns columns) {
  if (rows.inner == 1) {
    parallel_for(rows.outer, std::max<npy_intp>(1, kRowGrain / rows.size),
                 [&](npy_intp begin, npy_intp end) { dense(begin * rows.size, end - begin); });
    return;
  }
  const npy_intp most = std::clamp<npy_intp>(8 * kTogether / rows.size, 64, kTogether);
  const npy_intp pieces = (rows.inner + most - 1) / most;
  const npy_intp grain = std::max<npy_intp>(1, kRowGrain / (rows.size * std::min(most, rows.inner)));
  parallel_for(rows.outer * pieces, grain, [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; ++i) {
      const npy_intp first = i % pieces * most;
      columns(i / pieces * rows.size * rows.inner + first, std::min(most, rows.inner - first));
    }
  });
}

// -- from Tensors

template <bool log>
Ref softmax(PyObject* self, PyObject* dim, PyObject* half_to_float) {
  PyArrayObject* array = array_of(self);
  const Kind kind = kind_of(array);
  Rows rows;
  if (kind == Kind::kNone || half_to_float != Py_False || !is_dense(array) || !find_rows(array, dim, rows)) return Ref();
  if (PyArray_SIZE(array) == 0) return Ref();
  Ref result = new_like(array, kind);
  if (!result) return result;
  const Held held{self};
  const bool done = run_for(kind, rows.total(), [&]<class T>(T) {
    const T* in = elements<const T>(array);
    T* out = elements<T>(as_ndarray(result));
    each_row(
        rows, [&](npy_intp at, npy_intp count) { Forward<log>::dense(in + at, out + at, count, rows.size); },
        [&](npy_intp at, npy_intp width) { Forward<log>::columns(in + at, out + at, rows.size, rows.inner, width); });
  });
  return done ? std::move(result) : Ref();
}

template <bool log>
Ref softmax_backward(PyObject* grad_output, PyObject* output, PyObject* dim, PyObject* input_dtype) {
  PyArrayObject* values = array_of(output);
  const Kind kind = kind_of(values);
  Rows rows;
  if (kind == Kind::kNone || reinterpret_cast<PyObject*>(PyArray_DESCR(values)) != input_dtype) return Ref();
  if (!is_dense(values) || !detail::same_shape(array_of(grad_output), values) || !find_rows(values, dim, rows)) return Ref();
  if (PyArray_SIZE(values) == 0) return Ref();
  Ref gradient = usable(grad_output, kind);
  Ref result = gradient ? new_like(values, kind) : Ref();
  if (!result) return result;
  const Held held{output};
  const bool done = run_for(kind, rows.total(), [&]<class T>(T) {
    const T *grad = elements<const T>(as_ndarray(gradient)), *y = elements<const T>(values);
    T* out = elements<T>(as_ndarray(result));
    each_row(
        rows,
        [&](npy_intp at, npy_intp count) { Backward<log>::dense(grad + at, y + at, out + at, count, rows.size); },
        [&](npy_intp at, npy_intp width) {
          Backward<log>::columns(grad + at, y + at, out + at, rows.size, rows.inner, width);
        });
  });
  return done ? std::move(result) : Ref();
}

}  // namespace

namespace kernels {

Ref softmax_kernel(PyObject* self, PyObject* dim, PyObject* half_to_float) {
  return softmax<false>(self, dim, half_to_float);
}
Ref log_softmax_kernel(PyObject* self, PyObject* dim, PyObject* half_to_float) {
  return softmax<true>(self, dim, half_to_float);
}
Ref softmax_backward_data(PyObject* grad_output, PyObject* output, PyObject* dim, PyObject* input_dtype) {
  return softmax_backward<false>(grad_output, output, dim, input_dtype);
}
Ref log_softmax_backward_data(PyObject* grad_output, PyObject* output, PyObject* dim, PyObject* input_dtype) {
  return softmax_backward<true>(grad_output, output, dim, input_dtype);
}

}  // namespace kernels

}  // namespace gradwright
