// Pooling over windows of images: native loops over float32 and float64 for what runtime/operators/kernels/pooling.py does, with its
// results to the last bit but for sums of adaptive windows. A row of results is made at a time, of rows of the input as they
// lie.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <type_traits>
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

constexpr char kOtherPool[] = "windows of three dimensions, or arrays and arguments that the Python kernel looks at";

// The windows that have an element of some number within the input.
struct Span {
  npy_intp first, end;
};

struct Windows {
  Along rows, columns;
  npy_intp planes;
  std::vector<Span> spans;  // for each column of a window

  npy_intp in() const { return rows.size * columns.size; }
  npy_intp out() const { return rows.count * columns.count; }
  npy_intp work() const { return planes * out() * rows.kernel * columns.kernel; }
  // How many planes are worth a thread.
  npy_intp grain() const { return std::max<npy_intp>(1, kGrain / (out() * rows.kernel * columns.kernel)); }
};

bool read_flag(PyObject* given, bool* flag) {
  *flag = given == Py_True;
  return PyBool_Check(given);
}

// Two numbers, none below `least`; where there is none, those that stand there.
bool read_pair(PyObject* given, npy_intp least, npy_intp* numbers, bool may_be_none = false) {
  npy_intp found[detail::kMostDims];
  const int count = detail::read_ints(given, found);
  if (count == 0 && may_be_none) return true;
  if (count != 2) return false;
  for (int i = 0; i < 2; ++i) {
    if (found[i] < least || found[i] >= kMostSize) return false;
    numbers[i] = found[i];
  }
  return true;
}

// How windows lie in an array; false for what the Python kernel refuses. `dilation` may be null.
bool plan(PyArrayObject* array, PyObject* kernel_size, PyObject* stride, PyObject* padding, PyObject* dilation,
          PyObject* ceil_mode, Windows& windows) {
  const int ndim = PyArray_NDIM(array);
  bool up;
  if ((ndim != 3 && ndim != 4) || PyArray_SIZE(array) == 0 || !read_flag(ceil_mode, &up)) return false;
  npy_intp kernel[2], steps[2], pads[2], wide[2] = {1, 1};
  if (!read_pair(kernel_size, 1, kernel)) return false;
  std::copy(kernel, kernel + 2, steps);
  if (!read_pair(stride, 1, steps, true) || !read_pair(padding, 0, pads)) return false;
  if (dilation != nullptr && !read_pair(dilation, 1, wide)) return false;
  for (int i = 0; i < 2; ++i) {
    const npy_intp size = PyArray_DIM(array, ndim - 2 + i), extent = wide[i] * (kernel[i] - 1) + 1;
    const npy_intp left = size + 2 * pads[i] - extent + (up ? steps[i] - 1 : 0);
    if (pads[i] > extent / 2 || size >= kMostSize || left < 0) return false;
    npy_intp count = left / steps[i] + 1;
    if (up && (count - 1) * steps[i] >= size + pads[i]) --count;
    if (count < 1) return false;
    (i == 0 ? windows.rows : windows.columns) = {size, count, kernel[i], steps[i], pads[i], wide[i]};
  }
  windows.planes = PyArray_SIZE(array) / windows.in();
  for (npy_intp j = 0; j < windows.columns.kernel; ++j) {
    windows.spans.push_back({windows.columns.first(j), windows.columns.end(j)});
  }
  return true;
}

// The shape of the result.
void result_sizes(PyArrayObject* array, const Windows& windows, npy_intp* sizes) {
  const int ndim = PyArray_NDIM(array);
  std::copy(PyArray_DIMS(array), PyArray_DIMS(array) + ndim - 2, sizes);
  sizes[ndim - 2] = windows.rows.count;
  sizes[ndim - 1] = windows.columns.count;
}

bool has_sizes(PyArrayObject* array, int ndim, const npy_intp* sizes) {
  return PyArray_NDIM(array) == ndim && std::equal(sizes, sizes + ndim, PyArray_DIMS(array));
}

