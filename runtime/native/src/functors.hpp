// What each element-wise kernel computes.

#pragma once

#include "loops.hpp"

#include <bit>
#include <cmath>

namespace gradwright {

// What may be computed for nothing stands before a choice and not in it: inside, compilers keep the branch, for the sake of
// floating-point exceptions, and the loop is not vectorised.

// -- kernels by the names that they have in runtime/kernels, or in runtime/helpers; the generator reads names and operands
//
// Of those that are functions of NumPy only these are here that loops of ours are made of, or that have such a loop, too:
// the generator writes the others.

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
struct expm1 {
  static inline Ufunc ufunc{"expm1", 1, takes::kFloatsAndComplex};
};
struct log {
  static inline Ufunc ufunc{"log", 1, takes::kFloatsAndComplex};
};
struct log1p {
  static inline Ufunc ufunc{"log1p", 1, takes::kFloats};
};
struct logaddexp {
  static inline Ufunc ufunc{"logaddexp", 2, takes::kFloats};
};
struct sqrt {
  static inline Ufunc ufunc{"sqrt", 1, takes::kFloatsAndComplex};
};
struct rsqrt {
  template <class T>
  static T apply(T a) { return T(1) / std::sqrt(a); }
};
struct tanh {
  static inline Ufunc ufunc{"tanh", 1, takes::kFloatsAndComplex};
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

// Operands: a bool, and two of one element type.
struct where {
  static constexpr int operands = 3;
  GRADWRIGHT_SHARED static const Loop* loop(const int* types);
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

}  // namespace gradwright
