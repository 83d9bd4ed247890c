#include "indexing.hpp"

#include <algorithm>
#include <cstring>

#include "moving.hpp"
#include "picks.hpp"
#include "walking.hpp"

namespace gradwright {

namespace {

using namespace moving;
using detail::kMostDims;
using detail::Layout;

// -- reading by picks

Ref picked(PyArrayObject* self, const Index& index) {
  Picks picks;
  if (!is_walkable(self)) return declined(kOddElements);
  if (!picks.find(self, index)) return declined(kOddIndex);
  Ref out = new_like(self, picks.shape.ndim, picks.shape.sizes);
  if (!out) return out;
  const auto held = hold(self);
  if (!picks.lay(PyArray_STRIDES(as_ndarray(out))) || !run(Doing::kTake, picks, PyArray_BYTES(as_ndarray(out)), self)) {
    return declined(kOddElements);
  }
  return out;
}

// -- writing by picks

// The elements of `near`, which broadcast to what is picked, into `far`. `whole`: they have that shape.
bool write_picks(Doing doing, PyArrayObject* far, const Index& index, PyArrayObject* near, bool whole) {
  Picks picks;
  if (!same_type(near, far) || (doing == Doing::kAdd && !is_summable(far)) || !picks.find(far, index)) return false;
  npy_intp strides[kMostDims];
  const int added = picks.shape.ndim - PyArray_NDIM(near);
  if (added < 0 || (whole && added != 0)) return false;
  for (int d = 0; d < picks.shape.ndim; ++d) {
    const npy_intp size = d < added ? 1 : PyArray_DIM(near, d - added);
    if (size != picks.shape.sizes[d] && (whole || size != 1)) return false;
    strides[d] = size == 1 ? 0 : PyArray_STRIDE(near, d - added);
  }
  const auto held = hold(near, far);
  return picks.lay(strides) && run(doing, picks, PyArray_BYTES(near), far);
}

bool write_index(PyArrayObject* target, PyObject* indices, PyObject* values, PyObject* accumulate) {
  Index index;
  if (!PyBool_Check(accumulate) || !index.read(indices, target)) return false;
  return write_picks(accumulate == Py_True ? Doing::kAdd : Doing::kPut, target, index, array_of(values), false);
}

// A vector of indices along one dimension. False: they are something else.
bool read_vector(PyArrayObject* self, PyObject* dim, PyObject* index, Index* out, bool wraps = false) {
  const int place = PyArray_NDIM(self) == 0 ? -1 : detail::read_dim(dim, PyArray_NDIM(self));
  if (place < 0 || PyArray_NDIM(array_of(index)) != 1 || !is_index(array_of(index))) return false;
  *out = Index(array_of(index), place, wraps);
  return true;
}

bool write_slices(Doing doing, PyArrayObject* target, PyObject* dim, PyObject* index, PyObject* source) {
  Index along;
  return read_vector(target, dim, index, &along) && write_picks(doing, target, along, array_of(source), true);
}

bool fill_slices(PyArrayObject* target, PyObject* dim, PyObject* index, PyObject* value) {
  Index along;
  Picks picks;
  Number number;
  if (!read_vector(target, dim, index, &along, true) || !number.set(target, value)) return false;
  if (!picks.find(target, along)) return false;
  const npy_intp strides[kMostDims] = {};
  picks.lay(strides);
  const auto held = hold(target);
  return run(Doing::kPut, picks, number.bytes, target);
}

// Flat indices into a contiguous array, and as many elements.
bool write_flat(PyArrayObject* target, PyObject* index, PyObject* source, PyObject* accumulate) {
  PyArrayObject *places = array_of(index), *near = array_of(source);
  if (!PyBool_Check(accumulate) || PyArray_TYPE(places) != NPY_INT64 || !is_index(places) || !same_type(near, target)) {
    return false;
  }
  const bool adds = accumulate == Py_True;
  const npy_intp count = PyArray_SIZE(places), size = PyArray_SIZE(target);
  if (PyArray_SIZE(near) != count || !PyArray_IS_C_CONTIGUOUS(near) || (adds && !is_summable(target))) return false;
  Picks picks;
  if (!picks.offsets.resize(count)) return false;
  if (!find_places(places, Layout(places), size, PyArray_ITEMSIZE(target), true, picks.offsets.data())) return false;
  picks.step = PyArray_ITEMSIZE(near);
  const auto held = hold(near, target);
  return run(adds ? Doing::kAdd : Doing::kPut, picks, PyArray_BYTES(near), target);
}

// -- counting

template <class T>
Ref nonzero_places(PyArrayObject* array) {
  const int ndim = PyArray_NDIM(array);
  Dims<1> all;
  for (int d = 0; d < ndim; ++d) all.add(PyArray_DIM(array, d), PyArray_STRIDE(array, d));
  const Row<1> flat = take_row(all);
  npy_intp count = 0;
  walk<1>(all, 0, flat.size > 0 ? all.total() : 0, {PyArray_BYTES(array)}, [&](const Places<1>& at) {
    for (npy_intp i = 0; i < flat.size; ++i) count += *reinterpret_cast<const T*>(at[0] + i * flat.strides[0]) != T(0);
  });
  const npy_intp sizes[] = {ndim, count};
  Ref found = new_array(NPY_INT64, 2, sizes);
  if (!found) PyErr_Clear();
  if (!found || count == 0) return Ref();
  auto* out = static_cast<int64_t*>(PyArray_DATA(as_ndarray(found)));
  npy_intp at[kMostDims] = {};
  const npy_intp length = PyArray_DIM(array, ndim - 1), step = PyArray_STRIDE(array, ndim - 1);
  const npy_intp rows = PyArray_SIZE(array) / length;
  const char* from = PyArray_BYTES(array);
  for (npy_intp row = 0, done = 0; row < rows && done < count; ++row) {
    int64_t* last = out + (ndim - 1) * count;  // places in the last dimension
    npy_intp now = done;
    for (npy_intp i = 0; i < length && now < count; ++i) {
      last[now] = i;  // until the next one that is not zero
      now += *reinterpret_cast<const T*>(from + i * step) != T(0);
    }
    for (int d = 0; d < ndim - 1; ++d) std::fill(out + d * count + done, out + d * count + now, at[d]);
    done = now;
    for (int d = ndim - 2; d >= 0; --d) {
      from += PyArray_STRIDE(array, d);
      if (++at[d] < PyArray_DIM(array, d)) break;
      from -= at[d] * PyArray_STRIDE(array, d);
      at[d] = 0;
    }
  }
  return Ref(PyArray_Transpose(as_ndarray(found), nullptr));
}

}  // namespace

// -- the kernels

namespace kernels {

Ref index(PyObject* self, PyObject* indices) {
  Index given;
  return given.read(indices, array_of(self)) ? picked(array_of(self), given) : declined(kOddIndex);
}

Ref index_select(PyObject* self, PyObject* dim, PyObject* index) {
  Index along;
  return read_vector(array_of(self), dim, index, &along) ? picked(array_of(self), along) : declined(kOddIndex);
}

Ref embedding(PyObject* weight, PyObject* indices, PyObject*, PyObject*, PyObject* sparse) {
  if (sparse != Py_False || PyArray_NDIM(array_of(weight)) != 2) return declined(kOddArguments);
  if (!is_index(array_of(indices))) return declined(kOddIndex);
  return picked(array_of(weight), Index(array_of(indices), 0, false));
}

Ref take(PyObject* self, PyObject* index) {
  PyArrayObject *array = array_of(self), *places = array_of(index);
  if (!PyArray_IS_C_CONTIGUOUS(array) || PyArray_SIZE(array) == 0) return declined(kOddElements);
  if (!is_index(places) || PyArray_TYPE(places) != NPY_INT64) return declined(kOddIndex);
  const npy_intp size = PyArray_SIZE(array);
  Ref flat = detail::array_over(array, 1, &size, nullptr, PyArray_BYTES(array));
  return flat ? picked(as_ndarray(flat), Index(places, 0, true)) : Ref();
}

Ref masked_select(PyObject* self, PyObject* mask) {
  PyArrayObject *array = array_of(self), *marks = array_of(mask);
  Layout shape;
  if (!is_walkable(array)) return declined(kOddElements);
  if (PyArray_TYPE(marks) != NPY_BOOL || !is_mask(marks)) return declined(kOddIndex);
  if (!detail::broadcast(PyArray_DIMS(array), PyArray_NDIM(array), PyArray_DIMS(marks), PyArray_NDIM(marks), &shape)) {
    return declined(kOddArguments);
  }
  const auto stride = [&](PyArrayObject* of, int d) {
    const int own = d - (shape.ndim - PyArray_NDIM(of));
    return own < 0 || PyArray_DIM(of, own) == 1 ? npy_intp{0} : PyArray_STRIDE(of, own);
  };
  Dims<2> loops;
  for (int d = 0; d < shape.ndim; ++d) loops.add(shape.sizes[d], stride(marks, d), stride(array, d));
  Picks picks;
  if (!find_marked(loops, PyArray_BYTES(marks), PyArray_BYTES(array), picks.offsets)) return declined(kOddElements);
  Ref out = new_like(array, 1, &picks.offsets.size);
  if (!out) return out;
  picks.step = PyArray_ITEMSIZE(array);
  const auto held = hold(array);
  return run(Doing::kTake, picks, PyArray_BYTES(as_ndarray(out)), array) ? std::move(out) : declined(kOddElements);
}

Ref nonzero(PyObject* self) {
  PyArrayObject* array = array_of(self);
  if (PyArray_NDIM(array) == 0 || PyArray_SIZE(array) == 0 || !is_walkable(array)) return declined(kOddElements);
  switch (detail::type_of(array)) {
    case NPY_BOOL:
    case NPY_UINT8:
      return nonzero_places<uint8_t>(array);
    case NPY_INT32:
      return nonzero_places<int32_t>(array);
    case NPY_INT64:
      return nonzero_places<int64_t>(array);
    case NPY_FLOAT:
      return nonzero_places<float>(array);
    case NPY_DOUBLE:
      return nonzero_places<double>(array);
    default:
      return declined(kNoLoop);
  }
}

Ref index_put(PyObject* self, PyObject* indices, PyObject* values, PyObject* accumulate) {
  return write_copy(self, [&](PyArrayObject* out) { return write_index(out, indices, values, accumulate); });
}
Ref index_add(PyObject* self, PyObject* dim, PyObject* index, PyObject* source, PyObject* alpha) {
  if (!is_one(alpha)) return declined(kAlpha);
  return write_copy(self, [&](PyArrayObject* out) { return write_slices(Doing::kAdd, out, dim, index, source); });
}
Ref index_copy(PyObject* self, PyObject* dim, PyObject* index, PyObject* source) {
  return write_copy(self, [&](PyArrayObject* out) { return write_slices(Doing::kPut, out, dim, index, source); });
}
Ref index_fill(PyObject* self, PyObject* dim, PyObject* index, PyObject* value) {
  return write_copy(self, [&](PyArrayObject* out) { return fill_slices(out, dim, index, value); });
}
Ref put(PyObject* self, PyObject* index, PyObject* source, PyObject* accumulate) {
  return write_copy(self, [&](PyArrayObject* out) { return write_flat(out, index, source, accumulate); });
}

Ref embedding_dense_backward(PyObject* grad_output, PyObject* indices, PyObject* num_weights, PyObject* padding_idx,
                             PyObject* scale_grad_by_freq) {
  PyArrayObject *grad = array_of(grad_output), *places = array_of(indices);
  npy_intp rows, padding;
  if (scale_grad_by_freq != Py_False || !detail::read_int(num_weights, &rows) || rows < 0 ||
      !detail::read_int(padding_idx, &padding) || PyArray_NDIM(grad) == 0) {
    return declined(kOddArguments);
  }
  if (!is_summable(grad) || !is_index(places)) return declined(kNoLoop);
  const npy_intp sizes[] = {rows, PyArray_DIM(grad, PyArray_NDIM(grad) - 1)};
  Ref out = new_like(grad, 2, sizes);
  if (!out) return out;
  PyArrayObject* table = as_ndarray(out);
  std::memset(PyArray_DATA(table), 0, static_cast<size_t>(PyArray_NBYTES(table)));
  if (!write_picks(Doing::kAdd, table, Index(places, 0, false), grad, true)) return declined(kOddIndex);
  if (padding >= 0 && padding < rows) {
    std::memset(PyArray_GETPTR1(table, padding), 0, static_cast<size_t>(PyArray_STRIDE(table, 0)));
  }
  return out;
}

}  // namespace kernels

namespace writers {

bool index_put(PyObject* self, PyObject* indices, PyObject* values, PyObject* accumulate) {
  return write_here(
      self, [&](PyArrayObject* out) { return write_index(out, indices, values, accumulate); }, array_of(values));
}
bool index_add(PyObject* self, PyObject* dim, PyObject* index, PyObject* source, PyObject* alpha) {
  if (!kernels::is_one(alpha)) return false;
  return write_here(
      self, [&](PyArrayObject* out) { return write_slices(Doing::kAdd, out, dim, index, source); }, array_of(source));
}
bool index_copy(PyObject* self, PyObject* dim, PyObject* index, PyObject* source) {
  return write_here(
      self, [&](PyArrayObject* out) { return write_slices(Doing::kPut, out, dim, index, source); }, array_of(source));
}
bool index_fill(PyObject* self, PyObject* dim, PyObject* index, PyObject* value) {
  return write_here(self, [&](PyArrayObject* out) { return fill_slices(out, dim, index, value); });
}
bool put(PyObject* self, PyObject* index, PyObject* source, PyObject* accumulate) {
  return write_here(
      self, [&](PyArrayObject* out) { return write_flat(out, index, source, accumulate); }, array_of(source));
}

}  // namespace writers

namespace composites {

// The values are looked at, and rows of zeros written at once.
Ref one_hot(PyObject* self, PyObject* num_classes) {
  PyArrayObject* places = array_of(self);
  npy_intp classes;
  if (detail::type_of(places) != NPY_INT64 || !is_index(places) || PyArray_SIZE(places) == 0) return Ref();
  if (!detail::read_int(num_classes, &classes) || PyArray_NDIM(places) + 1 >= kMostDims) return Ref();
  Dims<1> loops;
  for (int d = 0; d < PyArray_NDIM(places); ++d) loops.add(PyArray_DIM(places, d), PyArray_STRIDE(places, d));
  const Row<1> row = take_row(loops);
  const auto each = [&](auto body) {
    walk<1>(loops, 0, loops.total(), {PyArray_BYTES(places)}, [&](const Places<1>& at) {
      for (npy_intp i = 0; i < row.size; ++i) body(*reinterpret_cast<const int64_t*>(at[0] + i * row.strides[0]));
    });
  };
  int64_t least = 0, most = 0;
  each([&](int64_t value) {
    least = std::min(least, value);
    most = std::max(most, value);
  });
  if (least < 0 || most == NPY_MAX_INT64) return Ref();
  if (classes == -1) classes = most + 1;
  if (most >= classes) return Ref();
  Layout shape(places);
  shape.add(classes, 0);
  Ref out = new_like(places, shape.ndim, shape.sizes);
  if (!out) return out;
  auto* ones = static_cast<int64_t*>(PyArray_DATA(as_ndarray(out)));
  std::memset(ones, 0, static_cast<size_t>(PyArray_NBYTES(as_ndarray(out))));
  each([&](int64_t value) {
    ones[value] = 1;
    ones += classes;
  });
  return new_tensor(std::move(out));
}

}  // namespace composites

}  // namespace gradwright
