#include "losses.hpp"

#include "kernels.hpp"

namespace gradwright {

namespace {

enum Reduction : long { kNone, kMean, kSum };

// The arguments that both directions have, taken apart.
struct Rows {
  Kind kind;
  npy_intp count, classes;
  const npy_int64* target;
  const void* weight;  // of each class, or null
  long reduction;
  long long ignored;

  // False without an exception: not a plain case.
  bool read(PyObject* self, PyObject* target_tensor, PyObject* weight_tensor, PyObject* reduction_number,
            PyObject* ignore_index) {
    PyArrayObject *scores = array_of(self), *chosen = array_of(target_tensor);
    kind = kind_of(scores);
    if (kind == Kind::kNone || PyArray_NDIM(scores) != 2 || PyArray_NDIM(chosen) != 1) return false;
    count = PyArray_DIM(scores, 0);
    classes = PyArray_DIM(scores, 1);
    if (PyArray_DIM(chosen, 0) != count || PyArray_TYPE(chosen) != NPY_INT64 ||
        PyArray_ISBYTESWAPPED(chosen) || !detail::is_dense(chosen)) {
      return false;
    }
    target = static_cast<const npy_int64*>(PyArray_DATA(chosen));
    weight = nullptr;
    if (weight_tensor != Py_None) {
      PyArrayObject* weights = array_of(weight_tensor);
      if (kind_of(weights) != kind || !detail::is_dense(weights) || PyArray_NDIM(weights) != 1 ||
          PyArray_DIM(weights, 0) != classes) {
        return false;
      }
      weight = PyArray_DATA(weights);
    }
    if (!PyLong_CheckExact(reduction_number) || !PyLong_CheckExact(ignore_index)) return false;
    int overflow;
    reduction = PyLong_AsLongAndOverflow(reduction_number, &overflow);
    if (overflow != 0 || reduction < kNone || reduction > kSum) return false;
    ignored = PyLong_AsLongLongAndOverflow(ignore_index, &overflow);
    return overflow == 0;
  }

  // Whether all targets are classes, but for those that are ignored.
  bool are_classes() const {
    for (npy_intp i = 0; i < count; ++i) {
      if ((target[i] < 0 || target[i] >= classes) && target[i] != ignored) return false;
    }
    return true;
  }
};

Ref new_array(Kind kind, int ndim, const npy_intp* dims) {
  return Ref(PyArray_SimpleNew(ndim, dims, kind == Kind::kFloat32 ? NPY_FLOAT : NPY_DOUBLE));
}
template <class T>
T* data_of(const Ref& array) {
  return static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.get())));
}

// The sum of dense values, pairwise as all sums of NumPy are.
template <class T>
T sum_of(T* values, npy_intp size, const Loop& loop) {
  T total = 0;
  char* args[] = {reinterpret_cast<char*>(&total), reinterpret_cast<char*>(values),
                  reinterpret_cast<char*>(&total)};
  const npy_intp steps[] = {0, sizeof(T), 0};
  if (size > 0) loop.function(args, &size, steps, loop.data);
  return total;
}

