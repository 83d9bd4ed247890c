// Elements in another type.

#pragma once

#include "core.hpp"

namespace gradwright {

// float16 or bfloat16, which NumPy knows as a type of somebody else.
bool is_half(PyArray_Descr* dtype);

// The elements in another type, each as NumPy converts it, or ml_dtypes, in a new array that lies in the order of the strides
// of `array`. Null, without an exception, where there is no loop for these types: there is one between float32 and those of
// half precision, and between the usual types of integers, bool, float32 and float64.
Ref converted(PyArrayObject* array, PyArray_Descr* dtype);

namespace kernels {

GRADWRIGHT_KERNEL(to_copy, 2, tensors)

}  // namespace kernels

}  // namespace gradwright
