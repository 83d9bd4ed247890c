#include "engine.hpp"

#include "loop.hpp"
#include "types.hpp"

#include <new>

namespace gradwright {

EngineCallbacks engine_callbacks;

// run_backward(roots, grads, keep_graph, create_graph, accumulate, search): the caller has checked the arguments and set
// grad mode. `search` may be None.
PyObject* run_backward(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 6 || !PyList_Check(args[0]) || !PyList_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError,
                    "run_backward(roots, grads, keep_graph, create_graph, accumulate, search)");
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
