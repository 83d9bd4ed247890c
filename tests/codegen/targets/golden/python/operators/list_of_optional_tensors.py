# - func: f(Tensor self, Tensor?[] indices) -> Tensor
#   dispatch: {CPU: indexed}
#
# - name: f(Tensor self, Tensor?[] indices) -> Tensor
#   self: grad
#   indices: non_differentiable


def f_default(self, indices=absent):
    """f(Tensor self, Tensor?[] indices) -> Tensor"""
    if type(self) in plain and all_plain_or_none(indices):
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array, [None if each is None else each._array for each in indices])
            except Exception:
                return f_default_op(self, indices)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self, indices)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if self._edge is not None and grad_mode.enabled:
                nodes.record_f_default(out, self, indices)
            return out
    return f_default_op(self, indices)


f_default_op = Operator(
    "f(Tensor self, Tensor?[] indices) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "indexed")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("indices", "Tensor?[]")), positional=2),
    record="f_default",
    differentiable=("self",),
    factors=(("self",),),
    in_float32=True,
    batching=("loop", (0, 1), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "indexed")
