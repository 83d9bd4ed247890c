// Orthogonal polynomials, as runtime/operators/kernels/polynomials.py has them: by their recurrences in double precision, for some
// elements at a time, whose orders may differ.

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "loops.hpp"

namespace gradwright {

namespace detail {

constexpr npy_intp kPolynomials = 64;  // that are computed side by side
constexpr double kMostHermite = 512;   // above, each value has overflowed
constexpr int kNanAfter = 64;          // steps, after which it is looked whether anything but NaN is left

// A whole number: the order rounded towards 0, and -1 for what is none.
GRADWRIGHT_INLINE double order_of(double n) {
  const double whole = std::trunc(n);
  return std::fabs(n) < 0x1p63 ? whole : -1;
}

GRADWRIGHT_INLINE double sign_of_order(double n) { return 1 - 2 * std::fmod(n, 2); }

// p(n) from p(0) = 1 and p(1) = `last`; `step(k, x, last, before)` is p(k + 1).
template <class Step>
GRADWRIGHT_INLINE void by_recurrence(const double* x, const double* n, double* last, double* result, npy_intp count,
                                     const Step& step) {
  double before[kPolynomials], most = 1;
  for (npy_intp i = 0; i < count; ++i) {
    before[i] = 1;
    const double low = n[i] < 0 ? 0 : 1;
    result[i] = n[i] < 1 ? low : last[i];
    most = n[i] > most ? n[i] : most;
  }
  for (double k = 1; k < most; ++k) {
    int numbers = 0;
    for (npy_intp i = 0; i < count; ++i) {
      const double next = step(k, x[i], last[i], before[i]);
      before[i] = last[i];
      last[i] = next;
      result[i] = n[i] > k ? next : result[i];
      numbers += next == next ? 1 : 0;
    }
    if (numbers == 0 && std::fmod(k, kNanAfter) == 0) break;
  }
}

// One of the four kinds of Chebyshev's polynomials, which differ in p(1) and in their formula for the cosine of an angle.
template <class Kind, bool shifted, class T>
GRADWRIGHT_INLINE void chebyshev(const T* places, const T* orders, T* out, npy_intp size) {
  // Before the formula with an angle is better: where the result is of double precision, and where what the recurrence loses
  // does not show.
  constexpr double most = std::is_same_v<T, double> ? 6 : 64;
  double twice[kPolynomials], n[kPolynomials], last[kPolynomials], result[kPolynomials];
  for (npy_intp from = 0; from < size; from += kPolynomials) {
    const npy_intp count = std::min(kPolynomials, size - from);
    int angles = 0;
    for (npy_intp i = 0; i < count; ++i) {
      const double given = places[from + i], x = shifted ? 2 * given - 1 : given, order = order_of(orders[from + i]);
      const bool by_angle = order > most && std::fabs(x) <= 1;
      twice[i] = 2 * x;
      last[i] = Kind::first(x);
      n[i] = by_angle ? 0 : order;
      angles += by_angle ? 1 : 0;
    }
    by_recurrence(twice, n, last, result, count,
                  [](double, double twofold, double one, double before) { return twofold * one - before; });
    for (npy_intp i = 0; i < count; ++i) out[from + i] = static_cast<T>(result[i]);
    if (angles == 0) continue;
    for (npy_intp i = 0; i < count; ++i) {
      const double x = twice[i] / 2, order = order_of(orders[from + i]);
      if (order > most && std::fabs(x) <= 1) out[from + i] = static_cast<T>(Kind::of_angle(std::acos(x), order));
    }
  }
}

// The other polynomials; `at(x)` is what the steps get, `first` p(1) of that.
template <class T, class At, class First, class Step>
GRADWRIGHT_INLINE void polynomials(const T* places, const T* orders, T* out, npy_intp size, double most, const At& at,
                                   const First& first, const Step& step) {
  double x[kPolynomials], n[kPolynomials], last[kPolynomials], result[kPolynomials];
  for (npy_intp from = 0; from < size; from += kPolynomials) {
    const npy_intp count = std::min(kPolynomials, size - from);
    for (npy_intp i = 0; i < count; ++i) {
      const double order = order_of(orders[from + i]);
      n[i] = order > most ? 0 : order;
      x[i] = at(places[from + i]);
      last[i] = first(x[i]);
    }
    by_recurrence(x, n, last, result, count, step);
    for (npy_intp i = 0; i < count; ++i) {
      const bool high = order_of(orders[from + i]) > most;
      out[from + i] = static_cast<T>(high ? std::numeric_limits<double>::quiet_NaN() : result[i]);
    }
  }
}

template <class T>
GRADWRIGHT_INLINE void hermite(const T* places, const T* orders, T* out, npy_intp size, double factor) {
  polynomials(
      places, orders, out, size, kMostHermite, [factor](double x) { return factor * x; }, [](double x) { return x; },
      [factor](double k, double x, double last, double before) { return x * last - before * (factor * k); });
}

constexpr double kHalfTurn = 3.14159265358979324;

struct ChebyshevT {
  static GRADWRIGHT_INLINE double first(double x) { return x; }
  static GRADWRIGHT_INLINE double of_angle(double angle, double n) {
    return angle == kHalfTurn ? sign_of_order(n) : std::cos(n * angle);
  }
};
struct ChebyshevU {
  static GRADWRIGHT_INLINE double first(double x) { return 2 * x; }
  static GRADWRIGHT_INLINE double of_angle(double angle, double n) {
    if (angle == 0 || angle == kHalfTurn) return (angle == 0 ? 1 : sign_of_order(n)) * (n + 1);
    return std::sin((n + 1) * angle) / std::sin(angle);
  }
};
struct ChebyshevV {
  static GRADWRIGHT_INLINE double first(double x) { return 2 * x - 1; }
  static GRADWRIGHT_INLINE double of_angle(double angle, double n) {
    if (angle == kHalfTurn) return sign_of_order(n) * (2 * n + 1);
    return std::cos((n + 0.5) * angle) / std::cos(angle / 2);
  }
};
struct ChebyshevW {
  static GRADWRIGHT_INLINE double first(double x) { return 2 * x + 1; }
  static GRADWRIGHT_INLINE double of_angle(double angle, double n) {
    if (angle == 0) return 2 * n + 1;
    return angle == kHalfTurn ? sign_of_order(n) : std::sin((n + 0.5) * angle) / std::sin(angle / 2);
  }
};

}  // namespace detail

namespace kernels {

struct special_chebyshev_polynomial_t {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::chebyshev<detail::ChebyshevT, false>(x, n, out, size);
  }
};
GRADWRIGHT_KERNEL(special_chebyshev_polynomial_t, 2, blocks, vectors)
struct special_chebyshev_polynomial_u {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::chebyshev<detail::ChebyshevU, false>(x, n, out, size);
  }
};
GRADWRIGHT_KERNEL(special_chebyshev_polynomial_u, 2, blocks, vectors)
struct special_chebyshev_polynomial_v {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::chebyshev<detail::ChebyshevV, false>(x, n, out, size);
  }
};
GRADWRIGHT_KERNEL(special_chebyshev_polynomial_v, 2, blocks, vectors)
struct special_chebyshev_polynomial_w {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::chebyshev<detail::ChebyshevW, false>(x, n, out, size);
  }
};
GRADWRIGHT_KERNEL(special_chebyshev_polynomial_w, 2, blocks, vectors)
struct special_shifted_chebyshev_polynomial_t {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::chebyshev<detail::ChebyshevT, true>(x, n, out, size);
  }
};
GRADWRIGHT_KERNEL(special_shifted_chebyshev_polynomial_t, 2, blocks, vectors)
struct special_shifted_chebyshev_polynomial_u {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::chebyshev<detail::ChebyshevU, true>(x, n, out, size);
  }
};
GRADWRIGHT_KERNEL(special_shifted_chebyshev_polynomial_u, 2, blocks, vectors)
struct special_shifted_chebyshev_polynomial_v {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::chebyshev<detail::ChebyshevV, true>(x, n, out, size);
  }
};
GRADWRIGHT_KERNEL(special_shifted_chebyshev_polynomial_v, 2, blocks, vectors)
struct special_shifted_chebyshev_polynomial_w {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::chebyshev<detail::ChebyshevW, true>(x, n, out, size);
  }
};
GRADWRIGHT_KERNEL(special_shifted_chebyshev_polynomial_w, 2, blocks, vectors)
struct special_hermite_polynomial_h {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::hermite(x, n, out, size, 2);
  }
};
GRADWRIGHT_KERNEL(special_hermite_polynomial_h, 2, blocks, vectors)
struct special_hermite_polynomial_he {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::hermite(x, n, out, size, 1);
  }
};
GRADWRIGHT_KERNEL(special_hermite_polynomial_he, 2, blocks, vectors)
struct special_laguerre_polynomial_l {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::polynomials(
        x, n, out, size, std::numeric_limits<double>::infinity(), [](double at) { return at; },
        [](double at) { return 1 - at; },
        [](double k, double at, double last, double before) {
          return ((2 * k + 1 - at) * last - before * k) / (k + 1);
        });
  }
};
GRADWRIGHT_KERNEL(special_laguerre_polynomial_l, 2, blocks, vectors)
struct special_legendre_polynomial_p {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* x, const T* n, T* out, npy_intp size) {
    detail::polynomials(
        x, n, out, size, std::numeric_limits<double>::infinity(), [](double at) { return at; },
        [](double at) { return at; },
        [](double k, double at, double last, double before) {
          return ((2 * k + 1) * at * last - before * k) / (k + 1);
        });
  }
};
GRADWRIGHT_KERNEL(special_legendre_polynomial_p, 2, blocks, vectors)

}  // namespace kernels

}  // namespace gradwright
