// The element types that operators bring their arguments to, as runtime/base/dtypes.py says it.

#pragma once

#include <cstdint>

#include "core.hpp"

namespace gradwright {

// `promotion:` of an operator: what becomes of the common element type of its arguments. kNone: it has none.
enum class Promotion : unsigned char { kNone, kCommon, kIntToFloat, kBoolToInt };

// The element type that arguments are brought to, those at the positions of the bits in `promoted`: Tensors, Python numbers,
// and None, which is left out. Null, without an exception, where there is no Tensor among them, or where one has an element type
// that is not computed with here: complex32, integers without a sign of more than one byte, what is only stored.
Ref promoted_dtype(Promotion kind, uint64_t promoted, PyObject* const* values, int count);

}  // namespace gradwright
