// Convolutions whose channels each have a window of their own, of one or two dimensions: there is no product of matrices in
// them, and rows of the input are added to rows of the result as they lie. Others are products of matrices, which the Python
// kernel in runtime/kernels/convolution.py makes.

#include <algorithm>
#include <cmath>
#include <vector>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"
#include "views.hpp"
#include "windows.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr char kOtherConvolution[] = "a convolution that is made of products of matrices";

struct Planes {
  Along rows, columns;
  npy_intp batch, channels, each;  // results that each channel has

  npy_intp in() const { return rows.size * columns.size; }
  npy_intp out() const { return rows.count * columns.count; }
  npy_intp taps() const { return rows.kernel * columns.kernel; }
};

// work(tap, out, in, count): so many elements of a row of the result, from `out` on, have this tap in a row of the input,
// from `in` on, `stride` elements apart.
template <class Work>
GRADWRIGHT_INLINE void for_rows(const Planes& planes, Work work) {
  const Along &rows = planes.rows, &columns = planes.columns;
  for (npy_intp y = 0; y < rows.count; ++y) {
    for (npy_intp i = 0; i < rows.kernel; ++i) {
      const npy_intp row = y * rows.stride + rows.start(i);
      if (row < 0 || row >= rows.size) continue;
      for (npy_intp j = 0; j < columns.kernel; ++j) {
        const npy_intp first = columns.first(j), count = columns.end(j) - first;
        if (count <= 0) continue;
        work(i * columns.kernel + j, y * columns.count + first,
             row * columns.size + first * columns.stride + columns.start(j), count);
      }
    }
  }
}

struct Forward {
  // Three taps next to each other at once: what most windows have, and a result is read and written once for all of them.
  template <class T>
  static GRADWRIGHT_INLINE void by_threes(const Planes& planes, const T* in, const T* weight, T* out) {
    const Along &rows = planes.rows, &columns = planes.columns;
    const npy_intp wide = columns.dilation, begin = columns.start(0);
    const npy_intp first = columns.first(0), end = std::max(first, columns.end(2));  // all three are in the row
    for (npy_intp y = 0; y < rows.count; ++y, out += columns.count) {
      for (npy_intp i = 0; i < rows.kernel; ++i) {
        const npy_intp row = y * rows.stride + rows.start(i);
        if (row < 0 || row >= rows.size) continue;
        const T *from = in + row * columns.size, *by = weight + 3 * i, *at = from + begin;
        const T a = by[0], b = by[1], c = by[2];
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = first; k < end; ++k) out[k] += (a * at[k] + b * at[k + wide]) + c * at[k + 2 * wide];
        for (npy_intp j = 0; j < 3; ++j) {
          const npy_intp low = columns.first(j), high = columns.end(j);
          for (npy_intp k = low; k < std::min(first, high); ++k) out[k] += by[j] * from[k + columns.start(j)];
          for (npy_intp k = std::max(end, low); k < high; ++k) out[k] += by[j] * from[k + columns.start(j)];
        }
      }
    }
  }

  template <class T>
  static GRADWRIGHT_INLINE void run(const Planes* planes, const T* __restrict in, const T* __restrict weight,
                                    T* __restrict out) {
    const npy_intp step = planes->columns.stride;
    if (step == 1 && planes->columns.kernel == 3) {
      by_threes(*planes, in, weight, out);
      return;
    }
    for_rows(*planes, [=](npy_intp tap, npy_intp to, npy_intp from, npy_intp count) {
      const T factor = weight[tap];
      if (step == 1) {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) out[to + k] += factor * in[from + k];
      } else {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) out[to + k] += factor * in[from + k * step];
      }
    });
  }
};

struct OfInput {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Planes* planes, const T* __restrict grad, const T* __restrict weight,
                                    T* __restrict of_input) {
    const npy_intp step = planes->columns.stride;
    for_rows(*planes, [=](npy_intp tap, npy_intp to, npy_intp from, npy_intp count) {
      const T factor = weight[tap];
      if (step == 1) {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) of_input[from + k] += factor * grad[to + k];
      } else {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) of_input[from + k * step] += factor * grad[to + k];
      }
    });
  }
};

// For each tap a sum for each column, so that no element waits for the one before.
struct OfWeight {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Planes* planes, const T* __restrict grad, const T* __restrict in,
                                    T* __restrict sums) {
    const npy_intp step = planes->columns.stride, width = planes->columns.count;
    for_rows(*planes, [=](npy_intp tap, npy_intp to, npy_intp from, npy_intp count) {
      T* row = sums + tap * width + to % width;
      if (step == 1) {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) row[k] += grad[to + k] * in[from + k];
      } else {
        GRADWRIGHT_INDEPENDENT
        for (npy_intp k = 0; k < count; ++k) row[k] += grad[to + k] * in[from + k * step];
      }
    });
  }
};

