#include "layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"
#include "registry.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

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

// -- groups of channels

// Samples of channels of so many places, and how many of the channels make a group.
struct Groups {
  npy_intp samples, channels, places, each;

  npy_intp rows() const { return samples * (channels / each); }
  npy_intp width() const { return each * places; }
};

struct FinishChannel {
  template <class T>
  static GRADWRIGHT_INLINE void run(T* __restrict out, npy_intp places, T rstd, T weight, T bias) {
    for (npy_intp i = 0; i < places; ++i) out[i] = out[i] * rstd * weight + bias;
  }
};

struct OfChannel {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict grad, const T* __restrict in, npy_intp places, T weight, T mean,
                                    T level, T along, T rstd, T* __restrict out) {
    for (npy_intp i = 0; i < places; ++i) out[i] = ((grad[i] * weight - level) - (in[i] - mean) * along) * rstd;
  }
};

template <class T>
void normalize_groups(const Groups& groups, const T* in, const T* weight, const T* bias, T eps, T* out, T* mean,
                      T* rstd) {
  const npy_intp width = groups.width(), each = groups.each, places = groups.places;
  parallel_for(groups.rows(), std::max<npy_intp>(1, kRowGrain / width), [&](npy_intp begin, npy_intp end) {
    for (npy_intp row = begin; row < end; ++row) {
      const T* from = in + row * width;
      T* to = out + row * width;
      mean[row] = sum_dense(from, width) / static_cast<T>(width);
      run_best<Normalize::Shift>(from, width, mean[row], to);
      rstd[row] = T(1) / std::sqrt(dot_dense(static_cast<const T*>(to), static_cast<const T*>(to), width) /
                                       static_cast<T>(width) +
                                   eps);
      for (npy_intp k = 0, channel = row * each % groups.channels; k < each; ++k, ++channel) {
        run_best<FinishChannel>(to + k * places, places, rstd[row], weight == nullptr ? T(1) : weight[channel],
                                bias == nullptr ? T(0) : bias[channel]);
      }
    }
  });
}

template <class T>
void groups_backward(const Groups& groups, const Normalized<T>& arrays) {
  const npy_intp width = groups.width(), each = groups.each, places = groups.places, channels = groups.channels;
  // For each channel of a sample the sum of the gradient, and that of its products with what is normalized.
  std::vector<T> sums(static_cast<size_t>(groups.samples * channels)), products(sums.size());
  parallel_for(groups.rows(), std::max<npy_intp>(1, kRowGrain / width), [&](npy_intp begin, npy_intp end) {
    Scratch<T> centred(places);
    for (npy_intp row = begin; row < end; ++row) {
      const T mean = arrays.mean[row], rstd = arrays.rstd[row], count = static_cast<T>(width);
      T level = 0, along = 0;
      for (npy_intp k = 0; k < each; ++k) {
        const npy_intp plane = row * each + k;
        const T* grad = arrays.grad + plane * places;
        const T weight = arrays.weight == nullptr ? T(1) : arrays.weight[plane % channels];
        run_best<Normalize::Shift>(arrays.in + plane * places, places, mean, centred.data());
        sums[plane] = T(0) + sum_dense(grad, places);
        products[plane] = (T(0) + dot_dense(grad, static_cast<const T*>(centred.data()), places)) * rstd;
        level += weight * sums[plane];
        along += weight * products[plane];
      }
      if (arrays.of_input == nullptr) continue;
      for (npy_intp k = 0; k < each; ++k) {
        const npy_intp plane = row * each + k, at = plane * places;
        const T weight = arrays.weight == nullptr ? T(1) : arrays.weight[plane % channels];
        run_best<OfChannel>(arrays.grad + at, arrays.in + at, places, weight, mean, level / count, along * rstd / count,
                            rstd, arrays.of_input + at);
      }
    }
  });
  for (const auto& [parts, out] : {std::pair{&products, arrays.of_weight}, std::pair{&sums, arrays.of_bias}}) {
    if (out == nullptr) continue;
    std::fill_n(out, channels, T(0));
    for (npy_intp plane = 0; plane < groups.samples * channels; ++plane) out[plane % channels] += (*parts)[plane];
  }
}

