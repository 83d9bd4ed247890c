// Element-wise kernels: native loops over float32 and float64, and the inner loops of NumPy's ufuncs.
//
// A kernel takes Tensors and gives an array; it declines (null, no exception) whatever it has no loop for: other
// element types, arrays that are not contiguous, shapes that differ by more than a single element. NumPy's own inner
// loops are called for functions that NumPy vectorises, so that results are NumPy's to the last bit.

#pragma once

#include "core.hpp"
#include "observe.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>

namespace gradwright {

// -- NumPy's inner loops

// The loops of one ufunc, looked up when they are first needed.
class Ufunc {
 public:
  explicit constexpr Ufunc(const char* name) : name_(name) {}
  struct Loop {
    void (*function)(char**, const npy_intp*, const npy_intp*, void*) = nullptr;
    void* data = nullptr;
  };
  // The loop for arguments and result of one element type; its function is null where there is none.
  const Loop& loop(Kind kind) {
    if (!known_) find();
    return loops_[static_cast<int>(kind)];
  }
  // Let all of them be looked up again: somebody watches, who is told of it.
  static void forget_all();

 private:
  void find();
  const char* name_;
  bool known_ = false;  // never while somebody watches
  bool found_ = false;
  Loop loops_[2] = {};
};

// -- kernels by the names that they have in runtime/kernels

namespace kernels {

struct plus {
  template <class T>
  static T apply(T a, T b) { return a + b; }
};
struct minus {
  template <class T>
  static T apply(T a, T b) { return a - b; }
};
struct minus_swapped {
  template <class T>
  static T apply(T a, T b) { return b - a; }
};
struct mul {
  template <class T>
  static T apply(T a, T b) { return a * b; }
};
struct div {
  template <class T>
  static T apply(T a, T b) { return a / b; }
};
struct neg {
  template <class T>
  static T apply(T a) { return -a; }
};
struct relu {
  template <class T>
  static T apply(T a) { return a > T(0) || a != a ? a : T(0); }
};
struct reciprocal {
  template <class T>
  static T apply(T a) { return T(1) / a; }
};
struct square {
  template <class T>
  static T apply(T a) { return a * a; }
};
struct tanh_backward {
  template <class T>
  static T apply(T grad, T output) { return grad * (T(1) - output * output); }
};
struct sigmoid_backward {
  template <class T>
  static T apply(T grad, T output) { return grad * ((T(1) - output) * output); }
};

struct exp {
  static inline Ufunc ufunc{"exp"};
};
struct exp2 {
  static inline Ufunc ufunc{"exp2"};
};
struct expm1 {
  static inline Ufunc ufunc{"expm1"};
};
struct log {
  static inline Ufunc ufunc{"log"};
};
struct log2 {
  static inline Ufunc ufunc{"log2"};
};
struct log10 {
  static inline Ufunc ufunc{"log10"};
};
struct log1p {
  static inline Ufunc ufunc{"log1p"};
};
struct sqrt {
  static inline Ufunc ufunc{"sqrt"};
};
struct sin {
  static inline Ufunc ufunc{"sin"};
};
struct cos {
  static inline Ufunc ufunc{"cos"};
};
struct tan {
  static inline Ufunc ufunc{"tan"};
};
struct asin {
  static inline Ufunc ufunc{"arcsin"};
};
struct acos {
  static inline Ufunc ufunc{"arccos"};
};
struct atan {
  static inline Ufunc ufunc{"arctan"};
};
struct atan2 {
  static inline Ufunc ufunc{"arctan2"};
};
struct sinh {
  static inline Ufunc ufunc{"sinh"};
};
struct cosh {
  static inline Ufunc ufunc{"cosh"};
};
struct tanh {
  static inline Ufunc ufunc{"tanh"};
};
struct asinh {
  static inline Ufunc ufunc{"arcsinh"};
};
struct acosh {
  static inline Ufunc ufunc{"arccosh"};
};
struct atanh {
  static inline Ufunc ufunc{"arctanh"};
};
struct abs {
  static inline Ufunc ufunc{"absolute"};
};
struct hypot {
  static inline Ufunc ufunc{"hypot"};
};
struct copysign {
  static inline Ufunc ufunc{"copysign"};
};

}  // namespace kernels

template <class F>
concept IsUfunc = requires { F::ufunc; };

// -- running them

inline Ref empty_like(PyArrayObject* array) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  Py_INCREF(descr);
  return Ref(PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(array), PyArray_DIMS(array), nullptr, nullptr, 0,
                                  nullptr));
}

inline bool is_dense(PyArrayObject* array) { return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISALIGNED(array); }

