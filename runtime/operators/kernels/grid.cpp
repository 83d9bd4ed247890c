// Images and volumes at the points of a grid, with their gradients, over float32 and float64: the arithmetic is that of
// runtime/operators/kernels/_grid.py, and forward its results to the last bit.

#include <algorithm>
#include <cmath>
#include <limits>

#include "composites.hpp"
#include "contiguous.hpp"
#include "generations.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

constexpr int kBilinear = 0, kNearest = 1, kBicubic = 2;
constexpr int kZeros = 0, kBorder = 1, kReflection = 2;

// Points that are worked on at once, for all channels.
constexpr npy_intp kPoints = 128;

// A choice that is as wide as an element, so that loops choose in vectors: all bits or none.
template <class T>
using Choice = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// How many elements along a dimension a point is made of.
constexpr int taps_of(int mode) { return mode == kBilinear ? 2 : mode == kNearest ? 1 : 4; }
constexpr int neighbours_of(int mode, int dims) {
  return dims == 2 ? taps_of(mode) * taps_of(mode) : taps_of(mode) * taps_of(mode) * taps_of(mode);
}

// A dimension of the images.
template <class T>
struct Along {
  T last, size;
  // A coordinate from -1 to 1 is the place ((coordinate + 1) * many - less) * part among the elements.
  T many, less, part;
  T scale;      // how far a place moves with the coordinate
  T low, span;  // between which borders places are reflected

  Along(npy_intp count, bool align_corners)
      : last(static_cast<T>(count - 1)),
        size(static_cast<T>(count)),
        many(align_corners ? static_cast<T>(static_cast<double>(count - 1) / 2) : static_cast<T>(count)),
        less(align_corners ? T(0) : T(1)),
        part(align_corners ? T(1) : T(0.5)),
        scale(static_cast<T>(static_cast<double>(align_corners ? count - 1 : count) / 2)),
        low(align_corners ? T(0) : T(-0.5)),
        span(align_corners ? last : size) {}

  GRADWRIGHT_INLINE T place(T coordinate) const { return ((coordinate + 1) * many - less) * part; }

  // A place beyond the image as one in it, as the padding says, and how it moves.
  template <int padding>
  GRADWRIGHT_INLINE T inside(T at, T* direction) const {
    T sign = 1;
    if constexpr (padding == kReflection) {
      const T away = std::abs(at - low), turns = std::floor(away / span), rest = away - turns * span;
      const T half = turns * T(0.5);
      const bool is_even = std::floor(half) == half, is_below = at < low;
      sign = is_even == is_below ? T(-1) : T(1);
      const T forth = rest + low, back = span - rest + low;
      at = is_even ? forth : back;
    }
    // The choices stand one after the other, so that loops make them in vectors. What is NaN, as a place that is
    // reflected between borders that are one, becomes the first place.
    if constexpr (padding != kZeros) {
      const bool between = (at > 0) & (at < last);
      sign = between ? sign : T(0);
      at = at > 0 ? at : T(0);
      at = at < last ? at : last;
    }
    *direction = sign;
    return at;
  }
};

// The elements that points are made of, along a dimension.
template <class T, int mode>
struct Taps {
  int32_t index[taps_of(mode)][kPoints];  // 0 where there is no such element
  Choice<T> found[taps_of(mode)][kPoints];
  T weight[taps_of(mode)][kPoints], slope[taps_of(mode)][kPoints];
};

