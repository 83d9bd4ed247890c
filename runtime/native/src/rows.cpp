// Loops over rows.
//
// A row is what is normalized. Where its elements lie side by side, rows are computed one after the other, several at a
// time where they are short; where they do not, `width` neighbouring rows are computed together, place by place. Sums are
// in NumPy's order in both cases.

#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <vector>

#include "copies.hpp"
#include "kernels.hpp"
#include "levels.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

// Elements that are worked on at once: they stay in the first cache, with what is computed of them.
constexpr npy_intp kTogether = 2048;
// An exponential is worth some sums.
constexpr npy_intp kRowGrain = kGrain / 8;

// Memory for intermediate values, which most often are few.
template <class T>
class Scratch {
 public:
  explicit Scratch(npy_intp size) : more_(size > kTogether ? new T[static_cast<size_t>(size)] : nullptr) {}
  T* data() { return more_ ? more_.get() : few_; }

 private:
  std::unique_ptr<T[]> more_;
  T few_[kTogether];
};

// -- softmax

// How an array is cut into rows along a dimension: `outer` times, `inner` rows of `size` elements lie side by side.
struct Rows {
  npy_intp outer = 1, size = 1, inner = 1;
  npy_intp total() const { return outer * size * inner; }
};

// False where `dim` is no dimension: the Python kernel says so.
bool find_rows(PyArrayObject* array, PyObject* dim, Rows& rows) {
  if (!PyLong_CheckExact(dim)) return false;
  int overflow;
  long place = PyLong_AsLongAndOverflow(dim, &overflow);
  const int ndim = PyArray_NDIM(array), dims = std::max(ndim, 1);
  if (overflow != 0 || place < -dims || place >= dims) return false;
  if (place < 0) place += dims;
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
      by_numpy<kernels::exp>(out, powers, now * size);
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
      by_numpy<kernels::exp>(out + i * step, powers, width);
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
      if (log) by_numpy<kernels::exp>(output + done * size, out + done * size, now * size);
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
      if (log) by_numpy<kernels::exp>(output + i, out + i, width);
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

// -- layer normalization

struct Normalize {
  // The rest of a row that holds `x - mean`; `weight` and `bias` may be null.
  struct Finish {
    template <class T>
    static GRADWRIGHT_INLINE void run(T* __restrict out, npy_intp width, T rstd, const T* __restrict weight,
                                      const T* __restrict bias) {
      if (weight != nullptr && bias != nullptr) {
        for (npy_intp i = 0; i < width; ++i) out[i] = out[i] * rstd * weight[i] + bias[i];
      } else if (weight != nullptr) {
        for (npy_intp i = 0; i < width; ++i) out[i] = out[i] * rstd * weight[i];
      } else if (bias != nullptr) {
        for (npy_intp i = 0; i < width; ++i) out[i] = out[i] * rstd + bias[i];
      } else {
        for (npy_intp i = 0; i < width; ++i) out[i] *= rstd;
      }
    }
  };
  struct Shift {
    template <class T>
    static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp width, T by, T* __restrict out) {
      for (npy_intp i = 0; i < width; ++i) out[i] = in[i] - by;
    }
  };

  template <class T>
  static void row(const T* in, npy_intp width, const T* weight, const T* bias, T eps, T* out, T* mean, T* rstd) {
    *mean = sum_dense(in, width) / static_cast<T>(width);
    run_best<Shift>(in, width, *mean, out);
    *rstd = T(1) / std::sqrt(dot_dense(out, out, width) / static_cast<T>(width) + eps);
    run_best<Finish>(out, width, *rstd, weight, bias);
  }
};

struct NormalizeBackward {
  // `x - mean`, the gradient times the weight (null for 1), and what the row adds to the gradients of weight and bias (null
  // where nobody asks for them).
  struct Begin {
    template <class T>
    static GRADWRIGHT_INLINE void run(const T* __restrict grad, const T* __restrict in, npy_intp width, T mean, T rstd,
                                      const T* __restrict weight, T* __restrict centred, T* __restrict weighed,
                                      T* __restrict of_weight, T* __restrict of_bias) {
      for (npy_intp i = 0; i < width; ++i) centred[i] = in[i] - mean;
      if (weight != nullptr) {
        for (npy_intp i = 0; i < width; ++i) weighed[i] = grad[i] * weight[i];
      }
      if (of_weight != nullptr && of_bias != nullptr) {
        for (npy_intp i = 0; i < width; ++i) {
          of_weight[i] += grad[i] * centred[i] * rstd;
          of_bias[i] += grad[i];
        }
      } else if (of_weight != nullptr) {
        for (npy_intp i = 0; i < width; ++i) of_weight[i] += grad[i] * centred[i] * rstd;
      } else if (of_bias != nullptr) {
        for (npy_intp i = 0; i < width; ++i) of_bias[i] += grad[i];
      }
    }
  };
  struct Finish {
    template <class T>
    static GRADWRIGHT_INLINE void run(const T* __restrict weighed, const T* __restrict centred, npy_intp width, T level,
                                      T along, T rstd, T* __restrict out) {
      for (npy_intp i = 0; i < width; ++i) out[i] = ((weighed[i] - level) - centred[i] * along) * rstd;
    }
  };
};

