// What kernels share that go through contiguous arrays of float32 or float64 row by row, and read each row while it is in the
// cache.

#pragma once

#include <initializer_list>
#include <memory>

#include "copies.hpp"
#include "core.hpp"
#include "kernels.hpp"
#include "loops.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace gradwright::contiguous {

// Elements that are worked on at once: they stay in the first cache, with what is computed of them.
inline constexpr npy_intp kTogether = 2048;
// An exponential is worth some sums.
inline constexpr npy_intp kRowGrain = kGrain / 8;

// Memory for intermediate values, which most often are few.
template <class T>
class Scratch {
 public:
  explicit Scratch(npy_intp size) : more_(size > kTogether ? new T[static_cast<size_t>(size)] : nullptr) {}
  T* data() { return more_ ? more_.get() : few_; }

 private:
  std::unique_ptr<T[]> more_;
  T few_[kTogether];
};

// exp of dense elements, by the loop of the operator; in place, too.
template <class T>
void exponentials_of(const T* in, T* out, npy_intp size) {
  static const Loop* const loop = loop_of<kernels::exp>(kTypeNumber<T>);
  char* args[] = {reinterpret_cast<char*>(const_cast<T*>(in)), reinterpret_cast<char*>(out)};
  const npy_intp steps[] = {sizeof(T), sizeof(T)};
  loop->function(args, &size, steps, loop->data);
}

inline Ref new_array(int ndim, const npy_intp* sizes, Kind kind) {
  return gradwright::new_array(kind == Kind::kFloat32 ? NPY_FLOAT : NPY_DOUBLE, ndim, sizes);
}
inline Ref new_like(PyArrayObject* array, Kind kind) { return new_array(PyArray_NDIM(array), PyArray_DIMS(array), kind); }

// An array that can be gone through from its beginning: itself, or a copy. Null without an exception: other element types.
inline Ref usable(PyObject* tensor, Kind kind) {
  PyArrayObject* array = array_of(tensor);
  if (kind_of(array) != kind) return Ref();
  if (is_dense(array)) return Ref::borrow(reinterpret_cast<PyObject*>(array));
  return contiguous_copy(array);
}

// work(T()) for the element type, without the GIL where there is much to do. False where memory is short.
template <class Work>
bool run_for(Kind kind, npy_intp size, Work work) {
  Ufunc::find_once();
  return run_long(size > kRowGrain, [&] { for_kind(kind, work); });
}

// References to the arrays of some Tensors; of those that are None, to None.
struct Held {
  Ref arrays[5];
  Held(std::initializer_list<PyObject*> tensors) {
    int next = 0;
    for (PyObject* tensor : tensors) {
      arrays[next++] = Ref::borrow(tensor == Py_None ? tensor : as_tensor(tensor)->array);
    }
  }
  const Ref& operator[](int index) const { return arrays[index]; }
};

template <class T>
T* data_or_null(const Ref& array) {
  return array.get() == Py_None ? nullptr : elements<T>(as_ndarray(array));
}

}  // namespace gradwright::contiguous
