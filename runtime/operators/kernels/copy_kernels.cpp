#include "copy_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "copies.hpp"
#include "intrinsics.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using detail::kMostDims;

// What is copied by roll: `shifts` lie between 0 and the sizes, which it changes.
struct Roll {
  int ndim;
  npy_intp sizes[kMostDims];
  const npy_intp *from, *to, *shifts;
  npy_intp item;

  // The dimensions from `dim` on.
  void run(int dim, char* source, char* target) {
    while (dim < ndim && shifts[dim] == 0) ++dim;
    if (dim == ndim) return copy_places(ndim, sizes, {source, from}, {target, to}, item);
    const npy_intp size = sizes[dim], shift = shifts[dim];
    sizes[dim] = size - shift;
    run(dim + 1, source, target + shift * to[dim]);
    sizes[dim] = shift;
    run(dim + 1, source + (size - shift) * from[dim], target);
    sizes[dim] = size;
  }
};

// A matrix of zeros, or several, with a part of each row copied: [0, row + shift), or what is left of that.
Ref triangle(PyObject* tensor, PyObject* diagonal, npy_intp more, bool lower) {
  PyArrayObject* array = array_of(tensor);
  const int ndim = PyArray_NDIM(array);
  npy_intp shift;
  if (ndim < 2 || !PyArray_IS_C_CONTIGUOUS(array) || !PyArray_ISNOTSWAPPED(array) || !is_movable(array)) return Ref();
  if (!detail::read_int(diagonal, &shift) || shift > NPY_MAX_INTP / 2 || shift < -NPY_MAX_INTP / 2) return Ref();
  Ref out = new_array_of(array, ndim, PyArray_DIMS(array));
  if (!out) return out;
  const npy_intp rows = PyArray_DIM(array, ndim - 2), columns = PyArray_DIM(array, ndim - 1), size = PyArray_SIZE(array);
  if (size == 0) return out;
  const npy_intp item = PyArray_ITEMSIZE(array), width = columns * item;
  const char* source = PyArray_BYTES(array);
  char* target = PyArray_BYTES(as_ndarray(out));
  const auto held = hold(array);
  const ReleaseGil without_gil(size > kGrain);
  parallel_for(size / columns, std::max<npy_intp>(1, kGrain / columns), [&](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; ++i) {
      const npy_intp cut = std::clamp<npy_intp>(i % rows + shift + more, 0, columns) * item;
      const npy_intp first = lower ? 0 : cut, last = lower ? cut : width;  // of the part that is kept
      std::memset(target + i * width, 0, static_cast<size_t>(first));
      std::memcpy(target + i * width + first, source + i * width + first, static_cast<size_t>(last - first));
      std::memset(target + i * width + last, 0, static_cast<size_t>(width - last));
    }
  });
  return out;
}

// The arrays of Tensors in a list or tuple, which others may change where this runs without the GIL.
class Arrays {
 public:
  explicit Arrays(PyObject* tensors) : list_(array_list(tensors)) {}
  explicit operator bool() const { return list_ && count() > 0; }
  Py_ssize_t count() const { return PyList_GET_SIZE(list_.get()); }
  PyArrayObject* operator[](Py_ssize_t i) const {
    return reinterpret_cast<PyArrayObject*>(PyList_GET_ITEM(list_.get(), i));
  }

 private:
  Ref list_;
};

// Whether an array has the strides of a new one: where a dimension has one element, the flags do not tell.
bool lies_in_order(PyArrayObject* array) {
  npy_intp step = PyArray_ITEMSIZE(array);
  for (int d = PyArray_NDIM(array) - 1; d >= 0; --d) {
    if (PyArray_STRIDE(array, d) != step) return false;
    step *= PyArray_DIM(array, d);
  }
  return true;
}

}  // namespace

