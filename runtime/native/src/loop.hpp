// One backward: the loop over waiting Nodes.
//
// runtime/graph/loop.py describes the method: a Node is numbered after everything it points at, so the waiting Node with
// the highest number has all of its gradients.

#pragma once

#include "address_map.hpp"
#include "core.hpp"
#include "search.hpp"

#include <chrono>
#include <vector>

namespace gradwright {

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

  bool run(Node* node, Ref grad);
  bool run_generated(Node* node, Ref grad);
  bool run_python(Node* node, Ref grad);
  bool run_watched(Node* node, Ref grad, const Search::NodeState* state);
  bool release(Node* node);
  bool capture(PyObject* grad, const Search::NodeState* state);
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

}  // namespace gradwright