template <class T>
Ref forward(const Rows& rows, PyArrayObject* scores) {
  const Loop* loop = kernels::add::ufunc.loop(kTypeNumber<T>);
  if (loop == nullptr) return Ref();
  Ref losses = new_array(rows.kind, 1, &rows.count);
  Ref total_weight = new_array(rows.kind, 0, nullptr);
  if (!losses || !total_weight) return Ref();
  T* values = data_of<T>(losses);
  const auto* weight = static_cast<const T*>(rows.weight);
  const npy_intp row_step = PyArray_STRIDE(scores, 0), column_step = PyArray_STRIDE(scores, 1);
  const char* row = PyArray_BYTES(scores);
  npy_intp counted = 0;
  for (npy_intp i = 0; i < rows.count; ++i, row += row_step) {
    const npy_intp chosen = rows.target[i];
    if (chosen == rows.ignored) {
      values[i] = 0;
      continue;
    }
    ++counted;
    values[i] = -*reinterpret_cast<const T*>(row + chosen * column_step);
    if (weight != nullptr) values[i] *= weight[chosen];
  }
  T& sum = *data_of<T>(total_weight);
  if (rows.reduction == kNone) {
    sum = 0;
    return Ref(PyTuple_Pack(2, losses.get(), total_weight.get()));
  }
  Ref output = new_array(rows.kind, 0, nullptr);
  if (!output) return output;
  T& loss = *data_of<T>(output);
  loss = sum_of(values, rows.count, *loop);
  sum = static_cast<T>(counted);
  if (weight != nullptr) {
    for (npy_intp i = 0; i < rows.count; ++i) {
      values[i] = rows.target[i] == rows.ignored ? T(0) : weight[rows.target[i]];
    }
    sum = sum_of(values, rows.count, *loop);
  }
  if (rows.reduction == kMean) loss /= sum;
  return Ref(PyTuple_Pack(2, output.get(), total_weight.get()));
}

template <class T>
Ref backward(const Rows& rows, PyArrayObject* gradient, PyArrayObject* total_weight) {
  const npy_intp dims[] = {rows.count, rows.classes};
  Ref out(PyArray_ZEROS(2, const_cast<npy_intp*>(dims),
                        rows.kind == Kind::kFloat32 ? NPY_FLOAT : NPY_DOUBLE, 0));
  if (!out) return out;
  T* row = data_of<T>(out);
  const auto* weight = static_cast<const T*>(rows.weight);
  const auto* grads = static_cast<const T*>(PyArray_DATA(gradient));
  const npy_intp step = PyArray_NDIM(gradient) == 0 ? 0 : 1;
  const bool divided = rows.reduction == kMean;
  const T divisor = divided ? *static_cast<const T*>(PyArray_DATA(total_weight)) : T(1);
  for (npy_intp i = 0; i < rows.count; ++i, row += rows.classes) {
    const npy_intp chosen = rows.target[i];
    if (chosen == rows.ignored) continue;
    T value = -grads[i * step];
    if (divided) value /= divisor;
    row[chosen] = weight == nullptr ? value : value * weight[chosen];
  }
  return out;
}

}  // namespace

namespace kernels {

Ref nll_loss_forward(PyObject* self, PyObject* target, PyObject* weight, PyObject* reduction,
                     PyObject* ignore_index) {
  Rows rows;
  if (!rows.read(self, target, weight, reduction, ignore_index) || !rows.are_classes()) return Ref();
  PyArrayObject* scores = array_of(self);
  if (!PyArray_ISALIGNED(scores)) return Ref();
  return rows.kind == Kind::kFloat32 ? forward<float>(rows, scores) : forward<double>(rows, scores);
}

Ref nll_loss_backward(PyObject* grad_output, PyObject* self, PyObject* target, PyObject* weight,
                      PyObject* reduction, PyObject* ignore_index, PyObject* total_weight) {
  Rows rows;
  if (!rows.read(self, target, weight, reduction, ignore_index) || !rows.are_classes()) return Ref();
  PyArrayObject *gradient = array_of(grad_output), *divisor = array_of(total_weight);
  if (kind_of(gradient) != rows.kind || !detail::is_dense(gradient) || kind_of(divisor) != rows.kind ||
      PyArray_NDIM(divisor) != 0 || !detail::is_dense(divisor)) {
    return Ref();
  }
  const bool fits = rows.reduction == kNone
                        ? PyArray_NDIM(gradient) == 1 && PyArray_DIM(gradient, 0) == rows.count
                        : PyArray_NDIM(gradient) == 0;
  if (!fits) return Ref();
  return rows.kind == Kind::kFloat32 ? backward<float>(rows, gradient, divisor)
                                     : backward<double>(rows, gradient, divisor);
}

}  // namespace kernels

}  // namespace gradwright