// Reasons to decline.
inline constexpr char kNoLoop[] = "no loop for this dtype";
inline constexpr char kNotDense[] = "the elements do not lie one after the other";
inline const char* why_not(Kind kind) { return kind == Kind::kNone ? kNoLoop : kNotDense; }

template <class F, class T>
void loop_unary(const T* in, T* out, npy_intp size) {
  for (npy_intp i = 0; i < size; ++i) out[i] = F::apply(in[i]);
}

// `step` 0 repeats the first element.
template <class F, class T>
void loop_binary(const T* a, npy_intp step_a, const T* b, npy_intp step_b, T* out, npy_intp size) {
  if (step_a != 0 && step_b != 0) {
    for (npy_intp i = 0; i < size; ++i) out[i] = F::apply(a[i], b[i]);
  } else if (step_a != 0) {
    const T right = *b;
    for (npy_intp i = 0; i < size; ++i) out[i] = F::apply(a[i], right);
  } else {
    const T left = *a;
    for (npy_intp i = 0; i < size; ++i) out[i] = F::apply(left, b[i]);
  }
}

template <class F>
Ref unary(PyObject* tensor) {
  PyArrayObject* array = array_of(tensor);
  const Kind kind = kind_of(array);
  if (kind == Kind::kNone || !is_dense(array)) return declined(why_not(kind));
  if constexpr (IsUfunc<F>) {
    const Ufunc::Loop& loop = F::ufunc.loop(kind);
    if (loop.function == nullptr) return declined(kNoLoop);
    Ref out = empty_like(array);
    if (!out) return out;
    auto* result = reinterpret_cast<PyArrayObject*>(out.get());
    char* args[] = {PyArray_BYTES(array), PyArray_BYTES(result)};
    const npy_intp size = PyArray_SIZE(array), item = PyArray_ITEMSIZE(array);
    const npy_intp steps[] = {item, item};
    loop.function(args, &size, steps, loop.data);
    return out;
  } else {
    Ref out = empty_like(array);
    if (!out) return out;
    void* result = PyArray_DATA(reinterpret_cast<PyArrayObject*>(out.get()));
    const npy_intp size = PyArray_SIZE(array);
    if (kind == Kind::kFloat32) {
      loop_unary<F>(static_cast<const float*>(PyArray_DATA(array)), static_cast<float*>(result), size);
    } else {
      loop_unary<F>(static_cast<const double*>(PyArray_DATA(array)), static_cast<double*>(result), size);
    }
    return out;
  }
}

// Both operands have the same shape, or one of them a single element and no more dimensions.
template <class F>
Ref binary_arrays(PyArrayObject* a, PyArrayObject* b, Kind kind) {
  PyArrayObject* like = a;
  npy_intp step_a = 1, step_b = 1;
  if (PyArray_NDIM(a) != PyArray_NDIM(b) ||
      !std::equal(PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a), PyArray_DIMS(b))) {
    if (PyArray_SIZE(b) == 1 && PyArray_NDIM(b) <= PyArray_NDIM(a)) {
      step_b = 0;
    } else if (PyArray_SIZE(a) == 1 && PyArray_NDIM(a) <= PyArray_NDIM(b)) {
      like = b;
      step_a = 0;
    } else {
      return declined("the shapes broadcast by more than a single element");
    }
  }
  if constexpr (IsUfunc<F>) {
    const Ufunc::Loop& loop = F::ufunc.loop(kind);
    if (loop.function == nullptr) return declined(kNoLoop);
    Ref out = empty_like(like);
    if (!out) return out;
    auto* result = reinterpret_cast<PyArrayObject*>(out.get());
    char* args[] = {PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(result)};
    const npy_intp size = PyArray_SIZE(like), item = PyArray_ITEMSIZE(like);
    const npy_intp steps[] = {step_a * item, step_b * item, item};
    loop.function(args, &size, steps, loop.data);
    return out;
  } else {
    Ref out = empty_like(like);
    if (!out) return out;
    void* result = PyArray_DATA(reinterpret_cast<PyArrayObject*>(out.get()));
    const npy_intp size = PyArray_SIZE(like);
    if (kind == Kind::kFloat32) {
      loop_binary<F>(static_cast<const float*>(PyArray_DATA(a)), step_a, static_cast<const float*>(PyArray_DATA(b)),
                     step_b, static_cast<float*>(result), size);
    } else {
      loop_binary<F>(static_cast<const double*>(PyArray_DATA(a)), step_a, static_cast<const double*>(PyArray_DATA(b)),
                     step_b, static_cast<double*>(result), size);
    }
    return out;
  }
}

