// Backward for the common case: everything, into all leaves, with no hook that can tell when a leaf is complete.
//
// runtime/engine.py describes the method: a Node is numbered after everything it points at, so the waiting Node with
// the highest number has all of its gradients. What is rare is done there, by the functions that `install` names.

#include "core.hpp"
#include "engine.hpp"
#include "kernels.hpp"
#include "types.hpp"

#include <algorithm>
#include <vector>

namespace gradwright {

EngineHooks engine_hooks;

namespace {

// A gradient that waits: for a Node of one output a Tensor, for others a list.
struct Waiting {
  PyObject* key = nullptr;   // the Node or leaf; borrowed from `alive` where the graph alone would not hold it
  PyObject* grad = nullptr;  // owned
  bool owned = false;        // a sum made here, that may be written
};

// A map from addresses to what waits there, with open addressing. Removing leaves a gap that is not reused; the table
// is made anew when it is full.
class Table {
 public:
  Table() { entries_.resize(64); }
  ~Table() {
    for (Waiting& entry : entries_) Py_XDECREF(entry.grad);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  Waiting* find(PyObject* key) {
    for (size_t i = slot(key);; i = (i + 1) & (entries_.size() - 1)) {
      if (entries_[i].key == key) return &entries_[i];
      if (entries_[i].key == nullptr) return nullptr;
    }
  }
  Waiting* insert(PyObject* key) {
    if (2 * ++used_ > entries_.size()) grow();
    size_t i = slot(key);
    while (entries_[i].key != nullptr) i = (i + 1) & (entries_.size() - 1);
    entries_[i].key = key;
    return &entries_[i];
  }
  // Takes the gradient out; the place stays taken, by no key.
  static void remove(Waiting* entry) {
    entry->key = gone();
    entry->grad = nullptr;
    entry->owned = false;
  }
  template <class F>
  void each(F&& visit) {
    for (Waiting& entry : entries_) {
      if (entry.key != nullptr && entry.key != gone()) visit(entry);
    }
  }

 private:
  static PyObject* gone() { return reinterpret_cast<PyObject*>(&gone_mark); }
  size_t slot(PyObject* key) const {
    auto bits = reinterpret_cast<uintptr_t>(key) >> 4;
    return (bits * 0x9E3779B97F4A7C15ull >> 20) & (entries_.size() - 1);
  }
  void grow() {
    std::vector<Waiting> old(std::move(entries_));
    size_t live = 0;
    for (Waiting& entry : old) live += entry.key != nullptr && entry.key != gone();
    size_t size = 64;
    while (size < 4 * (live + 1)) size *= 2;
    entries_.assign(size, Waiting());
    used_ = live + 1;
    for (Waiting& entry : old) {
      if (entry.key == nullptr || entry.key == gone()) continue;
      size_t i = slot(entry.key);
      while (entries_[i].key != nullptr) i = (i + 1) & (entries_.size() - 1);
      entries_[i] = entry;
    }
  }
  static inline char gone_mark = 0;
  std::vector<Waiting> entries_;
  size_t used_ = 0;
};

struct Later {
  bool operator()(Node* a, Node* b) const { return a->sequence_nr < b->sequence_nr; }
};

class Run {
 public:
  Run(bool keep_graph, bool create_graph) : keep_graph_(keep_graph), create_graph_(create_graph) {}
  ~Run() {
    for (Node* node : heap_) Py_DECREF(node);
    Py_XDECREF(next_node_);
    Py_XDECREF(next_grad_);
    for (PyObject* leaf : leaf_order_) Py_DECREF(leaf);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Hand a gradient (taken) to where an edge leads. False: an exception is set.
  bool deliver(PyObject* edge, PyObject* grad, PyObject* source);
  bool loop();
  bool finish_leaves();

 private:
  bool deliver_node(Node* node, PyObject* grad);
  bool deliver_output(PyObject* node, Py_ssize_t output_nr, Py_ssize_t outputs, PyObject* grad, PyObject* source);
  bool deliver_leaf(PyObject* leaf, PyObject* grad, PyObject* source);
  bool add(Waiting* entry, PyObject* grad);
  void push(Node* node);
  bool run_generated(Node* node, Ref grad);
  bool run_python(Node* node, Ref grad);

  bool keep_graph_;
  bool create_graph_;
  Table pending_;
  Table leaves_;
  std::vector<PyObject*> leaf_order_;  // owned
  std::vector<Node*> heap_;            // owned, a heap by sequence number
  Node* next_node_ = nullptr;          // owned: what the last Node led to, which needs no table if it is next
  PyObject* next_grad_ = nullptr;
  bool next_owned_ = false;
};

bool fits_python(Node* node, PyObject* grad);

bool fits(Node* node, PyObject* grad) {
  if (node->ndim < 0) return fits_python(node, grad);
  PyArrayObject* array = array_of(grad);
  if (node->ndim != PyArray_NDIM(array)) return false;
  if (node->dtype != reinterpret_cast<PyObject*>(PyArray_DESCR(array))) return false;
  return std::equal(node->dims, node->dims + node->ndim, PyArray_DIMS(array));
}

// Names that are looked up for Nodes of Python classes.
struct Names {
  PyObject* apply = PyUnicode_InternFromString("apply");
  PyObject* release = PyUnicode_InternFromString("release");
  PyObject* edges = PyUnicode_InternFromString("edges");
  PyObject* name = PyUnicode_InternFromString("_name");
  PyObject* num_outputs = PyUnicode_InternFromString("num_outputs");
};
const Names& names() {
  static const Names found;
  return found;
}

// How many outputs a Node of a Python class has; -1 with an exception.
Py_ssize_t output_count(PyObject* node) {
  PyObject* given = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(node)), names().num_outputs);
  if (given == nullptr) return -1;
  if (given == Py_None) {  // as many as its shape tells
    Py_DECREF(given);
    return PyObject_Size(as_node(node)->shape);
  }
  const Py_ssize_t count = PyLong_AsSsize_t(given);
  Py_DECREF(given);
  return count;
}

// Whether Nodes of the class of `node` have one output, which shape and dtype describe.
bool is_single(PyObject* node, bool* failed) {
  PyObject* given = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(node)), names().num_outputs);
  if (given == nullptr) {
    *failed = true;
    return false;
  }
  const bool single = given != Py_None && PyLong_AsLong(given) == 1;
  Py_DECREF(given);
  return single;
}

