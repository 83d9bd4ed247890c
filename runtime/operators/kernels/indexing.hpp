// Elements picked, written and added up by index tensors and masks: native loops for kernels of indexing.py,
// along_dimension.py, masking.py and nn.py in runtime/operators/kernels/, under the same names. Those by an index for each element are in
// gather_scatter.hpp.
//
// They decline (null, no exception) whatever is unusual or wrong: indices out of range above all, of which Python says what
// is wrong. Elements of any type that is 1, 2, 4, 8 or 16 bytes wide are moved as they are; sums are those of float32,
// float64 and int64, added in the order in which the Python kernels add them.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

GRADWRIGHT_KERNEL(index, 2, tensors)
GRADWRIGHT_KERNEL(index_put, 4, tensors)

GRADWRIGHT_KERNEL(index_select, 3, tensors)
GRADWRIGHT_KERNEL(index_add, 5, tensors)
GRADWRIGHT_KERNEL(index_copy, 4, tensors)
GRADWRIGHT_KERNEL(index_fill, 4, tensors)

GRADWRIGHT_KERNEL(take, 2, tensors)
GRADWRIGHT_KERNEL(put, 4, tensors)

GRADWRIGHT_KERNEL(masked_select, 2, tensors)
GRADWRIGHT_KERNEL(nonzero, 1, tensors)

GRADWRIGHT_KERNEL(embedding, 5, tensors)
GRADWRIGHT_KERNEL(embedding_dense_backward, 5, tensors)

}  // namespace kernels

// The same in place: false, without an exception, before anything is written.
namespace writers {

GRADWRIGHT_KERNEL(index_put, 4, in_place)
GRADWRIGHT_KERNEL(index_add, 5, in_place)
GRADWRIGHT_KERNEL(index_copy, 4, in_place)
GRADWRIGHT_KERNEL(index_fill, 4, in_place)
GRADWRIGHT_KERNEL(put, 4, in_place)

}  // namespace writers

namespace composites {

GRADWRIGHT_KERNEL(one_hot, 2, composite, by_values)

}  // namespace composites

}  // namespace gradwright
