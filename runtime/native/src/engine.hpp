// What the engine leaves to Python: hooks, and what is rare.

#pragma once

#include "core.hpp"

namespace gradwright {

// Functions of runtime/graph/ that `install` names.
struct EngineCallbacks {
  PyObject* fit;                // fit(grad, target, source): `grad` in the form of a Node's output or of a leaf
  PyObject* fit_output;         // fit_output(node, output_nr, grad, source)
  PyObject* sum;                // sum(first, second)
  PyObject* run_tensor_hooks;   // run_tensor_hooks(node, grad): the gradient, perhaps another
  PyObject* apply_with_hooks;   // apply_with_hooks(node, grad, wanted): the gradients of the inputs
  PyObject* finish_with_hooks;  // finish_with_hooks(leaf, grad, accumulate, create_graph, unshared): the gradient,
                                // perhaps another
  PyObject* lock;               // guards the gradients of leaves: an RLock
  PyObject* explain;            // explain(error, node): a note on an error
};
extern EngineCallbacks engine_callbacks;

}  // namespace gradwright