bool fits_python(Node* node, PyObject* grad) {
  PyArrayObject* array = array_of(grad);
  if (node->dtype != reinterpret_cast<PyObject*>(PyArray_DESCR(array))) return false;
  if (!PyTuple_CheckExact(node->shape) || PyTuple_GET_SIZE(node->shape) != PyArray_NDIM(array)) return false;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    PyObject* size = PyTuple_GET_ITEM(node->shape, i);
    if (!PyLong_CheckExact(size) || PyLong_AsSsize_t(size) != PyArray_DIM(array, i)) return false;
  }
  return true;
}

bool same_form(PyArrayObject* a, PyArrayObject* b) {
  return PyArray_DESCR(a) == PyArray_DESCR(b) && PyArray_NDIM(a) == PyArray_NDIM(b) &&
         std::equal(PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a), PyArray_DIMS(b));
}

// `grad` (taken) in the shape and dtype of what it is the gradient of.
PyObject* fit(PyObject* grad, PyObject* target, PyObject* source) {
  PyObject* args[] = {grad, target, source};
  PyObject* fitted = PyObject_Vectorcall(engine_hooks.fit, args, 3, nullptr);
  Py_DECREF(grad);
  return fitted;
}

PyObject* name_of(Node* node) {
  return PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(node)), names().name);
}

