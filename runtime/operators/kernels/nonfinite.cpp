#include "nonfinite.hpp"

#include <limits>

#include "kernels.hpp"
#include "reductions.hpp"

namespace gradwright {

namespace {

// Operands: x, and what stands for NaN and for the infinities.
struct finite {
  template <class T>
  static T apply(T a, T nan, T above, T below) {
    constexpr T kMost = std::numeric_limits<T>::max();
    const T low = a < -kMost ? below : a, both = a > kMost ? above : low;
    return a != a ? nan : both;
  }
};

struct known {
  template <class T>
  static T apply(T a) { return a != a ? T(0) : a; }
};

// A number, or another one where none is given.
Ref number_or(PyObject* given, double other) {
  return given == Py_None ? Ref(PyFloat_FromDouble(other)) : Ref::borrow(given);
}

}  // namespace

namespace kernels {

Ref nan_to_num(PyObject* self, PyObject* nan, PyObject* posinf, PyObject* neginf) {
  const bool is_single = PyArray_TYPE(array_of(self)) == NPY_FLOAT;
  const double most = is_single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  Ref middle = number_or(nan, 0), above = number_or(posinf, most), below = number_or(neginf, -most);
  return middle && above && below ? elementwise<finite, 1>(self, middle.get(), above.get(), below.get()) : Ref();
}

Ref nansum(PyObject* self, PyObject* dim, PyObject* keepdim, PyObject* dtype) {
  return then(unary<known>(self), [&](PyObject* rest) { return sum_dim(rest, dim, keepdim, dtype); });
}

}  // namespace kernels

}  // namespace gradwright
