// Attributes and subscripts of Tensors; see attributes.cpp.

#pragma once

#include "core.hpp"

namespace gradwright {

// `self[index]`, a slot of the type.
PyObject* subscript(PyObject* self, PyObject* index);
// `self[index] = value`, likewise.
int assign_subscript(PyObject* self, PyObject* index, PyObject* value);

// replace_attributes(tensor_type, size_type, dtypes): put native descriptors in the place of Python's on the class.
PyObject* replace_attributes(PyObject*, PyObject* const* args, Py_ssize_t count);

}  // namespace gradwright
