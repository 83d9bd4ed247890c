# - func: f(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
#   dispatch: {CPU: scaled}
#   promotion: default


def f_default(self, other=absent, *, alpha=1):
    """f(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    if type(self) in plain and type(other) in plain and type(alpha) in real_numbers:
        self_array = self._array
        other_array = other._array
        if ((common := self_array.dtype) is float32 or common is float64 or (common is int64 and is_int64_or_none(alpha))) and common is other_array.dtype:
            try:
                result = f_default_kernel(self_array, other_array, alpha)
            except Exception:
                return f_default_op(self, other, alpha=alpha)
            if type(result) is not ndarray:
                if not isinstance(result, (ndarray, generic)):
                    return f_default_op(self, other, alpha=alpha)
                result = asarray(result)
            if not result.flags.c_contiguous:
                result = layouts.contiguous(result)
            out = new(Tensor)
            out._array = result
            out._base = out._edge = out._writes = out._extra = None
            if self._edge is not None or other._edge is not None:
                f_default_op.undifferentiable(out)
            return out
    return f_default_op(self, other, alpha=alpha)


f_default_op = Operator(
    "f(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "scaled")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("other", "Tensor"), ("alpha", "Scalar", 1)), positional=2),
    promotion=("default", None),
    numbers=(("alpha", "wrap"),),
    in_float32=True,
    batching=("loop", (0, 1), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "scaled")
