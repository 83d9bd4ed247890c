#include "observe.hpp"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "other_dtypes.hpp"
#include "kernels.hpp"
#include "registry.hpp"

namespace gradwright {

bool watching = false;
const char* decline_reason = nullptr;

namespace {

using Apply = bool (*)(Node*, PyObject*, PyObject**);

PyObject* watcher = nullptr;
unsigned long watched_thread = 0;
const char* noted = nullptr;  // by note_kernel, in the innermost watched call
std::unordered_map<const NodeClass*, Apply> applies;  // the true ones, once somebody has watched

bool is_watched_here() {
  return watcher != nullptr && PyThread_get_thread_ident() == watched_thread;
}

// Calls a method of the watcher, with an exception set or not, which stays as it is.
void tell(const char* method, Ref args) {
  PyObject *kind, *value, *trace;
  PyErr_Fetch(&kind, &value, &trace);
  Ref held = Ref::borrow(watcher);
  Ref bound(args ? PyObject_GetAttrString(held.get(), method) : nullptr);
  Ref told(bound ? PyObject_Call(bound.get(), args.get(), nullptr) : nullptr);
  if (!told) PyErr_WriteUnraisable(held.get());
  PyErr_Restore(kind, value, trace);
}

void tell_enter(const char* kind, Ref what, int guard, int count, PyObject* const* values) {
  if (!is_watched_here()) return;
  Ref given(PyTuple_New(count));
  for (int i = 0; given && i < count; ++i) {
    PyTuple_SET_ITEM(given.get(), i, Py_NewRef(values[i]));
  }
  const bool ready = what && given;
  tell("enter", Ref(ready ? Py_BuildValue("(sOiO)", kind, what.get(), guard, given.get()) : nullptr));
}

void tell_leave(const char* kernel, const char* why) {
  if (is_watched_here()) tell("leave", Ref(Py_BuildValue("(zz)", kernel, why)));
}

Ref call_python(const Function& function, PyObject* const* values) {
  const auto positional = static_cast<size_t>(function.positional);
  return Ref(PyObject_Vectorcall(function.fallback, values, positional, function.keywords));
}

bool watched_apply(Node* self, PyObject* grad, PyObject** results) {
  tell_enter("node", Ref(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "_name")), kNoGuard, 0,
             nullptr);
  const bool done = applies.at(self->cls)(self, grad, results);
  tell_leave(nullptr, nullptr);
  return done;
}

void set_watching(bool on) {
  watching = on;
  for (const Package* each : packages()) {
    for (const Shard* shard : each->shards) {
      for (Function* function : shard->functions) {
        const int before = function->replaced & kByKernel;
        function->replaced = static_cast<unsigned char>(before | (on ? kByWatcher : 0));
      }
      for (const NodeClass* cls : shard->nodes) {
        const Apply apply = applies.emplace(cls, cls->apply).first->second;
        cls->apply = on ? watched_apply : apply;
      }
    }
  }
}

}  // namespace

void note_kernel(const char* which) { noted = which; }

Ref watched_call(Function& function, PyObject* const* values) {
  if ((function.replaced & kByWatcher) == 0) {
    if (is_watched_here()) tell("decline", Ref(Py_BuildValue("(z)", decline_reason)));
    function.replaced |= kByWatcher;
    return call_python(function, values);
  }
  const bool replaced = (function.replaced & kByKernel) != 0;
  int guard = replaced ? kKernelReplaced : function.failing(values);
  if (guard >= 0 && takes_in_other_dtype(function, values)) guard = kNoGuard;
  tell_enter("operator", Ref::borrow(function.fallback), guard, function.count, values);
  if (guard != kNoGuard) {
    Ref out = call_python(function, values);
    tell_leave(nullptr, nullptr);
    return out;
  }
  const char* outer = std::exchange(noted, nullptr);
  decline_reason = nullptr;
  function.replaced &= static_cast<unsigned char>(~kByWatcher);
  Ref out(function.ordered(values));
  if (watching) function.replaced |= kByWatcher;
  const char* ran = std::exchange(noted, outer);
  // An extension has a constant of its own: what it notes is compared by its text.
  const bool in_python = ran != nullptr && std::string_view(ran) == kPythonKernel;
  tell_leave(ran != nullptr ? ran : "native loop", in_python ? decline_reason : nullptr);
  return out;
}

PyObject* watch(PyObject*, PyObject* given) {
  Ref old(std::exchange(watcher, given == Py_None ? nullptr : Py_NewRef(given)));
  watched_thread = PyThread_get_thread_ident();
  set_watching(given != Py_None);
  Ufunc::watch_changes();
  Py_RETURN_NONE;
}

PyObject* left_to_python(PyObject*, PyObject*) {
  Ref reasons(PyDict_New());
  if (!reasons) return nullptr;
  for (const Package* each : packages()) {
    for (const Shard* shard : each->shards) {
      for (const Reason& left : shard->left_to_python) {
        const std::string name = std::string(each->namespace_) + left.name;
        Ref text(PyUnicode_FromString(left.reason));
        if (!text || PyDict_SetItemString(reasons.get(), name.c_str(), text.get()) < 0) return nullptr;
      }
    }
  }
  return reasons.release();
}

bool no_call_handlers(PyObject* thread_handlers) {
  Ref around(PyObject_GetAttr(thread_handlers, interned("calls")));
  if (!around) PyErr_Clear();
  return around && PyTuple_CheckExact(around.get()) && PyTuple_GET_SIZE(around.get()) == 0;
}

}  // namespace gradwright
