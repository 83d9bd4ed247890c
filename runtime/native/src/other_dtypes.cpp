#include "other_dtypes.hpp"

#include "conversions.hpp"
#include "intrinsics.hpp"
#include "promotion.hpp"
#include "registry.hpp"

namespace gradwright {

namespace {

// Which arguments are converted, and to what.
struct Conversion {
  Ref dtype;                      // null where nothing is converted
  PyArray_Descr* half = nullptr;  // that results of float32 are rounded to, of one of the arguments
  uint64_t converted = 0;         // the positions, as bits

  explicit operator bool() const { return static_cast<bool>(dtype); }
};

PyArray_Descr* dtype_of(PyObject* tensor) { return PyArray_DESCR(array_of(tensor)); }

Ref as_object(PyArray_Descr* dtype) { return Ref::borrow(reinterpret_cast<PyObject*>(dtype)); }

// Numbers, None and lists of these: they mean the same in each element type. Lists of ints with a bool among them Python
// refuses.
bool is_simple(PyObject* value) {
  if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
    const auto is_bool = [](PyObject* item) { return PyBool_Check(item) != 0; };
    return all_items(value, is_bool) ||
           all_items(value, [&](PyObject* item) { return !is_bool(item) && is_simple(item); });
  }
  return value == Py_None || PyBool_Check(value) || is_real_number(value) || PyUnicode_CheckExact(value);
}

// The positions of the Tensors, as bits; 0 where there are none, or where something else is unusual.
uint64_t tensors_among(PyObject* const* values, int count) {
  uint64_t tensors = 0;
  for (int i = 0; i < count; ++i) {
    if (is_plain(values[i])) {
      tensors |= uint64_t{1} << i;
    } else if (!is_simple(values[i])) {
      return 0;
    }
  }
  return tensors;
}

// The half precision that all Tensors have; null if there is none.
PyArray_Descr* shared_half(uint64_t tensors, PyObject* const* values, int count) {
  PyArray_Descr* shared = nullptr;
  for (int i = 0; i < count; ++i) {
    if ((tensors >> i & 1) == 0) continue;
    PyArray_Descr* dtype = dtype_of(values[i]);
    if (!is_half(dtype) || (shared != nullptr && shared->type_num != dtype->type_num)) return nullptr;
    shared = dtype;
  }
  return shared;
}

Conversion conversion_for(const Function& function, PyObject* const* values) {
  static PyArray_Descr* const single = PyArray_DescrFromType(NPY_FLOAT);
  const int count = function.count;
  const uint64_t tensors = tensors_among(values, count);
  Conversion conversion;
  if (tensors == 0) return conversion;
  if (function.computes_halves) {
    conversion.half = shared_half(tensors, values, count);
    if (conversion.half != nullptr) {
      conversion.dtype = as_object(single);
      conversion.converted = tensors;
      return conversion;
    }
  }
  if (function.promotion == Promotion::kNone) return conversion;
  Ref wanted = promoted_dtype(function.promotion, function.promoted, values, count);
  if (!wanted) return conversion;
  auto* dtype = reinterpret_cast<PyArray_Descr*>(wanted.get());
  if (is_half(dtype)) {
    if (!function.computes_halves) return conversion;
    conversion.half = dtype;
    wanted = as_object(single);
  }
  for (int i = 0; i < count; ++i) {
    if ((tensors >> i & 1) == 0) continue;
    PyArray_Descr* own = dtype_of(values[i]);
    if ((function.promoted >> i & 1) == 0) {
      if (conversion.half != nullptr && is_half(own)) return conversion;
    } else if (own->type_num != reinterpret_cast<PyArray_Descr*>(wanted.get())->type_num) {
      conversion.converted |= uint64_t{1} << i;
    }
  }
  if (conversion.converted != 0) conversion.dtype = std::move(wanted);
  return conversion;
}

// By a loop of ours, or else NumPy's.
Ref in_dtype(PyArrayObject* array, PyArray_Descr* dtype) {
  Ref out = converted(array, dtype);
  if (out || PyErr_Occurred()) return out;
  Py_INCREF(dtype);
  out = Ref(PyArray_NewLikeArray(array, NPY_KEEPORDER, dtype, 0));
  return out && PyArray_CopyInto(as_ndarray(out), array) == 0 ? std::move(out) : Ref();
}

// A Tensor over the elements that an entry reads in the place of an argument: without its history.
Ref argument_of(PyObject* tensor, PyArray_Descr* dtype) {
  Ref array = dtype == nullptr ? Ref::borrow(array_object(tensor)) : in_dtype(array_of(tensor), dtype);
  return array ? new_tensor(std::move(array)) : Ref();
}

// The array of a result, rounded if it is of float32 and `half` is not null. Null, without an exception, for what is no plain
// Tensor.
Ref rounded(PyObject* result, PyArray_Descr* half) {
  if (!is_plain(result)) return Ref();
  PyArrayObject* array = array_of(result);
  if (half == nullptr || PyArray_TYPE(array) != NPY_FLOAT) return Ref::borrow(array_object(result));
  return converted(array, half);
}

}  // namespace

bool takes_in_other_dtype(const Function& function, PyObject* const* values) {
  return static_cast<bool>(conversion_for(function, values));
}

Ref result_in_other_dtype(const Function& called, Function& computing, PyObject* const* values) {
  if (called.replaced != 0 || (computing.replaced & kByKernel) != 0 || PyErr_Occurred()) return Ref();
  const Conversion conversion = conversion_for(computing, values);
  if (!conversion) return Ref();
  Ref arguments[kMostParameters];
  PyObject* given[kMostParameters];
  for (int i = 0; i < computing.count; ++i) {
    given[i] = values[i];
    const bool converts = (conversion.converted >> i & 1) != 0;
    if (!converts && !(is_plain(given[i]) && requires_grad(given[i]))) continue;
    arguments[i] = argument_of(given[i], converts ? reinterpret_cast<PyArray_Descr*>(conversion.dtype.get()) : nullptr);
    if (!arguments[i]) {
      forget_error();
      return Ref();
    }
    given[i] = arguments[i].get();
  }
  if (computing.failing(given) != kNoGuard) return Ref();
  const unsigned char replaced = computing.replaced;
  Ref out(computing.ordered(given));
  computing.replaced = replaced;  // where the entry declined, somebody who watches would be told of this call once more
  if (!out) {
    forget_error();  // Python's will speak of the arguments as they are
    return Ref();
  }
  if (watching) note_kernel(conversion.half != nullptr ? kInFloat32 : kConverted);
  if (!PyTuple_Check(out.get())) return rounded(out.get(), conversion.half);
  const Py_ssize_t several = PyTuple_GET_SIZE(out.get());
  Ref results(PyTuple_New(several));
  for (Py_ssize_t i = 0; results && i < several; ++i) {
    PyObject* result = PyTuple_GET_ITEM(out.get(), i);
    Ref one = result == Py_None ? Ref::borrow(Py_None) : rounded(result, conversion.half);
    if (!one) return one;
    PyTuple_SET_ITEM(results.get(), i, one.release());
  }
  return results;
}

}  // namespace gradwright
