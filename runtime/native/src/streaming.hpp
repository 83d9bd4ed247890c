// Writes around the caches. A store to memory that is in no cache first reads what it overwrites. Where operands and
// result together are more than the last cache holds, the result would leave it before anybody came to read it: so it
// goes to memory in whole lines, with stores that read nothing and keep nothing.

#pragma once

#include "core.hpp"
#include "memory.hpp"

#ifdef GRADWRIGHT_X86
#include <emmintrin.h>
#endif

namespace gradwright {

// Loops over more bytes than this, of operands and result, should write around the caches.
npy_intp streaming_size();

#ifdef GRADWRIGHT_X86
constexpr bool kCanStream = true;
// A line to an aligned place. To be followed by end_streaming() before another thread reads it.
//
// In halves, for processors that have such instructions: a fifth faster than in quarters. They are written as assembly, as
// a function that is compiled for all processors, and made part of one for newer ones, must not call their intrinsics.
template <bool in_halves>
inline __attribute__((always_inline)) void stream_line(void* to, const void* from) {
  if constexpr (in_halves) {
    struct __attribute__((may_alias)) Half {
      char bytes[32];
    };
    auto* lines = static_cast<Half*>(to);
    const auto* read = static_cast<const Half*>(from);
    for (int i = 0; i < 2; ++i) {
      asm("vmovdqa %1, %%ymm0\n\tvmovntdq %%ymm0, %0" : "=m"(lines[i]) : "m"(read[i]) : "xmm0");
    }
  } else {
    auto* lines = static_cast<__m128i*>(to);
    const auto* read = static_cast<const __m128i*>(from);
    for (int i = 0; i < 4; ++i) _mm_stream_si128(lines + i, _mm_load_si128(read + i));
  }
}
inline void end_streaming() { _mm_sfence(); }
#else
constexpr bool kCanStream = false;
template <bool in_halves>
inline void stream_line(void*, const void*) {}
inline void end_streaming() {}
#endif

}  // namespace gradwright
