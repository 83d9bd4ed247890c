// The ring of Tensors over the same memory. Nobody holds a reference for it: whoever is freed leaves it.

#include "sharing.hpp"

#include <cstring>

namespace gradwright {

namespace {

// runtime.base.state.MARKS by kind: what stands in `_extra` of views that must not be written.
struct Marks {
  PyObject* multi;
  PyObject* no_grad;
  PyObject* inference;
  PyObject* view;  // the string "view"
};
Marks marks;

// Put `tensor`, which is in no ring, behind all that are in the ring of `other`.
void enter_ring(Tensor* tensor, Tensor* other) {
  if (other->next == nullptr) other->next = other->previous = other;
  tensor->next = other;
  tensor->previous = other->previous;
  other->previous->next = tensor;
  other->previous = tensor;
}

// Let `tensor`, new and in no ring, share the memory and the count of `other`, whose root is `root`.
void join(Tensor* tensor, Tensor* other, Tensor* root) {
  Py_SETREF(tensor->writes, Py_NewRef(other->writes));
  if (other->writes == python.untracked) return;  // nobody counts writes to inference tensors
  // From the root on, a ring is in the order of making.
  enter_ring(tensor, other->next == nullptr ? other : root);
}

// Counters that were let go of, to be used again: each Node that saves its output needs one.
PyObject* free_counters[kMostKept + 1];
int free_counter_count = 0;

PyObject* new_counter() {
  if (free_counter_count > 0) return free_counters[--free_counter_count];
  PyObject* writes = PyList_New(1);
  if (writes == nullptr) return nullptr;
  // No cycle goes through it. And what is used again must not be in the midst of a collection, which would clear it.
  PyObject_GC_UnTrack(writes);
  PyList_SET_ITEM(writes, 0, PyLong_FromLong(0));  // a small int always is there
  return writes;
}

// Tell those who write that there are views that must not change.
bool guard(Tensor* tensor) {
  if (!make_counter(tensor)) return false;
  PyObject* writes = tensor->writes;
  return !PyList_CheckExact(writes) || PyList_GET_SIZE(writes) > 1 || PyList_Append(writes, python.guard) == 0;
}

// The mark of a kind; null with an exception for an unknown one. A borrowed reference.
PyObject* find_mark(PyObject* kind) {
  PyObject* mark = PyDict_GetItemWithError(python.marks, kind);
  if (mark == nullptr && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, kind);
  return mark;
}

// The mark of a view, None if it may be written; null with an exception.
PyObject* mark_of(Tensor* view) {
  PyObject* extra = view->extra;
  if (extra == Py_None || extra == marks.no_grad || extra == marks.multi || extra == marks.inference) return extra;
  Ref kind(PyObject_GetAttr(extra, marks.view));
  return kind ? find_mark(kind.get()) : nullptr;
}

// A view of `base` with the given mark, or with that which `base` or the mode asks for.
Ref make_view(Ref array, PyObject* base, PyObject* mark) {
  Tensor* source = as_tensor(base);
  PyObject* root = source->base == Py_None ? base : source->base;
  if (root != base && source->extra != Py_None) {
    PyObject* inherited = mark_of(source);
    if (inherited == nullptr) return Ref();
    if (inherited != Py_None) {
      mark = inherited;
    } else if (!grad_enabled) {
      mark = inference_mode ? marks.inference : marks.no_grad;
    }
  } else if (!grad_enabled) {
    mark = inference_mode ? marks.inference : marks.no_grad;
  }
  Ref out = new_tensor(std::move(array));
  if (!out) return out;
  Tensor* view = as_tensor(out.get());
  Py_SETREF(view->base, Py_NewRef(root));
  join(view, source, as_tensor(root));
  if (mark != Py_None && view->writes != python.untracked) {
    const bool differentiable = std::strchr("biu", PyArray_DESCR(array_of(out.get()))->kind) == nullptr;
    // Until it is recorded, which a view of no_grad mode never is.
    if (differentiable && as_tensor(root)->edge != Py_None) Py_SETREF(view->edge, Py_NewRef(python.discard_gradient));
    Py_SETREF(view->extra, Py_NewRef(mark));
    if (!guard(view)) return Ref();
  }
  return out;
}

bool check_tensors(PyObject* const* objects, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    // A class may keep the state elsewhere, and nothing here.
    if (PyObject_TypeCheck(objects[i], python.tensor_type) && as_tensor(objects[i])->writes != nullptr) continue;
    PyErr_Format(PyExc_TypeError, "expected a Tensor, not '%s'", Py_TYPE(objects[i])->tp_name);
    return false;
  }
  return true;
}

}  // namespace

bool load_marks() {
  const auto find = [](const char* kind) { return PyDict_GetItemString(python.marks, kind); };
  marks = {find("multi"), find("no_grad"), find("inference"), PyUnicode_InternFromString("view")};
  if (marks.multi != nullptr && marks.no_grad != nullptr && marks.inference != nullptr) return true;
  PyErr_SetString(PyExc_KeyError, "marks");
  return false;
}

