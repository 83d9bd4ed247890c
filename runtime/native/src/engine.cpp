// The engine's loop.
//
// runtime/graph/engine.py describes the method: a Node is numbered after everything it points at, so the waiting Node
// with the highest number has all of its gradients. Hooks, and what is rare, are done there, by the functions that `install`
// names.

#include "engine.hpp"

#include "address_map.hpp"
#include "core.hpp"
#include "intrinsics.hpp"
#include "kernels.hpp"
#include "search.hpp"
#include "types.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <vector>

namespace gradwright {

EngineHooks engine_hooks;
bool hooks_watched = false;

namespace {

// A gradient that waits: for a Node of one output a Tensor, for others a list.
struct Waiting {
  PyObject* grad = nullptr;  // owned
  bool owned = false;        // a sum made here, that may be written
};

// The same for a leaf.
struct WaitingLeaf : Waiting {
  Py_ssize_t uses = -1;  // edges that can still bring something; below 0 where nobody counts
  int wanted = -1;       // the first input that it is
};

struct Later {
  bool operator()(Node* a, Node* b) const { return a->sequence_nr < b->sequence_nr; }
};

// Names that are looked up on Python objects.
struct Names {
  PyObject* apply = PyUnicode_InternFromString("apply");
  PyObject* release = PyUnicode_InternFromString("release");
  PyObject* edges = PyUnicode_InternFromString("edges");
  PyObject* name = PyUnicode_InternFromString("_name");
  PyObject* num_outputs = PyUnicode_InternFromString("num_outputs");
  PyObject* output_nr = PyUnicode_InternFromString("output_nr");
  PyObject* hooks = PyUnicode_InternFromString("hooks");
  PyObject* prehooks = PyUnicode_InternFromString("prehooks");
  PyObject* tensor_hooks = PyUnicode_InternFromString("tensor_hooks");
  PyObject* retained = PyUnicode_InternFromString("retained");
  PyObject* post_accumulate_hooks = PyUnicode_InternFromString("post_accumulate_hooks");
  PyObject* accumulate_node = PyUnicode_InternFromString("accumulate_node");
};
const Names& names() {
  static const Names found;
  return found;
}

// -- the form of gradients

// The array of what a formula, a hook or a Function gave; null with an exception where that is no Tensor.
PyArrayObject* checked_array(PyObject* grad) {
  if (is_tensor(grad)) {
    PyObject*& array = as_tensor(grad)->array;
    if (array != nullptr && PyArray_Check(array)) return reinterpret_cast<PyArrayObject*>(array);
    if (array != nullptr && PyArray_CheckScalar(array)) {  // an expression of NumPy's gave it; Python works with it
      PyObject* made = PyArray_FromAny(array, nullptr, 0, 0, NPY_ARRAY_ENSUREARRAY, nullptr);
      if (made != nullptr) Py_SETREF(array, made);
      return reinterpret_cast<PyArrayObject*>(made);
    }
  }
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '_array'", Py_TYPE(grad)->tp_name);
  return nullptr;
}

bool has_dims(PyArrayObject* array, int ndim, const npy_intp* dims) {
  return PyArray_NDIM(array) == ndim && std::equal(dims, dims + ndim, PyArray_DIMS(array));
}

bool has_shape(PyArrayObject* array, PyObject* shape) {
  if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(array)) return false;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    PyObject* size = PyTuple_GET_ITEM(shape, i);
    if (!PyLong_CheckExact(size) || PyLong_AsSsize_t(size) != PyArray_DIM(array, i)) return false;
  }
  return true;
}

bool has_dtype(PyArrayObject* array, PyObject* dtype) {
  return reinterpret_cast<PyObject*>(PyArray_DESCR(array)) == dtype;
}

// Whether a gradient is in the form of the output of a Node that has a single one.
bool fits(const Node* node, PyArrayObject* grad) {
  if (!has_dtype(grad, node->dtype)) return false;
  return node->cls != nullptr && node->ndim >= 0 ? has_dims(grad, node->ndim, node->dims)
                                                 : has_shape(grad, node->shape);
}

