# - func: f(Tensor self, Tensor other) -> Tensor
#   dispatch: {CPU: two}
#   variants: function, method
#   sign: self @ other


def f_default(self, other=absent):
    """f(Tensor self, Tensor other) -> Tensor"""
    if type(self) in plain and type(other) in plain:
        self_array = self._array
        other_array = other._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array, other_array)
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
            if self._edge is not None or other._edge is not None:
                f_default_op.undifferentiable(out)
            return out
    return f_default_op(self, other)


f_default_op = Operator(
    "f(Tensor self, Tensor other) -> Tensor",
    f_default,
    kernels={"CPU": deferred(small_kernels, "two")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("other", "Tensor")), positional=2),
    in_float32=True,
    batching=("loop", (0, 1), ()),
    layout=("contiguous", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "two")


def matmul_sign(self, other):
    if type(self) in plain and type(other) in plain:
        self_array = self._array
        other_array = other._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array, other_array)
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
            if self._edge is not None or other._edge is not None:
                f_default_op.undifferentiable(out)
            return out
    kind = type(other)
    if kind in plain:
        return f_default_op(self, other)
    return foreign_operand("f", self, other)
