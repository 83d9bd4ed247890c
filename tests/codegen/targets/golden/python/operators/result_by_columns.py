# - func: f(Tensor self) -> (Tensor first, Tensor second)
#   dispatch: {CPU: pair}
#   layout: columns(first)


def f_default(self):
    """f(Tensor self) -> (Tensor first, Tensor second)"""
    if type(self) in plain:
        self_array = self._array
        if (common := self_array.dtype) is float32 or common is float64 or common.kind in "biuc":
            try:
                result = f_default_kernel(self_array)
            except Exception:
                return f_default_op(self)
            if not isinstance(result, (tuple, list)) or len(result) != 2 or not are_arrays(result):
                return f_default_op(self)
            out = f_default_op.results([*[wrap(layouts.columns(asarray(array))) for array in result[:1]], *[wrap(layouts.contiguous(asarray(array))) for array in result[1:]]])
            if self._edge is not None:
                f_default_op.undifferentiable(out)
            return out
    return f_default_op(self)


f_default_op = Operator(
    "f(Tensor self) -> (Tensor first, Tensor second)",
    f_default,
    kernels={"CPU": deferred(small_kernels, "pair")},
    facts=SignatureFacts(arguments=(("self", "Tensor"),), positional=1, results=("Tensor", "Tensor"), result_names=("first", "second")),
    in_float32=True,
    batching=("loop", (0,), ()),
    layout=("columns", (), (0,)),
)


f_default_kernel = deferred(small_kernels, "pair")
