#include "factories.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "intrinsics.hpp"
#include "memory.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

// An element type that these kernels fill themselves.
enum class Element { kFloat32, kFloat64, kInt64, kNone };

PyArray_Descr* as_dtype(PyObject* dtype) { return reinterpret_cast<PyArray_Descr*>(dtype); }

Element element_of(PyObject* dtype) {
  if (PyDataType_ISBYTESWAPPED(as_dtype(dtype))) return Element::kNone;
  switch (as_dtype(dtype)->type_num) {
    case NPY_FLOAT:
      return Element::kFloat32;
    case NPY_DOUBLE:
      return Element::kFloat64;
    case NPY_INT64:
      return Element::kInt64;
    default:
      return Element::kNone;
  }
}

// work(T()) for the type of an element that is one of ours.
template <class Work>
void run_for(Element element, Work work) {
  if (element == Element::kFloat32) {
    work(float());
  } else if (element == Element::kFloat64) {
    work(double());
  } else {
    work(int64_t());
  }
}

struct Sizes {
  npy_intp sizes[detail::kMostDims];
  int ndim = -1;  // where they are not what a kernel takes

  Sizes() = default;
  explicit Sizes(PyObject* size) : ndim(detail::read_ints(size, sizes)) {
    for (int i = 0; i < ndim; ++i) {
      if (sizes[i] < 0) ndim = -1;
    }
  }
  explicit Sizes(PyArrayObject* array) : ndim(PyArray_NDIM(array)) {
    if (ndim > detail::kMostDims) ndim = -1;
    for (int i = 0; i < ndim; ++i) sizes[i] = PyArray_DIM(array, i);
  }
};

// An array with nothing in it yet, or zeros. Python says what is wrong with sizes that NumPy refuses.
Ref make(const Sizes& size, PyObject* dtype, bool zeros) {
  if (size.ndim < 0) return Ref();
  Py_INCREF(dtype);
  auto* dims = const_cast<npy_intp*>(size.sizes);
  Ref made = zeros ? Ref(PyArray_Zeros(size.ndim, dims, as_dtype(dtype), 0))
                   : new_array(as_dtype(dtype), size.ndim, dims);
  if (!made) forget_error();
  return made;
}

// One value throughout.
template <class Value>
Ref filled(const Sizes& size, PyObject* dtype, Value value) {
  const Element element = element_of(dtype);
  Ref made = element == Element::kNone ? Ref() : make(size, dtype, false);
  if (!made) return made;
  run_for(element, [&]<class T>(T) {
    auto* data = static_cast<T*>(PyArray_DATA(as_ndarray(made)));
    std::fill_n(data, PyArray_SIZE(as_ndarray(made)), static_cast<T>(value));
  });
  return made;
}

// A Python number; of ints those that a double holds exactly.
struct Number {
  bool known = false, whole = false;
  double value = 0;

  explicit Number(PyObject* number) {
    constexpr double kMost = int64_t{1} << 53;
    if (PyFloat_CheckExact(number)) {
      value = PyFloat_AS_DOUBLE(number);
      known = true;
    } else if (PyLong_CheckExact(number)) {
      int overflow;
      value = static_cast<double>(PyLong_AsLongLongAndOverflow(number, &overflow));
      known = whole = overflow == 0 && std::abs(value) <= kMost;
    }
  }
};

Ref filled_with(const Sizes& size, PyObject* fill_value, PyObject* dtype) {
  const Number number(fill_value);
  const Element element = element_of(dtype);
  // Python says what does not fit, and how a fraction is cut off.
  const bool too_large = element == Element::kFloat32 && std::isfinite(number.value) &&
                         std::abs(number.value) > std::numeric_limits<float>::max();
  const bool fits = number.known && !too_large && (number.whole || element != Element::kInt64);
  return fits ? filled(size, dtype, number.value) : Ref();
}

PyObject* dtype_or_own(PyObject* dtype, PyObject* self) {
  return dtype == Py_None ? reinterpret_cast<PyObject*>(PyArray_DESCR(array_of(self))) : dtype;
}

// `count` values: value(i, T()) is the one at place i.
template <class Value>
Ref series(npy_intp count, PyObject* dtype, Value value) {
  Sizes size;
  size.ndim = 1;
  size.sizes[0] = count;
  Ref made = make(size, dtype, false);
  if (!made) return made;
  run_for(element_of(dtype), [&]<class T>(T) {
    auto* data = static_cast<T*>(PyArray_DATA(as_ndarray(made)));
    for (npy_intp i = 0; i < count; ++i) data[i] = static_cast<T>(value(i));
  });
  return made;
}

