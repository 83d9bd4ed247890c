#include "scans.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

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

// Whether an element is the extremum so far: the last of equal ones is, and so is each NaN, which no number comes after.
// Both are computed for nothing, so that there is no branch. And what rises where elements come nearer to the extremum.
struct Greatest {
  template <class T>
  static GRADWRIGHT_INLINE bool is_behind(T x, T before) { return x < before; }
  template <class T>
  static GRADWRIGHT_INLINE bool reaches(T x, T before) { return bool((x >= before) | (x != x)); }
  template <class T>
  static GRADWRIGHT_INLINE T rising(T x) { return x + T(0); }
};
struct Least {
  template <class T>
  static GRADWRIGHT_INLINE bool is_behind(T x, T before) { return x > before; }
  template <class T>
  static GRADWRIGHT_INLINE bool reaches(T x, T before) { return bool((x <= before) | (x != x)); }
  template <class T>
  static GRADWRIGHT_INLINE T rising(T x) { return T(0) - x; }
};

template <class T>
using WholeOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// A whole number in the order of an element, the greatest one for NaN; `rising` has made zeros of two signs one.
template <class T>
GRADWRIGHT_INLINE WholeOf<T> key_of(T rising) {
  using Whole = WholeOf<T>;
  constexpr Whole most = std::numeric_limits<Whole>::max();
  const auto bits = std::bit_cast<Whole>(rising);
  const Whole key = bits ^ ((bits >> (8 * sizeof(T) - 1)) & most);
  return rising != rising ? most : key;
}

// One of two numbers, by their bits: compilers make a branch of a choice, which on some data goes wrong half of the time.
template <class T>
GRADWRIGHT_INLINE T either(bool first, T a, T b) {
  using Whole = WholeOf<T>;
  const Whole mask = -Whole{first};
  return std::bit_cast<T>((std::bit_cast<Whole>(a) & mask) | (std::bit_cast<Whole>(b) & ~mask));
}

// The extremum so far and its place; both results lie alike. Few elements of a long row are one, so parts without any are
// looked for.
template <class F, bool dense, class T>
void follow_row(const T* in, const Axis& along, T* out, int64_t* places) {
  constexpr npy_intp part = 16;
  const npy_intp in_step = dense ? 1 : along.in, out_step = dense ? 1 : along.out;
  WholeOf<T> most = key_of(F::rising(in[0]));
  int64_t place = 0;
  const auto follow = [&](npy_intp at, WholeOf<T> key) {
    place = either<int64_t>(key >= most, at, place);
    most = std::max(most, key);
    out[at * out_step] = in[place * in_step];
    places[at * out_step] = place;
  };
  npy_intp i = 0;
  for (; i + part <= along.size; i += part) {
    const T value = in[place * in_step];
    WholeOf<T> behind = 0;
    for (npy_intp k = 0; k < part; ++k) behind += F::is_behind(in[(i + k) * in_step], value) ? 1 : 0;
    if (behind == part) {
      for (npy_intp k = 0; k < part; ++k) out[(i + k) * out_step] = value;
      for (npy_intp k = 0; k < part; ++k) places[(i + k) * out_step] = place;
      continue;
    }
    WholeOf<T> keys[part];
    for (npy_intp k = 0; k < part; ++k) keys[k] = key_of(F::rising(in[(i + k) * in_step]));
    for (npy_intp k = 0; k < part; ++k) follow(i + k, keys[k]);
  }
  for (; i < along.size; ++i) follow(i, key_of(F::rising(in[i * in_step])));
}

template <class F, class T>
void follow_columns(const T* in, const Axis& along, npy_intp step, npy_intp width, T* out, int64_t* places) {
  for (npy_intp k = 0; k < width; ++k) {
    out[k] = in[k * step];
    places[k] = 0;
  }
  for (npy_intp i = 1; i < along.size; ++i) {
    in += along.in;
    const T* before = out;
    const int64_t* place_before = places;
    out += along.out;
    places += along.out;
    GRADWRIGHT_INDEPENDENT
    for (npy_intp k = 0; k < width; ++k) {
      const bool reaches = F::reaches(in[k * step], before[k]);
      out[k] = either(reaches, in[k * step], before[k]);
      places[k] = either<int64_t>(reaches, i, place_before[k]);
    }
  }
}

template <class F, class T>
void follow(const Layout& layout, const Axis& along, const T* in, T* out, int64_t* places) {
  const Axis& across = layout.kept.last();
  if (layout.columns() && across.out == 1) {
    each_columns(layout, [&](npy_intp from, npy_intp to, npy_intp width) {
      follow_columns<F>(in + from, along, across.in, width, out + to, places + to);
    });
    return;
  }
  const auto row = along.in == 1 && along.out == 1 ? follow_row<F, true, T> : follow_row<F, false, T>;
  each_columns(layout, [&](npy_intp from, npy_intp to, npy_intp width) {
    for (npy_intp k = 0; k < width; ++k) {
      const npy_intp place = to + k * across.out;
      row(in + from + k * across.in, along, out + place, places + place);
    }
  }, 16);
}

// Logarithms of sums of exponentials, which wait for each other in a row: so many rows are taken together by the loop of
// two operands, or a whole row at a time goes into the next one.
constexpr npy_intp kTogether = 32;

