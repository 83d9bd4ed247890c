#include "gather_scatter.hpp"

#include <algorithm>
#include <atomic>

#include "composites.hpp"
#include "moving.hpp"
#include "parallel.hpp"
#include "picks.hpp"
#include "walking.hpp"

namespace gradwright {

namespace {

using namespace moving;
using detail::kMostDims;
using detail::Layout;

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

}  // namespace

namespace kernels {

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

}  // namespace kernels

namespace writers {

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
