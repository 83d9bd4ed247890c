// Picks: one index, or several that broadcast, or a mask, name places of an array `far`. What is there along the other
// dimensions is a row of an array `near`.

#pragma once

#include "core.hpp"
#include "moving.hpp"
#include "views.hpp"
#include "walking.hpp"

namespace gradwright::moving {

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
bool find_places(PyArrayObject* index, const detail::Layout& shape, npy_intp size, npy_intp step, bool wraps,
                 npy_intp* offsets, bool adds = false);

// The places under a mask, in order; the loops go over the mask and over `far`. False: out of memory.
bool find_marked(Dims<2> loops, char* mask, char* far, Offsets& offsets);

// An index for some dimensions of an array.
struct Index {
  int count = 0;
  PyArrayObject* arrays[detail::kMostDims];
  int dims[detail::kMostDims];
  PyArrayObject* mask = nullptr;  // alone, for all dimensions from `dims[0]` on that it has
  bool wraps = true;              // negative numbers count from the end

  Index() = default;
  Index(PyArrayObject* index, int dim, bool wraps) : count(1), wraps(wraps) {
    arrays[0] = index;
    dims[0] = dim;
  }
  // None, index arrays and masks, as `index` takes them. False: they are unusual, or wrong.
  bool read(PyObject* indices, PyArrayObject* self);
};

// Elements that a run has to have in the mean.
inline constexpr npy_intp kWorthARun = 4;

// What an index picks of an array: the shape, and where it lies.
struct Picks {
  detail::Layout shape;    // of `near`, with the strides of `far`; the picked places have none
  int first = 0, end = 0;  // the dimensions of the picked places
  Offsets offsets;

  Dims<2> loops;  // around the places: over `near` and `far`
  Row<2> row;      // at each place
  npy_intp step = 0;  // of `near`, from one place to the next
  Offsets ends;  // of runs: places whose elements lie side by side in both arrays; none where runs are short

  // False: an index is out of range, does not broadcast, or is too much.
  bool find(PyArrayObject* far, const Index& index);

  // Lay `near`, with the sizes of `shape`, beside it. False: the places are not a regular row of it.
  bool lay(const npy_intp* near);

  // Find the runs, where they are gone through more than once.
  void find_runs(npy_intp item);

  npy_intp total() const { return loops.total() * offsets.size * row.size; }
};

// Elements between the picked places of `far` and those of `near`, from that byte on; the caller holds both. False without an
// exception: nothing was done.
bool run(Doing doing, Picks& picks, char* near, PyArrayObject* far);

}  // namespace gradwright::moving
