// Whether two arrays have the same shape and elements.

#include <algorithm>
#include <cstring>

#include "generations.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

// Elements after which the loop asks whether it is known by now.
constexpr npy_intp kAtOnce = 1024;

constexpr char kOtherPairs[] = "arrays that are not dense, or of two element types";

struct Differing {
  template <class T>
  static GRADWRIGHT_INLINE bool run(const T* a, const T* b, npy_intp size) {
    bool any = false;
    for (npy_intp k = 0; k < size; ++k) any |= a[k] != b[k];
    return any;
  }
};

template <class T>
bool are_equal(PyArrayObject* a, PyArrayObject* b, npy_intp parts = 1) {
  const T *first = elements<const T>(a), *second = elements<const T>(b);
  const npy_intp size = PyArray_SIZE(a) * parts;
  for (npy_intp i = 0; i < size; i += kAtOnce) {
    if (run_best<Differing>(first + i, second + i, std::min(kAtOnce, size - i))) return false;
  }
  return true;
}

}  // namespace

namespace kernels {

Ref equal(PyObject* self, PyObject* other) {
  PyArrayObject *a = array_of(self), *b = array_of(other);
  const int type = detail::type_of(a);
  if (type < 0 || detail::type_of(b) != type || type > NPY_CDOUBLE || type == NPY_LONGDOUBLE || !is_dense(a) || !is_dense(b))
    return declined(kOtherPairs);
  if (!detail::same_shape(a, b)) return Ref::borrow(Py_False);
  const auto held = hold(a, b);
  bool same = false;
  const bool done = run_long(PyArray_SIZE(a) > kGrain, [&] {
    switch (type) {
      case NPY_FLOAT:
        same = are_equal<float>(a, b);
        break;
      case NPY_DOUBLE:
        same = are_equal<double>(a, b);
        break;
      case NPY_CFLOAT:
        same = are_equal<float>(a, b, 2);
        break;
      case NPY_CDOUBLE:
        same = are_equal<double>(a, b, 2);
        break;
      default:
        same = std::memcmp(PyArray_DATA(a), PyArray_DATA(b), static_cast<size_t>(PyArray_NBYTES(a))) == 0;
    }
  });
  return done ? Ref::borrow(same ? Py_True : Py_False) : Ref();
}
GRADWRIGHT_KERNEL(equal, 2, tensors)

}  // namespace kernels

}  // namespace gradwright
