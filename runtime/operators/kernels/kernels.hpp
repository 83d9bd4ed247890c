// Element-wise kernels: how those of functors.hpp are called.
//
// A kernel takes Tensors and gives an array; it declines (null, no exception) whatever it has no loop for: other element
// types, arrays that are not aligned, shapes that do not broadcast. NumPy's own inner loops are called for functions that
// NumPy vectorises, so that results are NumPy's to the last bit; what is written here does the arithmetic of the Python
// kernel in the same order.

#pragma once

#include "core.hpp"
#include "functors.hpp"
#include "loops.hpp"
#include "memory.hpp"
#include "observe.hpp"
#include "parallel.hpp"
#include "streaming.hpp"

#include <initializer_list>

namespace gradwright {

// In how many operators a kernel was registered at run time in the place of the one that is here.
extern int kernels_replaced;

// `operands` into a new array, which lies as they do; the shapes broadcast. Null without an exception where shapes do not
// fit or elements are not aligned: then NumPy decides.
struct Operand {
  PyArrayObject* array = nullptr;  // null: a number
  Complex<double> number = 0;      // real: its first part is one of double
  Complex<float> single = 0;
  int64_t whole = 0;

  // A Python float or int that is to be a number of an element type; false, without an exception: it is none.
  bool set(PyObject* object, int type = NPY_DOUBLE);
  char* data(int type) {
    if (array != nullptr) return PyArray_BYTES(array);
    if (type == NPY_INT64) return reinterpret_cast<char*>(&whole);
    const bool is_single = type == NPY_FLOAT || type == NPY_CFLOAT;
    return is_single ? reinterpret_cast<char*>(&single) : reinterpret_cast<char*>(&number);
  }
};
Ref run_loop(const Loop& loop, Operand* operands, int count, int type);

// Whether a number may stand beside Tensors of an element type, as one of that type.
inline bool takes_numbers(int type) {
  return type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_CFLOAT || type == NPY_CDOUBLE || type == NPY_INT64;
}

// Whether a loop over dense operands, of which `bytes` are read and written, goes around the caches.
inline bool bypasses_cache(const Loop& loop, npy_intp bytes) {
  return loop.streaming != nullptr && bytes > streaming_size();
}

// A loop over so many elements that other threads should help, or run Python meanwhile; the caller holds the arrays.
void run_large(const Loop& loop, char* const* args, int count, npy_intp size, const npy_intp* steps);

inline bool is_dense(PyArrayObject* array) { return PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED_RO(array); }

// Reasons to decline.
inline constexpr char kNoLoop[] = "no loop for these dtypes";
inline constexpr char kOddNumber[] = "a number that is none of the element type";
inline constexpr char kOddLayout[] = "shapes that do not broadcast, or elements that are not aligned";

namespace detail {

// NumPy's number of the element type, or -1 where it is not in native order.
inline int type_of(PyArrayObject* array) {
  return PyArray_ISNOTSWAPPED(array) ? PyArray_DESCR(array)->type_num : -1;
}

// An array for the result of `loop` on operands like `array`.
inline Ref result_like(PyArrayObject* array, const Loop& loop) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  if (loop.result == descr->type_num) {
    Py_INCREF(descr);
  } else {
    descr = PyArray_DescrFromType(loop.result);
  }
  return new_result(descr, PyArray_NDIM(array), PyArray_DIMS(array));
}

inline bool same_shape(PyArrayObject* a, PyArrayObject* b) {
  const int ndim = PyArray_NDIM(a);
  if (ndim != PyArray_NDIM(b)) return false;
  for (int i = 0; i < ndim; ++i) {
    if (PyArray_DIM(a, i) != PyArray_DIM(b, i)) return false;
  }
  return true;
}

// The result of dense operands of one shape, and of numbers.
template <int count>
Ref run_dense_loop(const Loop& loop, char* const (&operands)[count], const npy_intp (&operand_steps)[count],
                   PyArrayObject* like, PyArrayObject* other = nullptr) {
  Ref out = result_like(like, loop);
  if (!out) return out;
  auto* result = reinterpret_cast<PyArrayObject*>(out.get());
  char* args[count + 1];
  npy_intp steps[count + 1];
  for (int i = 0; i < count; ++i) {
    args[i] = operands[i];
    steps[i] = operand_steps[i];
  }
  args[count] = PyArray_BYTES(result);
  steps[count] = PyArray_ITEMSIZE(result);
  const npy_intp size = PyArray_SIZE(result);
  if (size < kGrain) {
    loop.function(args, &size, steps, loop.data);
  } else {
    const auto held = hold(like, other);
    run_large(loop, args, count + 1, size, steps);
  }
  return out;
}

}  // namespace detail

// What `step` makes of a Tensor over an array; nothing of nothing.
template <class Step>
Ref then(Ref array, Step step) {
  Ref tensor = array ? new_tensor(std::move(array)) : Ref();
  return tensor ? step(tensor.get()) : Ref();
}

// Tensors of one element type, and after them numbers, which take that type.
template <class F, int tensors, class... Args>
Ref elementwise(Args... args) {
  PyObject* given[] = {args...};
  Operand operands[sizeof...(args)];
  const int type = detail::type_of(array_of(given[0]));
  const Loop* loop = loop_of<F>(type);
  if (loop == nullptr || (tensors < sizeof...(args) && !takes_numbers(type))) return declined(kNoLoop);
  for (size_t i = 0; i < sizeof...(args); ++i) {
    if (i >= tensors) {
      if (!operands[i].set(given[i], type)) return declined(kOddNumber);
    } else {
      operands[i].array = array_of(given[i]);
      if (detail::type_of(operands[i].array) != type) return declined(kNoLoop);
    }
  }
  return run_loop(*loop, operands, sizeof...(args), type);
}

