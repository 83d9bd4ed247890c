// The gamma function, Bessel functions and the tails of the normal distribution, for loops over single precision: computed in
// double precision with fits that are exact enough for float, so that they are correct to the last place but for some
// roundings. Those of double precision are SciPy's, by their Python kernels. The coefficients are fits in Chebyshev's points,
// computed in 50 digits; what is used of the functions is in chapters 5, 7 and 10 of the NIST Handbook (Olver et al., 2010).

#pragma once

#include "vectors.hpp"

namespace gradwright {

namespace vectors {

constexpr double kPi = 3.14159265358979324;

// x less the nearest whole number; 0 where all numbers of single precision are whole.
GRADWRIGHT_INLINE double from_whole(double x) {
  const double rest = x - ((x + kRounding<double>)-kRounding<double>);
  return std::fabs(x) > 0x1p30 ? 0 : rest;
}

// log |Gamma(x)|. Between 2 and 3 a polynomial for its quotient by x - 2; below 5 what is there plus the logarithm of a
// product; Stirling's series beyond, and reflection for negative x.
template <class A>
GRADWRIGHT_INLINE double lgamma(double x) {
  constexpr double c[] = {0.5693657409458384,      0.2675817993988097,     -0.0448058426973846,
                          0.0108770015141976,      -0.0030951822936174096, 0.0009610979285520405,
                          -0.00031505925035239633, 0.00010710021010234954, -3.735336940027229e-05,
                          1.3275711130257407e-05,  -4.786379987514225e-06, 1.745641275403404e-06,
                          -6.421417451955873e-07,  2.353723932844072e-07,  -8.772358424774663e-08,
                          3.8720781951940836e-08,  -1.4586003484400256e-08};  // 2e-18
  constexpr double d[] = {0.0833333333333333,     -0.002777777777606244, 0.0007936506649488252,
                          -0.0005952025951802712, 0.0008372834512071336, -0.0016526004455595122};  // 5e-16 from 8 on
  constexpr double half_log_two_pi = 0.918938533204672742;
  const bool left = x < 0;
  const double t = left ? 1 - x : std::fabs(x);
  const double steps = (t < 1 ? 0.0 : 1.0) + (t < 2 ? 0.0 : 1.0) + (t < 3 ? 0.0 : 1.0) + (t < 4 ? 0.0 : 1.0);
  const double u = t - steps, near = u * polynomial<A>(c, u - 0.5);
  const double y = t < 8 ? t + 3 : t, inverse = 1 / y;
  const double far = (y - 0.5) * log<A>(y) - y + (half_log_two_pi + inverse * polynomial<A>(d, inverse * inverse));
  const double upper = t < 4 ? t - 1 : (t - 1) * (t - 2), above = t < 3 ? 1 : upper, times = t < 5 ? above : 1;
  const double lower = t < 1 ? t * (t + 1) : t, below = t < 2 ? lower : 1, shift = t < 8 ? t * (t + 1) * (t + 2) : 1;
  const double over = t < 5 ? below : shift, some = t < 5 ? near : far;
  const double sine = std::fabs(Turned<A>(kPi * from_whole(x)).sine_of(0));
  const double factor = log<A>((left ? kPi * over : times) / (left ? times * sine : over));
  const double result = left ? factor - some : factor + some;
  return std::fabs(x) > std::numeric_limits<float>::max() ? std::fabs(x) : result;
}

// Its derivative: a sum of eight inverses, and the series from 8 on.
template <class A>
GRADWRIGHT_INLINE double digamma(double x) {
  constexpr double c[] = {0.08333333333333333,  -0.008333333333278636, 0.0039682539119537084, -0.0041666448230497,
                          0.007571689620283902, -0.020697987372370493, 0.06362150587634356};  // 1e-16
  const bool left = x < 0;
  const double t = left ? 1 - x : x, y = t < 8 ? t + 8 : t, inverse = 1 / y, square = inverse * inverse;
  const double series = log<A>(y) - inverse * 0.5 - square * polynomial<A>(c, square);
  // The inverses of t + k and t + 7 - k, together, are (2 t + 7) / (w + k (7 - k)).
  const double w = t * (t + 7), first = w * (w + 6), second = (w + 10) * (w + 12);
  const double sum = (2 * t + 7) * ((2 * w + 6) * second + (2 * w + 22) * first) / (first * second);
  const double some = series - (t < 8 ? sum : 0), rest = from_whole(x);
  const Turned<A> turned(kPi * rest);
  const double pole =
      rest == 0 ? std::numeric_limits<double>::quiet_NaN() : kPi * turned.sine_of(1) / turned.sine_of(0);
  return left ? some - pole : some;
}

// The derivative of that: a sum of eight inverse squares, and the series from 8 on. Infinite at each pole, as SciPy's.
template <class A>
GRADWRIGHT_INLINE double trigamma(double x) {
  constexpr double c[] = {0.16666666666666666, -0.03333333333333333, 0.023809523809523808, -0.03333333333333333,
                          0.07575757575757576};  // Bernoulli's numbers; 4e-12 from 8 on
  const bool left = x < 0;
  const double t = left ? 1 - x : x, y = t < 8 ? t + 8 : t, inverse = 1 / y, square = inverse * inverse;
  const double series = inverse + square * (0.5 + inverse * polynomial<A>(c, square));
  // With their product p, those of t + k and t + 7 - k are (s^2 - 2 p) / p^2 for s = 2 t + 7, which is more than p.
  const double w = t * (t + 7), s = 2 * t + 7;
  double sum = 0;
  for (int k = 0; k < 4; ++k) {
    const double over = 1 / (w + k * (7 - k));
    sum += over * (s * s * over - 2);
  }
  const double some = series + (t < 8 ? sum : 0), sine = Turned<A>(kPi * from_whole(x)).sine_of(0), pole = kPi / sine;
  const double reflected = pole * pole - some;
  const double result = left ? reflected : some;
  return x < -std::numeric_limits<float>::max() ? std::numeric_limits<double>::quiet_NaN() : result;
}

// e^x for what overflows in single precision long before.
template <class A>
GRADWRIGHT_INLINE double exp_for_float(double x) {
  return exp<A, double, float>(x > 200 ? 200 : x);
}

// Modified Bessel functions of orders 0 and 1: polynomials in x^2, and from 8 on e^x / sqrt(x) times one in 1 / x. Of infinity
// they are NaN, as SciPy's are.
template <class A, size_t near_count, size_t far_count>
GRADWRIGHT_INLINE double bessel(double size, const double (&near_fit)[near_count], const double (&far_fit)[far_count],
                                double factor) {
  const double near = polynomial<A>(near_fit, size * size - 32) * factor;
  const double inverse = 1 / (size > 200 ? 200 : size);
  const double far = exp_for_float<A>(size) * polynomial<A>(far_fit, inverse) * std::sqrt(inverse);
  const double some = size > 8 ? far : near;
  return size > std::numeric_limits<float>::max() ? std::numeric_limits<double>::quiet_NaN() : some;
}
template <class A>
GRADWRIGHT_INLINE double i0(double x) {
  constexpr double c[] = {49.20855422280692,      3.9435466713510468,     0.13060299821290727,
                          0.0024139305993067985,  2.8451494980144738e-05, 2.316542601569902e-07,
                          1.3765814037097562e-09, 6.217759337786663e-12,  2.2026763642503143e-14,
                          6.276616161904138e-17,  1.4828898687853008e-19, 2.8886773392558603e-22};  // 3e-10
  constexpr double d[] = {0.3989422803486322,   0.04986783906945196, 0.028041596739860196, 0.029790933179536974,
                          0.027236240209719095, 0.3728431763593113,  -2.1197724894034526,  9.029041910927784};  // 2e-10
  return bessel<A>(std::fabs(x), c, d, 1);
}
template <class A>
GRADWRIGHT_INLINE double i1(double x) {
  constexpr double c[] = {7.887093342702856,      0.5224119929146329,     0.014483583595892888,  0.00022761195885657014,
                          2.3165426004652745e-06, 1.651898088331551e-08,  8.704863565729934e-11, 3.5242219167684313e-13,
                          1.1297832793667652e-15, 2.9687148010789674e-18, 6.358902396902893e-21};  // 8e-10
  constexpr double d[] = {0.3989422804620052,   -0.14960341710369246, -0.04674070440219407,
                          -0.04156003016067409, -0.03759874466033855, -0.430640602147839,
                          2.3791430575102672,   -10.161899277741165};  // 2e-10
  const double result = bessel<A>(std::fabs(x), c, d, std::fabs(x));
  return x < 0 ? -result : result;
}

// e^(x^2) erfc(x) for x >= 0: 1 / (1 + 2 x) times a polynomial in (x - 3) / (x + 3).
template <class A>
GRADWRIGHT_INLINE double erfcx_of_positive(double x) {
  constexpr double c[] = {1.253008058251719,     -0.13562110588976525,    -0.0475622925783465,
                          0.12964513564845567,   -0.11927369264668239,    0.06830839969281499,
                          -0.02377032914854471,  0.0025271155205983213,   0.0018881023957935195,
                          -0.000773109938915649, -0.00010412154102442731, 0.00011462995701111817,
                          3.858826870501334e-06, -1.1481641468961008e-05};  // 2e-10
  const double most = x > 1e30 ? 1e30 : x;
  return polynomial<A>(c, (most - 3) / (most + 3)) / (1 + 2 * x);
}
template <class A>
GRADWRIGHT_INLINE double erfcx(double x) {
  const double some = erfcx_of_positive<A>(std::fabs(x)), other = 2 * exp_for_float<A>(x * x) - some;
  return x < 0 ? other : some;
}

// 1 - erf(x), with all its places in the tail.
template <class A>
GRADWRIGHT_INLINE double erfc(double x) {
  const double tail = erfcx_of_positive<A>(std::fabs(x)) * exp<A, double, float>(-(x * x)), other = 2 - tail;
  return x < 0 ? other : tail;
}

// The logarithm of the normal distribution function.
template <class A>
GRADWRIGHT_INLINE double log_ndtr(double x) {
  const double half_square = x * x * 0.5, tail = erfcx_of_positive<A>(std::fabs(x) * 0.70710678118654752) * 0.5;
  const double lower = tail - 1, low = lower > -1 + 0x1p-53 ? lower : -1 + 0x1p-53;
  const double high = -tail * exp<A, double, float>(-half_square);
  const double result = log1p<A>(x < 0 ? low : high);
  return x < 0 ? result - half_square : result;
}

}  // namespace vectors

namespace kernels {

struct lgamma {
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::lgamma<A>(a));
  }
};
GRADWRIGHT_KERNEL(lgamma, 1, elements, vectors, only_float32)
struct digamma {
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::digamma<A>(a));
  }
};
GRADWRIGHT_KERNEL(digamma, 1, elements, vectors, only_float32)
struct trigamma {
  static constexpr bool only_float = true;
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::trigamma<A>(a));
  }
};
struct i0 {
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::i0<A>(a));
  }
};
GRADWRIGHT_KERNEL(i0, 1, elements, vectors, only_float32)
struct special_i1 {
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::i1<A>(a));
  }
};
GRADWRIGHT_KERNEL(special_i1, 1, elements, vectors, only_float32)
struct special_erfcx {
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::erfcx<A>(a));
  }
};
GRADWRIGHT_KERNEL(special_erfcx, 1, elements, vectors, only_float32)
struct erfc {
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::erfc<A>(a));
  }
};
GRADWRIGHT_KERNEL(erfc, 1, elements, vectors, only_float32)
// In one function, as the product with the root would lose places of the tail.
struct special_ndtr {
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::erfc<A>(a * -0.70710678118654752) * 0.5);
  }
};
GRADWRIGHT_KERNEL(special_ndtr, 1, elements, vectors, only_float32)
struct special_log_ndtr {
  template <class T, class A = Baseline>
  static T apply(T a) {
    return static_cast<T>(vectors::log_ndtr<A>(a));
  }
};
GRADWRIGHT_KERNEL(special_log_ndtr, 1, elements, vectors, only_float32)

}  // namespace kernels

}  // namespace gradwright
