// How results lie in memory: the rules of runtime/base/layouts.py for what kernels gave, an array or several of them.

#pragma once

#include <initializer_list>

#include "core.hpp"

namespace gradwright {

// The dimensions from the innermost, sorted by the strides of `count` operands as PyTorch's TensorIterator does it: the
// first operand that tells two dimensions apart decides, and where none does they stay in the order of C.
// `step(operand, dimension)` is 0 where the operand is the same for all indices.
template <class Step>
void sort_dimensions(int ndim, const npy_intp* shape, int count, Step step, int* sorted) {
  const auto compare = [&](int inner, int outer) {
    for (int k = 0; k < count; ++k) {
      const npy_intp one = step(k, inner), other = step(k, outer);
      if (one == 0 || other == 0) continue;
      if (one != other) return one < other ? -1 : 1;
      if (shape[inner] > shape[outer]) return 1;
    }
    return 0;
  };
  for (int i = 0; i < ndim; ++i) sorted[i] = ndim - 1 - i;
  for (int i = 1; i < ndim; ++i) {
    int moved = i;
    for (int j = i - 1; j >= 0; --j) {
      const int order = compare(sorted[j], sorted[moved]);
      if (order < 0) break;
      if (order == 0) continue;
      std::swap(sorted[j], sorted[moved]);
      moved = j;
    }
  }
}

inline bool is_contiguous_array(PyObject* object) {
  return PyArray_CheckExact(object) && PyArray_IS_C_CONTIGUOUS(reinterpret_cast<PyArrayObject*>(object));
}

Ref made_contiguous(Ref result);
Ref made_iterated(Ref result, std::initializer_list<PyObject*> operands);

// In the order of the indices.
inline Ref lie_contiguous(Ref result) {
  if (result && is_contiguous_array(result.get())) return result;
  return made_contiguous(std::move(result));
}

// As operands lie, which are Tensors, None, or lists of them. Asked of every element-wise call, nearly all of which are
// of contiguous Tensors.
[[gnu::always_inline]] inline Ref lie_iterated(Ref result, std::initializer_list<PyObject*> operands) {
  bool contiguous = result && is_contiguous_array(result.get());
  for (PyObject* operand : operands) {
    contiguous = contiguous && operand != Py_None && !PyList_CheckExact(operand) && !PyTuple_CheckExact(operand) &&
                 PyArray_IS_C_CONTIGUOUS(array_of(operand));
  }
  return contiguous ? std::move(result) : made_iterated(std::move(result), operands);
}

// By a rule of Python, for the results that have their bit in `places`; the others are contiguous. Where all operands are
// contiguous, so are results.
Ref lie_by(PyObject* rule, Ref result, unsigned places, std::initializer_list<PyObject*> operands);

}  // namespace gradwright
