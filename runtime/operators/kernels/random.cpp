#include "random.hpp"

#include <numpy/random/bitgen.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

using contiguous::run_for;

// The array that a function fills, of one of these element types; null with an exception where it is none.
PyArrayObject* writable(PyObject* object, std::initializer_list<int> types) {
  if (PyArray_CheckExact(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const bool known = std::find(types.begin(), types.end(), PyArray_TYPE(array)) != types.end();
    if (known && is_dense(array) && PyArray_ISWRITEABLE(array)) return array;
  }
  PyErr_SetString(PyExc_TypeError, "expected a dense array of a known element type");
  return nullptr;
}

PyArrayObject* matrix_of(PyObject* object, std::initializer_list<int> types) {
  PyArrayObject* array = writable(object, types);
  if (array == nullptr || PyArray_NDIM(array) == 2) return array;
  PyErr_SetString(PyExc_ValueError, "expected two dimensions");
  return nullptr;
}

struct Words {
  bitgen_t* source;
  uint32_t next() const { return source->next_uint32(source->state); }
  uint64_t next_long() const {
    const uint64_t high = next();
    return high << 32 | next();
  }
};

// a b + c, rounded once: the product is exact.
GRADWRIGHT_INLINE float fused(float a, float b, float c) {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
}

template <size_t count>
GRADWRIGHT_INLINE float horner(const float (&coefficients)[count], float x) {
  float value = coefficients[0];
  for (size_t i = 1; i < count; ++i) value = fused(value, x, coefficients[i]);
  return value;
}

constexpr float kLog[] = {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                          -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f};
constexpr float kLog2Low = -2.12194440e-4f, kLog2High = 0.693359375f;
constexpr float kSin[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
constexpr float kCos[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
constexpr float kQuarter[] = {0.78515625f, 2.4187564849853515625e-4f, 3.77489497744594108e-8f};

GRADWRIGHT_INLINE float log_of(float x) {
  const auto bits = std::bit_cast<int32_t>(x);
  const auto fraction = std::bit_cast<float>((bits & 0x7FFFFF) | 0x3F000000);
  const bool small = fraction < 0.707106781186547524f;
  const float power = static_cast<float>((bits >> 23) - 126 - (small ? 1 : 0));
  const float rest = (fraction - 1.0f) + (small ? fraction : 0.0f);
  const float square = rest * rest;
  float value = horner(kLog, rest) * rest;
  value = fused(value, square, power * kLog2Low);
  value -= square * 0.5f;
  value += rest;
  return value + power * kLog2High;
}

// In each 16 numbers the first 8 give the lengths, and the others the angles.
constexpr int kHalf = 8, kGroups = 32, kPairs = kHalf * kGroups;

struct Turn {
  static GRADWRIGHT_INLINE int run(float* data, npy_intp size, float mean, float std, bool moved) {
    alignas(64) float first[kPairs] = {}, second[kPairs] = {};
    for (npy_intp start = 0; start < size; start += 2 * kPairs) {
      const npy_intp groups = std::min<npy_intp>(kGroups, (size - start) / (2 * kHalf));
      if (groups < kGroups) {  // what is left of the group before is no number to take a logarithm of
        std::fill_n(first, kPairs, 0.0f);
        std::fill_n(second, kPairs, 0.0f);
      }
      for (npy_intp group = 0; group < groups; ++group) {
        const float* from = data + start + group * 2 * kHalf;
        std::copy_n(from, kHalf, first + group * kHalf);
        std::copy_n(from + kHalf, kHalf, second + group * kHalf);
      }
      for (int k = 0; k < kPairs; ++k) turn(first[k], second[k]);
      if (moved) {
        for (int k = 0; k < kPairs; ++k) first[k] = fused(first[k], std, mean);
        for (int k = 0; k < kPairs; ++k) second[k] = fused(second[k], std, mean);
      }
      for (npy_intp group = 0; group < groups; ++group) {
        float* to = data + start + group * 2 * kHalf;
        std::copy_n(first + group * kHalf, kHalf, to);
        std::copy_n(second + group * kHalf, kHalf, to + kHalf);
      }
    }
    return 0;
  }

  static GRADWRIGHT_INLINE void turn(float& first, float& second) {
    const float length = std::sqrt(-2.0f * log_of(1.0f - first));
    const float angle = 6.283185307179586f * second;
    const int octant = (static_cast<int>(angle * 1.2732395447351628f) + 1) & ~1;
    const auto turns = static_cast<float>(octant);
    float rest = angle - turns * kQuarter[0];
    rest -= turns * kQuarter[1];
    rest -= turns * kQuarter[2];
    const float square = rest * rest;
    const float even = fused(horner(kCos, square) * square, square, square * -0.5f) + 1.0f;
    const float odd = fused(horner(kSin, square) * square, rest, rest);
    const bool swapped = (octant & 2) != 0;
    const float cosine = swapped ? odd : even, sine = swapped ? even : odd;
    first = length * (((octant + 2) & 4) != 0 ? -cosine : cosine);
    second = length * ((octant & 4) != 0 ? -sine : sine);
  }
};

}  // namespace

PyObject* draw_words(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (!has_count(count, 2)) return nullptr;
  auto* source = static_cast<bitgen_t*>(PyCapsule_GetPointer(args[0], "BitGenerator"));
  PyArrayObject* array = source ? writable(args[1], {NPY_UINT32, NPY_UINT64, NPY_FLOAT, NPY_DOUBLE}) : nullptr;
  if (array == nullptr) return nullptr;
  const Words words{source};
  const npy_intp size = PyArray_SIZE(array);
  switch (PyArray_TYPE(array)) {
    case NPY_UINT32:
      std::generate_n(elements<uint32_t>(array), size, [&] { return words.next(); });
      break;
    case NPY_FLOAT:
      std::generate_n(elements<float>(array), size,
                      [&] { return static_cast<float>(words.next() & 0xFFFFFF) * 0x1p-24f; });
      break;
    case NPY_DOUBLE:
      std::generate_n(elements<double>(array), size, [&] {
        return static_cast<double>(words.next_long() & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
      });
      break;
    default:
      std::generate_n(elements<uint64_t>(array), size, [&] { return words.next_long(); });
  }
  Py_RETURN_NONE;
}

PyObject* turn_to_normal(PyObject*, PyObject* const* args, Py_ssize_t count) {
  PyArrayObject* array = has_count(count, 3) ? writable(args[0], {NPY_FLOAT}) : nullptr;
  if (array == nullptr) return nullptr;
  const double mean = PyFloat_AsDouble(args[1]), std = PyFloat_AsDouble(args[2]);
  if (PyErr_Occurred()) return nullptr;
  const npy_intp size = PyArray_SIZE(array) / 16 * 16;
  run_best<Turn>(elements<float>(array), size, static_cast<float>(mean), static_cast<float>(std), mean != 0 || std != 1);
  Py_RETURN_NONE;
}

PyObject* exchange(PyObject*, PyObject* const* args, Py_ssize_t count) {
  PyArrayObject* array = has_count(count, 2) ? writable(args[0], {NPY_INT64}) : nullptr;
  PyArrayObject* places = array ? writable(args[1], {NPY_INT64}) : nullptr;
  if (places == nullptr) return nullptr;
  auto *values = elements<int64_t>(array), *others = elements<int64_t>(places);
  const npy_intp size = PyArray_SIZE(array), steps = std::min(size, PyArray_SIZE(places));
  for (npy_intp i = 0; i < steps; ++i) {
    if (others[i] < 0 || others[i] >= size) {
      PyErr_SetString(PyExc_IndexError, "a place is out of range");
      return nullptr;
    }
    std::swap(values[i], values[others[i]]);
  }
  Py_RETURN_NONE;
}

PyObject* pick_by_weights(PyObject*, PyObject* const* args, Py_ssize_t count) {
  PyArrayObject* rows = has_count(count, 3) ? matrix_of(args[0], {NPY_FLOAT, NPY_DOUBLE}) : nullptr;
  PyArrayObject* marks = rows ? matrix_of(args[1], {NPY_DOUBLE}) : nullptr;
  PyArrayObject* places = marks ? matrix_of(args[2], {NPY_INT64}) : nullptr;
  if (places == nullptr) return nullptr;
  const npy_intp many = PyArray_DIM(rows, 0), width = PyArray_DIM(rows, 1), drawn = PyArray_DIM(marks, 1);
  if (PyArray_DIM(marks, 0) != many || !detail::same_shape(marks, places)) {
    PyErr_SetString(PyExc_ValueError, "the arrays have different numbers of rows");
    return nullptr;
  }
  const auto held = hold(rows, marks, places);
  const bool done = run_for(kind_of(rows), PyArray_SIZE(rows), [&]<class T>(T) {
    parallel_for(many, std::max<npy_intp>(1, kGrain / std::max<npy_intp>(1, width + drawn)),
                 [&](npy_intp begin, npy_intp end) {
                   std::vector<double> heights(static_cast<size_t>(width));
                   for (npy_intp row = begin; row < end; ++row) {
                     const T* weights = elements<const T>(rows) + row * width;
                     double total = 0;
                     for (npy_intp i = 0; i < width; ++i) heights[i] = total += weights[i];
                     const double* mark = elements<const double>(marks) + row * drawn;
                     int64_t* place = elements<int64_t>(places) + row * drawn;
                     for (npy_intp k = 0; k < drawn; ++k) {
                       place[k] = std::upper_bound(heights.begin(), heights.end(), mark[k] * total) - heights.begin();
                     }
                   }
                 });
  });
  if (!done) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

}  // namespace gradwright
