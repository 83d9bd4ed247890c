// What takes NaN and infinities for something else: native loops over float32 and float64 for kernels of the same names in
// runtime/operators/kernels. They take Tensors and give arrays, and decline (null, no exception) whatever is unusual.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(nan_to_num, 4, tensors)
GRADWRIGHT_KERNEL(nansum, 4, tensors)

}  // namespace kernels

}  // namespace gradwright
