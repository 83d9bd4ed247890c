#include "inplace.hpp"

#include <cmath>
#include <cstring>

#include "copies.hpp"

namespace gradwright::writers {

namespace {

struct add_scaled {
  template <class T>
  static T apply(T a, T b, T scale) { return a + b * scale; }
};
struct sub_scaled {
  template <class T>
  static T apply(T a, T b, T scale) { return a - b * scale; }
};
struct set {
  template <class T>
  static T apply(T, T value) { return value; }
};

bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, python.tensor_type); }

// `self = F(self, other)`, or `self = Scaled(self, other, alpha)` where `alpha` is not 1.
template <class F, class Scaled>
bool write_sum(PyObject* self, PyObject* other, PyObject* alpha) {
  if (!kernels::is_one(alpha)) return is_tensor(other) && write_elementwise<Scaled, 2>(self, other, alpha);
  return is_tensor(other) ? write_binary<F>(self, other) : write_binary_scalar<F>(self, other);
}

}  // namespace

bool add(PyObject* self, PyObject* other, PyObject* alpha) {
  return write_sum<struct kernels::add, add_scaled>(self, other, alpha);
}

bool sub(PyObject* self, PyObject* other, PyObject* alpha) {
  return write_sum<struct kernels::sub, sub_scaled>(self, other, alpha);
}

bool clamp(PyObject* self, PyObject* min, PyObject* max) {
  Operand low, high;
  if ((min != Py_None && !low.set(min)) || (max != Py_None && !high.set(max))) return false;
  if (min == Py_None) return max != Py_None && write_binary_scalar<kernels::minimum>(self, max);
  if (max == Py_None) return write_binary_scalar<kernels::maximum>(self, min);
  return write_elementwise<kernels::hardtanh, 1>(self, min, max);
}

bool zero(PyObject* self) {
  PyArrayObject* array = array_of(self);
  if (!PyArray_IS_C_CONTIGUOUS(array) || !PyTypeNum_ISNUMBER(PyArray_TYPE(array))) return false;
  std::memset(PyArray_DATA(array), 0, static_cast<size_t>(PyArray_NBYTES(array)));
  return true;
}

bool fill(PyObject* self, PyObject* value) { return write_binary_scalar<set>(self, value); }

bool copy(PyObject* self, PyObject* src) {
  PyArrayObject *target = array_of(self), *source = array_of(src);
  if (PyArray_DESCR(target) != PyArray_DESCR(source) || !PyArray_SAMESHAPE(target, source)) {
    return false;
  }
  if (!may_overlap(source, target) && copy_array(source, target)) return true;
  if (PyArray_CopyInto(target, source) == 0) return true;
  PyErr_Clear();  // there was no memory; the general path says so
  return false;
}

}  // namespace gradwright::writers
