// Element-wise kernels: what each computes, and how they are called.
//
// A kernel takes Tensors and gives an array; it declines (null, no exception) whatever it has no loop for: other element
// types, arrays that are not aligned, shapes that do not broadcast. NumPy's own inner loops are called for functions that
// NumPy vectorises, so that results are NumPy's to the last bit; what is written here does the arithmetic of the Python
// kernel in the same order.

#pragma once

#include "core.hpp"
#include "loops.hpp"
#include "memory.hpp"
#include "observe.hpp"
#include "parallel.hpp"

#include <bit>
#include <cmath>
#include <initializer_list>

namespace gradwright {

// In how many operators a kernel was registered at run time in the place of the one that is here.
extern int kernels_replaced;

// What may be computed for nothing stands before a choice and not in it: inside, compilers keep the branch, for the sake of
// floating-point exceptions, and the loop is not vectorised.

// -- kernels by the names that they have in runtime/kernels, or in runtime/helpers; the generator reads names and operands

namespace kernels {

struct add {
  template <class T>
  static T apply(T a, T b) { return a + b; }
  static inline Ufunc ufunc{"add", 2};
};
using plus = add;
struct sub {
  template <class T>
  static T apply(T a, T b) { return a - b; }
  static inline Ufunc ufunc{"subtract", 2};
};
struct rsub {
  template <class T>
  static T apply(T a, T b) { return b - a; }
};
struct mul {
  template <class T>
  static T apply(T a, T b) { return a * b; }
  static inline Ufunc ufunc{"multiply", 2};
};
struct div {
  template <class T>
  static T apply(T a, T b) { return a / b; }
  static inline Ufunc ufunc{"true_divide", 2, takes::kFloatsAndComplex};
};
struct neg {
  template <class T>
  static T apply(T a) { return -a; }
  static inline Ufunc ufunc{"negative", 1};
};
struct reciprocal {
  template <class T>
  static T apply(T a) { return T(1) / a; }
  static inline Ufunc ufunc{"reciprocal", 1, takes::kFloatsAndComplex};
};
struct positive {
  static inline Ufunc ufunc{"positive", 1, takes::kNumbers};
};
struct square {
  template <class T>
  static T apply(T a) { return a * a; }
  static inline Ufunc ufunc{"square", 1, takes::kNumbers};
};
struct cube {
  template <class T>
  static T apply(T a) { return a * a * a; }
};

struct exp {
  static inline Ufunc ufunc{"exp", 1, takes::kFloatsAndComplex};
};
struct exp2 {
  static inline Ufunc ufunc{"exp2", 1, takes::kFloatsAndComplex};
};
struct expm1 {
  static inline Ufunc ufunc{"expm1", 1, takes::kFloatsAndComplex};
};
struct log {
  static inline Ufunc ufunc{"log", 1, takes::kFloatsAndComplex};
};
struct log2 {
  static inline Ufunc ufunc{"log2", 1, takes::kFloatsAndComplex};
};
struct log10 {
  static inline Ufunc ufunc{"log10", 1, takes::kFloatsAndComplex};
};
struct log1p {
  static inline Ufunc ufunc{"log1p", 1, takes::kFloats};
};
struct logaddexp {
  static inline Ufunc ufunc{"logaddexp", 2, takes::kFloats};
};
struct logaddexp2 {
  static inline Ufunc ufunc{"logaddexp2", 2, takes::kFloats};
};
struct sqrt {
  static inline Ufunc ufunc{"sqrt", 1, takes::kFloatsAndComplex};
};
struct rsqrt {
  template <class T>
  static T apply(T a) { return T(1) / std::sqrt(a); }
};
struct sin {
  static inline Ufunc ufunc{"sin", 1, takes::kFloatsAndComplex};
};
struct cos {
  static inline Ufunc ufunc{"cos", 1, takes::kFloatsAndComplex};
};
struct tan {
  static inline Ufunc ufunc{"tan", 1, takes::kFloatsAndComplex};
};
struct asin {
  static inline Ufunc ufunc{"arcsin", 1, takes::kFloatsAndComplex};
};
struct acos {
  static inline Ufunc ufunc{"arccos", 1, takes::kFloatsAndComplex};
};
struct atan {
  static inline Ufunc ufunc{"arctan", 1, takes::kFloatsAndComplex};
};
struct atan2 {
  static inline Ufunc ufunc{"arctan2", 2, takes::kFloats};
};
struct sinh {
  static inline Ufunc ufunc{"sinh", 1, takes::kFloatsAndComplex};
};
struct cosh {
  static inline Ufunc ufunc{"cosh", 1, takes::kFloatsAndComplex};
};
struct tanh {
  static inline Ufunc ufunc{"tanh", 1, takes::kFloatsAndComplex};
};
struct asinh {
  static inline Ufunc ufunc{"arcsinh", 1, takes::kFloatsAndComplex};
};
struct acosh {
  static inline Ufunc ufunc{"arccosh", 1, takes::kFloatsAndComplex};
};
struct atanh {
  static inline Ufunc ufunc{"arctanh", 1, takes::kFloatsAndComplex};
};
struct magnitude {
  static inline Ufunc ufunc{"absolute", 1};
};
struct conjugate {
  static inline Ufunc ufunc{"conjugate", 1, takes::kNumbers};
};
struct hypot {
  static inline Ufunc ufunc{"hypot", 2, takes::kFloats};
};
struct copysign {
  static inline Ufunc ufunc{"copysign", 2, takes::kFloats};
};
struct nextafter {
  static inline Ufunc ufunc{"nextafter", 2, takes::kFloats};
};
struct deg2rad {
  static inline Ufunc ufunc{"deg2rad", 1, takes::kFloats};
};
struct rad2deg {
  static inline Ufunc ufunc{"rad2deg", 1, takes::kFloats};
};
struct floor {
  static inline Ufunc ufunc{"floor", 1, takes::kFloats};
};
struct ceil {
  static inline Ufunc ufunc{"ceil", 1, takes::kFloats};
};
struct trunc {
  static inline Ufunc ufunc{"trunc", 1, takes::kFloats};
};
struct round_half_even {
  static inline Ufunc ufunc{"rint", 1, takes::kFloats};
};
struct power {
  static inline Ufunc ufunc{"power", 2, takes::kFloats};
};

struct sgn {
  template <class T>
  static T apply(T a) { return T(a > T(0)) - T(a < T(0)); }
};
struct sign : sgn {};

struct eq {
  static inline Ufunc ufunc{"equal", 2};
};
struct ne {
  static inline Ufunc ufunc{"not_equal", 2};
};
struct lt {
  static inline Ufunc ufunc{"less", 2, takes::kReal};
};
struct le {
  static inline Ufunc ufunc{"less_equal", 2, takes::kReal};
};
struct gt {
  static inline Ufunc ufunc{"greater", 2, takes::kReal};
};
struct ge {
  static inline Ufunc ufunc{"greater_equal", 2, takes::kReal};
};
struct isnan {
  static inline Ufunc ufunc{"isnan", 1};
};
struct isinf {
  static inline Ufunc ufunc{"isinf", 1};
};
struct isfinite {
  static inline Ufunc ufunc{"isfinite", 1};
};
struct logical_and {
  static inline Ufunc ufunc{"logical_and", 2};
};
struct logical_or {
  static inline Ufunc ufunc{"logical_or", 2};
};
struct logical_xor {
  static inline Ufunc ufunc{"logical_xor", 2};
};
struct logical_not {
  static inline Ufunc ufunc{"logical_not", 1};
};
struct bitwise_and {
  static inline Ufunc ufunc{"bitwise_and", 2};
};
struct bitwise_or {
  static inline Ufunc ufunc{"bitwise_or", 2};
};
struct bitwise_xor {
  static inline Ufunc ufunc{"bitwise_xor", 2};
};
struct bitwise_not {
  static inline Ufunc ufunc{"invert", 1};
};

// Operands: a bool, and two of one element type.
struct where {
  static constexpr int operands = 3;
  static const Loop* loop(const int* types);
};

// NaN wins, and of equal ones (zeros of two signs) the second, as in NumPy's.
struct maximum {
  template <class T>
  static T apply(T a, T b) { return a > b || a != a ? a : b; }
  static inline Ufunc ufunc{"maximum", 2, takes::kReal};
};
struct minimum {
  template <class T>
  static T apply(T a, T b) { return a < b || a != a ? a : b; }
  static inline Ufunc ufunc{"minimum", 2, takes::kReal};
};
struct clamp_min : maximum {};
struct clamp_max : minimum {};
struct fmax {
  static inline Ufunc ufunc{"fmax", 2, takes::kReal};
};
struct fmin {
  static inline Ufunc ufunc{"fmin", 2, takes::kReal};
};
// Operands: x, the lowest and the highest value.
struct hardtanh {
  template <class T>
  static T apply(T a, T low, T high) { return minimum::apply(maximum::apply(a, low), high); }
};

struct relu {
  template <class T>
  static T apply(T a) { return maximum::apply(a, T(0)); }
};
struct threshold {
  template <class T>
  static T apply(T a, T bound, T value) { return a <= bound ? value : a; }
};
struct threshold_backward {
  template <class T>
  static T apply(T grad, T a, T bound) { return a <= bound ? T(0) : grad; }
};
struct leaky_relu {
  template <class T>
  static T apply(T a, T slope) {
    const T below = a * slope;
    return a > T(0) ? a : below;
  }
};
struct hardsigmoid {
  template <class T>
  static T apply(T a) { return hardtanh::apply(a + T(3), T(0), T(6)) / T(6); }
};
struct hardswish {
  template <class T>
  static T apply(T a) { return hardtanh::apply(a + T(3), T(0), T(6)) * a / T(6); }
};
struct hardshrink {
  template <class T>
  static T apply(T a, T bound) { return std::fabs(a) <= bound ? T(0) : a; }
};
struct tanh_backward {
  template <class T>
  static T apply(T grad, T output) { return grad * (T(1) - output * output); }
};
struct sigmoid_backward {
  template <class T>
  static T apply(T grad, T output) { return grad * ((T(1) - output) * output); }
};

struct sigmoid {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    of(x, out, size, [](T, T gate) { return gate; });
  }
  // finish(x, sigmoid(x)), in one pass after the exponentials.
  template <class T, class Finish>
  static GRADWRIGHT_INLINE void of(const T* x, T* out, npy_intp size, Finish finish) {
    for (npy_intp i = 0; i < size; ++i) out[i] = -x[i];
    by_numpy<exp>(out, out, size);
    for (npy_intp i = 0; i < size; ++i) out[i] = finish(x[i], T(1) / (out[i] + T(1)));
  }
};
struct silu {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    sigmoid::of(x, out, size, [](T a, T gate) { return a * gate; });
  }
};
struct silu_slope {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    sigmoid::of(x, out, size, [](T a, T gate) { return gate * (a * (T(1) - gate) + T(1)); });
  }
};
struct log_sigmoid {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) out[i] = -std::fabs(x[i]);
    by_numpy<exp>(out, out, size);
    by_numpy<log1p>(out, out, size);
    for (npy_intp i = 0; i < size; ++i) out[i] = minimum::apply(x[i], T(0)) - out[i];
  }
};
struct softplus {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, const T* beta, const T* threshold, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) out[i] = x[i] * beta[i];
    by_numpy<exp>(out, out, size);
    by_numpy<log1p>(out, out, size);
    for (npy_intp i = 0; i < size; ++i) {
      const T scaled = x[i] * beta[i], smooth = out[i] / beta[i];
      out[i] = scaled > threshold[i] ? x[i] : smooth;
    }
  }
};
// x * tanh(log(1 + exp(x))), the logarithm in double precision: NumPy's for float is off by more than its logaddexp, which
// Python uses, and for double too.
struct mish {
  static constexpr bool only_float = true;
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    constexpr npy_intp kSize = kBlock<double>;
    double rest[kSize];
    for (npy_intp start = 0; start < size; start += kSize) {
      const npy_intp count = std::min(kSize, size - start);
      for (npy_intp i = 0; i < count; ++i) rest[i] = -std::fabs(x[start + i]);
      by_numpy<exp>(rest, rest, count);
      by_numpy<log1p>(rest, rest, count);
      for (npy_intp i = 0; i < count; ++i) out[start + i] = static_cast<T>(maximum::apply(x[start + i], T(0)) + rest[i]);
    }
    by_numpy<tanh>(out, out, size);
    for (npy_intp i = 0; i < size; ++i) out[i] = x[i] * out[i];
  }
};
struct mish_slope {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    T gate[kBlock<T>];
    for (npy_intp i = 0; i < size; ++i) out[i] = x[i];
    by_numpy<exp>(out, out, size);
    by_numpy<log1p>(out, out, size);
    for (npy_intp i = 0; i < size; ++i) out[i] = x[i] > T(20) ? x[i] : out[i];
    by_numpy<tanh>(out, out, size);
    sigmoid::block(x, gate, size);
    for (npy_intp i = 0; i < size; ++i) out[i] = out[i] + x[i] * gate[i] * (T(1) - out[i] * out[i]);
  }
};
struct hardswish_slope {
  template <class T>
  static T apply(T a) {
    const T line = a / T(3) + T(0.5), upper = a < T(3) ? line : T(1);
    return a <= T(-3) ? T(0) : upper;
  }
};
// Operands: x, what multiplies the result above 0 and below it, and what multiplies x below it.
struct elu_of_factors {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, const T* above, const T* below, const T* inner, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) out[i] = minimum::apply(x[i], T(0)) * inner[i];
    by_numpy<expm1>(out, out, size);
    for (npy_intp i = 0; i < size; ++i) out[i] = maximum::apply(x[i], T(0)) * above[i] + out[i] * below[i];
  }
};

