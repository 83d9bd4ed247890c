// Copies between layouts.
//
// The dimensions are sorted as the result lies in memory, and neighbours that are one in both layouts are joined. What is
// left is gone through plane by plane: the innermost dimension of the result, and the one through which the source takes
// its shortest steps. Where that is another one, square tiles are transposed: each line of the cache is then read and
// written once.

#include "copies.hpp"

#include "loops.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "streaming.hpp"
#include "views.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gradwright {

namespace {

using detail::kMostDims;

struct Axis {
  npy_intp size = 1;
  npy_intp from = 0, to = 0;  // steps in bytes
};

template <class U>
GRADWRIGHT_INLINE void move(const char* from, char* to) {
  U element;
  std::memcpy(&element, from, sizeof(U));
  std::memcpy(to, &element, sizeof(U));
}

// Elements that lie `step` apart, or one repeated, into a dense row.
template <class U>
GRADWRIGHT_INLINE void move_row(const char* from, npy_intp step, char* to, npy_intp size) {
  constexpr auto item = static_cast<npy_intp>(sizeof(U));
  if (step == 0) {
    U element;
    std::memcpy(&element, from, sizeof(U));
    for (npy_intp i = 0; i < size; ++i) std::memcpy(to + i * item, &element, sizeof(U));
  } else if (step == -item) {
    for (npy_intp i = 0; i < size; ++i) move<U>(from - i * item, to + i * item);
  } else {
    for (npy_intp i = 0; i < size; ++i) move<U>(from + i * step, to + i * item);
  }
}

// Element by element, along the longer axis inside.
template <class U>
void move_each(const char* from, char* to, Axis across, Axis along) {
  if (across.size > along.size) std::swap(across, along);
  for (npy_intp i = 0; i < across.size; ++i, from += across.from, to += across.to) {
    if (along.to == sizeof(U)) {
      move_row<U>(from, along.from, to, along.size);
    } else {
      for (npy_intp j = 0; j < along.size; ++j) move<U>(from + j * along.from, to + j * along.to);
    }
  }
}

// Rows that are dense in both; for short ones a call would cost more than they do.
template <class U>
void move_rows(const char* from, char* to, Axis across, Axis along) {
  constexpr npy_intp kShort = 256, kPiece = sizeof(Wide);
  const npy_intp bytes = along.size * static_cast<npy_intp>(sizeof(U));
  for (npy_intp i = 0; i < across.size; ++i, from += across.from, to += across.to) {
    if (bytes > kShort) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
      continue;
    }
    npy_intp done = 0;
    for (; done + kPiece <= bytes; done += kPiece) move<Wide>(from + done, to + done);
    for (; done < bytes; done += sizeof(U)) move<U>(from + done, to + done);
  }
}

#ifdef GRADWRIGHT_X86
// The elements of two registers in turn: those of the lower halves, or of the upper ones.
template <class U, bool upper>
GRADWRIGHT_INLINE __m128i interleave(__m128i a, __m128i b) {
  if constexpr (sizeof(U) == 1) return upper ? _mm_unpackhi_epi8(a, b) : _mm_unpacklo_epi8(a, b);
  if constexpr (sizeof(U) == 2) return upper ? _mm_unpackhi_epi16(a, b) : _mm_unpacklo_epi16(a, b);
  if constexpr (sizeof(U) == 4) return upper ? _mm_unpackhi_epi32(a, b) : _mm_unpacklo_epi32(a, b);
  return upper ? _mm_unpackhi_epi64(a, b) : _mm_unpacklo_epi64(a, b);
}

// A square of elements, each row of which fills a register, with rows and columns exchanged: a perfect shuffle of all
// elements exchanges them when it is done as often as the number of rows is a power of two.
template <class U>
GRADWRIGHT_INLINE void transpose_square(const char* from, npy_intp from_step, char* to, npy_intp to_step) {
  constexpr int lanes = sizeof(__m128i) / sizeof(U);
  __m128i rows[lanes], shuffled[lanes];
  for (int k = 0; k < lanes; ++k) rows[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k * from_step));
  for (int done = 1; done < lanes; done *= 2) {
    for (int k = 0; k < lanes / 2; ++k) {
      shuffled[2 * k] = interleave<U, false>(rows[k], rows[k + lanes / 2]);
      shuffled[2 * k + 1] = interleave<U, true>(rows[k], rows[k + lanes / 2]);
    }
    std::copy_n(shuffled, lanes, rows);
  }
  for (int k = 0; k < lanes; ++k) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + k * to_step), rows[k]);
}
#endif

// The result is dense along one axis, the source across it: tiles as wide and as high as a line of the cache.
template <class U>
struct Tiles {
  static constexpr npy_intp kSide = kLineBytes / static_cast<npy_intp>(sizeof(U));

