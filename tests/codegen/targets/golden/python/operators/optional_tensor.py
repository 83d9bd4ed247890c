# - func: f(Tensor self, Tensor? weight=None) -> Tensor
#   dispatch: {CPU: three}
#
# - name: f(Tensor self, Tensor? weight=None) -> Tensor
#   self, weight: of_both(grad, self, grad_input_mask)


def f_default(self, weight=None):
    """f(Tensor self, Tensor? weight=None) -> Tensor"""
    if type(self) in plain and (weight is None or type(weight) in plain):
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array, None if weight is None else weight._array)
            except Exception:
                return f_default_op(self, weight)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self, weight)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if (self._edge is not None or (weight is not None and weight._edge is not None)) and grad_mode.enabled:
                nodes.record_f_default(out, self, weight)
            return out
    return f_default_op(self, weight)


f_default_op = Operator(
    "f(Tensor self, Tensor? weight=None) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "three")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("weight", "Tensor?", None)), positional=2),
    record="f_default",
    differentiable=("self", "weight"),
    saves_self=True,
    in_float32=True,
    batching=("loop", (0, 1), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "three")