// The row of the input that a row of the windows in row `y` lies in; -1 for the padding.
GRADWRIGHT_INLINE npy_intp row_of(const Along& rows, npy_intp y, npy_intp tap) {
  const npy_intp row = y * rows.stride + rows.start(tap);
  return row < rows.size ? std::max<npy_intp>(row, -1) : -1;
}

// Body::run<step>(args...), with the stride of windows as a constant where it is one that most have; 0 stands for others.
template <class Body>
struct ByStride {
  template <class... Args>
  static GRADWRIGHT_INLINE void run(const Windows* windows, Args... args) {
    switch (windows->columns.stride) {
      case 1:
        return Body::template run<1>(windows, args...);
      case 2:
        return Body::template run<2>(windows, args...);
      default:
        return Body::template run<0>(windows, args...);
    }
  }
};

// -- maxima

// Places are counted in integers as wide as the elements, so that both are compared and chosen at once.
template <class T>
using PlaceOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// Where each window begins along a dimension, with what is no padding.
template <class Place>
std::vector<Place> begins(const Along& along) {
  std::vector<Place> places(static_cast<size_t>(along.count));
  for (npy_intp k = 0; k < along.count; ++k) {
    npy_intp at = k * along.stride - along.padding;
    if (at < 0) at += (along.dilation - 1 - at) / along.dilation * along.dilation;
    places[static_cast<size_t>(k)] = static_cast<Place>(at);
  }
  return places;
}

// The first of equal elements, or the last NaN; where nothing is more than the lowest number, the first that is no padding.
struct Largest {
  template <npy_intp fixed, class T, class Place>
  static GRADWRIGHT_INLINE void run(const Windows* windows, const Place* tops, const Place* lefts,
                                    const T* __restrict in, Place* __restrict places, T* __restrict best,
                                    npy_intp* __restrict index) {
    const Along &rows = windows->rows, &columns = windows->columns;
    const npy_intp step = fixed == 0 ? columns.stride : fixed;
    const Span* spans = windows->spans.data();
    const Place width = static_cast<Place>(columns.size), far = static_cast<Place>(step);
    for (npy_intp y = 0; y < rows.count; ++y, best += columns.count, index += columns.count) {
      for (npy_intp x = 0; x < columns.count; ++x) {
        best[x] = -std::numeric_limits<T>::infinity();
        places[x] = tops[y] * width + lefts[x];
      }
      for (npy_intp i = 0; i < rows.kernel; ++i) {
        const npy_intp row = row_of(rows, y, i);
        if (row < 0) continue;
        for (npy_intp j = 0; j < columns.kernel; ++j) {
          const npy_intp begin = row * columns.size + columns.start(j);
          const Span span = spans[j];
          const T* from = in + begin;
          const Place at = static_cast<Place>(begin);
          GRADWRIGHT_INDEPENDENT
          for (npy_intp k = span.first; k < span.end; ++k) {
            const T value = from[k * step];
            const bool taken = (value > best[k]) | (value != value);
            best[k] = taken ? value : best[k];
            places[k] = taken ? at + static_cast<Place>(k) * far : places[k];
          }
        }
      }
      for (npy_intp x = 0; x < columns.count; ++x) index[x] = places[x];
    }
  }
};

