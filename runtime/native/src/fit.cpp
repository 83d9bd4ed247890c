#include "fit.hpp"

#include "conversions.hpp"
#include "engine.hpp"
#include "kernels.hpp"
#include "views.hpp"

namespace gradwright {

namespace {

// The sum of the rows, one after the other, which is how NumPy adds them up.
template <class T>
void sum_rows(const T* rows, npy_intp count, npy_intp size, T* sum) {
  std::fill(sum, sum + size, T(0));  // so that -0 and -0 give 0
  for (npy_intp row = 0; row < count; ++row) {
    const T* term = rows + row * size;
    for (npy_intp i = 0; i < size; ++i) sum[i] += term[i];
  }
}

}  // namespace

PyArrayObject* checked_array(PyObject* grad) {
  if (is_tensor(grad)) {
    PyObject*& array = as_tensor(grad)->array;
    if (array != nullptr && PyArray_Check(array)) return reinterpret_cast<PyArrayObject*>(array);
    if (array != nullptr && PyArray_CheckScalar(array)) {  // an expression of NumPy's gave it; Python works with it
      PyObject* made = PyArray_FromAny(array, nullptr, 0, 0, NPY_ARRAY_ENSUREARRAY, nullptr);
      if (made != nullptr) Py_SETREF(array, made);
      return reinterpret_cast<PyArrayObject*>(made);
    }
  }
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '_array'", Py_TYPE(grad)->tp_name);
  return nullptr;
}

PyObject* fit(PyObject* grad, PyObject* target, PyObject* source) {
  PyObject* args[] = {grad, target, source};
  PyObject* fitted = PyObject_Vectorcall(engine_callbacks.fit, args, 3, nullptr);
  Py_DECREF(grad);
  return fitted;
}

PyObject* fit(PyObject* grad, PyObject* target, PyObject* dtype, int ndim, const npy_intp* dims, PyObject* source) {
  const bool records = grad_enabled && as_tensor(grad)->edge != Py_None;
  if (is_plain(grad) && !records) {
    PyArrayObject* array = array_of(grad);
    Ref fitted;
    if (has_dtype(array, dtype)) {
      fitted = sum_leading(array, ndim, dims);
    } else if (has_dims(array, ndim, dims)) {
      fitted = converted(array, reinterpret_cast<PyArray_Descr*>(dtype));
    }
    if (fitted) {
      Py_DECREF(grad);
      return new_tensor(std::move(fitted)).release();
    }
    if (PyErr_Occurred()) {
      Py_DECREF(grad);
      return nullptr;
    }
  }
  return fit(grad, target, source);
}

PyObject* fit_output(PyObject* node, Py_ssize_t output_nr, PyObject* grad, PyObject* source) {
  PyObject* number = PyLong_FromSsize_t(output_nr);
  PyObject* args[] = {node, number, grad, source};
  PyObject* fitted = number == nullptr ? nullptr : PyObject_Vectorcall(engine_callbacks.fit_output, args, 4, nullptr);
  Py_XDECREF(number);
  Py_DECREF(grad);
  return fitted;
}

Ref sum_leading(PyArrayObject* grad, int ndim, const npy_intp* dims) {
  const Kind kind = kind_of(grad);
  const int lead = PyArray_NDIM(grad) - ndim;
  if (kind == Kind::kNone || lead <= 0 || !is_dense(grad)) return Ref();
  if (!std::equal(dims, dims + ndim, PyArray_DIMS(grad) + lead)) return Ref();
  const npy_intp size = detail::product(dims, ndim);
  // A single column NumPy adds up in pairs.
  if (size < 2 || PyArray_SIZE(grad) == 0) return Ref();
  Ref sum = new_array_of(grad, ndim, dims);
  if (!sum) return sum;
  const npy_intp count = PyArray_SIZE(grad) / size;
  for_kind(kind, [&]<class T>(T) { sum_rows(elements<const T>(grad), count, size, elements<T>(as_ndarray(sum))); });
  return sum;
}

}  // namespace gradwright
