// The means of windows that divide images into as many parts as are asked for: native loops over float32 and float64 for what
// runtime/operators/kernels/pooling.py does. Rows are added up first, and then the elements of their sum.

#include <algorithm>
#include <cstring>
#include <vector>

#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "pairwise.hpp"
#include "parallel.hpp"
#include "views.hpp"
#include "windows.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr char kOtherParts[] = "windows of three dimensions, or arrays and arguments that the Python kernel looks at";

// From one number on, up to another that does not belong to it.
struct Range {
  npy_intp begin, end;
  npy_intp width() const { return end - begin; }
  bool operator==(const Range& other) const { return begin == other.begin && end == other.end; }
};

// Windows that divide a dimension, which may overlap.
struct Parts {
  npy_intp size, count;

  std::vector<Range> windows() const {
    std::vector<Range> found;
    for (npy_intp k = 0; k < count; ++k) found.push_back({k * size / count, ((k + 1) * size + count - 1) / count});
    return found;
  }
  // For each element the windows that it lies in.
  std::vector<Range> covering(const std::vector<Range>& all) const {
    std::vector<Range> found;
    Range now = {0, 0};
    for (npy_intp at = 0; at < size; ++at) {
      while (now.begin < count && all[static_cast<size_t>(now.begin)].end <= at) ++now.begin;
      while (now.end < count && all[static_cast<size_t>(now.end)].begin <= at) ++now.end;
      found.push_back(now);
    }
    return found;
  }
};

struct Plan {
  Parts rows, columns;
  npy_intp planes;

  npy_intp in() const { return rows.size * columns.size; }
  npy_intp out() const { return rows.count * columns.count; }
  npy_intp grain() const { return std::max<npy_intp>(1, kGrain / std::max(in(), out())); }
};

// False for what the Python kernel refuses, and where there is nothing.
bool plan(PyArrayObject* array, npy_intp height, npy_intp width, Plan& found) {
  const int ndim = PyArray_NDIM(array);
  if ((ndim != 3 && ndim != 4) || PyArray_SIZE(array) == 0) return false;
  found.rows = {PyArray_DIM(array, ndim - 2), height};
  found.columns = {PyArray_DIM(array, ndim - 1), width};
  for (const Parts* parts : {&found.rows, &found.columns}) {
    if (parts->count < 1 || parts->count >= kMostSize || parts->size >= kMostSize) return false;
  }
  found.planes = PyArray_SIZE(array) / found.in();
  return true;
}

// The mean of some rows that follow each other.
struct MeanOfRows {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict rows, npy_intp width, npy_intp count, T* __restrict out) {
    for (npy_intp x = 0; x < width; ++x) out[x] = rows[x];
    for (npy_intp y = 1; y < count; ++y) {
      for (npy_intp x = 0; x < width; ++x) out[x] += rows[y * width + x];
    }
    const T by = static_cast<T>(count);
    for (npy_intp x = 0; x < width; ++x) out[x] /= by;
  }
};

// Adds to a row the share that it has in another.
struct AddShare {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* __restrict row, npy_intp width, T by, T* __restrict out) {
    for (npy_intp x = 0; x < width; ++x) out[x] += row[x] / by;
  }
};

template <class T>
T sum_of(const T* in, npy_intp size) {
  if (size >= 8) return sum_dense(in, size);
  T sum = in[0];
  for (npy_intp i = 1; i < size; ++i) sum += in[i];
  return sum;
}

}  // namespace

