// Python callables over native entries: operators, packets and signs.

#pragma once

#include "core.hpp"
#include "registry.hpp"

namespace gradwright {

// Make the type of these callables. False, with an exception, where that fails.
bool ready_callables();

// A dict from each Python function of a package that has a native counterpart to that counterpart, which falls back on the
// Python function; its functions have to be loaded. Null with an exception where it fails.
Ref make_callables(const Package& package);

// From now on the packet of that name, with the namespace of its package, calls `chosen`, where it has an entry, for arguments of the types of these: a tuple,
// and a dict of those with names.
void remember_choice(const char* base, PyObject* args, PyObject* kwargs, PyObject* chosen);

// The number protocol of Tensors: slots for PyType_Spec, which find a sign's overloads without a look into the class
// (`signs.hpp`). A class that has them needs no `__add__` and the like from generated.methods; those it has in no slot
// (comparisons, `+=`) it does. Until load_signs() is done they give NotImplemented.
extern const Table<PyType_Slot> number_slots;

// The signs behind them, as in the names of Python's methods: "add" of `__add__`, `__radd__` and `__iadd__`.
extern const Table<const char*> number_signs;

// Find what the slots call. To be called after load_package(). False with an exception where it fails.
bool load_signs();

}  // namespace gradwright