template <class T>
void sum_exponentials(const Layout& layout, const Axis& along, const T* in, T* out) {
  const Axis& across = layout.kept.last();
  const Loop& loop = own_loop<kernels::logaddexp, T>;
  const auto add = [&](const T* before, const T* next, T* sums, npy_intp step, npy_intp width) {
    char* args[] = {reinterpret_cast<char*>(const_cast<T*>(before)), reinterpret_cast<char*>(const_cast<T*>(next)),
                    reinterpret_cast<char*>(sums)};
    const npy_intp steps[] = {sizeof(T), step * npy_intp{sizeof(T)}, sizeof(T)};
    loop.function(args, &width, steps, loop.data);
  };
  if (layout.columns() && across.out == 1) {
    each_columns(layout, [&](npy_intp from, npy_intp to, npy_intp width) {
      const T* next = in + from;
      T* sums = out + to;
      for (npy_intp k = 0; k < width; ++k) sums[k] = next[k * across.in];
      for (npy_intp i = 1; i < along.size; ++i, sums += along.out) {
        next += along.in;
        add(sums, next, sums + along.out, across.in, width);
      }
    });
    return;
  }
  each_columns(layout, [&](npy_intp from, npy_intp to, npy_intp width) {
    T sums[kTogether], next[kTogether];
    for (npy_intp k = 0; k < width; ++k) sums[k] = in[from + k * across.in];
    for (npy_intp i = 0; i < along.size; ++i) {
      if (i > 0) {
        for (npy_intp k = 0; k < width; ++k) next[k] = in[from + i * along.in + k * across.in];
        add(sums, next, sums, 1, width);
      }
      for (npy_intp k = 0; k < width; ++k) out[to + i * along.out + k * across.out] = sums[k];
    }
  }, kTogether);
}

// Whether NumPy lays the result of a scan out as a copy of the array.
bool scans_like_copy(PyArrayObject* array) {
  if (PyArray_IS_C_CONTIGUOUS(array)) return true;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_DIM(array, i) == 1 || PyArray_STRIDE(array, i) == 0) return false;
  }
  return true;
}

// What a scan goes through. Where it may, `work` gets the layout, the axis that it goes along, and a result like the
// array.
template <class Work>
Ref scan_into(PyObject* tensor, PyObject* dim, Work work) {
  PyArrayObject* array = array_of(tensor);
  const int ndim = PyArray_NDIM(array);
  Dims dims = {};
  if (kind_of(array) == Kind::kNone || !PyArray_ISALIGNED(array) || ndim == 0 || PyArray_SIZE(array) == 0) return Ref();
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
  return work(layout, along, array, std::move(result));
}

template <class F>
Ref scan(PyObject* tensor, PyObject* dim) {
  return scan_into(tensor, dim, [](const Layout& layout, const Axis& along, PyArrayObject* array, Ref result) {
    const bool done = run_long(PyArray_SIZE(array) > kGrain, [&] {
      for_kind(kind_of(array), [&]<class T>(T) {
        scan<F>(layout, along, elements<const T>(array), elements<T>(as_ndarray(result)));
      });
    });
    return done ? std::move(result) : Ref();
  });
}

// Few long rows are NumPy's, which is as quick with a single element.
Ref scan_exponentials(PyObject* tensor, PyObject* dim) {
  return scan_into(tensor, dim, [](const Layout& layout, const Axis& along, PyArrayObject* array, Ref result) {
    if (layout.outputs < 4) return Ref();
    const bool done = run_long(PyArray_SIZE(array) > kGrain / 8, [&] {
      for_kind(kind_of(array), [&]<class T>(T) {
        sum_exponentials(layout, along, elements<const T>(array), elements<T>(as_ndarray(result)));
      });
    });
    return done ? std::move(result) : Ref();
  });
}

template <class F>
Ref follow(PyObject* tensor, PyObject* dim) {
  return scan_into(tensor, dim, [](const Layout& layout, const Axis& along, PyArrayObject* array, Ref values) {
    PyArray_Descr* dtype = PyArray_DescrFromType(NPY_INT64);
    npy_intp strides[NPY_MAXDIMS];
    for (int i = 0; i < PyArray_NDIM(array); ++i) {
      strides[i] = PyArray_STRIDE(as_ndarray(values), i) / PyArray_ITEMSIZE(array) * PyDataType_ELSIZE(dtype);
    }
    Ref places = new_array(dtype, PyArray_NDIM(array), PyArray_DIMS(array), strides);
    const bool done = places && run_long(PyArray_SIZE(array) > kGrain, [&] {
      for_kind(kind_of(array), [&]<class T>(T) {
        follow<F>(layout, along, elements<const T>(array), elements<T>(as_ndarray(values)),
                  elements<int64_t>(as_ndarray(places)));
      });
    });
    Ref both(done ? PyTuple_Pack(2, values.get(), places.get()) : nullptr);
    if (!both) PyErr_Clear();
    return both;
  });
}

}  // namespace

namespace kernels {

Ref cumsum(PyObject* self, PyObject* dim, PyObject* dtype) {
  return dtype == Py_None ? scan<struct add>(self, dim) : Ref();
}
Ref cumprod(PyObject* self, PyObject* dim, PyObject* dtype) {
  return dtype == Py_None ? scan<struct mul>(self, dim) : Ref();
}
Ref logcumsumexp(PyObject* self, PyObject* dim) { return scan_exponentials(self, dim); }
Ref cummax(PyObject* self, PyObject* dim) { return follow<Greatest>(self, dim); }
Ref cummin(PyObject* self, PyObject* dim) { return follow<Least>(self, dim); }

}  // namespace kernels

}  // namespace gradwright
