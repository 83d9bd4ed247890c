# - func: f(Tensor self, int[2] size) -> Tensor
#   dispatch: {CPU: sized}
#
# - name: f(Tensor self, int[2] size) -> Tensor
#   self: grad


def f_default(self, size=absent):
    """f(Tensor self, int[2] size) -> Tensor"""
    if type(self) in plain:
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            if type(size) is not tuple:
                size = int_tuple(size, 2)
            try:
                result = f_default_kernel(self_array, size)
            except Exception:
                return f_default_op(self, size)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self, size)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if self._edge is not None and grad_mode.enabled:
                nodes.record_f_default(out, self, size)
            return out
    return f_default_op(self, size)


f_default_op = Operator(
    "f(Tensor self, int[2] size) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "sized")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("size", "int[2]")), positional=2),
    record="f_default",
    differentiable=("self",),
    factors=(("self",),),
    in_float32=True,
    batching=("loop", (0,), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "sized")
