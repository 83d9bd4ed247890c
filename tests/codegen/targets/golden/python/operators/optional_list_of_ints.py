# - func: f(Tensor self, int[1]? dim=None) -> Tensor
#   dispatch: {CPU: along}
#
# - name: f(Tensor self, int[1]? dim=None) -> Tensor
#   self: grad


def f_default(self, dim=None):
    """f(Tensor self, int[1]? dim=None) -> Tensor"""
    if type(self) in plain:
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            if dim is not None and type(dim) is not tuple:
                dim = int_tuple(dim, 1)
            try:
                result = f_default_kernel(self_array, dim)
            except Exception:
                return f_default_op(self, dim)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self, dim)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if self._edge is not None and grad_mode.enabled:
                nodes.record_f_default(out, self, dim)
            return out
    return f_default_op(self, dim)


f_default_op = Operator(
    "f(Tensor self, int[1]? dim=None) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "along")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("dim", "int[1]?", None)), positional=2),
    record="f_default",
    differentiable=("self",),
    factors=(("self",),),
    in_float32=True,
    batching=("along", (0,), (1,)),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "along")
