// Two kinds of loops. Both walk over an array `near`, element by element, and find for each the element of an array `far`
// that an index names: it is read into `near`, or written or added up from it.
//
// Picks: one index, or several that broadcast, or a mask, name places of `far`. What is there along the other dimensions is
// a row of `near`. Along: every element of `near` has an index of its own, in one dimension.

#include "indexing.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "composites.hpp"
#include "copies.hpp"
#include "inplace.hpp"
#include "kernels.hpp"
#include "loops.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "views.hpp"
#include "walking.hpp"

namespace gradwright {

namespace {

using detail::kMostDims;
using detail::Layout;

constexpr char kOddIndex[] = "an index that is no plain int32, int64 or mask, or out of range";
constexpr char kOddElements[] = "elements that are not plain numbers in memory";
constexpr char kOddArguments[] = "arguments that the Python kernel looks at";

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
bool is_walkable(PyArrayObject* array) {
  return is_movable(array) && PyArray_ISBEHAVED_RO(array) && detail::fits_layout(array);
}
bool is_summable(PyArrayObject* array) {
  return is_walkable(array) && for_sums(array, []<class Move>() { return true; });
}
bool is_index(PyArrayObject* array) {
  const int type = PyArray_TYPE(array);
  return PyArray_ISBEHAVED_RO(array) && detail::fits_layout(array) &&
         (PyTypeNum_ISSIGNED(type) && (PyArray_ITEMSIZE(array) == 8 || PyArray_ITEMSIZE(array) == 4));
}
bool is_mask(PyArrayObject* array) {
  return (PyArray_TYPE(array) == NPY_BOOL || PyArray_TYPE(array) == NPY_UINT8) && detail::fits_layout(array);
}
// run.operator()<I>() for the type of an index.
template <class Run>
auto for_index(PyArrayObject* index, Run run) {
  return PyArray_ITEMSIZE(index) == 8 ? run.template operator()<int64_t>() : run.template operator()<int32_t>();
}

// -- the places that an index names

// Distances from the first byte of `far`.
class Offsets {
 public:
  // False: out of memory.
  bool resize(npy_intp size) {
    this->size = size;
    if (size <= kFew) return true;
    more_ = new_array(NPY_INTP, 1, &size);
    if (!more_) PyErr_Clear();
    return static_cast<bool>(more_);
  }
  npy_intp* data() {
    return more_ ? static_cast<npy_intp*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(more_.get()))) : few_;
  }
  npy_intp size = 0;

 private:
  static constexpr npy_intp kFew = 64;
  npy_intp few_[kFew];
  Ref more_;  // an array, for the sake of memory that is kept
};

// The places that an index names in a dimension of `size` elements, `step` bytes apart; with `adds` besides those that are
// there. `shape` is what the index is broadcast to. False: one is out of range; `wraps`: negative ones count from the end.
bool find_places(PyArrayObject* index, const Layout& shape, npy_intp size, npy_intp step, bool wraps, npy_intp* offsets,
                 bool adds = false) {
  Dims<1> loops;
  const int added = shape.ndim - PyArray_NDIM(index);
  for (int d = 0; d < shape.ndim; ++d) {
    const bool repeated = d < added || PyArray_DIM(index, d - added) == 1;
    loops.add(shape.sizes[d], repeated ? npy_intp{0} : PyArray_STRIDE(index, d - added));
  }
  const Row<1> row = take_row(loops);
  const npy_intp shift = wraps ? size : 0;
  return for_index(index, [&]<class I>() {
    bool wrong = false;
    walk<1>(loops, 0, row.size > 0 ? loops.total() : 0, {PyArray_BYTES(index)}, [&](const Places<1>& at) {
      for (npy_intp i = 0; i < row.size; ++i) {
        npy_intp place = *reinterpret_cast<const I*>(at[0] + i * row.strides[0]);
        place += place < 0 ? shift : 0;
        const bool inside = static_cast<size_t>(place) < static_cast<size_t>(size);
        wrong |= !inside;
        offsets[i] = (adds ? offsets[i] : 0) + (inside ? place * step : 0);
      }
      offsets += row.size;
    });
    return !wrong;
  });
}

