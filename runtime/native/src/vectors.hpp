// Functions of single elements that loops of ours call without a call: no branch, no table, no library, so that compilers
// make vectors of them. docs/native.md says why these stand here, and which functions are left to NumPy.
//
// The mathematics is the usual: an argument is reduced to a short interval with a constant in two or three parts (Cody and
// Waite), and there a polynomial is computed. The coefficients are fits in Chebyshev's points, computed in 60 digits and
// rounded; tests/runtime/native/test_vectors.py compares with functions of longer numbers. Where a part gives what another one lost,
// the order of additions matters: compilers must not contract or reorder them (arithmetic.flags).

#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "loops.hpp"

namespace gradwright::vectors {

// What is different for float and double.
template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kFraction = 23;  // bits after the point
  static constexpr Bits kBias = 127;
  static constexpr float kLn2High = 0.693359375f,
                         kLn2Low = -2.12194440e-4f;  // few bits, and the rest
  static constexpr float kExpHigh = 88.72283f, kExpLow = -104,
                         kExpm1Low = -20;  // infinity, 0 and -1 lie beyond
};

template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kFraction = 52;
  static constexpr Bits kBias = 1023;
  static constexpr double kLn2High = 0.6931471804855391, kLn2Low = 7.440617110012397e-11;
  static constexpr double kExpHigh = 710, kExpLow = -746, kExpm1Low = -40;
};

template <class T>
using BitsOf = typename Format<T>::Bits;

// c[first] + c[first + step] x + ...
template <class A, size_t first, size_t step, class T, size_t count>
GRADWRIGHT_INLINE T every(const T (&c)[count], T x) {
  if constexpr (first + step < count) {
    return A::multiply_add(every<A, first + step, step>(c, x), x, c[first]);
  } else {
    return c[first];
  }
}

// c[0] + c[1] x + ..., even and odd powers side by side, so that fewer steps wait for each other.
template <class A, class T, size_t count>
GRADWRIGHT_INLINE T polynomial(const T (&c)[count], T x) {
  const T square = x * x;
  return A::multiply_add(every<A, 1, 2>(c, square), x, every<A, 0, 2>(c, square));
}

// Adding this rounds to a whole number, which is then in the lowest bits.
template <class T>
constexpr T kRounding = T(3) * T(BitsOf<T>{1} << (Format<T>::kFraction - 1));

// 2^(n - less) for n + kRounding, for the exponents of normal numbers.
template <class T>
GRADWRIGHT_INLINE T power_of_two(T shifted, int less = 0) {
  using Bits = BitsOf<T>;
  return std::bit_cast<T>((std::bit_cast<Bits>(shifted) + (Format<T>::kBias - less)) << Format<T>::kFraction);
}

// The smaller and the larger of two positive numbers, which are ordered as their bits are.
template <class T>
GRADWRIGHT_INLINE T smaller(T a, T b) {
  using Bits = BitsOf<T>;
  return std::bit_cast<T>(std::min(std::bit_cast<Bits>(a), std::bit_cast<Bits>(b)));
}
template <class T>
GRADWRIGHT_INLINE T larger(T a, T b) {
  using Bits = BitsOf<T>;
  return std::bit_cast<T>(std::max(std::bit_cast<Bits>(a), std::bit_cast<Bits>(b)));
}

// `result` for x in between. Chosen last: a compiler that knows a bound before makes a computation of its own for it.
template <class T>
GRADWRIGHT_INLINE T between(T x, T low, T below, T high, T above, T result) {
  const T upper = x > high ? above : result;
  return x < low ? below : upper;
}

// x / ln 2 as a whole number n, in the lowest bits of n + rounding.
template <class A, class T>
GRADWRIGHT_INLINE T whole_of(T x, T rounding = kRounding<T>) {
  return A::multiply_add(x, T(1.4426950408889634), rounding);
}

// x = n ln 2 + r + rest, |r| <= ln 2 / 2, and e^r = 1 + r + square; as exact as numbers of type P need it.
template <class A, class T, class P = T>
struct Exponent {
  T whole, r, rest, series, square;