struct elu_slope {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, const T* alpha, const T* scale, const T* inner, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) out[i] = minimum::apply(x[i], T(0)) * inner[i];
    by_numpy<exp>(out, out, size);
    for (npy_intp i = 0; i < size; ++i) {
      const T below = out[i] * (alpha[i] * scale[i] * inner[i]);
      out[i] = x[i] <= T(0) ? below : scale[i];
    }
  }
};

// The error function in single precision, at most one place off. Up to 0.9 it is x + x p(x^2); from there on 1 - 2^y(x), where
// y is a polynomial for the logarithm of erfc, and 2^y = 2^n 2^r with a whole number n and |r| <= 1/2. The coefficients are
// fits by reweighted least squares (Lawson's algorithm); their largest errors, relative to erf, are 1.2e-8, 1.6e-9 and
// 1.9e-9. Above 3.95 the nearest float is 1. Numbers in double precision are left to SciPy.
struct erf {
  static constexpr bool only_float = true;
  template <class T>
  static T apply(T given) {
    // Polynomials go on by two powers at a time, so that fewer steps wait for each other.
    const float x = static_cast<float>(given), size = std::fabs(x), a = size > 3.95f ? 3.95f : size, t = a * a;
    float p = (-.0006090496179f * t + .00501199337f) * (t * t) + (-.02677893387f * t + .1128214171f);
    p = p * (t * t) + (-.3761252341f * t + .128379154f);
    const float near = x + x * p;

    float y = .0002844741627f * t + (-.004408319316f * a + .03213907693f);
    y = (y * t + (-.1500942458f * a - .9190828825f)) * t + (-1.626998735f * a - .0002560633543f);
    // Adding 3 * 2^22 rounds to a whole number, which is then in the lowest bits.
    const float shifted = y + 12582912.0f, r = y - (shifted - 12582912.0f), rr = r * r;
    float power = .000153458075f * rr + (.001339993118f * r + .009618488974f);
    power = (power * rr + (.05550328777f * r + .2402264689f)) * rr + (.6931472057f * r + 1);
    const uint32_t scaled = std::bit_cast<uint32_t>(power) + (std::bit_cast<uint32_t>(shifted) << 23);
    const float far = std::copysign(1 - std::bit_cast<float>(scaled), x);
    return size >= 0.9f ? far : near;  // `near` for NaN
  }
};
struct gelu_by_erf {
  static constexpr bool only_float = true;
  template <class T>
  static T apply(T x) { return (erf::apply(x * T(kSqrtHalf)) + T(1)) * (x * T(0.5)); }
  static constexpr double kSqrtHalf = 0.70710678118654757;
  static constexpr double kSqrtTwoOverPi = 0.79788456080286541;
  static constexpr double kCubic = 0.044715;
};
struct gelu_by_tanh {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    curve(x, out, size);
    for (npy_intp i = 0; i < size; ++i) out[i] = (out[i] + T(1)) * (x[i] * T(0.5));
  }
  template <class T>
  static GRADWRIGHT_INLINE void curve(const T* x, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) {
      out[i] = (x[i] * x[i] * T(gelu_by_erf::kCubic) + T(1)) * x[i] * T(gelu_by_erf::kSqrtTwoOverPi);
    }
    by_numpy<tanh>(out, out, size);
  }
};
struct gelu_backward_by_erf {
  static constexpr bool only_float = true;
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* grad, const T* x, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) out[i] = x[i] * x[i] * T(-0.5);
    by_numpy<exp>(out, out, size);
    for (npy_intp i = 0; i < size; ++i) {
      const T below = (erf::apply(x[i] * T(gelu_by_erf::kSqrtHalf)) + T(1)) * T(0.5);
      out[i] = (below + out[i] * T(0.5 * gelu_by_erf::kSqrtTwoOverPi) * x[i]) * grad[i];
    }
  }
};
struct gelu_backward_by_tanh {
  template <class T>
  static GRADWRIGHT_INLINE void block(const T* grad, const T* x, T* out, npy_intp size) {
    gelu_by_tanh::curve(x, out, size);
    for (npy_intp i = 0; i < size; ++i) {
      const T slope = (x[i] * x[i] * T(3 * gelu_by_erf::kCubic) + T(1)) * T(gelu_by_erf::kSqrtTwoOverPi);
      const T bend = (T(1) - out[i] * out[i]) * slope * x[i];
      out[i] = (out[i] + T(1) + bend) * T(0.5) * grad[i];
    }
  }
};

}  // namespace kernels

