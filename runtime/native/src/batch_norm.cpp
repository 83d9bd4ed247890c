// The gradients of batch normalization: native loops over float32 and float64 for what runtime/kernels/batch_norm.py does. A
// channel is read twice: for its sums, and for the gradient of the input.

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

// Rows shorter than that are left to NumPy, which goes through channels that lie side by side.
constexpr npy_intp kLeastWidth = 16;

constexpr char kOddBatch[] = "channels of few elements, or arrays and arguments that the Python kernel looks at";

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

// Numbers for each channel, or null.
bool fits_channels(PyObject* tensor, npy_intp channels, Kind kind) {
  if (tensor == Py_None) return true;
  PyArrayObject* array = array_of(tensor);
  return kind_of(array) == kind && is_dense(array) && PyArray_NDIM(array) == 1 && PyArray_SIZE(array) == channels;
}

}  // namespace

namespace kernels {

Ref native_batch_norm_backward(PyObject* grad_out, PyObject* input, PyObject* weight, PyObject* running_mean,
                               PyObject* running_var, PyObject* save_mean, PyObject* save_invstd, PyObject* train,
                               PyObject* eps, PyObject* output_mask) {
  PyArrayObject* array = array_of(input);
  const Kind kind = kind_of(array);
  const int ndim = PyArray_NDIM(array);
  if (kind == Kind::kNone || !is_dense(array) || ndim < 3 || PyArray_SIZE(array) == 0) return declined(kOddBatch);
  if (!PyBool_Check(train) || !PyFloat_CheckExact(eps)) return declined(kOddBatch);
  const npy_intp batch = PyArray_DIM(array, 0), channels = PyArray_DIM(array, 1);
  const npy_intp width = PyArray_SIZE(array) / (batch * channels);
  const bool training = train == Py_True;
  PyObject *means = training ? save_mean : running_mean, *scales = training ? save_invstd : running_var;
  if (width < kLeastWidth || means == Py_None || scales == Py_None) return declined(kOddBatch);
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
    const T count = static_cast<T>(batch * width);
    parallel_for(channels, std::max<npy_intp>(1, kRowGrain / (batch * width)), [&](npy_intp begin, npy_intp end) {
      Scratch<T> centred(width);
      for (npy_intp c = begin; c < end; ++c) {
        const T invstd = training ? scale[c] : T(1) / std::sqrt(scale[c] + static_cast<T>(added));
        T total = 0, along = 0;
        for (npy_intp n = 0; n < batch; ++n) {
          const npy_intp at = (n * channels + c) * width;
          run_best<Centre>(in + at, width, mean[c], centred.data());
          total += sum_dense(grad + at, width);
          along += dot_dense(grad + at, static_cast<const T*>(centred.data()), width);
        }
        if (of_weight != nullptr) of_weight[c] = along * invstd;
        if (of_bias != nullptr) of_bias[c] = total;
        if (of_input == nullptr) continue;
        const T level = training ? total / count : T(0), slope = training ? along * invstd * invstd / count : T(0);
        const T factor = weights == nullptr ? invstd : invstd * weights[c];
        for (npy_intp n = 0; n < batch; ++n) {
          const npy_intp at = (n * channels + c) * width;
          run_best<OfInput>(grad + at, in + at, width, mean[c], level, slope, factor, of_input + at);
        }
      }
    });
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(3, results[0].get(), results[1].get(), results[2].get()));
}

}  // namespace kernels

}  // namespace gradwright
