// Losses of each element by itself, and their gradients: native loops over float32 and float64 for what
// runtime/operators/kernels/loss.py does, under the same names.
//
// They take Tensors and give arrays, and decline (null, no exception) whatever is unusual, as the loops of kernels.hpp do.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(smooth_l1_loss, 4, tensors)
GRADWRIGHT_KERNEL(smooth_l1_loss_backward, 5, tensors)
GRADWRIGHT_KERNEL(huber_loss, 4, tensors)
GRADWRIGHT_KERNEL(huber_loss_backward, 5, tensors)
GRADWRIGHT_KERNEL(soft_margin_loss, 3, tensors)
GRADWRIGHT_KERNEL(soft_margin_loss_backward, 4, tensors)

}  // namespace kernels

}  // namespace gradwright
