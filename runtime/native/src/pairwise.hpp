// Sums in pairs, in the order that NumPy adds in: eight partial sums over at most 128 elements, and halves of anything
// longer. The error grows with the logarithm of the size.

#pragma once

#include "parallel.hpp"

#include <vector>

namespace gradwright {

constexpr npy_intp kPairwiseBlock = 128;

// Where a sum over `size` elements is cut in two.
inline npy_intp pairwise_half(npy_intp size) {
  const npy_intp half = size / 2;
  return half - half % 8;
}

// The sum of load(begin), load(begin + 1), ...; -0.0 for none, so that it changes nothing that it is added to.
template <class T, class Load>
T pairwise(npy_intp begin, npy_intp size, const Load& load) {
  if (size < 8) {
    T sum = T(-0.0);
    for (npy_intp i = begin; i < begin + size; ++i) sum += load(i);
    return sum;
  }
  if (size > kPairwiseBlock) {
    const npy_intp half = pairwise_half(size);
    const T left = pairwise<T>(begin, half, load);
    return left + pairwise<T>(begin + half, size - half, load);
  }
  T sums[8];
  for (int k = 0; k < 8; ++k) sums[k] = load(begin + k);
  const npy_intp end = begin + size, whole = begin + size - size % 8;
  for (npy_intp i = begin + 8; i < whole; i += 8) {
    for (int k = 0; k < 8; ++k) sums[k] += load(i + k);
  }
  T sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (npy_intp i = whole; i < end; ++i) sum += load(i);
  return sum;
}

// Dense elements: the same sum, with the instructions that this processor has.
float sum_dense(const float* in, npy_intp size);
double sum_dense(const double* in, npy_intp size);
// The sum of a[i] * b[i].
float dot_dense(const float* a, const float* b, npy_intp size);
double dot_dense(const double* a, const double* b, npy_intp size);

namespace detail {

struct Piece {
  npy_intp begin, size;
};

inline void cut(npy_intp begin, npy_intp size, npy_intp most, std::vector<Piece>& pieces) {
  if (size <= most) {
    pieces.push_back({begin, size});
    return;
  }
  const npy_intp half = pairwise_half(size);
  cut(begin, half, most, pieces);
  cut(begin + half, size - half, most, pieces);
}

template <class T>
T join(npy_intp size, npy_intp most, const T*& sums) {
  if (size <= most) return *sums++;
  const npy_intp half = pairwise_half(size);
  const T left = join(half, most, sums);
  return left + join(size - half, most, sums);
}

}  // namespace detail

// The same sum, on several threads where there are more than `grain` elements: the same additions in the same order.
// `part(begin, size)` sums a part of the whole on this thread.
template <class T, class Part>
T parallel_pairwise(npy_intp size, npy_intp grain, const Part& part) {
  const npy_intp most = grain < kPairwiseBlock ? kPairwiseBlock : grain;
  if (size <= 2 * most || num_threads() == 1 || in_parallel()) return part(npy_intp{0}, size);
  std::vector<detail::Piece> pieces;
  detail::cut(0, size, most, pieces);
  std::vector<T> sums(pieces.size());
  parallel_for(static_cast<npy_intp>(pieces.size()), 1, [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; ++i) sums[i] = part(pieces[i].begin, pieces[i].size);
  });
  const T* next = sums.data();
  return detail::join(size, most, next);
}

}  // namespace gradwright
