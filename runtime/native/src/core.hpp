// What generated code and the hand-written core share: Tensors, Nodes, saved state, and the way into Python.
//
// The Python runtime is the specification. Whatever is here may decline: it then gives a null Ref with no Python
// exception set, and the caller goes on with the Python function of the same name, on the same objects.

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gradwright_numpy
#ifndef GRADWRIGHT_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "kernel_table.hpp"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define GRADWRIGHT_X86 1
#endif

// Of members that the core alone has; what is inline each extension of a package has to itself.
#define GRADWRIGHT_SHARED [[gnu::visibility("default")]]

namespace gradwright {

// Owns a reference; null where there is no object.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = std::exchange(object_, std::exchange(other.object_, nullptr));
    Py_XDECREF(old);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(object_); }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

// The C part of Tensor; see runtime/base/tensor.py for what the members mean. They hold None, as Python code put
// it there, so that Python reads them as quickly as slots of its own.
struct Tensor {
  PyObject_HEAD
  PyObject* weakrefs;
  PyObject* dict;  // attributes of users; null until there is one
  PyObject* array;
  PyObject* base;
  PyObject* edge;
  PyObject* extra;
  PyObject* writes;
  // The ring of Tensors over the same memory, in the order they were made; null where nothing shares it. A Tensor leaves
  // it when it is freed. `writes` is None in all of a ring, or the same list.
  Tensor* next;
  Tensor* previous;
};

// How many freed objects of a kind are kept to be used again. AddressSanitizer shall see who uses them after that.
#ifdef __SANITIZE_ADDRESS__
constexpr int kMostKept = 0;
#else
constexpr int kMostKept = 256;
#endif

struct NodeClass;

constexpr int kInlineDims = 6;
// The most edges of a generated Node.
constexpr int kMostEdges = 16;

// The C part of runtime.graph.node.Node. Nodes of Python classes have cls == nullptr and keep shape and dtype as objects;
// those of generated classes have one output and describe it in place.
struct Node {
  PyObject_HEAD
  PyObject* weakrefs;
  PyObject* extra;  // None, or a NodeExtra
  PyObject* edges;  // of Python classes; generated ones have theirs behind the struct
  PyObject* shape;  // of Python classes; of generated ones where there are more than kInlineDims dimensions
  PyObject* dtype;  // a NumPy dtype object, or what a Python class puts here
  long long sequence_nr;
  const NodeClass* cls;
  // The list of generated Nodes that the collector of cycles does not follow yet; null in others.
  Node* newer;
  Node* older;
  int ndim;  // -1: `shape` has them
  npy_intp dims[kInlineDims];
};

template <class T>
struct Table {
  T const* items = nullptr;
  size_t count = 0;
  T const* begin() const { return items; }
  T const* end() const { return items + count; }
};

template <class T, size_t count>
constexpr Table<T> table(T const (&items)[count]) {
  return {items, count};
}

// Something that Nodes of a class save.
enum class SlotKind : unsigned char { kValue, kInput, kResult, kResultWithoutHistory };
struct SavedSlot {
  const char* property;  // "_saved_self"; null where nobody sees it
  size_t offset;         // of a PyObject*, a SavedInput or a SavedResult, in the Node
  SlotKind kind;
};

// A generated Node class. The edges of its Nodes stand right behind the struct Node, as PyObject*[edges]: a leaf
// Tensor, a Node, an OutputEdge, or null.
struct NodeClass {
  const char* name;       // "MulBackward0", of the class in Python in whose place this is
  const char* shown;      // the name that users see, which may be another class's
  const char* schema;     // "mul.Tensor(Tensor self, Tensor other) -> Tensor"
  const char* operator_;  // "mul.Tensor"
  Py_ssize_t basicsize;
  int edges;
  int numbers;  // edges behind them that Python sees, and that lead nowhere: of numbers in the place of Tensors
  // The gradients of the inputs, one for each edge, as new references or null for None. False: an exception is set.
  mutable bool (*apply)(Node* self, PyObject* grad, PyObject** results);
  Table<SavedSlot> saved;
  mutable PyTypeObject* type = nullptr;  // the Python class, once it is made
};

inline Tensor* as_tensor(PyObject* object) { return reinterpret_cast<Tensor*>(object); }
inline Node* as_node(PyObject* object) { return reinterpret_cast<Node*>(object); }
inline PyArrayObject* array_of(PyObject* tensor) {
  return reinterpret_cast<PyArrayObject*>(as_tensor(tensor)->array);
}
// A reference that is known to be to an array.
inline PyArrayObject* as_ndarray(const Ref& array) { return reinterpret_cast<PyArrayObject*>(array.get()); }
inline PyObject** edges_of(Node* node) { return reinterpret_cast<PyObject**>(node + 1); }

// -- state

// Python objects that the core needs, set by `install`.
struct Python {
  PyTypeObject* tensor_type;  // runtime.base.tensor.Tensor
  PyTypeObject* node_type;    // runtime.graph.node.Node
  PyTypeObject* output_edge_type;
  PyObject* leaf;              // runtime.base.state.LEAF
  PyObject* discard_gradient;  // runtime.graph.node.DISCARD_GRADIENT
  PyObject* untracked;         // runtime.base.state.UNTRACKED
  PyObject* guard;             // runtime.base.sharing.GUARD
  PyObject* marks;             // runtime.base.state.MARKS
  PyObject* freed_error;     // runtime.graph.saved.freed_error(node)
  PyObject* modified_error;  // runtime.graph.saved.modified_error(node, name, tensor, version)
  PyObject* detached_error;  // runtime.graph.saved.detached_error(node)
};
extern Python python;

