// Sums, means and maxima over bags of rows of a table: what runtime/operators/kernels/embedding_bag.py does, with its arithmetic in its
// order, each row read once.

#include <algorithm>
#include <atomic>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr npy_intp kSum = 0, kMean = 1, kMax = 2;

constexpr char kOtherBags[] = "bags of another form";

struct Bags {
  const npy_int64 *indices, *offsets;
  npy_intp count, total;  // bags, indices
  npy_intp rows, columns;
  npy_int64 padding;

  npy_intp begin(npy_intp bag) const { return offsets[bag]; }
  npy_intp end(npy_intp bag) const { return bag + 1 < count ? offsets[bag + 1] : total; }
};

// A vector of int64, as it lies.
bool is_vector_of_indices(PyArrayObject* array) {
  return PyArray_TYPE(array) == NPY_INT64 && PyArray_NDIM(array) == 1 && is_dense(array);
}

// Whether the Python kernel would take these places, and each is there.
bool are_places(const Bags& bags, npy_intp offsets) {
  if (offsets > 0 && (bags.offsets[0] != 0 || bags.offsets[offsets - 1] > bags.total)) return false;
  if (!std::is_sorted(bags.offsets, bags.offsets + offsets)) return false;
  return std::all_of(bags.indices, bags.indices + bags.total,
                     [&](npy_int64 index) { return index >= 0 && index < bags.rows; });
}

// Rows lie anywhere in the table: those so many indices ahead are asked for while others are added.
constexpr npy_intp kAhead = 8;

// Some columns of all rows of a bag, whose sums stay in registers.
struct AddRows {
  template <class T>
  static GRADWRIGHT_INLINE void fetch(const T* row) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(row);
    __builtin_prefetch(reinterpret_cast<const char*>(row) + kLineBytes);
#endif
  }
  template <class T, bool whole>
  static GRADWRIGHT_INLINE void columns(const Bags& bags, npy_intp bag, const T* table, const T* factors, npy_intp width,
                                        T* out) {
    constexpr npy_intp most = 128 / sizeof(T);
    const npy_intp size = whole ? most : width;
    T sums[most] = {};
    const npy_intp end = bags.end(bag);
    for (npy_intp i = bags.begin(bag); i < end; ++i) {
      const npy_int64 index = bags.indices[i];
      if (i + kAhead < bags.total) fetch(table + bags.indices[i + kAhead] * bags.columns);
      if (index == bags.padding) continue;
      const T* row = table + index * bags.columns;
      if (factors == nullptr) {
        for (npy_intp k = 0; k < size; ++k) sums[k] += row[k];
      } else {
        for (npy_intp k = 0; k < size; ++k) sums[k] += row[k] * factors[i];
      }
    }
    for (npy_intp k = 0; k < size; ++k) out[k] = sums[k];
  }
  template <class T>
  static GRADWRIGHT_INLINE void run(const Bags* bags, npy_intp bag, const T* table, const T* factors, T* out) {
    constexpr npy_intp most = 128 / sizeof(T);
    npy_intp k = 0;
    for (; k + most <= bags->columns; k += most) columns<T, true>(*bags, bag, table + k, factors, most, out + k);
    if (k < bags->columns) columns<T, false>(*bags, bag, table + k, factors, bags->columns - k, out + k);
  }
};

// The larger elements of a row beside those of the rows before it, and its index where they are its own. Whether there is no
// NaN among them.
struct TakeLarger {
  template <class T>
  static GRADWRIGHT_INLINE bool run(const T* __restrict row, npy_intp columns, npy_int64 index, T* __restrict best,
                                    npy_int64* __restrict places) {
    bool odd = false;
    for (npy_intp k = 0; k < columns; ++k) odd |= row[k] != row[k];
    for (npy_intp k = 0; k < columns; ++k) {
      const bool larger = row[k] > best[k];
      best[k] = larger ? row[k] : best[k];
      places[k] = larger ? index : places[k];
    }
    return !odd;
  }
};

// False: there is NaN, of which the Python kernel knows the place.
template <class T>
bool take_maxima(const Bags& bags, npy_intp bag, const T* table, T* best, npy_int64* places) {
  bool first = true;
  for (npy_intp i = bags.begin(bag); i < bags.end(bag); ++i) {
    const npy_int64 index = bags.indices[i];
    if (index == bags.padding) continue;
    const T* row = table + index * bags.columns;
    if (first) {
      std::copy_n(row, bags.columns, best);
      std::fill_n(places, bags.columns, index);
      first = false;
    }
    if (!run_best<TakeLarger>(row, bags.columns, index, best, places)) return false;
  }
  return true;
}

}  // namespace