// The places under a mask, in order; the loops go over the mask and over `far`. False: out of memory.
bool find_marked(Dims<2> loops, char* mask, char* far, Offsets& offsets) {
  const Row<2> row = take_row(loops);
  const npy_intp rows = row.size > 0 ? loops.total() : 0;
  npy_intp count = 0;
  walk<2>(loops, 0, rows, {mask, far}, [&](const Places<2>& at) {
    for (npy_intp i = 0; i < row.size; ++i) count += at[0][i * row.strides[0]] != 0;
  });
  if (!offsets.resize(count + 1)) return false;  // one more is written than counts
  npy_intp* out = offsets.data();
  walk<2>(loops, 0, rows, {mask, far}, [&](const Places<2>& at) {
    npy_intp offset = at[1] - far;
    for (npy_intp i = 0; i < row.size; ++i, offset += row.strides[1]) {
      *out = offset;
      out += at[0][i * row.strides[0]] != 0;
    }
  });
  offsets.size = count;
  return true;
}

// -- picks

// An index for some dimensions of an array.
struct Index {
  int count = 0;
  PyArrayObject* arrays[kMostDims];
  int dims[kMostDims];
  PyArrayObject* mask = nullptr;  // alone, for all dimensions from `dims[0]` on that it has
  bool wraps = true;              // negative numbers count from the end

  Index() = default;
  Index(PyArrayObject* index, int dim, bool wraps) : count(1), wraps(wraps) {
    arrays[0] = index;
    dims[0] = dim;
  }
  // None, index arrays and masks, as `index` takes them. False: they are unusual, or wrong.
  bool read(PyObject* indices, PyArrayObject* self) {
    if (!PyList_CheckExact(indices) && !PyTuple_CheckExact(indices)) return false;
    int dim = 0;
    const int ndim = PyArray_NDIM(self);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(indices); ++i) {
      PyObject* given = PySequence_Fast_GET_ITEM(indices, i);
      if (dim >= ndim) return false;
      if (given == Py_None) {
        ++dim;
        continue;
      }
      PyArrayObject* array = array_of(given);
      if (mask != nullptr) return false;
      dims[count] = dim;
      if (is_mask(array)) {
        const int width = PyArray_NDIM(array);
        if (count != 0 || width == 0 || dim + width > ndim) return false;
        if (!std::equal(PyArray_DIMS(array), PyArray_DIMS(array) + width, PyArray_DIMS(self) + dim)) return false;
        mask = array;
        dim += width;
      } else if (is_index(array)) {
        arrays[count++] = array;
        ++dim;
      } else {
        return false;
      }
    }
    return count > 0 || mask != nullptr;
  }
};

// What an index picks of an array: the shape, and where it lies.
struct Picks {
  Layout shape;           // of `near`, with the strides of `far`; the picked places have none
  int first = 0, end = 0;  // the dimensions of the picked places
  Offsets offsets;

  Dims<2> loops;  // around the places: over `near` and `far`
  Row<2> row;      // at each place
  npy_intp step = 0;  // of `near`, from one place to the next

  // False: an index is out of range, does not broadcast, or is too much.
  bool find(PyArrayObject* far, const Index& index) {
    Layout places;
    bool picked[kMostDims] = {};
    if (index.mask != nullptr) {
      Dims<2> over;
      for (int d = 0; d < PyArray_NDIM(index.mask); ++d) {
        const int dim = index.dims[0] + d;
        picked[dim] = true;
        over.add(PyArray_DIM(far, dim), PyArray_STRIDE(index.mask, d), PyArray_STRIDE(far, dim));
      }
      if (!find_marked(over, PyArray_BYTES(index.mask), PyArray_BYTES(far), offsets)) return false;
      places.add(offsets.size, 0);
    } else {
      for (int i = 0; i < index.count; ++i) {
        PyArrayObject* array = index.arrays[i];
        const Layout old = places;
        if (!detail::broadcast(old.sizes, old.ndim, PyArray_DIMS(array), PyArray_NDIM(array), &places)) return false;
        picked[index.dims[i]] = true;
      }
      if (!offsets.resize(detail::product(places.sizes, places.ndim))) return false;
      for (int i = 0; i < index.count; ++i) {
        const int dim = index.dims[i];
        if (!find_places(index.arrays[i], places, PyArray_DIM(far, dim), PyArray_STRIDE(far, dim), index.wraps,
                         offsets.data(), i > 0)) {
          return false;
        }
      }
    }
    // The places stand where the indices stand, or at the front where there are other dimensions between these.
    const int ndim = PyArray_NDIM(far);
    const int begin = static_cast<int>(std::find(picked, picked + ndim, true) - picked);
    const int after = static_cast<int>(std::find(picked + begin, picked + ndim, false) - picked);
    first = std::find(picked + after, picked + ndim, true) == picked + ndim ? begin : 0;
    end = first + places.ndim;
    if (ndim + places.ndim >= kMostDims) return false;
    for (int d = 0; d < ndim; ++d) {
      if (!picked[d]) shape.add(PyArray_DIM(far, d), PyArray_STRIDE(far, d));
    }
    for (int d = 0; d < places.ndim; ++d) shape.insert(first + d, places.sizes[d], 0);
    return true;
  }

