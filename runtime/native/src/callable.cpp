#include "callable.hpp"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inplace.hpp"
#include "intrinsics.hpp"
#include "memory.hpp"
#include "names.hpp"
#include "registry.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

// An overload that runtime.call.packets.choose took for arguments of these types: it would take it again.
struct Choice {
  static constexpr Py_ssize_t kMostArguments = 8;
  const Function* function;
  Py_ssize_t given, named;
  PyObject* types[kMostArguments];  // of the values; for a list or tuple `items` has that of its elements
  PyObject* items[kMostArguments];
  PyObject* names[kMostArguments];

  bool fits(PyObject* const* args, Py_ssize_t count, PyObject* keywords) const;
};

// Takes the place of a Python function: called in the same ways, bound as a method, with attributes of its own.
struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weakrefs;
  PyObject* fallback;
  // Of packets and signs: what they choose among, null where there is nothing to choose.
  const Function* single;
  const Function* unary;
  const Function* tensor;
  const Function* number;
  const Function* spread;
  int sizes_at;  // in the arguments of `spread`
  std::vector<Choice>* choices;
};

PyTypeObject* callable_type = nullptr;

Callable* as_callable(PyObject* object) { return reinterpret_cast<Callable*>(object); }

// -- calls

PyObject* pass_on(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  return PyObject_Vectorcall(as_callable(self)->fallback, args, flags, keywords);
}

PyObject* call_function(const Function* function, PyObject* const* args, size_t count) {
  return call(*function, args, count, nullptr);
}

PyObject* call_unbound(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords);

PyObject* call_single(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Function* function = as_callable(self)->single;
  PyObject* values[kMostParameters];
  if (bind(*function, args, PyVectorcall_NARGS(flags), keywords, values)) return function->ordered(values);
  return call_unbound(self, args, flags, keywords);
}

// `x.view(2, 3)` and `x.view((2, 3))`, `zeros(2, 3)` and `zeros((2, 3))`; null without an exception where it is neither.
PyObject* call_spread(const Callable* packet, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const int at = packet->sizes_at;
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  constexpr Py_ssize_t kMost = kMostParameters;
  if (count <= at || named > kMost - 2 || (at == 1 && !is_plain(args[0]))) return nullptr;
  Ref ints;
  if (count == at + 1 && (PyTuple_CheckExact(args[at]) || PyList_CheckExact(args[at]))) {
    if (named > 0 && !all_ints(args[at])) return nullptr;  // the packet says what it takes
  } else {
    npy_intp sizes[detail::kMostDims];
    if (count - at > detail::kMostDims) return nullptr;
    for (Py_ssize_t i = at; i < count; ++i) {
      if (!detail::read_int(args[i], &sizes[i - at])) return nullptr;
    }
    ints = tuple_of(sizes, static_cast<int>(count - at));
    if (!ints) return nullptr;
  }
  PyObject* given[kMost];
  given[0] = args[0];
  given[at] = ints ? ints.get() : args[at];
  const Function* function = packet->spread;
  if (named == 0) return call_function(function, given, static_cast<size_t>(at + 1));
  std::copy_n(args + count, named, given + at + 1);
  PyObject* values[kMost];
  return bind(*function, given, at + 1, keywords, values) ? function->ordered(values) : nullptr;
}

PyObject* type_of(PyObject* object) { return reinterpret_cast<PyObject*>(Py_TYPE(object)); }

// The type of all elements of a list or tuple, Py_NotImplemented where they have several; null for anything else.
PyObject* item_type(PyObject* object) {
  const bool sequence = PyList_CheckExact(object) || PyTuple_CheckExact(object);
  const Py_ssize_t count = sequence ? PySequence_Fast_GET_SIZE(object) : 0;
  if (count == 0) return nullptr;
  PyObject* first = type_of(PySequence_Fast_GET_ITEM(object, 0));
  for (Py_ssize_t i = 1; i < count; ++i) {
    if (type_of(PySequence_Fast_GET_ITEM(object, i)) != first) return Py_NotImplemented;
  }
  return first;
}

