// NodeBase: the members of runtime.graph.node.Node as a C struct; the Python classes of generated Nodes; saved state.

#include "core.hpp"
#include "names.hpp"
#include "sharing.hpp"
#include "types.hpp"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

namespace gradwright {

namespace {

PyMemberDef members[] = {
    {"_extra", T_OBJECT_EX, offsetof(Node, extra), 0, nullptr},
    {"edges", T_OBJECT_EX, offsetof(Node, edges), 0, nullptr},
    {"shape", T_OBJECT_EX, offsetof(Node, shape), 0, nullptr},
    {"dtype", T_OBJECT_EX, offsetof(Node, dtype), 0, nullptr},
    {"sequence_nr", T_LONGLONG, offsetof(Node, sequence_nr), 0, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Node, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

int traverse_base(PyObject* self, visitproc visit, void* arg) {
  Node* node = as_node(self);
  Py_VISIT(node->extra);
  Py_VISIT(node->edges);
  Py_VISIT(node->shape);
  Py_VISIT(node->dtype);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

// Breaks cycles. Somebody may still look: what is left is a Node without edges, whose saved state is freed.
int clear_base(PyObject* self) {
  Node* node = as_node(self);
  if (node->extra != nullptr) Py_SETREF(node->extra, Py_NewRef(Py_None));
  if (node->edges != nullptr) {
    PyObject* none = PyTuple_New(0);  // there is one, which is given out again and again
    if (none != nullptr) Py_SETREF(node->edges, none);
  }
  return 0;
}

void drop_members(Node* node) {
  Py_CLEAR(node->extra);
  Py_CLEAR(node->edges);
  Py_CLEAR(node->shape);
  Py_CLEAR(node->dtype);
}

void dealloc_base(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_node(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  Py_TRASHCAN_BEGIN(self, dealloc_base);
  drop_members(as_node(self));
  type->tp_free(self);
  Py_DECREF(type);
  Py_TRASHCAN_END;
}

PyType_Slot base_slots[] = {
    {Py_tp_doc, const_cast<char*>("The state of a Node, as runtime/graph/node.py describes it.")},
    {Py_tp_members, members},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_base)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_base)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_base)},
    {0, nullptr},
};

PyType_Spec base_spec = {
    RUNTIME_NAME("native.NodeBase"),
    static_cast<int>(sizeof(Node)),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    base_slots,
};

// -- generated classes
//
// A graph of generated Nodes has no cycles of its own, and there are many of them: the collector does not follow a new
// Node, so it is made and freed as quickly as memory is. Cycles come with what leads from an older object to a newer
// one: a gradient that was recorded, hooks, what users keep on Nodes and Tensors. So all Nodes that are not followed
// stand in a list, and before a collection that may find such a cycle the collector gets them.

struct Unfollowed {
  Node* newest = nullptr;
  bool cycles_expected = false;

