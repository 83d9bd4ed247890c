// Functions that are compiled for several generations of processors, and called as the best that this one has.

#pragma once

#include "loops.hpp"

namespace gradwright {

namespace detail {

#ifdef GRADWRIGHT_X86
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

// Body::run(args...), which has to be GRADWRIGHT_INLINE and the same to the last bit at every level.
template <class Body, class... Args>
auto run_best(Args... args) {
#ifdef GRADWRIGHT_X86
  switch (cpu_level()) {
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
