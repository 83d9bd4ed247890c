#include "scans.hpp"

#include <algorithm>

#include "functors.hpp"
#include "reducing.hpp"

namespace gradwright {

namespace {

using namespace reducing;

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
  if (!add_dim(dim, ndim, dims) || !scans_like_copy(array)) return Ref();
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
    for_kind(kind, [&]<class T>(T) {
      scan<F>(layout, along, elements<const T>(array), elements<T>(as_ndarray(result)));
    });
  });
  return done ? std::move(result) : Ref();
}

}  // namespace

namespace kernels {

Ref cumsum(PyObject* self, PyObject* dim, PyObject* dtype) {
  return dtype == Py_None ? scan<struct add>(self, dim) : Ref();
}
Ref cumprod(PyObject* self, PyObject* dim, PyObject* dtype) {
  return dtype == Py_None ? scan<struct mul>(self, dim) : Ref();
}

}  // namespace kernels

}  // namespace gradwright