// -- running them

// `operands` into a new array, which lies as they do; the shapes broadcast. Null without an exception where shapes do not
// fit or elements are not aligned: then NumPy decides.
struct Operand {
  PyArrayObject* array = nullptr;  // null: a number
  double number = 0;
  float single = 0;

  bool set(PyObject* object);  // a Python float or int; false, without an exception: another, or an int too large
  char* data(int type) {
    if (array != nullptr) return PyArray_BYTES(array);
    return type == NPY_FLOAT ? reinterpret_cast<char*>(&single) : reinterpret_cast<char*>(&number);
  }
};
Ref run_loop(const Loop& loop, Operand* operands, int count, int type);

// A loop over so many elements that other threads should help, or run Python meanwhile; the caller holds the arrays.
void run_large(const Loop& loop, char* const* args, int count, npy_intp size, const npy_intp* steps);

inline bool is_dense(PyArrayObject* array) { return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array); }

// Reasons to decline.
inline constexpr char kNoLoop[] = "no loop for these dtypes";
inline constexpr char kOddNumber[] = "a number that is no float and no int of up to 53 bits";
inline constexpr char kOddLayout[] = "shapes that do not broadcast, or elements that are not aligned";

namespace detail {

// NumPy's number of the element type, or -1 where it is not in native order.
inline int type_of(PyArrayObject* array) {
  return PyArray_ISNOTSWAPPED(array) ? PyArray_DESCR(array)->type_num : -1;
}

// An array for the result of `loop` on operands like `array`.
inline Ref result_like(PyArrayObject* array, const Loop& loop) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  if (loop.result == descr->type_num) {
    Py_INCREF(descr);
  } else {
    descr = PyArray_DescrFromType(loop.result);
  }
  return new_array(descr, PyArray_NDIM(array), PyArray_DIMS(array));
}

