# - func: f(Tensor self) -> Tensor
#   dispatch: {CPU: one}
#   autogen: f.out


def f_default(self, *, out=None):
    """f(Tensor self) -> Tensor"""
    if out is not None:
        return f_default_op.out(out, self)
    if type(self) in plain:
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array)
            except Exception:
                return f_default_op(self)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if self._edge is not None:
                f_default_op.undifferentiable(out)
            return out
    return f_default_op(self)


f_default_op = Operator(
    "f(Tensor self) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "one")},
    facts=SignatureFacts(arguments=(("self", "Tensor"),), positional=1),
    in_float32=True,
    batching=("loop", (0,), ()),
    out_dtype="exact",
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "one")


def f_out(self, *, out):
    return f_default_op.out(out, self)
