// Tensors in Python's expressions: `x * y`, `2 - x`, `-x`, `x += y`. Generated code says which signs there are, and
// makes a slot of the number protocol of each of these functions that it needs.

#pragma once

#include "callable.hpp"
#include "intrinsics.hpp"
#include "registry.hpp"

namespace gradwright {

// What a sign calls: overloads, null where there is no entry, and the Python method that knows the rest.
struct LoadedSign {
  const Function* unary = nullptr;
  const Function* tensor = nullptr;
  const Function* number = nullptr;
  PyObject* fallback = nullptr;
};

// By the index of a sign in `number_signs`: `self + other`, `other + self`, `self += other`.
constexpr size_t kMostSigns = 32;
inline LoadedSign forward_signs[kMostSigns];
inline LoadedSign reflected_signs[kMostSigns];
inline LoadedSign writing_signs[kMostSigns];

namespace detail {

inline bool holds_integers(PyObject* tensor) {
  const int type = PyArray_TYPE(array_of(tensor));
  return PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type);
}

inline PyObject* call(const Function* function, PyObject* left, PyObject* right) {
  PyObject* values[] = {left, right};
  return call(*function, values, 2, nullptr);
}

inline PyObject* not_implemented() { return Py_NewRef(Py_NotImplemented); }

inline PyObject* general(const LoadedSign& sign, PyObject* self, PyObject* other) {
  if (sign.fallback == nullptr || !is_tensor(self)) return not_implemented();
  return invoke(sign.fallback, self, other).release();
}

}  // namespace detail

template <size_t index>
PyObject* binary_sign(PyObject* left, PyObject* right) {
  static_assert(index < kMostSigns);
  const LoadedSign& sign = forward_signs[index];
  const LoadedSign& reflected = reflected_signs[index];
  if (is_plain(left)) {
    if (sign.tensor != nullptr && is_plain(right)) return detail::call(sign.tensor, left, right);
    if (sign.number != nullptr && is_number(right)) return detail::call(sign.number, left, right);
  } else if (reflected.number != nullptr && is_number(left) && is_plain(right)) {
    return detail::call(reflected.number, right, left);
  }
  PyObject* out = detail::general(sign, left, right);
  if (out != Py_NotImplemented || Py_TYPE(left) == Py_TYPE(right)) return out;
  Py_DECREF(out);
  return detail::general(reflected, right, left);
}

template <size_t index>
PyObject* power_sign(PyObject* left, PyObject* right, PyObject* modulus) {
  if (modulus != Py_None) return detail::not_implemented();
  return binary_sign<index>(left, right);
}

template <size_t index>
PyObject* writing_sign(PyObject* self, PyObject* other) {
  static_assert(index < kMostSigns);
  const LoadedSign& sign = writing_signs[index];
  if (is_plain(self)) {
    if (sign.tensor != nullptr && is_plain(other)) return detail::call(sign.tensor, self, other);
    if (sign.number != nullptr && is_number(other)) return detail::call(sign.number, self, other);
  }
  return detail::general(sign, self, other);
}

template <size_t index>
PyObject* writing_power_sign(PyObject* self, PyObject* other, PyObject* modulus) {
  if (modulus != Py_None) return detail::not_implemented();
  return writing_sign<index>(self, other);
}

template <size_t index, bool of_integers = false>
PyObject* unary_sign(PyObject* self) {
  static_assert(index < kMostSigns);
  const LoadedSign& sign = forward_signs[index];
  if (sign.unary != nullptr && is_plain(self) && (!of_integers || detail::holds_integers(self))) {
    return call(*sign.unary, &self, 1, nullptr);
  }
  if (sign.fallback == nullptr) {
    PyErr_Format(PyExc_TypeError, "bad operand type for %s: '%s'", number_signs.items[index],
                 Py_TYPE(self)->tp_name);
    return nullptr;
  }
  return PyObject_CallOneArg(sign.fallback, self);
}

// One that is for integers and bools alone; the Python method refuses the rest.
template <size_t index>
PyObject* integer_sign(PyObject* self) {
  return unary_sign<index, true>(self);
}

}  // namespace gradwright