bool same_form(PyArrayObject* a, PyArrayObject* b) {
  return PyArray_DESCR(a) == PyArray_DESCR(b) && has_dims(a, PyArray_NDIM(b), PyArray_DIMS(b));
}

// `grad` (taken) in the shape and dtype of what it is the gradient of.
PyObject* fit(PyObject* grad, PyObject* target, PyObject* source) {
  PyObject* args[] = {grad, target, source};
  PyObject* fitted = PyObject_Vectorcall(engine_hooks.fit, args, 3, nullptr);
  Py_DECREF(grad);
  return fitted;
}

// The same where leading dimensions were broadcast to an array of the form of `dims`, as those of a bias are.
PyObject* fit(PyObject* grad, PyObject* target, PyObject* dtype, int ndim, const npy_intp* dims, PyObject* source) {
  const bool records = grad_enabled && as_tensor(grad)->edge != Py_None;
  if (is_plain(grad) && !records && has_dtype(array_of(grad), dtype)) {
    if (Ref sum = sum_leading(array_of(grad), ndim, dims)) {
      Py_DECREF(grad);
      return new_tensor(std::move(sum)).release();
    }
    if (PyErr_Occurred()) {
      Py_DECREF(grad);
      return nullptr;
    }
  }
  return fit(grad, target, source);
}

// Whether only the caller holds a gradient, and nobody its memory.
bool is_private(PyObject* grad) {
  PyArrayObject* array = array_of(grad);
  if (Py_REFCNT(grad) != 1 || Py_REFCNT(array) != 1) return false;
  PyObject* base = PyArray_BASE(array);
  if (base == nullptr) return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA);
  if (!PyArray_CheckExact(base) || Py_REFCNT(base) != 1) return false;
  auto* whole = reinterpret_cast<PyArrayObject*>(base);
  return PyArray_BASE(whole) == nullptr && PyArray_SIZE(whole) == PyArray_SIZE(array);
}

// A gradient that is a view of another Tensor which nobody holds but the view, as a Tensor of its own.
Ref without_base(Ref grad) {
  if (Py_TYPE(grad.get()) != python.tensor_type || Py_REFCNT(grad.get()) != 1) return grad;
  const Tensor* view = as_tensor(grad.get());
  PyObject* base = view->base;
  if (base == Py_None || Py_TYPE(base) != python.tensor_type || Py_REFCNT(base) != 1) return grad;
  const Tensor* whole = as_tensor(base);
  const bool unseen = view->weakrefs == nullptr && whole->weakrefs == nullptr && view->edge == Py_None &&
                      whole->edge == Py_None && view->writes == Py_None;
  if (!unseen || Py_REFCNT(whole->array) != 2 || PyArray_BASE(array_of(grad.get())) != whole->array) return grad;
  return new_tensor(Ref::borrow(view->array));
}

// -- Nodes of Python classes

// How many outputs such a Node has; -1 with an exception. `single`: it has one by its class, and its shape and dtype
// are those of the one.
Py_ssize_t output_count(PyObject* node, bool* single) {
  PyObject* given = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(node)), names().num_outputs);
  if (given == nullptr) return -1;
  if (given == Py_None) {  // as many as its shape tells
    Py_DECREF(given);
    *single = false;
    return PyObject_Size(as_node(node)->shape);
  }
  const Py_ssize_t count = PyLong_AsSsize_t(given);
  Py_DECREF(given);
  *single = count == 1;
  return count;
}

PyObject* name_of(Node* node) {
  return PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(node)), names().name);
}

// Whether one of two attributes is neither None nor empty; -1 with an exception.
int has_either(PyObject* object, PyObject* first, PyObject* second) {
  for (PyObject* name : {first, second}) {
    Ref value(PyObject_GetAttr(object, name));
    if (!value) return -1;
    const int truth = PyObject_IsTrue(value.get());
    if (truth != 0) return truth;
  }
  return 0;
}