// The cubics of Keys (1981) that weigh the two elements near to a point and those farther away, by the distance.
template <class T>
struct Cubics {
  static constexpr T a = T(-0.75);
  static GRADWRIGHT_INLINE T near(T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
  static GRADWRIGHT_INLINE T wide(T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }
  static GRADWRIGHT_INLINE T near_slope(T x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; }
  static GRADWRIGHT_INLINE T wide_slope(T x) { return (3 * a * x - 10 * a) * x + 8 * a; }
};

template <int mode, int padding>
struct FindTaps {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Along<T>* where, const T* __restrict coordinates, npy_intp count,
                                    Taps<T, mode>* __restrict taps) {
    const Along<T> along = *where;
    for (npy_intp k = 0; k < count; ++k) {
      T at = along.place(coordinates[k]), direction = 1;
      if constexpr (mode != kBicubic) at = along.template inside<padding>(at, &direction);
      if constexpr (mode == kNearest) {
        put(along, taps, 0, k, std::nearbyint(at), T(1), T(0));
      } else {
        const T low = std::floor(at), part = at - low;
        if constexpr (mode == kBilinear) {
          const T slope = direction * along.scale;
          put(along, taps, 0, k, low, 1 - part, -slope);
          put(along, taps, 1, k, low + 1, part, slope);
        } else {
          using C = Cubics<T>;
          const T weights[] = {C::wide(part + 1), C::near(part), C::near(1 - part), C::wide(2 - part)};
          const T slopes[] = {C::wide_slope(part + 1) * along.scale, C::near_slope(part) * along.scale,
                              -(C::near_slope(1 - part) * along.scale), -(C::wide_slope(2 - part) * along.scale)};
          for (int tap = 0; tap < 4; ++tap) {
            const T place = along.template inside<padding>(low + static_cast<T>(tap - 1), &direction);
            put(along, taps, tap, k, place, weights[tap], slopes[tap]);
          }
        }
      }
    }
  }

  template <class T>
  static GRADWRIGHT_INLINE void put(const Along<T>& along, Taps<T, mode>* __restrict taps, int tap, npy_intp k, T at,
                                    T weight, T slope) {
    const bool found = at >= 0 && at <= along.last;
    taps->found[tap][k] = -static_cast<Choice<T>>(found);
    taps->index[tap][k] = static_cast<int32_t>(found ? at : T(0));
    taps->weight[tap][k] = weight;
    taps->slope[tap][k] = slope;
  }
};

// The elements that points are made of, in a plane: an image or a volume of a channel.
template <class T, int mode, int dims>
struct Block {
  static constexpr int kTaps = taps_of(mode), kNeighbours = neighbours_of(mode, dims);
  int32_t places[kNeighbours][kPoints];
  Choice<T> found[kNeighbours][kPoints];
  T factors[kNeighbours][kPoints];
};

// Which tap along a dimension a neighbour is of.
template <int mode, int dims>
constexpr int tap_of(int neighbour, int dim) {
  for (int other = dims - 1; other > dim; --other) neighbour /= taps_of(mode);
  return neighbour % taps_of(mode);
}

template <int mode, int dims>
struct Join {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Taps<T, mode>* __restrict taps, const int32_t* __restrict sizes,
                                    npy_intp count, Block<T, mode, dims>* __restrict block) {
    for (int n = 0; n < block->kNeighbours; ++n) {
      for (npy_intp k = 0; k < count; ++k) {
        const int first = tap_of<mode, dims>(n, 0);
        int32_t place = taps[0].index[first][k];
        Choice<T> found = taps[0].found[first][k];
        T factor = taps[0].weight[first][k];
        for (int dim = 1; dim < dims; ++dim) {
          const int tap = tap_of<mode, dims>(n, dim);
          place = place * sizes[dim] + taps[dim].index[tap][k];
          found &= taps[dim].found[tap][k];
          factor *= taps[dim].weight[tap][k];
        }
        block->places[n][k] = place;
        block->found[n][k] = found;
        // What is not in an image is multiplied by its weight, be that NaN; what is not in a volume is left out.
        block->factors[n][k] = dims == 2 || found ? factor : T(0);
      }
    }
  }
};

// A plane at the points.
struct Gather {
  template <class T, int mode, int dims>
  static GRADWRIGHT_INLINE void run(const Block<T, mode, dims>* __restrict block, npy_intp count,
                                    const T* __restrict plane, T* __restrict out) {
    for (npy_intp k = 0; k < count; ++k) {
      T total = 0;
      for (int n = 0; n < block->kNeighbours; ++n) {
        const T value = plane[block->places[n][k]];
        const T term = (block->found[n][k] ? value : T(0)) * block->factors[n][k];
        total = n == 0 ? term : total + term;
      }
      out[k] = total;
    }
  }
};