// Values added up at their places in planes of zeros, in their order.
Ref scattered(PyObject* grad_output, PyObject* self, PyObject* indices, int dims) {
  PyArrayObject *given = array_of(grad_output), *like = array_of(self), *at = array_of(indices);
  const Kind kind = kind_of(given);
  const int ndim = PyArray_NDIM(like);
  if (kind == Kind::kNone || (ndim != dims + 1 && ndim != dims + 2) || PyArray_SIZE(like) == 0)
    return declined(kOtherPool);
  if (detail::type_of(at) != NPY_INT64 || !detail::same_shape(given, at)) return declined(kOtherPool);
  if (PyArray_NDIM(given) != ndim ||
      !std::equal(PyArray_DIMS(like), PyArray_DIMS(like) + ndim - dims, PyArray_DIMS(given))) {
    return declined(kOtherPool);
  }
  Ref gradient = usable(grad_output, kind);
  Ref places = is_dense(at) ? Ref::borrow(reinterpret_cast<PyObject*>(at)) : contiguous_copy(at);
  if (!gradient || !places) return declined(kOtherPool);
  Ref out = new_array(ndim, PyArray_DIMS(like), kind);
  if (!out) return out;
  npy_intp planes = 1;
  for (int i = 0; i < ndim - dims; ++i) planes *= PyArray_DIM(like, i);
  const npy_intp plane = PyArray_SIZE(like) / planes, count = PyArray_SIZE(given) / planes;
  std::atomic<bool> outside = false;
  const bool done = run_for(kind, PyArray_SIZE(like), [&]<class T>(T) {
    const T* grad = elements<const T>(as_ndarray(gradient));
    const npy_intp* index = elements<const npy_intp>(as_ndarray(places));
    T* to = elements<T>(as_ndarray(out));
    parallel_for(planes, std::max<npy_intp>(1, kGrain / (plane + count)), [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) {
        std::fill_n(to + i * plane, plane, T(0));
        for (npy_intp k = i * count; k < (i + 1) * count; ++k) {
          if (index[k] < 0 || index[k] >= plane) {
            outside = true;
            return;
          }
          to[i * plane + index[k]] += grad[k];
        }
      }
    });
  });
  if (!done) return Ref();
  return outside ? declined(kOtherPool) : std::move(out);
}

// -- means

// What the sum of each window is divided by: `fixed`, or where that is 0 as many as the window has elements.
struct Divided {
  bool with_padding;
  npy_intp fixed = 0;

  // False where the Python kernel refuses it.
  bool read(PyObject* count_include_pad, PyObject* divisor_override) {
    if (!read_flag(count_include_pad, &with_padding)) return false;
    return divisor_override == Py_None || (detail::read_int(divisor_override, &fixed) && fixed != 0);
  }
};

// How many elements each window has along a dimension.
std::vector<npy_intp> extents(const Along& along, bool with_padding) {
  std::vector<npy_intp> found(static_cast<size_t>(along.count));
  for (npy_intp k = 0; k < along.count; ++k) {
    const npy_intp start = k * along.stride - along.padding,
                   end = std::min(start + along.kernel, along.size + along.padding);
    found[static_cast<size_t>(k)] =
        with_padding ? end - start : std::min(end, along.size) - std::max<npy_intp>(start, 0);
  }
  return found;
}

template <class T>
std::vector<T> divisors(const Windows& windows, const Divided& by) {
  if (by.fixed != 0) return std::vector<T>(static_cast<size_t>(windows.out()), static_cast<T>(by.fixed));
  const std::vector<npy_intp> heights = extents(windows.rows, by.with_padding),
                              widths = extents(windows.columns, by.with_padding);
  std::vector<T> found;
  found.reserve(static_cast<size_t>(windows.out()));
  for (const npy_intp height : heights) {
    for (const npy_intp width : widths) found.push_back(static_cast<T>(height * width));
  }
  return found;
}

struct Means {
  template <npy_intp fixed, class T>
  static GRADWRIGHT_INLINE void run(const Windows* windows, const T* __restrict in, const T* __restrict divisor,
                                    T* __restrict out) {
    const Along &rows = windows->rows, &columns = windows->columns;
    const npy_intp step = fixed == 0 ? columns.stride : fixed;
    const Span* spans = windows->spans.data();
    for (npy_intp y = 0; y < rows.count; ++y, out += columns.count, divisor += columns.count) {
      for (npy_intp x = 0; x < columns.count; ++x) out[x] = 0;
      for (npy_intp i = 0; i < rows.kernel; ++i) {
        const npy_intp row = row_of(rows, y, i);
        if (row < 0) continue;
        for (npy_intp j = 0; j < columns.kernel; ++j) {
          const T* from = in + row * columns.size + columns.start(j);
          const Span span = spans[j];
          GRADWRIGHT_INDEPENDENT
          for (npy_intp k = span.first; k < span.end; ++k) out[k] += from[k * step];
        }
      }
      for (npy_intp x = 0; x < columns.count; ++x) out[x] /= divisor[x];
    }
  }
};

