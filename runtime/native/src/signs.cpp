#include "signs.hpp"

#include "names.hpp"

#include <string>

namespace gradwright {

namespace {

void load(LoadedSign& loaded, const std::string& name, PyObject* methods) {
  PyObject* fallback = PyDict_GetItemString(methods, name.c_str());
  Py_XINCREF(fallback);
  Ref old(std::exchange(loaded.fallback, fallback));
  for (const Sign& sign : *package.signs) {
    if (name != sign.name) continue;
    loaded.unary = sign.unary == nullptr ? nullptr : find_function(sign.unary);
    loaded.tensor = sign.tensor == nullptr ? nullptr : find_function(sign.tensor);
    loaded.number = sign.number == nullptr ? nullptr : find_function(sign.number);
  }
}

}  // namespace

bool load_signs() {
  Ref module(PyImport_ImportModule(GENERATED_NAME("methods")));
  if (!module) return false;
  Ref methods(PyObject_GetAttrString(module.get(), "METHODS"));
  if (!methods) return false;
  for (size_t i = 0; i < number_signs.count; ++i) {
    const std::string name = number_signs.items[i];
    load(forward_signs[i], "__" + name + "__", methods.get());
    load(reflected_signs[i], "__r" + name + "__", methods.get());
    load(writing_signs[i], "__i" + name + "__", methods.get());
  }
  return true;
}

}  // namespace gradwright