bool Choice::fits(PyObject* const* args, Py_ssize_t count, PyObject* keywords) const {
  const Py_ssize_t more = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  if (count != given || more != named) return false;
  for (Py_ssize_t i = 0; i < count + more; ++i) {
    PyObject* items_type = item_type(args[i]);
    if (type_of(args[i]) != types[i] || items_type != items[i] || items_type == Py_NotImplemented) return false;
  }
  for (Py_ssize_t i = 0; i < more; ++i) {
    if (PyTuple_GET_ITEM(keywords, i) != names[i]) return false;
  }
  return true;
}

// The overload that takes these arguments, as far as is known here.
const Function* overload_for(const Callable* packet, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (packet->single != nullptr) return packet->single;
  if (keywords == nullptr && count == 1) {
    if (packet->unary != nullptr && is_plain(args[0])) return packet->unary;
  } else if (keywords == nullptr && count == 2 && is_plain(args[0])) {
    if (packet->tensor != nullptr && is_plain(args[1])) return packet->tensor;
    if (packet->number != nullptr && is_number(args[1])) return packet->number;
  }
  if (packet->choices != nullptr) {
    for (const Choice& choice : *packet->choices) {
      if (choice.fits(args, count, keywords)) return choice.function;
    }
  }
  return nullptr;
}

// -- out=

// The place of `out` among the names of arguments; -1: it is not there.
Py_ssize_t place_of_out(PyObject* keywords) {
  static PyObject* const out = PyUnicode_InternFromString("out");
  for (Py_ssize_t i = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords); i-- > 0;) {
    if (PyTuple_GET_ITEM(keywords, i) == out) return i;
  }
  return -1;
}

// Calls test(value) for each Tensor among values and the items of lists, until one of them fails.
template <class Test>
bool all_tensors(PyObject* const* values, Py_ssize_t count, Test test) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* value = values[i];
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
      if (!all_tensors(PySequence_Fast_ITEMS(value), size, test)) return false;
    } else if (PyObject_TypeCheck(value, python.tensor_type) && !test(value)) {
      return false;
    }
  }
  return true;
}

// Whether the result of a call may be written into `target` here: nothing is recorded, and nobody reads what is written.
bool can_write_out(PyObject* target, PyObject* const* values, Py_ssize_t count, bool* apart) {
  if (!is_plain(target) || (grad_enabled && requires_grad(target)) || !can_write(target, false)) return false;
  if (PyArray_SIZE(array_of(target)) == 0) return false;  // it becomes as large as the result is
  *apart = true;
  return all_tensors(values, count, [=](PyObject* value) {
    if (!is_plain(value) || (grad_enabled && requires_grad(value))) return false;
    if (may_overlap(array_of(target), array_of(value))) *apart = false;
    return !detail::may_lie_over_part(target, value);
  });
}

// The call with the argument in the place `at` of the named ones as `out`. Null without an exception: Python has to do it.
PyObject* call_with_out(PyObject* self, PyObject* const* args, Py_ssize_t given, PyObject* keywords, Py_ssize_t at) {
  constexpr Py_ssize_t kMost = kMostParameters;
  const Py_ssize_t named = PyTuple_GET_SIZE(keywords) - 1;
  if (given + named > kMost) return nullptr;
  PyObject* rest[kMost];
  std::copy_n(args, given + at, rest);
  std::copy_n(args + given + at + 1, named - at, rest + given + at);
  Ref names;
  if (named > 0) {
    names = Ref(PyTuple_New(named));
    if (!names) return nullptr;
    for (Py_ssize_t i = 0; i < named; ++i) {
      PyTuple_SET_ITEM(names.get(), i, Py_NewRef(PyTuple_GET_ITEM(keywords, i < at ? i : i + 1)));
    }
  }
  const Function* function = overload_for(as_callable(self), rest, given, names.get());
  PyObject *target = args[given + at], *values[kMost];
  if (function == nullptr || function->out == Out::kPython || (function->replaced & kByKernel) != 0 ||
      !bind(*function, rest, given, names.get(), values)) {
    return nullptr;
  }
  bool apart = false;
  if (!can_write_out(target, values, function->count, &apart)) return nullptr;
  if (function->out == Out::kApart && !apart) return nullptr;
  PyArrayObject* array = array_of(target);
  Ref result;
  {
    const Awaiting waits(apart && function->out == Out::kDirect ? array : nullptr);
    result = Ref(function->ordered(values));
  }
  if (!result) {
    forget_error();  // Python may know a dtype to compute in
    return nullptr;
  }
  if (!is_plain(result.get()) || requires_grad(result.get())) return nullptr;
  PyObject* written = as_tensor(result.get())->array;
  if (written != reinterpret_cast<PyObject*>(array) && !overwrite(target, written)) return nullptr;
  return count_write(target) ? Py_NewRef(target) : nullptr;
}

