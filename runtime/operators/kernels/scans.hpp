// Scans, each element with all before it along one dimension: native loops over float32 and float64, with the same results as
// `np.add.accumulate` and its like to the last bit, but for `logcumsumexp`. They decline as reductions do.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(cumsum, 3, tensors)
GRADWRIGHT_KERNEL(cumprod, 3, tensors)
GRADWRIGHT_KERNEL(logcumsumexp, 2, tensors)
// Values and places.
GRADWRIGHT_KERNEL(cummax, 2, tensors)
GRADWRIGHT_KERNEL(cummin, 2, tensors)

}  // namespace kernels

}  // namespace gradwright