  void add(Node* node) {
    node->older = newest;
    if (newest != nullptr) newest->newer = node;
    newest = node;
  }
  // Also of one that is not in the list.
  void remove(Node* node) {
    if (node->newer != nullptr) {
      node->newer->older = node->older;
    } else if (newest == node) {
      newest = node->older;
    }
    if (node->older != nullptr) node->older->newer = node->newer;
    node->newer = node->older = nullptr;
  }
  void follow(Node* node) {
    remove(node);
    if (!PyObject_GC_IsTracked(reinterpret_cast<PyObject*>(node))) PyObject_GC_Track(node);
  }
};
Unfollowed unfollowed;

// -- what is saved

template <class T>
T& at(Node* node, const SavedSlot& slot) {
  return *reinterpret_cast<T*>(reinterpret_cast<char*>(node) + slot.offset);
}

int visit_slot(Node* node, const SavedSlot& slot, visitproc visit, void* arg) {
  switch (slot.kind) {
    case SlotKind::kValue:
      Py_VISIT(at<PyObject*>(node, slot));
      break;
    case SlotKind::kInput:
      Py_VISIT(at<SavedInput>(node, slot).tensor);
      break;
    default:
      Py_VISIT(at<SavedResult>(node, slot).array);
      Py_VISIT(at<SavedResult>(node, slot).writes);
  }
  return 0;
}

// `_saved_NAME`; the slot is the closure.
PyObject* get_saved(PyObject* self, void* closure) {
  Node* node = as_node(self);
  const auto& slot = *static_cast<const SavedSlot*>(closure);
  const char* name = slot.property + std::strlen("_saved_");
  if (slot.kind == SlotKind::kInput) return Ref::borrow(unpack(node, name, at<SavedInput>(node, slot))).release();
  if (slot.kind != SlotKind::kValue) {
    return unpack(node, name, at<SavedResult>(node, slot), slot.kind == SlotKind::kResult).release();
  }
  PyObject* value = at<PyObject*>(node, slot);
  if (value == nullptr) raise_freed(node);
  return Py_XNewRef(value);
}

template <class Slot>
int keep(Slot& slot, PyObject* value) {
  if (value == nullptr) {
    forget(slot);
    return 0;
  }
  drop(slot);
  return value == Py_None || save(slot, value) ? 0 : -1;
}

// Keep another Tensor, or None, in a slot, or leave it as if it were released. Not for users, to whom these attributes are
// read-only: for runtime.graph.recording, which takes saved Tensors out of a Node when hooks ask for them.
int set_saved(PyObject* self, PyObject* value, void* closure) {
  Node* node = as_node(self);
  const auto& slot = *static_cast<const SavedSlot*>(closure);
  return slot.kind == SlotKind::kInput ? keep(at<SavedInput>(node, slot), value)
                                       : keep(at<SavedResult>(node, slot), value);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Node* node = as_node(self);
  PyObject** edges = edges_of(node);
  for (int i = 0; i < node->cls->edges; ++i) Py_VISIT(edges[i]);
  for (const SavedSlot& slot : node->cls->saved) {
    if (int stop = visit_slot(node, slot, visit, arg)) return stop;
  }
  return traverse_base(self, visit, arg);
}

// What a generated Node saved, and where its gradients go.
void drop_graph(Node* node) {
  release_saved(node);
  for (const SavedSlot& slot : node->cls->saved) {
    if (slot.kind == SlotKind::kValue) Py_CLEAR(at<PyObject*>(node, slot));
  }
  PyObject** edges = edges_of(node);
  for (int i = 0; i < node->cls->edges; ++i) Py_CLEAR(edges[i]);
}

int clear(PyObject* self) {
  Node* node = as_node(self);
  drop_graph(node);
  return clear_base(self);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Node* node = as_node(self);
  unfollowed.remove(node);
  PyObject_GC_UnTrack(self);
  if (node->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  Py_TRASHCAN_BEGIN(self, dealloc);
  drop_graph(node);
  drop_members(node);
  PyObject_GC_Del(self);
  Py_DECREF(type);
  Py_TRASHCAN_END;
}

PyObject* get_edges(PyObject* self, void*) {
  Node* node = as_node(self);
  const int count = node->cls->edges;
  PyObject* result = PyTuple_New(count + node->cls->numbers);
  if (result == nullptr) return nullptr;
  for (int i = 0; i < count + node->cls->numbers; ++i) {
    PyObject* edge = i < count ? edges_of(node)[i] : nullptr;
    PyTuple_SET_ITEM(result, i, Py_NewRef(edge == nullptr ? Py_None : edge));
  }
  return result;
}

PyObject* get_shape(PyObject* self, void*) {
  Node* node = as_node(self);
  return node->ndim < 0 ? Py_NewRef(node->shape) : tuple_of(node->dims, node->ndim).release();
}

PyObject* py_apply(PyObject* self, PyObject* grad) {
  Node* node = as_node(self);
  const int count = node->cls->edges + node->cls->numbers;
  PyObject* result = PyTuple_New(count);
  if (result == nullptr) return nullptr;
  PyObject* found[kMostEdges] = {};
  if (count > kMostEdges) {
    Py_DECREF(result);
    PyErr_SetString(PyExc_SystemError, "a generated Node has too many edges");
    return nullptr;
  }
  const Ref held = Ref::borrow(grad);  // the caller may have lent its only reference
  const bool done = node->cls->apply(node, grad, found);
  for (int i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(result, i, found[i] == nullptr ? Py_NewRef(Py_None) : found[i]);
  }
  if (!done) {
    Py_DECREF(result);
    return nullptr;
  }
  return result;
}

PyObject* py_release(PyObject* self, PyObject*) {
  release_saved(as_node(self));
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"apply", py_apply, METH_O, "The gradients of the inputs, one for each edge."},
    {"release", py_release, METH_NOARGS, "Drop the saved state."},
    {nullptr, nullptr, 0, nullptr},
};

// The Python class of each generated class that was made.
std::unordered_map<const NodeClass*, PyTypeObject*>& classes() {
  static std::unordered_map<const NodeClass*, PyTypeObject*> made;
  return made;
}

}  // namespace

Ref tuple_of(const npy_intp* sizes, int count) {
  struct Known {
    PyObject* tuple;
    npy_intp sizes[kInlineDims];
  };
  static Known known[64];
  Known* place = nullptr;
  if (count <= kInlineDims) {
    size_t hash = static_cast<size_t>(count);
    for (int i = 0; i < count; ++i) hash = (hash ^ static_cast<size_t>(sizes[i])) * 0x9E3779B97F4A7C15ull;
    place = &known[hash >> 58];
    if (place->tuple != nullptr && PyTuple_GET_SIZE(place->tuple) == count &&
        std::equal(sizes, sizes + count, place->sizes)) {
      return Ref::borrow(place->tuple);
    }
  }
  Ref made(PyTuple_New(count));
  for (int i = 0; made && i < count; ++i) {
    PyObject* size = PyLong_FromSsize_t(sizes[i]);
    if (size == nullptr) return Ref();
    PyTuple_SET_ITEM(made.get(), i, size);
  }
  if (made && place != nullptr) {
    std::copy_n(sizes, count, place->sizes);
    Ref old(std::exchange(place->tuple, Py_NewRef(made.get())));
  }
  return made;
}

void release_saved(Node* node) {
  for (const SavedSlot& slot : node->cls->saved) {
    if (slot.kind == SlotKind::kInput) {
      release(at<SavedInput>(node, slot));
    } else if (slot.kind != SlotKind::kValue) {
      release(at<SavedResult>(node, slot));
    }
  }
}

PyObject* make_node_base(PyObject* module) { return PyType_FromModuleAndSpec(module, &base_spec, nullptr); }

PyObject* make_node_class(PyObject* extension, const NodeClass* cls, const std::string& module) {
  // The table of getters must live as long as the type.
  static PyGetSetDef common[] = {
      {"edges", get_edges, nullptr, "Where the gradients of the inputs go.", nullptr},
      {"shape", get_shape, nullptr, "The shape of the output.", nullptr},
  };
  auto* table = static_cast<PyGetSetDef*>(PyMem_Calloc(cls->saved.count + 3, sizeof(PyGetSetDef)));
  if (table == nullptr) return PyErr_NoMemory();
  PyGetSetDef* next = std::copy(std::begin(common), std::end(common), table);
  for (const SavedSlot& slot : cls->saved) {
    if (slot.property == nullptr) continue;
    const setter set = slot.kind == SlotKind::kValue ? nullptr : set_saved;  // values that are no Tensors have none
    *next++ = {slot.property, get_saved, set, nullptr, const_cast<SavedSlot*>(&slot)};
  }
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(cls->schema)},
      {Py_tp_methods, methods},
      {Py_tp_getset, table},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {0, nullptr},
  };
  const std::string name = module + "." + cls->name;
  PyType_Spec spec = {
      name.c_str(), static_cast<int>(cls->basicsize), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots,
  };
  PyObject* bases = PyTuple_Pack(1, python.node_type);
  if (bases == nullptr) return nullptr;
  PyObject* type = PyType_FromModuleAndSpec(extension, &spec, bases);
  Py_DECREF(bases);
  if (type == nullptr) return nullptr;
  Ref shown(PyUnicode_FromString(cls->shown)), operator_(PyUnicode_FromString(cls->operator_)), one(PyLong_FromLong(1));
  const bool failed = !shown || !operator_ || !one || PyObject_SetAttrString(type, "operator", operator_.get()) < 0 ||
                      PyObject_SetAttrString(type, "_name", shown.get()) < 0 ||
                      PyObject_SetAttrString(type, "__name__", shown.get()) < 0 ||
                      PyObject_SetAttrString(type, "num_outputs", one.get()) < 0;
  if (failed) {
    Py_DECREF(type);
    return nullptr;
  }
  classes()[cls] = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
  cls->type = reinterpret_cast<PyTypeObject*>(type);
  return type;
}