  static GRADWRIGHT_INLINE void whole(const char* from, npy_intp from_step, char* to, npy_intp to_step) {
    alignas(kLineBytes) char tile[kSide][kLineBytes];
    for (npy_intp k = 0; k < kSide; ++k) {  // lines of the tile after the next: steps are too long for the processor's guess
      fetch<false>(from + (2 * kSide + k) * from_step);
      fetch<true>(to + k * to_step + 2 * kLineBytes);
    }
#ifdef GRADWRIGHT_X86
    constexpr npy_intp kWidth = sizeof(__m128i), kLanes = kWidth / static_cast<npy_intp>(sizeof(U));
    for (npy_intp j = 0; j < kSide; j += kLanes) {
      for (npy_intp i = 0; i < kLineBytes; i += kWidth) {
        const char* source = from + j * from_step + i;
        transpose_square<U>(source, from_step, tile[i / sizeof(U)] + j * sizeof(U), kLineBytes);
      }
    }
#else
    for (npy_intp j = 0; j < kSide; ++j) {
      for (npy_intp i = 0; i < kSide; ++i) move<U>(from + j * from_step + i * sizeof(U), tile[i] + j * sizeof(U));
    }
#endif
    for (npy_intp i = 0; i < kSide; ++i) std::memcpy(to + i * to_step, tile[i], kLineBytes);
  }
  static void run(const char* from, char* to, Axis across, Axis along) {
    for (npy_intp i = 0; i < across.size; i += kSide) {
      const npy_intp height = std::min(kSide, across.size - i);
      for (npy_intp j = 0; j < along.size; j += kSide) {
        const npy_intp width = std::min(kSide, along.size - j);
        const char* source = from + i * across.from + j * along.from;
        char* target = to + i * across.to + j * along.to;
        if (width == kSide && height == kSide) {
          whole(source, along.from, target, across.to);
        } else {
          move_each<U>(source, target, {height, across.from, across.to}, {width, along.from, along.to});
        }
      }
    }
  }

 private:
  template <bool to_write>
  static GRADWRIGHT_INLINE void fetch([[maybe_unused]] const char* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address, to_write);
#endif
  }
};

using Plane = void (*)(const char* from, char* to, Axis across, Axis along);

// How a plane is copied, and by how many rows of it at a time.
struct Way {
  Plane plane;
  npy_intp rows;
};

template <class U>
Way way_for(const Axis& across, const Axis& along) {
  constexpr npy_intp item = sizeof(U), kSide = Tiles<U>::kSide;
  const npy_intp rows = std::max<npy_intp>(1, kGrain / 4 / along.size);
  if (along.from == item && along.to == item) return {move_rows<U>, rows};
  const bool transposed = across.from == item && along.to == item;
  if (!transposed || across.size < kSide || along.size < kSide) return {move_each<U>, rows};
  return {Tiles<U>::run, (rows + kSide - 1) / kSide * kSide};
}

Way way_for(npy_intp item, const Axis& across, const Axis& along) {
  switch (item) {
    case 1: return way_for<uint8_t>(across, along);
    case 2: return way_for<uint16_t>(across, along);
    case 4: return way_for<uint32_t>(across, along);
    case 8: return way_for<uint64_t>(across, along);
    default: return way_for<Wide>(across, along);
  }
}

// The dimensions from the outermost to the innermost of the result, joined.
struct Walk {
  int count = 0;
  Axis axes[kMostDims];

  Walk(int ndim, const npy_intp* sizes, const npy_intp* from, const npy_intp* to) {
    for (int i = 0; i < ndim; ++i) {
      if (sizes[i] == 1) continue;
      int place = count++;
      for (; place > 0 && std::abs(axes[place - 1].to) < std::abs(to[i]); --place) axes[place] = axes[place - 1];
      axes[place] = {sizes[i], from[i], to[i]};
    }
    int joined = 0;
    for (int i = 1; i < count; ++i) {
      Axis& before = axes[joined];
      const Axis& next = axes[i];
      if (before.from == next.from * next.size && before.to == next.to * next.size) {
        before = {before.size * next.size, next.from, next.to};
      } else {
        axes[++joined] = next;
      }
    }
    count = std::min(count, joined + 1);
  }
  Axis take(int place) {
    const Axis axis = axes[place];
    std::copy(axes + place + 1, axes + count, axes + place);
    --count;
    return axis;
  }
  npy_intp total() const {
    npy_intp product = 1;
    for (int i = 0; i < count; ++i) product *= axes[i].size;
    return product;
  }
};

}  // namespace

