// How numbers of gamma and beta distributions move with their parameters: the integrals of runtime/operators/kernels/implicit.py, of
// single precision, for some elements at a time. Those of double precision are that file's.

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "special.hpp"

namespace gradwright {

namespace vectors {

// The substitution s = exp(v - exp(-v)) and the trapezoidal rule, as there.
struct TailRule {
  static constexpr int kCount = 91;
  double nodes[kCount], weights[kCount];
  TailRule() {
    constexpr double first = -3.6, step = 0.1;
    for (int k = 0; k < kCount; ++k) {
      const double place = first + step * k;
      nodes[k] = std::exp(place - std::exp(-place));
      weights[k] = step * (1 + std::exp(-place)) * nodes[k];
    }
  }
};
inline const TailRule tail_rule;

constexpr npy_intp kTails = 64;  // integrals that are summed side by side

}  // namespace vectors

namespace kernels {

struct standard_gamma_grad {
  static constexpr bool only_float = true;
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* shape, const T* drawn, T* out, npy_intp size) {
    using namespace vectors;
    double a[kTails], x[kTails], start[kTails], scale[kTails], total[kTails];
    for (npy_intp from = 0; from < size; from += kTails) {
      const npy_intp count = std::min(kTails, size - from);
      for (npy_intp i = 0; i < count; ++i) {
        a[i] = shape[from + i];
        x[i] = drawn[from + i];
        start[i] = vectors::log<A>(x[i]) - vectors::digamma<A>(a[i]);
        // Where the exponent has fallen by 1: it is quadratic at first, and linear from s = 1 on where t falls to 0.
        const double slope = std::fabs(a[i] - x[i]), near = 2 / (slope + std::sqrt(slope * slope + 2 * x[i]));
        const double far = near > 1 ? (1 + x[i]) / a[i] : near;
        scale[i] = x[i] <= a[i] ? -far : near;
        total[i] = 0;
      }
      for (int k = 0; k < TailRule::kCount; ++k) {
        const double node = tail_rule.nodes[k], weight = tail_rule.weights[k];
        for (npy_intp i = 0; i < count; ++i) {
          const double s = scale[i] * node;
          const double density = vectors::exp<A, double, float>(a[i] * s - x[i] * vectors::expm1<A>(s));
          total[i] += weight * density * (start[i] + s);
        }
      }
      for (npy_intp i = 0; i < count; ++i) out[from + i] = static_cast<T>(x[i] * scale[i] * total[i]);
    }
  }
};

struct dirichlet_grad {
  static constexpr bool only_float = true;
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* part, const T* alpha, const T* sum, T* out, npy_intp size) {
    using namespace vectors;
    double below[kTails], ratio[kTails], own[kTails], other[kTails], start[kTails], scale[kTails], total[kTails];
    for (npy_intp from = 0; from < size; from += kTails) {
      const npy_intp count = std::min(kTails, size - from);
      for (npy_intp i = 0; i < count; ++i) {
        constexpr double least = std::numeric_limits<double>::min(), most = 1 - 0x1p-53;
        const double given = part[from + i], a = alpha[from + i], b = double(sum[from + i]) - a;
        const double low = given < least ? least : given, x = low > most ? most : low;
        below[i] = x * (a + b) <= a ? 1 : 0;
        ratio[i] = below[i] != 0 ? x / (1 - x) : (1 - x) / x;
        own[i] = below[i] != 0 ? a : b;
        other[i] = (below[i] != 0 ? b : a) - 1;
        start[i] = vectors::log<A>(x) - vectors::digamma<A>(a) + vectors::digamma<A>(a + b);
        // Where the exponent has fallen by 1: quadratic while the other factor of the density bends, else linear.
        const double slope = own[i] - other[i] * ratio[i], bends = other[i] > 0 ? other[i] : 0;
        const double bend = bends * ratio[i] * (1 + ratio[i]);
        const double near = 2 / (slope + std::sqrt(slope * slope + 2 * bend));
        const double far = (1 + bends * vectors::log1p<A>(ratio[i])) / own[i];
        scale[i] = near * (1 + ratio[i]) > 1 ? far : near;
        total[i] = 0;
      }
      for (int k = 0; k < TailRule::kCount; k += 2) {  // every second place is enough for single precision
        const double node = tail_rule.nodes[k], weight = 2 * tail_rule.weights[k];
        for (npy_intp i = 0; i < count; ++i) {
          const double s = node * scale[i], rest = vectors::log1p<A>(-ratio[i] * vectors::expm1<A>(-s));
          const double density = vectors::exp<A, double, float>(other[i] * rest - own[i] * s);
          total[i] += weight * density * (start[i] + (below[i] != 0 ? -s : rest));
        }
      }
      for (npy_intp i = 0; i < count; ++i) {
        out[from + i] = static_cast<T>((below[i] != 0 ? -ratio[i] : 1.0) * scale[i] * total[i]);
      }
    }
  }
};

}  // namespace kernels

}  // namespace gradwright
