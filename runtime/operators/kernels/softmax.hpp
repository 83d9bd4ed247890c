// Softmax and its logarithm, forward and backward: native loops over float32 and float64 for what runtime/operators/kernels/nn.py does,
// under the same names.
//
// They take Tensors and give arrays, and decline (null, no exception) whatever is unusual: arrays
// that are not contiguous, other element types, arguments that are an error. Dtypes are NumPy's.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(softmax_kernel, 3, tensors)
GRADWRIGHT_KERNEL(log_softmax_kernel, 3, tensors)
GRADWRIGHT_KERNEL(softmax_backward_data, 4, tensors)
GRADWRIGHT_KERNEL(log_softmax_backward_data, 4, tensors)

}  // namespace kernels

}  // namespace gradwright