inline bool same_shape(PyArrayObject* a, PyArrayObject* b) {
  const int ndim = PyArray_NDIM(a);
  if (ndim != PyArray_NDIM(b)) return false;
  for (int i = 0; i < ndim; ++i) {
    if (PyArray_DIM(a, i) != PyArray_DIM(b, i)) return false;
  }
  return true;
}

// The result of dense operands of one shape, and of numbers.
template <int count>
Ref run_dense_loop(const Loop& loop, char* const (&operands)[count], const npy_intp (&operand_steps)[count],
                   PyArrayObject* like, PyArrayObject* other = nullptr) {
  Ref out = result_like(like, loop);
  if (!out) return out;
  auto* result = reinterpret_cast<PyArrayObject*>(out.get());
  char* args[count + 1];
  npy_intp steps[count + 1];
  for (int i = 0; i < count; ++i) {
    args[i] = operands[i];
    steps[i] = operand_steps[i];
  }
  args[count] = PyArray_BYTES(result);
  steps[count] = PyArray_ITEMSIZE(result);
  const npy_intp size = PyArray_SIZE(result);
  if (size < kGrain) {
    loop.function(args, &size, steps, loop.data);
  } else {
    const auto held = hold(like, other);
    run_large(loop, args, count + 1, size, steps);
  }
  return out;
}

}  // namespace detail

