// Loops over operands that lie anywhere, and around the caches: they fill blocks for a loop over dense operands, and empty
// them. They hold no arithmetic, so one serves all functions.

#include "loops.hpp"

#include <algorithm>
#include <cstring>

namespace gradwright {

namespace detail {

namespace {

template <size_t item>
void copy(char* to, npy_intp to_step, const char* from, npy_intp from_step, npy_intp size) {
  for (npy_intp i = 0; i < size; ++i, to += to_step, from += from_step) std::memcpy(to, from, item);
}

// Bytes that are computed before they are written around the caches.
constexpr npy_intp kStreamedBytes = 8192;

template <class T, bool in_halves>
struct Streaming {
  static constexpr npy_intp kItem = sizeof(T), kLine = kLineBytes / kItem;

  static GRADWRIGHT_INLINE void run(char** args, npy_intp size, const npy_intp* steps, void* data) {
    const auto& body = *static_cast<const OwnBody*>(data);
    const int last = body.operands;
    alignas(kLineBytes) char block[kStreamedBytes], singles[kMostOperands][kStreamedBytes];
    char* from[kMostOperands + 1];
    npy_intp moves[kMostOperands + 1];
    std::copy_n(args, last + 1, from);
    std::copy_n(steps, last + 1, moves);
    for (int k = 0; k < last - body.singles && body.one_loop; ++k) {
      if (steps[k] != 0) continue;
      copy<sizeof(T)>(singles[k], kItem, args[k], 0, kStreamedBytes / kItem);
      from[k] = singles[k];
      moves[k] = kItem;
    }
    char* out = args[last];
    const auto compute = [&](npy_intp count, char* to) {
      from[last] = to;
      if (count > 0) body.function(from, &count, moves, data);
      for (int k = 0; k < last; ++k) from[k] += count * steps[k];
      out += count * kItem;
      size -= count;
    };
    const auto before = static_cast<npy_intp>(-reinterpret_cast<uintptr_t>(out) % kLineBytes / kItem);
    compute(std::min(size, before), out);
    while (size >= kLine) {
      char* to = out;
      const npy_intp count = std::min(size, kStreamedBytes / kItem) / kLine * kLine;
      compute(count, block);
      for (npy_intp i = 0; i < count * kItem; i += kLineBytes) stream_line<in_halves>(to + i, block + i);
    }
    compute(size, out);
  }
};

template <size_t item>
void run_in_blocks_of(const OwnBody& body, char** args, npy_intp size, const npy_intp* steps) {
  constexpr npy_intp kItem = item, kSize = kBlockBytes / kItem;
  if (size <= 0) return;
  const int last = body.operands, dense = last - body.singles;
  // A single element that moves is another one each time.
  const npy_intp most = are_all(steps + dense, body.singles, 0) ? kSize : 1;
  alignas(64) char copies[kMostOperands + 1][kBlockBytes];
  char* from[kMostOperands + 1];
  npy_intp moves[kMostOperands + 1];
  for (int k = 0; k <= last; ++k) {
    const bool is_single = k >= dense && k < last;
    moves[k] = is_single ? 0 : kItem;
    from[k] = copies[k];
    if (k < dense && steps[k] == 0) copy<item>(copies[k], kItem, args[k], 0, std::min(size, most));
  }
  for (npy_intp start = 0; start < size; start += most) {
    const npy_intp count = std::min(most, size - start);
    for (int k = 0; k <= last; ++k) {
      char* operand = args[k] + start * steps[k];
      if (steps[k] == kItem || moves[k] == 0) {
        from[k] = operand;
      } else if (k < last && steps[k] != 0) {
        copy<item>(copies[k], kItem, operand, steps[k], count);
      }
    }
    body.function(from, &count, moves, const_cast<OwnBody*>(&body));
    if (steps[last] != kItem) copy<item>(args[last] + start * steps[last], steps[last], copies[last], kItem, count);
  }
}

}  // namespace

void run_in_blocks(const OwnBody& body, size_t item, char** args, npy_intp size, const npy_intp* steps) {
  switch (item) {
    case 4:
      return run_in_blocks_of<4>(body, args, size, steps);
    case 8:
      return run_in_blocks_of<8>(body, args, size, steps);
    default:
      return run_in_blocks_of<16>(body, args, size, steps);
  }
}

LoopFunction streaming_loop(int type) {
  return type == NPY_FLOAT ? Generations<Streaming<float, false>, Streaming<float, true>>::best()
                           : Generations<Streaming<double, false>, Streaming<double, true>>::best();
}

}  // namespace detail

}  // namespace gradwright
