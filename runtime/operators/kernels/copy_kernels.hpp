// Kernels that are made of copies (copies.hpp), of a whole array or of its parts. Each does what the Python one of its name
// does, and declines (null, no exception) whatever is unusual or wrong.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref clone(PyObject* self);
Ref reshape_copy(PyObject* self, PyObject* size);
Ref flip(PyObject* self, PyObject* dims);
Ref roll(PyObject* self, PyObject* shifts, PyObject* dims);
Ref tril(PyObject* self, PyObject* diagonal);
Ref triu(PyObject* self, PyObject* diagonal);
Ref cat(PyObject* tensors, PyObject* dim);
Ref stack(PyObject* tensors, PyObject* dim);

}  // namespace kernels

}  // namespace gradwright
