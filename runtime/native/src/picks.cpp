#include "picks.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace gradwright::moving {

using detail::kMostDims;
using detail::Layout;

bool find_places(PyArrayObject* index, const Layout& shape, npy_intp size, npy_intp step, bool wraps, npy_intp* offsets,
                 bool adds) {
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

bool Index::read(PyObject* indices, PyArrayObject* self) {
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

bool Picks::find(PyArrayObject* far, const Index& index) {
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

bool Picks::lay(const npy_intp* near) {
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

void Picks::find_runs(npy_intp item) {
  const npy_intp count = offsets.size, *places = offsets.data();
  if (row.size != 1 || step != item || loops.total() == 1) return;
  const auto is_end = [&](npy_intp i) { return i + 1 == count || places[i + 1] - places[i] != item; };
  npy_intp runs = 0;
  for (npy_intp i = 0; i < count; ++i) runs += is_end(i);
  if (runs * kWorthARun > count) return;
  if (!ends.resize(runs)) {
    ends.size = 0;
    return;
  }
  npy_intp* end = ends.data();
  for (npy_intp i = 0; i < count; ++i) {
    if (is_end(i)) *end++ = i + 1;
  }
}

namespace {

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

template <class Move>
void move_runs(const Picks& picks, const npy_intp* offsets, const npy_intp* ends, char* near, char* far) {
  npy_intp i = 0;
  for (npy_intp k = 0; k < picks.ends.size; i = ends[k++]) {
    Move::dense(near + i * picks.step, far + offsets[i], ends[k] - i);
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
    const npy_intp* ends = picks.ends.data();
    parallel_for(loops, grain(count * size), [&](npy_intp begin, npy_intp end) {
      walk<2>(picks.loops, begin, end, {near, far}, [&](const Places<2>& at) {
        if (picks.ends.size > 0) {
          move_runs<Move>(picks, offsets, ends, at[0], at[1]);
        } else {
          move_places<Move>(picks, offsets, count, size, at[0], at[1]);
        }
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

}  // namespace

bool run(Doing doing, Picks& picks, char* near, PyArrayObject* far) {
  const npy_intp total = picks.total();
  if (total == 0) return true;
  picks.find_runs(PyArray_ITEMSIZE(far));
  return for_elements(doing, far, [&]<class Move>() {
    return run_long(total >= kGrain, [&] { run_picks<Move>(picks, near, PyArray_BYTES(far)); });
  });
}

}  // namespace gradwright::moving