// The gradient of a plane.
struct Scatter {
  template <class T, int mode, int dims>
  static GRADWRIGHT_INLINE void run(const Block<T, mode, dims>* block, npy_intp count, const T* __restrict gradient,
                                    T* __restrict plane) {
    for (npy_intp k = 0; k < count; ++k) {
      for (int n = 0; n < block->kNeighbours; ++n) {
        if (block->found[n][k]) plane[block->places[n][k]] += gradient[k] * block->factors[n][k];
      }
    }
  }
};

// What each neighbour of the points counts for the gradient of its weight: a sum over the channels.
struct Correlate {
  template <class T, int mode, int dims>
  static GRADWRIGHT_INLINE void run(const Block<T, mode, dims>* __restrict block, npy_intp count,
                                    const T* __restrict gradient, const T* __restrict plane,
                                    T (*__restrict sums)[kPoints]) {
    for (int n = 0; n < block->kNeighbours; ++n) {
      for (npy_intp k = 0; k < count; ++k) {
        const T value = plane[block->places[n][k]];
        sums[n][k] += (block->found[n][k] ? value : T(0)) * gradient[k];
      }
    }
  }
};

// The gradient of the points; the coordinate along the last dimension comes first.
template <int mode, int dims>
struct Move {
  template <class T>
  static GRADWRIGHT_INLINE void run(const Taps<T, mode>* taps, const Block<T, mode, dims>* block, npy_intp count,
                                    const T (*sums)[kPoints], T* out) {
    for (int moved = 0; moved < dims; ++moved) {
      for (npy_intp k = 0; k < count; ++k) {
        T total = 0;
        for (int n = 0; n < neighbours_of(mode, dims); ++n) {
          T factor = 1;
          for (int dim = 0; dim < dims; ++dim) {
            const Taps<T, mode>& along = taps[dim];
            const int tap = tap_of<mode, dims>(n, dim);
            const T one = dim == moved ? along.slope[tap][k] : along.weight[tap][k];
            factor = dim == 0 ? one : factor * one;
          }
          const T part = sums[n][k] * factor;
          total += dims == 2 || block->found[n][k] ? part : T(0);
        }
        out[k * dims + (dims - 1 - moved)] = total;
      }
    }
  }
};

// What is asked for, of arrays that fit.
struct Request {
  Kind kind;
  int dims, mode, padding;
  bool align_corners;
  npy_intp batch, channels, sizes[3], plane, points;
};

template <class T, int mode_, int padding_, int dims_>
class Sampler {
 public:
  static constexpr int mode = mode_, padding = padding_, dims = dims_;

  Sampler(const Request& request, const T* images, const T* grid) : request_(request), images_(images), grid_(grid) {
    for (int dim = 0; dim < dims; ++dim) sizes_[dim] = static_cast<int32_t>(request.sizes[dim]);
  }

  void sample(T* out) const {
    const npy_intp blocks = (request_.points + kPoints - 1) / kPoints;
    parallel_for(request_.batch * blocks, grain(), [&](npy_intp begin, npy_intp end) {
      Work work;
      for (npy_intp i = begin; i < end; ++i) {
        const npy_intp image = i / blocks, first = i % blocks * kPoints;
        const npy_intp count = find(work, image, first);
        for (npy_intp c = image * request_.channels; c < (image + 1) * request_.channels; ++c) {
          run_best<Gather>(static_cast<const Joined*>(&work.block), count, images_ + c * request_.plane,
                           out + c * request_.points + first);
        }
      }
    });
  }