// Rows whose parts of a sum over all rows are summed first. It depends on the shape alone, and so does the result.
npy_intp rows_together(npy_intp rows) { return std::max<npy_intp>(16, (rows + 63) / 64); }

// Arrays of one type, by the names of their arguments; those that are not wanted are null.
template <class T>
struct Normalized {
  const T *grad, *in, *mean, *rstd, *weight;
  T *of_input, *of_weight, *of_bias;
};

template <class T>
void normalize_backward(const Normalized<T>& arrays, npy_intp rows, npy_intp width) {
  const npy_intp together = rows_together(rows), groups = (rows + together - 1) / together;
  const bool of_weight = arrays.of_weight != nullptr, of_bias = arrays.of_bias != nullptr;
  std::vector<T> weight_sums(of_weight ? groups * width : 0), bias_sums(of_bias ? groups * width : 0);
  parallel_for(groups, std::max<npy_intp>(1, kRowGrain / (together * width)), [&](npy_intp begin, npy_intp end) {
    Scratch<T> centred(width), weighed(arrays.weight != nullptr ? width : 0);
    for (npy_intp group = begin; group < end; ++group) {
      T* to_weight = of_weight ? weight_sums.data() + group * width : nullptr;
      T* to_bias = of_bias ? bias_sums.data() + group * width : nullptr;
      for (npy_intp row = group * together; row < std::min(rows, (group + 1) * together); ++row) {
        const T *grad = arrays.grad + row * width, rstd = arrays.rstd[row];
        run_best<NormalizeBackward::Begin>(grad, arrays.in + row * width, width, arrays.mean[row], rstd, arrays.weight,
                                           centred.data(), weighed.data(), to_weight, to_bias);
        if (arrays.of_input == nullptr) continue;
        const T *factors = arrays.weight != nullptr ? weighed.data() : grad, *away = centred.data();
        const T count = static_cast<T>(width);
        const T along = dot_dense(factors, away, width) * (rstd * rstd) / count;
        const T level = sum_dense(factors, width) / count;
        run_best<NormalizeBackward::Finish>(factors, away, width, level, along, rstd, arrays.of_input + row * width);
      }
    }
  });
  for (const auto& [sums, out] : {std::pair{&weight_sums, arrays.of_weight}, std::pair{&bias_sums, arrays.of_bias}}) {
    if (out == nullptr) continue;
    std::copy_n(sums->data(), width, out);
    for (npy_intp group = 1; group < groups; ++group) {
      const T* more = sums->data() + group * width;
      for (npy_intp i = 0; i < width; ++i) out[i] += more[i];
    }
  }
}

// -- the loss of one class of several

// Where the class of each row is; -1 for a row that is ignored. False: one of them is no class.
bool find_classes(const npy_int64* targets, npy_intp count, npy_intp classes, npy_int64 ignored, npy_int64* places) {
  for (npy_intp i = 0; i < count; ++i) {
    const npy_int64 target = targets[i];
    if (target != ignored && (target < 0 || target >= classes)) return false;
    places[i] = target == ignored ? -1 : target;
  }
  return true;
}

// -- from Tensors

template <class T>
T* data(PyArrayObject* array) {
  return static_cast<T*>(PyArray_DATA(array));
}

bool is_usable(PyArrayObject* array) { return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array); }

Ref new_array(int ndim, const npy_intp* sizes, Kind kind) {
  return gradwright::new_array(kind == Kind::kFloat32 ? NPY_FLOAT : NPY_DOUBLE, ndim, sizes);
}
Ref new_like(PyArrayObject* array, Kind kind) { return new_array(PyArray_NDIM(array), PyArray_DIMS(array), kind); }

