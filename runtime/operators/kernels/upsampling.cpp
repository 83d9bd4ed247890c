// Upsampling of rows and images: native loops over float32 and float64 for what runtime/operators/kernels/upsampling.py does, with the
// same sums in the same order. Each row of a result is a sum of rows of the input first, and then a sum of its elements.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr char kOtherUpsampling[] = "arrays and arguments that the Python kernel looks at";

// Places are counted in float32, or become indices: sizes beyond are left to NumPy.
constexpr npy_intp kMostSize = npy_intp{1} << 24;

// How elements of the input become one of the result.
enum class Method { kNearest, kExact, kLinear, kCubic };

// How many elements of the input each of the result is made of.
constexpr int taps_of(Method method) { return method == Method::kLinear ? 2 : method == Method::kCubic ? 4 : 1; }

// Along a dimension: the places that an element is made of, and their weights, which are 1 where there is one place.
template <class T, int taps>
struct Taps {
  std::vector<npy_intp> places[taps];
  std::vector<T> weights[taps];
  npy_intp size, count;
};

// The other dimension of what has one.
struct Resized {
  npy_intp size = 1, count = 1;
  double scale = 0;  // 0: as the sizes say
};

struct Plan {
  Resized rows, columns;
  npy_intp planes;
  bool align_corners;
  bool flat;  // of one dimension

  npy_intp in() const { return rows.size * columns.size; }
  npy_intp out() const { return rows.count * columns.count; }
  npy_intp grain() const { return std::max<npy_intp>(1, kRowGrain / std::max(in(), out())); }
};

// -- taps, computed as in Python: in the element type, but for the distance from a place, which is one of double

template <class T>
T ratio_of(const Resized& along) {
  return along.scale > 0 ? static_cast<T>(1.0 / along.scale) : static_cast<T>(along.size) / static_cast<T>(along.count);
}

template <class T>
T position_of(const Resized& along, npy_intp k, bool align_corners) {
  const T place = static_cast<T>(k);
  if (!align_corners) return (place + T(0.5)) * ratio_of<T>(along) - T(0.5);
  return place * (along.count > 1 ? static_cast<T>(along.size - 1) / static_cast<T>(along.count - 1) : T(0));
}

// The cubic of Keys (1981), near and far from its middle.
template <class T>
struct Cubic {
  static constexpr T a = T(-0.75);
  static T near(T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
  static T wide(T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }
};

template <Method method, class T>
Taps<T, taps_of(method)> taps_along(const Resized& along, bool align_corners) {
  constexpr int taps = taps_of(method);
  Taps<T, taps> found;
  found.size = along.size;
  found.count = along.count;
  const auto length = static_cast<size_t>(along.count);
  for (int t = 0; t < taps; ++t) {
    found.places[t].resize(length);
    if (taps > 1) found.weights[t].resize(length);
  }
  const npy_intp last = along.size - 1;
  for (size_t k = 0; k < length; ++k) {
    const auto number = static_cast<npy_intp>(k);
    if constexpr (taps == 1) {
      const float middle = method == Method::kExact ? 0.5f : 0.0f;
      const float at = (static_cast<float>(number) + middle) * ratio_of<float>(along);
      found.places[0][k] = std::min(static_cast<npy_intp>(std::floor(at)), last);
    } else if constexpr (taps == 2) {
      const T at = std::max(position_of<T>(along, number, align_corners), T(0));
      const npy_intp low = std::min(static_cast<npy_intp>(std::floor(at)), last);
      const T part = static_cast<T>(std::clamp(static_cast<double>(at) - static_cast<double>(low), 0.0, 1.0));
      found.places[0][k] = low;
      found.places[1][k] = std::min(low + 1, last);
      found.weights[0][k] = 1 - part;
      found.weights[1][k] = part;
    } else {
      const T at = position_of<T>(along, number, align_corners);
      const auto low = static_cast<npy_intp>(std::floor(at));
      const T part = static_cast<T>(static_cast<double>(at) - static_cast<double>(low));
      const T weights[] = {Cubic<T>::wide(part + 1), Cubic<T>::near(part), Cubic<T>::near(1 - part),
                           Cubic<T>::wide(2 - part)};
      for (int t = 0; t < taps; ++t) {
        found.places[t][k] = std::clamp<npy_intp>(low + t - 1, 0, last);
        found.weights[t][k] = weights[t];
      }
    }
  }
  return found;
}

// -- loops

template <int taps>
struct WeighRows {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* const* rows, const T* weights, npy_intp size, T* __restrict out) {
    for (npy_intp x = 0; x < size; ++x) {
      T sum = rows[0][x] * weights[0];
      for (int t = 1; t < taps; ++t) sum += rows[t][x] * weights[t];
      out[x] = sum;
    }
  }
};

