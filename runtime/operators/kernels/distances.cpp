// Gradients of distances of the orders 1, 2 and infinity: as in runtime/operators/kernels/distances.py, pair by pair.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "contiguous.hpp"
#include "generations.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

// The derivative of a norm by an element of what it is of, but for a factor, which the gradient is given.
struct OfOne {
  template <class T>
  static GRADWRIGHT_INLINE T factor(T grad, T) { return grad; }
  template <class T>
  static GRADWRIGHT_INLINE T slope(T x, T) { return T(x > 0) - T(x < 0) + (x != x ? x : T(0)); }
};
struct OfTwo {
  template <class T>
  static GRADWRIGHT_INLINE T factor(T grad, T distance) { return distance == 0 ? T(0) : grad / distance; }
  template <class T>
  static GRADWRIGHT_INLINE T slope(T x, T) { return x; }
};
struct OfGreatest {
  template <class T>
  static GRADWRIGHT_INLINE T factor(T grad, T distance) { return distance == 0 ? T(0) : grad; }
  template <class T>
  static GRADWRIGHT_INLINE T slope(T x, T distance) { return std::fabs(x) == distance ? OfOne::slope(x, distance) : T(0); }
};

// The gradients of one vector and, where they are wanted, of those that it has distances from.
template <class F, bool both>
struct Pairs {
  template <class T>
  static GRADWRIGHT_INLINE void run(const T* vector, const T* others, npy_intp count, npy_intp size, const T* grad,
                                    const T* distances, T* out, T* outs) {
    for (npy_intp j = 0; j < count; ++j) {
      const T *other = others + j * size, distance = distances[j], factor = F::factor(grad[j], distance);
      T* out_of_other = outs + j * size;
      GRADWRIGHT_INDEPENDENT
      for (npy_intp k = 0; k < size; ++k) {
        const T part = factor * F::slope(vector[k] - other[k], distance);
        out[k] += part;
        if constexpr (both) out_of_other[k] -= part;
      }
    }
  }
};

template <class T>
using RunPairs = void (*)(const T*, const T*, npy_intp, npy_intp, const T*, const T*, T*, T*);

template <class F, bool both, class T>
void run_pairs(const T* vector, const T* others, npy_intp count, npy_intp size, const T* grad, const T* distances, T* out,
               T* outs) {
  run_best<Pairs<F, both>>(vector, others, count, size, grad, distances, out, outs);
}

// Null for an order that NumPy is quick enough for.
template <bool both, class T>
RunPairs<T> pairs_of(double order) {
  if (order == 1) return run_pairs<OfOne, both, T>;
  if (order == 2) return run_pairs<OfTwo, both, T>;
  return std::isinf(order) ? run_pairs<OfGreatest, both, T> : nullptr;
}

double order_of(PyObject* p) { return PyFloat_Check(p) ? PyFloat_AS_DOUBLE(p) : PyLong_Check(p) ? PyLong_AsDouble(p) : 0; }

constexpr char kOddDistances[] = "no loop for this order of norms, or these dtypes";

bool has_dims(const Ref& array, std::initializer_list<npy_intp> sizes) {
  auto* given = as_ndarray(array);
  return PyArray_NDIM(given) == static_cast<int>(sizes.size()) &&
         std::equal(sizes.begin(), sizes.end(), PyArray_DIMS(given));
}

}  // namespace

namespace kernels {

Ref pdist_backward(PyObject* grad, PyObject* self, PyObject* p, PyObject* pdist) {
  const Kind kind = kind_of(array_of(self));
  const double order = order_of(p);
  if (kind == Kind::kNone || PyArray_NDIM(array_of(self)) != 2 || pairs_of<true, double>(order) == nullptr) {
    return declined(kOddDistances);
  }
  const npy_intp rows = PyArray_DIM(array_of(self), 0), size = PyArray_DIM(array_of(self), 1);
  const npy_intp pairs = rows * (rows - 1) / 2;
  Ref vectors = usable(self, kind), grads = usable(grad, kind), distances = usable(pdist, kind);
  if (!vectors || !grads || !distances || !has_dims(grads, {pairs}) || !has_dims(distances, {pairs})) {
    return PyErr_Occurred() ? Ref() : declined(kOddDistances);
  }
  Ref result = new_like(array_of(self), kind);
  if (!result) return result;
  const bool done = run_for(kind, pairs * size, [&]<class T>(T) {
    const T *all = elements<const T>(as_ndarray(vectors)), *given = elements<const T>(as_ndarray(grads));
    const T* lengths = elements<const T>(as_ndarray(distances));
    T* out = elements<T>(as_ndarray(result));
    std::fill_n(out, rows * size, T(0));
    const auto run = pairs_of<true, T>(order);
    for (npy_intp i = 0; i < rows; ++i) {
      const npy_intp others = rows - 1 - i;
      run(all + i * size, all + (i + 1) * size, others, size, given, lengths, out + i * size, out + (i + 1) * size);
      given += others;
      lengths += others;
    }
  });
  return done ? std::move(result) : Ref();
}
GRADWRIGHT_KERNEL(pdist_backward, 4, tensors)

Ref cdist_backward(PyObject* grad, PyObject* x1, PyObject* x2, PyObject* p, PyObject* cdist) {
  PyArrayObject *left = array_of(x1), *right = array_of(x2);
  const Kind kind = kind_of(left);
  const double order = order_of(p);
  const int ndim = PyArray_NDIM(left);
  if (kind == Kind::kNone || ndim < 2 || PyArray_NDIM(right) != ndim || pairs_of<false, double>(order) == nullptr ||
      !std::equal(PyArray_DIMS(left), PyArray_DIMS(left) + ndim - 2, PyArray_DIMS(right))) {
    return declined(kOddDistances);
  }
  const npy_intp rows = PyArray_DIM(left, ndim - 2), columns = PyArray_DIM(right, ndim - 2);
  const npy_intp size = PyArray_DIM(left, ndim - 1);
  const npy_intp batch = PyArray_MultiplyList(PyArray_DIMS(left), ndim - 2);
  Ref first = usable(x1, kind), second = usable(x2, kind), grads = usable(grad, kind), distances = usable(cdist, kind);
  if (!first || !second || !grads || !distances) return PyErr_Occurred() ? Ref() : declined(kOddDistances);
  if (PyArray_SIZE(as_ndarray(grads)) != batch * rows * columns || PyArray_DIM(right, ndim - 1) != size ||
      PyArray_SIZE(as_ndarray(distances)) != batch * rows * columns) {
    return declined(kOddDistances);
  }
  Ref result = new_like(left, kind);
  if (!result) return result;
  const bool done = run_for(kind, batch * rows * columns * size, [&]<class T>(T) {
    const T *vectors = elements<const T>(as_ndarray(first)), *others = elements<const T>(as_ndarray(second));
    const T *given = elements<const T>(as_ndarray(grads)), *lengths = elements<const T>(as_ndarray(distances));
    T* out = elements<T>(as_ndarray(result));
    std::fill_n(out, batch * rows * size, T(0));
    const auto run = pairs_of<false, T>(order);
    const npy_intp grain = std::max<npy_intp>(1, kGrain / std::max<npy_intp>(1, columns * size));
    parallel_for(batch * rows, grain, [&](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) {
        run(vectors + i * size, others + i / rows * columns * size, columns, size, given + i * columns,
            lengths + i * columns, out + i * size, nullptr);
      }
    });
  });
  return done ? std::move(result) : Ref();
}
GRADWRIGHT_KERNEL(cdist_backward, 5, tensors)

}  // namespace kernels

}  // namespace gradwright
