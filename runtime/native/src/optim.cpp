#include "optim.hpp"

#include <cmath>

#include "kernels.hpp"
#include "parallel.hpp"

namespace gradwright {

namespace {

// The arrays of a step: the gradient, the parameter, and what the optimizer keeps for it.
constexpr int kMostArrays = 5;

struct Arrays {
  void* data[kMostArrays] = {};
  npy_intp size = 0;
  Kind kind = Kind::kNone;

  // Those of `objects` that are not None, all of one form; false if they have not, or may not be written.
  bool read(PyObject* const* objects, int count) {
    for (int i = 0; i < count; ++i) {
      if (objects[i] == Py_None) continue;
      if (!PyArray_CheckExact(objects[i])) return false;
      auto* array = reinterpret_cast<PyArrayObject*>(objects[i]);
      if (i == 0) {
        kind = kind_of(array);
        size = PyArray_SIZE(array);
      }
      if (kind == Kind::kNone || kind_of(array) != kind || PyArray_SIZE(array) != size ||
          !is_dense(array) || (i > 0 && !PyArray_ISWRITEABLE(array))) {
        return false;
      }
      data[i] = PyArray_DATA(array);
    }
    return true;
  }

  template <class T>
  T* at(int index) const {
    return static_cast<T*>(data[index]);
  }
};

// Python numbers as doubles; false, with an exception, where one is none.
bool read_numbers(PyObject* const* objects, int count, double* numbers) {
  for (int i = 0; i < count; ++i) {
    numbers[i] = PyFloat_AsDouble(objects[i]);
    if (numbers[i] == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

// `step(begin, end)` for all elements, in parts.
template <class Step>
void in_parts(npy_intp size, Step step) {
  ReleaseGil released(size >= kGrain);
  parallel_for(size, kGrain, step);
}

struct Sgd {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize, first;

  template <class T>
  void run(const Arrays& arrays) const {
    const T* grads = arrays.at<T>(0);
    T *params = arrays.at<T>(1), *buffer = arrays.at<T>(2);
    const T rate = static_cast<T>(lr), kept = static_cast<T>(momentum), decay = static_cast<T>(weight_decay);
    const T taken = static_cast<T>(1 - dampening);
    in_parts(arrays.size, [=, this](npy_intp begin, npy_intp end) {
      if (buffer == nullptr && !maximize && weight_decay == 0) {
        for (npy_intp i = begin; i < end; ++i) params[i] -= grads[i] * rate;
        return;
      }
      for (npy_intp i = begin; i < end; ++i) {
        T grad = maximize ? -grads[i] : grads[i];
        if (weight_decay != 0) grad += params[i] * decay;
        if (buffer != nullptr) {
          buffer[i] = first ? grad : buffer[i] * kept + (dampening == 0 ? grad : grad * taken);
          grad = nesterov ? grad + buffer[i] * kept : buffer[i];
        }
        params[i] -= grad * rate;
      }
    });
  }
};

struct Adam {
  double step, lr, beta1, beta2, eps, weight_decay;
  bool decoupled, maximize;

  template <class T>
  void run(const Arrays& arrays) const {
    const T* grads = arrays.at<T>(0);
    T *params = arrays.at<T>(1), *means = arrays.at<T>(2), *squares = arrays.at<T>(3);
    T* largest = arrays.at<T>(4);
    const T taken1 = static_cast<T>(1 - beta1), taken2 = static_cast<T>(1 - beta2);
    const T kept2 = static_cast<T>(beta2), small = static_cast<T>(eps);
    const T root = static_cast<T>(std::pow(1 - std::pow(beta2, step), 0.5));
    const T rate = static_cast<T>(lr / (1 - std::pow(beta1, step)));
    const bool added = weight_decay != 0 && !decoupled, reduced = weight_decay != 0 && decoupled;
    const T decay = static_cast<T>(weight_decay), shrink = static_cast<T>(1 - lr * weight_decay);
    in_parts(arrays.size, [=, this](npy_intp begin, npy_intp end) {
      for (npy_intp i = begin; i < end; ++i) {
        T grad = maximize ? -grads[i] : grads[i];
        T param = params[i];
        if (reduced) param *= shrink;
        if (added) grad += param * decay;
        means[i] += (grad - means[i]) * taken1;
        squares[i] = squares[i] * kept2 + grad * grad * taken2;
        T square = squares[i];
        if (largest != nullptr) {
          // NaN stays, as in np.maximum.
          if (!(largest[i] >= square || largest[i] != largest[i])) largest[i] = square;
          square = largest[i];
        }
        params[i] = param - means[i] / (std::sqrt(square) / root + small) * rate;
      }
    });
  }
};

template <class Step>
PyObject* run(const Step& step, const Arrays& arrays) {
  for_kind(arrays.kind, [&]<class T>(T) { step.template run<T>(arrays); });
  Py_RETURN_TRUE;
}

}  // namespace

PyObject* sgd_step(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 10) {
    PyErr_SetString(PyExc_TypeError,
                    "sgd(grad, param, buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first)");
    return nullptr;
  }
  Arrays arrays;
  if (!arrays.read(args, 3)) Py_RETURN_FALSE;
  double n[4];
  if (!read_numbers(args + 3, 4, n)) return nullptr;
  const Sgd step{n[0], n[1], n[2], n[3], PyObject_IsTrue(args[7]) == 1, PyObject_IsTrue(args[8]) == 1,
                 PyObject_IsTrue(args[9]) == 1};
  return run(step, arrays);
}

PyObject* adam_step(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 13) {
    PyErr_SetString(PyExc_TypeError,
                    "adam(grad, param, mean, square, largest, step, lr, beta1, beta2, eps, weight_decay, decoupled, "
                    "maximize)");
    return nullptr;
  }
  Arrays arrays;
  if (!arrays.read(args, 5)) Py_RETURN_FALSE;
  double n[6];
  if (!read_numbers(args + 5, 6, n)) return nullptr;
  const Adam step{n[0], n[1], n[2], n[3], n[4], n[5], PyObject_IsTrue(args[11]) == 1,
                  PyObject_IsTrue(args[12]) == 1};
  return run(step, arrays);
}

}  // namespace gradwright
