// How numbers of gamma and beta distributions move with their parameters, for some elements at a time: `-(dF/da) / p` for the
// distribution function F and its density p, as in runtime/operators/kernels/implicit.py.
//
// Divided by the density, F is a power series in the number with positive terms (8.7.1 and 8.17.8 of the NIST Handbook; Olver
// et al., 2010), and its derivative multiplies each term with a difference of digamma functions, which grow from term to
// term by an inverse. That takes a division or two for each term. Where so much cancels that it would show, and where there
// are too many terms, the integrals of that file are computed.

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

constexpr npy_intp kTails = 64;  // sums and integrals that are computed side by side
constexpr int kMostTerms = 320, kTermsAtOnce = 8;

// When a series of positive terms times gaps is done, and whether it is exact enough, for results of type T.
template <class T>
constexpr double kSeriesRest = std::is_same_v<T, float> ? 1e-10 : 0x1p-55;
template <class T>
constexpr double kMostCancelled = std::is_same_v<T, float> ? 1e5 : 100;

// The sums of `term * gap` from the first term on, side by side; `next(i, n, term, gap)` makes the terms and gaps of n + 1 from
// those of n, and gives a bound of the quotient of later terms. What is done has no more terms, so that no sum depends on the
// others. At the end `term` is 0 where the sum is exact enough.
template <class T, class Next>
GRADWRIGHT_INLINE void sum_series(double* term, double* gap, double* total, npy_intp count, const Next& next) {
  double sizes[kTails], rest[kTails];
  for (npy_intp i = 0; i < count; ++i) {
    total[i] = term[i] * gap[i];
    sizes[i] = std::fabs(total[i]);
  }
  bool going = true;
  for (int n = 0; going && n < kMostTerms; n += kTermsAtOnce) {
    for (int k = n; k < n + kTermsAtOnce; ++k) {
      for (npy_intp i = 0; i < count; ++i) {
        rest[i] = next(i, k, term[i], gap[i]);
        const double product = term[i] * gap[i];
        total[i] += product;
        sizes[i] += std::fabs(product);
      }
    }
    int left = 0;
    for (npy_intp i = 0; i < count; ++i) {
      // What is left is less than a geometric series.
      const double less = std::fabs(term[i] * gap[i]) * rest[i], most = kSeriesRest<T> * std::fabs(total[i]) * (1 - rest[i]);
      const bool more = !(less <= most);
      term[i] = more ? term[i] : 0;
      left += more ? 1 : 0;
    }
    going = left != 0;
  }
  for (npy_intp i = 0; i < count; ++i) {
    term[i] = sizes[i] <= kMostCancelled<T> * std::fabs(total[i]) ? term[i] : 1;
  }
}

// Elements whose sum is not exact enough, up to two times as many as are computed side by side.
struct Remaining {
  npy_intp count = 0, places[2 * kTails];
};

}  // namespace vectors

namespace detail {

// The integrals of gamma distributions.
template <class T, class A>
GRADWRIGHT_INLINE void gamma_tails(const T* shape, const T* drawn, T* out, const npy_intp* places, npy_intp count) {
  using namespace vectors;
  double a[kTails], x[kTails], start[kTails], scale[kTails], total[kTails];
  for (npy_intp i = 0; i < count; ++i) a[i] = shape[places[i]];
  for (npy_intp i = 0; i < count; ++i) x[i] = drawn[places[i]];
  for (npy_intp i = 0; i < count; ++i) {
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
      const double density = vectors::exp<A, double, T>(a[i] * s - x[i] * vectors::expm1<A>(s));
      total[i] += weight * density * (start[i] + s);
    }
  }
  for (npy_intp i = 0; i < count; ++i) out[places[i]] = static_cast<T>(x[i] * scale[i] * total[i]);
}

// The integrals of beta distributions, for places that are in (0, 1).
template <class T, class A>
GRADWRIGHT_INLINE void beta_tails(const T* part, const T* alpha, const T* sum, T* out, const npy_intp* places,
                                  npy_intp count) {
  using namespace vectors;
  constexpr int step = std::is_same_v<T, float> ? 2 : 1;  // every second place is enough for single precision
  constexpr double least = std::numeric_limits<double>::min(), most = 1 - 0x1p-53;
  double x[kTails], a[kTails], b[kTails];
  double below[kTails], ratio[kTails], own[kTails], other[kTails], start[kTails], scale[kTails], total[kTails];
  for (npy_intp i = 0; i < count; ++i) {
    const double given = part[places[i]], low = given < least ? least : given;
    x[i] = low > most ? most : low;
    a[i] = alpha[places[i]];
    b[i] = double(sum[places[i]]) - a[i];
  }
  for (npy_intp i = 0; i < count; ++i) {
    below[i] = x[i] * (a[i] + b[i]) <= a[i] ? 1 : 0;
    ratio[i] = below[i] != 0 ? x[i] / (1 - x[i]) : (1 - x[i]) / x[i];
    own[i] = below[i] != 0 ? a[i] : b[i];
    other[i] = (below[i] != 0 ? b[i] : a[i]) - 1;
    start[i] = vectors::log<A>(x[i]) - vectors::digamma<A>(a[i]) + vectors::digamma<A>(a[i] + b[i]);
    // Where the exponent has fallen by 1: quadratic while the other factor of the density bends, else linear.
    const double slope = own[i] - other[i] * ratio[i], bends = other[i] > 0 ? other[i] : 0;
    const double bend = bends * ratio[i] * (1 + ratio[i]);
    const double near = 2 / (slope + std::sqrt(slope * slope + 2 * bend));
    const double far = (1 + bends * vectors::log1p<A>(ratio[i])) / own[i];
    scale[i] = near * (1 + ratio[i]) > 1 ? far : near;
    total[i] = 0;
  }
  for (int k = 0; k < TailRule::kCount; k += step) {
    const double node = tail_rule.nodes[k], weight = step * tail_rule.weights[k];
    for (npy_intp i = 0; i < count; ++i) {
      const double s = node * scale[i], rest = vectors::log1p<A>(-ratio[i] * vectors::expm1<A>(-s));
      const double density = vectors::exp<A, double, T>(other[i] * rest - own[i] * s);
      total[i] += weight * density * (start[i] + (below[i] != 0 ? -s : rest));
    }
  }
  for (npy_intp i = 0; i < count; ++i) {
    out[places[i]] = static_cast<T>((below[i] != 0 ? -ratio[i] : 1.0) * scale[i] * total[i]);
  }
}

