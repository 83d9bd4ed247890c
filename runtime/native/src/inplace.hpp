// Writing in place: when the straight way may do it, and loops that read and write the same memory.
//
// What an entry of an in-place operator does is what runtime/dispatch.py does for the plain case. It declines before
// anything is written.

#pragma once

#include "core.hpp"
#include "kernels.hpp"
#include "sharing.hpp"

namespace gradwright {

namespace detail {

// Whether nobody but Tensors themselves watches the count of writes.
inline bool has_plain_count(PyObject* writes) {
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
  if (!detail::has_plain_count(target->writes) || !PyArray_ISWRITEABLE(array) ||
      detail::repeats_elements(array)) {
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

// Whether `other` is an operand of a loop over `target`, element by element or, with a step of 0, one for all.
inline bool operand_step(PyArrayObject* target, PyArrayObject* other, npy_intp* step) {
  if (kind_of(other) != kind_of(target) || !is_dense(other) || overlap(target, other)) return false;
  if (PyArray_SAMESHAPE(target, other)) {
    *step = 1;
    return true;
  }
  *step = 0;
  return PyArray_SIZE(other) == 1 && PyArray_NDIM(other) <= PyArray_NDIM(target);
}

// A Python number as an element; false where it is none that all element types can hold.
inline bool element_value(PyObject* number, double* value) {
  if (PyFloat_CheckExact(number)) {
    *value = PyFloat_AS_DOUBLE(number);
    return true;
  }
  if (!PyLong_CheckExact(number)) return false;
  int overflow;
  const long long whole = PyLong_AsLongLongAndOverflow(number, &overflow);
  *value = static_cast<double>(whole);
  return overflow == 0 && whole <= (1ll << 53) && whole >= -(1ll << 53);
}

template <class F, class T>
void write_loop(void* target, const void* other, npy_intp step, npy_intp size) {
  auto* out = static_cast<T*>(target);
  loop_binary<F>(out, 1, static_cast<const T*>(other), step, out, size);
}

// `target = F(target, other)` for dense arrays.
template <class F>
bool write_with(PyArrayObject* target, Kind kind, void* other, npy_intp step) {
  void* out = PyArray_DATA(target);
  const npy_intp size = PyArray_SIZE(target);
  if constexpr (IsUfunc<F>) {
    const Ufunc::Loop& loop = F::ufunc.loop(kind);
    if (loop.function == nullptr) return false;
    char* args[] = {static_cast<char*>(out), static_cast<char*>(other), static_cast<char*>(out)};
    const npy_intp item = PyArray_ITEMSIZE(target);
    const npy_intp steps[] = {item, step * item, item};
    loop.function(args, &size, steps, loop.data);
  } else if (kind == Kind::kFloat32) {
    write_loop<F, float>(out, other, step, size);
  } else {
    write_loop<F, double>(out, other, step, size);
  }
  return true;
}

// `body(T*, elements)` on a dense floating-point array; false where it is another one.
template <class Body>
bool with_elements(PyObject* self, Body body) {
  PyArrayObject* array = array_of(self);
  if (!is_dense(array)) return false;
  switch (kind_of(array)) {
    case Kind::kFloat32:
      return body(static_cast<float*>(PyArray_DATA(array)), PyArray_SIZE(array));
    case Kind::kFloat64:
      return body(static_cast<double*>(PyArray_DATA(array)), PyArray_SIZE(array));
    default:
      return false;
  }
}

template <class T>
const T* elements(PyObject* tensor) {
  return static_cast<const T*>(PyArray_DATA(array_of(tensor)));
}

}  // namespace detail

// `self = F(self)`, where there is a loop for it. False without an exception: nothing was written.
template <class F>
bool write_unary(PyObject* self) {
  PyArrayObject* array = array_of(self);
  const Kind kind = kind_of(array);
  if (kind == Kind::kNone || !is_dense(array)) return false;
  if constexpr (IsUfunc<F>) {
    const Ufunc::Loop& loop = F::ufunc.loop(kind);
    if (loop.function == nullptr) return false;
    char* args[] = {PyArray_BYTES(array), PyArray_BYTES(array)};
    const npy_intp size = PyArray_SIZE(array), item = PyArray_ITEMSIZE(array);
    const npy_intp steps[] = {item, item};
    loop.function(args, &size, steps, loop.data);
    return true;
  } else {
    return detail::with_elements(self, [](auto* values, npy_intp size) {
      loop_unary<F>(values, values, size);
      return true;
    });
  }
}

// `self = F(self, other)`; `other` may have a single element.
template <class F>
bool write_binary(PyObject* self, PyObject* other) {
  PyArrayObject* target = array_of(self);
  const Kind kind = kind_of(target);
  npy_intp step;
  if (kind == Kind::kNone || !is_dense(target) ||
      !detail::operand_step(target, array_of(other), &step)) {
    return false;
  }
  return detail::write_with<F>(target, kind, PyArray_DATA(array_of(other)), step);
}

// The second operand is a Python number, which takes the element type of the first.
template <class F>
bool write_binary_scalar(PyObject* self, PyObject* number) {
  PyArrayObject* target = array_of(self);
  const Kind kind = kind_of(target);
  double value;
  if (kind == Kind::kNone || !is_dense(target) || !detail::element_value(number, &value)) {
    return false;
  }
  auto single = static_cast<float>(value);
  void* other = kind == Kind::kFloat32 ? static_cast<void*>(&single) : static_cast<void*>(&value);
  return detail::write_with<F>(target, kind, other, 0);
}

// In-place forms of kernels that the templates above do not cover, by the names that these have in runtime/kernels.
namespace writers {

bool add(PyObject* self, PyObject* other, PyObject* alpha);
bool sub(PyObject* self, PyObject* other, PyObject* alpha);
bool addcmul(PyObject* self, PyObject* tensor1, PyObject* tensor2, PyObject* value);
bool addcdiv(PyObject* self, PyObject* tensor1, PyObject* tensor2, PyObject* value);
bool lerp(PyObject* self, PyObject* end, PyObject* weight);
bool clamp(PyObject* self, PyObject* min, PyObject* max);
bool zero(PyObject* self);
bool fill(PyObject* self, PyObject* value);
bool copy(PyObject* self, PyObject* src);

}  // namespace writers

}  // namespace gradwright
