// The extension module: types for runtime/base/tensor.py and runtime/graph/node.py, the state of runtime/base/modes.py,
// the engine, and the generated operators.

#define GRADWRIGHT_IMPORTS_NUMPY
#include "core.hpp"

#include "address_map.hpp"
#include "attributes.hpp"
#include "bins.hpp"
#include "callable.hpp"
#include "engine.hpp"
#include "hooks.hpp"
#include "kernels.hpp"
#include "leaves.hpp"
#include "memory.hpp"
#include "names.hpp"
#include "parallel.hpp"
#include "optim.hpp"
#include "matrices.hpp"
#include "random.hpp"
#include "registry.hpp"
#include "search.hpp"
#include "sharing.hpp"
#include "types.hpp"

#include <vector>

namespace gradwright {

Python python;
int unusual = 0;
thread_local bool grad_enabled = true;
thread_local bool inference_mode = false;
long long sequence_nr = 0;

namespace {

thread_local bool asked = false;
std::vector<PyTypeObject*> plain_types;

// -- grad mode, for each thread on its own

template <bool* (*place)()>
PyObject* get_flag(PyObject*, void*) { return PyBool_FromLong(*place()); }

template <bool* (*place)()>
int set_flag(PyObject*, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "grad mode cannot be deleted");
    return -1;
  }
  const int truth = PyObject_IsTrue(value);
  if (truth < 0) return -1;
  *place() = truth != 0;
  return 0;
}

bool* enabled_place() { return &grad_enabled; }
bool* inference_place() { return &inference_mode; }
bool* asked_place() { return &asked; }