// Tensors of one element type, and after them numbers, which take that type.
template <class F, int tensors, class... Args>
Ref elementwise(Args... args) {
  PyObject* given[] = {args...};
  Operand operands[sizeof...(args)];
  const int type = detail::type_of(array_of(given[0]));
  const Loop* loop = loop_of<F>(type);
  if (loop == nullptr) return declined(kNoLoop);
  for (size_t i = 0; i < sizeof...(args); ++i) {
    if (i >= tensors) {
      if (!operands[i].set(given[i])) return declined(kOddNumber);
    } else {
      operands[i].array = array_of(given[i]);
      if (detail::type_of(operands[i].array) != type) return declined(kNoLoop);
    }
  }
  return run_loop(*loop, operands, sizeof...(args), type);
}

template <class F>
Ref unary(PyObject* tensor) {
  PyArrayObject* array = array_of(tensor);
  if (!is_dense(array)) return elementwise<F, 1>(tensor);
  const Loop* loop = loop_of<F>(PyArray_DESCR(array)->type_num);
  if (loop == nullptr) return declined(kNoLoop);
  return detail::run_dense_loop<1>(*loop, {PyArray_BYTES(array)}, {PyArray_ITEMSIZE(array)}, array);
}

template <class F>
Ref binary(PyObject* first, PyObject* second) {
  PyArrayObject *a = array_of(first), *b = array_of(second);
  if (!is_dense(a) || !is_dense(b) || !detail::same_shape(a, b)) {
    return elementwise<F, 2>(first, second);
  }
  const int type = PyArray_DESCR(a)->type_num;
  const Loop* loop = PyArray_DESCR(b)->type_num == type ? loop_of<F>(type) : nullptr;
  if (loop == nullptr) return declined(kNoLoop);
  const npy_intp item = PyArray_ITEMSIZE(a);
  return detail::run_dense_loop<2>(*loop, {PyArray_BYTES(a), PyArray_BYTES(b)}, {item, item}, a, b);
}