// A number for each of `dims` dimensions, as the Python kernel reads them; false for what it refuses.
bool read_numbers(PyObject* given, int dims, npy_intp least, npy_intp* numbers) {
  if (!PyTuple_CheckExact(given)) return false;
  const Py_ssize_t size = PyTuple_GET_SIZE(given);
  if (size != 1 && size != dims) return false;
  for (int i = 0; i < dims; ++i) {
    PyObject* number = PyTuple_GET_ITEM(given, size == 1 ? 0 : i);
    if (!detail::read_int(number, numbers + i) || numbers[i] < least) return false;
  }
  return true;
}

// Whether it is a convolution of this kind, and how its windows lie.
bool plan(PyArrayObject* input, PyArrayObject* weight, PyObject* stride, PyObject* padding, PyObject* dilation,
          PyObject* transposed, PyObject* groups, Planes& planes) {
  const int dims = PyArray_NDIM(input) - 2;
  const Kind kind = kind_of(input);
  npy_intp count;
  if ((dims != 1 && dims != 2) || kind == Kind::kNone || kind_of(weight) != kind || PyArray_NDIM(weight) != dims + 2) return false;
  if (!is_dense(input) || !is_dense(weight) || PyArray_SIZE(input) == 0 || PyArray_SIZE(weight) == 0) return false;
  if (transposed != Py_False || !detail::read_int(groups, &count) || count < 2) return false;
  planes.batch = PyArray_DIM(input, 0);
  planes.channels = PyArray_DIM(input, 1);
  const npy_intp made = PyArray_DIM(weight, 0);
  if (count != planes.channels || PyArray_DIM(weight, 1) != 1 || made % count != 0) return false;
  planes.each = made / count;
  npy_intp steps[2], pads[2], wide[2];
  if (!read_numbers(stride, dims, 1, steps) || !read_numbers(padding, dims, 0, pads) || !read_numbers(dilation, dims, 1, wide)) {
    return false;
  }
  planes.rows = {1, 1, 1, 1, 0, 1};
  for (int i = 0; i < dims; ++i) {
    const npy_intp size = PyArray_DIM(input, 2 + i), kernel = PyArray_DIM(weight, 2 + i);
    const npy_intp left = size + 2 * pads[i] - wide[i] * (kernel - 1) - 1;
    if (left < 0) return false;
    Along& along = i == dims - 1 ? planes.columns : planes.rows;
    along = {size, left / steps[i] + 1, kernel, steps[i], pads[i], wide[i]};
  }
  return true;
}

// The shape of the result.
void result_sizes(PyArrayObject* input, const Planes& planes, npy_intp* sizes) {
  const int ndim = PyArray_NDIM(input);
  sizes[0] = planes.batch;
  sizes[1] = planes.channels * planes.each;
  sizes[ndim - 1] = planes.columns.count;
  if (ndim == 4) sizes[2] = planes.rows.count;
}

// How many planes are worth a thread.
npy_intp grain(const Planes& planes) { return std::max<npy_intp>(1, kGrain / (planes.out() * planes.taps())); }

}  // namespace

namespace kernels {

Ref convolution(PyObject* input, PyObject* weight, PyObject* bias, PyObject* stride, PyObject* padding,
                PyObject* dilation, PyObject* transposed, PyObject* output_padding, PyObject* groups) {
  (void)output_padding;  // of transposed ones
  PyArrayObject *images = array_of(input), *factors = array_of(weight);
  Planes planes;
  if (!plan(images, factors, stride, padding, dilation, transposed, groups, planes)) return declined(kOtherConvolution);
  const Kind kind = kind_of(images);
  const npy_intp made = planes.channels * planes.each;
  if (bias != Py_None) {
    PyArrayObject* terms = array_of(bias);
    if (kind_of(terms) != kind || !is_dense(terms) || PyArray_NDIM(terms) != 1 || PyArray_SIZE(terms) != made) {
      return declined(kOtherConvolution);
    }
  }
  if (planes.rows.padding != 0 || planes.columns.padding != 0) {
    // The zeros of the padding are passed over here, and are NaN times an infinity.
    bool finite = true;
    const bool seen = run_for(kind, PyArray_SIZE(factors), [&]<class T>(T) {
      const T* by = elements<const T>(factors);
      finite = std::all_of(by, by + PyArray_SIZE(factors), [](T value) { return std::isfinite(value); });
    });
    if (!seen) return Ref();
    if (!finite) return declined(kOtherConvolution);
  }
  npy_intp sizes[4];
  result_sizes(images, planes, sizes);
  Ref out = new_array(PyArray_NDIM(images), sizes, kind);
  if (!out) return out;
  const Held held{input, weight, bias};
  const bool done = run_for(kind, PyArray_SIZE(as_ndarray(out)) * planes.taps(), [&]<class T>(T) {
    const T *in = elements<const T>(images), *by = elements<const T>(factors), *terms = data_or_null<const T>(held[2]);
    T* to = elements<T>(as_ndarray(out));
    parallel_for(planes.batch * made, grain(planes), [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) {
        const npy_intp channel = i % made;
        T* plane = to + i * planes.out();
        std::fill_n(plane, planes.out(), T(0));
        run_best<Forward>(static_cast<const Planes*>(&planes), in + i / planes.each * planes.in(),
                          by + channel * planes.taps(), plane);
        if (terms == nullptr) continue;
        const T term = terms[channel];
        for (npy_intp k = 0; k < planes.out(); ++k) plane[k] += term;
      }
    });
  });
  return done ? std::move(out) : Ref();
}

