// Operators that are made of others. Each function does what the Python one of its name in runtime/operators/composite does, with
// the same parameters, and declines (null, no exception) where that is unusual. Whatever it fails with is forgotten: the
// Python function is called in its place, and says what is wrong.
//
// The operators they are made of are looked up by name when they are first needed, so that YAML without one of them
// still gives a core; a function that misses one declines.

#pragma once

#include <initializer_list>

#include "core.hpp"
#include "intrinsics.hpp"
#include "registry.hpp"
#include "views.hpp"

namespace gradwright {

// An operator by the name of its function in generated.operators.
class Operator {
 public:
  explicit constexpr Operator(const char* name) : name_(name) {}
  // Parameters at the end may be left to their defaults.
  template <class... Args>
  Ref operator()(Args... args) {
    if (!known_) find();
    constexpr int given = sizeof...(args), most = 16;
    PyObject* values[most];
    int next = 0;
    ((values[next++] = args), ...);
    if (function_ != nullptr) {
      if (given > function_->count || function_->count > most) return Ref();
      for (int i = given; i < function_->count; ++i) {
        values[i] = function_->defaults[i];
        if (values[i] == nullptr) return Ref();
      }
      return Ref(function_->ordered(values));
    }
    return callable_ == nullptr ? Ref() : call(callable_, values, given);
  }