PyGetSetDef flags[] = {
    {"enabled", get_flag<enabled_place>, set_flag<enabled_place>, "Whether operators record a graph.", nullptr},
    {"inference", get_flag<inference_place>, set_flag<inference_place>, "Whether this is inference mode.", nullptr},
    {"asked", get_flag<asked_place>, set_flag<asked_place>, "What was asked for inside of inference mode.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot grad_mode_slots[] = {
    {Py_tp_doc, const_cast<char*>("Whether operators record a graph, for each thread on its own.")},
    {Py_tp_getset, flags},
    {0, nullptr},
};

PyType_Spec grad_mode_spec = {
    RUNTIME_NAME("native.GradMode"), sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, grad_mode_slots};

// -- whether there are hooks

PyObject* get_hooks(PyObject*, void*) { return PyBool_FromLong(hooks_watched); }

int set_hooks(PyObject*, PyObject* value, void*) {
  const int truth = value == nullptr ? 0 : PyObject_IsTrue(value);
  if (truth >= 0) hooks_watched = truth != 0;
  return truth < 0 ? -1 : 0;
}

PyGetSetDef watch_members[] = {
    {"hooks", get_hooks, set_hooks, "Whether a hook can tell when a leaf's gradient is complete.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot watch_slots[] = {
    {Py_tp_doc, const_cast<char*>("What was ever asked for in this process.")},
    {Py_tp_getset, watch_members},
    {0, nullptr},
};

PyType_Spec watch_spec = {RUNTIME_NAME("native.Watch"), sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, watch_slots};

// -- functions

PyObject* next_sequence_nr(PyObject*, PyObject*) { return PyLong_FromLongLong(sequence_nr++); }

PyObject* peek_sequence_nr(PyObject*, PyObject*) { return PyLong_FromLongLong(sequence_nr); }

PyObject* set_unusual(PyObject*, PyObject* count) {
  const long value = PyLong_AsLong(count);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  unusual = static_cast<int>(value);
  Py_RETURN_NONE;
}

PyObject* add_plain_type(PyObject*, PyObject* type) {
  if (!PyType_Check(type)) {
    PyErr_SetString(PyExc_TypeError, "expected a class");
    return nullptr;
  }
  plain_types.push_back(reinterpret_cast<PyTypeObject*>(Py_NewRef(type)));
  Py_RETURN_NONE;
}

// Fills `slots` from keyword arguments of the same names.
bool fill(PyObject* kwargs, std::initializer_list<std::pair<const char*, PyObject**>> slots) {
  for (const auto& [name, slot] : slots) {
    PyObject* value = kwargs == nullptr ? nullptr : PyDict_GetItemString(kwargs, name);
    if (value == nullptr) {
      PyErr_Format(PyExc_TypeError, "argument '%s' is missing", name);
      return false;
    }
    Py_XSETREF(*slot, Py_NewRef(value));
  }
  return true;
}

// install(**objects): what the core needs of the Python runtime.
PyObject* install(PyObject*, PyObject*, PyObject* kwargs) {
  PyObject *tensor = nullptr, *node = nullptr, *output_edge = nullptr;
  if (!fill(kwargs, {{"tensor_type", &tensor},
                     {"node_type", &node},
                     {"output_edge_type", &output_edge},
                     {"leaf", &python.leaf},
                     {"discard_gradient", &python.discard_gradient},
                     {"untracked", &python.untracked},
                     {"guard", &python.guard},
                     {"marks", &python.marks},
                     {"freed_error", &python.freed_error},
                     {"modified_error", &python.modified_error},
                     {"detached_error", &python.detached_error},
                     {"fit", &engine_callbacks.fit},
                     {"fit_output", &engine_callbacks.fit_output},
                     {"sum", &engine_callbacks.sum},
                     {"run_tensor_hooks", &engine_callbacks.run_tensor_hooks},
                     {"apply_with_hooks", &engine_callbacks.apply_with_hooks},
                     {"finish_with_hooks", &engine_callbacks.finish_with_hooks},
                     {"lock", &engine_callbacks.lock},
                     {"explain", &engine_callbacks.explain}})) {
    return nullptr;
  }
  python.tensor_type = reinterpret_cast<PyTypeObject*>(tensor);
  python.node_type = reinterpret_cast<PyTypeObject*>(node);
  python.output_edge_type = reinterpret_cast<PyTypeObject*>(output_edge);
  if (!load_marks()) return nullptr;
  adopt_tensor_type(python.tensor_type);
  Py_RETURN_NONE;
}

// load(): finds all that generated code calls, makes its classes of Nodes, and gives a dict from Python functions to what
// takes their places.
PyObject* load(PyObject* module, PyObject*) {
  Ref callables = load_package(module, package);
  return callables && load_signs() ? callables.release() : nullptr;
}

PyObject* set_replaced(PyObject* fallback, bool replaced) {
  Function* function = function_of(fallback);
  if (function != nullptr && ((function->replaced & kByKernel) != 0) != replaced) {
    function->replaced ^= kByKernel;
    kernels_replaced += replaced ? 1 : -1;
  }
  Py_RETURN_NONE;
}

// kernel_replaced(function): the entry in its place leaves all calls to it, until kernel_restored(function).
PyObject* kernel_replaced(PyObject*, PyObject* function) { return set_replaced(function, true); }
PyObject* kernel_restored(PyObject*, PyObject* function) { return set_replaced(function, false); }

// set_num_threads(count): an int from 1 on; runtime.native.threads has looked at it.
PyObject* set_threads(PyObject*, PyObject* count) {
  const long value = PyLong_AsLong(count);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  set_num_threads(static_cast<int>(value));
  Py_RETURN_NONE;
}

// remember_choice(base, args, kwargs, chosen)
PyObject* remember(PyObject*, PyObject* args) {
  const char* base;
  PyObject *values, *named, *chosen;
  if (!PyArg_ParseTuple(args, "sO!O!O", &base, &PyTuple_Type, &values, &PyDict_Type, &named, &chosen)) return nullptr;
  remember_choice(base, values, named, chosen);
  Py_RETURN_NONE;
}

PyObject* wrap(PyObject*, PyObject* given) {
  if (python.tensor_type == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "wrap() was called before the class Tensor was installed");
    return nullptr;
  }
  // Arithmetic on 0-dim arrays gives NumPy's scalars.
  Ref array = PyArray_Check(given) ? Ref::borrow(given) : Ref(PyArray_FROM_O(given));
  return array ? new_tensor(std::move(array)).release() : nullptr;
}

PyMethodDef methods[] = {
    {"next_sequence_nr", next_sequence_nr, METH_NOARGS, "The number of the next Node."},
    {"peek_sequence_nr", peek_sequence_nr, METH_NOARGS, "The same, without taking it."},
    {"set_unusual", set_unusual, METH_O, "How many unusual things are open."},
    {"add_plain_type", add_plain_type, METH_O, "Let the fast path handle a Tensor class."},
    {"follow_node", follow_node, METH_O, "Let the collector of cycles follow a Node, which may lead to newer ones."},
    {"expect_cycles", expect_cycles, METH_NOARGS, "Something was made that may lead from older objects to newer Nodes."},
    {"expect_grad_dtypes", expect_grad_dtypes, METH_NOARGS, "A leaf has gradients of another dtype than its own."},
    {"before_collection", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(before_collection)),
     METH_FASTCALL, "Stands in gc.callbacks: lets the collector follow Nodes."},
    {"install", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(install)), METH_VARARGS | METH_KEYWORDS,
     "Name the Python objects that the core needs."},
    {"load", load, METH_NOARGS, "Take the places of generated Python functions: a dict from each to its counterpart."},
    {"kernel_replaced", kernel_replaced, METH_O, "Leave the calls of an operator to Python."},
    {"kernel_restored", kernel_restored, METH_O, "Undo that."},
    {"remember_choice", remember, METH_VARARGS, "Let a packet call an overload for arguments of these types."},
    {"set_num_threads", set_threads, METH_O, "How many threads loops over large arrays may use."},
    {"keep_memory", keep_memory, METH_O, "How many bytes of large arrays may be kept for new ones."},
    {"kept_memory", kept_memory, METH_NOARGS, "The bound, and how many bytes are kept now."},
    {"watch", watch, METH_O, "Tell an object of the operators and Nodes that run; None ends it."},
    {"left_to_python", left_to_python, METH_NOARGS, "Why operators and Node classes have no native counterpart."},
    {"run_backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_backward)), METH_FASTCALL,
     "run_backward(roots, grads, keep_graph, create_graph, accumulate, search)"},
    {"replace_attributes", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(replace_attributes)),
     METH_FASTCALL, "replace_attributes(tensor_type, size_type, dtypes)"},
    {"update_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(update_step)), METH_FASTCALL,
     "update_step(rule, options, grad, *written): take a step of an optimizer; whether it was done."},
    {"draw_words", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(draw_words)), METH_FASTCALL,
     "draw_words(capsule, array): fill an array with the words of a bit generator, or with numbers made of them."},
    {"turn_to_normal", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(turn_to_normal)), METH_FASTCALL,
     "turn_to_normal(uniform, mean, std): see runtime/operators/kernels/_gaussian.py"},
    {"pick_by_weights", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(pick_by_weights)), METH_FASTCALL,
     "pick_by_weights(rows, marks, places): for each mark of a row, from 0 to 1, the place at which so much of its sum is passed."},
    {"factor_matrices", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(factor_matrices)), METH_FASTCALL,
     "factor_matrices(matrices, pivots, info): LU factors in the place of each matrix; see runtime/operators/kernels/_matrices.py"},
    {"solve_factors", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(solve_factors)), METH_FASTCALL,
     "solve_factors(factors, pivots, sides, transposed): solutions in the place of each side; see runtime/operators/kernels/_matrices.py"},
    {"solve_triangles", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(solve_triangles)), METH_FASTCALL,
     "solve_triangles(triangles, sides, lower, unit): solutions in the place of each side; see runtime/operators/kernels/_matrices.py"},
    {"find_bins", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(find_bins)), METH_FASTCALL,
     "find_bins(values, edges, places): the part between two edges for each value, or -1; see runtime/operators/kernels/statistics.py"},
    {"exchange", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(exchange)), METH_FASTCALL,
     "exchange(values, places): exchange each value with the one at the place that stands beside it, in turn."},
    {"view_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(view_of)), METH_FASTCALL,
     "view_of(array, base, kind='single'): see runtime/graph/views.py"},
    {"share", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(share)), METH_FASTCALL,
     "share(new, old): let a new Tensor share the count of writes of another."},
    {"wrap", wrap, METH_O, "A Tensor over an array, as it is."},
    {"counter", counter, METH_O, "The count of writes of a Tensor, as a list that all over its memory share."},
    {"views_over", views_over, METH_O, "The living views over the memory of a Tensor."},
    {"shares", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(shares)), METH_FASTCALL,
     "Whether two Tensors count their writes together."},
    {nullptr, nullptr, 0, nullptr},
};