namespace kernels {

Ref adaptive_avg_pool(PyObject* self, PyObject* output_size) {
  PyArrayObject* array = array_of(self);
  const Kind kind = kind_of(array);
  Plan found;
  npy_intp counts[detail::kMostDims];
  if (kind == Kind::kNone || detail::read_ints(output_size, counts) != 2) return declined(kOtherParts);
  if (!plan(array, counts[0], counts[1], found)) return declined(kOtherParts);
  Ref images = usable(self, kind);
  if (!images) return declined(kOtherParts);
  const int ndim = PyArray_NDIM(array);
  npy_intp sizes[4];
  std::copy(PyArray_DIMS(array), PyArray_DIMS(array) + ndim - 2, sizes);
  std::copy(counts, counts + 2, sizes + ndim - 2);
  Ref out = new_array(ndim, sizes, kind);
  if (!out) return out;
  const bool done = run_for(kind, found.planes * std::max(found.in(), found.out()), [&]<class T>(T) {
    const T* in = elements<const T>(as_ndarray(images));
    T* to = elements<T>(as_ndarray(out));
    const std::vector<Range> rows = found.rows.windows(), columns = found.columns.windows();
    const npy_intp width = found.columns.size;
    parallel_for(found.planes, found.grain(), [&](npy_intp begin, npy_intp end) {
      Scratch<T> scratch(width);
      T *mean = scratch.data(), *next = to + begin * found.out();
      for (npy_intp i = begin; i < end; ++i) {
        for (const Range& row : rows) {
          run_best<MeanOfRows>(in + i * found.in() + row.begin * width, width, row.width(), mean);
          for (const Range& each : columns)
            *next++ = sum_of(mean + each.begin, each.width()) / static_cast<T>(each.width());
        }
      }
    });
  });
  return done ? std::move(out) : Ref();
}
GRADWRIGHT_KERNEL(adaptive_avg_pool, 2, tensors)

Ref adaptive_avg_pool2d_backward(PyObject* grad_output, PyObject* self) {
  PyArrayObject *given = array_of(grad_output), *array = array_of(self);
  const Kind kind = kind_of(given);
  const int ndim = PyArray_NDIM(array);
  Plan found;
  if (kind == Kind::kNone || PyArray_NDIM(given) != ndim || ndim < 3) return declined(kOtherParts);
  if (!std::equal(PyArray_DIMS(array), PyArray_DIMS(array) + ndim - 2, PyArray_DIMS(given)))
    return declined(kOtherParts);
  if (!plan(array, PyArray_DIM(given, ndim - 2), PyArray_DIM(given, ndim - 1), found)) return declined(kOtherParts);
  Ref gradient = usable(grad_output, kind);
  if (!gradient) return declined(kOtherParts);
  Ref out = new_array(ndim, PyArray_DIMS(array), kind);
  if (!out) return out;
  const bool done = run_for(kind, found.planes * std::max(found.in(), found.out()), [&]<class T>(T) {
    const T* grad = elements<const T>(as_ndarray(gradient));
    T* to = elements<T>(as_ndarray(out));
    const std::vector<Range> heights = found.rows.windows(), widths = found.columns.windows();
    const std::vector<Range> rows = found.rows.covering(heights), columns = found.columns.covering(widths);
    const npy_intp count = found.columns.count, width = found.columns.size;
    parallel_for(found.planes, found.grain(), [&](npy_intp begin, npy_intp end) {
      Scratch<T> scratch(count);
      T *shares = scratch.data(), *next = to + begin * found.in();
      for (npy_intp i = begin; i < end; ++i) {
        for (size_t y = 0; y < rows.size(); ++y, next += width) {
          if (y > 0 && rows[y] == rows[y - 1]) {
            std::memcpy(next, next - width, static_cast<size_t>(width) * sizeof(T));
            continue;
          }
          std::fill_n(shares, count, T(0));
          for (npy_intp row = rows[y].begin; row < rows[y].end; ++row) {
            const T by = static_cast<T>(heights[static_cast<size_t>(row)].width());
            run_best<AddShare>(grad + i * found.out() + row * count, count, by, shares);
          }
          for (npy_intp x = 0; x < count; ++x) shares[x] /= static_cast<T>(widths[static_cast<size_t>(x)].width());
          for (npy_intp x = 0; x < width; ++x) {
            const Range& each = columns[static_cast<size_t>(x)];
            next[x] = sum_of(static_cast<const T*>(shares) + each.begin, each.width());
          }
        }
      }
    });
  });
  return done ? std::move(out) : Ref();
}
GRADWRIGHT_KERNEL(adaptive_avg_pool2d_backward, 2, tensors)

}  // namespace kernels

}  // namespace gradwright