 private:
  GRADWRIGHT_SHARED void find();
  const char* name_;
  bool known_ = false;
  const Function* function_ = nullptr;
  PyObject* callable_ = nullptr;  // the Python function, where there is no entry
};

// Operators as hand-written code calls them.
namespace late {

inline Operator addmm{"addmm_default"};
inline Operator alias{"alias_default"};
inline Operator bmm{"bmm_default"};
inline Operator dot{"dot_default"};
inline Operator expand{"expand_default"};
inline Operator gather{"gather_default"};
inline Operator index{"index_Tensor"};
inline Operator index_put_{"index_put__default"};
inline Operator log_softmax{"_log_softmax_default"};
inline Operator mm{"mm_default"};
inline Operator mul{"mul_Tensor"};
inline Operator mv{"mv_default"};
inline Operator nll_loss{"nll_loss_default"};
inline Operator permute{"permute_default"};
inline Operator reshape_copy{"_reshape_copy_default"};
inline Operator select{"select_int"};
inline Operator slice{"slice_Tensor"};
inline Operator split{"split_Tensor"};
inline Operator squeeze{"squeeze_dim"};
inline Operator t{"t_default"};
inline Operator transpose{"transpose_int"};
inline Operator unsafe_view{"_unsafe_view_default"};
inline Operator unsqueeze{"unsqueeze_default"};
inline Operator view{"view_default"};

}  // namespace late

namespace detail {

inline int ndim_of(PyObject* tensor) { return PyArray_NDIM(array_of(tensor)); }
inline npy_intp* sizes_at(PyObject* tensor) { return PyArray_DIMS(array_of(tensor)); }

// A tuple of sizes.
inline Ref ints(const npy_intp* sizes, int count) { return tuple_of(sizes, count); }
inline Ref ints(std::initializer_list<npy_intp> sizes) { return ints(sizes.begin(), static_cast<int>(sizes.size())); }

// A list of ints as a tuple; null, without an exception, for anything else.
inline Ref int_list(PyObject* value) {
  if (PyTuple_CheckExact(value)) return Ref::borrow(value);
  if (!PyList_CheckExact(value) && !PyTuple_Check(value)) return Ref();
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
  Ref made(PyTuple_New(count));
  for (Py_ssize_t i = 0; made && i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(value, i);
    if (!PyLong_CheckExact(item)) return Ref();
    PyTuple_SET_ITEM(made.get(), i, Py_NewRef(item));
  }
  return made;
}

}  // namespace detail

namespace composites {

// -- sizes

inline Ref reshape(PyObject* self, PyObject* shape) {
  PyArrayObject* array = array_of(self);
  Ref sizes = detail::int_list(shape);
  if (!sizes) return sizes;
  if (!PyArray_IS_C_CONTIGUOUS(array) && PyArray_SIZE(array) != 0) {
    if (!detail::fits_layout(array)) return Ref();
    detail::Layout layout;
    layout.ndim = detail::read_ints(sizes.get(), layout.sizes);
    if (layout.ndim < 0) return Ref();
    if (!detail::infer_size(layout.sizes, layout.ndim, PyArray_SIZE(array))) return Ref();
    if (!detail::infer_strides(array, &layout)) {
      Ref inferred = detail::ints(layout.sizes, layout.ndim);
      return inferred ? late::reshape_copy(self, inferred.get()) : Ref();
    }
  }
  return late::view(self, sizes.get());
}
GRADWRIGHT_KERNEL(reshape, 2, composite, by_sizes)

inline Ref contiguous(PyObject* self, PyObject* memory_format) {
  if (memory_format != Py_None) return Ref();
  if (PyArray_IS_C_CONTIGUOUS(array_of(self))) return Ref::borrow(self);
  Ref sizes = sizes_of(self);
  return sizes ? late::reshape_copy(self, sizes.get()) : Ref();
}
GRADWRIGHT_KERNEL(contiguous, 2, composite, by_sizes)

inline Ref flatten_using_ints(PyObject* self, PyObject* start_dim, PyObject* end_dim) {
  const int ndim = detail::ndim_of(self);
  if (ndim == 0 || ndim >= detail::kMostDims) return Ref();
  const int start = detail::read_dim(start_dim, ndim), end = detail::read_dim(end_dim, ndim);
  if (start < 0 || end < 0 || start > end) return Ref();
  if (start == end) return Ref::borrow(self);
  const npy_intp* sizes = detail::sizes_at(self);
  npy_intp flat[detail::kMostDims];
  int count = 0;
  for (int i = 0; i < start; ++i) flat[count++] = sizes[i];
  flat[count++] = detail::product(sizes + start, end + 1 - start);
  for (int i = end + 1; i < ndim; ++i) flat[count++] = sizes[i];
  Ref shape = detail::ints(flat, count);
  return shape ? reshape(self, shape.get()) : Ref();
}
GRADWRIGHT_KERNEL(flatten_using_ints, 3, composite, by_sizes)

inline Ref unflatten_int(PyObject* self, PyObject* dim, PyObject* sizes) {
  const int ndim = detail::ndim_of(self);
  npy_intp parts[detail::kMostDims], whole[2 * detail::kMostDims];
  Ref given = detail::int_list(sizes);
  const int count = given ? detail::read_ints(given.get(), parts) : -1;
  const int place = detail::read_dim(dim, ndim);
  if (count <= 0 || place < 0 || ndim == 0 || ndim >= detail::kMostDims) return Ref();
  const npy_intp* old = detail::sizes_at(self);
  if (!detail::infer_size(parts, count, old[place])) return Ref();
  std::copy_n(old, place, whole);
  std::copy_n(parts, count, whole + place);
  std::copy(old + place + 1, old + ndim, whole + place + count);
  Ref shape = detail::ints(whole, ndim - 1 + count);
  return shape ? late::view(self, shape.get()) : Ref();
}
GRADWRIGHT_KERNEL(unflatten_int, 3, composite, by_sizes)

// -- the order of dimensions

// -- parts

inline Ref movedim_int(PyObject* self, PyObject* source, PyObject* destination) {
  const int ndim = detail::ndim_of(self);
  if (ndim == 0 || ndim >= detail::kMostDims) return Ref();
  const int from = detail::read_dim(source, ndim), to = detail::read_dim(destination, ndim);
  if (from < 0 || to < 0) return Ref();
  npy_intp order[detail::kMostDims];
  int next = 0;
  for (int i = 0; i < ndim; ++i) {
    if (next == from) ++next;
    order[i] = i == to ? from : next++;
  }
  Ref dims = detail::ints(order, ndim);
  return dims ? late::permute(self, dims.get()) : Ref();
}
GRADWRIGHT_KERNEL(movedim_int, 3, composite, by_sizes)
inline Ref narrow(PyObject* self, PyObject* dim, PyObject* start, PyObject* length) {
  const int ndim = detail::ndim_of(self), place = detail::read_dim(dim, ndim);
  npy_intp first, count;
  if (ndim == 0 || place < 0 || !detail::read_int(start, &first) || !detail::read_int(length, &count)) return Ref();
  const npy_intp size = detail::sizes_at(self)[place];
  if (count < 0 || first < -size || first > size) return Ref();
  if (first < 0) first += size;
  if (first + count > size) return Ref();
  Ref along = integer(place), from = integer(first), to = integer(first + count), step = integer(1);
  return late::slice(self, along.get(), from.get(), to.get(), step.get());
}
GRADWRIGHT_KERNEL(narrow, 4, composite, by_sizes)

inline Ref chunk(PyObject* self, PyObject* chunks, PyObject* dim) {
  const int ndim = detail::ndim_of(self), place = detail::read_dim(dim, ndim);
  npy_intp count;
  if (ndim == 0 || place < 0 || !detail::read_int(chunks, &count) || count <= 0) return Ref();
  const npy_intp size = detail::sizes_at(self)[place];
  if (size == 0) return Ref();
  Ref length = integer((size - 1) / count + 1);
  return late::split(self, length.get(), dim);
}
GRADWRIGHT_KERNEL(chunk, 3, composite, by_sizes)

// -- products

namespace products {

// Matrices in all but the last two dimensions, which broadcast.
inline Ref batched(PyObject* left, PyObject* right) {
  const int left_ndim = detail::ndim_of(left), right_ndim = detail::ndim_of(right);
  const npy_intp *left_sizes = detail::sizes_at(left), *right_sizes = detail::sizes_at(right);
  detail::Layout batch;
  if (left_ndim >= detail::kMostDims - 2 || right_ndim >= detail::kMostDims - 2) return Ref();
  if (!detail::broadcast(left_sizes, left_ndim - 2, right_sizes, right_ndim - 2, &batch)) return Ref();
  if (left_ndim == 3 && right_ndim == 3 && left_sizes[0] == right_sizes[0]) return late::bmm(left, right);
  const npy_intp count = detail::product(batch.sizes, batch.ndim);
  // One operand, expanded to the whole batch, as a Tensor of matrices.
  const auto matrices = [&](PyObject* tensor) {
    const npy_intp* last = detail::sizes_at(tensor) + detail::ndim_of(tensor) - 2;
    std::copy_n(last, 2, batch.sizes + batch.ndim);
    Ref sizes = detail::ints(batch.sizes, batch.ndim + 2), flat = detail::ints({count, last[0], last[1]});
    Ref whole = sizes && flat ? late::expand(tensor, sizes.get()) : Ref();
    return whole ? reshape(whole.get(), flat.get()) : Ref();
  };
  Ref first = matrices(left);
  Ref second = first ? matrices(right) : Ref();
  Ref result = second ? late::bmm(first.get(), second.get()) : Ref();
  if (!result) return result;
  batch.sizes[batch.ndim] = left_sizes[left_ndim - 2];
  batch.sizes[batch.ndim + 1] = right_sizes[right_ndim - 1];
  Ref sizes = detail::ints(batch.sizes, batch.ndim + 2);
  return sizes ? late::unsafe_view(result.get(), sizes.get()) : Ref();
}

}  // namespace products

inline Ref matmul(PyObject* self, PyObject* other) {
  const int left = detail::ndim_of(self), right = detail::ndim_of(other);
  if (left == 2 && right == 2) return late::mm(self, other);
  if (left == 0 || right == 0 || left >= detail::kMostDims) return Ref();
  if (left == 1 && right == 1) return late::dot(self, other);
  if (left == 2 && right == 1) return late::mv(self, other);
  Ref zero = integer(0);
  if (left == 1 && right == 2) {
    Ref row = late::unsqueeze(self, zero.get());
    Ref result = row ? late::mm(row.get(), other) : Ref();
    return result ? late::squeeze(result.get(), zero.get()) : Ref();
  }
  if (right <= 2) {  // all rows of all matrices times one matrix
    npy_intp sizes[detail::kMostDims];
    std::copy_n(detail::sizes_at(self), left, sizes);
    const npy_intp count = detail::product(sizes, left - 1);
    Ref flat = detail::ints({sizes[left - 1] != 0 && count != 0 ? -1 : count, sizes[left - 1]});
    Ref rows = flat ? reshape(self, flat.get()) : Ref();
    if (!rows) return rows;
    Ref result = right == 2 ? late::mm(rows.get(), other) : late::mv(rows.get(), other);
    if (!result) return result;
    if (right == 2) sizes[left - 1] = detail::sizes_at(other)[1];
    Ref shape = detail::ints(sizes, left - 2 + right);
    return shape ? late::unsafe_view(result.get(), shape.get()) : Ref();
  }
  if (left > 1) return products::batched(self, other);
  Ref row = late::unsqueeze(self, zero.get()), last_but_one = integer(-2);
  Ref result = row ? products::batched(row.get(), other) : Ref();
  return result ? late::squeeze(result.get(), last_but_one.get()) : Ref();
}
GRADWRIGHT_KERNEL(matmul, 2, composite, by_sizes)

inline Ref linear(PyObject* input, PyObject* weight, PyObject* bias) {
  const int ndim = detail::ndim_of(input);
  if (bias != Py_None && (detail::ndim_of(weight) != 2 || detail::ndim_of(bias) != 1 || ndim < 2)) return Ref();
  if (bias == Py_None || ndim == 2) {
    Ref columns = late::t(weight);
    if (!columns) return columns;
    return bias == Py_None ? matmul(input, columns.get()) : late::addmm(bias, input, columns.get());
  }
  if (ndim >= detail::kMostDims) return Ref();
  npy_intp sizes[detail::kMostDims];
  std::copy_n(detail::sizes_at(input), ndim, sizes);
  Ref flat = detail::ints({detail::product(sizes, ndim - 1), sizes[ndim - 1]});
  Ref rows = flat ? reshape(input, flat.get()) : Ref();
  Ref columns = rows ? late::t(weight) : Ref();
  Ref result = columns ? late::addmm(bias, rows.get(), columns.get()) : Ref();
  if (!result) return result;
  sizes[ndim - 1] = detail::sizes_at(weight)[0];
  Ref shape = detail::ints(sizes, ndim);
  return shape ? late::view(result.get(), shape.get()) : Ref();
}
GRADWRIGHT_KERNEL(linear, 3, composite, by_sizes)

inline Ref outer(PyObject* self, PyObject* vec2) {
  if (detail::ndim_of(self) != 1 || detail::ndim_of(vec2) != 1) return Ref();
  Ref one = integer(1);
  Ref column = late::unsqueeze(self, one.get());
  return column ? late::mul(column.get(), vec2) : Ref();
}
GRADWRIGHT_KERNEL(outer, 2, composite, by_sizes)

// -- others

// Nothing happens outside of training; inside, Python draws the random numbers.
inline Ref dropout(PyObject* input, PyObject* p, PyObject* train) {
  if (train != Py_False || !PyFloat_CheckExact(p)) return Ref();
  const double probability = PyFloat_AS_DOUBLE(p);
  return probability >= 0 && probability <= 1 ? Ref::borrow(input) : Ref();
}
GRADWRIGHT_KERNEL(dropout, 3, composite, draws)

// -- losses

inline Ref nll_loss_nd(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction,
                       PyObject* ignore_index) {
  const int ndim = detail::ndim_of(self);
  if (ndim < 1 || ndim > 2) return Ref();
  if (ndim == 2 && (detail::ndim_of(target) < 1 || detail::sizes_at(self)[0] != detail::sizes_at(target)[0])) {
    return Ref();
  }
  return late::nll_loss(self, target, weight, reduction, ignore_index);
}
GRADWRIGHT_KERNEL(nll_loss_nd, 5, composite, by_sizes)

inline Ref cross_entropy_loss(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction,
                              PyObject* ignore_index, PyObject* label_smoothing) {
  if (!PyFloat_CheckExact(label_smoothing) || PyFloat_AS_DOUBLE(label_smoothing) != 0) return Ref();
  const int ndim = detail::ndim_of(self);
  // A target of the same shape holds probabilities.
  if (ndim == detail::ndim_of(target)) return Ref();
  Ref class_dim = integer(ndim == 1 ? 0 : 1);
  Ref scores = late::log_softmax(self, class_dim.get(), Py_False);
  return scores ? nll_loss_nd(scores.get(), target, weight, reduction, ignore_index) : Ref();
}
GRADWRIGHT_KERNEL(cross_entropy_loss, 6, composite, by_sizes)

}  // namespace composites

}  // namespace gradwright
