// Batch normalization and its gradients: native loops over float32 and float64 for what runtime/operators/kernels/batch_norm.py does. A
// channel is read for its sums, and again for what is made of them; where channels are single elements side by side, all of
// them are gone through together.

#include <algorithm>
#include <cmath>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr char kOddBatch[] = "arrays and arguments that the Python kernel looks at";

struct Centre {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp width, T mean, T* __restrict out) {
    for (npy_intp i = 0; i < width; ++i) out[i] = in[i] - mean;
  }
};

struct OfInput {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict grad, const T* __restrict in, npy_intp width, T mean, T level,
                                    T along, T factor, T* __restrict out) {
    for (npy_intp i = 0; i < width; ++i) out[i] = ((grad[i] - level) - (in[i] - mean) * along) * factor;
  }
};

// The same where mean and deviation are no functions of the input.
struct OfInputAlone {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict grad, npy_intp width, T factor, T* __restrict out) {
    for (npy_intp i = 0; i < width; ++i) out[i] = grad[i] * factor;
  }
};

// The squares of what is left of numbers without their mean, added to sums of them.
struct AddSquares {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp size, const T* __restrict mean,
                                    T* __restrict sums) {
    for (npy_intp c = 0; c < size; ++c) sums[c] += (in[c] - mean[c]) * (in[c] - mean[c]);
  }
};
struct Add {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp size, T* __restrict sums) {
    for (npy_intp c = 0; c < size; ++c) sums[c] += in[c];
  }
};

// Less a mean, times a scale, times a weight and with a bias where these are given: of one channel, and of each of many.
struct Normalize {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp width, T mean, T scale, const T* weight,
                                    const T* bias, T* __restrict out) {
    const T by = weight == nullptr ? T(1) : *weight;
    if (bias == nullptr) {
      for (npy_intp i = 0; i < width; ++i) out[i] = (in[i] - mean) * scale * by;
    } else {
      const T more = *bias;
      for (npy_intp i = 0; i < width; ++i) out[i] = (in[i] - mean) * scale * by + more;
    }
  }
};
struct NormalizeEach {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp size, const T* __restrict mean,
                                    const T* __restrict scale, const T* __restrict weight, const T* __restrict bias,
                                    T* __restrict out) {
    for (npy_intp c = 0; c < size; ++c) out[c] = (in[c] - mean[c]) * scale[c];
    if (weight != nullptr) {
      for (npy_intp c = 0; c < size; ++c) out[c] *= weight[c];
    }
    if (bias != nullptr) {
      for (npy_intp c = 0; c < size; ++c) out[c] += bias[c];
    }
  }
};

// The sizes of an input; `width` elements lie together in each channel of a sample.
struct Channels {
  npy_intp batch, channels, width;
};

// Whether there are loops for an input: channels of single elements, or of many.
bool read_input(PyArrayObject* array, Channels& sizes) {
  if (kind_of(array) == Kind::kNone || !is_dense(array) || PyArray_NDIM(array) < 2 || PyArray_SIZE(array) == 0)
    return false;
  sizes.batch = PyArray_DIM(array, 0);
  sizes.channels = PyArray_DIM(array, 1);
  sizes.width = PyArray_SIZE(array) / (sizes.batch * sizes.channels);
  return true;
}