// Adds a note to the exception that is set: which Node failed. Always false.
bool explain(Node* node) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
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

// -- a run

class Run {
 public:
  // `search` says what runs, and is null where everything does; it is borrowed.
  Run(bool keep_graph, bool create_graph, bool accumulate, Search* search)
      : keep_graph_(keep_graph), create_graph_(create_graph), accumulate_(accumulate), search_(search) {
    filtered_ = search != nullptr && search->only_inputs;
    if (search != nullptr) {
      search->leaves.each([this](auto& leaf) {
        WaitingLeaf& waiting = leaves_.insert(leaf.key)->value;
        waiting.uses = leaf.value.uses;
        waiting.wanted = leaf.value.wanted;
      });
    }
  }
  ~Run() {
    for (Node* node : heap_) Py_DECREF(node);
    Py_XDECREF(next_node_);
    Py_XDECREF(next_grad_);
    pending_.each([](auto& entry) { Py_XDECREF(entry.value.grad); });
    leaves_.each([](auto& entry) { Py_XDECREF(entry.value.grad); });
    for (PyObject* leaf : leaf_order_) Py_DECREF(leaf);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // False, with an exception, where one fails.
  bool start(PyObject* roots, PyObject* grads);
  bool loop();
  bool finish_leaves();
  // The gradients of the inputs; an empty list where they are accumulated.
  PyObject* results() { return results_ ? results_.release() : PyList_New(0); }

 private:
  using NodeEntry = AddressMap<Waiting>::Entry;
  using LeafEntry = AddressMap<WaitingLeaf>::Entry;

  // What delivers takes the gradient, also where it fails.
  bool deliver(PyObject* edge, PyObject* grad, PyObject* source, bool is_root);
  bool deliver_single(Node* node, PyArrayObject* array, PyObject* grad, PyObject* source);
  bool deliver_node(Node* node, PyObject* grad);
  bool deliver_output(PyObject* node, Py_ssize_t output_nr, Py_ssize_t outputs, PyObject* grad, PyObject* source);
  bool deliver_leaf(PyObject* leaf, PyArrayObject* array, PyObject* grad, PyObject* source, bool is_root);
  bool deliver_all(Node* node, Ref results);
  bool add(Waiting& waiting, PyObject* grad);
  void push(Node* node);
  bool is_wanted(PyObject* node);

  bool run(Node* node, Ref grad);
  bool run_generated(Node* node, Ref grad);
  bool run_python(Node* node, Ref grad);
  bool run_watched(Node* node, Ref grad, const Search::NodeState* state);
  bool release(Node* node);
  bool capture(PyObject* grad, const Search::NodeState* state);
  bool is_wanted_edge(PyObject* edge);
  Ref wanted_edges(Node* node);
  bool finish_leaf(LeafEntry* entry);
  bool let_others_run();

  const bool keep_graph_;
  const bool create_graph_;
  const bool accumulate_;
  bool filtered_;  // only what leads to inputs runs
  Search* const search_;
  Ref results_;
  AddressMap<Waiting> pending_;
  AddressMap<WaitingLeaf> leaves_;
  std::vector<PyObject*> leaf_order_;  // owned
  std::vector<Node*> heap_;            // owned, a heap by sequence number
  Node* next_node_ = nullptr;          // owned: what the last Node led to, which needs no table if it is next
  PyObject* next_grad_ = nullptr;
  bool next_owned_ = false;
  std::chrono::steady_clock::time_point last_pause_ = std::chrono::steady_clock::now();
};

bool Run::is_wanted(PyObject* node) {
  if (!filtered_) return true;
  const auto* found = search_->nodes.find(node);
  return found != nullptr && found->value.needed;
}

void Run::push(Node* node) {
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

bool Run::add(Waiting& waiting, PyObject* grad) {
  if (!create_graph_ && is_plain(waiting.grad) && is_plain(grad) &&
      same_form(array_of(waiting.grad), array_of(grad))) {
    PyArrayObject *known = array_of(waiting.grad), *term = array_of(grad);
    if (waiting.owned || is_private(waiting.grad)) {
      if (add_into(known, term)) {
        waiting.owned = true;
        Py_DECREF(grad);
        return true;
      }
    } else if (is_private(grad) && add_into_second(known, term)) {
      Py_SETREF(waiting.grad, grad);
      waiting.owned = true;
      return true;
    } else if (Ref sum = binary<kernels::plus>(waiting.grad, grad)) {
      Py_DECREF(grad);
      Ref tensor = new_tensor(std::move(sum));
      if (!tensor) return false;
      Py_SETREF(waiting.grad, tensor.release());
      waiting.owned = true;
      return true;
    } else if (PyErr_Occurred()) {
      Py_DECREF(grad);
      return false;
    }
  }
  PyObject* args[] = {waiting.grad, grad};
  PyObject* sum = PyObject_Vectorcall(engine_hooks.sum, args, 2, nullptr);
  Py_DECREF(grad);
  if (sum == nullptr) return false;
  Py_SETREF(waiting.grad, sum);
  waiting.owned = false;
  return true;
}

bool Run::deliver_node(Node* node, PyObject* grad) {
  if (next_node_ == node) {
    Waiting waiting{next_grad_, next_owned_};
    const bool done = add(waiting, grad);
    next_grad_ = waiting.grad;
    next_owned_ = waiting.owned;
    return done;
  }
  PyObject* self = reinterpret_cast<PyObject*>(node);
  if (NodeEntry* entry = pending_.find(self)) return add(entry->value, grad);
  if (next_node_ == nullptr) {
    next_node_ = as_node(Py_NewRef(self));
    next_grad_ = grad;
    next_owned_ = false;
    return true;
  }
  pending_.insert(self)->value.grad = grad;
  push(as_node(Py_NewRef(self)));
  return true;
}

// A gradient for a Node of one output.
bool Run::deliver_single(Node* node, PyArrayObject* array, PyObject* grad, PyObject* source) {
  if (!fits(node, array)) {
    PyObject* target = reinterpret_cast<PyObject*>(node);
    grad = node->cls != nullptr && node->ndim >= 0 ? fit(grad, target, node->dtype, node->ndim, node->dims, source)
                                                   : fit(grad, target, source);
    if (grad == nullptr) return false;
  }
  return deliver_node(node, grad);
}

// A gradient for one of several outputs of a Node.
bool Run::deliver_output(PyObject* node, Py_ssize_t output_nr, Py_ssize_t outputs, PyObject* grad, PyObject* source) {
  if (output_nr < 0 || output_nr >= outputs) {
    Py_DECREF(grad);
    PyErr_SetString(PyExc_IndexError, "an edge leads to an output that its Node does not have");
    return false;
  }
  PyObject *shapes = as_node(node)->shape, *dtypes = as_node(node)->dtype;
  const bool fits = PyTuple_CheckExact(shapes) && PyTuple_GET_SIZE(shapes) > output_nr && PyTuple_CheckExact(dtypes) &&
                    PyTuple_GET_SIZE(dtypes) > output_nr &&
                    has_dtype(array_of(grad), PyTuple_GET_ITEM(dtypes, output_nr)) &&
                    has_shape(array_of(grad), PyTuple_GET_ITEM(shapes, output_nr));
  if (!fits) {
    PyObject* number = PyLong_FromSsize_t(output_nr);
    PyObject* args[] = {node, number, grad, source};
    PyObject* fitted = number == nullptr ? nullptr : PyObject_Vectorcall(engine_hooks.fit_output, args, 4, nullptr);
    Py_XDECREF(number);
    Py_DECREF(grad);
    if (fitted == nullptr) return false;
    grad = fitted;
  }
  NodeEntry* entry = pending_.find(node);
  if (entry == nullptr) {
    PyObject* list = PyList_New(outputs);
    if (list == nullptr) {
      Py_DECREF(grad);
      return false;
    }
    for (Py_ssize_t i = 0; i < outputs; ++i) PyList_SET_ITEM(list, i, Py_NewRef(Py_None));
    entry = pending_.insert(node);
    entry->value.grad = list;
    push(as_node(Py_NewRef(node)));
  }
  PyObject* list = entry->value.grad;
  PyObject* known = PyList_GET_ITEM(list, output_nr);
  if (known == Py_None) {
    PyList_SetItem(list, output_nr, grad);
    return true;
  }
  // Taken out of the list, so that a sum may be made in place.
  PyList_SET_ITEM(list, output_nr, Py_NewRef(Py_None));
  Waiting waiting{known, false};
  const bool done = add(waiting, grad);
  PyList_SetItem(list, output_nr, waiting.grad);
  return done;
}

bool Run::deliver_leaf(PyObject* leaf, PyArrayObject* array, PyObject* grad, PyObject* source, bool is_root) {
  LeafEntry* entry = leaves_.find(leaf);
  if (filtered_ && (entry == nullptr || entry->value.wanted < 0)) {
    Py_DECREF(grad);
    return true;
  }
  PyArrayObject* own = is_plain(leaf) ? array_of(leaf) : nullptr;
  if (own == nullptr) {
    grad = fit(grad, leaf, source);
  } else if (!same_form(own, array)) {
    PyObject* dtype = reinterpret_cast<PyObject*>(PyArray_DESCR(own));
    grad = fit(grad, leaf, dtype, PyArray_NDIM(own), PyArray_DIMS(own), source);
  }
  if (grad == nullptr) return false;
  if (entry == nullptr) entry = leaves_.insert(leaf);
  WaitingLeaf& waiting = entry->value;
  if (waiting.grad == nullptr) {
    leaf_order_.push_back(Py_NewRef(leaf));
    waiting.grad = grad;
  } else if (!add(waiting, grad)) {
    return false;
  }
  if (is_root || waiting.uses < 0 || --waiting.uses > 0) return true;
  return finish_leaf(entry);
}

bool Run::deliver(PyObject* edge, PyObject* grad, PyObject* source, bool is_root) {
  PyArrayObject* array = checked_array(grad);
  PyObject* node = edge;
  Py_ssize_t output_nr = 0;
  if (array != nullptr && Py_TYPE(edge) == python.output_edge_type) {
    Ref number(PyObject_GetAttr(edge, names().output_nr));
    output_nr = number ? PyLong_AsSsize_t(number.get()) : -1;
    node = output_nr < 0 && PyErr_Occurred() ? nullptr : node_of_output(edge);
  } else if (array != nullptr && !is_node(edge)) {
    return deliver_leaf(edge, array, grad, source, is_root);
  }
  if (array == nullptr || node == nullptr) {
    Py_DECREF(grad);
    return false;
  }
  if (!is_wanted(node)) {
    Py_DECREF(grad);
    return true;
  }
  if (as_node(node)->cls != nullptr) return deliver_single(as_node(node), array, grad, source);
  bool single = false;
  const Py_ssize_t count = output_count(node, &single);
  if (count < 0) {
    Py_DECREF(grad);
    return false;
  }
  if (single) return deliver_single(as_node(node), array, grad, source);
  return deliver_output(node, output_nr, count, grad, source);
}

// What a Node of a Python class gave, one for each edge.
bool Run::deliver_all(Node* node, Ref results) {
  Ref edges(PyObject_GetAttr(reinterpret_cast<PyObject*>(node), names().edges));
  Ref source(name_of(node));
  if (!edges || !source) return false;
  Ref all_edges(PySequence_Fast(edges.get(), "edges"));
  Ref all(PySequence_Fast(results.get(), "gradients"));
  if (!all || !all_edges) return false;
  results = Ref();
  // A gradient that nobody else holds can be kept uncopied.
  const bool may_take = PyTuple_CheckExact(all.get()) && Py_REFCNT(all.get()) == 1;
  const Py_ssize_t count = std::min(PySequence_Fast_GET_SIZE(all.get()), PySequence_Fast_GET_SIZE(all_edges.get()));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* result = PySequence_Fast_GET_ITEM(all.get(), i);
    PyObject* edge = PySequence_Fast_GET_ITEM(all_edges.get(), i);
    if (result == Py_None || edge == Py_None) continue;
    if (may_take) {
      PyTuple_SET_ITEM(all.get(), i, Py_NewRef(Py_None));
    } else {
      Py_INCREF(result);
    }
    if (!deliver(edge, result, source.get(), false)) return false;
  }
  return true;
}

// -- running Nodes

bool Run::release(Node* node) {
  if (keep_graph_) return true;
  if (!is_generated(node)) {
    PyObject* self = reinterpret_cast<PyObject*>(node);
    Ref released(PyObject_VectorcallMethod(names().release, &self, 1, nullptr));
    return static_cast<bool>(released);
  }
  if (node->cls->release != nullptr) node->cls->release(node, false);
  return true;
}

bool Run::run_generated(Node* node, Ref grad) {
  PyObject* results[kMostEdges] = {};
  const int count = node->cls->edges;
  if (!node->cls->apply(node, grad.get(), results)) {
    for (int i = 0; i < count; ++i) Py_XDECREF(results[i]);
    return explain(node);
  }
  release(node);
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
    if (!filtered_ && Py_TYPE(result) == python.tensor_type && is_node(edge) && as_node(edge)->cls != nullptr &&
        fits(as_node(edge), array_of(result))) {
      done = deliver_node(as_node(edge), result);
      continue;
    }
    if (source == nullptr) source = name_of(node);
    if (source == nullptr) {
      Py_DECREF(result);
      done = false;
    } else {
      done = deliver(edge, result, source, false);
    }
  }
  Py_XDECREF(source);
  return done;
}