template <int taps>
struct WeighColumns {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Taps<T, taps>* columns, const T* __restrict row, T* __restrict out) {
    const npy_intp* places[taps];
    const T* weights[taps];
    for (int t = 0; t < taps; ++t) places[t] = columns->places[t].data(), weights[t] = columns->weights[t].data();
    for (npy_intp x = 0; x < columns->count; ++x) {
      T sum = row[places[0][x]];
      if constexpr (taps > 1) {
        sum *= weights[0][x];
        for (int t = 1; t < taps; ++t) sum += row[places[t][x]] * weights[t][x];
      }
      out[x] = sum;
    }
  }
};

struct AddRow {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict in, npy_intp size, T weight, T* __restrict out) {
    for (npy_intp x = 0; x < size; ++x) out[x] += in[x] * weight;
  }
};

// The places of `rows` alone where there is no other dimension to weigh: the input itself.
template <class T, int taps>
void made(const Taps<T, taps>& rows, const Taps<T, taps>& columns, bool flat, const T* in, T* mixed, T* out) {
  for (npy_intp y = 0; y < rows.count; ++y, out += columns.count) {
    const auto place = static_cast<size_t>(y);
    if constexpr (taps == 1) {
      if (y > 0 && rows.places[0][place] == rows.places[0][place - 1]) {
        std::memcpy(out, out - columns.count, static_cast<size_t>(columns.count) * sizeof(T));
      } else {
        run_best<WeighColumns<1>>(&columns, in + rows.places[0][place] * columns.size, out);
      }
    } else if (flat) {
      run_best<WeighColumns<taps>>(&columns, in, out);
    } else {
      const T* each[taps];
      T weights[taps];
      for (int t = 0; t < taps; ++t) {
        each[t] = in + rows.places[t][place] * columns.size;
        weights[t] = rows.weights[t][place];
      }
      run_best<WeighRows<taps>>(static_cast<const T* const*>(each), static_cast<const T*>(weights), columns.size,
                                mixed);
      run_best<WeighColumns<taps>>(&columns, static_cast<const T*>(mixed), out);
    }
  }
}

// The adjoint: rows of the gradient are added up to rows as long as they are, and these to rows of the input.
template <class T, int taps>
void returned(const Taps<T, taps>& rows, const Taps<T, taps>& columns, bool flat, const T* grad, T* mixed,
              T* of_input) {
  const npy_intp width = columns.count;
  const T* from = grad;
  if (!flat) {
    std::fill_n(mixed, rows.size * width, T(0));
    for (int t = 0; t < taps; ++t) {
      for (npy_intp y = 0; y < rows.count; ++y) {
        const auto place = static_cast<size_t>(y);
        const T weight = taps > 1 ? rows.weights[t][place] : T(1);
        run_best<AddRow>(grad + y * width, width, weight, mixed + rows.places[t][place] * width);
      }
    }
    from = mixed;
  }
  std::fill_n(of_input, rows.size * columns.size, T(0));
  for (npy_intp y = 0; y < rows.size; ++y, from += width, of_input += columns.size) {
    for (int t = 0; t < taps; ++t) {
      const npy_intp* places = columns.places[t].data();
      if constexpr (taps > 1) {
        const T* weights = columns.weights[t].data();
        for (npy_intp x = 0; x < width; ++x) of_input[places[x]] += from[x] * weights[x];
      } else {
        for (npy_intp x = 0; x < width; ++x) of_input[places[x]] += from[x];
      }
    }
  }
}

// -- arguments

bool read_scale(PyObject* given, double* scale) {
  *scale = 0;
  if (given == Py_None) return true;
  npy_intp whole;
  if (PyFloat_CheckExact(given)) {
    *scale = PyFloat_AS_DOUBLE(given);
  } else if (detail::read_int(given, &whole)) {
    *scale = static_cast<double>(whole);
  } else {
    return false;
  }
  // Such that places stay where indices are.
  return *scale <= 0 || (*scale > 1e-6 && *scale < 1e6);
}