  // Lay `near`, with the sizes of `shape`, beside it. False: the places are not a regular row of it.
  bool lay(const npy_intp* near) {
    Dims<2> inner;
    Dims<1> places;
    for (int d = 0; d < first; ++d) loops.add(shape.sizes[d], near[d], shape.strides[d]);
    for (int d = first; d < end; ++d) places.add(shape.sizes[d], near[d]);
    for (int d = end; d < shape.ndim; ++d) inner.add(shape.sizes[d], near[d], shape.strides[d]);
    if (places.ndim > 1) return false;
    if (places.ndim == 1) step = places.strides[0][0];
    row = take_row(inner);
    for (int d = 0; d < inner.ndim; ++d) loops.add(inner.sizes[d], inner.strides[d][0], inner.strides[d][1]);
    return true;
  }

  npy_intp total() const { return loops.total() * offsets.size * row.size; }
};

// Part of the work: some of the places, and of the elements of each row.
template <class Move>
GRADWRIGHT_INLINE void move_places(const Picks& picks, const npy_intp* offsets, npy_intp count, npy_intp size, char* near,
                                   char* far) {
  if (picks.row.size == 1) {
    for (npy_intp i = 0; i < count; ++i) Move::one(near + i * picks.step, far + offsets[i]);
  } else {
    for (npy_intp i = 0; i < count; ++i) {
      move_row<Move>(near + i * picks.step, far + offsets[i], size, picks.row.strides[0], picks.row.strides[1]);
    }
  }
}

// Threads share the loops around the places, or else the places themselves, or the elements of each row where several
// places may be the same one.
template <class Move>
void run_picks(Picks& picks, char* near, char* far) {
  const npy_intp loops = picks.loops.total(), count = picks.offsets.size, size = picks.row.size;
  const npy_intp* offsets = picks.offsets.data();
  const auto grain = [](npy_intp each) { return std::max<npy_intp>(1, kGrain / std::max<npy_intp>(1, each)); };
  if (loops > 1) {
    parallel_for(loops, grain(count * size), [&](npy_intp begin, npy_intp end) {
      walk<2>(picks.loops, begin, end, {near, far}, [&](const Places<2>& at) {
        move_places<Move>(picks, offsets, count, size, at[0], at[1]);
      });
    });
  } else if (Move::reads) {
    parallel_for(count, grain(size), [&](npy_intp begin, npy_intp end) {
      move_places<Move>(picks, offsets + begin, end - begin, size, near + begin * picks.step, far);
    });
  } else {
    parallel_for(size, grain(count), [&](npy_intp begin, npy_intp end) {
      move_places<Move>(picks, offsets, count, end - begin, near + begin * picks.row.strides[0],
                        far + begin * picks.row.strides[1]);
    });
  }
}

// The arrays are held by the caller. False without an exception: nothing was done.
bool run(Doing doing, Picks& picks, PyArrayObject* near, PyArrayObject* far) {
  const npy_intp total = picks.total();
  if (total == 0) return true;
  return for_elements(doing, far, [&]<class Move>() {
    return run_long(total >= kGrain, [&] { run_picks<Move>(picks, PyArray_BYTES(near), PyArray_BYTES(far)); });
  });
}

// -- arrays

