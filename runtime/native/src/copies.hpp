// Copies of elements from one layout into another.
//
// Elements are moved as bytes, whatever they are, as long as they are 1, 2, 4, 8 or 16 and no Python objects.

#pragma once

#include "core.hpp"

namespace gradwright {

// Of elements that can be moved as bytes.
bool is_movable(PyArrayObject* array);

// Where the elements of an array lie; strides are in bytes.
struct Strided {
  char* data;
  const npy_intp* strides;
};
// Elements into other memory, for at most 16 dimensions. The caller holds both arrays: where there is much to do, it is
// done without the GIL, on several threads.
void copy_places(int ndim, const npy_intp* sizes, Strided from, Strided to, npy_intp item);
// All of an array into a part of another.
void copy_part(PyArrayObject* array, Strided to);

// All elements into an array of the same shape and element type, which is written for the first time. False: not copied,
// without an exception.
bool copy_array(PyArrayObject* from, PyArrayObject* to);

// A contiguous copy; declines as kernels do.
Ref contiguous_copy(PyArrayObject* array);
// The elements that are seen through `strides` from `data` on, in their order, as a contiguous array of any shape.
Ref contiguous_copy(PyArrayObject* array, char* data, const npy_intp* strides, int ndim, const npy_intp* sizes);

// Whether arrays can have bytes in common.
bool may_overlap(PyArrayObject* a, PyArrayObject* b);

}  // namespace gradwright
