// Halves of an array that gate each other: native loops over float32 and float64 for what runtime/operators/kernels/nn.py does, under
// the same names. They take Tensors and give arrays, and decline (null, no exception) whatever is unusual.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(glu, 2, tensors)

}  // namespace kernels

}  // namespace gradwright
