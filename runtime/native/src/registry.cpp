#include "registry.hpp"

#include "callable.hpp"
#include "names.hpp"
#include "types.hpp"

#include <string>
#include <string_view>
#include <unordered_map>

namespace gradwright {

namespace {

std::vector<const Package*> loaded;

std::string module_of(const Package& package, const char* name) { return std::string(package.name) + "." + name; }

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

// Whether this stands for a function of a module that waits.
bool is_deferred(const Ref& function) {
  static PyObject* const type = find(RUNTIME_NAME("base.deferred"), "DeferredFunction").release();
  return function && type != nullptr && Py_IS_TYPE(function.get(), reinterpret_cast<PyTypeObject*>(type));
}

// Called once the module of a name is loaded: the function itself in the place of what stood for it.
PyObject* take_loaded(PyObject* capsule, PyObject*) {
  const auto* needed = static_cast<const PythonName*>(PyCapsule_GetPointer(capsule, nullptr));
  if (needed == nullptr) return nullptr;
  Ref found = find(needed->module, needed->attribute);
  if (found && is_deferred(found)) found = Ref(PyObject_CallMethod(found.get(), "load", nullptr));
  if (!found) return nullptr;
  put(needed->slot, std::move(found));
  Py_RETURN_NONE;
}

PyMethodDef take_loaded_method = {"take_loaded", take_loaded, METH_NOARGS, nullptr};

// Whether a module is one of what the YAML names, which wait for the first call; packages name it as a wheel does.
bool may_wait(std::string_view module) {
  constexpr std::string_view wheel = "gradwright.", operators = "runtime.operators.";
  if (module.substr(0, wheel.size()) == wheel) module.remove_prefix(wheel.size());
  return module.substr(0, operators.size()) == operators;
}

// What is called once the module of a name is loaded.
Ref taker_of(const PythonName& needed) {
  Ref capsule(PyCapsule_New(const_cast<PythonName*>(&needed), nullptr, nullptr));
  return Ref(capsule ? PyCFunction_New(&take_loaded_method, capsule.get()) : nullptr);
}

// What a name stands for; of a module that waits, what loads it when it is called (runtime/base/deferred.py). Generated
// modules hold such functions of others, which they replace in time, and so does the core.
Ref find_or_defer(const PythonName& needed) {
  const bool waits = may_wait(needed.module);
  Ref found = waits ? find_module(needed.module) : find(needed.module, needed.attribute);
  if (!found) return found;
  if (waits) {
    Ref defer = find(RUNTIME_NAME("base.deferred"), "deferred"), taker = taker_of(needed);
    if (!defer || !taker) return Ref();
    return Ref(PyObject_CallFunction(defer.get(), "OsO", found.get(), needed.attribute, taker.get()));
  }
  if (is_deferred(found)) {
    Ref taker = taker_of(needed);
    Ref done(taker ? PyObject_CallMethod(found.get(), "when_loaded", "O", taker.get()) : nullptr);
    if (!done) return Ref();
  }
  return found;
}

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

bool load(Function& function, const char* operators) {
  if (function.fallback != nullptr) return true;
  Ref python_function = find(operators, function.name);
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
  Ref found = gradwright::find(module, name);
  if (!found) return false;
  if (function == nullptr) function = found.release();  // another thread may have been first
  return true;
}

const std::vector<const Package*>& packages() { return loaded; }

Ref load_package(PyObject* extension, const Package& package) {
  const std::string name = module_of(package, "operators");
  Ref operators(PyImport_ImportModule(name.c_str()));
  if (!operators) return operators;
  PyObject* names = PyModule_GetDict(operators.get());
  for (const Shard* shard : package.shards) {
    for (const PythonName& needed : shard->names) {
      Ref found = find_or_defer(needed);
      if (!found) return found;
      put(needed.slot, std::move(found));
    }
    for (const Constant& constant : shard->constants) {
      if (!load(constant, names)) return Ref();
    }
    for (Function* function : shard->functions) {
      if (!load(*function, name.c_str())) return Ref();
    }
  }
  for (const Shard* shard : package.shards) {
    for (const NodeClass* cls : shard->nodes) {
      if (!Ref(make_node_class(extension, cls, module_of(package, "nodes")))) return Ref();
    }
  }
  Ref callables = make_callables(package);
  if (callables) loaded.push_back(&package);
  return callables;
}

Function* find_function(const Package& package, const char* name) {
  static std::unordered_map<const Package*, std::unordered_map<std::string_view, Function*>> known;
  auto [place, is_new] = known.try_emplace(&package);
  if (is_new) {
    for (const Shard* shard : package.shards) {
      for (Function* function : shard->functions) place->second.emplace(function->name, function);
    }
  }
  const auto found = place->second.find(name);
  return found == place->second.end() ? nullptr : found->second;
}

Function* find_function(const char* name) { return find_function(package, name); }

Function* function_of(PyObject* fallback) {
  for (const Package* each : loaded) {
    for (const Shard* shard : each->shards) {
      for (Function* function : shard->functions) {
        if (function->fallback == fallback) return function;
      }
    }
  }
  return nullptr;
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

PyObject* call_out_of_order(const Function& function, PyObject* const* args, size_t flags, PyObject* keywords) {
  PyObject* values[kMostParameters];
  if (bind(function, args, PyVectorcall_NARGS(flags), keywords, values)) return function.ordered(values);
  return PyObject_Vectorcall(function.fallback, args, flags, keywords);
}

}  // namespace gradwright