// Rows from the last one on, so that each element adds up in the order of its places in the windows, as in Python.
struct OfMeans {
  template <npy_intp fixed, class T>
  static GRADWRIGHT_INLINE void run(const Windows* windows, const T* __restrict grad, const T* __restrict divisor,
                                    T* __restrict share, T* __restrict of_input) {
    const Along &rows = windows->rows, &columns = windows->columns;
    const npy_intp step = fixed == 0 ? columns.stride : fixed;
    const Span* spans = windows->spans.data();
    for (npy_intp y = rows.count - 1; y >= 0; --y) {
      const npy_intp begin = y * columns.count;
      for (npy_intp x = 0; x < columns.count; ++x) share[x] = grad[begin + x] / divisor[begin + x];
      for (npy_intp i = 0; i < rows.kernel; ++i) {
        const npy_intp row = row_of(rows, y, i);
        if (row < 0) continue;
        for (npy_intp j = 0; j < columns.kernel; ++j) {
          T* to = of_input + row * columns.size + columns.start(j);
          const Span span = spans[j];
          GRADWRIGHT_INDEPENDENT
          for (npy_intp k = span.first; k < span.end; ++k) to[k * step] += share[k];
        }
      }
    }
  }
};

}  // namespace

namespace kernels {

Ref max_pool_with_indices(PyObject* self, PyObject* kernel_size, PyObject* stride, PyObject* padding,
                          PyObject* dilation, PyObject* ceil_mode) {
  PyArrayObject* array = array_of(self);
  const Kind kind = kind_of(array);
  Windows windows;
  if (kind == Kind::kNone || !plan(array, kernel_size, stride, padding, dilation, ceil_mode, windows))
    return declined(kOtherPool);
  if (windows.in() >= kMostSize) return declined(kOtherPool);
  Ref images = usable(self, kind);
  if (!images) return declined(kOtherPool);
  const int ndim = PyArray_NDIM(array);
  npy_intp sizes[4];
  result_sizes(array, windows, sizes);
  Ref best = new_array(ndim, sizes, kind), index = gradwright::new_array(NPY_INT64, ndim, sizes);
  if (!best || !index) return Ref();
  const Windows* each = &windows;
  const bool done = run_for(kind, windows.work(), [&]<class T>(T) {
    using Place = PlaceOf<T>;
    const T* in = elements<const T>(as_ndarray(images));
    T* to = elements<T>(as_ndarray(best));
    npy_intp* at = elements<npy_intp>(as_ndarray(index));
    const std::vector<Place> tops = begins<Place>(each->rows), lefts = begins<Place>(each->columns);
    parallel_for(each->planes, each->grain(), [&](npy_intp begin, npy_intp end) {
      Scratch<Place> places(each->columns.count);
      for (npy_intp i = begin; i < end; ++i) {
        run_best<ByStride<Largest>>(each, tops.data(), lefts.data(), in + i * each->in(), places.data(),
                                    to + i * each->out(), at + i * each->out());
      }
    });
  });
  return done ? Ref(PyTuple_Pack(2, best.get(), index.get())) : Ref();
}
GRADWRIGHT_KERNEL(max_pool_with_indices, 6, tensors)

Ref max_pool_with_indices_backward(PyObject* grad_output, PyObject* self, PyObject* kernel_size, PyObject* stride,
                                   PyObject* padding, PyObject* dilation, PyObject* ceil_mode, PyObject* indices) {
  (void)stride, (void)padding, (void)dilation, (void)ceil_mode;  // the places say where windows lay
  if (!PyTuple_CheckExact(kernel_size)) return declined(kOtherPool);
  return scattered(grad_output, self, indices, static_cast<int>(PyTuple_GET_SIZE(kernel_size)));
}
GRADWRIGHT_KERNEL(max_pool_with_indices_backward, 8, tensors)

Ref adaptive_max_pool2d_backward(PyObject* grad_output, PyObject* self, PyObject* indices) {
  return scattered(grad_output, self, indices, 2);
}
GRADWRIGHT_KERNEL(adaptive_max_pool2d_backward, 3, tensors)

Ref adaptive_max_pool3d_backward(PyObject* grad_output, PyObject* self, PyObject* indices) {
  return scattered(grad_output, self, indices, 3);
}
GRADWRIGHT_KERNEL(adaptive_max_pool3d_backward, 3, tensors)

Ref avg_pool(PyObject* self, PyObject* kernel_size, PyObject* stride, PyObject* padding, PyObject* ceil_mode,
             PyObject* count_include_pad, PyObject* divisor_override) {
  PyArrayObject* array = array_of(self);
  const Kind kind = kind_of(array);
  Windows windows;
  Divided divided;
  if (kind == Kind::kNone || !plan(array, kernel_size, stride, padding, nullptr, ceil_mode, windows))
    return declined(kOtherPool);
  if (!divided.read(count_include_pad, divisor_override)) return declined(kOtherPool);
  Ref images = usable(self, kind);
  if (!images) return declined(kOtherPool);
  npy_intp sizes[4];
  result_sizes(array, windows, sizes);
  Ref out = new_array(PyArray_NDIM(array), sizes, kind);
  if (!out) return out;
  const Windows* each = &windows;
  const bool done = run_for(kind, windows.work(), [&]<class T>(T) {
    const T* in = elements<const T>(as_ndarray(images));
    T* to = elements<T>(as_ndarray(out));
    const std::vector<T> by = divisors<T>(*each, divided);
    parallel_for(each->planes, each->grain(), [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i)
        run_best<ByStride<Means>>(each, in + i * each->in(), by.data(), to + i * each->out());
    });
  });
  return done ? std::move(out) : Ref();
}
GRADWRIGHT_KERNEL(avg_pool, 7, tensors)

