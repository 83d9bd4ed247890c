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

Ref index(PyObject* self, PyObject* indices);
Ref index_put(PyObject* self, PyObject* indices, PyObject* values, PyObject* accumulate);

Ref index_select(PyObject* self, PyObject* dim, PyObject* index);
Ref index_add(PyObject* self, PyObject* dim, PyObject* index, PyObject* source, PyObject* alpha);
Ref index_copy(PyObject* self, PyObject* dim, PyObject* index, PyObject* source);
Ref index_fill(PyObject* self, PyObject* dim, PyObject* index, PyObject* value);

Ref take(PyObject* self, PyObject* index);
Ref put(PyObject* self, PyObject* index, PyObject* source, PyObject* accumulate);

Ref masked_select(PyObject* self, PyObject* mask);
Ref nonzero(PyObject* self);

Ref embedding(PyObject* weight, PyObject* indices, PyObject* padding_idx, PyObject* scale_grad_by_freq,
              PyObject* sparse);
Ref embedding_dense_backward(PyObject* grad_output, PyObject* indices, PyObject* num_weights, PyObject* padding_idx,
                             PyObject* scale_grad_by_freq);

}  // namespace kernels

// The same in place: false, without an exception, before anything is written.
namespace writers {

bool index_put(PyObject* self, PyObject* indices, PyObject* values, PyObject* accumulate);
bool index_add(PyObject* self, PyObject* dim, PyObject* index, PyObject* source, PyObject* alpha);
bool index_copy(PyObject* self, PyObject* dim, PyObject* index, PyObject* source);
bool index_fill(PyObject* self, PyObject* dim, PyObject* index, PyObject* value);
bool put(PyObject* self, PyObject* index, PyObject* source, PyObject* accumulate);

}  // namespace writers

namespace composites {

Ref one_hot(PyObject* self, PyObject* num_classes);

}  // namespace composites

}  // namespace gradwright