// The second operand is a Python int or float.
template <class F>
Ref binary_scalar(PyObject* tensor, PyObject* number) {
  PyArrayObject* array = array_of(tensor);
  if (!is_dense(array)) return elementwise<F, 1>(tensor, number);
  const int type = PyArray_DESCR(array)->type_num;
  const Loop* loop = type == NPY_FLOAT || type == NPY_DOUBLE ? loop_of<F>(type) : nullptr;
  Operand operand;
  if (loop == nullptr) return declined(kNoLoop);
  if (!operand.set(number)) return declined(kOddNumber);
  return detail::run_dense_loop<2>(*loop, {PyArray_BYTES(array), operand.data(type)}, {PyArray_ITEMSIZE(array), 0},
                                   array);
}

namespace kernels {

// Whether `alpha` is the number 1, which leaves nothing to multiply with.
inline bool is_one(PyObject* alpha) { return PyLong_CheckExact(alpha) && PyLong_AsLong(alpha) == 1; }

inline constexpr char kAlpha[] = "alpha is not 1";

// A Tensor or a number as the second operand.
template <class F>
Ref binary_any(PyObject* self, PyObject* other) {
  return PyObject_TypeCheck(other, python.tensor_type) ? binary<F>(self, other) : binary_scalar<F>(self, other);
}

inline Ref add(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<struct add>(self, other) : declined(kAlpha);
}
inline Ref sub(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<struct sub>(self, other) : declined(kAlpha);
}
inline Ref rsub(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<struct rsub>(self, other) : declined(kAlpha);
}

// What looks at its numbers, or at other arguments, before it chooses a loop; see kernels.cpp.
Ref where(PyObject* condition, PyObject* self, PyObject* other);
Ref clamp(PyObject* self, PyObject* min, PyObject* max);
Ref elu(PyObject* self, PyObject* alpha, PyObject* scale, PyObject* input_scale);
Ref gelu(PyObject* self, PyObject* approximate);
Ref gelu_backward(PyObject* grad_output, PyObject* self, PyObject* approximate);
Ref pow_tensor_scalar(PyObject* self, PyObject* exponent);

}  // namespace kernels