PyObject* follow_node(PyObject*, PyObject* object) {
  if (!PyObject_TypeCheck(object, python.node_type)) {
    PyErr_SetString(PyExc_TypeError, "expected a Node");
    return nullptr;
  }
  unfollowed.follow(as_node(object));
  unfollowed.cycles_expected = true;
  Py_RETURN_NONE;
}

PyObject* expect_cycles(PyObject*, PyObject*) {
  unfollowed.cycles_expected = true;
  Py_RETURN_NONE;
}

PyObject* before_collection(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2 || !PyUnicode_Check(args[0]) || !PyDict_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "before_collection(phase, info)");
    return nullptr;
  }
  if (unfollowed.newest == nullptr || PyUnicode_CompareWithASCIIString(args[0], "start") != 0) Py_RETURN_NONE;
  PyObject* generation = PyDict_GetItemString(args[1], "generation");
  const bool is_full = generation != nullptr && PyLong_Check(generation) && PyLong_AsLong(generation) >= 2;
  if (!is_full && !unfollowed.cycles_expected) Py_RETURN_NONE;
  unfollowed.cycles_expected = false;
  for (Node* node = unfollowed.newest; node != nullptr;) {
    Node* older = node->older;
    if (Py_REFCNT(node) > 0) unfollowed.follow(node);  // otherwise it is being freed
    node = older;
  }
  Py_RETURN_NONE;
}

