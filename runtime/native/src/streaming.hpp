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
inline __attribute__((always_inline)) void stream_line(void* to, const void* from) {
  auto* lines = static_cast<__m128i*>(to);
  const auto* read = static_cast<const __m128i*>(from);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(lines + i, _mm_load_si128(read + i));
}
inline void end_streaming() { _mm_sfence(); }
#else
constexpr bool kCanStream = false;
inline void stream_line(void*, const void*) {}
inline void end_streaming() {}
#endif

}  // namespace gradwright
