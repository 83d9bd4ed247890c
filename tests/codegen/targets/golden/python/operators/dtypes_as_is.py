# - func: f(Tensor self) -> Tensor
#   dispatch: {CPU: one}
#   half: as_is


def f_default(self):
    """f(Tensor self) -> Tensor"""
    if type(self) in plain:
        self_array = self._array
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
    batching=("loop", (0,), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "one")