  GRADWRIGHT_INLINE explicit Exponent(T x) : Exponent(x, whole_of<A>(x), kRounding<T>) {}
  // For n + rounding.
  GRADWRIGHT_INLINE Exponent(T x, T shifted, T rounding) : whole(shifted) {
    const T n = whole - rounding, high = A::multiply_add(n, -Format<T>::kLn2High, x);
    r = A::multiply_add(n, -Format<T>::kLn2Low, high);
    rest = A::multiply_add(n, -Format<T>::kLn2Low, high - r);
    if constexpr (std::is_same_v<P, float>) {
      constexpr T c[] = {0.5, 0.16666576, 0.041666552, 0.008363233, 0.001392625};  // 8e-9
      series = polynomial<A>(c, r);
    } else {
      constexpr T c[] = {0.5,
                         0.1666666666666667,
                         0.04166666666666667,
                         0.008333333333326084,
                         0.0013888888888883711,
                         0.0001984126987500228,
                         2.480158732567746e-05,
                         2.755725517000089e-06,
                         2.755727347871858e-07,
                         2.5105312729622103e-08,
                         2.09147553258932e-09};  // 5e-19
      series = polynomial<A>(c, r);
    }
    square = series * (r * r);
  }
  // e^r with the error of a sum.
  GRADWRIGHT_INLINE T power() const { return A::multiply_add(series, r * r, r) + T(1); }
};

// 2^n y for n + kRounding, where both are normal numbers.
template <class T>
GRADWRIGHT_INLINE T times_power_of_two(T y, T shifted, int more = 0) {
  using Bits = BitsOf<T>;
  constexpr int point = Format<T>::kFraction;
  return std::bit_cast<T>(std::bit_cast<Bits>(y) + (std::bit_cast<Bits>(shifted) << point) + (Bits(more) << point));
}

// `result` for x up to `high`; infinity beyond, and NaN for NaN, of which a result that is made of bits knows nothing.
template <class T>
GRADWRIGHT_INLINE T up_to(T x, T high, T result) {
  return x <= high ? result : x + std::numeric_limits<T>::infinity();
}

// e^x as exact as numbers of type P need it.
template <class A, class T, class P = T>
GRADWRIGHT_INLINE T exp(T x) {
  using F = Format<T>;
  const Exponent<A, T, P> e(x);
  if constexpr (std::is_same_v<T, float>) {
    // The exponent of e^r is added to. Small results, which may be subnormal, are made larger first.
    const T power = e.power();
    const T raised = times_power_of_two(power, e.whole, 64) * T(0x1p-64);
    return x < F::kExpLow ? T(0) : up_to(x, F::kExpHigh, x < T(-50) ? raised : times_power_of_two(power, e.whole));
  } else {
    const T sum = e.r + T(1), lost = e.r - (sum - T(1));
    // In two factors, so that the result may be infinite or subnormal.
    const bool small = x < T(0);
    constexpr int far = 512;
    const T result = (sum + (lost + (e.square + e.rest))) * power_of_two(e.whole, small ? -far : far) *
                     (small ? T(0x1p-512) : T(0x1p512));
    return between(x, F::kExpLow, T(0), F::kExpHigh, std::numeric_limits<T>::infinity(), result);
  }
}

// 1 + e^x as exact as numbers of type P need it; it costs less than e^x.
template <class A, class T, class P = T>
GRADWRIGHT_INLINE T one_plus_exp(T x) {
  if constexpr (std::is_same_v<T, float>) {
    // Half of it, as e^x may be as large as numbers are: 2^(n - 1) e^r + 1/2. From n = 129 on 2^(n - 1) is infinite. One
    // bound is for numbers and one for their bits: where compilers see that one x is compared twice, they compare four times.
    constexpr T rounding = kRounding<T> + T(Format<T>::kBias - 1), least = T(-30);
    const T some = x < least ? least : x;
    const Exponent<A, T, P> e(some, smaller(whole_of<A>(some, rounding), rounding + T(129)), rounding);
    const T scale = std::bit_cast<T>(std::bit_cast<BitsOf<T>>(e.whole) << Format<T>::kFraction);
    const T half = A::multiply_add(e.power(), scale, T(0.5));
    return half + half;
  } else {
    const Exponent<A, T, P> e(x);
    // Half of 2^n + 1 + 2^n (e^r - 1), the largest last.
    const T half = power_of_two(e.whole, 1);
    const T sum = A::multiply_add(half, e.r + e.square, smaller(half, T(0.5))) + larger(half, T(0.5));
    return between(x, T(-86), T(1), Format<T>::kExpHigh, std::numeric_limits<T>::infinity(), sum + sum);
  }
}

