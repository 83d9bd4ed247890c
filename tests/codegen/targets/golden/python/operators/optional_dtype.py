# - func: f(Tensor self, *, ScalarType? dtype=None) -> Tensor
#   dispatch: {CPU: typed}
#
# - name: f(Tensor self, *, ScalarType? dtype=None) -> Tensor
#   self: grad


def f_default(self, *, dtype=None):
    """f(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    if type(self) in plain and (dtype is None or type(dtype) is dtypes.dtype):
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array, dtype and dtype.numpy)
            except Exception:
                return f_default_op(self, dtype=dtype)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self, dtype=dtype)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if self._edge is not None and grad_mode.enabled:
                nodes.record_f_default(out, self, dtype)
            return out
    return f_default_op(self, dtype=dtype)


f_default_op = Operator(
    "f(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "typed")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("dtype", "ScalarType?", None)), positional=1),
    record="f_default",
    differentiable=("self",),
    factors=(("self",),),
    in_float32=True,
    batching=("loop", (0,), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "typed")