// -- from Tensors

bool read_groups(PyArrayObject* input, PyObject* samples, PyObject* channels, PyObject* places, PyObject* group,
                 Groups& groups) {
  npy_intp count;
  if (!detail::read_int(samples, &groups.samples) || !detail::read_int(channels, &groups.channels) ||
      !detail::read_int(places, &groups.places) || !detail::read_int(group, &count)) {
    return false;
  }
  if (count <= 0 || groups.channels % count != 0) return false;
  groups.each = groups.channels / count;
  return PyArray_SIZE(input) != 0 && PyArray_SIZE(input) == groups.samples * groups.channels * groups.places;
}

// Whether an optional weight or bias has a number for each channel.
bool fits_channels(PyObject* tensor, npy_intp channels, Kind kind) {
  if (tensor == Py_None) return true;
  PyArrayObject* array = array_of(tensor);
  return kind_of(array) == kind && is_dense(array) && PyArray_NDIM(array) == 1 && PyArray_SIZE(array) == channels;
}

// The last dimensions of `input`, which are normalized together: how many elements they have; 0 where the sizes do not
// fit, which the Python kernel says.
npy_intp normalized_width(PyArrayObject* input, PyObject* sizes) {
  if (!PyTuple_CheckExact(sizes)) return 0;
  const Py_ssize_t count = PyTuple_GET_SIZE(sizes), ndim = PyArray_NDIM(input);
  if (count == 0 || count > ndim) return 0;
  npy_intp width = 1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    npy_intp size;
    if (!detail::read_int(PyTuple_GET_ITEM(sizes, i), &size) || size != PyArray_DIM(input, ndim - count + i)) return 0;
    width *= size;
  }
  return width;
}

// Whether an optional weight or bias can be used as it is: it has the shape of the last dimensions of `input`.
bool fits_last(PyObject* tensor, PyArrayObject* input, Py_ssize_t dims, Kind kind) {
  if (tensor == Py_None) return true;
  PyArrayObject* array = array_of(tensor);
  return kind_of(array) == kind && is_dense(array) && PyArray_NDIM(array) == dims &&
         std::equal(PyArray_DIMS(array), PyArray_DIMS(array) + dims, PyArray_DIMS(input) + PyArray_NDIM(input) - dims);
}

}  // namespace

namespace kernels {

Ref native_layer_norm(PyObject* input, PyObject* normalized_shape, PyObject* weight, PyObject* bias, PyObject* eps) {
  PyArrayObject* array = array_of(input);
  const Kind kind = kind_of(array);
  if (kind == Kind::kNone || !is_dense(array) || PyArray_SIZE(array) == 0 || !PyFloat_CheckExact(eps)) return Ref();
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
    const T *in = elements<const T>(array), *factors = data_or_null<const T>(held[1]),
            *terms = data_or_null<const T>(held[2]);
    T *to = elements<T>(as_ndarray(out)), *means = elements<T>(as_ndarray(mean)),
      *rstds = elements<T>(as_ndarray(rstd));
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
  if (kind == Kind::kNone || !is_dense(array) || PyArray_SIZE(array) == 0) return Ref();
  const npy_intp width = normalized_width(array, normalized_shape);
  if (width == 0 || !detail::same_shape(array_of(grad_out), array)) return Ref();
  const npy_intp rows = PyArray_SIZE(array) / width;
  for (PyArrayObject* one : {means, rstds}) {
    if (kind_of(one) != kind || !is_dense(one) || PyArray_SIZE(one) != rows) return Ref();
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
    normalize_backward<T>({elements<const T>(as_ndarray(gradient)), elements<const T>(array), elements<const T>(means),
                           elements<const T>(rstds), data_or_null<const T>(held[3]), data_or_null<T>(results[0]),
                           data_or_null<T>(results[1]), data_or_null<T>(results[2])},
                          rows, width);
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(3, results[0].get(), results[1].get(), results[2].get()));
}

Ref native_group_norm(PyObject* input, PyObject* weight, PyObject* bias, PyObject* N, PyObject* C, PyObject* HxW,
                      PyObject* group, PyObject* eps) {
  PyArrayObject* array = array_of(input);
  const Kind kind = kind_of(array);
  Groups groups;
  if (kind == Kind::kNone || !is_dense(array) || !PyFloat_CheckExact(eps)) return Ref();
  if (!read_groups(array, N, C, HxW, group, groups)) return Ref();
  if (!fits_channels(weight, groups.channels, kind) || !fits_channels(bias, groups.channels, kind)) return Ref();
  const npy_intp sizes[] = {groups.samples, groups.channels / groups.each};
  Ref out = new_like(array, kind), mean = new_array(2, sizes, kind), rstd = new_array(2, sizes, kind);
  if (!out || !mean || !rstd) return Ref();
  const Held held{input, weight, bias};
  const bool done = run_for(kind, PyArray_SIZE(array), [&]<class T>(T) {
    normalize_groups(groups, elements<const T>(array), data_or_null<const T>(held[1]), data_or_null<const T>(held[2]),
                     static_cast<T>(PyFloat_AS_DOUBLE(eps)), elements<T>(as_ndarray(out)),
                     elements<T>(as_ndarray(mean)), elements<T>(as_ndarray(rstd)));
  });
  return done ? Ref(PyTuple_Pack(3, out.get(), mean.get(), rstd.get())) : Ref();
}

}  // namespace kernels