// Of numbers next to 0 these functions are the number itself; zeros keep their sign.
template <class T>
constexpr T kTiny = T(1e-30);

template <class A, class T>
GRADWRIGHT_INLINE T expm1(T x) {
  using F = Format<T>;
  const Exponent<A, T> e(x);
  // Half of 2^n (1 + r) - 1, and what the sum loses.
  const T scale = power_of_two(e.whole, 1), less = scale - T(0.5), more = scale * e.r, sum = less + more;
  const T lost = more - (sum - less);
  const T result = (sum + A::multiply_add(scale, e.rest + e.square, lost)) * T(2);
  const T some = between(x, F::kExpm1Low, T(-1), F::kExpHigh, std::numeric_limits<T>::infinity(), result);
  return std::fabs(x) < kTiny<T> ? x : some;
}

// x = 2^k m, sqrt(1/2) <= m < sqrt(2), for a normal number.
template <class T>
struct Mantissa {
  T k, m;
  BitsOf<T> biased;  // k + bias

  GRADWRIGHT_INLINE explicit Mantissa(T x) {
    using F = Format<T>;
    using Bits = typename F::Bits;
    constexpr Bits root = std::bit_cast<Bits>(T(0.70710678118654752)), one = F::kBias << F::kFraction;
    const Bits moved = std::bit_cast<Bits>(x) + (one - root);
    biased = moved >> F::kFraction;
    constexpr T large = T(Bits{1} << F::kFraction);
    k = std::bit_cast<T>(biased | std::bit_cast<Bits>(large)) - (large + T(F::kBias));
    m = std::bit_cast<T>((moved & ((Bits{1} << F::kFraction) - 1)) + root);
  }
};

// log(2^k (1 + f + rest)): with s = f / (2 + f), log(1 + f) = 2 s + s R(s^2) = f - (f^2 / 2 - s (f^2 / 2 + R)).
template <class A, class T>
GRADWRIGHT_INLINE T log_of_parts(T k, T f, T rest) {
  const T half = f * f * T(0.5), s = f / (f + T(2)), z = s * s;
  T series;
  if constexpr (std::is_same_v<T, float>) {
    constexpr float c[] = {0.66666687f, 0.39988774f, 0.29580307f};  // 3e-9
    series = polynomial<A>(c, z) * z;
  } else {
    constexpr double c[] = {0.666666666666667,  0.39999999999899294, 0.285714286260716,  0.22222211119107801,
                            0.1818289026802164, 0.153316836219216,   0.14616919036610457};  // 5e-18
    series = polynomial<A>(c, z) * z;
  }
  const T small = A::multiply_add(s, half + series, A::multiply_add(k, Format<T>::kLn2Low, rest));
  return A::multiply_add(k, Format<T>::kLn2High, f - (half - small));
}

// What a logarithm is where 1 + x, or x, is infinite, not positive or no number.
template <class T>
GRADWRIGHT_INLINE T at_the_ends(T x, T pole, T result) {
  using Limits = std::numeric_limits<T>;
  const T above = x > Limits::max() ? x : result;
  const T below = x < pole ? Limits::quiet_NaN() : -Limits::infinity();
  const T some = x <= pole ? below : above;
  return x != x ? x : some;
}

template <class A, class T>
GRADWRIGHT_INLINE T log(T x) {
  using F = Format<T>;
  constexpr T large = T(BitsOf<T>{1} << (F::kFraction + 2));
  const bool subnormal = x < std::numeric_limits<T>::min();
  const T scaled = x * large, normal = subnormal ? scaled : x;
  const Mantissa<T> parts(normal);
  const T moved = parts.k - T(F::kFraction + 2), k = subnormal ? moved : parts.k;
  return at_the_ends(x, T(0), log_of_parts<A>(k, parts.m - T(1), T(0)));
}

