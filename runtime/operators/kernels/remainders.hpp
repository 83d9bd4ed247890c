// Remainders and whole quotients of real numbers, as NumPy has them, without a call for each element.
//
// A quotient that a float can hold to the last place, cut to a whole number, is the right one or one too large, as rounding
// keeps the order; then quotient * divisor is subtracted exactly, and one divisor added where it was one too large. Quotients
// of more digits are left to std::fmod, element by element.

#pragma once

#include "functors.hpp"

namespace gradwright {

namespace detail {

// Float32 in double, where products of two of its numbers are exact; double needs a product and a sum in one step.
template <class T, class A>
inline constexpr bool kExactProducts = std::is_same_v<T, float> || std::is_same_v<A, Joined>;
template <class T>
inline constexpr double kMostQuotient = std::is_same_v<T, float> ? 0x1p29 : 0x1p53;

template <class T, class A>
GRADWRIGHT_INLINE T near_remainder(T a, T b) {
  const double size = std::fabs(a), divisor = std::fabs(b);
  const double rest = A::multiply_add(-std::trunc(size / divisor), divisor, size);
  const double raised = rest + divisor, right = rest < 0 ? raised : rest;
  return std::copysign(static_cast<T>(size < divisor ? size : right), a);
}

// Where near_remainder() is wrong, and where a result is NaN.
template <class T>
GRADWRIGHT_INLINE bool has_far_quotient(T a, T b) {
  return !(std::fabs(static_cast<double>(a) / b) < kMostQuotient<T>);
}

// out = after(fmod(a, b), a, b)
template <class T, class A, class After>
GRADWRIGHT_INLINE void remainders(const T* a, const T* b, T* out, npy_intp size, const After& after) {
  if constexpr (!kExactProducts<T, A>) {
    for (npy_intp i = 0; i < size; ++i) out[i] = after(std::fmod(a[i], b[i]), a[i], b[i]);
  } else {
    int far = 0;
    GRADWRIGHT_INDEPENDENT
    for (npy_intp i = 0; i < size; ++i) {
      out[i] = after(near_remainder<T, A>(a[i], b[i]), a[i], b[i]);
      far |= has_far_quotient(a[i], b[i]);
    }
    if (!far) return;
    for (npy_intp i = 0; i < size; ++i) {
      if (has_far_quotient(a[i], b[i])) out[i] = after(std::fmod(a[i], b[i]), a[i], b[i]);
    }
  }
}

}  // namespace detail

namespace kernels {

// The sign of the dividend.
struct fmod {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* a, const T* b, T* out, npy_intp size) {
    detail::remainders<T, A>(a, b, out, size, [](T rest, T, T) { return rest; });
  }
};
GRADWRIGHT_KERNEL(fmod, 2, blocks, vectors)

// The sign of the divisor.
struct remainder {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* a, const T* b, T* out, npy_intp size) {
    detail::remainders<T, A>(a, b, out, size, [](T rest, T, T divisor) {
      const T moved = rest + divisor, zero = std::copysign(rest, divisor);
      const T other = (rest < 0) != (divisor < 0) ? moved : rest;
      return rest == 0 && divisor != 0 ? zero : other;
    });
  }
};
GRADWRIGHT_KERNEL(remainder, 2, blocks, vectors)

// The quotient of what the remainder leaves, as a whole number.
struct floor_divide {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* a, const T* b, T* out, npy_intp size) {
    detail::remainders<T, A>(a, b, out, size, [](T rest, T dividend, T divisor) {
      const T plain = dividend / divisor, exact = (dividend - rest) / divisor, lower = exact - 1;
      const bool turned = (rest < 0) != (divisor < 0);
      const T quotient = rest == 0 ? exact : turned ? lower : exact;
      const T below = std::floor(quotient), above = below + 1, zero = std::copysign(T(0), plain);
      const T whole = quotient - below > T(0.5) ? above : below;
      const T nearest = quotient == 0 ? zero : whole;
      return divisor == 0 ? plain : nearest;
    });
  }
};
GRADWRIGHT_KERNEL(floor_divide, 2, blocks, vectors)

}  // namespace kernels

}  // namespace gradwright
