// Walking a graph before a backward; runtime/graph/search.py says what is looked for.

#include "search.hpp"

#include "intrinsics.hpp"
#include "names.hpp"
#include "types.hpp"

#include <algorithm>
#include <new>

namespace gradwright {

namespace {

// A Node on the way from the root to where the walk is.
struct Step {
  Node* node;
  Ref edges;  // of a Python class: a list or tuple
  Py_ssize_t index = 0;
  Py_ssize_t count = 0;
  bool needed = false;  // one of its edges leads to an input

  PyObject* edge(Py_ssize_t i) const {
    return edges ? PySequence_Fast_GET_ITEM(edges.get(), i) : edges_of(node)[i];
  }
};

// False: an exception is set.
bool open(Step& step) {
  if (is_generated(step.node)) {
    step.count = step.node->cls->edges;
    return true;
  }
  static PyObject* const name = PyUnicode_InternFromString("edges");
  Ref edges(PyObject_GetAttr(reinterpret_cast<PyObject*>(step.node), name));
  if (!edges) return false;
  step.edges = Ref(PySequence_Fast(edges.get(), "the edges of a Node are a tuple"));
  if (!step.edges) return false;
  step.count = PySequence_Fast_GET_SIZE(step.edges.get());
  return true;
}

}  // namespace

PyObject* node_of_output(PyObject* edge) {
  static PyObject* const name = PyUnicode_InternFromString("node");
  PyObject* node = PyObject_GetAttr(edge, name);
  Py_XDECREF(node);
  if (node != nullptr && !is_node(node)) {
    PyErr_SetString(PyExc_TypeError, "an OutputEdge leads to something that is no Node");
    return nullptr;
  }
  return node;
}

Search::NodeState* Search::node_state(PyObject* node) {
  if (auto* known = nodes.find(node)) return &known->value;
  held_.push_back(Py_NewRef(node));
  return &nodes.insert(node)->value;
}

Search::LeafState* Search::leaf_state(PyObject* leaf) {
  if (auto* known = leaves.find(leaf)) return &known->value;
  held_.push_back(Py_NewRef(leaf));
  return &leaves.insert(leaf)->value;
}

bool Search::add_inputs(PyObject* inputs) {
  Ref all(PySequence_Fast(inputs, "inputs"));
  if (!all) return false;
  input_count = PySequence_Fast_GET_SIZE(all.get());
  long long lowest = -1;
  bool has_leaves = false;
  // From the last to the first, so that the chains are in order.
  for (Py_ssize_t position = input_count - 1; position >= 0; --position) {
    PyObject* input = PySequence_Fast_GET_ITEM(all.get(), position);
    Ref edge = attribute(input, "_edge");
    if (!edge) return false;
    int* chain;
    Py_ssize_t output_nr = 0;
    if (edge.get() == python.discard_gradient) continue;  // nothing comes to it
    if (edge.get() == python.leaf || edge.get() == Py_None) {  // a leaf that no longer requires grad
      chain = &leaf_state(input)->wanted;
      has_leaves = true;
    } else {
      PyObject* node = edge.get();
      if (Py_TYPE(node) == python.output_edge_type) {
        Ref number = attribute(edge.get(), "output_nr");
        if (!number) return false;
        output_nr = PyLong_AsSsize_t(number.get());
        node = node_of_output(edge.get());
        if (node == nullptr) return false;
      } else if (!is_node(node)) {
        continue;
      }
      chain = &node_state(node)->wanted;
      const long long number = as_node(node)->sequence_nr;
      lowest = lowest < 0 ? number : std::min(lowest, number);
    }
    wanted.push_back({output_nr, position, *chain});
    *chain = static_cast<int>(wanted.size()) - 1;
  }
  if (!has_leaves) lowest_ = lowest;
  return true;
}

bool Search::explore(PyObject* roots, PyObject* inputs) {
  only_inputs = inputs != Py_None;
  if (only_inputs && !add_inputs(inputs)) return false;
  Ref all(PySequence_Fast(roots, "roots"));
  if (!all) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all.get()); ++i) {
    PyObject* root = PySequence_Fast_GET_ITEM(all.get(), i);
    if (Py_TYPE(root) == python.output_edge_type) {
      root = node_of_output(root);
      if (root == nullptr) return false;
    }
    if (!is_node(root)) {
      ++leaf_state(root)->uses;  // nothing is delivered on this edge: a root is finished at the end
    } else if (!walk(root)) {
      return false;
    }
  }
  return true;
}

