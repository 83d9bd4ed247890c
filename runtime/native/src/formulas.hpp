// Backward formulas of element-wise kernels as one loop: every step runs on a block that stays in the cache.

#pragma once

#include "kernels.hpp"

namespace gradwright {

// One kernel of a formula, and the slots of its operands and its result. Slots: the Tensors, then the numbers, then
// temporaries.
struct Step {
  const Loop* (*loop)(const int* types);
  int count;
  signed char operands[4];
  signed char result;
};

namespace detail {

// The generator keeps to these.
constexpr int kMostSteps = 16;
constexpr int kMostSlots = 16;
constexpr int kMostTemporaries = 6;

template <class F, int count>
const Loop* step_loop(const int* types) {
  if constexpr (requires { F::loop(types); }) {
    return F::loop(types);
  } else {
    for (int i = 1; i < count; ++i) {
      if (types[i] != types[0]) return nullptr;
    }
    return loop_of<F>(types[0]);
  }
}

Ref run_formula(const Step* steps, int count, int spent, PyObject* const* given, int tensors, int numbers);

}  // namespace detail

// Whether a plain Tensor, without history, is the caller's alone with all its memory.
inline bool is_private(PyObject* tensor) {
  PyArrayObject* array = array_of(tensor);
  return Py_REFCNT(tensor) == 1 && Py_REFCNT(array) == 1 && PyArray_BASE(array) == nullptr &&
         PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE) && as_tensor(tensor)->edge == Py_None &&
         as_tensor(tensor)->extra == Py_None;
}

template <class F, class... Slots>
constexpr Step step(int result, Slots... operands) {
  static_assert(sizeof...(operands) <= 4);
  return {detail::step_loop<F, sizeof...(operands)>,
          sizeof...(operands),
          {static_cast<signed char>(operands)...},
          static_cast<signed char>(result)};
}

// A formula over Tensors of one shape, and numbers after them; a Tensor without history, or null without an exception
// where its statements have to be run: while a graph is recorded, where dtypes differ or shapes broadcast.
//
// `spent`: the slot of the gradient, where no formula after this one reads it; else -1. Its memory then becomes the
// result's, if nobody else can read it.
template <int tensors, size_t count, class... Args>
Ref fused(const Step (&steps)[count], int spent, Args... args) {
  if (grad_enabled || unusual != 0 || kernels_replaced != 0) return Ref();
  PyObject* const given[] = {args...};
  return detail::run_formula(steps, count, spent, given, tensors, sizeof...(args) - tensors);
}

// The same of a formula of one kernel: worth it for what its statement can not do, which is to reuse large memory.
template <int tensors, class... Args>
Ref fused(const Step (&steps)[1], int spent, Args... args) {
  PyObject* const given[] = {args...};
  if (spent < 0 || !is_plain(given[spent]) || PyArray_NBYTES(array_of(given[spent])) < kLargeArray) return Ref();
  if (grad_enabled || unusual != 0 || kernels_replaced != 0 || !is_private(given[spent])) return Ref();
  return detail::run_formula(steps, 1, spent, given, tensors, sizeof...(args) - tensors);
}

}  // namespace gradwright
