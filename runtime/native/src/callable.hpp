// Python callables over native entries: operators, packets and signs.

#pragma once

#include "core.hpp"

namespace gradwright {

// Make the type of these callables. False, with an exception, where that fails.
bool ready_callables();

// A dict from each Python function of generated code that has a native counterpart to that counterpart, which falls
// back on the Python function. load_generated() has to be done. Null with an exception where it fails.
Ref make_callables();

// The number protocol of Tensors: slots for PyType_Spec, which find a sign's overloads without a look into the class. A
// class that has them needs no `__add__` and the like from generated.methods; those it has in no slot (comparisons,
// in-place signs) it does. Until load_signs() is done they give NotImplemented.
extern const PyType_Slot number_slots[];
extern const size_t number_slot_count;

// Find what the slots call. To be called after load_generated(). False with an exception where it fails.
bool load_signs();

}  // namespace gradwright
