// How the parts of the hand-written core make their Python types.

#pragma once

#include <string>

#include "core.hpp"

namespace gradwright {

PyObject* make_tensor_base(PyObject* module);
PyObject* make_node_base(PyObject* module);
PyObject* make_grad_mode(PyObject* module);

// Takes over how exact objects of runtime.base.tensor.Tensor are freed.
void adopt_tensor_type(PyTypeObject* type);
// Makes the Python class of a generated Node class, below runtime.graph.node.Node, with the name of the module that it
// would be of. A new reference.
PyObject* make_node_class(PyObject* extension, const NodeClass* cls, const std::string& module);

// For Python: what the collector of cycles is to follow; see node.cpp.
PyObject* follow_node(PyObject* self, PyObject* node);
PyObject* expect_cycles(PyObject* self, PyObject*);
PyObject* before_collection(PyObject* self, PyObject* const* args, Py_ssize_t count);

// Backward from targets with gradients; see engine.cpp.
PyObject* run_backward(PyObject* self, PyObject* const* args, Py_ssize_t count);

}  // namespace gradwright
