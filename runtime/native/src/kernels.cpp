// Finding the inner loops of NumPy's ufuncs.

#include "kernels.hpp"

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gradwright_ufunc
#include <numpy/ufuncobject.h>

#include <utility>
#include <vector>

namespace gradwright {

namespace {

std::vector<Ufunc*>& all_found() {
  static std::vector<Ufunc*> found;
  return found;
}

}  // namespace

void Ufunc::forget_all() {
  for (Ufunc* ufunc : all_found()) ufunc->known_ = false;
}

void Ufunc::find() {
  if (watching) note_kernel(kNumpyLoop);
  known_ = !watching;
  if (std::exchange(found_, true)) return;
  all_found().push_back(this);
  PyObject* numpy = PyImport_ImportModule("numpy");
  PyObject* object = numpy == nullptr ? nullptr : PyObject_GetAttrString(numpy, name_);
  Py_XDECREF(numpy);
  if (object == nullptr) {
    PyErr_Clear();
    return;
  }
  const auto* ufunc = reinterpret_cast<PyUFuncObject*>(object);
  const int wanted[] = {NPY_FLOAT, NPY_DOUBLE};
  for (int i = 0; i < ufunc->ntypes; ++i) {
    const char* types = ufunc->types + i * ufunc->nargs;
    for (int k = 0; k < 2; ++k) {
      bool fits = loops_[k].function == nullptr;
      for (int j = 0; fits && j < ufunc->nargs; ++j) fits = types[j] == wanted[k];
      if (fits) {
        loops_[k].function = ufunc->functions[i];
        loops_[k].data = ufunc->data == nullptr ? nullptr : const_cast<void*>(ufunc->data[i]);
      }
    }
  }
  // The ufunc itself lives as long as NumPy.
  Py_DECREF(object);
}

}  // namespace gradwright
