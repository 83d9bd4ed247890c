// Tensors made from sizes and numbers: the kernels of runtime/operators/kernels/factory.py, for float32, float64 and int64, and
// zeros of everything.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref zeros(PyObject* size, PyObject* dtype);
Ref ones(PyObject* size, PyObject* dtype);
Ref empty(PyObject* size, PyObject* dtype);
Ref full(PyObject* size, PyObject* fill_value, PyObject* dtype);
Ref scalar_tensor(PyObject* s, PyObject* dtype);

// In the shape, and where `dtype` is None in the dtype, of another tensor.
Ref zeros_like(PyObject* self, PyObject* dtype);
Ref ones_like(PyObject* self, PyObject* dtype);
Ref empty_like(PyObject* self, PyObject* dtype);
Ref full_like(PyObject* self, PyObject* fill_value, PyObject* dtype);
Ref new_zeros(PyObject* self, PyObject* size, PyObject* dtype);
Ref new_ones(PyObject* self, PyObject* size, PyObject* dtype);
Ref new_empty(PyObject* self, PyObject* size, PyObject* dtype);
Ref new_full(PyObject* self, PyObject* size, PyObject* fill_value, PyObject* dtype);

Ref arange(PyObject* end, PyObject* dtype);
Ref arange_start(PyObject* start, PyObject* end, PyObject* dtype);
Ref arange_start_step(PyObject* start, PyObject* end, PyObject* step, PyObject* dtype);
Ref linspace(PyObject* start, PyObject* end, PyObject* steps, PyObject* dtype);
Ref eye(PyObject* n, PyObject* dtype);
Ref eye_m(PyObject* n, PyObject* m, PyObject* dtype);

}  // namespace kernels

}  // namespace gradwright
