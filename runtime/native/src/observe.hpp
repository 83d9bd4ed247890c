// Watching calls: what runtime.native.explain tells. A call that nobody watches pays nothing for it: entries that are
// watched are closed like those of a replaced kernel, and Nodes that are watched have another `apply`.

#pragma once

#include "core.hpp"

namespace gradwright {

struct Function;

// Why calls leave an entry before its tests are looked at: bits of Function::replaced.
constexpr unsigned char kByKernel =
    1;  // a kernel was registered at run time: only the Python function knows it
constexpr unsigned char kByWatcher = 2;  // somebody watches: `watched_call` makes the call

// Whether somebody watches.
extern bool watching;
// Why the last native kernel that gave no result gave none.
extern const char* decline_reason;

// What a native kernel gives that has no loop for its arguments.
[[gnu::cold]] inline Ref declined(const char* reason) {
  decline_reason = reason;
  return Ref();
}

// What computes the result of the innermost watched call, if it is not a loop of the core's own.
inline constexpr char kNumpyLoop[] = "NumPy's loop";
inline constexpr char kPythonKernel[] = "Python kernel";
inline constexpr char kMadeOfOperators[] = "operators";
inline constexpr char kInFloat32[] = "native loop in float32";
inline constexpr char kConverted[] = "native loop on converted arguments";
void note_kernel(const char* which);

// The result of a composite function.
inline Ref of_operators(Ref out) {
  if (watching) note_kernel(kMadeOfOperators);
  return out;
}

// Whether this thread has no handlers of operator calls; `thread_handlers` is that of runtime.base.modes.
bool no_call_handlers(PyObject* thread_handlers);

// An entry that leaves a call to Python while somebody watches comes here: for all calls, before its tests are looked
// at, to have them looked at and told; and again if it still declines when it is let through.
Ref watched_call(Function& function, PyObject* const* values);

// What `enter` is told instead of the number of a guard.
constexpr int kNoGuard = -1;         // the call takes the fast path
constexpr int kKernelReplaced = -2;  // a kernel was registered at run time

// watch(watcher): while operators and Nodes of this thread run, call `watcher.enter(kind, what, guard, values)`
// with the Python function of the operator or the name of the Node class,
// `watcher.decline(why)` where an entry gives up later, and `watcher.leave(kernel, why)`. None ends it.
PyObject* watch(PyObject*, PyObject* watcher);
// left_to_python(): a dict from operators and Node classes without a native counterpart, behind the namespace of their
// package, to the reasons.
PyObject* left_to_python(PyObject*, PyObject*);

}  // namespace gradwright