  // Each thread has planes of its own, so that a plane is summed in one order.
  void of_images(const T* gradient, T* out) const {
    const npy_intp threads = num_threads();
    const npy_intp groups = std::clamp<npy_intp>(threads / request_.batch, 1, request_.channels);
    const npy_intp work_of_one = request_.points * std::max<npy_intp>(1, request_.channels / groups);
    const npy_intp grain_of_images = std::max<npy_intp>(1, kRowGrain / std::max<npy_intp>(1, work_of_one));
    parallel_for(request_.batch * groups, grain_of_images, [&](npy_intp begin, npy_intp end) {
      Work work;
      for (npy_intp i = begin; i < end; ++i) {
        const npy_intp image = i / groups, group = i % groups;
        const npy_intp from = image * request_.channels + group * request_.channels / groups;
        const npy_intp to = image * request_.channels + (group + 1) * request_.channels / groups;
        std::fill(out + from * request_.plane, out + to * request_.plane, T(0));
        for (npy_intp first = 0; first < request_.points; first += kPoints) {
          const npy_intp count = find(work, image, first);
          for (npy_intp c = from; c < to; ++c) {
            run_best<Scatter>(static_cast<const Joined*>(&work.block), count, gradient + c * request_.points + first,
                              out + c * request_.plane);
          }
        }
      }
    });
  }

  void of_points(const T* gradient, T* out) const {
    if constexpr (mode == kNearest) {
      std::fill_n(out, request_.batch * request_.points * dims, T(0));
      return;
    }
    const npy_intp blocks = (request_.points + kPoints - 1) / kPoints;
    parallel_for(request_.batch * blocks, grain(), [&](npy_intp begin, npy_intp end) {
      Work work;
      T sums[neighbours_of(mode, dims)][kPoints];
      for (npy_intp i = begin; i < end; ++i) {
        const npy_intp image = i / blocks, first = i % blocks * kPoints;
        const npy_intp count = find(work, image, first);
        for (T* row = sums[0]; row != sums[0] + neighbours_of(mode, dims) * kPoints; row += kPoints) {
          std::fill_n(row, count, T(0));
        }
        for (npy_intp c = image * request_.channels; c < (image + 1) * request_.channels; ++c) {
          run_best<Correlate>(static_cast<const Joined*>(&work.block), count, gradient + c * request_.points + first,
                              images_ + c * request_.plane, sums);
        }
        run_best<Move<mode, dims>>(static_cast<const Taps<T, mode>*>(work.taps),
                                   static_cast<const Joined*>(&work.block), count,
                                   static_cast<const T (*)[kPoints]>(sums),
                                   out + (image * request_.points + first) * dims);
      }
    });
  }

 private:
  using Joined = Block<T, mode, dims>;
  struct Work {
    Taps<T, mode> taps[dims];
    Joined block;
  };

  npy_intp grain() const { return std::max<npy_intp>(1, kRowGrain / (kPoints * request_.channels)); }

  // What the points of a block are made of; their number.
  npy_intp find(Work& work, npy_intp image, npy_intp first) const {
    const npy_intp count = std::min(kPoints, request_.points - first);
    const T* points = grid_ + (image * request_.points + first) * dims;
    T coordinates[kPoints];
    for (int dim = 0; dim < dims; ++dim) {
      const Along<T> along(request_.sizes[dim], request_.align_corners);
      for (npy_intp k = 0; k < count; ++k) coordinates[k] = points[k * dims + (dims - 1 - dim)];
      run_best<FindTaps<mode, padding>>(&along, static_cast<const T*>(coordinates), count, &work.taps[dim]);
    }
    run_best<Join<mode, dims>>(static_cast<const Taps<T, mode>*>(work.taps), static_cast<const int32_t*>(sizes_), count,
                               &work.block);
    return count;
  }

  const Request& request_;
  const T* images_;
  const T* grid_;
  int32_t sizes_[dims];
};