Ref avg_pool_backward(PyObject* grad_output, PyObject* self, PyObject* kernel_size, PyObject* stride, PyObject* padding,
                      PyObject* ceil_mode, PyObject* count_include_pad, PyObject* divisor_override) {
  PyArrayObject *given = array_of(grad_output), *array = array_of(self);
  const Kind kind = kind_of(given);
  Windows windows;
  Divided divided;
  if (kind == Kind::kNone || !plan(array, kernel_size, stride, padding, nullptr, ceil_mode, windows))
    return declined(kOtherPool);
  if (!divided.read(count_include_pad, divisor_override)) return declined(kOtherPool);
  const int ndim = PyArray_NDIM(array);
  npy_intp sizes[4];
  result_sizes(array, windows, sizes);
  if (!has_sizes(given, ndim, sizes)) return declined(kOtherPool);
  Ref gradient = usable(grad_output, kind);
  if (!gradient) return declined(kOtherPool);
  Ref out = new_array(ndim, PyArray_DIMS(array), kind);
  if (!out) return out;
  const Windows* each = &windows;
  const bool done = run_for(kind, windows.work(), [&]<class T>(T) {
    const T* grad = elements<const T>(as_ndarray(gradient));
    T* to = elements<T>(as_ndarray(out));
    const std::vector<T> by = divisors<T>(*each, divided);
    parallel_for(each->planes, each->grain(), [&](npy_intp begin, npy_intp end) {
      Scratch<T> share(each->columns.count);
      for (npy_intp i = begin; i < end; ++i) {
        std::fill_n(to + i * each->in(), each->in(), T(0));
        run_best<ByStride<OfMeans>>(each, grad + i * each->out(), by.data(), share.data(), to + i * each->in());
      }
    });
  });
  return done ? std::move(out) : Ref();
}
GRADWRIGHT_KERNEL(avg_pool_backward, 8, tensors)

}  // namespace kernels

}  // namespace gradwright
