// The extension module: types for runtime/tensor.py and runtime/node.py, the state of runtime/modes.py, the engine,
// and the generated operators.

#define GRADWRIGHT_IMPORTS_NUMPY
#include "core.hpp"

#include "callable.hpp"
#include "engine.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "registry.hpp"
#include "types.hpp"

#include <vector>

namespace gradwright {

Python python;
int unusual = 0;
thread_local bool grad_enabled = true;
long long sequence_nr = 0;

namespace {

thread_local bool inference = false;
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
bool* inference_place() { return &inference; }
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

PyType_Spec grad_mode_spec = {"runtime.native.GradMode", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, grad_mode_slots};

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

PyObject* track(PyObject*, PyObject* object) {
  // Nodes are not followed by the collector of cycles until they hold something of the user's.
  if (PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
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
                     {"untracked", &python.untracked},
                     {"freed_error", &python.freed_error},
                     {"modified_error", &python.modified_error},
                     {"fit", &engine_hooks.fit},
                     {"fit_output", &engine_hooks.fit_output},
                     {"sum", &engine_hooks.sum},
                     {"run_node", &engine_hooks.run_node},
                     {"finish_leaf", &engine_hooks.finish_leaf},
                     {"explain", &engine_hooks.explain}})) {
    return nullptr;
  }
  python.tensor_type = reinterpret_cast<PyTypeObject*>(tensor);
  python.node_type = reinterpret_cast<PyTypeObject*>(node);
  python.output_edge_type = reinterpret_cast<PyTypeObject*>(output_edge);
  adopt_tensor_type(python.tensor_type);
  Py_RETURN_NONE;
}

// load(): finds all that generated code calls, makes its classes of Nodes, and gives a dict from Python functions to what
// takes their places.
PyObject* load(PyObject* module, PyObject*) {
  if (!load_generated() || !load_signs()) return nullptr;
  for (size_t i = 0; i < shard_count; ++i) {
    for (const NodeClass* cls : shards[i]->nodes) {
      PyObject* made = make_node_class(module, cls);
      if (made == nullptr) return nullptr;
      Py_DECREF(made);
    }
  }
  return make_callables().release();
}

PyObject* made_from(PyObject*, PyObject*) { return PyUnicode_FromString(generated_from); }

// kernel_replaced(name): the entry of that name leaves all calls to Python from now on.
PyObject* kernel_replaced(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  kernels_replaced = true;
  if (Function* function = find_function(text)) function->replaced = true;
  Py_RETURN_NONE;
}

// set_num_threads(count): an int from 1 on; runtime.threads has looked at it.
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

PyMethodDef methods[] = {
    {"next_sequence_nr", next_sequence_nr, METH_NOARGS, "The number of the next Node."},
    {"peek_sequence_nr", peek_sequence_nr, METH_NOARGS, "The same, without taking it."},
    {"set_unusual", set_unusual, METH_O, "How many unusual things are open."},
    {"add_plain_type", add_plain_type, METH_O, "Let the straight way handle a Tensor class."},
    {"track", track, METH_O, "Let the collector of cycles follow an object."},
    {"install", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(install)), METH_VARARGS | METH_KEYWORDS,
     "Name the Python objects that the core needs."},
    {"load", load, METH_NOARGS, "Take the places of generated Python functions: a dict from each to its counterpart."},
    {"made_from", made_from, METH_NOARGS, "The hash of the YAML that the generated part was made of."},
    {"kernel_replaced", kernel_replaced, METH_O, "Leave the calls of an operator to Python."},
    {"remember_choice", remember, METH_VARARGS, "Let a packet call an overload for arguments of these types."},
    {"set_num_threads", set_threads, METH_O, "How many threads loops over large arrays may use."},
    {"backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_backward)), METH_FASTCALL,
     "backward(edges, grads, keep_graph, create_graph)"},
    {nullptr, nullptr, 0, nullptr},
};

int execute(PyObject* module) {
  import_array1(-1);
  if (!ready_callables()) return -1;
  PyObject* tensor_base = make_tensor_base(module);
  PyObject* node_base = make_node_base(module);
  PyObject* grad_mode = PyType_FromModuleAndSpec(module, &grad_mode_spec, nullptr);
  if (tensor_base == nullptr || node_base == nullptr || grad_mode == nullptr) return -1;
  if (PyModule_AddObjectRef(module, "TensorBase", tensor_base) < 0) return -1;
  if (PyModule_AddObjectRef(module, "NodeBase", node_base) < 0) return -1;
  if (PyModule_AddObjectRef(module, "GradMode", grad_mode) < 0) return -1;
  Py_DECREF(tensor_base);
  Py_DECREF(node_base);
  Py_DECREF(grad_mode);
  return 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The native core of the runtime.", 0, methods, slots, nullptr, nullptr, nullptr,
};

}  // namespace

bool is_plain_type(PyTypeObject* type) {
  for (PyTypeObject* known : plain_types) {
    if (known == type) return true;
  }
  return false;
}

}  // namespace gradwright

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&gradwright::definition); }
