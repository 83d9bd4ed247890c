// What the engine leaves to Python.

#pragma once

#include "core.hpp"

namespace gradwright {

struct EngineHooks {
  PyObject* fit;           // fit(grad, target, source): `grad` in the form of a Node's output or of a leaf
  PyObject* fit_output;    // fit_output(node, output_nr, grad, source)
  PyObject* sum;           // sum(first, second)
  PyObject* run_node;      // run_node(node, grad, keep_graph): the gradients of the inputs, hooks included
  PyObject* finish_leaf;   // finish_leaf(leaf, grad, create_graph, private)
  PyObject* explain;       // explain(error, node): a note on an error
};
extern EngineHooks engine_hooks;

}  // namespace gradwright
