// What generated Nodes do with what they save: keep it, and read it back; `NodeClass::saved` says where
// it is.

#pragma once

#include "core.hpp"

namespace gradwright {

// Values that are no Tensors are kept as they are.
inline bool save(PyObject*& slot, Ref value) {
  slot = value.release();
  return slot != nullptr;
}
inline bool save(PyObject*& slot, PyObject* value) { return save(slot, Ref::borrow(value)); }

inline bool save_optional(SavedInput& slot, PyObject* tensor) {
  return tensor == Py_None || save(slot, tensor);
}
inline void set_optional_edge(Node* node, int index, PyObject* tensor) {
  if (tensor != Py_None) set_edge(node, index, tensor);
}

// A saved input or output, checked for writes since. The reference is owned: while a formula runs, another thread may
// free the Node.
inline Ref saved(Node* node, const char* name, const SavedInput& slot) {
  if (slot.has_history && slot.tensor != nullptr && !requires_grad(slot.tensor)) {
    raise_detached(node);
    return Ref();
  }
  return Ref::borrow(unpack(node, name, slot));
}
inline Ref saved(Node* node, const char* name, const SavedResult& slot) {
  return unpack(node, name, slot);
}
inline Ref saved(Node* node, const char*, PyObject* slot) {
  if (slot == nullptr) raise_freed(node);
  return Ref::borrow(slot);
}
// A saved output that has no gradient.
inline Ref saved_without_history(Node* node, const char* name, const SavedResult& slot) {
  return unpack(node, name, slot, false);
}

}  // namespace gradwright