// A Node of a Python class.
bool Run::run_python(Node* node, Ref grad) {
  PyObject* args[] = {reinterpret_cast<PyObject*>(node), grad.get()};
  Ref results(PyObject_VectorcallMethod(names().apply, args, 2, nullptr));
  if (!results) return explain(node);
  grad = Ref();
  return release(node) && deliver_all(node, std::move(results));
}

// Keep the gradients of outputs that are asked for; runtime.autograd.backward has let inputs retain theirs.
bool Run::capture(PyObject* grad, const Search::NodeState* state) {
  if (accumulate_ || state == nullptr) return true;
  for (int i = state->wanted; i >= 0; i = search_->wanted[i].next) {
    const Wanted& wanted = search_->wanted[i];
    PyObject* own = grad;
    if (PyTuple_CheckExact(grad)) {
      if (wanted.output_nr >= PyTuple_GET_SIZE(grad)) {
        PyErr_SetString(PyExc_IndexError, "an input is an output that its Node does not have");
        return false;
      }
      own = PyTuple_GET_ITEM(grad, wanted.output_nr);
    }
    if (PyList_SetItem(results_.get(), wanted.position, Py_NewRef(own)) < 0) return false;
  }
  return true;
}

// Whether an edge leads to an input, or on to one; an exception may be set.
bool Run::is_wanted_edge(PyObject* edge) {
  if (edge == nullptr || edge == Py_None) return false;
  if (Py_TYPE(edge) == python.output_edge_type) edge = node_of_output(edge);
  if (edge == nullptr) return false;
  if (is_node(edge)) return is_wanted(edge);
  const auto* leaf = search_->leaves.find(edge);
  return leaf != nullptr && leaf->value.wanted >= 0;
}

