// The extension module `_native`.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

namespace {

PyObject* version(PyObject*, PyObject*) { return PyUnicode_FromString("0.1.0"); }

PyMethodDef methods[] = {
    {"version", version, METH_NOARGS, "The version of the native core."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The native core.", -1, methods, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
  import_array();
  return PyModule_Create(&definition);
}