// What the arguments ask for; null where all is well, else why it is Python's.
const char* read(PyObject* input, PyObject* grid, PyObject* interpolation_mode, PyObject* padding_mode,
                 PyObject* align_corners, int dims, Request* request) {
  PyArrayObject *images = array_of(input), *points = array_of(grid);
  request->kind = kind_of(images);
  request->dims = dims;
  if (request->kind == Kind::kNone || kind_of(points) != request->kind) return kNoLoop;
  if (PyArray_NDIM(images) != dims + 2 || PyArray_NDIM(points) != dims + 2) return "other dimensions";
  npy_intp mode, padding;
  if (!detail::read_int(interpolation_mode, &mode) || mode < kBilinear || mode > (dims == 2 ? kBicubic : kNearest)) {
    return "another interpolation";
  }
  if (!detail::read_int(padding_mode, &padding) || padding < kZeros || padding > kReflection) return "another padding";
  request->mode = static_cast<int>(mode);
  request->padding = static_cast<int>(padding);
  request->align_corners = align_corners == Py_True;
  if (!PyBool_Check(align_corners)) return "align_corners that is no bool";
  if (PyArray_SIZE(images) == 0 || PyArray_SIZE(points) == 0) return "nothing in images or grid";
  if (PyArray_DIM(images, 0) != PyArray_DIM(points, 0) || PyArray_DIM(points, dims + 1) != dims) {
    return "a grid that does not fit";
  }
  request->batch = PyArray_DIM(images, 0);
  request->channels = PyArray_DIM(images, 1);
  request->plane = request->points = 1;
  for (int dim = 0; dim < dims; ++dim) {
    request->sizes[dim] = PyArray_DIM(images, 2 + dim);
    request->plane *= request->sizes[dim];
    request->points *= PyArray_DIM(points, 1 + dim);
  }
  return request->plane > std::numeric_limits<int32_t>::max() ? "images of more than 2^31 elements" : nullptr;
}

template <class T, int mode, int dims, class Body>
void with_padding(const Request& request, const T* images, const T* grid, Body body) {
  switch (request.padding) {
    case kZeros:
      return body(Sampler<T, mode, kZeros, dims>(request, images, grid));
    case kBorder:
      return body(Sampler<T, mode, kBorder, dims>(request, images, grid));
    default:
      return body(Sampler<T, mode, kReflection, dims>(request, images, grid));
  }
}

// body(sampler) for what is asked for.
template <class T, class Body>
void with_sampler(const Request& request, const T* images, const T* grid, Body body) {
  if (request.dims == 3) {
    if (request.mode == kNearest) return with_padding<T, kNearest, 3>(request, images, grid, body);
    return with_padding<T, kBilinear, 3>(request, images, grid, body);
  }
  switch (request.mode) {
    case kBilinear:
      return with_padding<T, kBilinear, 2>(request, images, grid, body);
    case kNearest:
      return with_padding<T, kNearest, 2>(request, images, grid, body);
    default:
      return with_padding<T, kBicubic, 2>(request, images, grid, body);
  }
}

Ref sampled(PyObject* input, PyObject* grid, PyObject* interpolation_mode, PyObject* padding_mode,
            PyObject* align_corners, int dims) {
  Request request;
  const char* reason = read(input, grid, interpolation_mode, padding_mode, align_corners, dims, &request);
  if (reason != nullptr) return declined(reason);
  Ref images = usable(input, request.kind), points = usable(grid, request.kind);
  if (!images || !points) return Ref();
  npy_intp sizes[5] = {request.batch, request.channels};
  std::copy_n(PyArray_DIMS(as_ndarray(points)) + 1, dims, sizes + 2);
  Ref out = new_array(dims + 2, sizes, request.kind);
  if (!out) return out;
  const bool done = run_for(request.kind, PyArray_SIZE(as_ndarray(out)), [&]<class T>(T) {
    with_sampler<T>(request, elements<const T>(as_ndarray(images)), elements<const T>(as_ndarray(points)),
                    [&](const auto& sampler) { sampler.sample(elements<T>(as_ndarray(out))); });
  });
  return done ? std::move(out) : Ref();
}

