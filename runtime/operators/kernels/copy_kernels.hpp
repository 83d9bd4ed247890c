// Kernels that are made of copies (copies.hpp), of a whole array or of its parts. Each does what the Python one of its name
// does, and declines (null, no exception) whatever is unusual or wrong.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(clone, 1, tensors)
GRADWRIGHT_KERNEL(reshape_copy, 2, tensors)
GRADWRIGHT_KERNEL(flip, 2, tensors)
GRADWRIGHT_KERNEL(roll, 3, tensors)
GRADWRIGHT_KERNEL(tril, 2, tensors)
GRADWRIGHT_KERNEL(triu, 2, tensors)
GRADWRIGHT_KERNEL(cat, 2, tensors)
GRADWRIGHT_KERNEL(stack, 2, tensors)

}  // namespace kernels

}  // namespace gradwright
