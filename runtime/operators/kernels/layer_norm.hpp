// Layer normalization and that of groups of channels, forward and backward: native loops over float32 and float64 for what
// runtime/operators/kernels/nn.py and runtime/operators/composite/nn.py do, under the same names.
//
// They take Tensors and give a tuple of arrays, and decline (null, no exception) whatever is unusual: arrays
// that are not contiguous, other element types, arguments that are an error. Dtypes are NumPy's.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(native_layer_norm, 5, tensors)
GRADWRIGHT_KERNEL(native_layer_norm_backward, 8, tensors)
GRADWRIGHT_KERNEL(native_group_norm, 8, tensors)

}  // namespace kernels

namespace composites {

// Where nothing is recorded: a tuple of Tensors, and None for what nobody wants.
GRADWRIGHT_KERNEL(native_group_norm_backward, 10, composite, in_one_pass)

}  // namespace composites

}  // namespace gradwright
