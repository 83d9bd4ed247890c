// Writing in place: when the fast path may do it, and loops that read and write the same memory.
//
// What an entry of an in-place operator does is what runtime/call/inplace.py does for the plain case. It declines before
// anything is written.

#pragma once

#include <algorithm>

#include "copies.hpp"
#include "core.hpp"
#include "kernels.hpp"
#include "sharing.hpp"

namespace gradwright {

namespace detail {

// Whether nobody but Tensors themselves watches the count of writes.
inline bool is_unwatched(PyObject* writes) {
  return writes == Py_None || (PyList_CheckExact(writes) && PyList_GET_SIZE(writes) == 1 &&
                               PyLong_CheckExact(PyList_GET_ITEM(writes, 0)));
}

// Whether each element has memory of its own; an array with a stride of 0 has not, unless there is one element.
inline bool repeats_elements(PyArrayObject* array) {
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_STRIDE(array, i) == 0 && PyArray_DIM(array, i) > 1) return true;
  }
  return false;
}

// Whether a Tensor, or None, is known to lie over the same memory.
inline bool shares_memory(PyObject* self, PyObject* other) {
  if (other == self) return true;
  PyObject* writes = as_tensor(self)->writes;
  return other != Py_None && writes != Py_None && as_tensor(other)->writes == writes;
}

// Whether a Tensor, or None, may lie over a part of the memory of `self`, which the general path refuses to write then.
inline bool may_lie_over_part(PyObject* self, PyObject* other) {
  if (other == Py_None || other == self || as_tensor(self)->next == nullptr) return false;
  PyArrayObject *target = array_of(self), *given = array_of(other);
  if (!may_overlap(target, given)) return false;
  return PyArray_BYTES(target) != PyArray_BYTES(given) || !same_shape(target, given) ||
         !std::equal(PyArray_STRIDES(target), PyArray_STRIDES(target) + PyArray_NDIM(target), PyArray_STRIDES(given));
}

}  // namespace detail

// Whether a write is recorded: one of the Tensors requires grad; an optional one may be None.
template <class... Tensors>
bool is_recorded(Tensors... tensors) {
  return grad_enabled && ((tensors != Py_None && requires_grad(tensors)) || ...);
}

// Whether `self` may be written. Recorded writes are those of Tensors that share their memory with no other one, and
// `others`, the other arguments, least of all.
template <class... Others>
bool can_write(PyObject* self, bool recorded, Others... others) {
  const Tensor* target = as_tensor(self);
  PyArrayObject* array = array_of(self);
  if (!detail::is_unwatched(target->writes) || !PyArray_ISWRITEABLE(array) ||
      detail::repeats_elements(array) || (detail::may_lie_over_part(self, others) || ...)) {
    return false;
  }
  if (!recorded) return !grad_enabled || target->base == Py_None || !requires_grad(target->base);
  const char kind = PyArray_DESCR(array)->kind;
  return target->base == Py_None && target->next == nullptr && target->extra == Py_None &&
         target->edge != python.leaf && (kind == 'f' || kind == 'c') && !(detail::shares_memory(self, others) || ...);
}

// `self` with its history, for the derivative of a write that is about to happen; with `copied` also with its values.
inline Ref before_write(PyObject* self, bool copied) {
  PyObject* array = as_tensor(self)->array;
  Ref values = copied ? Ref(PyArray_NewCopy(array_of(self), NPY_CORDER)) : Ref::borrow(array);
  if (!values) return values;
  Ref before = new_tensor(std::move(values));
  if (before) Py_SETREF(as_tensor(before.get())->edge, Py_NewRef(as_tensor(self)->edge));
  return before;
}

// Overwrite the elements of `self` with those of an array of its shape and element type. False without an exception:
// the array is another one.
inline bool overwrite(PyObject* self, PyObject* result) {
  PyArrayObject* target = array_of(self);
  auto* values = reinterpret_cast<PyArrayObject*>(result);
  if (PyArray_DESCR(target) != PyArray_DESCR(values) || !PyArray_SAMESHAPE(target, values)) {
    return false;
  }
  return PyArray_CopyInto(target, values) == 0;
}

// Count a write to the memory of `self`, of which `can_write` was asked. False, with an exception: out of memory.
inline bool count_write(PyObject* self) {
  if (!make_counter(as_tensor(self))) return false;
  PyObject* writes = as_tensor(self)->writes;
  PyObject* next = PyLong_FromLongLong(PyLong_AsLongLong(PyList_GET_ITEM(writes, 0)) + 1);
  return next != nullptr && PyList_SetItem(writes, 0, next) == 0;
}

