// What the kernels that move elements by an index share: how elements of a type are moved, and writes into a copy or in
// place. An array `near` is walked over, element by element, and for each the element of an array `far` is found that an index
// names: it is read into `near`, or written or added up from it.

#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "copies.hpp"
#include "inplace.hpp"
#include "kernels.hpp"
#include "loops.hpp"
#include "memory.hpp"
#include "views.hpp"

namespace gradwright::moving {

// Reasons to decline.
inline constexpr char kOddIndex[] = "an index that is no plain int32, int64 or mask, or out of range";
inline constexpr char kOddElements[] = "elements that are not plain numbers in memory";
inline constexpr char kOddArguments[] = "arguments that the Python kernel looks at";

// -- moving elements

template <class T>
struct Take {
  using Element = T;
  static constexpr bool reads = true;
  static GRADWRIGHT_INLINE void one(char* near, char* far) { std::memcpy(near, far, sizeof(T)); }
  static GRADWRIGHT_INLINE void dense(char* near, char* far, npy_intp size) {
    std::memcpy(near, far, static_cast<size_t>(size) * sizeof(T));
  }
};
template <class T>
struct Put {
  using Element = T;
  static constexpr bool reads = false;
  static GRADWRIGHT_INLINE void one(char* near, char* far) { std::memcpy(far, near, sizeof(T)); }
  static GRADWRIGHT_INLINE void dense(char* near, char* far, npy_intp size) {
    std::memcpy(far, near, static_cast<size_t>(size) * sizeof(T));
  }
};
template <class T>
struct Add {
  using Element = T;
  static constexpr bool reads = false;
  static GRADWRIGHT_INLINE void one(char* near, char* far) {
    *reinterpret_cast<T*>(far) += *reinterpret_cast<const T*>(near);
  }
  static GRADWRIGHT_INLINE void dense(char* near, char* far, npy_intp size) {
    const T* __restrict from = reinterpret_cast<const T*>(near);
    T* __restrict to = reinterpret_cast<T*>(far);
    for (npy_intp i = 0; i < size; ++i) to[i] += from[i];
  }
};

template <class Move>
GRADWRIGHT_INLINE void move_row(char* near, char* far, npy_intp size, npy_intp near_stride, npy_intp far_stride) {
  constexpr npy_intp item = sizeof(typename Move::Element);
  if (near_stride == item && far_stride == item) {
    Move::dense(near, far, size);
  } else {
    for (npy_intp i = 0; i < size; ++i) Move::one(near + i * near_stride, far + i * far_stride);
  }
}

// run.operator()<Move<T>>() for the type of elements; false where there is none.
template <template <class> class Move, class Run>
bool for_width(PyArrayObject* array, Run run) {
  switch (PyArray_ITEMSIZE(array)) {
    case 1:
      return run.template operator()<Move<uint8_t>>();
    case 2:
      return run.template operator()<Move<uint16_t>>();
    case 4:
      return run.template operator()<Move<uint32_t>>();
    case 8:
      return run.template operator()<Move<uint64_t>>();
    case 16:
      return run.template operator()<Move<Wide>>();
    default:
      return false;
  }
}
template <class Run>
bool for_sums(PyArrayObject* array, Run run) {
  switch (detail::type_of(array)) {
    case NPY_FLOAT:
      return run.template operator()<Add<float>>();
    case NPY_DOUBLE:
      return run.template operator()<Add<double>>();
    case NPY_INT64:
      return run.template operator()<Add<uint64_t>>();
    default:
      return false;
  }
}

// What happens to the elements that an index names.
enum class Doing { kTake, kPut, kAdd };
template <class Run>
bool for_elements(Doing doing, PyArrayObject* array, Run run) {
  switch (doing) {
    case Doing::kTake:
      return for_width<Take>(array, run);
    case Doing::kPut:
      return for_width<Put>(array, run);
    default:
      return for_sums(array, run);
  }
}

// Whether the elements may be moved as they lie in memory, one by one.
inline bool is_walkable(PyArrayObject* array) {
  return is_movable(array) && PyArray_ISBEHAVED_RO(array) && detail::fits_layout(array);
}
inline bool is_summable(PyArrayObject* array) {
  return is_walkable(array) && for_sums(array, []<class Move>() { return true; });
}
inline bool is_index(PyArrayObject* array) {
  const int type = PyArray_TYPE(array);
  return PyArray_ISBEHAVED_RO(array) && detail::fits_layout(array) &&
         (PyTypeNum_ISSIGNED(type) && (PyArray_ITEMSIZE(array) == 8 || PyArray_ITEMSIZE(array) == 4));
}
inline bool is_mask(PyArrayObject* array) {
  return (PyArray_TYPE(array) == NPY_BOOL || PyArray_TYPE(array) == NPY_UINT8) && detail::fits_layout(array);
}
// run.operator()<I>() for the type of an index.
template <class Run>
auto for_index(PyArrayObject* index, Run run) {
  return PyArray_ITEMSIZE(index) == 8 ? run.template operator()<int64_t>() : run.template operator()<int32_t>();
}

// -- arrays

inline Ref new_like(PyArrayObject* array, int ndim, const npy_intp* sizes) {
  Ref out = new_array_of(array, ndim, sizes);
  if (!out) PyErr_Clear();
  return out;
}

// A write into an array, by `write(target)`: into a copy, which it gives; or in place, where nothing is read that is written.
template <class Write>
Ref write_copy(PyObject* self, Write write) {
  PyArrayObject* array = array_of(self);
  if (!is_walkable(array)) return declined(kOddElements);
  Ref out = contiguous_copy(array);
  if (!out) PyErr_Clear();
  return out && write(as_ndarray(out)) ? std::move(out) : declined(kOddIndex);
}
template <class Write, class... Others>
bool write_here(PyObject* self, Write write, Others... others) {
  PyArrayObject* array = array_of(self);
  if (!is_walkable(array) || !PyArray_IS_C_CONTIGUOUS(array) || (may_overlap(array, others) || ...)) return false;
  return write(array);
}

// A number as an element of an array: floats and ints into float32 and float64, ints into int64.
struct Number {
  alignas(8) char bytes[8];
  bool set(PyArrayObject* array, PyObject* value) {
    Operand number;
    npy_intp whole;
    switch (detail::type_of(array)) {
      case NPY_FLOAT:
      case NPY_DOUBLE:
        if (!number.set(value)) return false;
        std::memcpy(bytes, number.data(PyArray_TYPE(array)), static_cast<size_t>(PyArray_ITEMSIZE(array)));
        return true;
      case NPY_INT64:
        if (!detail::read_int(value, &whole)) return false;
        std::memcpy(bytes, &whole, sizeof whole);
        return true;
      default:
        return false;
    }
  }
};

inline bool same_type(PyArrayObject* a, PyArrayObject* b) {
  return PyArray_TYPE(a) == PyArray_TYPE(b) && is_walkable(a) && is_walkable(b);
}

}  // namespace gradwright::moving