namespace kernels {

Ref embedding_bag_of_rows(PyObject* weight, PyObject* indices, PyObject* offsets, PyObject*, PyObject* mode, PyObject*,
                          PyObject* per_sample_weights, PyObject* include_last_offset, PyObject* padding_idx) {
  PyArrayObject *table = array_of(weight), *chosen = array_of(indices), *starts = array_of(offsets);
  const Kind kind = kind_of(table);
  npy_intp how, padding;
  if (kind == Kind::kNone || PyArray_NDIM(table) != 2 || !is_dense(table)) return declined(kOtherBags);
  if (!is_vector_of_indices(chosen) || !is_vector_of_indices(starts)) return declined(kOtherBags);
  if (!detail::read_int(mode, &how) || how < kSum || how > kMax) return declined(kOtherBags);
  if (!detail::read_int(padding_idx, &padding) || !PyBool_Check(include_last_offset)) return declined(kOtherBags);
  if (per_sample_weights != Py_None) {
    PyArrayObject* factors = array_of(per_sample_weights);
    if (how != kSum || kind_of(factors) != kind || !is_dense(factors) || !detail::same_shape(factors, chosen))
      return declined(kOtherBags);
  }
  const npy_intp ends = PyArray_SIZE(starts), extra = include_last_offset == Py_True ? 1 : 0;
  if (ends < extra) return declined(kOtherBags);
  const Bags bags = {elements<const npy_int64>(chosen), elements<const npy_int64>(starts), ends - extra,
                     PyArray_SIZE(chosen), PyArray_DIM(table, 0), PyArray_DIM(table, 1), padding};
  if (!are_places(bags, ends) || (bags.count == 0 && bags.total > 0)) return declined(kOtherBags);
  const npy_intp sizes[] = {bags.count, bags.columns};
  Ref out = new_array(2, sizes, kind), bag_of = gradwright::new_array(NPY_INT64, 1, &bags.total);
  Ref counts = gradwright::new_array(NPY_INT64, 1, &bags.count);
  Ref largest = gradwright::new_array(NPY_INT64, how == kMax ? 2 : 1, sizes);
  if (!out || !bag_of || !counts || !largest) return Ref();
  npy_int64 *in_bag = elements<npy_int64>(as_ndarray(bag_of)), *counted = elements<npy_int64>(as_ndarray(counts));
  npy_int64* places = elements<npy_int64>(as_ndarray(largest));
  const Held held{weight, indices, offsets, per_sample_weights};
  std::atomic<bool> known = true;
  const bool done = run_for(kind, bags.total * bags.columns, [&]<class T>(T) {
    const T *rows = elements<const T>(table), *factors = data_or_null<const T>(held[3]);
    T* to = elements<T>(as_ndarray(out));
    const npy_intp work = bags.total * bags.columns / std::max<npy_intp>(1, bags.count);
    const npy_intp grain = std::max<npy_intp>(1, kGrain / std::max<npy_intp>(1, work));
    parallel_for(bags.count, grain, [&](npy_intp begin, npy_intp end) {
      for (npy_intp bag = begin; bag < end; ++bag) {
        const npy_int64 *first = bags.indices + bags.begin(bag), *last = bags.indices + bags.end(bag);
        const npy_int64 count = (last - first) - std::count(first, last, bags.padding);
        std::fill(in_bag + bags.begin(bag), in_bag + bags.end(bag), bag);
        counted[bag] = how == kSum ? 0 : count;
        T* row = to + bag * bags.columns;
        if (how == kMax) {
          std::fill_n(row, bags.columns, T(0));
          std::fill_n(places + bag * bags.columns, bags.columns, npy_int64{0});
          if (!take_maxima(bags, bag, rows, row, places + bag * bags.columns)) known = false;
          continue;
        }
        places[bag] = counted[bag];
        run_best<AddRows>(&bags, bag, rows, factors, row);
        if (how == kMean) {
          const T divisor = static_cast<T>(std::max<npy_int64>(1, count));
          for (npy_intp k = 0; k < bags.columns; ++k) row[k] /= divisor;
        }
      }
    });
  });
  if (!done || !known) return declined(kOtherBags);
  return Ref(PyTuple_Pack(4, out.get(), bag_of.get(), counts.get(), largest.get()));
}
GRADWRIGHT_KERNEL(embedding_bag_of_rows, 9, tensors)

}  // namespace kernels

}  // namespace gradwright