template <class F>
Ref binary(PyObject* first, PyObject* second) {
  PyArrayObject *a = array_of(first), *b = array_of(second);
  const Kind kind = kind_of(a);
  if (kind == Kind::kNone || kind_of(b) != kind) return declined(kNoLoop);
  if (!is_dense(a) || !is_dense(b)) return declined(kNotDense);
  return binary_arrays<F>(a, b, kind);
}

// The second operand is a Python int or float, which takes the element type of the first.
template <class F>
Ref binary_scalar(PyObject* tensor, PyObject* number) {
  PyArrayObject* a = array_of(tensor);
  const Kind kind = kind_of(a);
  if (kind == Kind::kNone || !is_dense(a)) return declined(why_not(kind));
  double value;
  if (PyFloat_CheckExact(number)) {
    value = PyFloat_AS_DOUBLE(number);
  } else if (PyLong_CheckExact(number)) {
    int overflow;
    const long long whole = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0 || whole > (1ll << 53) || whole < -(1ll << 53)) {
      return declined("the number does not fit a double");
    }
    value = static_cast<double>(whole);
  } else {
    return declined("the number is neither int nor float");
  }
  Ref out = empty_like(a);
  if (!out) return out;
  void* result = PyArray_DATA(reinterpret_cast<PyArrayObject*>(out.get()));
  const npy_intp size = PyArray_SIZE(a);
  if constexpr (IsUfunc<F>) {
    const Ufunc::Loop& loop = F::ufunc.loop(kind);
    if (loop.function == nullptr) return declined(kNoLoop);
    const float single = static_cast<float>(value);
    const void* operand = kind == Kind::kFloat32 ? static_cast<const void*>(&single) : static_cast<const void*>(&value);
    char* args[] = {PyArray_BYTES(a), static_cast<char*>(const_cast<void*>(operand)), static_cast<char*>(result)};
    const npy_intp item = PyArray_ITEMSIZE(a);
    const npy_intp steps[] = {item, 0, item};
    loop.function(args, &size, steps, loop.data);
  } else if (kind == Kind::kFloat32) {
    const float operand = static_cast<float>(value);
    loop_binary<F>(static_cast<const float*>(PyArray_DATA(a)), 1, &operand, 0, static_cast<float*>(result), size);
  } else {
    loop_binary<F>(static_cast<const double*>(PyArray_DATA(a)), 1, &value, 0, static_cast<double*>(result), size);
  }
  return out;
}

namespace kernels {

inline constexpr char kScaled[] = "alpha is not 1";

// Whether `alpha` is the number 1, which leaves nothing to multiply with.
inline bool is_one(PyObject* alpha) { return PyLong_CheckExact(alpha) && PyLong_AsLong(alpha) == 1; }

// A Tensor or a number as the second operand.
template <class F>
Ref binary_any(PyObject* self, PyObject* other) {
  return PyObject_TypeCheck(other, python.tensor_type) ? binary<F>(self, other) : binary_scalar<F>(self, other);
}

inline Ref add(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<plus>(self, other) : declined(kScaled);
}
inline Ref sub(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<minus>(self, other) : declined(kScaled);
}
inline Ref rsub(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<minus_swapped>(self, other) : declined(kScaled);
}

}  // namespace kernels

namespace detail {

// `out = a + b`, `out` being one of them. The arrays have one shape and element type.
inline bool add_arrays(PyArrayObject* a, PyArrayObject* b, PyArrayObject* out) {
  const Kind kind = kind_of(a);
  if (kind == Kind::kNone || kind_of(b) != kind || !is_dense(a) || !is_dense(b)) return false;
  const npy_intp size = PyArray_SIZE(a);
  if (kind == Kind::kFloat32) {
    loop_binary<kernels::plus>(static_cast<const float*>(PyArray_DATA(a)), 1, static_cast<const float*>(PyArray_DATA(b)),
                               1, static_cast<float*>(PyArray_DATA(out)), size);
  } else {
    loop_binary<kernels::plus>(static_cast<const double*>(PyArray_DATA(a)), 1,
                               static_cast<const double*>(PyArray_DATA(b)), 1, static_cast<double*>(PyArray_DATA(out)),
                               size);
  }
  return true;
}

}  // namespace detail

// `sum += term`, where there is a loop for it. The arrays have one shape and element type.
inline bool add_into(PyArrayObject* sum, PyArrayObject* term) { return detail::add_arrays(sum, term, sum); }
// The same with the sum in the memory of `term`.
inline bool add_into_second(PyArrayObject* sum, PyArrayObject* term) { return detail::add_arrays(sum, term, term); }

}  // namespace gradwright
