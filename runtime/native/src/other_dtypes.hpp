// Calls whose Tensors are of other element types than an entry takes: arguments are brought to one that it computes in.
//
// Tensors of float16 and bfloat16 are computed in float32, and what comes out is rounded once. Tensors of different types, and
// integers where floats are asked for, are converted as the operator's `promotion:` says.

#pragma once

#include "core.hpp"

namespace gradwright {

struct Function;

// Whether `result_in_other_dtype` computes such a call.
bool takes_in_other_dtype(const Function& function, PyObject* const* values);

// What an operator gives for such arguments: its entry's result for the converted ones, as an array, or several as a tuple of
// them. Null, without an exception, for other arguments, and where Python has to say what is wrong. `called` is the entry that
// was called, the operator's or that of a variant of it.
Ref result_in_other_dtype(const Function& called, Function& computing, PyObject* const* values);

template <class... Args>
Ref in_other_dtype(const Function& called, Function& computing, Args... args) {
  PyObject* const values[] = {args...};
  return result_in_other_dtype(called, computing, values);
}

}  // namespace gradwright
