// Gather and scatter: every element has an index of its own, in one dimension. Native loops for kernels of along_dimension.py
// in runtime/operators/kernels/, under the same names; they decline as those of indexing.hpp do.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(gather, 4, tensors)
GRADWRIGHT_KERNEL(scatter, 4, tensors)
GRADWRIGHT_KERNEL(scatter_value, 4, tensors)
GRADWRIGHT_KERNEL(scatter_add, 4, tensors)

}  // namespace kernels

// The same in place: false, without an exception, before anything is written.
namespace writers {

GRADWRIGHT_KERNEL(scatter, 4, in_place)
GRADWRIGHT_KERNEL(scatter_value, 4, in_place)
GRADWRIGHT_KERNEL(scatter_add, 4, in_place)

}  // namespace writers

namespace composites {

GRADWRIGHT_KERNEL(take_along_dim, 3, composite, by_sizes)

}  // namespace composites

}  // namespace gradwright