// Parts of an array: `series(from, count, done)` computes one, and marks what it could, `tails(places, count)` the rest.
template <class Series, class Tails>
GRADWRIGHT_INLINE void in_parts(npy_intp size, const Series& series, const Tails& tails) {
  using namespace vectors;
  Remaining left;
  double missing[kTails];
  for (npy_intp from = 0; from < size; from += kTails) {
    const npy_intp count = std::min(kTails, size - from);
    series(from, count, missing);
    for (npy_intp i = 0; i < count; ++i) {
      left.places[left.count] = from + i;
      left.count += missing[i] == 0 ? 0 : 1;
    }
    const bool last = from + count == size;
    while (left.count >= (last ? 1 : kTails)) {
      const npy_intp some = std::min(kTails, left.count);
      left.count -= some;
      tails(left.places + left.count, some);
    }
  }
}

}  // namespace detail

namespace kernels {

struct standard_gamma_grad {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* shape, const T* drawn, T* out, npy_intp size) {
    using namespace vectors;
    const auto series = [&](npy_intp from, npy_intp count, double* term) {
      double a[kTails], x[kTails], gap[kTails], total[kTails];
      for (npy_intp i = 0; i < count; ++i) {
        const double given = shape[from + i], number = drawn[from + i];
        // Elsewhere much cancels, or there are many terms.
        const bool takes = given < 1000 && number < 2 * given + 20;
        a[i] = takes ? given : 1;
        x[i] = takes ? number : 1;
        term[i] = 1 / a[i];
        gap[i] = vectors::digamma<A>(a[i] + 1) - vectors::log<A>(x[i]);
      }
      sum_series<T>(term, gap, total, count, [&](npy_intp i, int n, double& one, double& difference) {
        const double inverse = 1 / (a[i] + (n + 1)), quotient = x[i] * inverse;
        one *= quotient;
        difference += inverse;
        return quotient;
      });
      for (npy_intp i = 0; i < count; ++i) {
        out[from + i] = static_cast<T>(x[i] * total[i]);
        term[i] = a[i] == shape[from + i] && x[i] == drawn[from + i] ? term[i] : 1;
      }
    };
    detail::in_parts(size, series, [&](const npy_intp* places, npy_intp count) {
      detail::gamma_tails<T, A>(shape, drawn, out, places, count);
    });
  }
};
GRADWRIGHT_KERNEL(standard_gamma_grad, 2, blocks, vectors)

struct dirichlet_grad {
  template <class T, class A = Baseline>
  static GRADWRIGHT_INLINE void block(const T* part, const T* alpha, const T* sum, T* out, npy_intp size) {
    using namespace vectors;
    const auto series = [&](npy_intp from, npy_intp count, double* term) {
      constexpr double least = std::numeric_limits<double>::min(), most = 1 - 0x1p-53;
      double x[kTails], own[kTails], all[kTails], less[kTails], gap[kTails], total[kTails], place[kTails];
      for (npy_intp i = 0; i < count; ++i) {
        const double given = part[from + i], low = given < least ? least : given;
        place[i] = low > most ? most : low;
        // Of the number or of what the others have, from the side that is nearer: the power series of F or of 1 - F.
        const bool near = place[i] <= 0.5;
        const double a = alpha[from + i], b = double(sum[from + i]) - a;
        x[i] = near ? place[i] : 1 - place[i];
        own[i] = near ? a : b;
        all[i] = a + b;
        less[i] = near ? 1 : 0;  // the gap of F falls by the inverse of `all`
        term[i] = 1 / own[i];
        const double logarithm = vectors::log<A>(place[i]) + vectors::digamma<A>(all[i]);
        gap[i] = vectors::digamma<A>(near ? a + 1 : a) - logarithm;
      }
      sum_series<T>(term, gap, total, count, [&](npy_intp i, int n, double& one, double& difference) {
        const double inverse = 1 / (own[i] + (n + 1)), quotient = x[i] * (all[i] + n) * inverse;
        one *= quotient;
        difference += less[i] * inverse - 1 / (all[i] + n);
        return quotient > x[i] ? quotient : x[i];
      });
      for (npy_intp i = 0; i < count; ++i) {
        out[from + i] = static_cast<T>((less[i] != 0 ? place[i] : -place[i]) * total[i]);
      }
    };
    detail::in_parts(size, series, [&](const npy_intp* places, npy_intp count) {
      detail::beta_tails<T, A>(part, alpha, sum, out, places, count);
    });
  }
};
GRADWRIGHT_KERNEL(dirichlet_grad, 3, blocks, vectors)

}  // namespace kernels

}  // namespace gradwright
