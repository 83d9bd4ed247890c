// What generated Nodes do with what they save: keep it, read it back, release it, and show it as `_saved_NAME`.

#pragma once

#include <type_traits>

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

inline void drop(PyObject*& slot) { Py_CLEAR(slot); }
inline void forget(PyObject*& slot) { drop(slot); }

template <class Slot>
void release_slot([[maybe_unused]] bool all, Slot& slot) {
  if constexpr (!std::is_same_v<Slot, PyObject*>) {
    release(slot);
  } else if (all) {
    drop(slot);
  }
}

template <class... Slots>
void release_all(bool all, Slots&... slots) {
  (release_slot(all, slots), ...);
}
inline void drop_nothing(Node*, bool) {}

inline int visit_slot(visitproc visit, void* arg, PyObject* slot) {
  return slot == nullptr ? 0 : visit(slot, arg);
}
inline int visit_slot(visitproc visit, void* arg, const SavedInput& slot) {
  return visit_slot(visit, arg, slot.tensor);
}
inline int visit_slot(visitproc visit, void* arg, const SavedResult& slot) {
  const int stop = visit_slot(visit, arg, slot.array);
  return stop != 0 ? stop : visit_slot(visit, arg, slot.writes);
}

template <class... Slots>
int visit_all(visitproc visit, void* arg, const Slots&... slots) {
  int stop = 0;
  (void)((stop = visit_slot(visit, arg, slots), stop != 0) || ...);
  return stop;
}
inline int visit_nothing(Node*, visitproc, void*) { return 0; }

// The getter of `_saved_NAME`; the name is the closure.
template <auto member, bool history = true>
PyObject* get_saved(PyObject* self, void* name);

namespace detail {

template <class N, class Slot>
N* node_of(PyObject* object, Slot N::*) {
  return static_cast<N*>(as_node(object));
}

// Only for its type.
template <class N, class Slot>
Slot slot_of(Slot N::*);

}  // namespace detail

template <auto member, bool history>
PyObject* get_saved(PyObject* self, void* name) {
  auto* node = detail::node_of(self, member);
  if constexpr (std::is_same_v<decltype(detail::slot_of(member)), SavedInput>) {
    return Ref::borrow(unpack(node, static_cast<const char*>(name), node->*member)).release();
  } else if constexpr (history) {
    return saved(node, static_cast<const char*>(name), node->*member).release();
  } else {
    return saved_without_history(node, static_cast<const char*>(name), node->*member).release();
  }
}

// Keep another Tensor, or None, in a slot, or leave it as if it were released. Not for users, to whom these attributes are read-only: for
// runtime.graph.recording, which takes saved Tensors out of a Node when hooks ask for them.
template <auto member>
int set_saved(PyObject* self, PyObject* value, void*) {
  auto& slot = detail::node_of(self, member)->*member;
  if (value == nullptr) {
    forget(slot);
    return 0;
  }
  drop(slot);
  return value == Py_None || save(slot, value) ? 0 : -1;
}

// An entry of the table of `_saved_NAME`; values that are no Tensors have no setter.
template <auto member, bool history = true>
constexpr PyGetSetDef saved_property(const char* attribute, const char* name) {
  using Slot = std::remove_reference_t<decltype(detail::slot_of(member))>;
  constexpr setter set = std::is_same_v<Slot, PyObject*> ? nullptr : set_saved<member>;
  return {attribute, get_saved<member, history>, set, nullptr, const_cast<char*>(name)};
}

}  // namespace gradwright
