#include "registry.hpp"

#include <string>
#include <string_view>
#include <unordered_map>

namespace gradwright {

namespace {

constexpr const char* kOperators = "generated.operators";
constexpr const char* kNodes = "generated.nodes";

// What is loaded is not imported again, which would take longer than all the rest.
Ref find_module(const char* name) {
  Ref spelled(PyUnicode_FromString(name));
  if (!spelled) return Ref();
  Ref found(PyImport_GetModule(spelled.get()));
  if (found || PyErr_Occurred()) return found;
  return Ref(PyImport_ImportModule(name));
}

Ref find(const char* module, const char* attribute) {
  Ref found = find_module(module);
  std::string path = attribute;
  size_t start = 0;
  while (found && start != std::string::npos) {
    const size_t dot = path.find('.', start);
    const std::string part = path.substr(start, dot == std::string::npos ? dot : dot - start);
    found = Ref(PyObject_GetAttrString(found.get(), part.c_str()));
    start = dot == std::string::npos ? dot : dot + 1;
  }
  return found;
}

void put(PyObject** slot, Ref value) { Ref old(std::exchange(*slot, value.release())); }

// The defaults of a Python function: the last ones of its positional parameters, and those of its keyword-only ones.
bool load_defaults(Function& function) {
  Ref positional(PyObject_GetAttrString(function.fallback, "__defaults__"));
  if (!positional) return false;
  Ref keyword_only(PyObject_GetAttrString(function.fallback, "__kwdefaults__"));
  if (!keyword_only) return false;
  const Py_ssize_t with_default =
      PyTuple_Check(positional.get()) ? PyTuple_GET_SIZE(positional.get()) : 0;
  for (int i = 0; i < function.count; ++i) {
    PyObject* value = nullptr;
    if (i < function.positional) {
      const Py_ssize_t index = i - (function.positional - with_default);
      if (index >= 0) value = PyTuple_GET_ITEM(positional.get(), index);
    } else if (PyDict_Check(keyword_only.get())) {
      value = PyDict_GetItemWithError(keyword_only.get(), function.names[i]);
      if (value == nullptr && PyErr_Occurred()) return false;
    }
    Py_XINCREF(value);
    function.defaults[i] = value;
  }
  return true;
}

bool load(Function& function) {
  if (function.fallback != nullptr) return true;
  Ref python_function = find(kOperators, function.name);
  if (!python_function) return false;
  function.names = new PyObject* [function.count] {};
  function.defaults = new PyObject* [function.count] {};
  for (int i = 0; i < function.count; ++i) {
    function.names[i] = PyUnicode_InternFromString(function.parameters[i]);
    if (function.names[i] == nullptr) return false;
  }
  const int named = function.count - function.positional;
  if (named > 0) {
    function.keywords = PyTuple_New(named);
    if (function.keywords == nullptr) return false;
    for (int i = 0; i < named; ++i) {
      PyTuple_SET_ITEM(function.keywords, i, Py_NewRef(function.names[function.positional + i]));
    }
  }
  function.fallback = python_function.release();
  return load_defaults(function);
}

bool load(const Constant& constant, PyObject* names) {
  Ref value(PyRun_String(constant.text, Py_eval_input, names, names));
  if (!value) return false;
  put(constant.slot, std::move(value));
  return true;
}

// Which parameter a keyword names; -1 if none.
int position(const Function& function, PyObject* keyword) {
  for (int i = 0; i < function.count; ++i) {
    if (function.names[i] == keyword) return i;
  }
  for (int i = 0; i < function.count; ++i) {
    const int same = PyObject_RichCompareBool(function.names[i], keyword, Py_EQ);
    if (same > 0) return i;
    if (same < 0) PyErr_Clear();
  }
  return -1;
}

}  // namespace

bool Recorder::find() {
  Ref found = gradwright::find(kNodes, name);
  if (!found) return false;
  if (function == nullptr) function = found.release();  // another thread may have been first
  return true;
}

bool load_generated() {
  Ref operators(PyImport_ImportModule(kOperators));
  if (!operators) return false;
  PyObject* names = PyModule_GetDict(operators.get());
  for (size_t i = 0; i < shard_count; ++i) {
    for (const PythonName& name : shards[i]->names) {
      Ref found = find(name.module, name.attribute);
      if (!found) return false;
      put(name.slot, std::move(found));
    }
    for (const Constant& constant : shards[i]->constants) {
      if (!load(constant, names)) return false;
    }
    for (Function* function : shards[i]->functions) {
      if (!load(*function)) return false;
    }
  }
  return true;
}

Function* find_function(const char* name) {
  static const auto* const known = [] {
    auto* functions = new std::unordered_map<std::string_view, Function*>;
    for (size_t i = 0; i < shard_count; ++i) {
      for (Function* function : shards[i]->functions) functions->emplace(function->name, function);
    }
    return functions;
  }();
  const auto found = known->find(name);
  return found == known->end() ? nullptr : found->second;
}

bool bind(const Function& function, PyObject* const* args, Py_ssize_t given, PyObject* keywords,
          PyObject** values) {
  if (given > function.positional) return false;
  for (Py_ssize_t i = 0; i < given; ++i) values[i] = args[i];
  for (Py_ssize_t i = given; i < function.count; ++i) values[i] = nullptr;
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    const int index = position(function, PyTuple_GET_ITEM(keywords, i));
    if (index < 0 || values[index] != nullptr) return false;
    values[index] = args[given + i];
  }
  for (Py_ssize_t i = given; i < function.count; ++i) {
    if (values[i] == nullptr) values[i] = function.defaults[i];
    if (values[i] == nullptr) return false;
  }
  return true;
}

}  // namespace gradwright