template <class F>
Ref unary(PyObject* tensor) {
  PyArrayObject* array = array_of(tensor);
  if (!is_dense(array)) return elementwise<F, 1>(tensor);
  const Loop* loop = loop_of<F>(PyArray_DESCR(array)->type_num);
  if (loop == nullptr) return declined(kNoLoop);
  return detail::run_dense_loop<1>(*loop, {PyArray_BYTES(array)}, {PyArray_ITEMSIZE(array)}, array);
}

template <class F>
Ref binary(PyObject* first, PyObject* second) {
  PyArrayObject *a = array_of(first), *b = array_of(second);
  if (!is_dense(a) || !is_dense(b) || !detail::same_shape(a, b)) {
    return elementwise<F, 2>(first, second);
  }
  const int type = PyArray_DESCR(a)->type_num;
  const Loop* loop = PyArray_DESCR(b)->type_num == type ? loop_of<F>(type) : nullptr;
  if (loop == nullptr) return declined(kNoLoop);
  const npy_intp item = PyArray_ITEMSIZE(a);
  return detail::run_dense_loop<2>(*loop, {PyArray_BYTES(a), PyArray_BYTES(b)}, {item, item}, a, b);
}

// The second operand is a Python int or float.
template <class F>
Ref binary_scalar(PyObject* tensor, PyObject* number) {
  PyArrayObject* array = array_of(tensor);
  if (!is_dense(array)) return elementwise<F, 1>(tensor, number);
  const int type = PyArray_DESCR(array)->type_num;
  const Loop* loop = takes_numbers(type) ? loop_of<F>(type) : nullptr;
  Operand operand;
  if (loop == nullptr) return declined(kNoLoop);
  if (!operand.set(number, type)) return declined(kOddNumber);
  return detail::run_dense_loop<2>(*loop, {PyArray_BYTES(array), operand.data(type)}, {PyArray_ITEMSIZE(array), 0},
                                   array);
}

// Those that headers call are compiled in kernels.cpp.
extern template const Loop* loop_of<struct kernels::add>(int);
extern template const Loop* loop_of<struct kernels::sub>(int);
extern template const Loop* loop_of<struct kernels::rsub>(int);

namespace kernels {

// Whether `alpha` is the number 1, which leaves nothing to multiply with.
inline bool is_one(PyObject* alpha) { return PyLong_CheckExact(alpha) && PyLong_AsLong(alpha) == 1; }

inline constexpr char kAlpha[] = "alpha is not 1";

// A Tensor or a number as the second operand.
template <class F>
Ref binary_any(PyObject* self, PyObject* other) {
  return PyObject_TypeCheck(other, python.tensor_type) ? binary<F>(self, other) : binary_scalar<F>(self, other);
}

inline Ref add(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<struct add>(self, other) : declined(kAlpha);
}
GRADWRIGHT_KERNEL(add, 3, tensors)
inline Ref sub(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<struct sub>(self, other) : declined(kAlpha);
}
GRADWRIGHT_KERNEL(sub, 3, tensors)
inline Ref rsub(PyObject* self, PyObject* other, PyObject* alpha) {
  return is_one(alpha) ? binary_any<struct rsub>(self, other) : declined(kAlpha);
}
GRADWRIGHT_KERNEL(rsub, 3, tensors)

// What looks at its numbers, or at other arguments, before it chooses a loop; see kernels.cpp.
GRADWRIGHT_KERNEL(where, 3, tensors)
GRADWRIGHT_KERNEL(clamp, 3, tensors)
GRADWRIGHT_KERNEL(gelu, 2, tensors)
GRADWRIGHT_KERNEL(gelu_backward, 3, tensors)
GRADWRIGHT_KERNEL(polygamma, 2, tensors)
GRADWRIGHT_KERNEL(pow_tensor_scalar, 2, tensors)

}  // namespace kernels

namespace detail {

// `out = a + b`, `out` being one of them. The arrays have one shape and element type.
inline bool add_arrays(PyArrayObject* a, PyArrayObject* b, PyArrayObject* out) {
  const int type = type_of(a);
  if (type_of(b) != type || !is_dense(a) || !is_dense(b)) return false;
  const Loop* loop = loop_of<kernels::plus>(type);
  if (loop == nullptr) return false;
  char* args[] = {PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(out)};
  const npy_intp item = PyArray_ITEMSIZE(out), size = PyArray_SIZE(out);
  const npy_intp steps[] = {item, item, item};
  if (size < kGrain) {
    loop->function(args, &size, steps, loop->data);
  } else {
    const auto held = hold(a, b);
    run_large(*loop, args, 3, size, steps);
  }
  return true;
}

}  // namespace detail

// `sum += term`, where there is a loop for it. The arrays have one shape and element type.
inline bool add_into(PyArrayObject* sum, PyArrayObject* term) { return detail::add_arrays(sum, term, sum); }
// The same with the sum in the memory of `term`.
inline bool add_into_second(PyArrayObject* sum, PyArrayObject* term) { return detail::add_arrays(sum, term, term); }

}  // namespace gradwright
