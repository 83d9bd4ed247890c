#include "loop.hpp"

#include "engine.hpp"
#include "fit.hpp"
#include "hooks.hpp"
#include "intrinsics.hpp"
#include "kernels.hpp"
#include "leaves.hpp"

#include <algorithm>
#include <utility>

namespace gradwright {

namespace {

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
};
const Names& names() {
  static const Names interned;
  return interned;
}

// -- Nodes of Python classes

// How many outputs such a Node has; -1 with an exception. `single`: it has one by its class, and its shape and dtype
// are those of the one.
Py_ssize_t output_count(PyObject* node, bool* single) {
  Ref number(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(node)), names().num_outputs));
  if (!number) return -1;
  if (number.get() == Py_None) {  // as many as its shape tells
    *single = false;
    return PyObject_Size(as_node(node)->shape);
  }
  const Py_ssize_t count = PyLong_AsSsize_t(number.get());
  *single = count == 1;
  return count;
}

PyObject* name_of(Node* node) {
  return PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(node)), names().name);
}

}  // namespace

// -- gradients that wait

void Run::push(Node* node) {
  heap_.push_back(node);
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

bool Run::add(Waiting& waiting, PyObject* grad) {
  if (!create_graph_ && is_plain(waiting.grad) && is_plain(grad) &&
      same_form(array_of(waiting.grad), array_of(grad))) {
    PyArrayObject *known = array_of(waiting.grad), *term = array_of(grad);
    if (waiting.owned || is_unshared(waiting.grad)) {
      if (add_into(known, term)) {
        waiting.owned = true;
        Py_DECREF(grad);
        return true;
      }
    } else if (is_unshared(grad) && add_into_second(known, term)) {
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
  PyObject* sum = PyObject_Vectorcall(engine_callbacks.sum, args, 2, nullptr);
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
    grad = fit_output(node, output_nr, grad, source);
    if (grad == nullptr) return false;
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
  PyArrayObject* own = is_plain(leaf) && !may_have_grad_dtype(leaf) ? array_of(leaf) : nullptr;
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
  if (filtered_ && !search_->needs(node)) {
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
  release_saved(node);
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

// Keep the gradients of outputs that are asked for; runtime.graph.backward has let inputs retain theirs.
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

// Which gradients of a Node are asked for, as a list of bools.
Ref Run::wanted_edges(Node* node) {
  Ref edges(PyObject_GetAttr(reinterpret_cast<PyObject*>(node), names().edges));
  Ref all(edges ? PySequence_Fast(edges.get(), "edges") : nullptr);
  if (!all) return all;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(all.get());
  Ref list(PyList_New(count));
  for (Py_ssize_t i = 0; list && i < count; ++i) {
    const bool wanted = search_->wants(PySequence_Fast_GET_ITEM(all.get(), i));
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
    const int hooked = has_tensor_hooks(extra.get());
    if (hooked < 0) return false;
    if (hooked > 0) {
      grad = run_tensor_hooks(self, grad.get());
      if (!grad) return false;
    }
  }
  if (!runs) {
    if (!capture(grad.get(), state)) return false;
    if (!accumulate_) return true;
  }
  extra = Ref::borrow(node->extra);  // a hook may have asked for more
  if (extra.get() != Py_None) {
    const int hooked = has_node_hooks(extra.get());
    if (hooked < 0) return false;
    if (hooked > 0) {
      Ref wanted = filtered_ ? wanted_edges(node) : Ref::borrow(Py_None);
      if (!wanted) return false;
      Ref results = apply_with_hooks(self, grad.get(), wanted.get());
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
  const bool unshared = accumulate_ && is_tensor(grad.get()) && is_unshared(grad.get());
  int done = is_watched(leaf);
  if (done < 0) return false;
  if (done == 0 && accumulate_) {
    done = accumulate(leaf, grad.get(), create_graph_, unshared);
    if (done != 0) return done > 0;
  }
  if (done > 0 || accumulate_) {
    grad = finish_with_hooks(leaf, grad.get(), accumulate_, create_graph_, unshared);
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

}  // namespace gradwright
