// Loops are found here: those of NumPy's functions, and the generation of processors that those of ours are for.

#include "loops.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gradwright_ufunc
#include <numpy/ufuncobject.h>

#include "observe.hpp"

namespace gradwright {

Ufunc* Ufunc::all_ = nullptr;
bool Ufunc::found_ = false;
bool Ufunc::quick_ = false;

void Ufunc::announce() {
  find_once();
  quick_ = !watching;
  if (watching) note_kernel(kNumpyLoop);
}

void Ufunc::find_all() {
  found_ = true;
  PyObject* numpy = PyImport_ImportModule("numpy");
  for (Ufunc* ufunc = all_; numpy != nullptr && ufunc != nullptr; ufunc = ufunc->next_) ufunc->find(numpy);
  Py_XDECREF(numpy);
  PyErr_Clear();
}

void Ufunc::find(PyObject* numpy) {
  Ref object(PyObject_GetAttrString(numpy, name_));
  if (!object) {
    PyErr_Clear();
    return;
  }
  // The ufunc itself lives as long as NumPy.
  const auto* ufunc = reinterpret_cast<PyUFuncObject*>(object.get());
  if (ufunc->nin != operands_ || ufunc->nout != 1) return;
  for (int i = 0; i < ufunc->ntypes; ++i) {
    const auto* types = reinterpret_cast<const unsigned char*>(ufunc->types) + i * ufunc->nargs;
    const int type = types[0];
    if (type >= kTypes || loops_[type].function != nullptr) continue;
    if (operands_ == 2 && types[1] != type) continue;
    PyArray_Descr* descr = PyArray_DescrFromType(type);
    if (descr == nullptr) {
      PyErr_Clear();
      continue;
    }
    if (std::strchr(takes_, descr->type) != nullptr) {
      void* data = ufunc->data == nullptr ? nullptr : const_cast<void*>(ufunc->data[i]);
      loops_[type] = {ufunc->functions[i], data, types[operands_], false};
    }
    Py_DECREF(descr);
  }
}

int cpu_generation() {
#ifdef GRADWRIGHT_X86
  static const int generation = [] {
    __builtin_cpu_init();
    int best = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
    if (best == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
      best = 2;
    }
    const char* wanted = std::getenv("GRADWRIGHT_CPU");
    if (wanted == nullptr) return best;
    if (std::strcmp(wanted, "baseline") == 0) return 0;
    return std::strcmp(wanted, "avx2") == 0 ? std::min(best, 1) : best;
  }();
  return generation;
#else
  return 0;
#endif
}

}  // namespace gradwright
