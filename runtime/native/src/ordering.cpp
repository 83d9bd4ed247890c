#include "ordering.hpp"

#include <algorithm>

#include "memory.hpp"
#include "parallel.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

// So many are kept in order while a row is gone through; for more, sorting the row is quicker.
constexpr npy_intp kFew = 32;

template <bool largest>
struct Order {
  // Whether `a` comes before `b`, wherever they stand.
  template <class T>
  static bool precedes(T a, T b) {
    if constexpr (largest) return a > b || (a != a && b == b);
    return a < b || (a == a && b != b);
  }

  // The first `count` elements of a row, of which it has as many at least, and where they are.
  template <class T>
  static void select(const T* in, npy_intp size, npy_intp step, npy_intp count, T* values, npy_int64* places) {
    T best[kFew];
    npy_int64 where[kFew];
    npy_intp found = 0;
    for (npy_intp i = 0; i < size; ++i) {
      const T value = in[i * step];
      if (found == count && !precedes(value, best[count - 1])) continue;
      npy_intp at = found < count ? found++ : count - 1;
      for (; at > 0 && precedes(value, best[at - 1]); --at) {
        best[at] = best[at - 1];
        where[at] = where[at - 1];
      }
      best[at] = value;
      where[at] = i;
    }
    for (npy_intp k = 0; k < count; ++k) {
      values[k * step] = best[k];
      places[k * step] = where[k];
    }
  }
};

PyArrayObject* as_array(const Ref& ref) { return reinterpret_cast<PyArrayObject*>(ref.get()); }

// Rows of contiguous arrays: `inner` of them lie side by side.
template <class T>
void select_rows(PyArrayObject* array, int dim, npy_intp count, bool largest, const Ref& values, const Ref& places) {
  const auto* in = static_cast<const T*>(PyArray_DATA(array));
  auto* out = static_cast<T*>(PyArray_DATA(as_array(values)));
  auto* where = static_cast<npy_int64*>(PyArray_DATA(as_array(places)));
  const npy_intp size = PyArray_DIM(array, dim);
  npy_intp inner = 1;
  for (int i = dim + 1; i < PyArray_NDIM(array); ++i) inner *= PyArray_DIM(array, i);
  const npy_intp rows = PyArray_SIZE(array) / size;
  parallel_for(rows, std::max<npy_intp>(1, kGrain / size), [&](npy_intp begin, npy_intp end) {
    for (npy_intp row = begin; row < end; ++row) {
      const npy_intp from = row / inner * inner * size + row % inner, to = row / inner * inner * count + row % inner;
      (largest ? Order<true>::select<T> : Order<false>::select<T>)(in + from, size, inner, count, out + to, where + to);
    }
  });
}

}  // namespace

namespace kernels {

Ref topk(PyObject* self, PyObject* k, PyObject* dim, PyObject* largest, PyObject*) {
  PyArrayObject* array = array_of(self);
  const int ndim = PyArray_NDIM(array), type = PyArray_TYPE(array);
  npy_intp count;
  if ((type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64) || !PyBool_Check(largest)) return Ref();
  if (ndim == 0 || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISBEHAVED_RO(array)) return Ref();
  const int place = detail::read_dim(dim, ndim);
  if (place < 0 || !detail::fits_layout(array) || !detail::read_int(k, &count)) return Ref();
  if (count < 0 || count > kFew || count > PyArray_DIM(array, place)) return Ref();
  npy_intp sizes[detail::kMostDims];
  std::copy_n(PyArray_DIMS(array), ndim, sizes);
  sizes[place] = count;
  Py_INCREF(PyArray_DESCR(array));
  Ref values = new_array(PyArray_DESCR(array), ndim, sizes);
  Ref places = values ? new_array(NPY_INT64, ndim, sizes) : Ref();
  if (!places) return Ref();
  const auto held = hold(array);
  const bool some = PyArray_SIZE(as_array(values)) > 0, is_largest = largest == Py_True;
  const bool done = !some || run_long(PyArray_SIZE(array) > kGrain, [&] {
    switch (type) {
      case NPY_FLOAT: return select_rows<npy_float>(array, place, count, is_largest, values, places);
      case NPY_DOUBLE: return select_rows<npy_double>(array, place, count, is_largest, values, places);
      default: return select_rows<npy_int64>(array, place, count, is_largest, values, places);
    }
  });
  return done ? Ref(PyTuple_Pack(2, values.get(), places.get())) : Ref();
}

}  // namespace kernels

}  // namespace gradwright
