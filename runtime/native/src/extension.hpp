// The extension module of a package: the place of its generated code in what Python loads. One file of it includes this.
//
// It is loaded behind the core, and finds the core's functions where the dynamic loader shows them. What it has itself
// nobody else sees, so that packages do not meet.

#pragma once

#define GRADWRIGHT_IMPORTS_NUMPY
#include "core.hpp"

#include "registry.hpp"

namespace gradwright {

namespace {

// load(): find all that generated code calls, and give a dict from Python functions to what takes their places.
PyObject* load(PyObject* module, PyObject*) { return load_package(module, package).release(); }

PyMethodDef methods[] = {
    {"load", load, METH_NOARGS, "Take the places of generated Python functions: a dict from each to its counterpart."},
    {nullptr, nullptr, 0, nullptr},
};

int execute(PyObject*) {
  import_array1(-1);
  return 0;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The operators of a package.", 0, methods, slots, nullptr, nullptr, nullptr,
};

}  // namespace

}  // namespace gradwright

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&gradwright::definition); }
