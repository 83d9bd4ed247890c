#include "layouts.hpp"

#include <vector>

#include "copies.hpp"
#include "intrinsics.hpp"
#include "memory.hpp"

namespace gradwright {

namespace {

constexpr int kMostDims = 32;

// The arrays of operands, without those that are None.
void collect(PyObject* operand, std::vector<PyArrayObject*>& found) {
  if (operand == Py_None) return;
  if (PyList_CheckExact(operand) || PyTuple_CheckExact(operand)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(operand); ++i) {
      collect(PySequence_Fast_GET_ITEM(operand, i), found);
    }
  } else {
    found.push_back(array_of(operand));
  }
}

bool is_contiguous_operand(PyObject* operand) {
  if (operand == Py_None) return true;
  if (!PyList_CheckExact(operand) && !PyTuple_CheckExact(operand)) return PyArray_IS_C_CONTIGUOUS(array_of(operand));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(operand); ++i) {
    if (!is_contiguous_operand(PySequence_Fast_GET_ITEM(operand, i))) return false;
  }
  return true;
}

bool are_contiguous(std::initializer_list<PyObject*> operands) {
  for (PyObject* operand : operands) {
    if (!is_contiguous_operand(operand)) return false;
  }
  return true;
}

// A dense copy, the dimensions in this order from the innermost; the array itself where it is one.
Ref arranged(Ref array, const int* sorted) {
  PyArrayObject* given = as_ndarray(array);
  const int ndim = PyArray_NDIM(given);
  npy_intp strides[kMostDims], step = PyArray_ITEMSIZE(given);
  bool lies = true;
  for (int i = 0; i < ndim; ++i) {
    strides[sorted[i]] = step;
    lies = lies && (PyArray_DIM(given, sorted[i]) <= 1 || PyArray_STRIDE(given, sorted[i]) == step);
    step *= PyArray_DIM(given, sorted[i]);
  }
  if (lies || PyArray_SIZE(given) == 0) return array;
  PyArray_Descr* dtype = PyArray_DESCR(given);
  Py_INCREF(dtype);
  Ref out = new_array(dtype, ndim, PyArray_DIMS(given), strides);
  if (!out || copy_array(given, as_ndarray(out))) return out;
  return PyArray_CopyInto(as_ndarray(out), given) < 0 ? Ref() : std::move(out);
}

Ref contiguous_array(Ref array) {
  if (PyArray_IS_C_CONTIGUOUS(as_ndarray(array))) return array;
  Ref out = contiguous_copy(as_ndarray(array));
  if (out || PyErr_Occurred()) return out;
  return Ref(PyArray_NewCopy(as_ndarray(array), NPY_CORDER));
}

Ref iterated_array(Ref array, const std::vector<PyArrayObject*>& operands) {
  PyArrayObject* given = as_ndarray(array);
  const int ndim = PyArray_NDIM(given);
  if (ndim < 2 || ndim > kMostDims) return contiguous_array(std::move(array));
  std::vector<PyArrayObject*> known;
  for (PyArrayObject* operand : operands) {
    if (PyArray_NDIM(operand) <= ndim) known.push_back(operand);
  }
  int sorted[kMostDims];
  const auto step = [&](int k, int dim) {
    PyArrayObject* operand = known[static_cast<size_t>(k)];
    const int own = dim - (ndim - PyArray_NDIM(operand));
    if (own < 0 || (PyArray_DIM(operand, own) == 1 && PyArray_DIM(given, dim) != 1)) return npy_intp{0};
    return static_cast<npy_intp>(std::abs(PyArray_STRIDE(operand, own)));
  };
  sort_dimensions(ndim, PyArray_DIMS(given), static_cast<int>(known.size()), step, sorted);
  return arranged(std::move(array), sorted);
}

// `lay` of an array, or of all arrays in a list or tuple, with their places; None stays.
template <class Lay>
Ref each(Ref result, Lay lay) {
  if (!result) return result;
  if (!PyList_CheckExact(result.get()) && !PyTuple_CheckExact(result.get())) {
    Ref array = as_array(std::move(result));
    return array ? lay(std::move(array), 0) : std::move(array);
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(result.get());
  Ref laid(PyList_New(count));
  for (Py_ssize_t i = 0; laid && i < count; ++i) {
    Ref item = Ref::borrow(PySequence_Fast_GET_ITEM(result.get(), i));
    if (item.get() != Py_None) {
      item = as_array(std::move(item));
      if (item) item = lay(std::move(item), i);
      if (!item) return Ref();
    }
    PyList_SET_ITEM(laid.get(), i, item.release());
  }
  return laid;
}

}  // namespace

Ref made_contiguous(Ref result) {
  return each(std::move(result), [](Ref array, Py_ssize_t) { return contiguous_array(std::move(array)); });
}

Ref made_iterated(Ref result, std::initializer_list<PyObject*> operands) {
  if (!result || are_contiguous(operands)) return lie_contiguous(std::move(result));
  std::vector<PyArrayObject*> arrays;
  for (PyObject* operand : operands) collect(operand, arrays);
  return each(std::move(result), [&](Ref array, Py_ssize_t) { return iterated_array(std::move(array), arrays); });
}

Ref lie_by(PyObject* rule, Ref result, unsigned places, std::initializer_list<PyObject*> operands) {
  if (!result || (operands.size() > 0 && are_contiguous(operands))) return lie_contiguous(std::move(result));
  Ref others(PyList_New(0));  // the arrays of the operands, in their places
  const auto add = [&](PyObject* operand) {
    return PyList_Append(others.get(), operand == Py_None ? Py_None : array_object(operand)) == 0;
  };
  for (PyObject* operand : operands) {
    if (!others) return Ref();
    if (!PyList_CheckExact(operand) && !PyTuple_CheckExact(operand)) {
      if (!add(operand)) return Ref();
      continue;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(operand); ++i) {
      if (!add(PySequence_Fast_GET_ITEM(operand, i))) return Ref();
    }
  }
  return each(std::move(result), [&](Ref array, Py_ssize_t place) {
    if (!(places >> place & 1)) return contiguous_array(std::move(array));
    Ref arguments(PyTuple_New(1 + PyList_GET_SIZE(others.get())));
    if (!arguments) return Ref();
    PyTuple_SET_ITEM(arguments.get(), 0, array.release());
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(others.get()); ++i) {
      PyTuple_SET_ITEM(arguments.get(), i + 1, Ref::borrow(PyList_GET_ITEM(others.get(), i)).release());
    }
    return Ref(PyObject_CallObject(rule, arguments.get()));
  });
}

}  // namespace gradwright