int execute(PyObject* module) {
  import_array1(-1);
  if (!ready_memory() || !ready_callables()) return -1;
  const std::pair<const char*, PyObject*> objects[] = {
      {"TensorBase", make_tensor_base(module)},
      {"NodeBase", make_node_base(module)},
      {"GradMode", PyType_FromModuleAndSpec(module, &grad_mode_spec, nullptr)},
      {"Watch", PyType_FromModuleAndSpec(module, &watch_spec, nullptr)},
      {"Search", make_search_type(module)},
      {"update_rules", update_rule_names()},
  };
  int failed = 0;
  for (const auto& [name, object] : objects) {
    if (object == nullptr || (failed == 0 && PyModule_AddObjectRef(module, name, object) < 0)) failed = -1;
    Py_XDECREF(object);
  }
  return failed;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The native core of the runtime.", 0, methods, slots, nullptr, nullptr, nullptr,
};

}  // namespace

PyObject* interned(const char* literal) {
  static AddressMap<PyObject*> known;
  PyObject* key = reinterpret_cast<PyObject*>(const_cast<char*>(literal));
  if (const auto* found = known.find(key)) return found->value;
  PyObject* made = PyUnicode_InternFromString(literal);
  if (made == nullptr) Py_FatalError("no memory for a name");
  known.insert(key)->value = made;
  return made;
}

bool is_plain_type(PyTypeObject* type) {
  for (PyTypeObject* known : plain_types) {
    if (known == type) return true;
  }
  return false;
}

}  // namespace gradwright

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&gradwright::definition); }
