// Complex numbers as loops compute with them: by the formulas of NumPy's loops, so that infinities, NaN and zeros of both
// signs come out as NumPy's. Those of C, which std::complex has, look for an infinity behind NaN, and call a function for
// each element.

#pragma once

#include <cmath>
#include <type_traits>

namespace gradwright {

// Lies in memory as NumPy's elements do.
template <class T>
struct Complex {
  T re, im;

  Complex() = default;
  constexpr Complex(T real, T imaginary = T(0)) : re(real), im(imaginary) {}

  friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend constexpr Complex operator-(Complex a) { return {-a.re, -a.im}; }
  friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // R. L. Smith, "Algorithm 116: Complex division", 1962: by the larger part, so that no square overflows. The two ways
  // are one here, with the parts in another order: a branch would be no vector.
  friend Complex operator/(Complex a, Complex b) {
    const bool real = std::fabs(b.re) >= std::fabs(b.im);
    const T large = real ? b.re : b.im, small = real ? b.im : b.re;
    const T ratio = small / large, scale = T(1) / (large + small * ratio);
    const T re = (real ? a.re : a.re * ratio) + (real ? a.im * ratio : a.im);
    const T im = (real ? a.im : a.im * ratio) - (real ? a.re * ratio : a.re);
    const T zero = std::fabs(b.re);
    const bool none = zero == T(0) && b.im == T(0);
    return {none ? a.re / zero : re * scale, none ? a.im / zero : im * scale};
  }
  friend constexpr bool operator==(Complex a, Complex b) { return (a.re == b.re) & (a.im == b.im); }
};

namespace detail {

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<Complex<T>> {
  using Type = T;
};

}  // namespace detail

// The type of the parts.
template <class T>
using Real = typename detail::RealOf<T>::Type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

// The real part of a number that is real, also where it lies in a complex one.
template <class T>
constexpr T real_part(T a) { return a; }
template <class T>
constexpr T real_part(Complex<T> a) { return a.re; }

template <class T>
constexpr T conjugate_of(T a) { return a; }
template <class T>
constexpr Complex<T> conjugate_of(Complex<T> a) { return {a.re, -a.im}; }

template <class T>
T magnitude_of(T a) { return std::fabs(a); }
template <class T>
Complex<T> magnitude_of(Complex<T> a) { return std::hypot(a.re, a.im); }

// By a real number. Once is the number itself, where a product of complex numbers makes NaN of infinity.
template <class T>
constexpr T multiple_of(T a, T factor) { return a * factor; }
template <class T>
constexpr Complex<T> multiple_of(Complex<T> a, Complex<T> factor) {
  const Complex<T> product = a * factor;
  const bool once = factor.re == T(1);
  return {once ? a.re : product.re, once ? a.im : product.im};
}

// NumPy's own formula, which is not that of 1 / a at zero and infinity.
template <class T>
constexpr T reciprocal_of(T a) { return T(1) / a; }
template <class T>
Complex<T> reciprocal_of(Complex<T> a) {
  const bool real = std::fabs(a.im) <= std::fabs(a.re);
  const T large = real ? a.re : a.im, small = real ? a.im : a.re;
  const T ratio = small / large, scale = large + small * ratio;
  return {(real ? T(1) : ratio) / scale, -(real ? ratio : T(1)) / scale};
}

}  // namespace gradwright
