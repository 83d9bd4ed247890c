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
    constexpr int lanes = 32;  // the compiler makes vectors of as many, and a chain of 16
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

// Elements that are computed with at once: as many as fill a register of AVX2. More go through memory where there are no
// wider registers, which takes ten times as long.
template <class T>
struct Register {
  static constexpr int kLanes = 32 / sizeof(T);
#if defined(__GNUC__) || defined(__clang__)
  typedef T Values __attribute__((vector_size(32)));
  Values values;
  static GRADWRIGHT_INLINE void load(const T* from, Register& to) { std::memcpy(&to.values, from, sizeof(Values)); }
  GRADWRIGHT_INLINE void add(const Register& other) { values += other.values; }
  GRADWRIGHT_INLINE void times(const Register& other) { values *= other.values; }
#else
  T values[kLanes];
  static void load(const T* from, Register& to) { std::memcpy(to.values, from, sizeof to.values); }
  void add(const Register& other) {
    for (int k = 0; k < kLanes; ++k) values[k] += other.values[k];
  }
  void times(const Register& other) {
    for (int k = 0; k < kLanes; ++k) values[k] *= other.values[k];
  }
#endif
};

// Eight elements, in one register or in two.
template <class T>
struct Eight {
  static constexpr int kLanes = Register<T>::kLanes, kParts = 8 / kLanes;
  Register<T> parts[kParts];
  static GRADWRIGHT_INLINE void load(const T* from, Eight& to) {
    for (int k = 0; k < kParts; ++k) Register<T>::load(from + k * kLanes, to.parts[k]);
  }
  GRADWRIGHT_INLINE void add(const Eight& other) {
    for (int k = 0; k < kParts; ++k) parts[k].add(other.parts[k]);
  }
  GRADWRIGHT_INLINE void times(const Eight& other) {
    for (int k = 0; k < kParts; ++k) parts[k].times(other.parts[k]);
  }
  GRADWRIGHT_INLINE T at(int k) const { return parts[k / kLanes].values[k % kLanes]; }
  GRADWRIGHT_INLINE T sum() const {
    return ((at(0) + at(1)) + (at(2) + at(3))) + ((at(4) + at(5)) + (at(6) + at(7)));
  }
};

}  // namespace gradwright