// The means of channels, and 1 / deviations.
template <class T>
void statistics(const Channels& sizes, const T* in, T eps, T* mean, T* invstd) {
  const auto [batch, channels, width] = sizes;
  const T count = static_cast<T>(batch * width);
  if (width == 1) {
    std::fill_n(mean, channels, T(0));
    std::fill_n(invstd, channels, T(0));
    for (npy_intp n = 0; n < batch; ++n) run_best<Add>(in + n * channels, channels, mean);
    for (npy_intp c = 0; c < channels; ++c) mean[c] /= count;
    for (npy_intp n = 0; n < batch; ++n)
      run_best<AddSquares>(in + n * channels, channels, static_cast<const T*>(mean), invstd);
  } else {
    parallel_for(sizes.channels, std::max<npy_intp>(1, kRowGrain / (sizes.batch * sizes.width)),
                 [&](npy_intp begin, npy_intp end) {
                   const auto [batch, channels, width] = sizes;
                   Scratch<T> centred(width);
                   for (npy_intp c = begin; c < end; ++c) {
                     T total = 0, squares = 0;
                     for (npy_intp n = 0; n < batch; ++n) total += sum_dense(in + (n * channels + c) * width, width);
                     mean[c] = total / count;
                     for (npy_intp n = 0; n < batch; ++n) {
                       run_best<Centre>(in + (n * channels + c) * width, width, mean[c], centred.data());
                       squares += dot_dense(static_cast<const T*>(centred.data()),
                                            static_cast<const T*>(centred.data()), width);
                     }
                     invstd[c] = squares;
                   }
                 });
  }
  for (npy_intp c = 0; c < channels; ++c) invstd[c] = T(1) / std::sqrt(invstd[c] / count + eps);
}

template <class T>
void normalize(const Channels& sizes, const T* in, const T* mean, const T* scale, const T* weight, const T* bias,
               T* out) {
  const auto [batch, channels, width] = sizes;
  const npy_intp line = width == 1 ? channels : width;
  parallel_for(
      batch * channels * width / line, std::max<npy_intp>(1, kGrain / line), [&](npy_intp begin, npy_intp end) {
        for (npy_intp i = begin; i < end; ++i) {
          if (sizes.width == 1) {
            run_best<NormalizeEach>(in + i * line, line, mean, scale, weight, bias, out + i * line);
          } else {
            const npy_intp c = i % sizes.channels;
            run_best<Normalize>(in + i * line, line, mean[c], scale[c], weight == nullptr ? weight : weight + c,
                                bias == nullptr ? bias : bias + c, out + i * line);
          }
        }
      });
}

// The gradients where channels are single elements side by side.
struct AddProducts {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict grad, const T* __restrict in, npy_intp size,
                                    const T* __restrict mean, T* __restrict totals, T* __restrict products) {
    for (npy_intp c = 0; c < size; ++c) {
      totals[c] += grad[c];
      products[c] += grad[c] * (in[c] - mean[c]);
    }
  }
};
struct OfEachInput {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict grad, const T* __restrict in, npy_intp size,
                                    const T* __restrict mean, const T* __restrict levels, const T* __restrict slopes,
                                    const T* __restrict factors, T* __restrict out) {
    for (npy_intp c = 0; c < size; ++c) {
      out[c] = ((grad[c] - levels[c]) - (in[c] - mean[c]) * slopes[c]) * factors[c];
    }
  }
};

struct OfEachInputAlone {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict grad, npy_intp size, const T* __restrict factors,
                                    T* __restrict out) {
    for (npy_intp c = 0; c < size; ++c) out[c] = grad[c] * factors[c];
  }
};

// Numbers for each channel, or null.
bool fits_channels(PyObject* tensor, npy_intp channels, Kind kind) {
  if (tensor == Py_None) return true;
  PyArrayObject* array = array_of(tensor);
  return kind_of(array) == kind && is_dense(array) && PyArray_NDIM(array) == 1 && PyArray_SIZE(array) == channels;
}

}  // namespace