namespace kernels {

Ref clone(PyObject* self) {
  PyArrayObject* array = array_of(self);
  if (!is_movable(array)) return Ref();
  Ref out = new_array_like(array);
  return out && copy_array(array, as_ndarray(out)) ? std::move(out) : Ref();
}

Ref reshape_copy(PyObject* self, PyObject* size) {
  PyArrayObject* array = array_of(self);
  npy_intp sizes[kMostDims];
  const int ndim = detail::read_ints(size, sizes);
  if (!is_movable(array) || ndim < 0 || !detail::infer_size(sizes, ndim, PyArray_SIZE(array))) return Ref();
  return contiguous_copy(array, PyArray_BYTES(array), PyArray_STRIDES(array), ndim, sizes);
}

Ref flip(PyObject* self, PyObject* dims) {
  PyArrayObject* array = array_of(self);
  unsigned flipped;
  if (!is_movable(array) || !detail::fits_layout(array)) return Ref();
  if (!detail::read_dims(dims, PyArray_NDIM(array), &flipped)) return Ref();
  const detail::Layout layout(array);
  npy_intp strides[kMostDims];
  char* data = PyArray_BYTES(array);
  for (int i = 0; i < layout.ndim; ++i) {
    const bool turned = (flipped & (1u << i)) != 0;
    strides[i] = turned ? -layout.strides[i] : layout.strides[i];
    if (turned && layout.sizes[i] > 0) data += (layout.sizes[i] - 1) * layout.strides[i];
  }
  return contiguous_copy(array, data, strides, layout.ndim, layout.sizes);
}

Ref roll(PyObject* self, PyObject* shifts, PyObject* dims) {
  PyArrayObject* array = array_of(self);
  const int ndim = PyArray_NDIM(array);
  npy_intp by[kMostDims], sums[kMostDims] = {};
  const int count = detail::read_ints(shifts, by);
  if (!is_movable(array) || count <= 0 || !PyTuple_CheckExact(dims)) return Ref();
  const bool flat = PyTuple_GET_SIZE(dims) == 0;  // as if it had one dimension
  if (flat ? count != 1 || !PyArray_IS_C_CONTIGUOUS(array) : count != PyTuple_GET_SIZE(dims) || ndim == 0) return Ref();
  const npy_intp item = PyArray_ITEMSIZE(array), total = PyArray_SIZE(array);
  const npy_intp* sizes = flat ? &total : PyArray_DIMS(array);
  for (int i = 0; i < count; ++i) {
    const int dim = flat ? 0 : detail::read_dim(PyTuple_GET_ITEM(dims, i), ndim);
    if (dim < 0) return Ref();
    if (sizes[dim] == 0) continue;
    sums[dim] = (sums[dim] + by[i] % sizes[dim] + sizes[dim]) % sizes[dim];
  }
  Ref out = new_array_like(array);
  if (!out) return out;
  Roll plan = {flat ? 1 : ndim, {}, flat ? &item : PyArray_STRIDES(array),
               flat ? &item : PyArray_STRIDES(as_ndarray(out)), sums, item};
  std::copy_n(sizes, plan.ndim, plan.sizes);
  const auto held = hold(array);
  plan.run(0, PyArray_BYTES(array), PyArray_BYTES(as_ndarray(out)));
  return out;
}

Ref tril(PyObject* self, PyObject* diagonal) { return triangle(self, diagonal, 1, true); }
Ref triu(PyObject* self, PyObject* diagonal) { return triangle(self, diagonal, 0, false); }

Ref cat(PyObject* tensors, PyObject* dim) {
  const Arrays arrays(tensors);
  if (!arrays) return Ref();
  PyArrayObject* first = arrays[0];
  const int ndim = PyArray_NDIM(first), place = ndim > 0 ? detail::read_dim(dim, ndim) : -1;
  if (place < 0 || !is_movable(first) || PyArray_ISBYTESWAPPED(first)) return Ref();
  npy_intp sizes[kMostDims];
  std::copy_n(PyArray_DIMS(first), ndim, sizes);
  sizes[place] = 0;
  for (Py_ssize_t i = 0; i < arrays.count(); ++i) {
    PyArrayObject* array = arrays[i];
    if (PyArray_DESCR(array) != PyArray_DESCR(first) || PyArray_NDIM(array) != ndim || !lies_in_order(array)) return Ref();
    for (int d = 0; d < ndim; ++d) {
      if (d != place && PyArray_DIM(array, d) != sizes[d]) return Ref();
    }
    sizes[place] += PyArray_DIM(array, place);
  }
  Ref out = new_array_of(first, ndim, sizes);
  if (!out) return out;
  char* to = PyArray_BYTES(as_ndarray(out));
  const npy_intp* strides = PyArray_STRIDES(as_ndarray(out));
  for (Py_ssize_t i = 0; i < arrays.count(); ++i) {
    PyArrayObject* array = arrays[i];
    copy_part(array, {to, strides});
    to += PyArray_DIM(array, place) * strides[place];
  }
  return out;
}

Ref stack(PyObject* tensors, PyObject* dim) {
  const Arrays arrays(tensors);
  if (!arrays) return Ref();
  PyArrayObject* first = arrays[0];
  if (PyArray_NDIM(first) >= kMostDims || !is_movable(first) || PyArray_ISBYTESWAPPED(first)) return Ref();
  const int ndim = PyArray_NDIM(first), place = detail::read_dim(dim, ndim + 1);
  if (place < 0) return Ref();
  for (Py_ssize_t i = 1; i < arrays.count(); ++i) {
    PyArrayObject* array = arrays[i];
    if (PyArray_DESCR(array) != PyArray_DESCR(first) || !detail::same_shape(array, first)) return Ref();
  }
  npy_intp sizes[kMostDims], strides[kMostDims];
  std::copy_n(PyArray_DIMS(first), place, sizes);
  sizes[place] = arrays.count();
  std::copy_n(PyArray_DIMS(first) + place, ndim - place, sizes + place + 1);
  Ref out = new_array_of(first, ndim + 1, sizes);
  if (!out) return out;
  const npy_intp* all = PyArray_STRIDES(as_ndarray(out));
  std::copy_n(all, place, strides);
  std::copy_n(all + place + 1, ndim - place, strides + place);
  for (Py_ssize_t i = 0; i < arrays.count(); ++i) {
    copy_part(arrays[i], {PyArray_BYTES(as_ndarray(out)) + i * all[place], strides});
  }
  return out;
}

}  // namespace kernels

}  // namespace gradwright
