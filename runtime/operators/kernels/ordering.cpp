// Each element of a row gets a key, a whole number without a sign that is in the same order, and its place below that: keys
// are different then, and any way to sort them is stable. Short rows are sorted by insertion, long ones digit by digit.

#include "ordering.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "composites.hpp"
#include "kernels.hpp"
#include "memory.hpp"
#include "parallel.hpp"
#include "walking.hpp"

namespace gradwright {

namespace {

constexpr char kOddOrder[] = "elements or arguments that the Python kernel looks at";

// Rows up to this length are sorted by insertion.
constexpr npy_intp kShortRow = 64;

// What is sorted: the key above the place.
template <class Key>
struct Entry;
template <>
struct Entry<uint32_t> {
  uint64_t both;
  Entry() = default;
  Entry(uint32_t key, npy_intp place) : both(uint64_t{key} << 32 | static_cast<uint32_t>(place)) {}
  bool operator<(const Entry& other) const { return both < other.both; }
  uint32_t key() const { return static_cast<uint32_t>(both >> 32); }
  npy_intp place() const { return static_cast<uint32_t>(both); }
};
template <>
struct Entry<uint64_t> {
  uint64_t key_;
  npy_intp place_;
  Entry() = default;
  Entry(uint64_t key, npy_intp place) : key_(key), place_(place) {}
  bool operator<(const Entry& other) const { return key_ != other.key_ ? key_ < other.key_ : place_ < other.place_; }
  uint64_t key() const { return key_; }
  npy_intp place() const { return place_; }
};

// The key of an element: bits without a sign, in the order of the elements.
template <class T>
struct KeyOf {
  using Key = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr Key kSign = Key{1} << (8 * sizeof(T) - 1);
  static Key of(T value) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Key>(value) ^ kSign;
    } else {
      if (value != value) return ~Key{0};
      const Key bits = std::bit_cast<Key>(value + T(0));  // both zeros are one
      return (bits & kSign) != 0 ? ~bits : bits | kSign;
    }
  }
};

template <class E>
void insert_in_order(E* entries, npy_intp size) {
  for (npy_intp i = 1; i < size; ++i) {
    const E moving = entries[i];
    npy_intp j = i;
    for (; j > 0 && moving < entries[j - 1]; --j) entries[j] = entries[j - 1];
    entries[j] = moving;
  }
}

