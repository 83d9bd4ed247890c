#include "promotion.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "conversions.hpp"
#include "intrinsics.hpp"
#include "names.hpp"

namespace gradwright {

namespace {

// The element types in the order in which one becomes another; kNothing stands below all.
enum Element : int {
  kNothing, kBoolean, kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128,
  kUnknown
};
constexpr int kNumbers[] = {NPY_NOTYPE, NPY_BOOL, NPY_UBYTE, NPY_BYTE, NPY_SHORT, NPY_INT, NPY_LONG, NPY_HALF,
                            NPY_NOTYPE, NPY_FLOAT, NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};

bool is_complex(Element element) { return element >= kComplex64; }
bool is_inexact(Element element) { return element >= kFloat16; }

Element element_of(PyArray_Descr* dtype) {
  if (!PyArray_ISNBO(dtype->byteorder)) return kUnknown;
  if (is_half(dtype)) return dtype->type_num == NPY_HALF ? kFloat16 : kBFloat16;
  const auto* place = std::find(std::begin(kNumbers) + 1, std::end(kNumbers), dtype->type_num);
  return place == std::end(kNumbers) ? kUnknown : static_cast<Element>(place - std::begin(kNumbers));
}

// The smallest of the larger kind that both convert to.
Element smallest_of_both(Element left, Element right) {
  const auto [low, high] = std::minmax(left, right);
  if (low == kUInt8 && high == kInt8) return kInt16;
  if (low == kFloat16 && high == kBFloat16) return kFloat32;
  return low == kFloat64 && high == kComplex64 ? kComplex128 : high;
}

// What Tensors are, beside others that have fewer dimensions, or numbers: those count where they are of a higher kind alone.
Element beside_lower(Element higher, Element lower) {
  if (is_complex(higher)) return higher;
  if (is_inexact(higher) && is_complex(lower)) return higher == kFloat64 ? kComplex128 : higher == kFloat32 ? kComplex64 : kUnknown;
  if (is_inexact(higher)) return higher;
  return higher <= kBoolean || is_inexact(lower) ? smallest_of_both(higher, lower) : higher;
}

// float32 at start: what Python floats are, and integers where floats are asked for.
Ref default_dtype() {
  static PyObject* const getter = [] {
    Ref module(PyImport_ImportModule(RUNTIME_NAME("base.dtypes")));
    return module ? PyObject_GetAttrString(module.get(), "get_default_dtype") : nullptr;
  }();
  Ref dtype = getter == nullptr ? Ref() : Ref(PyObject_CallNoArgs(getter));
  return dtype ? Ref(PyObject_GetAttr(dtype.get(), interned("numpy"))) : Ref();
}

// Asked for once in a call, and only where something depends on it.
class DefaultFloat {
 public:
  Element element() {
    if (!dtype_) dtype_ = default_dtype();
    if (!dtype_) {
      forget_error();
      return kUnknown;
    }
    return element_of(reinterpret_cast<PyArray_Descr*>(dtype_.get()));
  }

 private:
  Ref dtype_;
};

Element element_of_number(PyObject* number, DefaultFloat& usual) {
  if (PyBool_Check(number)) return kBoolean;
  if (PyFloat_CheckExact(number)) return usual.element();
  int overflow = 1;
  if (PyLong_CheckExact(number)) PyLong_AsLongLongAndOverflow(number, &overflow);
  return overflow == 0 ? kInt64 : kUnknown;
}

}  // namespace

Ref promoted_dtype(Promotion kind, uint64_t promoted, PyObject* const* values, int count) {
  enum { kDimensions, kNoDimensions, kPythonNumbers, kCategories };
  std::array<Element, kCategories> common{};
  DefaultFloat usual;
  PyArray_Descr* bfloat16 = nullptr;
  for (int i = 0; i < count; ++i) {
    PyObject* value = values[i];
    if ((promoted >> i & 1) == 0 || value == Py_None) continue;
    const bool is_tensor = is_plain(value);
    const Element element = is_tensor ? element_of(PyArray_DESCR(array_of(value))) : element_of_number(value, usual);
    if (element == kUnknown) return Ref();
    if (element == kBFloat16 && is_tensor) bfloat16 = PyArray_DESCR(array_of(value));
    const int category = !is_tensor ? kPythonNumbers : PyArray_NDIM(array_of(value)) > 0 ? kDimensions : kNoDimensions;
    common[category] = smallest_of_both(common[category], element);
  }
  if (common[kDimensions] == kNothing && common[kNoDimensions] == kNothing) return Ref();
  Element wanted = beside_lower(common[kDimensions], beside_lower(common[kNoDimensions], common[kPythonNumbers]));
  if (kind == Promotion::kIntToFloat && !is_inexact(wanted)) wanted = usual.element();
  if (kind == Promotion::kBoolToInt && wanted == kBoolean) wanted = kInt64;
  if (wanted == kUnknown || wanted == kNothing) return Ref();
  if (wanted == kBFloat16) return Ref::borrow(reinterpret_cast<PyObject*>(bfloat16));  // null if it is the default dtype alone
  return Ref(reinterpret_cast<PyObject*>(PyArray_DescrFromType(kNumbers[wanted])));
}

}  // namespace gradwright
