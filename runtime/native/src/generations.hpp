// Functions that are compiled for several generations of processors, and called as the best that this one has.

#pragma once

#include <limits>

#include "loops.hpp"

namespace gradwright {

namespace detail {

#ifdef GRADWRIGHT_X86
inline const int generation = cpu_generation();

template <class Body, class... Args>
__attribute__((target("avx2"))) auto run_avx2(Args... args) {
  return Body::run(args...);
}
template <class Body, class... Args>
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))) auto run_avx512(Args... args) {
  return Body::run(args...);
}
#endif

}  // namespace detail

// Body::run(args...), which has to be GRADWRIGHT_INLINE and the same to the last bit on every processor.
template <class Body, class... Args>
auto run_best(Args... args) {
#ifdef GRADWRIGHT_X86
  switch (detail::generation) {
    case 2:
      return detail::run_avx512<Body>(args...);
    case 1:
      return detail::run_avx2<Body>(args...);
    default:
      break;
  }
#endif
  return Body::run(args...);
}

namespace detail {

// The extremum of some lanes, half of them at a time; NaN where there is one.
template <bool largest, int lanes, class T>
GRADWRIGHT_INLINE T fold_lanes(T* bests, T* nans) {
  for (int k = 0; k < lanes / 2; ++k) {
    const T other = bests[k + lanes / 2];
    bests[k] = (largest ? other > bests[k] : other < bests[k]) ? other : bests[k];
    nans[k] += nans[k + lanes / 2];
  }
  if constexpr (lanes > 2) {
    return fold_lanes<largest, lanes / 2>(bests, nans);
  } else {
    return nans[0] != nans[0] ? nans[0] : bests[0];
  }
}

}  // namespace detail

// The largest element, or the smallest; NaN where there is one.
template <bool largest>
struct ExtremeElement {
  // What every other element beats.
  template <class T>
  static constexpr T start = largest ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  template <class T>
  static GRADWRIGHT_INLINE bool beats(T a, T b) {
    return largest ? a > b : a < b;
  }
  template <class T>
  static GRADWRIGHT_INLINE T run(const T* in, npy_intp size) {
    constexpr int lanes = 128 / sizeof(T);
    T best = start<T>;
    npy_intp i = 0;
    if (size >= lanes) {
      T bests[lanes], nans[lanes];  // no comparison finds a NaN: it is kept apart
      for (int k = 0; k < lanes; ++k) bests[k] = start<T>, nans[k] = 0;
      for (; i + lanes <= size; i += lanes) {
        for (int k = 0; k < lanes; ++k) {
          const T value = in[i + k];
          bests[k] = beats(value, bests[k]) ? value : bests[k];
          nans[k] = value != value ? value : nans[k];
        }
      }
      best = detail::fold_lanes<largest, lanes>(bests, nans);
    }
    for (; i < size; ++i) best = beats(in[i], best) || in[i] != in[i] ? in[i] : best;
    return best;
  }
};

// Eight elements that are computed with at once.
template <class T>
struct Eight {
#if defined(__GNUC__) || defined(__clang__)
  typedef T Values __attribute__((vector_size(8 * sizeof(T))));
  Values values;
  static GRADWRIGHT_INLINE void load(const T* from, Eight& to) { std::memcpy(&to.values, from, sizeof(Values)); }
  GRADWRIGHT_INLINE void add(const Eight& other) { values += other.values; }
  GRADWRIGHT_INLINE void times(const Eight& other) { values *= other.values; }
#else
  T values[8];
  static void load(const T* from, Eight& to) { std::memcpy(to.values, from, sizeof to.values); }
  void add(const Eight& other) {
    for (int k = 0; k < 8; ++k) values[k] += other.values[k];
  }
  void times(const Eight& other) {
    for (int k = 0; k < 8; ++k) values[k] *= other.values[k];
  }
#endif
  GRADWRIGHT_INLINE T sum() const {
    return ((values[0] + values[1]) + (values[2] + values[3])) + ((values[4] + values[5]) + (values[6] + values[7]));
  }
};

}  // namespace gradwright