void Run::push(Node* node) {
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

bool Run::add(Waiting* entry, PyObject* grad) {
  if (!create_graph_ && is_plain(entry->grad) && is_plain(grad) && same_form(array_of(entry->grad), array_of(grad))) {
    PyArrayObject* known = array_of(entry->grad);
    if (entry->owned) {
      if (add_into(known, array_of(grad))) {
        Py_DECREF(grad);
        return true;
      }
    } else if (Ref sum = binary<kernels::plus>(entry->grad, grad)) {
      Ref tensor = new_tensor(std::move(sum));
      if (!tensor) return false;
      Py_SETREF(entry->grad, tensor.release());
      entry->owned = true;
      Py_DECREF(grad);
      return true;
    } else if (PyErr_Occurred()) {
      return false;
    }
  }
  PyObject* args[] = {entry->grad, grad};
  PyObject* sum = PyObject_Vectorcall(engine_hooks.sum, args, 2, nullptr);
  Py_DECREF(grad);
  if (sum == nullptr) return false;
  Py_SETREF(entry->grad, sum);
  entry->owned = false;
  return true;
}

bool Run::deliver_node(Node* node, PyObject* grad) {
  if (next_node_ == node) {
    Waiting waiting{nullptr, next_grad_, next_owned_};
    const bool done = add(&waiting, grad);
    next_grad_ = waiting.grad;
    next_owned_ = waiting.owned;
    return done;
  }
  if (Waiting* entry = pending_.find(reinterpret_cast<PyObject*>(node))) return add(entry, grad);
  if (next_node_ == nullptr) {
    next_node_ = as_node(Py_NewRef(reinterpret_cast<PyObject*>(node)));
    next_grad_ = grad;
    next_owned_ = false;
    return true;
  }
  Waiting* entry = pending_.insert(reinterpret_cast<PyObject*>(node));
  entry->grad = grad;
  push(as_node(Py_NewRef(reinterpret_cast<PyObject*>(node))));
  return true;
}

// A gradient (taken) for one of several outputs of a Node of a Python class.
bool Run::deliver_output(PyObject* node, Py_ssize_t output_nr, Py_ssize_t outputs, PyObject* grad, PyObject* source) {
  PyObject* args[] = {node, PyLong_FromSsize_t(output_nr), grad, source};
  PyObject* fitted = args[1] == nullptr ? nullptr : PyObject_Vectorcall(engine_hooks.fit_output, args, 4, nullptr);
  Py_XDECREF(args[1]);
  Py_DECREF(grad);
  if (fitted == nullptr) return false;
  if (next_node_ == as_node(node)) {  // single-output Nodes alone wait there
    Py_DECREF(fitted);
    PyErr_SetString(PyExc_SystemError, "a Node of several outputs waits as one of a single output");
    return false;
  }
  Waiting* entry = pending_.find(node);
  if (entry == nullptr) {
    PyObject* list = PyList_New(outputs);
    if (list == nullptr) {
      Py_DECREF(fitted);
      return false;
    }
    for (Py_ssize_t i = 0; i < outputs; ++i) PyList_SET_ITEM(list, i, Py_NewRef(Py_None));
    entry = pending_.insert(node);
    entry->grad = list;
    push(as_node(Py_NewRef(node)));
  }
  PyObject* known = PyList_GET_ITEM(entry->grad, output_nr);
  if (known == Py_None) {
    PyList_SetItem(entry->grad, output_nr, fitted);
    return true;
  }
  Waiting waiting{nullptr, Py_NewRef(known), false};
  const bool done = add(&waiting, fitted);
  if (done) {
    PyList_SetItem(entry->grad, output_nr, waiting.grad);
  } else {
    Py_XDECREF(waiting.grad);
  }
  return done;
}

bool Run::deliver_leaf(PyObject* leaf, PyObject* grad, PyObject* source) {
  if (!same_form(array_of(leaf), array_of(grad))) {
    grad = fit(grad, leaf, source);
    if (grad == nullptr) return false;
  }
  if (Waiting* entry = leaves_.find(leaf)) return add(entry, grad);
  leaf_order_.push_back(Py_NewRef(leaf));
  leaves_.insert(leaf)->grad = grad;
  return true;
}

bool Run::deliver(PyObject* edge, PyObject* grad, PyObject* source) {
  PyTypeObject* type = Py_TYPE(edge);
  if (PyType_IsSubtype(type, python.node_type)) {
    Node* node = as_node(edge);
    if (node->cls != nullptr) {
      if (!fits(node, grad)) {
        grad = fit(grad, edge, source);
        if (grad == nullptr) return false;
      }
      return deliver_node(node, grad);
    }
    bool failed = false;
    if (is_single(edge, &failed)) {
      if (!fits_python(node, grad)) {
        grad = fit(grad, edge, source);
        if (grad == nullptr) return false;
      }
      return deliver_node(node, grad);
    }
    const Py_ssize_t count = failed ? -1 : output_count(edge);
    if (count < 0) {
      Py_DECREF(grad);
      return false;
    }
    return deliver_output(edge, 0, count, grad, source);
  }
  if (type == python.output_edge_type) {
    PyObject* node = PyObject_GetAttrString(edge, "node");
    PyObject* number = node == nullptr ? nullptr : PyObject_GetAttrString(edge, "output_nr");
    const Py_ssize_t count = number == nullptr ? -1 : output_count(node);
    bool done = false;
    if (count >= 0) {
      done = deliver_output(node, PyLong_AsSsize_t(number), count, grad, source);  // takes grad
    } else {
      Py_DECREF(grad);
    }
    Py_XDECREF(number);
    Py_XDECREF(node);
    return done;
  }
  return deliver_leaf(edge, grad, source);
}

// Adds a note to the exception that is set: which Node failed. Always false.
bool explain(Node* node) {
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  PyErr_NormalizeException(&kind, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  PyObject* args[] = {value, reinterpret_cast<PyObject*>(node)};
  PyObject* told = value == nullptr ? nullptr : PyObject_Vectorcall(engine_hooks.explain, args, 2, nullptr);
  if (told == nullptr) PyErr_Clear();
  Py_XDECREF(told);
  PyErr_Restore(kind, value, trace);
  return false;
}

bool Run::run_generated(Node* node, Ref grad) {
  PyObject* results[16] = {};
  const int count = node->cls->edges;
  if (!node->cls->apply(node, grad.get(), results)) {
    for (int i = 0; i < count; ++i) Py_XDECREF(results[i]);
    return explain(node);
  }
  if (!keep_graph_ && !node->freed) {
    node->freed = true;
    if (node->cls->release != nullptr) node->cls->release(node);
  }
  grad = Ref();
  PyObject* source = nullptr;
  bool done = true;
  for (int i = 0; i < count; ++i) {
    PyObject* result = results[i];
    PyObject* edge = edges_of(node)[i];
    if (result == nullptr) continue;
    if (!done || edge == nullptr || result == Py_None) {
      Py_DECREF(result);
      continue;
    }
    if (PyType_IsSubtype(Py_TYPE(edge), python.node_type) &&
        as_node(edge)->cls != nullptr && fits(as_node(edge), result)) {
      done = deliver_node(as_node(edge), result);
      continue;
    }
    if (source == nullptr) source = name_of(node);
    done = source != nullptr && deliver(edge, result, source);
  }
  Py_XDECREF(source);
  return done;
}

// A Node of a Python class, or one with hooks: run by runtime/engine.py.
bool Run::run_python(Node* node, Ref grad) {
  PyObject* self = reinterpret_cast<PyObject*>(node);
  Ref results;
  if (node->extra == Py_None && !PyList_CheckExact(grad.get())) {
    PyObject* args[] = {self, grad.get()};
    results = Ref(PyObject_VectorcallMethod(names().apply, args, 2, nullptr));
    if (!results) return explain(node);
    if (!keep_graph_) {
      Ref released(PyObject_VectorcallMethod(names().release, args, 1, nullptr));
      if (!released) return false;
    }
  } else {
    PyObject* args[] = {self, grad.get(), keep_graph_ ? Py_True : Py_False};
    results = Ref(PyObject_Vectorcall(engine_hooks.run_node, args, 3, nullptr));
    if (!results) return false;
  }
  grad = Ref();
  Ref edges(PyObject_GetAttr(self, names().edges));
  Ref source(name_of(node));
  if (!edges || !source) return false;
  Ref all_edges(PySequence_Fast(edges.get(), "edges"));
  Ref all(PySequence_Fast(results.get(), "gradients"));
  if (!all || !all_edges) return false;
  results = Ref();
  const Py_ssize_t count =
      std::min(PySequence_Fast_GET_SIZE(all.get()), PySequence_Fast_GET_SIZE(all_edges.get()));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* result = PySequence_Fast_GET_ITEM(all.get(), i);
    PyObject* edge = PySequence_Fast_GET_ITEM(all_edges.get(), i);
    if (result == Py_None || edge == Py_None) continue;
    if (!deliver(edge, Py_NewRef(result), source.get())) return false;
  }
  return true;
}

bool Run::loop() {
  for (int steps = 1;; ++steps) {
    if ((steps & 1023) == 0 && PyErr_CheckSignals() < 0) return false;
    Node* node;
    PyObject* grad;
    if (next_node_ != nullptr && (heap_.empty() || heap_.front()->sequence_nr < next_node_->sequence_nr)) {
      node = std::exchange(next_node_, nullptr);
      grad = std::exchange(next_grad_, nullptr);
    } else {
      if (next_node_ != nullptr) {
        Waiting* entry = pending_.insert(reinterpret_cast<PyObject*>(next_node_));
        entry->grad = std::exchange(next_grad_, nullptr);
        entry->owned = next_owned_;
        push(std::exchange(next_node_, nullptr));
      }
      if (heap_.empty()) return true;
      std::pop_heap(heap_.begin(), heap_.end(), Later());
      node = heap_.back();
      heap_.pop_back();
      Waiting* entry = pending_.find(reinterpret_cast<PyObject*>(node));
      grad = entry->grad;
      Table::remove(entry);
    }
    Ref held(reinterpret_cast<PyObject*>(node));
    const bool done = node->cls != nullptr && node->extra == Py_None ? run_generated(node, Ref(grad))
                                                                     : run_python(node, Ref(grad));
    if (!done) return false;
  }
}

bool Run::finish_leaves() {
  for (PyObject* leaf : leaf_order_) {
    Waiting* entry = leaves_.find(leaf);
    PyObject* grad = std::exchange(entry->grad, nullptr);
    Table::remove(entry);
    PyArrayObject* array = array_of(grad);
    // Nobody else holds the gradient or its memory: it may become the leaf's `grad` as it is.
    const bool is_private = Py_REFCNT(grad) == 1 && Py_REFCNT(array) == 1 && PyArray_BASE(array) == nullptr;
    PyObject* args[] = {leaf, grad, create_graph_ ? Py_True : Py_False, is_private ? Py_True : Py_False};
    PyObject* done = PyObject_Vectorcall(engine_hooks.finish_leaf, args, 4, nullptr);
    Py_DECREF(grad);
    if (done == nullptr) return false;
    Py_DECREF(done);
  }
  return true;
}

}  // namespace

// backward(edges, grads, keep_graph, create_graph): the caller has checked the arguments and set grad mode.
PyObject* run_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4 || !PyList_Check(args[0]) || !PyList_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "backward(edges, grads, keep_graph, create_graph)");
    return nullptr;
  }
  Run run(args[2] == Py_True, args[3] == Py_True);
  PyObject* source = PyUnicode_FromString("the caller");
  if (source == nullptr) return nullptr;
  bool done = true;
  const Py_ssize_t size = std::min(PyList_GET_SIZE(args[0]), PyList_GET_SIZE(args[1]));
  for (Py_ssize_t i = 0; done && i < size; ++i) {
    done = run.deliver(PyList_GET_ITEM(args[0], i), Py_NewRef(PyList_GET_ITEM(args[1], i)), source);
  }
  Py_DECREF(source);
  if (!done || !run.loop() || !run.finish_leaves()) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace gradwright