namespace kernels {

Ref batch_norm_of_batch(PyObject* input, PyObject* weight, PyObject* bias, PyObject*, PyObject*, PyObject* eps) {
  PyArrayObject* array = array_of(input);
  const Kind kind = kind_of(array);
  Channels sizes;
  if (!read_input(array, sizes) || !PyFloat_CheckExact(eps)) return declined(kOddBatch);
  for (PyObject* each : {weight, bias}) {
    if (!fits_channels(each, sizes.channels, kind)) return declined(kOddBatch);
  }
  Ref out = new_like(array, kind), mean = new_array(1, &sizes.channels, kind),
      invstd = new_array(1, &sizes.channels, kind);
  if (!out || !mean || !invstd) return Ref();
  const Held held{input, weight, bias};
  const double added = PyFloat_AS_DOUBLE(eps);
  const bool done = run_for(kind, PyArray_SIZE(array), [&]<class T>(T) {
    const T *in = elements<const T>(array), *weights = data_or_null<const T>(held[1]),
            *terms = data_or_null<const T>(held[2]);
    T *means = elements<T>(as_ndarray(mean)), *scales = elements<T>(as_ndarray(invstd));
    statistics(sizes, in, static_cast<T>(added), means, scales);
    normalize<T>(sizes, in, means, scales, weights, terms, elements<T>(as_ndarray(out)));
  });
  return done ? Ref(PyTuple_Pack(3, out.get(), mean.get(), invstd.get())) : Ref();
}
GRADWRIGHT_KERNEL(batch_norm_of_batch, 6, tensors)

Ref batch_norm_of_running(PyObject* input, PyObject* weight, PyObject* bias, PyObject* running_mean,
                          PyObject* running_var, PyObject*, PyObject* eps) {
  PyArrayObject* array = array_of(input);
  const Kind kind = kind_of(array);
  Channels sizes;
  if (!read_input(array, sizes) || !PyFloat_CheckExact(eps)) return declined(kOddBatch);
  for (PyObject* each : {weight, bias, running_mean, running_var}) {
    if (!fits_channels(each, sizes.channels, kind)) return declined(kOddBatch);
  }
  const npy_intp none = 0;
  Ref out = new_like(array, kind), nothing = new_array(1, &none, kind), more = new_array(1, &none, kind);
  if (!out || !nothing || !more) return Ref();
  const Held held{input, weight, bias, running_mean, running_var};
  const double added = PyFloat_AS_DOUBLE(eps);
  const bool done = run_for(kind, PyArray_SIZE(array), [&]<class T>(T) {
    Scratch<T> scales(sizes.channels);
    const T* variances = data_or_null<const T>(held[4]);
    for (npy_intp c = 0; c < sizes.channels; ++c)
      scales.data()[c] = T(1) / std::sqrt(variances[c] + static_cast<T>(added));
    normalize<T>(sizes, elements<const T>(array), data_or_null<const T>(held[3]), scales.data(),
                 data_or_null<const T>(held[1]), data_or_null<const T>(held[2]), elements<T>(as_ndarray(out)));
  });
  return done ? Ref(PyTuple_Pack(3, out.get(), nothing.get(), more.get())) : Ref();
}
GRADWRIGHT_KERNEL(batch_norm_of_running, 7, tensors)

Ref native_batch_norm_backward(PyObject* grad_out, PyObject* input, PyObject* weight, PyObject* running_mean,
                               PyObject* running_var, PyObject* save_mean, PyObject* save_invstd, PyObject* train,
                               PyObject* eps, PyObject* output_mask) {
  PyArrayObject* array = array_of(input);
  const Kind kind = kind_of(array);
  Channels sizes;
  if (!read_input(array, sizes) || !PyBool_Check(train) || !PyFloat_CheckExact(eps)) return declined(kOddBatch);
  const auto [batch, channels, width] = sizes;
  const bool training = train == Py_True;
  PyObject *means = training ? save_mean : running_mean, *scales = training ? save_invstd : running_var;
  if (means == Py_None || scales == Py_None) return declined(kOddBatch);
  for (PyObject* each : {weight, means, scales}) {
    if (!fits_channels(each, channels, kind)) return declined(kOddBatch);
  }
  if (!detail::same_shape(array_of(grad_out), array)) return declined(kOddBatch);
  if (!PyTuple_CheckExact(output_mask) || PyTuple_GET_SIZE(output_mask) != 3) return declined(kOddBatch);
  Ref gradient = usable(grad_out, kind);
  if (!gradient) return declined(kOddBatch);
  Ref results[3];
  for (int i = 0; i < 3; ++i) {
    results[i] = PyTuple_GET_ITEM(output_mask, i) != Py_True ? Ref::borrow(Py_None)
                 : i == 0                                    ? new_like(array, kind)
                                                             : new_array(1, &channels, kind);
    if (!results[i]) return Ref();
  }
  const Held held{input, weight, means, scales};
  const double added = PyFloat_AS_DOUBLE(eps);
  const bool done = run_for(kind, PyArray_SIZE(array), [&]<class T>(T) {
    const T *grad = elements<const T>(as_ndarray(gradient)), *in = elements<const T>(array);
    const T *weights = data_or_null<const T>(held[1]), *mean = data_or_null<const T>(held[2]);
    const T* scale = data_or_null<const T>(held[3]);
    T *of_input = data_or_null<T>(results[0]), *of_weight = data_or_null<T>(results[1]);
    T* of_bias = data_or_null<T>(results[2]);
    const auto [batch, channels, width] = sizes;
    const T count = static_cast<T>(batch * width);
    // What is computed for each channel: the sums, and of them the numbers that the gradient of the input is made of.
    Scratch<T> totals(channels), products(channels), factors(channels);
    const auto finish = [&](npy_intp c) {
      T &total = totals.data()[c], &along = products.data()[c];
      const T invstd = training ? scale[c] : T(1) / std::sqrt(scale[c] + static_cast<T>(added));
      if (of_weight != nullptr) of_weight[c] = along * invstd;
      if (of_bias != nullptr) of_bias[c] = total;
      total /= count;
      along = along * invstd * invstd / count;
      factors.data()[c] = weights == nullptr ? invstd : invstd * weights[c];
    };
    if (width == 1) {
      std::fill_n(totals.data(), channels, T(0));
      std::fill_n(products.data(), channels, T(0));
      for (npy_intp at = 0; at < batch * channels; at += channels) {
        run_best<AddProducts>(grad + at, in + at, channels, mean, totals.data(), products.data());
      }
      for (npy_intp c = 0; c < channels; ++c) finish(c);
      const T* factor = factors.data();
      for (npy_intp at = 0; of_input != nullptr && at < batch * channels; at += channels) {
        if (training) {
          run_best<OfEachInput>(grad + at, in + at, channels, mean, static_cast<const T*>(totals.data()),
                                static_cast<const T*>(products.data()), factor, of_input + at);
        } else {
          run_best<OfEachInputAlone>(grad + at, channels, factor, of_input + at);
        }
      }
      return;
    }
    parallel_for(channels, std::max<npy_intp>(1, kRowGrain / (batch * width)), [&](npy_intp begin, npy_intp end) {
      const auto [batch, channels, width] = sizes;
      Scratch<T> centred(width);
      for (npy_intp c = begin; c < end; ++c) {
        T total = 0, along = 0;
        for (npy_intp n = 0; n < batch; ++n) {
          const npy_intp at = (n * channels + c) * width;
          run_best<Centre>(in + at, width, mean[c], centred.data());
          total += sum_dense(grad + at, width);
          along += dot_dense(grad + at, static_cast<const T*>(centred.data()), width);
        }
        totals.data()[c] = total;
        products.data()[c] = along;
        finish(c);
        for (npy_intp n = 0; of_input != nullptr && n < batch; ++n) {
          const npy_intp at = (n * channels + c) * width;
          if (training) {
            run_best<OfInput>(grad + at, in + at, width, mean[c], totals.data()[c], products.data()[c],
                              factors.data()[c], of_input + at);
          } else {
            run_best<OfInputAlone>(grad + at, width, factors.data()[c], of_input + at);
          }
        }
      }
    });
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(3, results[0].get(), results[1].get(), results[2].get()));
}
GRADWRIGHT_KERNEL(native_batch_norm_backward, 10, tensors)

}  // namespace kernels

}  // namespace gradwright