// Which gradients of a Node are asked for, as a list of bools.
Ref Run::wanted_edges(Node* node) {
  Ref edges(PyObject_GetAttr(reinterpret_cast<PyObject*>(node), names().edges));
  Ref all(edges ? PySequence_Fast(edges.get(), "edges") : nullptr);
  if (!all) return all;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(all.get());
  Ref list(PyList_New(count));
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    const bool wanted = is_wanted_edge(PySequence_Fast_GET_ITEM(all.get(), i));
    PyList_SET_ITEM(list.get(), i, PyBool_FromLong(wanted));
    if (PyErr_Occurred()) return Ref();
  }
  return list;
}

// A Node that has hooks or the like, or whose gradient is asked for.
bool Run::run_watched(Node* node, Ref grad, const Search::NodeState* state) {
  PyObject* self = reinterpret_cast<PyObject*>(node);
  const bool runs = state == nullptr || state->runs;
  // As in PyTorch hooks only change what is asked for where nothing else is done with it.
  if (runs && !capture(grad.get(), state)) return false;
  Ref extra = Ref::borrow(node->extra);
  if (extra.get() != Py_None) {
    const int hooked = has_either(extra.get(), names().tensor_hooks, names().retained);
    if (hooked < 0) return false;
    if (hooked > 0) {
      PyObject* args[] = {self, grad.get()};
      grad = call(engine_hooks.run_tensor_hooks, args, 2);
      if (!grad) return false;
    }
  }
  if (!runs) {
    if (!capture(grad.get(), state)) return false;
    if (!accumulate_) return true;
  }
  extra = Ref::borrow(node->extra);  // a hook may have asked for more
  if (extra.get() != Py_None) {
    const int hooked = has_either(extra.get(), names().prehooks, names().hooks);
    if (hooked < 0) return false;
    if (hooked > 0) {
      Ref wanted = filtered_ ? wanted_edges(node) : Ref::borrow(Py_None);
      if (!wanted) return false;
      PyObject* args[] = {self, grad.get(), wanted.get()};
      Ref results = call(engine_hooks.apply_with_hooks, args, 3);
      grad = Ref();
      return results && release(node) && deliver_all(node, std::move(results));
    }
  }
  if (!runs) return release(node);
  return is_generated(node) ? run_generated(node, std::move(grad)) : run_python(node, std::move(grad));
}