// -- loops

namespace detail {

// Whether a loop that writes `target` element by element reads what it has written: the arrays are dense.
inline bool overlap(PyArrayObject* target, PyArrayObject* other) {
  const char *a = PyArray_BYTES(target), *b = PyArray_BYTES(other);
  if (a == b && PyArray_SIZE(target) == PyArray_SIZE(other)) return false;  // the same elements
  return a < b + PyArray_NBYTES(other) && b < a + PyArray_NBYTES(target);
}

// An operand of a loop over `target`, element by element or, with a step of 0, one for all; false if it is none.
inline bool operand_step(PyArrayObject* target, PyArrayObject* other, npy_intp* step) {
  if (type_of(other) != type_of(target) || !is_dense(other) || overlap(target, other)) return false;
  if (same_shape(target, other)) {
    *step = PyArray_ITEMSIZE(target);
    return true;
  }
  *step = 0;
  return PyArray_SIZE(other) == 1 && PyArray_NDIM(other) <= PyArray_NDIM(target);
}

}  // namespace detail

// `self = F(self, others...)` in one pass, where there is a loop for it: the first `tensors` arguments are Tensors, the
// others numbers. False without an exception: nothing was written.
template <class F, int tensors, class... Args>
bool write_elementwise(PyObject* self, Args... others) {
  if constexpr (IsBlock<F>) {
    return false;  // its result may be no operand
  } else {
    constexpr int count = 1 + sizeof...(others);
    PyObject* given[] = {self, others...};
    PyArrayObject* target = array_of(self);
    const int type = detail::type_of(target);
    const Loop* loop = loop_of<F>(type);
    if (loop == nullptr || loop->result != type || !is_dense(target)) return false;
    if (count > tensors && !takes_numbers(type)) return false;
    Operand numbers[count];
    char* args[count + 1];
    npy_intp steps[count + 1];
    for (int i = 0; i < count; ++i) {
      if (i >= tensors) {
        if (!numbers[i].set(given[i], type)) return false;
        args[i] = numbers[i].data(type);
        steps[i] = 0;
      } else {
        PyArrayObject* array = array_of(given[i]);
        if (!detail::operand_step(target, array, &steps[i])) return false;
        args[i] = PyArray_BYTES(array);
      }
    }
    args[count] = PyArray_BYTES(target);
    steps[count] = PyArray_ITEMSIZE(target);
    const npy_intp size = PyArray_SIZE(target);
    if (size < kGrain) {
      loop->function(args, &size, steps, loop->data);
    } else {
      Ref held[count];
      for (int i = 0; i < tensors; ++i) held[i] = Ref::borrow(as_tensor(given[i])->array);
      run_large(*loop, args, count + 1, size, steps);
    }
    return true;
  }
}

template <class F>
bool write_unary(PyObject* self) {
  return write_elementwise<F, 1>(self);
}
template <class F>
bool write_binary(PyObject* self, PyObject* other) {
  return write_elementwise<F, 2>(self, other);
}
template <class F>
bool write_binary_scalar(PyObject* self, PyObject* number) {
  return write_elementwise<F, 1>(self, number);
}

// What optimizers are made of; the operators that give a new Tensor take these loops, too.
namespace kernels {

struct addcmul {
  static constexpr int kLeading = 3;
  template <class T>
  static T apply(T a, T b, T c, T value) { return a + b * c * value; }
};
GRADWRIGHT_KERNEL(addcmul, 4, elements, also_complex)
struct addcdiv {
  static constexpr int kLeading = 3;
  template <class T>
  static T apply(T a, T b, T c, T value) { return a + multiple_of(b / c, value); }
};
GRADWRIGHT_KERNEL(addcdiv, 4, elements, also_complex)

}  // namespace kernels

// In-place forms of kernels that the templates above do not cover, by the names that these have in runtime/operators/kernels.
namespace writers {

GRADWRIGHT_KERNEL(add, 3, in_place)
GRADWRIGHT_KERNEL(sub, 3, in_place)
GRADWRIGHT_KERNEL(clamp, 3, in_place)
GRADWRIGHT_KERNEL(zero, 1, in_place)
GRADWRIGHT_KERNEL(fill, 2, in_place)
GRADWRIGHT_KERNEL(copy, 2, in_place)

}  // namespace writers

}  // namespace gradwright