template <class A, class T>
GRADWRIGHT_INLINE T log1p(T x) {
  using F = Format<T>;
  const T sum = x + T(1), other = sum - T(1), lost = (T(1) - (sum - other)) + (x - other);
  const Mantissa<T> parts(sum);
  // What the sum lost, in the units of m; nothing where x is so large that it does not count.
  const T unit = std::bit_cast<T>((2 * F::kBias - parts.biased) << F::kFraction), scaled = lost * unit;
  const T extra = sum > T(1e18) ? T(0) : scaled;
  const T first = parts.m - T(1), f = first + extra, rest = extra - (f - first);
  const T result = log_of_parts<A>(parts.k, f, rest), some = at_the_ends(x, T(-1), result);
  return std::fabs(x) < kTiny<T> ? x : some;
}

// log(1 + e) for e from 0 to 1.
template <class A, class T>
GRADWRIGHT_INLINE T log1p_of_part(T e) {
  if constexpr (std::is_same_v<T, float>) {
    constexpr float c[] = {-0.4999993f, 0.33330512f,  -0.24958588f, 0.19695401f,   -0.15355398f,
                           0.10680557f, -0.05766446f, 0.020204594f, -0.0033184746f};  // 5e-9 up to 1
    return A::multiply_add(every<A, 0, 1>(c, e), e * e, e);  // sums of large parts would lose more
  } else {
    return log1p<A>(e);
  }
}

// log(1 + e^-|x|): what a smooth maximum of 0 and x has more than the maximum. 0 where x is infinite.
template <class A, class T>
GRADWRIGHT_INLINE T log_of_smooth_step(T x) {
  return log1p_of_part<A>(exp<A>(-std::fabs(x)));
}

// 2^x for x <= 0: the whole part of x is exact, where a multiple of x is not. Small results, which may be subnormal, are
// made larger first.
template <class A, class T>
GRADWRIGHT_INLINE T exp2_of_negative(T x) {
  constexpr bool single = std::is_same_v<T, float>;
  constexpr T low = single ? T(-151) : T(-1076), down = single ? T(0x1p-64) : T(0x1p-128);
  const T near = x < low ? low : x, shifted = near + kRounding<T>;
  const T power = exp<A>((near - (shifted - kRounding<T>)) * T(0.69314718055994531));
  const T result = times_power_of_two(power, shifted, single ? 64 : 128) * down;
  return x != x ? x : result;
}

// In single precision at most one place off. Up to 0.9 it is x + x p(x^2); from there on 1 - 2^y(x), where y is a polynomial
// for the logarithm of erfc, and 2^y = 2^n 2^r with a whole number n and |r| <= 1/2. The coefficients are fits by reweighted
// least squares (Lawson's algorithm); their largest errors, relative to erf, are 1.2e-8, 1.6e-9 and 1.9e-9. Above 3.95 the
// nearest float is 1.
template <class A>
GRADWRIGHT_INLINE float erf(float x) {
  constexpr float c[] = {.128379154f, -.3761252341f, .1128214171f, -.02677893387f, .00501199337f, -.0006090496179f};
  constexpr float d[] = {-.0002560633543f, -1.626998735f,   -.9190828825f,  -.1500942458f,
                         .03213907693f,    -.004408319316f, .0002844741627f};
  constexpr float e[] = {1, .6931472057f, .2402264689f, .05550328777f, .009618488974f, .001339993118f, .000153458075f};
  const float size = std::fabs(x), a = size > 3.95f ? 3.95f : size;
  const float near = A::multiply_add(x, polynomial<A>(c, a * a), x);
  const float y = polynomial<A>(d, a), shifted = y + kRounding<float>, r = y - (shifted - kRounding<float>);
  const uint32_t power = std::bit_cast<uint32_t>(polynomial<A>(e, r)) + (std::bit_cast<uint32_t>(shifted) << 23);
  const float far = std::copysign(1 - std::bit_cast<float>(power), x);
  return size >= 0.9f ? far : near;  // `near` for NaN
}