namespace detail {

// `out = a + b`, `out` being one of them. The arrays have one shape and element type.
inline bool add_arrays(PyArrayObject* a, PyArrayObject* b, PyArrayObject* out) {
  const int type = type_of(a);
  if (type_of(b) != type || !is_dense(a) || !is_dense(b)) return false;
  const Loop* loop = loop_of<kernels::plus>(type);
  if (loop == nullptr) return false;
  char* args[] = {PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(out)};
  const npy_intp item = PyArray_ITEMSIZE(out), size = PyArray_SIZE(out);
  const npy_intp steps[] = {item, item, item};
  if (size < kGrain) {
    loop->function(args, &size, steps, loop->data);
  } else {
    const auto held = hold(a, b);
    run_large(*loop, args, 3, size, steps);
  }
  return true;
}

}  // namespace detail

// `sum += term`, where there is a loop for it. The arrays have one shape and element type.
inline bool add_into(PyArrayObject* sum, PyArrayObject* term) { return detail::add_arrays(sum, term, sum); }
// The same with the sum in the memory of `term`.
inline bool add_into_second(PyArrayObject* sum, PyArrayObject* term) { return detail::add_arrays(sum, term, term); }

// -- formulas in one loop

// One kernel of a formula, and the slots of its operands and its result. Slots: the Tensors, then the numbers, then
// temporaries.
struct Step {
  const Loop* (*loop)(const int* types);
  int count;
  signed char operands[4];
  signed char result;
};

namespace detail {

// The generator keeps to these.
constexpr int kMostSteps = 16;
constexpr int kMostSlots = 16;
constexpr int kMostTemporaries = 6;

template <class F, int count>
const Loop* step_loop(const int* types) {
  if constexpr (requires { F::loop(types); }) {
    return F::loop(types);
  } else {
    for (int i = 1; i < count; ++i) {
      if (types[i] != types[0]) return nullptr;
    }
    return loop_of<F>(types[0]);
  }
}

Ref run_formula(const Step* steps, int count, int spent, PyObject* const* given, int tensors, int numbers);

}  // namespace detail

// Whether a plain Tensor, without history, is the caller's alone with all its memory.
inline bool is_private(PyObject* tensor) {
  PyArrayObject* array = array_of(tensor);
  return Py_REFCNT(tensor) == 1 && Py_REFCNT(array) == 1 && PyArray_BASE(array) == nullptr &&
         PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE) && as_tensor(tensor)->edge == Py_None &&
         as_tensor(tensor)->extra == Py_None;
}

template <class F, class... Slots>
constexpr Step step(int result, Slots... operands) {
  static_assert(sizeof...(operands) <= 4);
  return {detail::step_loop<F, sizeof...(operands)>,
          sizeof...(operands),
          {static_cast<signed char>(operands)...},
          static_cast<signed char>(result)};
}

// A formula over Tensors of one shape, and numbers after them; a Tensor without history, or null without an exception
// where its statements have to be run: while a graph is recorded, where dtypes differ or shapes broadcast.
//
// `spent`: the slot of the gradient, where no formula after this one reads it; else -1. Its memory then becomes the
// result's, if nobody else can read it.
template <int tensors, size_t count, class... Args>
Ref fused(const Step (&steps)[count], int spent, Args... args) {
  if (grad_enabled || unusual != 0 || kernels_replaced != 0) return Ref();
  PyObject* const given[] = {args...};
  return detail::run_formula(steps, count, spent, given, tensors, sizeof...(args) - tensors);
}

// The same of a formula of one kernel: worth it for what its statement can not do, which is to reuse large memory.
template <int tensors, class... Args>
Ref fused(const Step (&steps)[1], int spent, Args... args) {
  PyObject* const given[] = {args...};
  if (spent < 0 || !is_plain(given[spent]) || PyArray_NBYTES(array_of(given[spent])) < kLargeArray) return Ref();
  if (grad_enabled || unusual != 0 || kernels_replaced != 0 || !is_private(given[spent])) return Ref();
  return detail::run_formula(steps, 1, spent, given, tensors, sizeof...(args) - tensors);
}

}  // namespace gradwright