namespace composites {

Ref native_group_norm_backward(PyObject* grad_out, PyObject* input, PyObject* mean, PyObject* rstd, PyObject* weight,
                               PyObject* N, PyObject* C, PyObject* HxW, PyObject* group, PyObject* output_mask) {
  if (kernels_replaced != 0) return Ref();
  for (PyObject* tensor : {grad_out, input, mean, rstd, weight}) {
    if (grad_enabled && tensor != Py_None && requires_grad(tensor)) return Ref();
  }
  PyArrayObject *array = array_of(input), *given = array_of(grad_out);
  const Kind kind = kind_of(array);
  Groups groups;
  if (kind == Kind::kNone || !is_dense(array) || !read_groups(array, N, C, HxW, group, groups)) return Ref();
  if (PyArray_SIZE(given) != PyArray_SIZE(array) || !fits_channels(weight, groups.channels, kind)) return Ref();
  for (PyArrayObject* one : {array_of(mean), array_of(rstd)}) {
    if (kind_of(one) != kind || !is_dense(one) || PyArray_SIZE(one) != groups.rows()) return Ref();
  }
  if (!PyTuple_CheckExact(output_mask) || PyTuple_GET_SIZE(output_mask) != 3) return Ref();
  Ref gradient = usable(grad_out, kind);
  if (!gradient) return Ref();
  Ref results[3];
  for (int i = 0; i < 3; ++i) {
    if (PyTuple_GET_ITEM(output_mask, i) != Py_True) {
      results[i] = Ref::borrow(Py_None);
    } else {
      results[i] = i == 0 ? new_like(array, kind) : new_array(1, &groups.channels, kind);
    }
    if (!results[i]) return Ref();
  }
  const Held held{input, mean, rstd, weight};
  const bool done = run_for(kind, PyArray_SIZE(array), [&]<class T>(T) {
    groups_backward<T>(
        groups, {elements<const T>(as_ndarray(gradient)), elements<const T>(array), data_or_null<const T>(held[1]),
                 data_or_null<const T>(held[2]), data_or_null<const T>(held[3]), data_or_null<T>(results[0]),
                 data_or_null<T>(results[1]), data_or_null<T>(results[2])});
  });
  if (!done) return Ref();
  for (Ref& result : results) {
    if (result.get() == Py_None) continue;
    result = new_tensor(std::move(result));
    if (!result) return Ref();
  }
  return Ref(PyTuple_Pack(3, results[0].get(), results[1].get(), results[2].get()));
}

}  // namespace composites

}  // namespace gradwright
