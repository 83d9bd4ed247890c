// Attention of several heads, forward and backward: native loops over float32 and float64 for what
// runtime/operators/kernels/attention.py does, under the same names.
//
// They take Tensors and give a tuple of arrays, and decline (null, no exception) whatever is unusual: other element types,
// shapes that do not fit.

#pragma once

#include "core.hpp"

namespace gradwright {

namespace kernels {

Ref flash_attention(PyObject* query, PyObject* key, PyObject* value, PyObject* dropout_p, PyObject* is_causal,
                    PyObject* attn_mask, PyObject* scale);
Ref flash_attention_backward(PyObject* grad_out, PyObject* query, PyObject* key, PyObject* value, PyObject* out,
                             PyObject* logsumexp, PyObject* dropout_p, PyObject* is_causal, PyObject* attn_mask,
                             PyObject* scale);

}  // namespace kernels

}  // namespace gradwright
