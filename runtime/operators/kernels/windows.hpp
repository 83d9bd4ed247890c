// Windows that move over the dimensions of planes.

#pragma once

#include <algorithm>

#include "core.hpp"

namespace gradwright {

// Sizes beyond are no sizes of arrays, and their products would not fit.
constexpr npy_intp kMostSize = npy_intp{1} << 31;

// Windows along one dimension.
struct Along {
  npy_intp size, count, kernel, stride, padding, dilation;

  // Where in the input the first window has its element of this number; negative in the padding.
  npy_intp start(npy_intp tap) const { return tap * dilation - padding; }
  // Of the windows those that have this element within the input.
  npy_intp first(npy_intp tap) const { return std::max<npy_intp>(0, (stride - 1 - start(tap)) / stride); }
  npy_intp end(npy_intp tap) const {
    const npy_intp last = size - 1 - start(tap);
    return last < 0 ? 0 : std::min(count, last / stride + 1);
  }
};

}  // namespace gradwright
