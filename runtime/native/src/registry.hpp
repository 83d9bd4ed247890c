// What generated code tells the core about itself: its operators, its Nodes, and what it needs of Python. There is that of
// the core's own operators, and that of each extension of a package.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core.hpp"
#include "observe.hpp"
#include "promotion.hpp"

namespace gradwright {

constexpr size_t kMostParameters = 64;

// Who serves calls with `out=`: Python; the entry, whose result is copied, of some operators only where no argument lies in
// that memory (kApart); or a loop, which may write its result where it belongs.
enum class Out : unsigned char { kPython, kApart, kCopied, kDirect };

// A callable of the module of operators that has a native entry.
struct Function {
  const char* name;               // "mul_Tensor"
  const char* const* parameters;  // their names, in the schema's order
  int count;
  int positional;  // how many of them may be given without their names
  PyObject* (*ordered)(PyObject* const* values);  // the entry, on values that `bind` has put in order
  // The number of the first guard in generated/guards.py that these values fail; kNoGuard if they pass.
  int (*failing)(PyObject* const* values);
  Out out;
  bool computes_halves;  // Tensors of half precision are taken, too: in_other_dtype computes
  Promotion promotion;   // and Tensors of different element types
  uint64_t promoted;     // the positions of the arguments that are brought to one type, as bits

  // Set by load_package().
  PyObject* fallback = nullptr;  // the Python function, which does everything
  PyObject* keywords = nullptr;  // the names of the keyword-only parameters; null if there are none
  PyObject** names = nullptr;    // all names, interned
  PyObject** defaults = nullptr;  // null for a parameter that must be given

  // Whether calls leave it whatever their arguments are: bits of observe.hpp.
  unsigned char replaced = 0;
};

// Something that generated code calls by name. `attribute` may have dots in it.
struct PythonName {
  const char* module;
  const char* attribute;
  PyObject** slot;
};

// A function of a module of Nodes that makes a Node of Python. That module is loaded when the first of them is called.
struct Recorder {
  const char* module;
  const char* name;
  PyObject* function = nullptr;

  // False, with an exception: there is none.
  GRADWRIGHT_SHARED bool find();
};

// A value written as in Python, with the names that the module of operators knows.
struct Constant {
  const char* text;
  PyObject** slot;
};

// Why an operator or a Node class has no native counterpart.
struct Reason {
  const char* name;
  const char* reason;
};

// The operators and Nodes of one generated file.
struct Shard {
  Table<Function*> functions;
  Table<const NodeClass*> nodes;
  Table<PythonName> names;
  Table<Constant> constants;
  Table<Reason> left_to_python;
};

// What people call: a packet, which chooses among overloads. Each member names one in the module of operators, or is null;
// what none of them takes goes to the Python packet.
struct Packet {
  const char* name;
  const char* single;  // the only overload, for any arguments
  const char* unary;   // for a Tensor alone
  const char* tensor;  // for two Tensors
  const char* number;  // for a Tensor and a Python number
  const char* spread;  // for ints, with or without brackets around them, and a Tensor before them if `sizes_at` is 1
  int sizes_at;
};

// A sign of Python, `__mul__`: the overloads for a Tensor and for a number on its other side; of `__neg__` the one for
// the Tensor alone.
struct Sign {
  const char* name;
  const char* module;  // where the Python function is that knows the rest
  const char* attribute;
  const char* unary;
  const char* tensor;
  const char* number;
};

// All that was generated for one package of Python.
struct Package {
  const char* name;       // "generated"; the modules of operators, packets and Nodes are below it
  const char* namespace_;  // as runtime.call.packets.choose knows its packets: "mylib::"; the core's own have none
  Table<const Shard*> shards;
  const Table<Packet>* packets;
  const Table<Sign>* signs;
};

// That of the library which this is compiled into: of the core, or of an extension.
extern const Package package;

// Those that were loaded, the core's own first.
const std::vector<const Package*>& packages();

// Find everything that a package calls, with its module of operators imported and before anything native takes the place of
// what is there; make its classes of Nodes; and give a dict from each of its Python functions that has a counterpart to
// that counterpart. Null, with an exception: something is missing.
Ref load_package(PyObject* extension, const Package& package);

// The entry under a name of a module of operators; null if it has none.
Function* find_function(const Package& package, const char* name);
// The same of the core's own operators.
Function* find_function(const char* name);
// The entry in the place of a Python function; null if it has none.
Function* function_of(PyObject* fallback);

// -- calling entries from Python

// Put the arguments of a call into the order of the parameters, and defaults where none are given. False, without an
// exception: they do not fit.
bool bind(const Function& function, PyObject* const* args, Py_ssize_t given, PyObject* keywords,
          PyObject** values);

namespace detail {

template <auto entry, size_t... index>
PyObject* spread([[maybe_unused]] PyObject* const* values, std::index_sequence<index...>) {
  return entry(values[index]...).release();
}

template <class... Args>
constexpr size_t arity(Ref (*)(Args...)) {
  return sizeof...(Args);
}

}  // namespace detail

// An entry on values in the order of its parameters, all of them given.
template <auto entry>
PyObject* ordered(PyObject* const* values) {
  return detail::spread<entry>(values, std::make_index_sequence<detail::arity(entry)>());
}

// A call of an entry. What does not fit goes on to the Python function as it is, which says what is wrong.
PyObject* call_out_of_order(const Function& function, PyObject* const* args, size_t flags, PyObject* keywords);
inline PyObject* call(const Function& function, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Py_ssize_t given = PyVectorcall_NARGS(flags);
  if (keywords == nullptr && given == function.count && given == function.positional) return function.ordered(args);
  return call_out_of_order(function, args, flags, keywords);
}

}  // namespace gradwright
