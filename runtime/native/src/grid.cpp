// Images read at the places of a grid: what runtime/composite/grid.py composes of operators as one loop over float32 and
// float64, with the same arithmetic, where nothing is recorded.

#include <algorithm>
#include <cmath>

#include "composites.hpp"
#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr npy_intp kBilinear = 0, kNearest = 1;
constexpr npy_intp kZeros = 0, kBorder = 1, kReflection = 2;

// Places that are found at once, for all channels.
constexpr npy_intp kPlaces = 256;

// Of a dimension of the image.
template <class T>
struct Along {
  npy_intp size, padding;
  bool align_corners;

  T last() const { return static_cast<T>(size - 1); }

  // A coordinate from -1 to 1 as a place among the elements.
  T place(T coordinate) const {
    if (align_corners) return (coordinate + 1) * static_cast<T>(static_cast<double>(size - 1) / 2);
    return ((coordinate + 1) * static_cast<T>(size) - 1) / 2;
  }

  // A place beyond the image as one in it, as the padding says; NaN counts as the first place.
  T inside(T at) const {
    if (padding == kZeros) return at;
    if (padding == kReflection) {
      const T low = align_corners ? T(0) : T(-0.5), span = align_corners ? last() : static_cast<T>(size);
      if (span == 0) {
        at *= 0;
      } else {
        const T away = std::abs(at - low), turns = std::floor(away / span), rest = away - turns * span;
        at = std::fmod(turns, T(2)) == 0 ? rest + low : span - rest + low;
      }
    }
    if (at > 0 && at < last()) return at;
    return std::isnan(at) ? T(0) : std::clamp(at, T(0), last());
  }

  // Whether there is an element at a place, which is a whole number; its index, or 0.
  bool find(T at, npy_intp* index) const {
    const bool found = at >= 0 && at <= last();
    *index = found ? static_cast<npy_intp>(at) : 0;
    return found;
  }
};

template <class T>
struct Block {
  npy_intp places[4][kPlaces];
  T factors[4][kPlaces];
  bool found[4][kPlaces];
};

struct Gather {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Block<T>* block, int taps, npy_intp count, const T* __restrict plane,
                                    T* __restrict out) {
    for (int t = 0; t < taps; ++t) {
      const npy_intp* places = block->places[t];
      const T* factors = block->factors[t];
      const bool* found = block->found[t];
      for (npy_intp k = 0; k < count; ++k) {
        const T value = plane[places[k]], term = (found[k] ? value : T(0)) * factors[k];
        out[k] = t == 0 ? term : out[k] + term;
      }
    }
  }
};

// What elements are made of, along both dimensions; the rows first.
template <class T>
void fill(Block<T>& block, const Along<T>& rows, const Along<T>& columns, bool nearest, const T* grid, npy_intp count) {
  for (npy_intp k = 0; k < count; ++k) {
    const T y = rows.inside(rows.place(grid[2 * k + 1])), x = columns.inside(columns.place(grid[2 * k]));
    const T low_y = nearest ? std::nearbyint(y) : std::floor(y), low_x = nearest ? std::nearbyint(x) : std::floor(x);
    const T part_y = y - low_y, part_x = x - low_x;
    const T by_y[] = {nearest ? T(1) : 1 - part_y, part_y}, by_x[] = {nearest ? T(1) : 1 - part_x, part_x};
    for (int t = 0; t < (nearest ? 1 : 4); ++t) {
      npy_intp row, column;
      const bool has_row = rows.find(low_y + static_cast<T>(t / 2), &row);
      const bool has_column = columns.find(low_x + static_cast<T>(t % 2), &column);
      block.places[t][k] = row * columns.size + column;
      block.found[t][k] = has_row && has_column;
      block.factors[t][k] = by_y[t / 2] * by_x[t % 2];
    }
  }
}

}  // namespace

namespace composites {

Ref grid_sampler(PyObject* input, PyObject* grid, PyObject* interpolation_mode, PyObject* padding_mode,
                 PyObject* align_corners) {
  if (kernels_replaced != 0 || (grad_enabled && (requires_grad(input) || requires_grad(grid)))) return Ref();
  PyArrayObject *images = array_of(input), *places = array_of(grid);
  const Kind kind = kind_of(images);
  npy_intp mode, padding;
  if (kind == Kind::kNone || PyArray_NDIM(images) != 4 || PyArray_NDIM(places) != 4) return Ref();
  if (!detail::read_int(interpolation_mode, &mode) || (mode != kBilinear && mode != kNearest)) return Ref();
  if (!detail::read_int(padding_mode, &padding) || padding < kZeros || padding > kReflection) return Ref();
  if (!PyBool_Check(align_corners) || PyArray_SIZE(images) == 0 || PyArray_SIZE(places) == 0) return Ref();
  if (PyArray_DIM(images, 0) != PyArray_DIM(places, 0) || PyArray_DIM(places, 3) != 2) return Ref();
  Ref in = usable(input, kind), at = usable(grid, kind);
  if (!in || !at) return Ref();
  const npy_intp sizes[] = {PyArray_DIM(images, 0), PyArray_DIM(images, 1), PyArray_DIM(places, 1),
                            PyArray_DIM(places, 2)};
  Ref out = new_array(4, sizes, kind);
  if (!out) return out;
  const npy_intp height = PyArray_DIM(images, 2), width = PyArray_DIM(images, 3);
  const npy_intp channels = sizes[1], count = sizes[2] * sizes[3], blocks = (count + kPlaces - 1) / kPlaces;
  const bool aligned = align_corners == Py_True, nearest = mode == kNearest;
  const bool done = run_for(kind, PyArray_SIZE(as_ndarray(out)), [&]<class T>(T) {
    const T *from = elements<const T>(as_ndarray(in)), *coordinates = elements<const T>(as_ndarray(at));
    T* to = elements<T>(as_ndarray(out));
    const Along<T> rows = {height, padding, aligned}, columns = {width, padding, aligned};
    const npy_intp grain = std::max<npy_intp>(1, kRowGrain / (kPlaces * channels));
    parallel_for(sizes[0] * blocks, grain, [&](npy_intp begin, npy_intp end) {
      Block<T> block;
      for (npy_intp i = begin; i < end; ++i) {
        const npy_intp image = i / blocks, first = i % blocks * kPlaces, some = std::min(kPlaces, count - first);
        fill(block, rows, columns, nearest, coordinates + 2 * (image * count + first), some);
        for (npy_intp c = image * channels; c < (image + 1) * channels; ++c) {
          run_best<Gather>(static_cast<const Block<T>*>(&block), nearest ? 1 : 4, some, from + c * height * width,
                           to + c * count + first);
        }
      }
    });
  });
  return done ? new_tensor(std::move(out)) : Ref();
}

}  // namespace composites

}  // namespace gradwright
