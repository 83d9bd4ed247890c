# - func: f(Tensor self, Scalar other) -> Tensor
#   dispatch: {CPU: two}
#
# - name: f(Tensor self, Scalar other) -> Tensor
#   self: grad


def f_default(self, other=absent):
    """f(Tensor self, Scalar other) -> Tensor"""
    if type(self) in plain and type(other) in real_numbers:
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array, other)
            except Exception:
                return f_default_op(self, other)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self, other)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if self._edge is not None and grad_mode.enabled:
                nodes.record_f_default(out, self, other)
            return out
    return f_default_op(self, other)


f_default_op = Operator(
    "f(Tensor self, Scalar other) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "two")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("other", "Scalar")), positional=2),
    record="f_default",
    differentiable=("self",),
    in_float32=True,
    batching=("loop", (0,), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "two")
