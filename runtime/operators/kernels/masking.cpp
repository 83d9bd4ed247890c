// Masks that write a number: a choice between it and what is there.

#include <cmath>
#include <limits>

#include "kernels.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

constexpr char kOddFill[] = "no loop for this dtype, or a number that does not fit it";

// Whether a number becomes an element of the type, as infinities and NaN do.
bool fits(PyObject* value, Kind kind) {
  npy_intp whole;
  if (detail::read_int(value, &whole)) return true;
  if (kind == Kind::kNone || !PyFloat_CheckExact(value)) return false;
  const double number = PyFloat_AS_DOUBLE(value);
  return kind == Kind::kFloat64 || !std::isfinite(number) || std::abs(number) <= std::numeric_limits<float>::max();
}

}  // namespace

namespace kernels {

Ref masked_fill(PyObject* self, PyObject* mask, PyObject* value) {
  if (!fits(value, kind_of(array_of(self)))) return declined(kOddFill);
  Ref out = where(mask, value, self);
  return out ? std::move(out) : declined(kOddFill);
}
GRADWRIGHT_KERNEL(masked_fill, 3, tensors)

}  // namespace kernels

}  // namespace gradwright