Ref new_like(PyArrayObject* array, int ndim, const npy_intp* sizes) {
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

bool same_type(PyArrayObject* a, PyArrayObject* b) {
  return PyArray_TYPE(a) == PyArray_TYPE(b) && is_walkable(a) && is_walkable(b);
}

// -- reading by picks

Ref picked(PyArrayObject* self, const Index& index) {
  Picks picks;
  if (!is_walkable(self)) return declined(kOddElements);
  if (!picks.find(self, index)) return declined(kOddIndex);
  Ref out = new_like(self, picks.shape.ndim, picks.shape.sizes);
  if (!out) return out;
  const auto held = hold(self);
  if (!picks.lay(PyArray_STRIDES(as_ndarray(out))) || !run(Doing::kTake, picks, as_ndarray(out), self)) {
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
  return picks.lay(strides) && run(doing, picks, near, far);
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
  return picks.total() == 0 || for_width<Put>(target, [&]<class Move>() {
    return run_long(picks.total() >= kGrain, [&] { run_picks<Move>(picks, number.bytes, PyArray_BYTES(target)); });
  });
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
  return run(adds ? Doing::kAdd : Doing::kPut, picks, near, target);
}

// -- an index for each element

// A row. False: an index is out of range; the first place of `far` was taken for it, so that no element is a branch.
template <class Move, class I>
GRADWRIGHT_INLINE bool move_along(const Row<3>& row, const Places<3>& at, npy_intp limit, npy_intp step) {
  constexpr npy_intp item = sizeof(typename Move::Element);
  bool fits = true;
  const auto place = [&](npy_intp i, npy_intp stride) {
    const npy_intp named = *reinterpret_cast<const I*>(at[1] + i * stride);
    const bool inside = static_cast<size_t>(named) < static_cast<size_t>(limit);
    fits &= inside;
    return inside ? named : 0;
  };
  if (row.strides[0] == item && row.strides[1] == sizeof(I) && row.strides[2] == 0 && step == item) {
    for (npy_intp i = 0; i < row.size; ++i) Move::one(at[0] + i * item, at[2] + place(i, sizeof(I)) * item);
  } else {
    for (npy_intp i = 0; i < row.size; ++i) {
      Move::one(at[0] + i * row.strides[0], at[2] + i * row.strides[2] + place(i, row.strides[1]) * step);
    }
  }
  return fits;
}

// Elements of `near` beside those of `far` that `index` names in dimension `place`; both have its sizes or more in the other
// dimensions. False: an index is out of range, and what is written is of no use.
template <class Move>
bool run_along(char* near, const npy_intp* near_strides, PyArrayObject* index, char* far, PyArrayObject* far_array,
               int place) {
  Dims<3> loops;
  for (int d = 0; d < PyArray_NDIM(index); ++d) {
    loops.add(PyArray_DIM(index, d), near_strides == nullptr ? npy_intp{0} : near_strides[d], PyArray_STRIDE(index, d),
              d == place ? npy_intp{0} : PyArray_STRIDE(far_array, d));
  }
  const Row<3> row = take_row(loops);
  const npy_intp rows = loops.total(), limit = PyArray_DIM(far_array, place), step = PyArray_STRIDE(far_array, place);
  std::atomic<bool> fits = true;
  const bool alone = !Move::reads && place != PyArray_NDIM(index) - 1;  // rows may meet
  const npy_intp grain = alone ? rows : std::max<npy_intp>(1, kGrain / row.size);
  const bool done = run_long(rows * row.size >= kGrain, [&] {
    for_index(index, [&]<class I>() {
      parallel_for(rows, grain, [&](npy_intp begin, npy_intp end) {
        bool wrong = false;
        walk<3>(loops, begin, end, {near, PyArray_BYTES(index), far}, [&](const Places<3>& at) {
          wrong |= !move_along<Move, I>(row, at, limit, step);
        });
        if (wrong) fits = false;
      });
    });
  });
  return done && fits;
}

// Whether `index` has the dimensions of `array`, and is no larger in all of them but one.
bool covers(PyArrayObject* array, PyArrayObject* index, int but) {
  if (PyArray_NDIM(index) != PyArray_NDIM(array)) return false;
  for (int d = 0; d < PyArray_NDIM(index); ++d) {
    if (d != but && PyArray_DIM(index, d) > PyArray_DIM(array, d)) return false;
  }
  return true;
}

// The dimension of such an index; -1 where it is unusual, or wrong.
int read_along(PyArrayObject* self, PyObject* dim, PyArrayObject* index) {
  const int place = PyArray_NDIM(self) == 0 ? -1 : detail::read_dim(dim, PyArray_NDIM(self));
  if (place < 0 || PyArray_SIZE(index) == 0 || PyArray_DIM(self, place) == 0) return -1;
  return is_index(index) && covers(self, index, place) ? place : -1;
}

bool all_in_range(PyArrayObject* index, npy_intp size) {
  Offsets offsets;
  if (!offsets.resize(PyArray_SIZE(index))) return false;
  return find_places(index, Layout(index), size, 1, false, offsets.data());
}

bool write_along(Doing doing, PyArrayObject* target, PyObject* dim, PyObject* index, PyArrayObject* near, Number* number,
                 bool checks) {
  PyArrayObject* places = array_of(index);
  const int place = read_along(target, dim, places);
  if (place < 0 || (near != nullptr && (!same_type(near, target) || !covers(near, places, -1)))) return false;
  if (checks && !all_in_range(places, PyArray_DIM(target, place))) return false;
  const auto held = hold(near, places, target);
  return for_elements(doing, target, [&]<class Move>() {
    return run_along<Move>(near == nullptr ? number->bytes : PyArray_BYTES(near),
                           near == nullptr ? nullptr : PyArray_STRIDES(near), places, PyArray_BYTES(target), target, place);
  });
}
bool scatter_number(PyArrayObject* target, PyObject* dim, PyObject* index, PyObject* value, bool checks) {
  Number number;
  return number.set(target, value) && write_along(Doing::kPut, target, dim, index, nullptr, &number, checks);
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
  return run(Doing::kTake, picks, as_ndarray(out), array) ? std::move(out) : declined(kOddElements);
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

Ref gather(PyObject* self, PyObject* dim, PyObject* index, PyObject*) {
  PyArrayObject *array = array_of(self), *places = array_of(index);
  if (!is_walkable(array)) return declined(kOddElements);
  const int place = read_along(array, dim, places);
  if (place < 0) return declined(kOddIndex);
  Ref out = new_like(array, PyArray_NDIM(places), PyArray_DIMS(places));
  if (!out) return out;
  PyArrayObject* near = as_ndarray(out);
  const auto held = hold(array, places);
  const bool done = for_width<Take>(array, [&]<class Move>() {
    return run_along<Move>(PyArray_BYTES(near), PyArray_STRIDES(near), places, PyArray_BYTES(array), array, place);
  });
  return done ? std::move(out) : declined(kOddIndex);
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
Ref scatter(PyObject* self, PyObject* dim, PyObject* index, PyObject* src) {
  return write_copy(self, [&](PyArrayObject* out) {
    return write_along(Doing::kPut, out, dim, index, array_of(src), nullptr, false);
  });
}
Ref scatter_value(PyObject* self, PyObject* dim, PyObject* index, PyObject* value) {
  return write_copy(self, [&](PyArrayObject* out) { return scatter_number(out, dim, index, value, false); });
}
Ref scatter_add(PyObject* self, PyObject* dim, PyObject* index, PyObject* src) {
  return write_copy(self, [&](PyArrayObject* out) {
    return write_along(Doing::kAdd, out, dim, index, array_of(src), nullptr, false);
  });
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
bool scatter(PyObject* self, PyObject* dim, PyObject* index, PyObject* src) {
  return write_here(
      self,
      [&](PyArrayObject* out) { return write_along(Doing::kPut, out, dim, index, array_of(src), nullptr, true); },
      array_of(index), array_of(src));
}
bool scatter_value(PyObject* self, PyObject* dim, PyObject* index, PyObject* value) {
  return write_here(
      self, [&](PyArrayObject* out) { return scatter_number(out, dim, index, value, true); }, array_of(index));
}
bool scatter_add(PyObject* self, PyObject* dim, PyObject* index, PyObject* src) {
  return write_here(
      self,
      [&](PyArrayObject* out) { return write_along(Doing::kAdd, out, dim, index, array_of(src), nullptr, true); },
      array_of(index), array_of(src));
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

Ref take_along_dim(PyObject* self, PyObject* indices, PyObject* dim) {
  PyArrayObject *array = array_of(self), *places = array_of(indices);
  const int ndim = PyArray_NDIM(array);
  if (detail::type_of(places) != NPY_INT64 || PyArray_NDIM(places) != ndim || ndim == 0) return Ref();
  const int place = detail::read_dim(dim, ndim);
  if (place < 0 || ndim >= kMostDims) return Ref();
  npy_intp source[kMostDims], index[kMostDims];
  for (int d = 0; d < ndim; ++d) {
    const npy_intp own = PyArray_DIM(array, d), given = PyArray_DIM(places, d);
    source[d] = index[d] = own == 0 || given == 0 ? 0 : std::max(own, given);
  }
  source[place] = PyArray_DIM(array, place);
  index[place] = PyArray_DIM(places, place);
  Ref source_sizes = detail::ints(source, ndim), index_sizes = detail::ints(index, ndim), along = integer(place);
  if (!source_sizes || !index_sizes || !along) return Ref();
  Ref values = late::expand(self, source_sizes.get());
  Ref named = values ? late::expand(indices, index_sizes.get()) : Ref();
  return named ? late::gather(values.get(), along.get(), named.get()) : Ref();
}

}  // namespace composites

}  // namespace gradwright
