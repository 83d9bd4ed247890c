// Memory of large results, kept for the next ones.
//
// To use fresh memory for the first time costs more than most element-wise work over it: the system has to map and to
// clear every page. So what a large array leaves behind is not given back at once. It waits, up to a bound, for the next
// array of about its size; what waited longest goes first. NumPy calls for memory and gives it back through a handler of
// its own kind (NEP 49), so that such an array may outlive the core, be resized, or change hands like any other.

#pragma once

#include "core.hpp"

namespace gradwright {

// A line of the cache.
constexpr npy_intp kLineBytes = 64;

// Arrays from so many bytes on get memory that was kept: where allocators begin to map memory for each array by itself.
constexpr npy_intp kLargeArray = npy_intp{1} << 17;

// A new array, not initialised; `dtype` is taken over. Without `strides` it lies in the order of C.
Ref new_array(PyArray_Descr* dtype, int ndim, const npy_intp* dims, const npy_intp* strides = nullptr);

// The same, of one of NumPy's numbers for element types.
inline Ref new_array(int type, int ndim, const npy_intp* dims, const npy_intp* strides = nullptr) {
  return new_array(PyArray_DescrFromType(type), ndim, dims, strides);
}
// The same, with the dtype of another.
inline Ref new_array_of(PyArrayObject* array, int ndim, const npy_intp* dims) {
  PyArray_Descr* dtype = PyArray_DESCR(array);
  Py_INCREF(dtype);
  return new_array(dtype, ndim, dims);
}

// The same for the result of a loop: memory that waits for it, if its form is the same.
Ref new_result(PyArray_Descr* dtype, int ndim, const npy_intp* dims, const npy_intp* strides = nullptr);

// While it lives, an array, or none, waits for the next result of a loop of this thread, which takes it if it has its form.
class Awaiting {
 public:
  explicit Awaiting(PyArrayObject* array);
  ~Awaiting();
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;
};

// One of the shape and element type of `array`, in the order of its strides: what NumPy's copies are.
Ref new_array_like(PyArrayObject* array);

// Once, before the first array; false with a Python exception.
bool ready_memory();

// Methods of the module: keep_memory(bytes), the bound from now on; kept_memory(), the bound and the bytes that wait.
PyObject* keep_memory(PyObject*, PyObject* bound);
PyObject* kept_memory(PyObject*, PyObject*);

}  // namespace gradwright