// A pair of arrays, or None where one is not wanted.
Ref gradients(PyObject* grad_output, PyObject* input, PyObject* grid, PyObject* interpolation_mode,
              PyObject* padding_mode, PyObject* align_corners, PyObject* output_mask, int dims) {
  Request request;
  const char* reason = read(input, grid, interpolation_mode, padding_mode, align_corners, dims, &request);
  if (reason != nullptr) return declined(reason);
  PyArrayObject* given = array_of(grad_output);
  const npy_intp* sizes = PyArray_DIMS(given);
  if (kind_of(given) != request.kind || PyArray_NDIM(given) != dims + 2 || sizes[0] != request.batch ||
      sizes[1] != request.channels || !std::equal(sizes + 2, sizes + 2 + dims, PyArray_DIMS(array_of(grid)) + 1)) {
    return declined("a gradient that does not fit");
  }
  if (!PyTuple_CheckExact(output_mask) || PyTuple_GET_SIZE(output_mask) != 2) return declined("an odd mask");
  Ref images = usable(input, request.kind), points = usable(grid, request.kind);
  Ref gradient = usable(grad_output, request.kind);
  if (!images || !points || !gradient) return Ref();
  Ref results[2];
  for (int i = 0; i < 2; ++i) {
    PyObject* wanted = PyTuple_GET_ITEM(output_mask, i);
    if (!PyBool_Check(wanted)) return declined("an odd mask");
    const Ref& like = i == 0 ? images : points;
    results[i] = wanted == Py_True ? new_like(as_ndarray(like), request.kind) : Ref::borrow(Py_None);
    if (!results[i]) return Ref();
  }
  const bool done = run_for(request.kind, PyArray_SIZE(given), [&]<class T>(T) {
    const T* from = elements<const T>(as_ndarray(gradient));
    T *to_images = data_or_null<T>(results[0]), *to_points = data_or_null<T>(results[1]);
    with_sampler<T>(request, elements<const T>(as_ndarray(images)), elements<const T>(as_ndarray(points)),
                    [&](const auto& sampler) {
                      if (to_images != nullptr) sampler.of_images(from, to_images);
                      if (to_points != nullptr) sampler.of_points(from, to_points);
                    });
  });
  return !done ? Ref() : Ref(PyTuple_Pack(2, results[0].get(), results[1].get()));
}

Operator grid_sampler_2d_operator{"grid_sampler_2d_default"}, grid_sampler_3d_operator{"grid_sampler_3d_default"};

}  // namespace

namespace kernels {

Ref grid_sampler_2d(PyObject* input, PyObject* grid, PyObject* interpolation_mode, PyObject* padding_mode,
                    PyObject* align_corners) {
  return sampled(input, grid, interpolation_mode, padding_mode, align_corners, 2);
}
GRADWRIGHT_KERNEL(grid_sampler_2d, 5, tensors)

Ref grid_sampler_3d(PyObject* input, PyObject* grid, PyObject* interpolation_mode, PyObject* padding_mode,
                    PyObject* align_corners) {
  return sampled(input, grid, interpolation_mode, padding_mode, align_corners, 3);
}
GRADWRIGHT_KERNEL(grid_sampler_3d, 5, tensors)

Ref grid_sampler_2d_backward(PyObject* grad_output, PyObject* input, PyObject* grid, PyObject* interpolation_mode,
                             PyObject* padding_mode, PyObject* align_corners, PyObject* output_mask) {
  return gradients(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask, 2);
}
GRADWRIGHT_KERNEL(grid_sampler_2d_backward, 7, tensors)

Ref grid_sampler_3d_backward(PyObject* grad_output, PyObject* input, PyObject* grid, PyObject* interpolation_mode,
                             PyObject* padding_mode, PyObject* align_corners, PyObject* output_mask) {
  return gradients(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask, 3);
}
GRADWRIGHT_KERNEL(grid_sampler_3d_backward, 7, tensors)

}  // namespace kernels

namespace composites {

Ref grid_sampler(PyObject* input, PyObject* grid, PyObject* interpolation_mode, PyObject* padding_mode,
                 PyObject* align_corners) {
  const int ndim = detail::ndim_of(input);
  if ((ndim != 4 && ndim != 5) || detail::ndim_of(grid) != ndim) return Ref();
  Operator& sampler = ndim == 4 ? grid_sampler_2d_operator : grid_sampler_3d_operator;
  return sampler(input, grid, interpolation_mode, padding_mode, align_corners);
}
GRADWRIGHT_KERNEL(grid_sampler, 5, composite, by_sizes)

}  // namespace composites

}  // namespace gradwright
