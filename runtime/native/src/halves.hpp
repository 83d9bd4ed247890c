// Tensors of float16 and bfloat16: operators compute them in float32, and what comes out is rounded once.

#pragma once

#include "core.hpp"

namespace gradwright {

struct Function;

// Whether the Tensors among the arguments of a call are all of float16, or all of bfloat16, and nothing else is unusual.
bool are_halves(PyObject* const* values, int count);

// What an operator gives for such arguments: its entry's result for the same in float32, as an array, or several as a tuple
// of them; those of float32 are rounded. Null, without an exception, for other arguments, and where Python has to say what is
// wrong. `called` is the entry that was called, the operator's or that of a variant of it.
Ref result_in_float32(const Function& called, const Function& computing, PyObject* const* values, int count);

template <class... Args>
Ref in_float32(const Function& called, const Function& computing, Args... args) {
  PyObject* const values[] = {args...};
  return result_in_float32(called, computing, values, static_cast<int>(sizeof...(args)));
}

}  // namespace gradwright
