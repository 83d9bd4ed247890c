// Views: other shapes and strides over the same memory. Each kernel does what the Python one of its name in
// runtime/operators/kernels/shape.py does, and declines (null, no exception) whatever is unusual or wrong: Python says what.

#pragma once

#include <algorithm>

#include "core.hpp"

namespace gradwright {

namespace detail {

// More dimensions than this are left to Python.
constexpr int kMostDims = 16;

// Sizes and strides, in bytes, of a view that is about to be made.
struct Layout {
  int ndim = 0;
  npy_intp sizes[kMostDims];
  npy_intp strides[kMostDims];

  Layout() = default;
  // Those of an array, which has at most kMostDims dimensions.
  explicit Layout(PyArrayObject* array) : ndim(PyArray_NDIM(array)) {
    std::copy_n(PyArray_DIMS(array), ndim, sizes);
    std::copy_n(PyArray_STRIDES(array), ndim, strides);
  }
  void add(npy_intp size, npy_intp stride) {
    sizes[ndim] = size;
    strides[ndim++] = stride;
  }
  void insert(int place, npy_intp size, npy_intp stride) {
    std::copy_backward(sizes + place, sizes + ndim, sizes + ndim + 1);
    std::copy_backward(strides + place, strides + ndim, strides + ndim + 1);
    sizes[place] = size;
    strides[place] = stride;
    ++ndim;
  }
  void remove(int place) {
    std::copy(sizes + place + 1, sizes + ndim, sizes + place);
    std::copy(strides + place + 1, strides + ndim, strides + place);
    --ndim;
  }
};

inline bool fits_layout(PyArrayObject* array) { return PyArray_NDIM(array) < kMostDims; }

// An array over memory of `array`, from `data` on; `strides` null: contiguous.
inline Ref array_over(PyArrayObject* array, int ndim, const npy_intp* sizes, const npy_intp* strides, char* data) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  Py_INCREF(descr);
  Ref out(PyArray_NewFromDescr(&PyArray_Type, descr, ndim, const_cast<npy_intp*>(sizes), const_cast<npy_intp*>(strides),
                               data, PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, nullptr));
  PyObject* base = Py_NewRef(reinterpret_cast<PyObject*>(array));
  if (!out) {
    Py_DECREF(base);
  } else if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(out.get()), base) < 0) {
    out = Ref();
  }
  if (!out) PyErr_Clear();
  return out;
}
inline Ref array_over(PyArrayObject* array, const Layout& layout, npy_intp offset = 0) {
  return array_over(array, layout.ndim, layout.sizes, layout.strides, PyArray_BYTES(array) + offset);
}

// Exact ints alone: the Python kernel takes what else can be one.
inline bool read_int(PyObject* value, npy_intp* number) {
  if (!PyLong_CheckExact(value)) return false;
  int overflow;
  *number = PyLong_AsLongAndOverflow(value, &overflow);
  return overflow == 0;
}

// A dimension counted from the front; -1 for what is none. A 0-dim array takes 0 and -1.
inline int read_dim(PyObject* value, int ndim) {
  npy_intp dim;
  if (!read_int(value, &dim)) return -1;
  const npy_intp limit = std::max(ndim, 1);
  if (dim < -limit || dim >= limit) return -1;
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

// A tuple of ints; their number, -1 for anything else.
inline int read_ints(PyObject* values, npy_intp* numbers) {
  if (!PyTuple_CheckExact(values)) return -1;
  const Py_ssize_t count = PyTuple_GET_SIZE(values);
  if (count >= kMostDims) return -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!read_int(PyTuple_GET_ITEM(values, i), &numbers[i])) return -1;
  }
  return static_cast<int>(count);
}

// Dimensions counted from the front, none of them twice, as bits; false for anything else.
inline bool read_dims(PyObject* values, int ndim, unsigned* dims) {
  if (!PyTuple_CheckExact(values)) return false;
  *dims = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
    const int dim = read_dim(PyTuple_GET_ITEM(values, i), ndim);
    if (dim < 0 || (*dims & (1u << dim)) != 0) return false;
    *dims |= 1u << dim;
  }
  return true;
}

