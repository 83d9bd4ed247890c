#include "composites.hpp"

#include "names.hpp"

namespace gradwright {

void Operator::find() {
  known_ = true;
  const Function* function = find_function(name_);
  if (function != nullptr && function->fallback != nullptr) {
    function_ = function;
    return;
  }
  Ref operators(PyImport_ImportModule(GENERATED_NAME("operators")));
  if (operators) callable_ = PyObject_GetAttrString(operators.get(), name_);
  if (callable_ == nullptr) PyErr_Clear();
}

}  // namespace gradwright