void copy_places(int ndim, const npy_intp* sizes, Strided from, Strided to, npy_intp item) {
  const npy_intp size = detail::product(sizes, ndim);
  if (size == 0) return;
  Walk walk(ndim, sizes, from.strides, to.strides);
  Axis along = walk.count > 0 ? walk.take(walk.count - 1) : Axis{1, item, item}, across;
  if (walk.count == 0 && along.size > kGrain) {  // one long row, in pieces
    across = {along.size / kGrain, along.from * kGrain, along.to * kGrain};
    const npy_intp whole = across.size * kGrain, rest = along.size - whole;
    const npy_intp steps[] = {along.from, along.to};
    copy_places(1, &rest, {from.data + whole * along.from, steps}, {to.data + whole * along.to, steps + 1}, item);
    along.size = kGrain;
  } else if (walk.count > 0) {
    const auto shorter = [](const Axis& a, const Axis& b) { return std::abs(a.from) < std::abs(b.from); };
    const Axis* best = along.from == item ? &walk.axes[walk.count - 1]
                                          : std::min_element(walk.axes, walk.axes + walk.count, shorter);
    across = walk.take(static_cast<int>(best - walk.axes));
  }
  const Way way = way_for(item, across, along);
  const npy_intp strips = (across.size + way.rows - 1) / way.rows;
  const auto copy = [&](npy_intp begin, npy_intp end) {
    for (npy_intp unit = begin; unit < end; ++unit) {
      npy_intp rest = unit / strips, first = unit % strips * way.rows;
      const char* source = from.data + first * across.from;
      char* target = to.data + first * across.to;
      for (int i = walk.count - 1; i >= 0; --i) {
        const Axis& axis = walk.axes[i];
        source += rest % axis.size * axis.from;
        target += rest % axis.size * axis.to;
        rest /= axis.size;
      }
      way.plane(source, target, {std::min(way.rows, across.size - first), across.from, across.to}, along);
    }
  };
  const ReleaseGil without_gil(size > kGrain);
  parallel_for(strips * walk.total(), std::max<npy_intp>(1, kGrain / (way.rows * along.size)), copy);
}

bool is_movable(PyArrayObject* array) {
  const npy_intp item = PyArray_ITEMSIZE(array);
  return (item == 1 || item == 2 || item == 4 || item == 8 || item == 16) && !PyDataType_REFCHK(PyArray_DESCR(array)) &&
         PyArray_NDIM(array) <= kMostDims;
}

void copy_part(PyArrayObject* array, Strided to) {
  copy_places(PyArray_NDIM(array), PyArray_DIMS(array), {PyArray_BYTES(array), PyArray_STRIDES(array)}, to,
              PyArray_ITEMSIZE(array));
}

bool copy_array(PyArrayObject* from, PyArrayObject* to) {
  if (PyArray_DESCR(from) != PyArray_DESCR(to) || !PyArray_SAMESHAPE(from, to) || !is_movable(from)) return false;
  const auto held = hold(from, to);
  copy_part(from, {PyArray_BYTES(to), PyArray_STRIDES(to)});
  return true;
}

bool may_overlap(PyArrayObject* a, PyArrayObject* b) {
  const auto bounds = [](PyArrayObject* array) {
    const char *low = PyArray_BYTES(array), *high = low + PyArray_ITEMSIZE(array);
    for (int i = 0; i < PyArray_NDIM(array); ++i) {
      const npy_intp far = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
      (far < 0 ? low : high) += far;
    }
    return std::pair(low, high);
  };
  if (PyArray_SIZE(a) == 0 || PyArray_SIZE(b) == 0) return false;
  const auto first = bounds(a), second = bounds(b);
  return first.first < second.second && second.first < first.second;
}

Ref contiguous_copy(PyArrayObject* array, char* data, const npy_intp* strides, int ndim, const npy_intp* sizes) {
  Ref out = new_array_of(array, ndim, sizes);
  if (!out) return out;
  npy_intp dense[kMostDims], step = PyArray_ITEMSIZE(array);
  for (int i = PyArray_NDIM(array) - 1; i >= 0; --i) {
    dense[i] = step;
    step *= PyArray_DIM(array, i);
  }
  const auto held = hold(array);
  copy_places(PyArray_NDIM(array), PyArray_DIMS(array), {data, strides}, {PyArray_BYTES(as_ndarray(out)), dense},
              PyArray_ITEMSIZE(array));
  return out;
}

Ref contiguous_copy(PyArrayObject* array) {
  if (!is_movable(array)) return Ref();
  return contiguous_copy(array, PyArray_BYTES(array), PyArray_STRIDES(array), PyArray_NDIM(array), PyArray_DIMS(array));
}

}  // namespace gradwright
