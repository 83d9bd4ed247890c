#include "nll_loss.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "contiguous.hpp"
#include "pairwise.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

using namespace contiguous;

// Where the class of each row is; -1 for a row that is ignored. False: one of them is no class.
bool find_classes(const npy_int64* targets, npy_intp count, npy_intp classes, npy_intp ignored, npy_int64* places) {
  for (npy_intp i = 0; i < count; ++i) {
    const npy_int64 target = targets[i];
    if (target != ignored && (target < 0 || target >= classes)) return false;
    places[i] = target == ignored ? -1 : target;
  }
  return true;
}

// What the forward and the backward pass of the loss look at.
struct Classified {
  Kind kind;
  npy_intp rows, classes, reduction, ignored;
  std::unique_ptr<npy_int64[]> places;
};

// False: for the Python kernel.
bool classify(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction, PyObject* ignore_index,
              Classified& out) {
  PyArrayObject *scores = array_of(self), *targets = array_of(target);
  out.kind = kind_of(scores);
  if (out.kind == Kind::kNone || PyArray_NDIM(scores) != 2 || !is_dense(scores)) return false;
  out.rows = PyArray_DIM(scores, 0);
  out.classes = PyArray_DIM(scores, 1);
  if (PyArray_NDIM(targets) != 1 || PyArray_DIM(targets, 0) != out.rows || !is_dense(targets)) return false;
  if (PyArray_TYPE(targets) != NPY_INT64) return false;
  if (PyArray_SIZE(scores) == 0 || !detail::read_int(reduction, &out.reduction) ||
      !detail::read_int(ignore_index, &out.ignored)) {
    return false;
  }
  if (weight != Py_None) {
    PyArrayObject* weights = array_of(weight);
    if (kind_of(weights) != out.kind || !is_dense(weights) || PyArray_NDIM(weights) != 1) return false;
    if (PyArray_DIM(weights, 0) != out.classes) return false;
  }
  out.places.reset(new (std::nothrow) npy_int64[static_cast<size_t>(out.rows)]);
  if (!out.places) return false;
  return find_classes(elements<const npy_int64>(targets), out.rows, out.classes, out.ignored, out.places.get());
}

}  // namespace

namespace kernels {

Ref nll_loss_forward(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction, PyObject* ignore_index) {
  Classified all;
  if (!classify(self, target, weight, reduction, ignore_index, all)) return Ref();
  Ref output = new_array(all.reduction == 0 ? 1 : 0, &all.rows, all.kind), total = new_array(0, nullptr, all.kind);
  if (!output || !total) return Ref();
  const Held held{self, weight};
  const bool done = run_for(all.kind, all.rows, [&]<class T>(T) {
    const T *scores = elements<const T>(as_ndarray(held[0])), *weights = data_or_null<const T>(held[1]);
    std::vector<T> each(2 * all.rows);
    T *losses = all.reduction == 0 ? elements<T>(as_ndarray(output)) : each.data(), *counts = each.data() + all.rows;
    for (npy_intp i = 0; i < all.rows; ++i) {
      const npy_int64 place = all.places[i];
      counts[i] = place < 0 ? T(0) : weights == nullptr ? T(1) : weights[place];
      losses[i] = place < 0 ? T(0) : -scores[i * all.classes + place];
      if (place >= 0 && weights != nullptr) losses[i] *= counts[i];
    }
    T* total_weight = elements<T>(as_ndarray(total));
    if (all.reduction == 0) {
      *total_weight = 0;
      return;
    }
    *total_weight = T(0) + sum_dense(counts, all.rows);
    const T sum = T(0) + sum_dense(losses, all.rows);
    *elements<T>(as_ndarray(output)) = all.reduction == 1 ? sum / *total_weight : sum;
  });
  if (!done) return Ref();
  return Ref(PyTuple_Pack(2, output.get(), total.get()));
}

Ref nll_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction,
                      PyObject* ignore_index, PyObject* total_weight) {
  Classified all;
  if (!classify(self, target, weight, reduction, ignore_index, all)) return Ref();
  PyArrayObject* divisor = array_of(total_weight);
  if (kind_of(divisor) != all.kind || PyArray_NDIM(divisor) != 0 || !PyArray_ISALIGNED(divisor)) return Ref();
  Ref gradient = usable(grad_output, all.kind);
  if (!gradient || PyArray_SIZE(as_ndarray(gradient)) != (all.reduction == 0 ? all.rows : 1)) return Ref();
  Ref result = new_like(array_of(self), all.kind);
  if (!result) return result;
  const Held held{weight, total_weight};
  const bool done = run_for(all.kind, all.rows * all.classes, [&]<class T>(T) {
    const T *grad = elements<const T>(as_ndarray(gradient)), *weights = data_or_null<const T>(held[0]);
    T* out = elements<T>(as_ndarray(result));
    std::fill_n(out, all.rows * all.classes, T(0));
    for (npy_intp i = 0; i < all.rows; ++i) {
      const npy_int64 place = all.places[i];
      if (place < 0) continue;
      T value = -grad[all.reduction == 0 ? i : 0];
      if (all.reduction == 1) value /= *elements<const T>(divisor);
      out[i * all.classes + place] = weights == nullptr ? value : value * weights[place];
    }
  });
  return done ? std::move(result) : Ref();
}

}  // namespace kernels

}  // namespace gradwright
