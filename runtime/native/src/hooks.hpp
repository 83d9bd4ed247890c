// Hooks of Nodes and leaves: which there are. Python runs them, in runtime/graph/hooks.py.

#pragma once

#include "core.hpp"

namespace gradwright {

// Whether anybody has ever registered a hook in this process (runtime.base.handles.watch).
extern bool hooks_watched;

// Whether a Node has hooks of its outputs or retains their gradients; -1 with an exception. `extra`: the Node's.
int has_tensor_hooks(PyObject* extra);
// The gradient, as these hooks leave it.
Ref run_tensor_hooks(PyObject* node, PyObject* grad);

// Whether a Node has hooks of its own; -1 with an exception.
int has_node_hooks(PyObject* extra);
// The gradients of the inputs that are `wanted` (None: all), by a Node with its hooks.
Ref apply_with_hooks(PyObject* node, PyObject* grad, PyObject* wanted);

// Whether hooks look at what happens to a leaf; -1 with an exception.
int is_watched(PyObject* leaf);

// Adds a note to the exception that is set: which Node failed. Always false.
bool explain(Node* node);

}  // namespace gradwright
