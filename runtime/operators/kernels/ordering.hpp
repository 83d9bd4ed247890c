// Elements in order: native loops for what runtime/operators/kernels/ordering.py does, under the same names. NaN is the greatest value,
// and equal elements stay in the order in which they stand.
//
// They decline (null, no exception) other element types than float32, float64, int32 and int64.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(sort, 3, tensors)
GRADWRIGHT_KERNEL(sort_stable, 4, tensors)
GRADWRIGHT_KERNEL(topk, 5, tensors)

}  // namespace kernels

}  // namespace gradwright
