// The loss of one class of several, forward and backward: native loops over float32 and float64 for what
// runtime/operators/kernels/loss.py does, under the same names.
//
// They take Tensors and give arrays, or a tuple of arrays, and decline (null, no exception) whatever is unusual: arrays
// that are not contiguous, other element types, arguments that are an error. Dtypes are NumPy's.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(nll_loss_forward, 5, tensors)
GRADWRIGHT_KERNEL(nll_loss_backward, 7, tensors)

}  // namespace kernels

}  // namespace gradwright