void drop_counter(PyObject* writes) {
  if (writes == nullptr || writes == Py_None) {
    Py_XDECREF(writes);
    return;
  }
  const bool reusable = Py_REFCNT(writes) == 1 && PyList_CheckExact(writes) && PyList_GET_SIZE(writes) == 1 &&
                        !PyObject_GC_IsTracked(writes);
  if (reusable && free_counter_count < kMostKept && PyList_SetItem(writes, 0, PyLong_FromLong(0)) == 0) {
    free_counters[free_counter_count++] = writes;
  } else {
    Py_DECREF(writes);
  }
}

bool make_counter(Tensor* tensor) {
  if (tensor->writes != Py_None) return true;
  PyObject* writes = nullptr;
  // Python code may have given a list to one of them alone.
  for (Tensor* other = tensor->next; other != nullptr && other != tensor; other = other->next) {
    if (other->writes != nullptr && other->writes != Py_None) writes = other->writes;
  }
  Ref made(writes == nullptr ? new_counter() : Py_NewRef(writes));
  if (!made) return false;
  // Making it may have run a collection, and the code of others.
  if (tensor->writes != Py_None) return true;
  Py_SETREF(tensor->writes, Py_NewRef(made.get()));
  for (Tensor* other = tensor->next; other != nullptr && other != tensor; other = other->next) {
    // None is what they have: freeing it runs no code that could change the ring.
    if (other->writes == Py_None) Py_SETREF(other->writes, Py_NewRef(made.get()));
  }
  return true;
}

void share_memory(Tensor* tensor, Tensor* other) {
  join(tensor, other, other->base == Py_None ? other : as_tensor(other->base));
}

Ref new_view(Ref array, PyObject* base, bool multi) {
  if (!PyArray_Check(array.get())) {
    PyErr_SetString(PyExc_TypeError, "the kernel of a view gives an array");
    return Ref();
  }
  return make_view(std::move(array), base, multi ? marks.multi : Py_None);
}

Ref view_tuple(PyObject* arrays, PyObject* base) {
  Ref sequence(PySequence_Fast(arrays, "a kernel with several results gives a list of arrays"));
  if (!sequence) return sequence;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence.get());
  Ref made(PyTuple_New(count));
  for (Py_ssize_t i = 0; made && i < count; ++i) {
    Ref view = new_view(Ref::borrow(PySequence_Fast_GET_ITEM(sequence.get(), i)), base, true);
    if (!view) return view;
    PyTuple_SET_ITEM(made.get(), i, view.release());
  }
  return made;
}

// -- for Python

PyObject* view_of(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || count > 3 || !PyArray_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "view_of(array, base, kind='single')");
    return nullptr;
  }
  if (!check_tensors(args + 1, 1)) return nullptr;
  PyObject* mark = Py_None;
  if (count == 3) mark = find_mark(args[2]);
  if (mark == nullptr) return nullptr;
  return make_view(Ref::borrow(args[0]), args[1], mark).release();
}

PyObject* share(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "share(new, old)");
    return nullptr;
  }
  if (!check_tensors(args, 2)) return nullptr;
  Tensor *tensor = as_tensor(args[0]), *other = as_tensor(args[1]);
  leave_ring(tensor);
  share_memory(tensor, other);
  Py_RETURN_NONE;
}

PyObject* shares(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "shares(one, other)");
    return nullptr;
  }
  if (!check_tensors(args, 2)) return nullptr;
  Tensor *one = as_tensor(args[0]), *other = as_tensor(args[1]);
  if (one == other) Py_RETURN_TRUE;
  if (one->writes != Py_None || other->writes != Py_None) return PyBool_FromLong(one->writes == other->writes);
  for (Tensor* found = one->next; found != nullptr && found != one; found = found->next) {
    if (found == other) Py_RETURN_TRUE;
  }
  Py_RETURN_FALSE;
}

PyObject* counter(PyObject*, PyObject* tensor) {
  if (!check_tensors(&tensor, 1) || !make_counter(as_tensor(tensor))) return nullptr;
  return Py_NewRef(as_tensor(tensor)->writes);
}

PyObject* views_over(PyObject*, PyObject* object) {
  if (!check_tensors(&object, 1)) return nullptr;
  Ref found(PyList_New(0));
  if (!found) return nullptr;
  Tensor* tensor = as_tensor(object);
  // From the root on, they stand in the order in which they were made.
  if (tensor->base != nullptr && tensor->base != Py_None) tensor = as_tensor(tensor->base);
  if (tensor->next == nullptr) return found.release();
  Tensor* view = tensor;
  do {
    PyObject* one = reinterpret_cast<PyObject*>(view);
    view = view->next;
    // One that is being freed has no references left.
    const bool alive = Py_REFCNT(one) > 0 && as_tensor(one)->base != nullptr && as_tensor(one)->base != Py_None;
    if (alive && PyList_Append(found.get(), one) < 0) return nullptr;
  } while (view != tensor);
  return found.release();
}

}  // namespace gradwright