// What no overload is known to take: a call with `out=`, or one for Python.
PyObject* call_unbound(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  if (const Py_ssize_t at = place_of_out(keywords); at >= 0) {
    PyObject* out = call_with_out(self, args, PyVectorcall_NARGS(flags), keywords, at);
    if (out != nullptr || PyErr_Occurred()) return out;
  }
  return pass_on(self, args, flags, keywords);
}

PyObject* call_packet(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Callable* packet = as_callable(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (packet->spread != nullptr) {
    PyObject* out = call_spread(packet, args, count, keywords);
    if (out != nullptr || PyErr_Occurred()) return out;
  }
  if (const Function* function = overload_for(packet, args, count, keywords)) {
    return call(*function, args, flags, keywords);
  }
  return call_unbound(self, args, flags, keywords);
}

PyObject* call_entry(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  return call(*as_callable(self)->single, args, flags, keywords);
}

// -- the type

int traverse(PyObject* self, visitproc visit, void* arg) {
  Callable* callable = as_callable(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(callable->dict);
  Py_VISIT(callable->fallback);
  return 0;
}

int clear(PyObject* self) {
  // The fallback stays until the end: a call may still come.
  Py_CLEAR(as_callable(self)->dict);
  return 0;
}

// Lets go of the choices of a packet.
void forget(Callable* packet) {
  if (packet->choices == nullptr) return;
  for (const Choice& choice : *packet->choices) {
    for (Py_ssize_t i = 0; i < choice.given + choice.named; ++i) {
      Py_DECREF(choice.types[i]);
      Py_XDECREF(choice.items[i]);
      Py_XDECREF(choice.names[i]);
    }
  }
  delete std::exchange(packet->choices, nullptr);
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_callable(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  clear(self);
  forget(as_callable(self));
  Py_CLEAR(as_callable(self)->fallback);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* bind_method(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

PyObject* describe(PyObject* self) {
  Ref name(PyObject_GetAttrString(self, "__qualname__"));
  return name ? PyUnicode_FromFormat("<native function %U at %p>", name.get(),
                                     static_cast<void*>(self))
              : nullptr;
}

// Pickled by its name, as Python functions are.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(Callable, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Callable, weakrefs), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(Callable, fallback), READONLY, nullptr},
    {},
};

PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)},
    {Py_tp_repr, reinterpret_cast<void*>(describe)},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {
    RUNTIME_NAME("native.Function"),
    sizeof(Callable),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    slots,
};

// -- making

// A callable in the place of `fallback`, with its attributes.
Ref make(PyObject* fallback, vectorcallfunc vectorcall) {
  Ref made(callable_type->tp_alloc(callable_type, 0));
  if (!made) return made;
  Callable* callable = as_callable(made.get());
  callable->vectorcall = vectorcall;
  callable->fallback = Py_NewRef(fallback);
  Ref dict(PyObject_GetAttrString(fallback, "__dict__"));
  callable->dict = dict ? PyDict_Copy(dict.get()) : nullptr;
  if (callable->dict == nullptr) return Ref();
  for (const char* name : {"__name__", "__qualname__", "__doc__", "__module__"}) {
    Ref value(PyObject_GetAttrString(fallback, name));
    if (!value || PyDict_SetItemString(callable->dict, name, value.get()) < 0) return Ref();
  }
  return made;
}

bool put(PyObject* callables, PyObject* fallback, Ref made) {
  return made && PyDict_SetItem(callables, fallback, made.get()) == 0;
}

// The Python function of a packet or a sign; null with an exception where there is none.
Ref find(const char* module, const char* attribute) {
  Ref found(PyImport_ImportModule(module));
  return found ? Ref(PyObject_GetAttrString(found.get(), attribute)) : Ref();
}

const Function* function_or_null(const Package& package, const char* name) {
  return name == nullptr ? nullptr : find_function(package, name);
}

// Packets by the names that runtime.call.packets.choose knows them by.
std::unordered_map<std::string, Callable*> known_packets;
constexpr size_t kMostChoices = 32;

bool add_packet(PyObject* callables, const Package& package, const Packet& packet) {
  Ref fallback = find((std::string(package.name) + ".packets").c_str(), packet.name);
  if (!fallback) return false;
  // A packet of one overload may be the operator itself.
  const int known = PyDict_Contains(callables, fallback.get());
  if (known != 0) return known > 0;
  const Function* single = function_or_null(package, packet.single);
  Ref made = make(fallback.get(), single != nullptr ? call_single : call_packet);
  if (!made) return false;
  Callable* callable = as_callable(made.get());
  callable->single = single;
  callable->unary = function_or_null(package, packet.unary);
  callable->tensor = function_or_null(package, packet.tensor);
  callable->number = function_or_null(package, packet.number);
  callable->spread = function_or_null(package, packet.spread);
  callable->sizes_at = packet.sizes_at;
  Ref base(PyObject_GetAttrString(fallback.get(), "__name__"));
  const char* name = base ? PyUnicode_AsUTF8(base.get()) : nullptr;
  if (name == nullptr) return false;
  known_packets[std::string(package.namespace_) + name] = callable;
  Py_INCREF(callable);
  return put(callables, fallback.get(), std::move(made));
}

bool add_sign(PyObject* callables, const Package& package, const Sign& sign) {
  Ref fallback = find(sign.module, sign.attribute);
  if (!fallback) return false;
  Ref made = make(fallback.get(), call_packet);
  if (!made) return false;
  as_callable(made.get())->unary = function_or_null(package, sign.unary);
  as_callable(made.get())->tensor = function_or_null(package, sign.tensor);
  as_callable(made.get())->number = function_or_null(package, sign.number);
  return put(callables, fallback.get(), std::move(made));
}

}  // namespace

bool ready_callables() {
  if (callable_type == nullptr)
    callable_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return callable_type != nullptr;
}

void remember_choice(const char* base, PyObject* args, PyObject* kwargs, PyObject* chosen) {
  const auto known = known_packets.find(base);
  if (known == known_packets.end() || Py_TYPE(chosen) != callable_type) return;
  const Callable* function = as_callable(chosen);
  Choice choice = {function->single, PyTuple_GET_SIZE(args), PyDict_GET_SIZE(kwargs), {}, {}, {}};
  if (function->vectorcall != call_entry || choice.given + choice.named > Choice::kMostArguments) return;
  Callable* packet = known->second;
  if (packet->choices == nullptr) packet->choices = new std::vector<Choice>;
  if (packet->choices->size() >= kMostChoices) return;
  Py_ssize_t place = 0, next = 0;
  const auto add = [&](PyObject* value) {
    choice.types[place] = Py_NewRef(type_of(value));
    choice.items[place++] = Py_XNewRef(item_type(value));
  };
  for (Py_ssize_t i = 0; i < choice.given; ++i) add(PyTuple_GET_ITEM(args, i));
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &name, &value);) {
    choice.names[next++] = Py_NewRef(name);
    add(value);
  }
  packet->choices->push_back(choice);
}

Ref make_callables(const Package& package) {
  Ref callables(PyDict_New());
  if (!callables) return callables;
  for (const Shard* shard : package.shards) {
    for (Function* function : shard->functions) {
      Ref made = make(function->fallback, call_entry);
      if (!made) return made;
      as_callable(made.get())->single = function;
      if (!put(callables.get(), function->fallback, std::move(made))) return Ref();
    }
  }
  for (const Packet& packet : *package.packets) {
    if (!add_packet(callables.get(), package, packet)) return Ref();
  }
  for (const Sign& sign : *package.signs) {
    if (!add_sign(callables.get(), package, sign)) return Ref();
  }
  return callables;
}

}  // namespace gradwright