bool Run::run(Node* node, Ref grad) {
  if (PyList_CheckExact(grad.get())) {  // the gradients of several outputs
    grad = Ref(PyList_AsTuple(grad.get()));
    if (!grad) return false;
  }
  const Search::NodeState* state = nullptr;
  if (filtered_) state = &search_->nodes.find(reinterpret_cast<PyObject*>(node))->value;
  if (node->extra != Py_None || (state != nullptr && state->wanted >= 0)) {
    return run_watched(node, std::move(grad), state);
  }
  return is_generated(node) ? run_generated(node, std::move(grad)) : run_python(node, std::move(grad));
}

// Interrupts, and the turns of other threads, which a loop of C++ alone would keep waiting.
bool Run::let_others_run() {
  if (PyErr_CheckSignals() < 0) return false;
  constexpr auto kTurn = std::chrono::milliseconds(5);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_pause_ > kTurn) {
    Py_BEGIN_ALLOW_THREADS;
    Py_END_ALLOW_THREADS;
    last_pause_ = std::chrono::steady_clock::now();
  }
  return true;
}

bool Run::start(PyObject* roots, PyObject* grads) {
  if (search_ != nullptr && search_->only_inputs && !accumulate_) {
    results_ = Ref(PyList_New(search_->input_count));
    if (!results_) return false;
    for (Py_ssize_t i = 0; i < search_->input_count; ++i) PyList_SET_ITEM(results_.get(), i, Py_NewRef(Py_None));
  }
  Ref source(PyUnicode_FromString("the caller"));
  if (!source) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roots) && i < PyList_GET_SIZE(grads); ++i) {
    PyObject* grad = Py_NewRef(PyList_GET_ITEM(grads, i));
    if (!deliver(PyList_GET_ITEM(roots, i), grad, source.get(), true)) return false;
  }
  return true;
}

