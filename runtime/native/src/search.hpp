// Which part of a graph a backward runs, and how often it meets the leaves: asked for where there are inputs or hooks.

#pragma once

#include "address_map.hpp"
#include "core.hpp"

#include <vector>

namespace gradwright {

// One of the inputs of a backward, in a chain of those that belong to one Node or leaf.
struct Wanted {
  Py_ssize_t output_nr;
  Py_ssize_t position;  // among the inputs
  int next;             // index in Search::wanted; -1: the last
};

// What was found holds its Nodes and leaves, so that no other object gets the address of one of them.
class Search {
 public:
  struct NodeState {
    bool seen = false;    // the roots lead there
    bool needed = false;  // it runs, or its gradient is wanted
    bool runs = false;    // it leads to an input; without inputs every Node that is seen
    int wanted = -1;      // the first input whose gradient this Node takes
  };
  struct LeafState {
    Py_ssize_t uses = 0;  // edges that can bring it something
    int wanted = -1;
  };

  Search() = default;
  ~Search() { clear(); }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // `roots` are Nodes, OutputEdges and leaves; `inputs` Tensors, or None for everything. False: an exception is set.
  bool explore(PyObject* roots, PyObject* inputs);
  // Whether the backward computes the gradient of what a Node made; that of a leaf.
  bool needs(PyObject* node);
  bool needs_leaf(PyObject* leaf);
  // Whether an edge leads to an input, or on to one; an exception may be set.
  bool wants(PyObject* edge);
  int traverse(visitproc visit, void* arg);
  void clear();

  bool only_inputs = false;
  Py_ssize_t input_count = 0;
  AddressMap<NodeState> nodes;
  AddressMap<LeafState> leaves;
  std::vector<Wanted> wanted;

 private:
  bool add_inputs(PyObject* inputs);
  bool walk(PyObject* first);
  NodeState* node_state(PyObject* node);
  LeafState* leaf_state(PyObject* leaf);

  std::vector<PyObject*> held_;
  long long lowest_ = -1;  // Nodes with lower numbers lead to no input
};

PyObject* make_search_type(PyObject* module);
// The Search in an object of that type; null, with an exception, where it is of another.
Search* search_in(PyObject* object);

// -- edges

// The Node of an OutputEdge, which holds it; null with an exception.
PyObject* node_of_output(PyObject* edge);
inline bool is_node(PyObject* edge) {
  return PyType_IsSubtype(Py_TYPE(edge), python.node_type) != 0;
}
// Whether a Node is of a generated class and of no class below it, which could do something else.
inline bool is_generated(const Node* node) {
  return node->cls != nullptr && node->cls->type == Py_TYPE(reinterpret_cast<const PyObject*>(node));
}

}  // namespace gradwright
