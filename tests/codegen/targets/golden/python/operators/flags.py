# - func: f(Tensor self, bool[2] mask) -> (Tensor first, Tensor second)
#   dispatch: {CPU: masked}


def f_default(self, mask=absent):
    """f(Tensor self, bool[2] mask) -> (Tensor first, Tensor second)"""
    if type(self) in plain and type(mask) is tuple:
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array, mask)
            except Exception:
                return f_default_op(self, mask)
            if not isinstance(result, (tuple, list)) or len(result) != 2 or not are_arrays_or_none(result):
                return f_default_op(self, mask)
            out = f_default_op.results([None if array is None else wrap(layouts.contiguous(asarray(array))) for array in result])
            if self._edge is not None:
                f_default_op.undifferentiable(out)
            return out
    return f_default_op(self, mask)


f_default_op = Operator(
    "f(Tensor self, bool[2] mask) -> (Tensor first, Tensor second)",
    f_default,
    kernels={"CPU": deferred(small_kernels, "masked")},
    facts=SignatureFacts(arguments=(("self", "Tensor"), ("mask", "bool[2]")), positional=2, results=("Tensor", "Tensor"), result_names=("first", "second"), masks_outputs=True),
    in_float32=True,
    batching=("loop", (0,), ()),
    layout=("contiguous", (), (0, 1)),
)


f_default_kernel = deferred(small_kernels, "masked")
