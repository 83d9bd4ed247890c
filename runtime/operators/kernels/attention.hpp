// Attention of several heads, forward and backward: native loops over float32 and float64 for what
// runtime/operators/kernels/attention.py does, under the same names.
//
// They take Tensors and give a tuple of arrays, and decline (null, no exception) whatever is unusual: other element types,
// shapes that do not fit.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(flash_attention, 7, tensors)
GRADWRIGHT_KERNEL(flash_attention_backward, 10, tensors)

}  // namespace kernels

}  // namespace gradwright