Ref convolution_backward(PyObject* grad_output, PyObject* input, PyObject* weight, PyObject* bias_sizes,
                         PyObject* stride, PyObject* padding, PyObject* dilation, PyObject* transposed,
                         PyObject* output_padding, PyObject* groups, PyObject* output_mask) {
  (void)bias_sizes, (void)output_padding;
  PyArrayObject *images = array_of(input), *factors = array_of(weight), *given = array_of(grad_output);
  Planes planes;
  if (!plan(images, factors, stride, padding, dilation, transposed, groups, planes)) return declined(kOtherConvolution);
  const Kind kind = kind_of(images);
  npy_intp sizes[4];
  result_sizes(images, planes, sizes);
  const int ndim = PyArray_NDIM(images);
  if (PyArray_NDIM(given) != ndim || !std::equal(sizes, sizes + ndim, PyArray_DIMS(given))) return declined(kOtherConvolution);
  if (!PyTuple_CheckExact(output_mask) || PyTuple_GET_SIZE(output_mask) != 3) return declined(kOtherConvolution);
  Ref gradient = usable(grad_output, kind);
  if (!gradient) return declined(kOtherConvolution);
  const npy_intp made = planes.channels * planes.each;
  Ref results[3];
  for (int i = 0; i < 3; ++i) {
    PyArrayObject* like = i == 0 ? images : factors;
    results[i] = PyTuple_GET_ITEM(output_mask, i) == Py_True
                     ? new_array(i == 2 ? 1 : ndim, i == 2 ? &made : PyArray_DIMS(like), kind)
                     : Ref::borrow(Py_None);
    if (!results[i]) return Ref();
  }
  const Held held{input, weight};
  const bool done = run_for(kind, PyArray_SIZE(as_ndarray(gradient)) * planes.taps(), [&]<class T>(T) {
    const T *grad = elements<const T>(as_ndarray(gradient)), *in = elements<const T>(images), *by = elements<const T>(factors);
    T *of_input = data_or_null<T>(results[0]), *of_weight = data_or_null<T>(results[1]), *of_bias = data_or_null<T>(results[2]);
    const Planes* each = &planes;
    const npy_intp width = planes.columns.count;
    // A channel at a time, so that each sum has one thread.
    parallel_for(planes.channels, std::max<npy_intp>(1, grain(planes) / planes.batch), [&](npy_intp begin, npy_intp end) {
      std::vector<T> sums(of_weight != nullptr ? static_cast<size_t>(planes.taps() * width) : 0);
      for (npy_intp channel = begin; channel < end; ++channel) {
        if (of_input != nullptr) {
          for (npy_intp n = 0; n < planes.batch; ++n) {
            std::fill_n(of_input + (n * planes.channels + channel) * planes.in(), planes.in(), T(0));
          }
        }
        for (npy_intp one = channel * planes.each; one < (channel + 1) * planes.each; ++one) {
          std::fill(sums.begin(), sums.end(), T(0));
          T total = 0;
          for (npy_intp n = 0; n < planes.batch; ++n) {
            const T* from = grad + (n * made + one) * planes.out();
            const npy_intp image = (n * planes.channels + channel) * planes.in();
            if (of_input != nullptr) run_best<OfInput>(each, from, by + one * planes.taps(), of_input + image);
            if (of_weight != nullptr) run_best<OfWeight>(each, from, in + image, sums.data());
            if (of_bias != nullptr) total += sum_dense(from, planes.out());
          }
          if (of_bias != nullptr) of_bias[one] = total;
          if (of_weight == nullptr) continue;
          for (npy_intp tap = 0; tap < planes.taps(); ++tap) {
            of_weight[one * planes.taps() + tap] = sum_dense(sums.data() + tap * width, width);
          }
        }
      }
    });
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(3, results[0].get(), results[1].get(), results[2].get()));
}

}  // namespace kernels

}  // namespace gradwright