// The same in double precision, up to 1, and with a logarithm of erfc in powers of x - 1; the fits are 1e-19 and 1e-17 off.
// Above 6 the nearest number is 1.
template <class A>
GRADWRIGHT_INLINE double erf(double x) {
  constexpr double c[] = {
      0.1283791670955126, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792,
      0.0052239776248180145, -0.000854832698083379, 0.0001205533111164271, -1.4925595266831182e-05,
      1.6461000484121368e-06, -1.6350312701054695e-07, 1.4659775274047436e-08, -1.1372848856791674e-09,
      5.957176147748911e-11};
  constexpr double d[] = {
      -1.8496055099332482, -2.6389675142347677, -0.843107256359778, -0.04156109801924527,
      0.010033825138364264, -0.0019779011128815893, 0.00023731673248324366, 2.629323008581281e-05,
      -2.7187795340523505e-05, 9.647132496181843e-06, -2.0964073415765163e-06, 1.6791695448135794e-07,
      8.575502375516183e-08, -4.861761340106542e-08, 1.4599912949256593e-08, -3.062440735622386e-09,
      4.686066082200267e-10, -5.1621897459317964e-11, 3.890304506235261e-12, -1.7970698764653078e-13,
      3.837382790745678e-15};
  const double size = std::fabs(x), near = A::multiply_add(x, every<A, 0, 1>(c, x * x), x);
  const Exponent<A, double> e(polynomial<A>(d, size - 1));
  const double tail = (e.square + (e.r + e.rest) + 1) * power_of_two(e.whole);
  const double rest = size > 6 ? 1 : 1 - tail, far = std::copysign(rest, x);
  return size >= 1 ? far : near;  // `near` for NaN
}

// The inverse of erf in single precision, at most two places off: x times a polynomial in w = -log(1 - x^2), from w = 5 on
// in its root (the variables of M. Giles, "Approximating the erfinv function", GPU Computing Gems 2, 2011). The fits are by
// Lawson's algorithm, 8e-9 off, and around a place where the first coefficient is nearly a float. That of the logarithm of a
// normal number, which needs no division, is 5e-9 off.
constexpr float kMostNear = 0.996625f;

// w = -log(1 - x^2), for |x| < 1.
template <class A>
GRADWRIGHT_INLINE float erfinv_variable(float x) {
  constexpr float c[] = {0.9999999f,   -0.49999973f, 0.3333501f,   -0.25003287f, 0.19938841f,
                         -0.16532907f, 0.15067591f,  -0.14577118f, 0.0869293f};
  const Mantissa<float> parts((1 - x) * (1 + x));
  const float f = parts.m - 1;
  return -A::multiply_add(parts.k, 0.69314718f, polynomial<A>(c, f) * f);
}

// Up to `kMostNear`; NaN for NaN, and zeros keep their sign.
template <class A>
GRADWRIGHT_INLINE float erfinv_near(float x) {
  constexpr float c[] = {1.50142682f,      0.246639684f,     -0.00417762948f, -0.00125266425f, 0.000218327536f,
                         -4.97228302e-06f, -3.45903686e-06f, 4.67590525e-07f, 2.29729658e-08f, -8.88288554e-09f};
  return every<A, 0, 1>(c, erfinv_variable<A>(x) - 2.50007081f) * x;
}

// Beyond it: infinite at -1 and 1, and no number for larger ones.
template <class A>
GRADWRIGHT_INLINE float erfinv_far(float x) {
  constexpr float c[] = {2.83297682f,     1.00167525f,    0.00944534596f,   -0.0076411441f,   0.00568472035f,
                         -0.00358157232f, 0.00149280916f, -8.25960524e-05f, -0.000316470308f, 0.000130669825f};
  using Limits = std::numeric_limits<float>;
  const float size = std::fabs(x), some = every<A, 0, 1>(c, std::sqrt(erfinv_variable<A>(x)) - 3) * x;
  const float end = size > 1 ? Limits::quiet_NaN() : std::copysign(Limits::infinity(), x);
  return size < 1 ? some : end;
}

// Whether one of some numbers is larger than `limit`.
template <class T>
GRADWRIGHT_INLINE bool has_beyond(const T* x, npy_intp size, T limit) {
  BitsOf<T> found = 0;
  for (npy_intp i = 0; i < size; ++i) found |= std::fabs(x[i]) > limit ? 1 : 0;
  return found != 0;
}

// x = n pi / 2 + r + rest, |r| <= pi / 4, for |x| up to kMostTurned; then sin and cos of r. Further out, more of pi would be
// needed.
constexpr double kMostTurned = 30000;

