#include "optim.hpp"

#include <cmath>

#include "kernels.hpp"
#include "parallel.hpp"

namespace gradwright {

double UpdateStep::power(double base, double exponent) {
  const double result = std::pow(base, exponent);
  raises |= !std::isfinite(result) && std::isfinite(base) && std::isfinite(exponent);
  return result;
}

namespace {

// Whether the arrays of a step are all there, of one form, apart from each other, and may be written.
bool read_arrays(const UpdateRule& rule, PyObject* const* objects, UpdateStep& step, Kind& kind, npy_intp& size) {
  const int count = static_cast<int>(rule.optional.count);
  for (int i = 0; i < count; ++i) {
    if (objects[i] == Py_None) {
      if (!rule.optional.items[i]) return false;
      continue;
    }
    if (!PyArray_CheckExact(objects[i])) return false;
    auto* array = reinterpret_cast<PyArrayObject*>(objects[i]);
    if (i == 0) {
      kind = kind_of(array);
      size = PyArray_SIZE(array);
    }
    if (kind == Kind::kNone || kind_of(array) != kind || PyArray_SIZE(array) != size || !is_dense(array) ||
        (i > 0 && !PyArray_ISWRITEABLE(array))) {
      return false;
    }
    step.arrays[i] = PyArray_DATA(array);
  }
  const auto bytes = static_cast<uintptr_t>(size * PyArray_ITEMSIZE(reinterpret_cast<PyArrayObject*>(objects[0])));
  for (int i = 1; i < count; ++i) {
    for (int j = 0; j < i; ++j) {
      if (step.arrays[i] == nullptr || step.arrays[j] == nullptr) continue;
      const auto one = reinterpret_cast<uintptr_t>(step.arrays[i]), other = reinterpret_cast<uintptr_t>(step.arrays[j]);
      if (one < other + bytes && other < one + bytes) return false;
    }
  }
  return true;
}

// Whether a dict holds just the options of a rule. There is no exception.
bool read_options(const UpdateRule& rule, PyObject* dict, UpdateStep& step) {
  Py_ssize_t found = 0;
  for (size_t i = 0; i < rule.options.count; ++i) {
    const UpdateOption& option = rule.options.items[i];
    PyObject* value = PyDict_GetItemWithError(dict, interned(option.name));
    if (value == nullptr) {
      if (option.is_needed) return false;
      step.options[i] = option.preset;
      continue;
    }
    ++found;
    if (option.is_flag) {
      if (!PyBool_Check(value)) return false;
      step.options[i] = value == Py_True;
    } else {
      if (!PyFloat_CheckExact(value)) return false;  // other numbers have an element type of their own
      step.options[i] = PyFloat_AS_DOUBLE(value);
    }
  }
  return found == PyDict_GET_SIZE(dict);
}

}  // namespace

PyObject* update_rule_names() {
  const auto count = static_cast<Py_ssize_t>(update_rules.count);
  Ref names(PyTuple_New(count));
  if (!names) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* name = PyUnicode_InternFromString(update_rules.items[i].name);
    if (name == nullptr) return nullptr;
    PyTuple_SET_ITEM(names.get(), i, name);
  }
  return names.release();
}

PyObject* update_step(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const long number = count < 3 || !PyDict_Check(args[1]) ? -1 : PyLong_AsLong(args[0]);
  if (number < 0 || number >= static_cast<long>(update_rules.count)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "update_step(rule, options, grad, *written)");
    return nullptr;
  }
  const UpdateRule& rule = update_rules.items[number];
  UpdateStep step;
  Kind kind = Kind::kNone;
  npy_intp size = 0;
  if (static_cast<size_t>(count - 2) != rule.optional.count || !read_arrays(rule, args + 2, step, kind, size) ||
      !read_options(rule, args[1], step)) {
    Py_RETURN_FALSE;
  }
  rule.prepare(step);
  if (step.raises) Py_RETURN_FALSE;
  const auto run = kind == Kind::kFloat32 ? rule.run_float : rule.run_double;
  const ReleaseGil released(size >= kGrain);
  parallel_for(size, kGrain, [&](npy_intp begin, npy_intp end) { run(&step, begin, end); });
  Py_RETURN_TRUE;
}

}  // namespace gradwright
