#include "halves.hpp"

#include "conversions.hpp"
#include "intrinsics.hpp"
#include "registry.hpp"

namespace gradwright {

namespace {

// The array of a result, rounded if it is of float32. Null, without an exception, for what is no plain Tensor.
Ref rounded(PyObject* result, PyArray_Descr* half) {
  if (!is_plain(result)) return Ref();
  PyArrayObject* array = array_of(result);
  if (PyArray_TYPE(array) != NPY_FLOAT) return Ref::borrow(array_object(result));
  return converted(array, half);
}

// Numbers, None and lists of these: they mean the same in float32. Lists of ints with a bool among them Python refuses.
bool is_simple(PyObject* value) {
  if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
    const auto is_bool = [](PyObject* item) { return PyBool_Check(item) != 0; };
    return all_items(value, is_bool) ||
           all_items(value, [&](PyObject* item) { return !is_bool(item) && is_simple(item); });
  }
  return value == Py_None || PyBool_Check(value) || is_real_number(value) || PyUnicode_CheckExact(value);
}

}  // namespace

bool are_halves(PyObject* const* values, int count) {
  int type = -1;
  for (int i = 0; i < count; ++i) {
    if (is_plain(values[i])) {
      PyArrayObject* array = array_of(values[i]);
      if (!is_half(PyArray_DESCR(array)) || (type >= 0 && PyArray_TYPE(array) != type)) return false;
      type = PyArray_TYPE(array);
    } else if (!is_simple(values[i])) {
      return false;
    }
  }
  return type >= 0;
}

Ref result_in_float32(const Function& called, const Function& computing, PyObject* const* values, int count) {
  const bool replaced = called.replaced != 0 || (computing.replaced & kByKernel) != 0;
  if (replaced || PyErr_Occurred() || !are_halves(values, count)) return Ref();
  Ref wide[kMostParameters];
  PyObject* given[kMostParameters];
  static PyArray_Descr* const single = PyArray_DescrFromType(NPY_FLOAT);
  PyArray_Descr* half = nullptr;
  for (int i = 0; i < count; ++i) {
    given[i] = values[i];
    if (!is_plain(given[i])) continue;
    half = PyArray_DESCR(array_of(given[i]));
    Ref array = converted(array_of(given[i]), single);
    wide[i] = array ? new_tensor(std::move(array)) : Ref();
    if (!wide[i]) {
      forget_error();
      return Ref();
    }
    given[i] = wide[i].get();
  }
  Ref out(computing.ordered(given));
  if (!out) {
    forget_error();  // Python's will speak of the arguments as they are
    return Ref();
  }
  if (watching) note_kernel(kInFloat32);
  if (!PyTuple_Check(out.get())) return rounded(out.get(), half);
  const Py_ssize_t several = PyTuple_GET_SIZE(out.get());
  Ref results(PyTuple_New(several));
  for (Py_ssize_t i = 0; results && i < several; ++i) {
    PyObject* result = PyTuple_GET_ITEM(out.get(), i);
    Ref one = result == Py_None ? Ref::borrow(Py_None) : rounded(result, half);
    if (!one) return one;
    PyTuple_SET_ITEM(results.get(), i, one.release());
  }
  return results;
}

}  // namespace gradwright
