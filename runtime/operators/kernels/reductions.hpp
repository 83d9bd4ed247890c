// Reductions: native loops over float32 and float64 for what runtime/operators/kernels/reduction.py does, under the same names.
//
// They take Tensors and give arrays, and decline (null, no exception) whatever is unusual, as the loops of kernels.hpp do.
// Sums add up in NumPy's order (in pairs along the innermost dimension), so that results are those of `np.add.reduce`. No
// result depends on the number of threads.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(sum_all, 2, tensors)
GRADWRIGHT_KERNEL(sum_dim, 4, tensors)
GRADWRIGHT_KERNEL(mean_all, 2, tensors)
GRADWRIGHT_KERNEL(mean_dim, 4, tensors)
GRADWRIGHT_KERNEL(prod_all, 2, tensors)
GRADWRIGHT_KERNEL(prod_dim, 4, tensors)
GRADWRIGHT_KERNEL(amax, 3, tensors)
GRADWRIGHT_KERNEL(amin, 3, tensors)
GRADWRIGHT_KERNEL(max_all, 1, tensors)
GRADWRIGHT_KERNEL(min_all, 1, tensors)
GRADWRIGHT_KERNEL(max_dim, 3, tensors)
GRADWRIGHT_KERNEL(min_dim, 3, tensors)
GRADWRIGHT_KERNEL(var, 4, tensors)
GRADWRIGHT_KERNEL(std, 4, tensors)
GRADWRIGHT_KERNEL(logsumexp, 3, tensors)
GRADWRIGHT_KERNEL(linalg_vector_norm, 5, tensors)

}  // namespace kernels

}  // namespace gradwright