// How many unusual things are open in the process (runtime.base.modes): 0 allows the fast path.
extern int unusual;
// Whether this thread records.
extern thread_local bool grad_enabled;
// Whether this thread is in inference mode.
extern thread_local bool inference_mode;
extern long long sequence_nr;

// Whether operators may take `object` on the fast path: an exact Tensor (or another class registered as plain) while
// nothing unusual is open.
bool is_plain_type(PyTypeObject* type);
inline bool is_plain(PyObject* object) {
  return unusual == 0 && (Py_TYPE(object) == python.tensor_type || is_plain_type(Py_TYPE(object)));
}
inline bool requires_grad(PyObject* tensor) { return as_tensor(tensor)->edge != Py_None; }

// -- methods of the module

// Whether a method got as many arguments as it takes; else with a TypeError.
inline bool has_count(Py_ssize_t count, Py_ssize_t wanted) {
  if (count == wanted) return true;
  PyErr_Format(PyExc_TypeError, "expected %zd arguments, but got %zd", wanted, count);
  return false;
}

// -- making

// A Tensor over `array` (taken), with no history. Null with an exception when memory is short.
Ref new_tensor(Ref array);
// A Node of a generated class, whose output is the array of `out`: numbered, with empty edges and saved state, and
// made the history of `out`.
Node* new_node(const NodeClass* cls, PyObject* out);
// Edge number `index` of a new Node: where the gradient of `tensor` goes.
inline void set_edge(Node* node, int index, PyObject* tensor) {
  PyObject* edge = as_tensor(tensor)->edge;
  if (edge == Py_None) return;
  if (edge == python.leaf) edge = tensor;
  Py_XINCREF(edge);
  edges_of(node)[index] = edge;
}
inline bool has_edge(Node* node, int index) { return edges_of(node)[index] != nullptr; }

// -- saved state

// The version of a slot that kept something until it was released.
constexpr int64_t kFreed = -1;
// A saved input; tensor is null where it was not needed.
struct SavedInput {
  PyObject* tensor;
  int64_t version;
  bool has_history;  // it is no leaf; `detach_` would make it one
};
// A saved output: it must not hold its own Node, so the array and its count of writes are kept.
struct SavedResult {
  PyObject* array;
  PyObject* writes;
  int64_t at;
};

// False, with an exception: an inference tensor.
bool save(SavedInput& slot, PyObject* tensor);
bool save(SavedResult& slot, PyObject* out);
// A borrowed Tensor; null with an exception where the saved state was freed or written since. A slot that keeps
// nothing gives Py_None.
PyObject* unpack(Node* self, const char* name, const SavedInput& slot);
// A new Tensor whose history is `self`; without one, for an output that has no gradient.
Ref unpack(Node* self, const char* name, const SavedResult& slot, bool history = true);

// Let go of a list `_writes`, or of what stands in its place; null is nothing.
void drop_counter(PyObject* writes);
// The count in a list `_writes`; false, with an exception, for inference tensors.
bool read_count(PyObject* writes, int64_t* count);

inline void drop(SavedInput& slot) { Py_CLEAR(slot.tensor); }
inline void drop(SavedResult& slot) {
  Py_CLEAR(slot.array);
  drop_counter(std::exchange(slot.writes, nullptr));
}
// Leave a slot as if what it kept had been released.
inline void forget(SavedInput& slot) {
  drop(slot);
  slot.version = kFreed;
}
inline void forget(SavedResult& slot) {
  drop(slot);
  slot.at = kFreed;
}
inline void release(SavedInput& slot) {
  if (slot.tensor != nullptr) slot.version = kFreed;
  drop(slot);
}
inline void release(SavedResult& slot) {
  if (slot.array != nullptr) slot.at = kFreed;
  drop(slot);
}

// Drop the Tensors that a Node saved.
void release_saved(Node* node);

// Sets the exception of saved state that is gone, and of a saved input the history of which is.
void raise_freed(Node* self);
void raise_detached(Node* self);

// -- arrays

// Element types that have native loops.
enum class Kind { kFloat32, kFloat64, kNone };
inline Kind kind_of(PyArrayObject* array) {
  switch (PyArray_DESCR(array)->type_num) {
    case NPY_FLOAT:
      return PyArray_ISNOTSWAPPED(array) ? Kind::kFloat32 : Kind::kNone;
    case NPY_DOUBLE:
      return PyArray_ISNOTSWAPPED(array) ? Kind::kFloat64 : Kind::kNone;
    default:
      return Kind::kNone;
  }
}

// work(T()) for the element type, which has native loops.
template <class Work>
decltype(auto) for_kind(Kind kind, Work work) {
  return kind == Kind::kFloat32 ? work(float()) : work(double());
}

template <class T>
T* elements(PyArrayObject* array) {
  return static_cast<T*>(PyArray_DATA(array));
}

// Sizes as a tuple. Few shapes come again and again, so tuples that were made are given out again.
Ref tuple_of(const npy_intp* sizes, int count);

// -- calling Python

// The Python string of a literal, always the same object: Python remembers where attributes are by it.
PyObject* interned(const char* literal);

inline Ref call(PyObject* function, PyObject* const* args, size_t count) {
  return Ref(PyObject_Vectorcall(function, args, count, nullptr));
}

}  // namespace gradwright
