// Tensors in Python's expressions: `x * y`, `2 - x`, `-x`, `x += y`.

#include <string>

#include "callable.hpp"
#include "intrinsics.hpp"
#include "registry.hpp"

namespace gradwright {

namespace {

// What a sign calls: overloads, null where there is no entry, and the Python method that knows the rest.
struct Loaded {
  const Function* unary = nullptr;
  const Function* tensor = nullptr;
  const Function* number = nullptr;
  PyObject* fallback = nullptr;
};

// The signs with two operands, and then those with one.
constexpr const char* kNames[] = {"add",    "sub",    "mul", "truediv", "floordiv",
                                  "mod",    "pow",    "and", "or",      "xor",
                                  "lshift", "rshift", "matmul", "neg", "abs", "invert"};
constexpr size_t kCount = sizeof(kNames) / sizeof(kNames[0]);

// The sign that is for integers and bools alone; the Python method refuses the rest.
constexpr size_t kInvert = 15;

bool holds_integers(PyObject* tensor) {
  const int type = PyArray_TYPE(array_of(tensor));
  return PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type);
}

// How many of them, from the first, have a form that writes in place.
constexpr size_t kWriting = 10;

Loaded forward[kCount];
Loaded reflected[kCount];
Loaded writing[kWriting];

PyObject* call(const Function* function, PyObject* left, PyObject* right) {
  PyObject* values[] = {left, right};
  return function->vectorcall(nullptr, values, 2, nullptr);
}

PyObject* not_implemented() { return Py_NewRef(Py_NotImplemented); }

PyObject* general(const Loaded& sign, PyObject* self, PyObject* other) {
  if (sign.fallback == nullptr || !is_tensor(self)) return not_implemented();
  return invoke(sign.fallback, self, other).release();
}

template <size_t index>
PyObject* binary_sign(PyObject* left, PyObject* right) {
  const Loaded& sign = forward[index];
  if (is_plain(left)) {
    if (sign.tensor != nullptr && is_plain(right)) return call(sign.tensor, left, right);
    if (sign.number != nullptr && is_number(right)) return call(sign.number, left, right);
  } else if (reflected[index].number != nullptr && is_number(left) && is_plain(right)) {
    return call(reflected[index].number, right, left);
  }
  PyObject* out = general(sign, left, right);
  if (out != Py_NotImplemented || Py_TYPE(left) == Py_TYPE(right)) return out;
  Py_DECREF(out);
  return general(reflected[index], right, left);
}

template <size_t index>
PyObject* power_sign(PyObject* left, PyObject* right, PyObject* modulus) {
  if (modulus != Py_None) return not_implemented();
  return binary_sign<index>(left, right);
}

template <size_t index>
PyObject* writing_sign(PyObject* self, PyObject* other) {
  const Loaded& sign = writing[index];
  if (is_plain(self)) {
    if (sign.tensor != nullptr && is_plain(other)) return call(sign.tensor, self, other);
    if (sign.number != nullptr && is_number(other)) return call(sign.number, self, other);
  }
  return general(sign, self, other);
}

template <size_t index>
PyObject* writing_power_sign(PyObject* self, PyObject* other, PyObject* modulus) {
  if (modulus != Py_None) return not_implemented();
  return writing_sign<index>(self, other);
}

template <size_t index>
PyObject* unary_sign(PyObject* self) {
  const Loaded& sign = forward[index];
  if (sign.unary != nullptr && is_plain(self) && (index != kInvert || holds_integers(self))) {
    return sign.unary->vectorcall(nullptr, &self, 1, nullptr);
  }
  if (sign.fallback == nullptr) {
    PyErr_Format(PyExc_TypeError, "bad operand type for %s: '%s'", kNames[index],
                 Py_TYPE(self)->tp_name);
    return nullptr;
  }
  return PyObject_CallOneArg(sign.fallback, self);
}

void load(Loaded& loaded, const std::string& name, PyObject* methods) {
  PyObject* fallback = PyDict_GetItemString(methods, name.c_str());
  Py_XINCREF(fallback);
  Ref old(std::exchange(loaded.fallback, fallback));
  for (const Sign& sign : signs) {
    if (name != sign.name) continue;
    loaded.unary = sign.unary == nullptr ? nullptr : find_function(sign.unary);
    loaded.tensor = sign.tensor == nullptr ? nullptr : find_function(sign.tensor);
    loaded.number = sign.number == nullptr ? nullptr : find_function(sign.number);
  }
}

}  // namespace

// clang-format off
const PyType_Slot number_slots[] = {
    {Py_nb_add, reinterpret_cast<void*>(binary_sign<0>)},
    {Py_nb_subtract, reinterpret_cast<void*>(binary_sign<1>)},
    {Py_nb_multiply, reinterpret_cast<void*>(binary_sign<2>)},
    {Py_nb_true_divide, reinterpret_cast<void*>(binary_sign<3>)},
    {Py_nb_floor_divide, reinterpret_cast<void*>(binary_sign<4>)},
    {Py_nb_remainder, reinterpret_cast<void*>(binary_sign<5>)},
    {Py_nb_power, reinterpret_cast<void*>(power_sign<6>)},
    {Py_nb_and, reinterpret_cast<void*>(binary_sign<7>)},
    {Py_nb_or, reinterpret_cast<void*>(binary_sign<8>)},
    {Py_nb_xor, reinterpret_cast<void*>(binary_sign<9>)},
    {Py_nb_lshift, reinterpret_cast<void*>(binary_sign<10>)},
    {Py_nb_rshift, reinterpret_cast<void*>(binary_sign<11>)},
    // Not `+=`, which is a method: Python would take a slot of a base class for the `+=` of sequences, too, and that may
    // not answer NotImplemented.
    {Py_nb_inplace_subtract, reinterpret_cast<void*>(writing_sign<1>)},
    {Py_nb_inplace_multiply, reinterpret_cast<void*>(writing_sign<2>)},
    {Py_nb_inplace_true_divide, reinterpret_cast<void*>(writing_sign<3>)},
    {Py_nb_inplace_floor_divide, reinterpret_cast<void*>(writing_sign<4>)},
    {Py_nb_inplace_remainder, reinterpret_cast<void*>(writing_sign<5>)},
    {Py_nb_inplace_power, reinterpret_cast<void*>(writing_power_sign<6>)},
    {Py_nb_inplace_and, reinterpret_cast<void*>(writing_sign<7>)},
    {Py_nb_inplace_or, reinterpret_cast<void*>(writing_sign<8>)},
    {Py_nb_inplace_xor, reinterpret_cast<void*>(writing_sign<9>)},
    {Py_nb_matrix_multiply, reinterpret_cast<void*>(binary_sign<12>)},
    {Py_nb_negative, reinterpret_cast<void*>(unary_sign<13>)},
    {Py_nb_absolute, reinterpret_cast<void*>(unary_sign<14>)},
    {Py_nb_invert, reinterpret_cast<void*>(unary_sign<15>)},
};
// clang-format on
const size_t number_slot_count = sizeof(number_slots) / sizeof(number_slots[0]);

bool load_signs() {
  Ref module(PyImport_ImportModule("generated.methods"));
  if (!module) return false;
  Ref methods(PyObject_GetAttrString(module.get(), "METHODS"));
  if (!methods) return false;
  for (size_t i = 0; i < kCount; ++i) {
    const std::string name = kNames[i];
    load(forward[i], "__" + name + "__", methods.get());
    load(reflected[i], "__r" + name + "__", methods.get());
    if (i < kWriting) load(writing[i], "__i" + name + "__", methods.get());
  }
  return true;
}

}  // namespace gradwright
