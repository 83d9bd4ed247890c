// Element-wise kernels that look at their arguments first.

#include "kernels.hpp"

#include <algorithm>
#include <cstring>

#include "layouts.hpp"
#include "special.hpp"
#include "views.hpp"

namespace gradwright {

template const Loop* loop_of<struct kernels::add>(int);
template const Loop* loop_of<struct kernels::sub>(int);
template const Loop* loop_of<struct kernels::rsub>(int);

int kernels_replaced = 0;

namespace {

// `condition ? a : b` for elements of one size, whatever they are.
template <class U>
struct Choose {
  static GRADWRIGHT_INLINE void run(char** args, npy_intp size, const npy_intp* steps, void*) {
    const char *c = args[0], *a = args[1], *b = args[2];
    char* out = args[3];
    constexpr npy_intp item = sizeof(U);
    if (steps[0] == 1 && steps[3] == item) {
      auto* to = reinterpret_cast<U*>(out);
      const auto *left = reinterpret_cast<const U*>(a), *right = reinterpret_cast<const U*>(b);
      if (steps[1] == item && steps[2] == item) {
        for (npy_intp i = 0; i < size; ++i) to[i] = c[i] != 0 ? left[i] : right[i];
        return;
      }
      if (steps[1] == item && steps[2] == 0) {
        const U single = *right;
        for (npy_intp i = 0; i < size; ++i) to[i] = c[i] != 0 ? left[i] : single;
        return;
      }
      if (steps[1] == 0 && steps[2] == item) {
        const U single = *left;
        for (npy_intp i = 0; i < size; ++i) to[i] = c[i] != 0 ? single : right[i];
        return;
      }
    }
    for (npy_intp i = 0; i < size; ++i, c += steps[0], a += steps[1], b += steps[2], out += steps[3]) {
      std::memcpy(out, *c != 0 ? a : b, sizeof(U));
    }
  }
};

template <class U>
const Loop* choose_loop(int type) {
  // One for each type number: they differ in the result alone.
  static const LoopFunction function = Generations<Choose<U>>::best();
  static Loop loops[24];
  if (loops[type].function == nullptr) loops[type] = {function, nullptr, type, true};
  return &loops[type];
}

}  // namespace

namespace kernels {

const Loop* where::loop(const int* types) {
  const int type = types[1];
  if (types[0] != NPY_BOOL || types[2] != type || type < 0 || type >= 24) return nullptr;
  PyArray_Descr* descr = PyArray_DescrFromType(type);
  if (descr == nullptr) {
    PyErr_Clear();
    return nullptr;
  }
  const bool known = std::strchr(takes::kAll, descr->type) != nullptr;
  const npy_intp size = PyDataType_ELSIZE(descr);
  Py_DECREF(descr);
  if (!known) return nullptr;
  switch (size) {
    case 1: return choose_loop<uint8_t>(type);
    case 2: return choose_loop<uint16_t>(type);
    case 4: return choose_loop<uint32_t>(type);
    case 8: return choose_loop<uint64_t>(type);
    case 16: return choose_loop<Wide>(type);
    default: return nullptr;
  }
}

Ref where(PyObject* condition, PyObject* self, PyObject* other) {
  Operand operands[3];
  operands[0].array = array_of(condition);
  if (detail::type_of(operands[0].array) != NPY_BOOL) return Ref();
  int type = -1;
  PyObject* given[] = {self, other};
  for (int i = 0; i < 2; ++i) {
    Operand& operand = operands[i + 1];
    if (!PyObject_TypeCheck(given[i], python.tensor_type)) {
      if (!operand.set(given[i])) return Ref();
      continue;
    }
    operand.array = array_of(given[i]);
    const int own = detail::type_of(operand.array);
    if (type != -1 && own != type) return Ref();
    type = own;
  }
  const bool has_number = operands[1].array == nullptr || operands[2].array == nullptr;
  if (has_number && type != NPY_FLOAT && type != NPY_DOUBLE) return Ref();
  const int types[] = {NPY_BOOL, type, type};
  const Loop* loop = where::loop(types);
  return loop == nullptr ? Ref() : run_loop(*loop, operands, 3, type);
}

Ref clamp(PyObject* self, PyObject* min, PyObject* max) {
  if (min == Py_None && max == Py_None) return Ref();
  if (max == Py_None) return binary_any<struct maximum>(self, min);
  if (min == Py_None) return binary_any<struct minimum>(self, max);
  const bool tensors = PyObject_TypeCheck(min, python.tensor_type) && PyObject_TypeCheck(max, python.tensor_type);
  return tensors ? elementwise<hardtanh, 3>(self, min, max) : elementwise<hardtanh, 1>(self, min, max);
}

namespace {

// 'e' or 't' for the two ways to compute gelu; 0 for what is none of them.
char approximation(PyObject* name) {
  if (!PyUnicode_Check(name)) return 0;
  if (PyUnicode_CompareWithASCIIString(name, "none") == 0) return 'e';
  return PyUnicode_CompareWithASCIIString(name, "tanh") == 0 ? 't' : 0;
}

}  // namespace

Ref gelu(PyObject* self, PyObject* approximate) {
  switch (approximation(approximate)) {
    case 'e': return unary<gelu_by_erf>(self);
    case 't': return unary<gelu_by_tanh>(self);
    default: return Ref();
  }
}

Ref gelu_backward(PyObject* grad_output, PyObject* self, PyObject* approximate) {
  switch (approximation(approximate)) {
    case 'e': return binary<gelu_backward_by_erf>(grad_output, self);
    case 't': return binary<gelu_backward_by_tanh>(grad_output, self);
    default: return Ref();
  }
}

Ref polygamma(PyObject* n, PyObject* self) {
  npy_intp order;
  if (!detail::read_int(n, &order)) return Ref();
  if (order == 0) return unary<digamma>(self);
  return order == 1 ? unary<trigamma>(self) : declined(kNoLoop);
}

Ref pow_tensor_scalar(PyObject* self, PyObject* exponent) {
  Operand power_of;
  if (!power_of.set(exponent)) return Ref();
  const double value = power_of.number.re;
  if (value == 2) return unary<square>(self);
  const int type = detail::type_of(array_of(self));
  if (type != NPY_FLOAT && type != NPY_DOUBLE) return Ref();
  if (value == 3) return unary<cube>(self);
  if (value == 0.5) return unary<sqrt>(self);
  if (value == -1) return unary<reciprocal>(self);
  if (value == -0.5) return unary<rsqrt>(self);
  return binary_scalar<power>(self, exponent);
}

}  // namespace kernels

}  // namespace gradwright
