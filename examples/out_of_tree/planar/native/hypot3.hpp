// The kernel of kernels.py in C++: `gradwright build` makes loops over float32 and float64 of it.

#pragma once

#include "loops.hpp"

#include <cmath>

namespace gradwright::kernels {

struct hypot3 {
  template <class T>
  static T apply(T x, T y, T z) { return std::hypot(std::hypot(x, y), z); }
};
GRADWRIGHT_KERNEL(hypot3, 3, elements)

}  // namespace gradwright::kernels