// By one byte of the keys after the other, from the lowest on; `room` has the same size. Bytes that are all the same are
// left out.
template <class E>
void sort_by_digits(E* entries, E* room, npy_intp size) {
  constexpr int kDigits = sizeof(entries->key()), kValues = 256;
  std::vector<npy_intp> counts(kDigits * kValues);
  for (npy_intp i = 0; i < size; ++i) {
    auto key = entries[i].key();
    for (int d = 0; d < kDigits; ++d, key >>= 8) ++counts[static_cast<size_t>(d * kValues + (key & 255))];
  }
  E *from = entries, *to = room;
  for (int d = 0; d < kDigits; ++d) {
    npy_intp* count = counts.data() + d * kValues;
    if (count[(from[0].key() >> (8 * d)) & 255] == size) continue;
    npy_intp next = 0;
    for (int v = 0; v < kValues; ++v) next += std::exchange(count[v], next);
    for (npy_intp i = 0; i < size; ++i) to[count[(from[i].key() >> (8 * d)) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != entries) std::copy_n(from, size, entries);
}

// So few are kept in order while a row is read.
constexpr npy_intp kFew = 16;

// The `count` first in order; `entry(i)` for each place.
template <class E, class Make>
void keep_first(npy_intp size, npy_intp count, Make entry, E* kept) {
  for (npy_intp i = 0; i < count; ++i) kept[i] = entry(i);
  insert_in_order(kept, count);
  for (npy_intp i = count; i < size; ++i) {
    const E next = entry(i);
    if (!(next < kept[count - 1])) continue;
    npy_intp j = count - 1;
    for (; j > 0 && next < kept[j - 1]; --j) kept[j] = kept[j - 1];
    kept[j] = next;
  }
}

// A dimension of an array, and the `count` first of its elements in order.
struct Order {
  PyArrayObject *from, *values, *places;
  int dim;
  npy_intp size, count;
  bool descending;
};

template <class T>
void sort_rows(const Order& order) {
  using Keys = KeyOf<T>;
  using E = Entry<typename Keys::Key>;
  Dims<3> dims;
  for (int d = 0; d < PyArray_NDIM(order.from); ++d) {
    if (d == order.dim) continue;
    dims.add(PyArray_DIM(order.from, d), PyArray_STRIDE(order.from, d), PyArray_STRIDE(order.values, d),
             PyArray_STRIDE(order.places, d));
  }
  const npy_intp in = PyArray_STRIDE(order.from, order.dim), out = PyArray_STRIDE(order.values, order.dim),
                 place_out = PyArray_STRIDE(order.places, order.dim), size = order.size, count = order.count;
  const auto flip = static_cast<typename Keys::Key>(order.descending ? -1 : 0);
  parallel_for(dims.total(), std::max<npy_intp>(1, kGrain / 8 / size), [&](npy_intp begin, npy_intp end) {
    E few[kShortRow];
    std::vector<E> many(size > kShortRow ? static_cast<size_t>(2 * size) : 0);
    E* entries = size > kShortRow ? many.data() : few;
    walk<3>(dims, begin, end, {PyArray_BYTES(order.from), PyArray_BYTES(order.values), PyArray_BYTES(order.places)},
            [&](const Places<3>& at) {
              const auto entry = [&](npy_intp i) {
                return E(Keys::of(*reinterpret_cast<const T*>(at[0] + i * in)) ^ flip, i);
              };
              if (size > kShortRow && 0 < count && count <= kFew) {
                keep_first(size, count, entry, entries);
              } else {
                for (npy_intp i = 0; i < size; ++i) entries[i] = entry(i);
                if (size <= kShortRow) {
                  insert_in_order(entries, size);
                } else if (count <= size / 8) {
                  std::nth_element(entries, entries + count, entries + size);
                  std::sort(entries, entries + count);
                } else {
                  sort_by_digits(entries, entries + size, size);
                }
              }
              for (npy_intp i = 0; i < count; ++i) {
                const npy_intp place = entries[i].place();
                *reinterpret_cast<T*>(at[1] + i * out) = *reinterpret_cast<const T*>(at[0] + place * in);
                *reinterpret_cast<int64_t*>(at[2] + i * place_out) = place;
              }
            });
  });
}

// Values and places of the `count` first elements along a dimension; -1: of all.
Ref in_order(PyObject* self, npy_intp count, PyObject* dim, PyObject* descending) {
  PyArrayObject* array = array_of(self);
  const int ndim = PyArray_NDIM(array);
  const int place = ndim > 0 && detail::fits_layout(array) ? detail::read_dim(dim, ndim) : -1;
  if (place < 0 || !PyBool_Check(descending) || !PyArray_ISBEHAVED_RO(array)) return declined(kOddOrder);
  const npy_intp size = PyArray_DIM(array, place);
  if (count > size || size > std::numeric_limits<int32_t>::max()) return declined(kOddOrder);
  if (count < 0) count = size;
  void (*work)(const Order&) = nullptr;
  switch (PyArray_TYPE(array)) {
    case NPY_FLOAT:
      work = sort_rows<float>;
      break;
    case NPY_DOUBLE:
      work = sort_rows<double>;
      break;
    case NPY_INT32:
      work = sort_rows<int32_t>;
      break;
    case NPY_INT64:
      work = sort_rows<int64_t>;
      break;
    default:
      return declined(kNoLoop);
  }
  detail::Layout shape(array);
  shape.sizes[place] = count;
  Ref values = new_array_of(array, ndim, shape.sizes), places = new_array(NPY_INT64, ndim, shape.sizes);
  if (!values || !places) {
    PyErr_Clear();
    return Ref();
  }
  const Order order{array, as_ndarray(values), as_ndarray(places), place, size, count, descending == Py_True};
  const auto held = hold(array);
  if (count > 0 && !run_long(PyArray_SIZE(array) >= kGrain / 8, [&] { work(order); })) return Ref();
  Ref both(PyTuple_Pack(2, values.get(), places.get()));
  if (!both) PyErr_Clear();
  return both;
}

}  // namespace

namespace kernels {

Ref sort(PyObject* self, PyObject* dim, PyObject* descending) { return in_order(self, -1, dim, descending); }

Ref sort_stable(PyObject* self, PyObject*, PyObject* dim, PyObject* descending) {
  return in_order(self, -1, dim, descending);
}

Ref topk(PyObject* self, PyObject* k, PyObject* dim, PyObject* largest, PyObject*) {
  npy_intp count;
  if (!detail::read_int(k, &count) || count < 0) return declined(kOddOrder);
  return in_order(self, count, dim, largest);
}

}  // namespace kernels

}  // namespace gradwright