// Put what `numel` elements leave in the place of the one -1, if any. False: the sizes do not fit.
inline bool infer_size(npy_intp* sizes, int ndim, npy_intp numel) {
  int unknown = -1;
  npy_intp known = 1;
  for (int i = 0; i < ndim; ++i) {
    if (sizes[i] == -1) {
      if (unknown >= 0) return false;
      unknown = i;
    } else if (sizes[i] < 0 || __builtin_mul_overflow(known, sizes[i], &known)) {
      return false;
    }
  }
  if (unknown < 0) return known == numel;
  if (known == 0 || numel % known != 0) return false;
  sizes[unknown] = numel / known;
  return true;
}

// Fill in the strides with which `layout` shows the elements of `array`, of which there are some, in the same order.
// False: no strides do.
inline bool infer_strides(PyArrayObject* array, Layout* layout) {
  // Both shapes are taken apart into groups of dimensions with the same number of elements, which have to be contiguous
  // in themselves.
  Layout old;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_DIM(array, i) != 1) old.add(PyArray_DIM(array, i), PyArray_STRIDE(array, i));
  }
  int new_start = 0, old_start = 0;
  while (new_start < layout->ndim && old_start < old.ndim) {
    int new_end = new_start + 1, old_end = old_start + 1;
    npy_intp made = layout->sizes[new_start], given = old.sizes[old_start];
    while (made != given) {
      if (made < given) {
        made *= layout->sizes[new_end++];
      } else {
        given *= old.sizes[old_end++];
      }
    }
    for (int i = old_start; i + 1 < old_end; ++i) {
      if (old.strides[i] != old.sizes[i + 1] * old.strides[i + 1]) return false;
    }
    npy_intp stride = old.strides[old_end - 1];
    for (int i = new_end - 1; i >= new_start; --i) {
      layout->strides[i] = stride;
      stride *= layout->sizes[i];
    }
    new_start = new_end;
    old_start = old_end;
  }
  const npy_intp last = new_start > 0 ? layout->strides[new_start - 1] : PyArray_ITEMSIZE(array);
  for (int i = new_start; i < layout->ndim; ++i) layout->strides[i] = last;
  return true;
}

// Views of `count` parts along a dimension: `part(i, &start, &length)` says where they lie.
template <class Part>
Ref parts_of(PyArrayObject* array, int dim, Py_ssize_t count, Part part) {
  Ref views(PyTuple_New(count));
  if (!views) PyErr_Clear();
  Layout layout(array);
  const npy_intp stride = PyArray_STRIDE(array, dim);
  for (Py_ssize_t i = 0; views && i < count; ++i) {
    npy_intp start;
    part(i, &start, &layout.sizes[dim]);
    Ref view = array_over(array, layout, start * stride);
    if (!view) return view;
    PyTuple_SET_ITEM(views.get(), i, view.release());
  }
  return views;
}

// Sizes that two shapes broadcast to; false: they do not.
inline bool broadcast(const npy_intp* left, int left_count, const npy_intp* right, int right_count, Layout* out) {
  out->ndim = std::max(left_count, right_count);
  for (int i = 1; i <= out->ndim; ++i) {
    const npy_intp a = i <= left_count ? left[left_count - i] : 1;
    const npy_intp b = i <= right_count ? right[right_count - i] : 1;
    if (a != b && a != 1 && b != 1) return false;
    out->sizes[out->ndim - i] = a == 1 ? b : a;
  }
  return true;
}

inline npy_intp product(const npy_intp* sizes, int count) {
  npy_intp all = 1;
  for (int i = 0; i < count; ++i) all *= sizes[i];
  return all;
}

}  // namespace detail