Ref range(const Number& start, const Number& end, const Number& step, PyObject* dtype) {
  const Element element = element_of(dtype);
  const bool whole = start.whole && end.whole && step.whole;
  if (!start.known || !end.known || !step.known || element == Element::kNone) return Ref();
  if (element == Element::kInt64 && !whole) return Ref();
  // Python tells what is wrong.
  const double length = (end.value - start.value) / step.value, count = std::ceil(length);
  constexpr double kMost = int64_t{1} << 31;
  if (!(step.value != 0 && std::isfinite(step.value) && length >= 0 && count < kMost)) return Ref();
  if (whole) {
    const auto first = static_cast<int64_t>(start.value), by = static_cast<int64_t>(step.value);
    const auto size = (static_cast<int64_t>(end.value) - first + by - (by > 0 ? 1 : -1)) / by;
    return series(size, dtype, [=](npy_intp i) { return i * by + first; });
  }
  return series(static_cast<npy_intp>(count), dtype,
                [=](npy_intp i) { return static_cast<double>(i) * step.value + start.value; });
}

}  // namespace

namespace kernels {

Ref zeros(PyObject* size, PyObject* dtype) { return make(Sizes(size), dtype, true); }
Ref ones(PyObject* size, PyObject* dtype) { return filled(Sizes(size), dtype, 1); }
Ref empty(PyObject* size, PyObject* dtype) { return make(Sizes(size), dtype, false); }
Ref full(PyObject* size, PyObject* fill_value, PyObject* dtype) {
  return filled_with(Sizes(size), fill_value, dtype);
}
Ref scalar_tensor(PyObject* s, PyObject* dtype) {
  Ref size(PyTuple_New(0));
  return size ? full(size.get(), s, dtype) : Ref();
}

Ref zeros_like(PyObject* self, PyObject* dtype) {
  return make(Sizes(array_of(self)), dtype_or_own(dtype, self), true);
}
Ref ones_like(PyObject* self, PyObject* dtype) {
  return filled(Sizes(array_of(self)), dtype_or_own(dtype, self), 1);
}
Ref empty_like(PyObject* self, PyObject* dtype) {
  return make(Sizes(array_of(self)), dtype_or_own(dtype, self), false);
}
Ref full_like(PyObject* self, PyObject* fill_value, PyObject* dtype) {
  return filled_with(Sizes(array_of(self)), fill_value, dtype_or_own(dtype, self));
}
Ref new_zeros(PyObject* self, PyObject* size, PyObject* dtype) { return zeros(size, dtype_or_own(dtype, self)); }
Ref new_ones(PyObject* self, PyObject* size, PyObject* dtype) { return ones(size, dtype_or_own(dtype, self)); }
Ref new_empty(PyObject* self, PyObject* size, PyObject* dtype) { return empty(size, dtype_or_own(dtype, self)); }
Ref new_full(PyObject* self, PyObject* size, PyObject* fill_value, PyObject* dtype) {
  return full(size, fill_value, dtype_or_own(dtype, self));
}

Ref arange(PyObject* end, PyObject* dtype) {
  Ref zero = integer(0), one = integer(1);
  return range(Number(zero.get()), Number(end), Number(one.get()), dtype);
}
Ref arange_start(PyObject* start, PyObject* end, PyObject* dtype) {
  Ref one = integer(1);
  return range(Number(start), Number(end), Number(one.get()), dtype);
}
Ref arange_start_step(PyObject* start, PyObject* end, PyObject* step, PyObject* dtype) {
  return range(Number(start), Number(end), Number(step), dtype);
}

Ref linspace(PyObject* start, PyObject* end, PyObject* steps, PyObject* dtype) {
  const Number first(start), last(end);
  npy_intp count;
  const Element element = element_of(dtype);
  const bool fits = first.known && last.known && detail::read_int(steps, &count) && count >= 0;
  if (!fits || (element != Element::kFloat32 && element != Element::kFloat64)) return Ref();
  // Counted from both ends, so that both are hit exactly.
  const double step = count > 1 ? (last.value - first.value) / static_cast<double>(count - 1) : 0;
  return series(count, dtype, [=](npy_intp i) {
    return i < count / 2 || count == 1 ? first.value + step * static_cast<double>(i)
                                       : last.value - step * static_cast<double>(count - 1 - i);
  });
}

Ref eye(PyObject* n, PyObject* dtype) { return eye_m(n, n, dtype); }
Ref eye_m(PyObject* n, PyObject* m, PyObject* dtype) {
  Ref size(PyTuple_Pack(2, n, m));
  const Element element = element_of(dtype);
  Ref made = size && element != Element::kNone ? make(Sizes(size.get()), dtype, true) : Ref();
  if (!made) return made;
  const npy_intp rows = PyArray_DIM(as_ndarray(made), 0), columns = PyArray_DIM(as_ndarray(made), 1);
  run_for(element, [&]<class T>(T) {
    auto* data = static_cast<T*>(PyArray_DATA(as_ndarray(made)));
    for (npy_intp i = 0; i < std::min(rows, columns); ++i) data[i * columns + i] = 1;
  });
  return made;
}

}  // namespace kernels

}  // namespace gradwright
