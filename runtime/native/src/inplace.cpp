#include "inplace.hpp"

#include <cstring>

namespace gradwright::writers {

namespace {

using kernels::is_one;

struct maximum {
  static inline Ufunc ufunc{"maximum"};
};
struct minimum {
  static inline Ufunc ufunc{"minimum"};
};

bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, python.tensor_type); }

// A Tensor or a number as the second operand.
template <class F>
bool write_any(PyObject* self, PyObject* other) {
  return is_tensor(other) ? write_binary<F>(self, other) : write_binary_scalar<F>(self, other);
}

// Whether the Tensors can be read element by element while `self` is written.
template <class... Others>
bool elementwise(PyObject* self, Others... others) {
  PyArrayObject* target = array_of(self);
  npy_intp step = 0;
  return ((detail::operand_step(target, array_of(others), &step) && step == 1) && ...);
}

// `self += sign * alpha * other`.
bool add_scaled(PyObject* self, PyObject* other, PyObject* alpha, int sign) {
  double factor;
  if (!is_tensor(other) || !detail::element_value(alpha, &factor) || !elementwise(self, other)) {
    return false;
  }
  return detail::with_elements(self, [&](auto* out, npy_intp size) {
    using T = std::remove_reference_t<decltype(*out)>;
    const T* values = detail::elements<T>(other);
    const T scale = static_cast<T>(sign * factor);
    for (npy_intp i = 0; i < size; ++i) out[i] += values[i] * scale;
    return true;
  });
}

}  // namespace

bool add(PyObject* self, PyObject* other, PyObject* alpha) {
  if (is_one(alpha)) return write_any<kernels::plus>(self, other);
  return add_scaled(self, other, alpha, 1);
}

bool sub(PyObject* self, PyObject* other, PyObject* alpha) {
  if (is_one(alpha)) return write_any<kernels::minus>(self, other);
  return add_scaled(self, other, alpha, -1);
}

bool addcmul(PyObject* self, PyObject* tensor1, PyObject* tensor2, PyObject* value) {
  double factor;
  if (!detail::element_value(value, &factor) || !elementwise(self, tensor1, tensor2)) return false;
  return detail::with_elements(self, [&](auto* out, npy_intp size) {
    using T = std::remove_reference_t<decltype(*out)>;
    const T *a = detail::elements<T>(tensor1), *b = detail::elements<T>(tensor2);
    const T scale = static_cast<T>(factor);
    for (npy_intp i = 0; i < size; ++i) out[i] += a[i] * b[i] * scale;
    return true;
  });
}

bool addcdiv(PyObject* self, PyObject* tensor1, PyObject* tensor2, PyObject* value) {
  double factor;
  if (!detail::element_value(value, &factor) || !elementwise(self, tensor1, tensor2)) return false;
  return detail::with_elements(self, [&](auto* out, npy_intp size) {
    using T = std::remove_reference_t<decltype(*out)>;
    const T *a = detail::elements<T>(tensor1), *b = detail::elements<T>(tensor2);
    const T scale = static_cast<T>(factor);
    for (npy_intp i = 0; i < size; ++i) out[i] += a[i] / b[i] * scale;
    return true;
  });
}

bool lerp(PyObject* self, PyObject* end, PyObject* weight) {
  double part;
  if (!detail::element_value(weight, &part) || !elementwise(self, end)) return false;
  return detail::with_elements(self, [&](auto* out, npy_intp size) {
    using T = std::remove_reference_t<decltype(*out)>;
    const T* values = detail::elements<T>(end);
    if (std::abs(part) < 0.5) {
      const T scale = static_cast<T>(part);
      for (npy_intp i = 0; i < size; ++i) out[i] += (values[i] - out[i]) * scale;
    } else {
      const T scale = static_cast<T>(1 - part);
      for (npy_intp i = 0; i < size; ++i) out[i] = values[i] - (values[i] - out[i]) * scale;
    }
    return true;
  });
}

bool clamp(PyObject* self, PyObject* min, PyObject* max) {
  double value;
  for (PyObject* bound : {min, max}) {
    if (bound != Py_None && !detail::element_value(bound, &value)) return false;
  }
  if (min == Py_None) return max != Py_None && write_binary_scalar<minimum>(self, max);
  if (!write_binary_scalar<maximum>(self, min)) return false;
  return max == Py_None || write_binary_scalar<minimum>(self, max);
}

bool zero(PyObject* self) {
  PyArrayObject* array = array_of(self);
  if (!PyArray_IS_C_CONTIGUOUS(array) || !PyTypeNum_ISNUMBER(PyArray_TYPE(array))) return false;
  std::memset(PyArray_DATA(array), 0, static_cast<size_t>(PyArray_NBYTES(array)));
  return true;
}

bool fill(PyObject* self, PyObject* value) {
  double number;
  if (!detail::element_value(value, &number)) return false;
  return detail::with_elements(self, [&](auto* out, npy_intp size) {
    std::fill_n(out, size, static_cast<std::remove_reference_t<decltype(*out)>>(number));
    return true;
  });
}

bool copy(PyObject* self, PyObject* src) {
  PyArrayObject *target = array_of(self), *source = array_of(src);
  if (PyArray_DESCR(target) != PyArray_DESCR(source) || !PyArray_SAMESHAPE(target, source)) {
    return false;
  }
  if (PyArray_CopyInto(target, source) == 0) return true;
  PyErr_Clear();  // there was no memory; the general path says so
  return false;
}

}  // namespace gradwright::writers