// `shape`, of the input, in the sizes that are asked for; false for what the Python kernel refuses.
bool plan(int ndim, const npy_intp* shape, PyObject* output_size, PyObject* align_corners,
          std::initializer_list<PyObject*> scales, Plan& found) {
  npy_intp counts[detail::kMostDims];
  const int dims = detail::read_ints(output_size, counts);
  if ((dims != 1 && dims != 2) || ndim != dims + 2 || dims != static_cast<int>(scales.size())) return false;
  if (align_corners != nullptr && !PyBool_Check(align_corners)) return false;
  found.align_corners = align_corners == Py_True;
  found.flat = dims == 1;
  found.planes = shape[0] * shape[1];
  if (found.planes == 0) return false;
  for (int i = 0; i < dims; ++i) {
    Resized& along = i == dims - 1 ? found.columns : found.rows;
    along.size = shape[2 + i];
    along.count = counts[i];
    if (along.size < 1 || along.count < 1 || along.size >= kMostSize || along.count >= kMostSize) return false;
    if (!read_scale(scales.begin()[i], &along.scale)) return false;
  }
  return true;
}

template <Method method>
Ref up(PyObject* self, PyObject* output_size, PyObject* align_corners, std::initializer_list<PyObject*> scales) {
  PyArrayObject* array = array_of(self);
  const Kind kind = kind_of(array);
  Plan found;
  const int ndim = PyArray_NDIM(array);
  if (kind == Kind::kNone || !plan(ndim, PyArray_DIMS(array), output_size, align_corners, scales, found)) {
    return declined(kOtherUpsampling);
  }
  Ref images = usable(self, kind);
  if (!images) return declined(kOtherUpsampling);
  npy_intp sizes[4] = {PyArray_DIM(array, 0), PyArray_DIM(array, 1), found.rows.count, found.columns.count};
  if (found.flat) sizes[2] = found.columns.count;
  Ref out = new_array(ndim, sizes, kind);
  if (!out) return out;
  const bool done = run_for(kind, found.planes * std::max(found.in(), found.out()), [&]<class T>(T) {
    const T* in = elements<const T>(as_ndarray(images));
    T* to = elements<T>(as_ndarray(out));
    const auto rows = taps_along<method, T>(found.rows, found.align_corners);
    const auto columns = taps_along<method, T>(found.columns, found.align_corners);
    parallel_for(found.planes, found.grain(), [&](npy_intp begin, npy_intp end) {
      Scratch<T> mixed(found.columns.size);
      for (npy_intp i = begin; i < end; ++i) {
        made(rows, columns, found.flat, in + i * found.in(), mixed.data(), to + i * found.out());
      }
    });
  });
  return done ? std::move(out) : Ref();
}

template <Method method>
Ref back(PyObject* grad_output, PyObject* output_size, PyObject* input_size, PyObject* align_corners,
         std::initializer_list<PyObject*> scales) {
  PyArrayObject* given = array_of(grad_output);
  const Kind kind = kind_of(given);
  Plan found;
  npy_intp shape[detail::kMostDims];
  const int ndim = detail::read_ints(input_size, shape);
  if (kind == Kind::kNone || ndim < 0 || !plan(ndim, shape, output_size, align_corners, scales, found)) {
    return declined(kOtherUpsampling);
  }
  npy_intp wanted[4] = {shape[0], shape[1], found.rows.count, found.columns.count};
  if (found.flat) wanted[2] = found.columns.count;
  if (PyArray_NDIM(given) != ndim || !std::equal(wanted, wanted + ndim, PyArray_DIMS(given))) {
    return declined(kOtherUpsampling);
  }
  Ref gradient = usable(grad_output, kind);
  if (!gradient) return declined(kOtherUpsampling);
  Ref out = new_array(ndim, shape, kind);
  if (!out) return out;
  const bool done = run_for(kind, found.planes * std::max(found.in(), found.out()), [&]<class T>(T) {
    const T* grad = elements<const T>(as_ndarray(gradient));
    T* to = elements<T>(as_ndarray(out));
    const auto rows = taps_along<method, T>(found.rows, found.align_corners);
    const auto columns = taps_along<method, T>(found.columns, found.align_corners);
    parallel_for(found.planes, found.grain(), [&](npy_intp begin, npy_intp end) {
      Scratch<T> mixed(found.rows.size * found.columns.count);
      for (npy_intp i = begin; i < end; ++i) {
        returned(rows, columns, found.flat, grad + i * found.out(), mixed.data(), to + i * found.in());
      }
    });
  });
  return done ? std::move(out) : Ref();
}

}  // namespace

