// The gradients of leaves.

#pragma once

#include "core.hpp"

namespace gradwright {

// Whether gradients of a leaf may be of another dtype than the leaf, as Tensor.grad_dtype says: Python knows of which.
bool may_have_grad_dtype(PyObject* leaf);
PyObject* expect_grad_dtypes(PyObject* self, PyObject*);

// Add `grad` to the gradient of a leaf in the usual cases; the others are Python's. -1 with an exception, 0 where it
// declines. `unshared`: nobody else holds the gradient.
int accumulate(PyObject* leaf, PyObject* grad, bool create_graph, bool unshared);

// Python's way, with the hooks of a leaf whose gradient is complete. The gradient, perhaps another.
Ref finish_with_hooks(PyObject* leaf, PyObject* grad, bool accumulate, bool create_graph, bool unshared);

// Whether only the caller holds a gradient, and nobody its memory.
bool is_unshared(PyObject* grad);

// A gradient that is a view of another Tensor which nobody holds but the view, as a Tensor of its own.
Ref without_base(Ref grad);

}  // namespace gradwright
