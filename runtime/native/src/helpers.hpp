// Formula helpers that C++ has itself. Each does what the Python function of its name in runtime/helpers does, with the
// same parameters; the generator reads their names from here.

#pragma once

#include "core.hpp"

namespace gradwright::helpers {

// `factor * x`; no work for the factor 1, which is the most usual one.
inline Ref scaled(PyObject* x, PyObject* factor) {
  if (PyLong_CheckExact(factor)) {
    int overflow = 0;
    if (PyLong_AsLongAndOverflow(factor, &overflow) == 1) return Ref::borrow(x);
  } else if (PyFloat_CheckExact(factor)) {
    if (PyFloat_AS_DOUBLE(factor) == 1) return Ref::borrow(x);
  } else {
    Ref one(PyLong_FromLong(1));
    const int is_one = PyObject_RichCompareBool(factor, one.get(), Py_EQ);
    if (is_one != 0) return is_one < 0 ? Ref() : Ref::borrow(x);
  }
  return Ref(PyNumber_Multiply(x, factor));
}

}  // namespace gradwright::helpers