namespace kernels {

inline Ref alias(PyObject* self) {
  PyArrayObject* array = array_of(self);
  return detail::array_over(array, PyArray_NDIM(array), PyArray_DIMS(array), PyArray_STRIDES(array),
                            PyArray_BYTES(array));
}
GRADWRIGHT_KERNEL(alias, 1, tensors)

inline Ref view(PyObject* self, PyObject* size) {
  PyArrayObject* array = array_of(self);
  if (!detail::fits_layout(array)) return Ref();
  detail::Layout layout;
  layout.ndim = detail::read_ints(size, layout.sizes);
  if (layout.ndim < 0 || !detail::infer_size(layout.sizes, layout.ndim, PyArray_SIZE(array))) return Ref();
  if (layout.ndim == PyArray_NDIM(array) &&
      std::equal(layout.sizes, layout.sizes + layout.ndim, PyArray_DIMS(array))) {
    return alias(self);
  }
  if (PyArray_IS_C_CONTIGUOUS(array)) {
    return detail::array_over(array, layout.ndim, layout.sizes, nullptr, PyArray_BYTES(array));
  }
  return detail::infer_strides(array, &layout) ? detail::array_over(array, layout) : Ref();
}
GRADWRIGHT_KERNEL(view, 2, tensors)

// -- the order of dimensions

inline Ref transpose(PyObject* self, PyObject* dim0, PyObject* dim1) {
  PyArrayObject* array = array_of(self);
  if (!detail::fits_layout(array)) return Ref();
  detail::Layout layout(array);
  const int first = detail::read_dim(dim0, layout.ndim), second = detail::read_dim(dim1, layout.ndim);
  if (first < 0 || second < 0) return Ref();
  if (layout.ndim > 0) {
    std::swap(layout.sizes[first], layout.sizes[second]);
    std::swap(layout.strides[first], layout.strides[second]);
  }
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(transpose, 3, tensors)

inline Ref t(PyObject* self) {
  PyArrayObject* array = array_of(self);
  if (PyArray_NDIM(array) > 2) return Ref();
  detail::Layout layout(array);
  if (layout.ndim == 2) {
    std::swap(layout.sizes[0], layout.sizes[1]);
    std::swap(layout.strides[0], layout.strides[1]);
  }
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(t, 1, tensors)

inline Ref permute(PyObject* self, PyObject* dims) {
  PyArrayObject* array = array_of(self);
  unsigned seen;
  if (!detail::fits_layout(array) || !detail::read_dims(dims, PyArray_NDIM(array), &seen)) return Ref();
  if (PyTuple_GET_SIZE(dims) != PyArray_NDIM(array)) return Ref();
  detail::Layout layout;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    const int dim = detail::read_dim(PyTuple_GET_ITEM(dims, i), PyArray_NDIM(array));
    layout.add(PyArray_DIM(array, dim), PyArray_STRIDE(array, dim));
  }
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(permute, 2, tensors)

// -- dimensions of size 1

inline Ref unsqueeze(PyObject* self, PyObject* dim) {
  PyArrayObject* array = array_of(self);
  if (!detail::fits_layout(array)) return Ref();
  detail::Layout layout(array);
  const int place = detail::read_dim(dim, layout.ndim + 1);
  if (place < 0) return Ref();
  const bool last = place == layout.ndim;
  layout.insert(place, 1, last ? PyArray_ITEMSIZE(array) : layout.sizes[place] * layout.strides[place]);
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(unsqueeze, 2, tensors)

inline Ref squeeze_all(PyObject* self) {
  PyArrayObject* array = array_of(self);
  if (!detail::fits_layout(array)) return Ref();
  detail::Layout layout;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_DIM(array, i) != 1) layout.add(PyArray_DIM(array, i), PyArray_STRIDE(array, i));
  }
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(squeeze_all, 1, tensors)

inline Ref squeeze_dim(PyObject* self, PyObject* dim) {
  PyArrayObject* array = array_of(self);
  if (!detail::fits_layout(array)) return Ref();
  detail::Layout layout(array);
  const int place = detail::read_dim(dim, layout.ndim);
  if (place < 0) return Ref();
  if (layout.ndim > 0 && layout.sizes[place] == 1) layout.remove(place);
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(squeeze_dim, 2, tensors)

inline Ref squeeze_dims(PyObject* self, PyObject* dim) {
  PyArrayObject* array = array_of(self);
  unsigned dims;
  if (!detail::fits_layout(array) || !detail::read_dims(dim, PyArray_NDIM(array), &dims)) return Ref();
  detail::Layout layout;
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if ((dims & (1u << i)) != 0 && PyArray_DIM(array, i) == 1) continue;
    layout.add(PyArray_DIM(array, i), PyArray_STRIDE(array, i));
  }
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(squeeze_dims, 2, tensors)

inline Ref expand(PyObject* self, PyObject* size, PyObject*) {
  PyArrayObject* array = array_of(self);
  detail::Layout layout;
  layout.ndim = detail::read_ints(size, layout.sizes);
  const int added = layout.ndim - PyArray_NDIM(array);
  if (layout.ndim < 0 || added < 0) return Ref();
  for (int i = 0; i < layout.ndim; ++i) {
    const npy_intp old = i < added ? 1 : PyArray_DIM(array, i - added);
    if (layout.sizes[i] == -1 && i >= added) layout.sizes[i] = old;
    if (layout.sizes[i] < 0 || (old != 1 && layout.sizes[i] != old)) return Ref();
    layout.strides[i] = i >= added && layout.sizes[i] == old ? PyArray_STRIDE(array, i - added) : 0;
  }
  // A new dimension of size 1 gets the stride it would have in a contiguous array.
  for (int i = added - 1; i >= 0; --i) {
    if (layout.sizes[i] != 1) continue;
    const bool last = i + 1 == layout.ndim;
    layout.strides[i] = last ? PyArray_ITEMSIZE(array) : layout.sizes[i + 1] * layout.strides[i + 1];
  }
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(expand, 3, tensors)

// -- parts

inline Ref select_int(PyObject* self, PyObject* dim, PyObject* index) {
  PyArrayObject* array = array_of(self);
  npy_intp place;
  if (!detail::fits_layout(array) || PyArray_NDIM(array) == 0 || !detail::read_int(index, &place)) return Ref();
  const int along = detail::read_dim(dim, PyArray_NDIM(array));
  if (along < 0) return Ref();
  const npy_intp size = PyArray_DIM(array, along);
  if (place < -size || place >= size) return Ref();
  detail::Layout layout(array);
  layout.remove(along);
  return detail::array_over(array, layout, (place < 0 ? place + size : place) * PyArray_STRIDE(array, along));
}
GRADWRIGHT_KERNEL(select_int, 3, tensors)

inline Ref slice_dim(PyObject* self, PyObject* dim, PyObject* start, PyObject* end, PyObject* step) {
  PyArrayObject* array = array_of(self);
  npy_intp first = 0, stop = NPY_MAX_INTP, stride;
  if (!detail::fits_layout(array) || PyArray_NDIM(array) == 0) return Ref();
  if (start != Py_None && !detail::read_int(start, &first)) return Ref();
  if (end != Py_None && !detail::read_int(end, &stop)) return Ref();
  if (!detail::read_int(step, &stride) || stride <= 0) return Ref();
  const int along = detail::read_dim(dim, PyArray_NDIM(array));
  if (along < 0) return Ref();
  npy_intp length = PySlice_AdjustIndices(PyArray_DIM(array, along), &first, &stop, stride);
  if (length == 0) {  // as NumPy has it
    first = 0;
    stride = 1;
  }
  detail::Layout layout(array);
  layout.sizes[along] = length;
  layout.strides[along] *= stride;
  return detail::array_over(array, layout, first * PyArray_STRIDE(array, along));
}
GRADWRIGHT_KERNEL(slice_dim, 5, tensors)

inline Ref diagonal(PyObject* self, PyObject* offset, PyObject* dim1, PyObject* dim2) {
  PyArrayObject* array = array_of(self);
  npy_intp shift;
  if (!detail::fits_layout(array) || !detail::read_int(offset, &shift)) return Ref();
  const int ndim = PyArray_NDIM(array);
  const int first = detail::read_dim(dim1, ndim), second = detail::read_dim(dim2, ndim);
  if (ndim < 2 || first < 0 || second < 0 || first == second) return Ref();
  const npy_intp rows = PyArray_DIM(array, first), columns = PyArray_DIM(array, second);
  if (shift > NPY_MAX_INTP / 2 || shift < -NPY_MAX_INTP / 2) return Ref();
  const npy_intp length = shift >= 0 ? std::min(rows, columns - shift) : std::min(rows + shift, columns);
  const npy_intp step = PyArray_STRIDE(array, first), across = PyArray_STRIDE(array, second);
  npy_intp place = 0;
  if (length >= 0) place = shift >= 0 ? shift * across : -shift * step;
  detail::Layout layout(array);
  layout.remove(std::max(first, second));
  layout.remove(std::min(first, second));
  layout.add(std::max<npy_intp>(length, 0), step + across);
  return detail::array_over(array, layout, place);
}
GRADWRIGHT_KERNEL(diagonal, 4, tensors)

inline Ref unfold(PyObject* self, PyObject* dimension, PyObject* size, PyObject* step) {
  PyArrayObject* array = array_of(self);
  npy_intp width, stride;
  if (!detail::fits_layout(array) || PyArray_NDIM(array) == 0) return Ref();
  if (!detail::read_int(size, &width) || !detail::read_int(step, &stride)) return Ref();
  const int along = detail::read_dim(dimension, PyArray_NDIM(array));
  if (along < 0 || stride <= 0 || width < 0 || width > PyArray_DIM(array, along)) return Ref();
  detail::Layout layout(array);
  layout.add(width, layout.strides[along]);
  layout.sizes[along] = (layout.sizes[along] - width) / stride + 1;
  layout.strides[along] *= stride;
  return detail::array_over(array, layout);
}
GRADWRIGHT_KERNEL(unfold, 4, tensors)

// -- several parts

inline Ref unbind(PyObject* self, PyObject* dim) {
  PyArrayObject* array = array_of(self);
  if (!detail::fits_layout(array) || PyArray_NDIM(array) == 0) return Ref();
  const int along = detail::read_dim(dim, PyArray_NDIM(array));
  if (along < 0) return Ref();
  const npy_intp count = PyArray_DIM(array, along), stride = PyArray_STRIDE(array, along);
  detail::Layout layout(array);
  layout.remove(along);
  Ref views(PyTuple_New(count));
  if (!views) PyErr_Clear();
  for (npy_intp i = 0; views && i < count; ++i) {
    Ref view = detail::array_over(array, layout, i * stride);
    if (!view) return view;
    PyTuple_SET_ITEM(views.get(), i, view.release());
  }
  return views;
}
GRADWRIGHT_KERNEL(unbind, 2, tensors)

inline Ref split(PyObject* self, PyObject* split_size, PyObject* dim) {
  PyArrayObject* array = array_of(self);
  npy_intp width;
  if (!detail::fits_layout(array) || PyArray_NDIM(array) == 0 || !detail::read_int(split_size, &width)) return Ref();
  const int along = detail::read_dim(dim, PyArray_NDIM(array));
  if (along < 0 || width <= 0) return Ref();
  const npy_intp length = PyArray_DIM(array, along);
  const npy_intp count = std::max<npy_intp>((length - 1) / width + 1, 1);
  return detail::parts_of(array, along, count, [=](Py_ssize_t i, npy_intp* start, npy_intp* size) {
    *start = i * width;
    *size = std::min(width, length - *start);
  });
}
GRADWRIGHT_KERNEL(split, 3, tensors)

inline Ref split_with_sizes(PyObject* self, PyObject* split_sizes, PyObject* dim) {
  PyArrayObject* array = array_of(self);
  npy_intp sizes[detail::kMostDims];
  const int count = detail::read_ints(split_sizes, sizes);
  if (!detail::fits_layout(array) || PyArray_NDIM(array) == 0 || count < 0) return Ref();
  const int along = detail::read_dim(dim, PyArray_NDIM(array));
  if (along < 0) return Ref();
  npy_intp total = 0;
  for (int i = 0; i < count; ++i) {
    if (sizes[i] < 0 || __builtin_add_overflow(total, sizes[i], &total)) return Ref();
  }
  if (total != PyArray_DIM(array, along)) return Ref();
  npy_intp next = 0;
  return detail::parts_of(array, along, count, [&](Py_ssize_t i, npy_intp* start, npy_intp* size) {
    *start = sizes[i] > 0 ? next : 0;  // NumPy lets an empty slice start at the beginning
    *size = sizes[i];
    next += sizes[i];
  });
}
GRADWRIGHT_KERNEL(split_with_sizes, 3, tensors)

}  // namespace kernels

}  // namespace gradwright
