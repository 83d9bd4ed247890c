// TensorBase: the members of runtime.base.tensor.Tensor as a C struct, and the quick way to make and free Tensors.

#include "attributes.hpp"
#include "core.hpp"
#include "names.hpp"
#include "sharing.hpp"
#include "types.hpp"

#include "callable.hpp"

#include <structmember.h>

#include <vector>

namespace gradwright {

namespace {

// The dictionary of all Tensors without attributes: empty, and never written. Python 3.11 remembers where a method is
// only for objects whose dictionary exists; later versions, only for those whose dictionary does not exist yet.
#if PY_VERSION_HEX < 0x030C0000
PyObject* no_attributes = nullptr;
#else
constexpr PyObject* no_attributes = nullptr;
#endif

PyMemberDef members[] = {
    {"_array", T_OBJECT_EX, offsetof(Tensor, array), 0, nullptr},
    {"_base", T_OBJECT_EX, offsetof(Tensor, base), 0, nullptr},
    {"_edge", T_OBJECT_EX, offsetof(Tensor, edge), 0, nullptr},
    {"_extra", T_OBJECT_EX, offsetof(Tensor, extra), 0, nullptr},
    {"_writes", T_OBJECT_EX, offsetof(Tensor, writes), 0, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weakrefs), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Tensor, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

// Lets Python make a dictionary of its own, if it has to.
void leave_shared_dict(PyObject* self) {
  Tensor* tensor = as_tensor(self);
  if (tensor->dict == no_attributes) Py_CLEAR(tensor->dict);
}

PyObject* get_dict(PyObject* self, void* context) {
  leave_shared_dict(self);
  return PyObject_GenericGetDict(self, context);
}

#if PY_VERSION_HEX < 0x030C0000
void return_to_shared_dict(PyObject* self) {
  Tensor* tensor = as_tensor(self);
  if (tensor->dict == nullptr) tensor->dict = Py_NewRef(no_attributes);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  leave_shared_dict(self);
  const int status = PyObject_GenericSetAttr(self, name, value);
  return_to_shared_dict(self);
  return status;
}

PyObject* allocate_exact(PyTypeObject* type, Py_ssize_t items) {
  PyObject* self = PyType_GenericAlloc(type, items);
  if (self != nullptr) return_to_shared_dict(self);
  return self;
}
#endif

PyGetSetDef properties[] = {
    {"__dict__", get_dict, PyObject_GenericSetDict, "The attributes that users put here.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Tensor* tensor = as_tensor(self);
  Py_VISIT(tensor->array);
  Py_VISIT(tensor->base);
  Py_VISIT(tensor->edge);
  Py_VISIT(tensor->extra);
  Py_VISIT(tensor->writes);
  Py_VISIT(tensor->dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

// Breaks cycles. Somebody may still look: it stays a Tensor, over the same array, which is in no cycle.
int clear(PyObject* self) {
  Tensor* tensor = as_tensor(self);
  leave_ring(tensor);
  for (PyObject** member : {&tensor->base, &tensor->edge, &tensor->extra}) {
    if (*member != nullptr) Py_SETREF(*member, Py_NewRef(Py_None));
  }
  if (tensor->writes != nullptr) drop_counter(std::exchange(tensor->writes, Py_NewRef(Py_None)));
  Py_CLEAR(tensor->dict);
  return 0;
}

void drop_members(Tensor* tensor) {
  Py_CLEAR(tensor->array);
  Py_CLEAR(tensor->base);
  Py_CLEAR(tensor->edge);
  Py_CLEAR(tensor->extra);
  drop_counter(std::exchange(tensor->writes, nullptr));
  Py_CLEAR(tensor->dict);
}

// Of Python subclasses: their own deallocation calls this one for the members.
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  leave_ring(as_tensor(self));
  if (as_tensor(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  drop_members(as_tensor(self));
  type->tp_free(self);
  Py_DECREF(type);
}

const PyType_Slot own_slots[] = {
    {Py_tp_doc, const_cast<char*>("The state of a Tensor, as runtime/base/tensor.py describes it.")},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
#if PY_VERSION_HEX < 0x030C0000
    {Py_tp_setattro, reinterpret_cast<void*>(set_attribute)},
#endif
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript)},
    {0, nullptr},
};

// Memory of exact Tensors that were freed, to be used again.
PyObject* kept[kMostKept + 1];
int kept_count = 0;

// Frees an exact Tensor. It takes the place of what Python makes for a class without slots of its own, and is called
// by what Python makes for classes below it.
void free_exact(PyObject* self) {
  if (Py_TYPE(self) != python.tensor_type) {
    dealloc(self);
    return;
  }
  PyObject_GC_UnTrack(self);
  Tensor* tensor = as_tensor(self);
  leave_ring(tensor);
  if (tensor->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  Py_TRASHCAN_BEGIN(self, free_exact);
  drop_members(tensor);
  if (kept_count < kMostKept) {
    kept[kept_count++] = self;
  } else {
    PyObject_GC_Del(self);
  }
  Py_DECREF(python.tensor_type);
  Py_TRASHCAN_END;
}

}  // namespace

PyObject* make_tensor_base(PyObject* module) {
#if PY_VERSION_HEX < 0x030C0000
  if (no_attributes == nullptr) no_attributes = PyDict_New();
  if (no_attributes == nullptr) return nullptr;
#endif
  // Python's signs are slots of the type, so that `x * y` comes to its entry without a look-up.
  std::vector<PyType_Slot> slots(number_slots.begin(), number_slots.end());
  for (const PyType_Slot& slot : own_slots) slots.push_back(slot);
  PyType_Spec spec = {
      RUNTIME_NAME("native.TensorBase"),
      static_cast<int>(sizeof(Tensor)),
      0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
      slots.data(),
  };
  return PyType_FromModuleAndSpec(module, &spec, nullptr);
}

void adopt_tensor_type(PyTypeObject* type) {
  // An exact Tensor is made and freed for each operator call.
  type->tp_dealloc = free_exact;
#if PY_VERSION_HEX < 0x030C0000
  type->tp_alloc = allocate_exact;
#endif
}

Ref new_tensor(Ref array) {
  PyObject* self;
  if (kept_count > 0) {
    self = PyObject_Init(kept[--kept_count], python.tensor_type);
  } else {
    self = reinterpret_cast<PyObject*>(PyObject_GC_New(Tensor, python.tensor_type));
    if (self == nullptr) return Ref();
  }
  Tensor* tensor = as_tensor(self);
  tensor->weakrefs = nullptr;
  tensor->dict = Py_XNewRef(no_attributes);
  tensor->array = array.release();
  tensor->base = Py_NewRef(Py_None);
  tensor->edge = Py_NewRef(Py_None);
  tensor->extra = Py_NewRef(Py_None);
  tensor->writes = Py_NewRef(Py_None);
  tensor->next = tensor->previous = nullptr;
  PyObject_GC_Track(self);
  return Ref(self);
}

}  // namespace gradwright