bool Search::walk(PyObject* first) {
  NodeState* state = node_state(first);
  if (state->seen) return true;
  state->seen = true;
  std::vector<Step> way;
  way.push_back({as_node(first), Ref()});
  if (!open(way.back())) return false;
  while (true) {
    Step& step = way.back();
    if (step.index == step.count) {
      PyObject* node = reinterpret_cast<PyObject*>(step.node);
      NodeState* done = node_state(node);
      done->runs = !only_inputs || step.needed;
      done->needed = done->runs || done->wanted >= 0;
      const bool needed = done->needed;
      way.pop_back();
      if (way.empty()) return true;
      way.back().needed |= needed;
      continue;
    }
    PyObject* target = step.edge(step.index++);
    if (target == nullptr || target == Py_None) continue;
    if (Py_TYPE(target) == python.output_edge_type) {
      target = node_of_output(target);
      if (target == nullptr) return false;
    }
    if (!is_node(target)) {
      LeafState* leaf = leaf_state(target);
      ++leaf->uses;
      step.needed |= leaf->wanted >= 0;
    } else if (as_node(target)->sequence_nr >= lowest_) {
      NodeState* state = node_state(target);
      if (state->seen) {
        step.needed |= state->needed;
        continue;
      }
      state->seen = true;
      way.push_back({as_node(target), Ref()});
      if (!open(way.back())) return false;
    }
  }
}

bool Search::needs(PyObject* node) {
  const auto* entry = nodes.find(node);
  return entry != nullptr && entry->value.needed;
}

bool Search::needs_leaf(PyObject* leaf) {
  const auto* entry = leaves.find(leaf);
  return entry != nullptr && entry->value.uses > 0 && (!only_inputs || entry->value.wanted >= 0);
}

bool Search::wants(PyObject* edge) {
  if (edge == nullptr || edge == Py_None) return false;
  if (Py_TYPE(edge) == python.output_edge_type) edge = node_of_output(edge);
  if (edge == nullptr) return false;
  if (is_node(edge)) return needs(edge);
  const auto* leaf = leaves.find(edge);
  return leaf != nullptr && leaf->value.wanted >= 0;
}

int Search::traverse(visitproc visit, void* arg) {
  for (PyObject* object : held_) Py_VISIT(object);
  return 0;
}

void Search::clear() {
  std::vector<PyObject*> held(std::move(held_));
  held_.clear();
  nodes.clear();
  leaves.clear();
  // The roots first: each Node that is freed then leads to one that is still held, and no further.
  for (PyObject* object : held) Py_DECREF(object);
}

// -- the Python type

namespace {

struct SearchObject {
  PyObject_HEAD
  Search* search;
};

PyTypeObject* search_type = nullptr;

Search* search_of(PyObject* self) { return reinterpret_cast<SearchObject*>(self)->search; }

// Search(roots, inputs)
PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *roots, *inputs;
  if (!PyArg_ParseTuple(args, "OO", &roots, &inputs)) return nullptr;
  Ref self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  try {
    auto* search = reinterpret_cast<SearchObject*>(self.get())->search = new Search();
    return search->explore(roots, inputs) ? self.release() : nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  delete search_of(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return search_of(self) == nullptr ? 0 : search_of(self)->traverse(visit, arg);
}

int clear(PyObject* self) {
  if (search_of(self) != nullptr) search_of(self)->clear();
  return 0;
}

PyObject* needs(PyObject* self, PyObject* node) { return PyBool_FromLong(search_of(self)->needs(node)); }

PyObject* needs_leaf(PyObject* self, PyObject* leaf) { return PyBool_FromLong(search_of(self)->needs_leaf(leaf)); }

PyMethodDef methods[] = {
    {"needs", needs, METH_O, "Whether the backward computes the gradient of what a Node made."},
    {"needs_leaf", needs_leaf, METH_O, "Whether the backward computes the gradient of a leaf."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Search(roots, inputs): which part of a graph a backward runs.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {
    RUNTIME_NAME("native.Search"), sizeof(SearchObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* make_search_type(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  search_type = reinterpret_cast<PyTypeObject*>(type);
  return type;
}

Search* search_in(PyObject* object) {
  if (Py_TYPE(object) == search_type) return search_of(object);
  PyErr_SetString(PyExc_TypeError, "expected a Search");
  return nullptr;
}

}  // namespace gradwright
