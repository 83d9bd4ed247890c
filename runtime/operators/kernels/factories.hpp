// Tensors made from sizes and numbers: the kernels of runtime/operators/kernels/factory.py, for float32, float64 and int64, and
// zeros of everything.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(zeros, 2, tensors)
GRADWRIGHT_KERNEL(ones, 2, tensors)
GRADWRIGHT_KERNEL(empty, 2, tensors)
GRADWRIGHT_KERNEL(full, 3, tensors)
GRADWRIGHT_KERNEL(scalar_tensor, 2, tensors)

// In the shape, and where `dtype` is None in the dtype, of another tensor.
GRADWRIGHT_KERNEL(zeros_like, 2, tensors)
GRADWRIGHT_KERNEL(ones_like, 2, tensors)
GRADWRIGHT_KERNEL(empty_like, 2, tensors)
GRADWRIGHT_KERNEL(full_like, 3, tensors)
GRADWRIGHT_KERNEL(new_zeros, 3, tensors)
GRADWRIGHT_KERNEL(new_ones, 3, tensors)
GRADWRIGHT_KERNEL(new_empty, 3, tensors)
GRADWRIGHT_KERNEL(new_full, 4, tensors)

GRADWRIGHT_KERNEL(arange, 2, tensors)
GRADWRIGHT_KERNEL(arange_start, 3, tensors)
GRADWRIGHT_KERNEL(arange_start_step, 4, tensors)
GRADWRIGHT_KERNEL(linspace, 4, tensors)
GRADWRIGHT_KERNEL(eye, 2, tensors)
GRADWRIGHT_KERNEL(eye_m, 3, tensors)

}  // namespace kernels

}  // namespace gradwright
