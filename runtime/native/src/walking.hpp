// Walking over several arrays together, whatever their strides.

#pragma once

#include <algorithm>
#include <array>

#include "core.hpp"
#include "loops.hpp"
#include "views.hpp"

namespace gradwright {

// Dimensions that `count` arrays are walked over together, the last one fastest.
template <int count>
struct Dims {
  int ndim = 0;
  npy_intp sizes[detail::kMostDims];
  npy_intp strides[detail::kMostDims][count];

  // A dimension within those that are there; one with the dimension around it where that is the same walk.
  template <class... Strides>
  void add(npy_intp size, Strides... given) {
    const npy_intp steps[] = {given...};
    if (size == 1) return;
    bool joins = ndim > 0;
    for (int k = 0; joins && k < count; ++k) joins = strides[ndim - 1][k] == steps[k] * size;
    if (!joins) sizes[ndim++] = 1;
    sizes[ndim - 1] *= size;
    std::copy_n(steps, count, strides[ndim - 1]);
  }
  npy_intp total() const {
    npy_intp all = 1;
    for (int d = 0; d < ndim; ++d) all *= sizes[d];
    return all;
  }
};

template <int count>
using Places = std::array<char*, count>;

// body(places) for those from `begin` to `end`, of all that there are.
template <int count, class Body>
GRADWRIGHT_INLINE void walk(const Dims<count>& loops, npy_intp begin, npy_intp end, Places<count> places, Body body) {
  if (begin >= end) return;
  npy_intp at[detail::kMostDims];
  npy_intp rest = begin;
  for (int d = loops.ndim - 1; d >= 0; --d) {
    at[d] = rest % loops.sizes[d];
    rest /= loops.sizes[d];
    for (int k = 0; k < count; ++k) places[k] += at[d] * loops.strides[d][k];
  }
  for (npy_intp i = begin;;) {
    body(places);
    if (++i == end) return;
    for (int d = loops.ndim - 1; d >= 0; --d) {
      for (int k = 0; k < count; ++k) places[k] += loops.strides[d][k];
      if (++at[d] < loops.sizes[d]) break;
      for (int k = 0; k < count; ++k) places[k] -= at[d] * loops.strides[d][k];
      at[d] = 0;
    }
  }
}

// The innermost dimension, taken out: the size and the strides of one row.
template <int count>
struct Row {
  npy_intp size = 1;
  std::array<npy_intp, count> strides{};
};
template <int count>
Row<count> take_row(Dims<count>& loops) {
  Row<count> row;
  if (loops.ndim == 0) return row;
  --loops.ndim;
  row.size = loops.sizes[loops.ndim];
  std::copy_n(loops.strides[loops.ndim], count, row.strides.begin());
  return row;
}

}  // namespace gradwright
