#include "hooks.hpp"

#include "engine.hpp"
#include "intrinsics.hpp"

namespace gradwright {

bool hooks_watched = false;

namespace {

struct Names {
  PyObject* hooks = PyUnicode_InternFromString("hooks");
  PyObject* prehooks = PyUnicode_InternFromString("prehooks");
  PyObject* tensor_hooks = PyUnicode_InternFromString("tensor_hooks");
  PyObject* retained = PyUnicode_InternFromString("retained");
  PyObject* post_accumulate_hooks = PyUnicode_InternFromString("post_accumulate_hooks");
  PyObject* accumulate_node = PyUnicode_InternFromString("accumulate_node");
};
const Names& names() {
  static const Names interned;
  return interned;
}

// Whether one of two attributes is neither None nor empty; -1 with an exception.
int has_either(PyObject* object, PyObject* first, PyObject* second) {
  for (PyObject* name : {first, second}) {
    Ref value(PyObject_GetAttr(object, name));
    if (!value) return -1;
    const int truth = PyObject_IsTrue(value.get());
    if (truth != 0) return truth;
  }
  return 0;
}

}  // namespace

int has_tensor_hooks(PyObject* extra) { return has_either(extra, names().tensor_hooks, names().retained); }

Ref run_tensor_hooks(PyObject* node, PyObject* grad) {
  PyObject* args[] = {node, grad};
  return call(engine_callbacks.run_tensor_hooks, args, 2);
}

int has_node_hooks(PyObject* extra) { return has_either(extra, names().prehooks, names().hooks); }

Ref apply_with_hooks(PyObject* node, PyObject* grad, PyObject* wanted) {
  PyObject* args[] = {node, grad, wanted};
  return call(engine_callbacks.apply_with_hooks, args, 3);
}

int is_watched(PyObject* leaf) {
  if (!hooks_watched) return 0;
  const Ref extra = Ref::borrow(is_plain(leaf) ? as_tensor(leaf)->extra : nullptr);  // another thread may replace it
  if (!extra) return 1;
  if (extra.get() == Py_None) return 0;
  const int hooked = has_either(extra.get(), names().hooks, names().post_accumulate_hooks);
  if (hooked != 0) return hooked;
  Ref node(PyObject_GetAttr(extra.get(), names().accumulate_node));
  return !node ? -1 : node.get() != Py_None;
}

bool explain(Node* node) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  PyErr_NormalizeException(&kind, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  PyObject* args[] = {value, reinterpret_cast<PyObject*>(node)};
  PyObject* told = value == nullptr ? nullptr : PyObject_Vectorcall(engine_callbacks.explain, args, 2, nullptr);
  if (told == nullptr) PyErr_Clear();
  Py_XDECREF(told);
  PyErr_Restore(kind, value, trace);
  return false;
}

}  // namespace gradwright