namespace kernels {

Ref upsample_nearest1d(PyObject* self, PyObject* output_size, PyObject* scales) {
  return up<Method::kNearest>(self, output_size, nullptr, {scales});
}
GRADWRIGHT_KERNEL(upsample_nearest1d, 3, tensors)

Ref upsample_nearest1d_backward(PyObject* grad_output, PyObject* output_size, PyObject* input_size, PyObject* scales) {
  return back<Method::kNearest>(grad_output, output_size, input_size, nullptr, {scales});
}
GRADWRIGHT_KERNEL(upsample_nearest1d_backward, 4, tensors)

Ref upsample_nearest2d(PyObject* self, PyObject* output_size, PyObject* scales_h, PyObject* scales_w) {
  return up<Method::kNearest>(self, output_size, nullptr, {scales_h, scales_w});
}
GRADWRIGHT_KERNEL(upsample_nearest2d, 4, tensors)

Ref upsample_nearest2d_backward(PyObject* grad_output, PyObject* output_size, PyObject* input_size, PyObject* scales_h,
                                PyObject* scales_w) {
  return back<Method::kNearest>(grad_output, output_size, input_size, nullptr, {scales_h, scales_w});
}
GRADWRIGHT_KERNEL(upsample_nearest2d_backward, 5, tensors)

Ref _upsample_nearest_exact1d(PyObject* self, PyObject* output_size, PyObject* scales) {
  return up<Method::kExact>(self, output_size, nullptr, {scales});
}
GRADWRIGHT_KERNEL(_upsample_nearest_exact1d, 3, tensors)

Ref _upsample_nearest_exact1d_backward(PyObject* grad_output, PyObject* output_size, PyObject* input_size,
                                       PyObject* scales) {
  return back<Method::kExact>(grad_output, output_size, input_size, nullptr, {scales});
}
GRADWRIGHT_KERNEL(_upsample_nearest_exact1d_backward, 4, tensors)

Ref _upsample_nearest_exact2d(PyObject* self, PyObject* output_size, PyObject* scales_h, PyObject* scales_w) {
  return up<Method::kExact>(self, output_size, nullptr, {scales_h, scales_w});
}
GRADWRIGHT_KERNEL(_upsample_nearest_exact2d, 4, tensors)

Ref _upsample_nearest_exact2d_backward(PyObject* grad_output, PyObject* output_size, PyObject* input_size,
                                       PyObject* scales_h, PyObject* scales_w) {
  return back<Method::kExact>(grad_output, output_size, input_size, nullptr, {scales_h, scales_w});
}
GRADWRIGHT_KERNEL(_upsample_nearest_exact2d_backward, 5, tensors)

Ref upsample_linear1d(PyObject* self, PyObject* output_size, PyObject* align_corners, PyObject* scales) {
  return up<Method::kLinear>(self, output_size, align_corners, {scales});
}
GRADWRIGHT_KERNEL(upsample_linear1d, 4, tensors)

Ref upsample_linear1d_backward(PyObject* grad_output, PyObject* output_size, PyObject* input_size,
                               PyObject* align_corners, PyObject* scales) {
  return back<Method::kLinear>(grad_output, output_size, input_size, align_corners, {scales});
}
GRADWRIGHT_KERNEL(upsample_linear1d_backward, 5, tensors)

Ref upsample_bilinear2d(PyObject* self, PyObject* output_size, PyObject* align_corners, PyObject* scales_h,
                        PyObject* scales_w) {
  return up<Method::kLinear>(self, output_size, align_corners, {scales_h, scales_w});
}
GRADWRIGHT_KERNEL(upsample_bilinear2d, 5, tensors)

Ref upsample_bilinear2d_backward(PyObject* grad_output, PyObject* output_size, PyObject* input_size,
                                 PyObject* align_corners, PyObject* scales_h, PyObject* scales_w) {
  return back<Method::kLinear>(grad_output, output_size, input_size, align_corners, {scales_h, scales_w});
}
GRADWRIGHT_KERNEL(upsample_bilinear2d_backward, 6, tensors)

Ref upsample_bicubic2d(PyObject* self, PyObject* output_size, PyObject* align_corners, PyObject* scales_h,
                       PyObject* scales_w) {
  return up<Method::kCubic>(self, output_size, align_corners, {scales_h, scales_w});
}
GRADWRIGHT_KERNEL(upsample_bicubic2d, 5, tensors)

Ref upsample_bicubic2d_backward(PyObject* grad_output, PyObject* output_size, PyObject* input_size,
                                PyObject* align_corners, PyObject* scales_h, PyObject* scales_w) {
  return back<Method::kCubic>(grad_output, output_size, input_size, align_corners, {scales_h, scales_w});
}
GRADWRIGHT_KERNEL(upsample_bicubic2d_backward, 6, tensors)

}  // namespace kernels

}  // namespace gradwright