bool Run::loop() {
  for (int steps = 1;; ++steps) {
    if ((steps & 63) == 0 && !let_others_run()) return false;
    Node* node;
    PyObject* grad;
    if (next_node_ != nullptr && (heap_.empty() || heap_.front()->sequence_nr < next_node_->sequence_nr)) {
      node = std::exchange(next_node_, nullptr);
      grad = std::exchange(next_grad_, nullptr);
    } else {
      if (next_node_ != nullptr) {
        Waiting& waiting = pending_.insert(reinterpret_cast<PyObject*>(next_node_))->value;
        waiting.grad = std::exchange(next_grad_, nullptr);
        waiting.owned = next_owned_;
        push(std::exchange(next_node_, nullptr));
      }
      if (heap_.empty()) return true;
      std::pop_heap(heap_.begin(), heap_.end(), Later());
      node = heap_.back();
      heap_.pop_back();
      NodeEntry* entry = pending_.find(reinterpret_cast<PyObject*>(node));
      grad = entry->value.grad;
      pending_.remove(entry);
    }
    Ref held(reinterpret_cast<PyObject*>(node));
    if (!run(node, Ref(grad))) return false;
  }
}

// -- leaves

// Whether somebody looks at what happens to a leaf; -1 with an exception.
int is_watched(PyObject* leaf) {
  if (!hooks_watched) return 0;
  const Ref extra = Ref::borrow(is_plain(leaf) ? as_tensor(leaf)->extra : nullptr);  // another thread may replace it
  if (!extra) return 1;
  if (extra.get() == Py_None) return 0;
  const int hooked = has_either(extra.get(), names().hooks, names().post_accumulate_hooks);
  if (hooked != 0) return hooked;
  Ref node(PyObject_GetAttr(extra.get(), names().accumulate_node));
  return !node ? -1 : node.get() != Py_None;
}

