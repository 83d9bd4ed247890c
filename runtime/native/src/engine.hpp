// What the engine leaves to Python, and what it shares with the rest of the core.

#pragma once

#include "core.hpp"

namespace gradwright {

struct EngineHooks {
  PyObject* fit;               // fit(grad, target, source): `grad` in the form of a Node's output or of a leaf
  PyObject* fit_output;        // fit_output(node, output_nr, grad, source)
  PyObject* sum;               // sum(first, second)
  PyObject* run_tensor_hooks;  // run_tensor_hooks(node, grad): the gradient, perhaps another
  PyObject* apply_with_hooks;  // apply_with_hooks(node, grad, wanted): the gradients of the inputs
  PyObject* finish_leaf;       // finish_leaf(leaf, grad, accumulate, create_graph, private): the gradient, perhaps another
  PyObject* lock;              // guards the gradients of leaves: an RLock
  PyObject* explain;           // explain(error, node): a note on an error
};
extern EngineHooks engine_hooks;

// Whether anybody has ever registered a hook in this process (runtime.base.handles.watch).
extern bool hooks_watched;

// Add `grad` to the gradient of a leaf in the usual cases; the others are Python's. -1 with an exception, 0 where it
// declines. `is_private`: nobody else holds the gradient.
int accumulate(PyObject* leaf, PyObject* grad, bool create_graph, bool is_private);

// `grad` summed to the shape of what it is the gradient of, where leading dimensions were broadcast. It declines like a
// kernel.
Ref sum_leading(PyArrayObject* grad, int ndim, const npy_intp* dims);

}  // namespace gradwright