Node* new_node(const NodeClass* cls, PyObject* out) {
  PyArrayObject* array = array_of(out);
  auto* self = reinterpret_cast<PyObject*>(_PyObject_GC_New(cls->type));
  if (self == nullptr) return nullptr;
  Node* node = as_node(self);
  std::memset(reinterpret_cast<char*>(self) + sizeof(PyObject), 0, cls->basicsize - sizeof(PyObject));
  node->extra = Py_NewRef(Py_None);
  node->dtype = Py_NewRef(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  node->sequence_nr = sequence_nr++;
  node->cls = cls;
  node->ndim = PyArray_NDIM(array);
  if (node->ndim <= kInlineDims) {
    for (int i = 0; i < node->ndim; ++i) node->dims[i] = PyArray_DIM(array, i);
  } else {
    node->shape = tuple_of(PyArray_DIMS(array), node->ndim).release();
    node->ndim = -1;
    if (node->shape == nullptr) {
      Py_DECREF(self);
      return nullptr;
    }
  }
  unfollowed.add(node);
  PyObject* old = std::exchange(as_tensor(out)->edge, self);
  Py_DECREF(old);
  return node;
}

// -- saved state

bool save(SavedInput& slot, PyObject* tensor) {
  PyObject* writes = as_tensor(tensor)->writes;
  if (writes == Py_None) {
    slot.version = 0;
  } else if (!read_count(writes, &slot.version)) {
    return false;
  }
  PyObject* edge = as_tensor(tensor)->edge;
  slot.has_history = edge != Py_None && edge != python.leaf && edge != python.discard_gradient;
  slot.tensor = Py_NewRef(tensor);
  return true;
}

bool save(SavedResult& slot, PyObject* out) {
  Tensor* tensor = as_tensor(out);
  if (!make_counter(tensor) || !read_count(tensor->writes, &slot.at)) return false;
  slot.array = Py_NewRef(tensor->array);
  slot.writes = Py_NewRef(tensor->writes);
  return true;
}

bool read_count(PyObject* writes, int64_t* count) {
  if (!PyList_CheckExact(writes)) {  // inference tensors: asking for the count raises
    PyObject* item = PySequence_GetItem(writes, 0);
    if (item == nullptr) return false;
    *count = PyLong_AsLongLong(item);
    Py_DECREF(item);
    return true;
  }
  *count = PyLong_AsLongLong(PyList_GET_ITEM(writes, 0));
  return true;
}

namespace {

void raise(PyObject* maker, PyObject* const* args, size_t count) {
  PyObject* error = PyObject_Vectorcall(maker, args, count, nullptr);
  if (error == nullptr) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(error);
}

void raise_modified(Node* self, const char* name, PyObject* tensor, int64_t version) {
  PyObject* text = PyUnicode_FromString(name);
  PyObject* number = PyLong_FromLongLong(version);
  if (text != nullptr && number != nullptr) {
    PyObject* args[] = {reinterpret_cast<PyObject*>(self), text, tensor, number};
    raise(python.modified_error, args, 4);
  }
  Py_XDECREF(text);
  Py_XDECREF(number);
}

}  // namespace

void raise_freed(Node* self) {
  PyObject* args[] = {reinterpret_cast<PyObject*>(self)};
  raise(python.freed_error, args, 1);
}

PyObject* unpack(Node* self, const char* name, const SavedInput& slot) {
  if (slot.tensor == nullptr) {
    if (slot.version != kFreed) return Py_None;
    raise_freed(self);
    return nullptr;
  }
  PyObject* writes = as_tensor(slot.tensor)->writes;
  if (writes != Py_None) {
    int64_t count;
    if (!read_count(writes, &count)) return nullptr;
    if (count != slot.version) {
      raise_modified(self, name, slot.tensor, slot.version);
      return nullptr;
    }
  }
  return slot.tensor;
}

void raise_detached(Node* self) {
  PyObject* args[] = {reinterpret_cast<PyObject*>(self)};
  raise(python.detached_error, args, 1);
}

Ref unpack(Node* self, const char* name, const SavedResult& slot, bool history) {
  if (slot.array == nullptr) {
    if (slot.at != kFreed) return Ref::borrow(Py_None);
    raise_freed(self);
    return Ref();
  }
  // Making a Tensor may run a collection and the code of others, who may free the slot.
  const int64_t saved_at = slot.at;
  Ref writes = Ref::borrow(slot.writes);
  Ref out = new_tensor(Ref::borrow(slot.array));
  if (!out) return out;
  Tensor* tensor = as_tensor(out.get());
  int64_t count;
  if (!read_count(writes.get(), &count)) return Ref();
  Py_SETREF(tensor->writes, writes.release());
  if (history) Py_SETREF(tensor->edge, Py_NewRef(reinterpret_cast<PyObject*>(self)));
  if (count != saved_at) {
    raise_modified(self, name, out.get(), saved_at);
    return Ref();
  }
  return out;
}

}  // namespace gradwright
