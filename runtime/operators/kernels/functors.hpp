// What each element-wise kernel computes.

#pragma once

#include "loops.hpp"
#include "vectors.hpp"

#include <cmath>

namespace gradwright {

// What may be computed for nothing stands before a choice and not in it: inside, compilers may keep the branch, and the loop
// is not vectorised.

// -- kernels by the names that they have in runtime/operators/kernels; those without a row are parts of other kernels
//
// Of those that are functions of NumPy only these are here that loops of ours are made of, or that have such a loop, too:
// the generator writes the others.

namespace kernels {

struct add {
  template <class T>
  static T apply(T a, T b) { return a + b; }
  static inline Ufunc ufunc{"add", 2};
};
GRADWRIGHT_KERNEL(add, 2, elements, ufunc, also_complex)
using plus = add;
struct sub {
  template <class T>
  static T apply(T a, T b) { return a - b; }
  static inline Ufunc ufunc{"subtract", 2};
};
GRADWRIGHT_KERNEL(sub, 2, elements, ufunc, also_complex)
struct rsub {
  template <class T>
  static T apply(T a, T b) { return b - a; }
};
GRADWRIGHT_KERNEL(rsub, 2, elements, also_complex)
struct mul {
  template <class T>
  static T apply(T a, T b) { return a * b; }
  static inline Ufunc ufunc{"multiply", 2};
};
GRADWRIGHT_KERNEL(mul, 2, elements, ufunc, also_complex)
struct div {
  template <class T>
  static T apply(T a, T b) { return a / b; }
  static inline Ufunc ufunc{"true_divide", 2, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(div, 2, elements, ufunc_complex, also_complex)
struct neg {
  template <class T>
  static T apply(T a) { return -a; }
  static inline Ufunc ufunc{"negative", 1};
};
GRADWRIGHT_KERNEL(neg, 1, elements, ufunc, also_complex)
struct reciprocal {
  template <class T>
  static T apply(T a) { return reciprocal_of(a); }
  static inline Ufunc ufunc{"reciprocal", 1, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(reciprocal, 1, elements, ufunc_complex, also_complex)
struct square {
  static constexpr bool for_complex = true;
  template <class T>
  static T apply(T a) { return a * a; }
  static inline Ufunc ufunc{"square", 1, takes::kNumbers};
};
struct cube {
  template <class T>
  static T apply(T a) { return a * a * a; }
};

// NaN wins, and of equal ones (zeros of two signs) the second, as in NumPy's. Each choice is one of two operands, none has
// another condition behind it: of `a > b || a != a` the compiler makes branches where the result is compared again.
struct maximum {
  template <class T>
  static T apply(T a, T b) { return !(a <= b) ? (b != b ? b : a) : b; }
  static inline Ufunc ufunc{"maximum", 2, takes::kReal};
};
GRADWRIGHT_KERNEL(maximum, 2, elements, ufunc)
struct minimum {
  template <class T>
  static T apply(T a, T b) { return !(a >= b) ? (b != b ? b : a) : b; }
  static inline Ufunc ufunc{"minimum", 2, takes::kReal};
};
GRADWRIGHT_KERNEL(minimum, 2, elements, ufunc)

// The loops of NumPy for float are made of vectors on most processors, and those for double on few.
struct exp {
  template <class T, class A = Baseline>
  static T apply(T a) { return vectors::exp<A>(a); }
  static inline Ufunc ufunc{"exp", 1, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(exp, 1, elements, vectors, ufunc_complex)
struct expm1 {
  template <class T, class A = Baseline>
  static T apply(T a) { return vectors::expm1<A>(a); }
  static inline Ufunc ufunc{"expm1", 1, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(expm1, 1, elements, vectors, ufunc_complex)
struct log {
  template <class T, class A = Baseline>
  static T apply(T a) { return vectors::log<A>(a); }
  static inline Ufunc ufunc{"log", 1, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(log, 1, elements, vectors, ufunc_complex, only_float64)
struct log1p {
  template <class T, class A = Baseline>
  static T apply(T a) { return vectors::log1p<A>(a); }
  static inline Ufunc ufunc{"log1p", 1, takes::kFloats};
};
GRADWRIGHT_KERNEL(log1p, 1, elements, vectors, ufunc)
struct logaddexp {
  template <class T, class A = Baseline>
  static T apply(T a, T b) {
    const T more = maximum::apply(a, b) + vectors::log_of_smooth_step<A>(a - b), twice = a + T(0.69314718055994531);
    return a == b ? twice : more;  // the difference of equal infinities is no number
  }
  static inline Ufunc ufunc{"logaddexp", 2, takes::kFloats};
};
GRADWRIGHT_KERNEL(logaddexp, 2, elements, vectors, ufunc)
struct logaddexp2 {
  template <class T, class A = Baseline>
  static T apply(T a, T b) {
    const T part = vectors::exp2_of_negative<A>(-std::fabs(a - b));
    const T more = maximum::apply(a, b) + vectors::log1p_of_part<A>(part) * T(1.4426950408889634), twice = a + T(1);
    return a == b ? twice : more;
  }
  static inline Ufunc ufunc{"logaddexp2", 2, takes::kFloats};
};
GRADWRIGHT_KERNEL(logaddexp2, 2, elements, vectors, ufunc)
struct sqrt {
  static inline Ufunc ufunc{"sqrt", 1, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(sqrt, 1, ufunc_complex)
struct rsqrt {
  template <class T>
  static T apply(T a) { return T(1) / std::sqrt(a); }
};
GRADWRIGHT_KERNEL(rsqrt, 1, elements)
struct tanh {
  static inline Ufunc ufunc{"tanh", 1, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(tanh, 1, ufunc_complex)
struct sin {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) out[i] = vectors::sin<A>(x[i]);
    vectors::turn_far_ones(x, out, size, [](T a) { return std::sin(a); });
  }
  static inline Ufunc ufunc{"sin", 1, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(sin, 1, blocks, vectors, ufunc_complex, only_float64)
struct cos {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) out[i] = vectors::cos<A>(x[i]);
    vectors::turn_far_ones(x, out, size, [](T a) { return std::cos(a); });
  }
  static inline Ufunc ufunc{"cos", 1, takes::kFloatsAndComplex};
};
GRADWRIGHT_KERNEL(cos, 1, blocks, vectors, ufunc_complex, only_float64)
struct floor {
  static inline Ufunc ufunc{"floor", 1, takes::kFloats};
};
GRADWRIGHT_KERNEL(floor, 1, ufunc)
struct ceil {
  static inline Ufunc ufunc{"ceil", 1, takes::kFloats};
};
GRADWRIGHT_KERNEL(ceil, 1, ufunc)
struct trunc {
  static inline Ufunc ufunc{"trunc", 1, takes::kFloats};
};
GRADWRIGHT_KERNEL(trunc, 1, ufunc)
struct round_half_even {
  static inline Ufunc ufunc{"rint", 1, takes::kFloats};
};
GRADWRIGHT_KERNEL(round_half_even, 1, ufunc)
struct power {
  static inline Ufunc ufunc{"power", 2, takes::kFloats};
};

// Squares of single precision are exact in double precision, and never too large. Those of double precision may be too large
// or too small, so such operands are multiplied by a power of two first.
struct hypot {
  template <class T>
  static T apply(T a, T b) {
    const double x = std::fabs(a), y = std::fabs(b);
    double size;
    if constexpr (std::is_same_v<T, float>) {
      size = std::sqrt(x * x + y * y);
    } else {
      const double most = x > y ? x : y, up = most < 0x1p-400 ? 0x1p600 : 1, scale = most > 0x1p500 ? 0x1p-600 : up;
      const double scaled_x = x * scale, scaled_y = y * scale, back = scale > 1 ? 0x1p-600 : 1;
      size = std::sqrt(scaled_x * scaled_x + scaled_y * scaled_y) * (scale < 1 ? 0x1p600 : back);
    }
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double some = x == infinity ? infinity : size;
    return static_cast<T>(y == infinity ? infinity : some);  // beside NaN, too
  }
  static inline Ufunc ufunc{"hypot", 2, takes::kFloats};
};
GRADWRIGHT_KERNEL(hypot, 2, elements, ufunc)
struct copysign {
  template <class T>
  static T apply(T a, T b) { return std::copysign(a, b); }
  static inline Ufunc ufunc{"copysign", 2, takes::kFloats};
};
GRADWRIGHT_KERNEL(copysign, 2, elements, ufunc)
// Numbers of one sign are in the order of their bits.
struct nextafter {
  template <class T>
  static T apply(T a, T b) {
    using Bits = vectors::BitsOf<T>;
    const Bits bits = std::bit_cast<Bits>(a);
    const bool out = (b > a) == (a > T(0));  // away from 0
    const T moved = std::bit_cast<T>(bits + (out ? Bits{1} : ~Bits{0}));
    const T smallest = std::copysign(std::numeric_limits<T>::denorm_min(), b), next = a == T(0) ? smallest : moved;
    const T some = a == b ? b : next, sum = a + b;
    return a != a || b != b ? sum : some;
  }
};
GRADWRIGHT_KERNEL(nextafter, 2, elements)

struct conjugate {
  template <class T>
  static T apply(T a) { return conjugate_of(a); }
  static inline Ufunc ufunc{"conjugate", 1, takes::kNumbers};
};
GRADWRIGHT_KERNEL(conjugate, 1, elements, ufunc, also_complex)
struct magnitude {
  template <class T>
  static T apply(T a) { return magnitude_of(a); }
  static inline Ufunc ufunc{"absolute", 1};
};
GRADWRIGHT_KERNEL(magnitude, 1, elements, ufunc, also_complex)
struct sgn {
  template <class T>
  static T apply(T a) { return T(a > T(0)) - T(a < T(0)); }
};
GRADWRIGHT_KERNEL(sgn, 1, elements)
struct sign : sgn {};
GRADWRIGHT_KERNEL(sign, 1, elements)

// Within a function of elements their results are numbers of its type.
struct lt {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a, T b) { return a < b ? T(1) : T(0); }
  static inline Ufunc ufunc{"less", 2, takes::kReal};
};
GRADWRIGHT_KERNEL(lt, 2, choice, ufunc, bools)
struct le {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a, T b) { return a <= b ? T(1) : T(0); }
  static inline Ufunc ufunc{"less_equal", 2, takes::kReal};
};
GRADWRIGHT_KERNEL(le, 2, choice, ufunc, bools)
struct gt {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a, T b) { return a > b ? T(1) : T(0); }
  static inline Ufunc ufunc{"greater", 2, takes::kReal};
};
GRADWRIGHT_KERNEL(gt, 2, choice, ufunc, bools)
struct ge {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a, T b) { return a >= b ? T(1) : T(0); }
  static inline Ufunc ufunc{"greater_equal", 2, takes::kReal};
};
GRADWRIGHT_KERNEL(ge, 2, choice, ufunc, bools)

struct eq {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a, T b) { return a == b ? T(1) : T(0); }
  static inline Ufunc ufunc{"equal", 2};
};
GRADWRIGHT_KERNEL(eq, 2, choice, ufunc, bools, also_complex)
struct ne {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a, T b) { return a != b ? T(1) : T(0); }
  static inline Ufunc ufunc{"not_equal", 2};
};
GRADWRIGHT_KERNEL(ne, 2, choice, ufunc, bools, also_complex)
struct isnan {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a) { return a != a ? T(1) : T(0); }
  static inline Ufunc ufunc{"isnan", 1};
};
GRADWRIGHT_KERNEL(isnan, 1, choice, ufunc, bools, also_complex)
struct logical_and {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a, T b) { return a != T(0) && b != T(0) ? T(1) : T(0); }
  static inline Ufunc ufunc{"logical_and", 2};
};
GRADWRIGHT_KERNEL(logical_and, 2, choice, ufunc, bools)
struct logical_or {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a, T b) { return a != T(0) || b != T(0) ? T(1) : T(0); }
  static inline Ufunc ufunc{"logical_or", 2};
};
GRADWRIGHT_KERNEL(logical_or, 2, choice, ufunc, bools)
struct logical_not {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T a) { return a == T(0) ? T(1) : T(0); }
  static inline Ufunc ufunc{"logical_not", 1};
};
GRADWRIGHT_KERNEL(logical_not, 1, choice, ufunc, bools)

// Operands: a bool, and two of one element type.
struct where {
  template <class T>
  static GRADWRIGHT_INLINE T choose(T condition, T a, T b) { return condition != T(0) ? a : b; }
  GRADWRIGHT_SHARED static const Loop* loop(const int* types);
};
GRADWRIGHT_KERNEL(where, 3, choice, also_complex)

struct clamp_min : maximum {};
GRADWRIGHT_KERNEL(clamp_min, 2, elements, ufunc)
struct clamp_max : minimum {};
GRADWRIGHT_KERNEL(clamp_max, 2, elements, ufunc)
struct fmax {
  static inline Ufunc ufunc{"fmax", 2, takes::kReal};
};
GRADWRIGHT_KERNEL(fmax, 2, ufunc)
struct fmin {
  static inline Ufunc ufunc{"fmin", 2, takes::kReal};
};
GRADWRIGHT_KERNEL(fmin, 2, ufunc)
// Operands: x, the lowest and the highest value.
struct hardtanh {
  static constexpr int kLeading = 1;
  template <class T>
  static T apply(T a, T low, T high) { return minimum::apply(maximum::apply(a, low), high); }
};
GRADWRIGHT_KERNEL(hardtanh, 3, elements)

struct relu {
  template <class T>
  static T apply(T a) { return maximum::apply(a, T(0)); }
};
GRADWRIGHT_KERNEL(relu, 1, elements)

struct sigmoid {
  template <class T, class A = Baseline>
  static T apply(T a) { return T(1) / vectors::one_plus_exp<A>(-a); }
};
GRADWRIGHT_KERNEL(sigmoid, 1, elements, vectors)
struct silu {
  template <class T, class A = Baseline>
  static T apply(T a) { return a / vectors::one_plus_exp<A>(-a); }
};
GRADWRIGHT_KERNEL(silu, 1, elements, vectors)
struct log_sigmoid {
  template <class T, class A = Baseline>
  static T apply(T a) { return minimum::apply(a, T(0)) - vectors::log_of_smooth_step<A>(a); }
};
GRADWRIGHT_KERNEL(log_sigmoid, 1, elements, vectors)
struct softplus {
  static constexpr int kLeading = 1;
  template <class T, class A = Baseline>
  static T apply(T a, T beta, T threshold) {
    const T scaled = a * beta, smooth = (maximum::apply(scaled, T(0)) + vectors::log_of_smooth_step<A>(scaled)) / beta;
    return scaled > threshold ? a : smooth;
  }
};
GRADWRIGHT_KERNEL(softplus, 3, elements, vectors)
// With e = exp(x): x * tanh(log(1 + e)) = x * n / (n + 2), n = e * (e + 2); in double precision, so that nothing is lost.
struct mish {
  template <class T, class A = Baseline>
  static T apply(T a) {
    const double e = vectors::exp<A, double, float>(a > T(40) ? T(40) : a), n = e * (e + 2);
    return static_cast<T>(a * (n / (n + 2)));
  }
};
GRADWRIGHT_KERNEL(mish, 1, elements, vectors, only_float32)
struct mish_backward {
  template <class T, class A = Baseline>
  static T apply(T grad, T a) {
    // With t for the tangent, (1 - t^2) * sigmoid(x) = 4 e (1 + e) / (n + 2)^2.
    const double e = vectors::exp<A, double, float>(a > T(40) ? T(40) : a), n = e * (e + 2), below = 1 / (n + 2);
    const double bend = a > T(40) ? a - a : a * (4 * e * (e + 1)) * (below * below);
    return static_cast<T>(grad * (n * below + bend));
  }
};
GRADWRIGHT_KERNEL(mish_backward, 2, elements, vectors, only_float32)


struct erf {
  template <class T, class A = Baseline>
  static T apply(T a) { return vectors::erf<A>(a); }
};
GRADWRIGHT_KERNEL(erf, 1, elements, vectors)
struct erfinv {
  // Few numbers lie far out, so they are looked for in parts of a block, and such a part is computed as a whole.
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, T* out, npy_intp size) {
    for (npy_intp i = 0; i < size; ++i) out[i] = vectors::erfinv_near<A>(x[i]);
    constexpr npy_intp kPart = 32;
    for (npy_intp start = 0; start < size; start += kPart) {
      const npy_intp end = std::min(start + kPart, size);
      if (!vectors::has_beyond(x + start, end - start, vectors::kMostNear)) continue;
      for (npy_intp i = start; i < end; ++i) {
        const T far = vectors::erfinv_far<A>(x[i]);
        out[i] = std::fabs(x[i]) > vectors::kMostNear ? far : out[i];
      }
    }
  }
};
GRADWRIGHT_KERNEL(erfinv, 1, blocks, vectors, only_float32)
struct gelu_by_erf {
  static constexpr bool only_float = true;
  template <class T, class A = Baseline>
  static T apply(T x) { return x * vectors::normal_distribution<A>(x); }
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
  template <class T, class A = Baseline>
  static T apply(T grad, T x) {
    return grad * (vectors::normal_distribution<A>(x) + x * vectors::normal_density<A>(x));
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