// An array that can be gone through from its beginning: itself, or a copy. Null without an exception: other element types.
Ref usable(PyObject* tensor, Kind kind) {
  PyArrayObject* array = array_of(tensor);
  if (kind_of(array) != kind) return Ref();
  if (is_usable(array)) return Ref::borrow(reinterpret_cast<PyObject*>(array));
  return contiguous_copy(array);
}

// work(T()) for the element type, without the GIL where there is much to do. False where memory is short.
template <class Work>
bool run_for(Kind kind, npy_intp size, Work work) {
  Ufunc::find_once();
  return run_long(size > kRowGrain, [&] {
    if (kind == Kind::kFloat32) {
      work(float());
    } else {
      work(double());
    }
  });
}

// References to the arrays of some Tensors; of those that are None, to None.
struct Held {
  Ref arrays[5];
  Held(std::initializer_list<PyObject*> tensors) {
    int next = 0;
    for (PyObject* tensor : tensors) {
      arrays[next++] = Ref::borrow(tensor == Py_None ? tensor : as_tensor(tensor)->array);
    }
  }
  const Ref& operator[](int index) const { return arrays[index]; }
};

template <bool log>
Ref softmax(PyObject* self, PyObject* dim, PyObject* half_to_float) {
  PyArrayObject* array = array_of(self);
  const Kind kind = kind_of(array);
  Rows rows;
  if (kind == Kind::kNone || half_to_float != Py_False || !is_usable(array) || !find_rows(array, dim, rows)) return Ref();
  if (PyArray_SIZE(array) == 0) return Ref();
  Ref result = new_like(array, kind);
  if (!result) return result;
  const Held held{self};
  const bool done = run_for(kind, rows.total(), [&]<class T>(T) {
    const T* in = data<const T>(array);
    T* out = data<T>(as_ndarray(result));
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
  if (!is_usable(values) || !detail::same_shape(array_of(grad_output), values) || !find_rows(values, dim, rows)) return Ref();
  if (PyArray_SIZE(values) == 0) return Ref();
  Ref gradient = usable(grad_output, kind);
  Ref result = gradient ? new_like(values, kind) : Ref();
  if (!result) return result;
  const Held held{output};
  const bool done = run_for(kind, rows.total(), [&]<class T>(T) {
    const T *grad = data<const T>(as_ndarray(gradient)), *y = data<const T>(values);
    T* out = data<T>(as_ndarray(result));
    each_row(
        rows,
        [&](npy_intp at, npy_intp count) { Backward<log>::dense(grad + at, y + at, out + at, count, rows.size); },
        [&](npy_intp at, npy_intp width) {
          Backward<log>::columns(grad + at, y + at, out + at, rows.size, rows.inner, width);
        });
  });
  return done ? std::move(result) : Ref();
}

// The last dimensions of `input`, which are normalized together: how many elements they have; 0 where the sizes do not
// fit, which the Python kernel says.
npy_intp normalized_width(PyArrayObject* input, PyObject* sizes) {
  if (!PyTuple_CheckExact(sizes)) return 0;
  const Py_ssize_t count = PyTuple_GET_SIZE(sizes), ndim = PyArray_NDIM(input);
  if (count == 0 || count > ndim) return 0;
  npy_intp width = 1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* size = PyTuple_GET_ITEM(sizes, i);
    if (!PyLong_CheckExact(size) || PyLong_AsSsize_t(size) != PyArray_DIM(input, ndim - count + i)) {
      PyErr_Clear();
      return 0;
    }
    width *= PyArray_DIM(input, ndim - count + i);
  }
  return width;
}

// Whether an optional weight or bias can be used as it is: it has the shape of the last dimensions of `input`.
bool fits_last(PyObject* tensor, PyArrayObject* input, Py_ssize_t dims, Kind kind) {
  if (tensor == Py_None) return true;
  PyArrayObject* array = array_of(tensor);
  return kind_of(array) == kind && is_usable(array) && PyArray_NDIM(array) == dims &&
         std::equal(PyArray_DIMS(array), PyArray_DIMS(array) + dims,
                    PyArray_DIMS(input) + PyArray_NDIM(input) - dims);
}

template <class T>
T* data_or_null(const Ref& array) {
  return array.get() == Py_None ? nullptr : data<T>(as_ndarray(array));
}

// An int that fits; false without an exception otherwise.
bool read_int(PyObject* object, npy_int64& value) {
  if (!PyLong_CheckExact(object)) return false;
  int overflow;
  value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}

// What the forward and the backward pass of the loss look at.
struct Classified {
  Kind kind;
  npy_intp rows, classes;
  npy_int64 reduction, ignored;
  std::unique_ptr<npy_int64[]> places;
};

// False: for the Python kernel.
bool classify(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction, PyObject* ignore_index,
              Classified& out) {
  PyArrayObject *scores = array_of(self), *targets = array_of(target);
  out.kind = kind_of(scores);
  if (out.kind == Kind::kNone || PyArray_NDIM(scores) != 2 || !is_usable(scores)) return false;
  out.rows = PyArray_DIM(scores, 0);
  out.classes = PyArray_DIM(scores, 1);
  if (PyArray_NDIM(targets) != 1 || PyArray_DIM(targets, 0) != out.rows || !is_usable(targets)) return false;
  if (PyArray_TYPE(targets) != NPY_INT64 || !PyArray_ISNOTSWAPPED(targets)) return false;
  if (PyArray_SIZE(scores) == 0 || !read_int(reduction, out.reduction) || !read_int(ignore_index, out.ignored)) {
    return false;
  }
  if (weight != Py_None) {
    PyArrayObject* weights = array_of(weight);
    if (kind_of(weights) != out.kind || !is_usable(weights) || PyArray_NDIM(weights) != 1) return false;
    if (PyArray_DIM(weights, 0) != out.classes) return false;
  }
  out.places.reset(new (std::nothrow) npy_int64[static_cast<size_t>(out.rows)]);
  if (!out.places) return false;
  return find_classes(data<const npy_int64>(targets), out.rows, out.classes, out.ignored, out.places.get());
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

Ref native_layer_norm(PyObject* input, PyObject* normalized_shape, PyObject* weight, PyObject* bias, PyObject* eps) {
  PyArrayObject* array = array_of(input);
  const Kind kind = kind_of(array);
  if (kind == Kind::kNone || !is_usable(array) || PyArray_SIZE(array) == 0 || !PyFloat_CheckExact(eps)) return Ref();
  const npy_intp width = normalized_width(array, normalized_shape);
  if (width == 0) return Ref();
  const Py_ssize_t dims = PyTuple_GET_SIZE(normalized_shape);
  if (!fits_last(weight, array, dims, kind) || !fits_last(bias, array, dims, kind)) return Ref();
  const int ndim = PyArray_NDIM(array);
  npy_intp sizes[NPY_MAXDIMS];
  for (int i = 0; i < ndim; ++i) sizes[i] = i < ndim - dims ? PyArray_DIM(array, i) : 1;
  Ref out = new_like(array, kind), mean = new_array(ndim, sizes, kind), rstd = new_array(ndim, sizes, kind);
  if (!out || !mean || !rstd) return Ref();
  const npy_intp rows = PyArray_SIZE(array) / width;
  const Held held{input, weight, bias};
  const bool done = run_for(kind, rows * width, [&]<class T>(T) {
    const T *in = data<const T>(array), *factors = data_or_null<const T>(held[1]), *terms = data_or_null<const T>(held[2]);
    T *to = data<T>(as_ndarray(out)), *means = data<T>(as_ndarray(mean)), *rstds = data<T>(as_ndarray(rstd));
    const T added = static_cast<T>(PyFloat_AS_DOUBLE(eps));
    parallel_for(rows, std::max<npy_intp>(1, kRowGrain / width), [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) {
        Normalize::row(in + i * width, width, factors, terms, added, to + i * width, means + i, rstds + i);
      }
    });
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(3, out.get(), mean.get(), rstd.get()));
}

Ref native_layer_norm_backward(PyObject* grad_out, PyObject* input, PyObject* normalized_shape, PyObject* mean,
                               PyObject* rstd, PyObject* weight, PyObject* bias, PyObject* output_mask) {
  (void)bias;  // it has no part in its gradient
  PyArrayObject *array = array_of(input), *means = array_of(mean), *rstds = array_of(rstd);
  const Kind kind = kind_of(array);
  if (kind == Kind::kNone || !is_usable(array) || PyArray_SIZE(array) == 0) return Ref();
  const npy_intp width = normalized_width(array, normalized_shape);
  if (width == 0 || !detail::same_shape(array_of(grad_out), array)) return Ref();
  const npy_intp rows = PyArray_SIZE(array) / width;
  for (PyArrayObject* one : {means, rstds}) {
    if (kind_of(one) != kind || !is_usable(one) || PyArray_SIZE(one) != rows) return Ref();
  }
  const Py_ssize_t dims = PyTuple_GET_SIZE(normalized_shape);
  if (!fits_last(weight, array, dims, kind)) return Ref();
  if (!PyTuple_CheckExact(output_mask) || PyTuple_GET_SIZE(output_mask) != 3) return Ref();
  Ref gradient = usable(grad_out, kind);
  if (!gradient) return Ref();
  Ref results[3];
  for (int i = 0; i < 3; ++i) {
    PyObject* wanted = PyTuple_GET_ITEM(output_mask, i);
    if (!PyBool_Check(wanted)) return Ref();
    const int first = i == 0 ? 0 : PyArray_NDIM(array) - static_cast<int>(dims);
    results[i] = wanted == Py_True ? new_array(PyArray_NDIM(array) - first, PyArray_DIMS(array) + first, kind)
                                   : Ref::borrow(Py_None);
    if (!results[i]) return Ref();
  }
  const Held held{input, mean, rstd, weight};
  const bool done = run_for(kind, rows * width, [&]<class T>(T) {
    normalize_backward<T>({data<const T>(as_ndarray(gradient)), data<const T>(array), data<const T>(means),
                           data<const T>(rstds), data_or_null<const T>(held[3]), data_or_null<T>(results[0]),
                           data_or_null<T>(results[1]), data_or_null<T>(results[2])},
                          rows, width);
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(3, results[0].get(), results[1].get(), results[2].get()));
}

Ref nll_loss_forward(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction, PyObject* ignore_index) {
  Classified all;
  if (!classify(self, target, weight, reduction, ignore_index, all)) return Ref();
  Ref output = new_array(all.reduction == 0 ? 1 : 0, &all.rows, all.kind), total = new_array(0, nullptr, all.kind);
  if (!output || !total) return Ref();
  const Held held{self, weight};
  const bool done = run_for(all.kind, all.rows, [&]<class T>(T) {
    const T *scores = data<const T>(as_ndarray(held[0])), *weights = data_or_null<const T>(held[1]);
    std::vector<T> each(2 * all.rows);
    T *losses = all.reduction == 0 ? data<T>(as_ndarray(output)) : each.data(), *counts = each.data() + all.rows;
    for (npy_intp i = 0; i < all.rows; ++i) {
      const npy_int64 place = all.places[i];
      counts[i] = place < 0 ? T(0) : weights == nullptr ? T(1) : weights[place];
      losses[i] = place < 0 ? T(0) : -scores[i * all.classes + place];
      if (place >= 0 && weights != nullptr) losses[i] *= counts[i];
    }
    T* total_weight = data<T>(as_ndarray(total));
    if (all.reduction == 0) {
      *total_weight = 0;
      return;
    }
    *total_weight = T(0) + sum_dense(counts, all.rows);
    const T sum = T(0) + sum_dense(losses, all.rows);
    *data<T>(as_ndarray(output)) = all.reduction == 1 ? sum / *total_weight : sum;
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(2, output.get(), total.get()));
}

Ref nll_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction,
                      PyObject* ignore_index, PyObject* total_weight) {
  Classified all;
  if (!classify(self, target, weight, reduction, ignore_index, all)) return Ref();
  PyArrayObject* divisor = array_of(total_weight);
  if (kind_of(divisor) != all.kind || PyArray_NDIM(divisor) != 0 || !PyArray_ISALIGNED(divisor)) return Ref();
  Ref gradient = usable(grad_output, all.kind);
  if (!gradient || PyArray_SIZE(as_ndarray(gradient)) != (all.reduction == 0 ? all.rows : 1)) return Ref();
  Ref result = new_like(array_of(self), all.kind);
  if (!result) return result;
  const Held held{weight, total_weight};
  const bool done = run_for(all.kind, all.rows * all.classes, [&]<class T>(T) {
    const T *grad = data<const T>(as_ndarray(gradient)), *weights = data_or_null<const T>(held[0]);
    T* out = data<T>(as_ndarray(result));
    std::fill_n(out, all.rows * all.classes, T(0));
    for (npy_intp i = 0; i < all.rows; ++i) {
      const npy_int64 place = all.places[i];
      if (place < 0) continue;
      T value = -grad[all.reduction == 0 ? i : 0];
      if (all.reduction == 1) value /= *data<const T>(divisor);
      out[i * all.classes + place] = weights == nullptr ? value : value * weights[place];
    }
  });
  return done ? std::move(result) : Ref();
}

}  // namespace kernels

}  // namespace gradwright