// The gradient of a leaf is complete.
bool Run::finish_leaf(LeafEntry* entry) {
  PyObject* leaf = entry->key;  // held by leaf_order_
  Ref grad(std::exchange(entry->value.grad, nullptr));
  const int wanted = entry->value.wanted;
  leaves_.remove(entry);
  if (accumulate_ && !create_graph_ && is_tensor(grad.get())) {
    grad = without_base(std::move(grad));
    if (!grad) return false;
  }
  const bool alone = accumulate_ && is_tensor(grad.get()) && is_private(grad.get());
  int done = is_watched(leaf);
  if (done < 0) return false;
  if (done == 0 && accumulate_) {
    done = accumulate(leaf, grad.get(), create_graph_, alone);
    if (done != 0) return done > 0;
  }
  if (done > 0 || accumulate_) {
    PyObject* args[] = {leaf, grad.get(), accumulate_ ? Py_True : Py_False, create_graph_ ? Py_True : Py_False,
                        alone ? Py_True : Py_False};
    grad = call(engine_hooks.finish_leaf, args, 5);
    if (!grad) return false;
  }
  if (accumulate_) return true;
  for (int i = wanted; i >= 0; i = search_->wanted[i].next) {
    if (PyList_SetItem(results_.get(), search_->wanted[i].position, Py_NewRef(grad.get())) < 0) return false;
  }
  return true;
}

bool Run::finish_leaves() {
  for (size_t i = 0; i < leaf_order_.size(); ++i) {
    LeafEntry* entry = leaves_.find(leaf_order_[i]);
    if (entry != nullptr && entry->value.grad != nullptr && !finish_leaf(entry)) return false;
  }
  return true;
}

}  // namespace

// backward(roots, grads, keep_graph, create_graph, accumulate, search): the caller has checked the arguments and set
// grad mode. `search` may be None.
PyObject* run_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 6 || !PyList_Check(args[0]) || !PyList_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError,
                    "backward(roots, grads, keep_graph, create_graph, accumulate, search)");
    return nullptr;
  }
  Search* search = nullptr;
  if (args[5] != Py_None) {
    search = search_in(args[5]);
    if (search == nullptr) return nullptr;
  }
  try {
    Run run(args[2] == Py_True, args[3] == Py_True, args[4] == Py_True, search);
    if (!run.start(args[0], args[1]) || !run.loop() || !run.finish_leaves()) return nullptr;
    return run.results();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

}  // namespace gradwright