template <class A>
struct Turned {
  uint64_t quarter;  // n in its lowest bits
  double sine, cosine;

  GRADWRIGHT_INLINE explicit Turned(double x) {
    const double shifted = A::multiply_add(x, 0.63661977236758134, kRounding<double>), n = shifted - kRounding<double>;
    quarter = std::bit_cast<uint64_t>(shifted);
    // pi / 2 in three parts; products with the first two are exact.
    const double first = A::multiply_add(n, -1.5707963267341256, x), second = n * 6.077100506303966e-11;
    const double left = first - second, lost = (first - left) - second;
    const double more = A::multiply_add(n, -2.0222662487959506e-21, lost), r = left + more, rest = (left - r) + more;
    constexpr double s[] = {-0.16666666666666666,  0.008333333333330925,    -0.00019841269836722418,
                            2.755731608381636e-06, -2.5051127944014188e-08, 1.5917848524808262e-10};  // 1.3e-17
    constexpr double c[] = {0.041666666666666664,    -0.0013888888888887382, 2.480158729874307e-05,
                            -2.7557317260008837e-07, 2.0876143827993133e-09, -1.1382456778061306e-11};  // 5e-19
    const double z = r * r, half = z * 0.5, near = 1 - half;
    sine = r + A::multiply_add(polynomial<A>(s, z), r * z, rest * near);
    cosine = near + (((1 - near) - half) + A::multiply_add(polynomial<A>(c, z), z * z, -(r * rest)));
  }
  // sin((n + more) pi / 2 + r).
  GRADWRIGHT_INLINE double sine_of(uint64_t more) const {
    const uint64_t turned = quarter + more;
    const double size = (turned & 1) != 0 ? cosine : sine;
    return std::bit_cast<double>(std::bit_cast<uint64_t>(size) ^ ((turned & 2) << 62));
  }
};

template <class A>
GRADWRIGHT_INLINE double sin(double x) {
  const double result = Turned<A>(x).sine_of(0);
  return x == 0 ? x : result;
}

template <class A>
GRADWRIGHT_INLINE double cos(double x) {
  return Turned<A>(x).sine_of(1);
}

// What lies too far out for these, one by one: out[i] = of(x[i]).
template <class T, class Of>
GRADWRIGHT_INLINE void turn_far_ones(const T* x, T* out, npy_intp size, Of of) {
  if (!has_beyond(x, size, T(kMostTurned))) return;
  for (npy_intp i = 0; i < size; ++i) {
    if (std::fabs(x[i]) > T(kMostTurned)) out[i] = of(x[i]);
  }
}

// 2^y for 2^y not subnormal; 7e-8 off.
template <class A>
GRADWRIGHT_INLINE float exp2_of_normal(float y) {
  const float shifted = y + kRounding<float>, r = y - (shifted - kRounding<float>);
  constexpr float c[] = {1.0000001f, 0.69314694f, 0.2402212f, 0.05550713f, 0.009675541f, 0.0013276472f};
  const float power = polynomial<A>(c, r);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(power) + (std::bit_cast<uint32_t>(shifted) << 23));
}

// The normal distribution function: 2^y(x) for negative x, where y is a polynomial for its logarithm, and 1 - 2^y(-x) for
// others. The fit is 2e-8 off down to 0.02, and 4e-10 in all below; 0 below -6.
template <class A>
GRADWRIGHT_INLINE float normal_distribution(float x) {
  constexpr float c[] = {-1.0f,           -1.1511056f,     -0.4592092f,   -0.0524769f,    0.007002726f,
                         -5.2300842e-05f, -0.00024781466f, 6.361162e-05f, -7.687765e-06f, 3.86551e-07f};
  const float size = std::fabs(x), power = exp2_of_normal<A>(polynomial<A>(c, size)), tail = size > 6 ? 0 : power;
  const float rest = 1 - tail;
  return x < 0 ? tail : rest;
}

// Its derivative; 0 beyond 13.
template <class A>
GRADWRIGHT_INLINE float normal_density(float x) {
  const float power = exp2_of_normal<A>(A::multiply_add(x * x, -0.72134752f, -1.3257480647361594f));
  return std::fabs(x) > 13 ? 0 : power;
}

}  // namespace gradwright::vectors
