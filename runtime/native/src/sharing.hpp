// Tensors over the same memory: the ring they stand in, the count of writes they share, and how views are made. What
// runtime/base/sharing.py and runtime/graph/views.py do without a core is done here.

#pragma once

#include "core.hpp"

namespace gradwright {

// Take a Tensor out of its ring.
inline void leave_ring(Tensor* tensor) {
  if (tensor->next == nullptr) return;
  tensor->previous->next = tensor->next;
  tensor->next->previous = tensor->previous;
  tensor->next = tensor->previous = nullptr;
}

// Let `writes` be a list, the same in all of the ring. False, with an exception, when memory is short.
bool make_counter(Tensor* tensor);

// A new view of `base` over `array` (taken), which is some elements of its array; `multi` where it is one of several
// results. Null with an exception where it fails.
Ref new_view(Ref array, PyObject* base, bool multi = false);

// Let `tensor`, new and in no ring, share the memory and the count of writes of `other`.
void share_memory(Tensor* tensor, Tensor* other);

// A tuple of views of `base` over a list or tuple of arrays.
Ref view_tuple(PyObject* arrays, PyObject* base);

// Find the marks of views in runtime.base.state.MARKS, which is installed by then.
bool load_marks();

// The functions of the module.
PyObject* view_of(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* share(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* shares(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* counter(PyObject*, PyObject* tensor);
PyObject* views_over(PyObject*, PyObject* tensor);

}  // namespace gradwright
